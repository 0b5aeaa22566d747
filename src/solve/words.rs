//! Words of the blocks through which kernels of a solver and the host talk: their names, which the shaders take over, and their places.

/// Declares numbers by name and value, and all of them with their names. With `distinct` no two may have the same value.
macro_rules! words {
    ($vis:vis $type:ty, distinct $all:ident: $($(#[$doc:meta])* $name:ident = $word:expr,)+) => {
        words! { $vis $type, $all: $($(#[$doc])* $name = $word,)+ }
        const _: () = assert!($crate::solve::words::are_distinct(&[$($word as usize),+]), "two words have the same place");
    };
    ($vis:vis $type:ty, $all:ident: $($(#[$doc:meta])* $name:ident = $word:expr,)+) => {
        $($(#[$doc])* $vis const $name: $type = $word;)+
        const $all: &[(&str, u32)] = &[$((stringify!($name), $name as u32)),+];
    };
}

pub(crate) use words;

/// WGSL declarations of constants.
pub(crate) fn constants<T: Copy>(values: &[(&str, T)], literal: fn(T) -> String) -> String {
    let mut text = String::new();
    for (name, value) in values {
        text += &format!("const {name} = {};\n", literal(*value));
    }
    text
}

/// Those of words of a block, and of other integers.
pub(crate) fn integers(values: &[(&str, u32)]) -> String {
    constants(values, |value| format!("{value}u"))
}

/// Whether all places differ.
pub(crate) const fn are_distinct(places: &[usize]) -> bool {
    let mut last = 0;
    while last < places.len() {
        let mut before = 0;
        while before < last {
            if places[before] == places[last] {
                return false;
            }
            before += 1;
        }
        last += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::are_distinct;

    words! { u32, distinct ALL:
        FIRST = 3,
        SECOND = 0,
    }

    #[test]
    fn words_have_values_and_names() {
        assert_eq!((FIRST, SECOND), (3, 0));
        assert_eq!(ALL, [("FIRST", 3), ("SECOND", 0)]);
    }

    #[test]
    fn a_place_that_occurs_twice_is_found_wherever_it_stands() {
        assert!(are_distinct(&[]) && are_distinct(&[4]) && are_distinct(&[2, 0, 1]));
        assert!(!are_distinct(&[2, 0, 2]) && !are_distinct(&[1, 1]) && !are_distinct(&[0, 1, 2, 2]));
    }
}
