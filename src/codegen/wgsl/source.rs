//! The texts of `shaders/` as they stand in the module: `build.rs` packs them into one, and they are unpacked when the first is asked for.

include!(concat!(env!("OUT_DIR"), "/shaders.rs"));

/// The text of a file of `shaders/` without comments and indentation. The path is one that ends as the file's does; the compiler looks
/// it up.
macro_rules! shader {
    ($($path:tt)*) => {{
        const SOURCE: $crate::codegen::wgsl::source::Source = $crate::codegen::wgsl::source::Source::of($($path)*);
        SOURCE.text()
    }};
}
pub(crate) use shader;

/// A file of `shaders/`, by its place among all.
#[derive(Clone, Copy)]
pub(crate) struct Source(usize);

impl Source {
    /// The file to which a path leads.
    pub(crate) const fn of(path: &str) -> Source {
        let mut number = 0;
        while !ends_with(path.as_bytes(), b"shaders/", NAMES[number].as_bytes()) {
            number += 1;
        }
        Source(number)
    }

    /// Its text.
    pub(crate) fn text(self) -> &'static str {
        thread_local! {
            static TEXTS: &'static str = String::leak(unpack(&PACKED, LENGTH));
        }
        let texts = TEXTS.with(|texts| *texts);
        let start = if self.0 == 0 { 0 } else { ENDS[self.0 - 1] };
        texts.get(start as usize..ENDS[self.0] as usize).unwrap_or_default()
    }
}

/// Whether a path ends with a folder and a name.
const fn ends_with(path: &[u8], folder: &[u8], name: &[u8]) -> bool {
    if path.len() < folder.len() + name.len() {
        return false;
    }
    let start = path.len() - folder.len() - name.len();
    let mut position = 0;
    while position < folder.len() + name.len() {
        let expected = if position < folder.len() { folder[position] } else { name[position - folder.len()] };
        if path[start + position] != expected {
            return false;
        }
        position += 1;
    }
    true
}

/// The text that `build/packing.rs` packed.
fn unpack(packed: &[u8], length: usize) -> String {
    let mut text = String::with_capacity(length);
    let mut bytes = packed.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte < 128 {
            text.push(char::from(byte));
            continue;
        }
        let mut next = || usize::from(bytes.next().unwrap_or_default());
        let back = next() + 256 * next();
        for _ in 0..byte - 124 {
            text.push(char::from(text.as_bytes()[text.len() - back]));
        }
    }
    text
}

#[cfg(test)]
#[path = "../../../build/packing.rs"]
mod packing;

#[cfg(test)]
mod tests {
    use super::packing::{pack, without_comments};
    use super::{NAMES, Source, unpack};
    use std::path::Path;

    #[test]
    fn comments_indentation_and_empty_lines_go_and_nothing_else() {
        let source =
            "// head\nfn f(a: f32) -> f32 { // says\n    let b = a / 2.0;\n\n    // why\n    return b; // what\n}\n";
        assert_eq!(without_comments(source), "fn f(a: f32) -> f32 {\nlet b = a / 2.0;\nreturn b;\n}\n");
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let repeated = "let x = 1.0;\n".repeat(40);
        // Repetitions of every length, one that overlaps itself, one that is too far away.
        let between: String = (0..14_000).map(|number| format!("{number}\n")).collect();
        let far = format!("far away{between}far away");
        for text in ["", "a", "aaaaaaaaaaaaaaaa", "abcdabcdabcdabcabcd", &repeated, &far] {
            let packed = pack(text);
            assert_eq!(unpack(&packed, text.len()), text);
            assert!(packed.len() <= text.len());
        }
        assert!(pack(&repeated).len() < 40);
    }

    #[test]
    fn every_file_has_its_own_text() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
        for (number, name) in NAMES.iter().enumerate() {
            let source = std::fs::read_to_string(folder.join(name)).unwrap();
            assert_eq!(Source(number).text(), without_comments(&source), "{name}");
            assert_eq!(Source::of(&format!("../../shaders/{name}")).0, number);
        }
    }
}
