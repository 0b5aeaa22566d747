//! Texts put together and taken apart, in little code: the standard library's `join` has 1,067 bytes for each kind of separator, and its
//! search for a text in a text is the two-way algorithm, with 5 kB in all, for texts that are short.

/// The parts, one after another, with the separator in between.
pub(crate) fn join<S: AsRef<str>>(parts: &[S], separator: &str) -> String {
    let mut text = String::new();
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            text.push_str(separator);
        }
        text.push_str(part.as_ref());
    }
    text
}

/// What stands before and after the first place of `what`; `None` where it does not occur.
pub(crate) fn cut<'a>(text: &'a str, what: &str) -> Option<(&'a str, &'a str)> {
    let place = text.as_bytes().windows(what.len()).position(|part| part == what.as_bytes())?;
    Some((text.get(..place)?, text.get(place + what.len()..)?))
}

/// The text with `with` in place of the first `most` occurrences of `what`.
pub(crate) fn replace(text: &str, what: &str, with: &str, most: usize) -> String {
    let mut replaced = String::new();
    let mut rest = text;
    for _ in 0..most {
        let Some((before, after)) = cut(rest, what) else { break };
        replaced.push_str(before);
        replaced.push_str(with);
        rest = after;
    }
    replaced.push_str(rest);
    replaced
}

#[cfg(test)]
mod tests {
    use super::{cut, join, replace};

    #[test]
    fn parts_are_joined_with_the_separator_only_in_between() {
        let cases: [(&[&str], &str); 4] =
            [(&[], ""), (&["a"], "a"), (&["a", "", "b"], "a, , b"), (&["µ", "ν"], "µ, ν")];
        for (parts, expected) in cases {
            assert_eq!(join(parts, ", "), expected);
            assert_eq!(join(parts, ", "), parts.join(", "));
        }
    }

    #[test]
    fn a_text_is_cut_at_the_first_place() {
        let cases = [
            ("abcabc", "c", Some(("ab", "abc"))),
            ("aab", "ab", Some(("a", ""))),
            ("ab", "abc", None),
            ("", "a", None),
            ("µaµ", "µ", Some(("", "aµ"))),
        ];
        for (text, what, expected) in cases {
            assert_eq!(cut(text, what), expected, "{what} in {text}");
            assert_eq!(cut(text, what), text.split_once(what), "{what} in {text}");
        }
    }

    #[test]
    fn as_many_places_are_replaced_as_asked_for_from_the_left() {
        for (most, expected) in [(0, "a-a-a"), (1, "aa-a-a"), (2, "aa-aa-a"), (9, "aa-aa-aa")] {
            assert_eq!(replace("a-a-a", "a", "aa", most), expected);
            assert_eq!(replace("a-a-a", "a", "aa", most), "a-a-a".replacen('a', "aa", most));
        }
    }
}
