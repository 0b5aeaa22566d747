//! The texts of `shaders/` as they stand in the module: without comments and indentation, which only their readers need. The
//! work is done by the compiler.

/// Embeds a file of `shaders/`, of which the path is relative to the file that says so.
macro_rules! shader {
    ($($path:tt)*) => {{
        const SOURCE: &[u8] = include_bytes!($($path)*);
        const SHORT: ([u8; SOURCE.len()], usize) = $crate::codegen::wgsl::source::without_comments(SOURCE);
        const TEXT: [u8; SHORT.1] = $crate::codegen::wgsl::source::first(&SHORT.0);
        const { $crate::codegen::wgsl::source::text(&TEXT) }
    }};
}
pub(crate) use shader;

/// The text without comments, indentation and empty lines, and how long that is. There are no strings in WGSL that could hold
/// what looks like a comment, and no comments of the other kind in our files.
pub(crate) const fn without_comments<const N: usize>(source: &[u8]) -> ([u8; N], usize) {
    let mut text = [0; N];
    let (mut length, mut read) = (0, 0);
    let mut line = 0;
    while read < N {
        if source[read] == b'/' && read + 1 < N && source[read + 1] == b'/' {
            while read < N && source[read] != b'\n' {
                read += 1;
            }
            continue;
        }
        if source[read] == b'\n' {
            while length > line && text[length - 1] == b' ' {
                length -= 1;
            }
        }
        let at_start = length == line;
        if !(at_start && (source[read] == b' ' || source[read] == b'\n')) {
            text[length] = source[read];
            length += 1;
            if source[read] == b'\n' {
                line = length;
            }
        }
        read += 1;
    }
    (text, length)
}

/// The first bytes of more.
pub(crate) const fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut text = [0; N];
    let mut position = 0;
    while position < N {
        text[position] = bytes[position];
        position += 1;
    }
    text
}

/// Bytes as text; that they are ASCII the compiler sees.
pub(crate) const fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("a shader is no text"),
    }
}

#[cfg(test)]
mod tests {
    use super::{text, without_comments};

    #[test]
    fn comments_indentation_and_empty_lines_go_and_nothing_else() {
        let source =
            b"// head\nfn f(a: f32) -> f32 { // says\n    let b = a / 2.0;\n\n    // why\n    return b; // what\n}\n";
        let (short, length) = without_comments::<
            {
                b"// head\nfn f(a: f32) -> f32 { // says\n    let b = a / 2.0;\n\n    // why\n    return b; // what\n}\n".len()
            },
        >(source);
        assert_eq!(text(&short[..length]), "fn f(a: f32) -> f32 {\nlet b = a / 2.0;\nreturn b;\n}\n");
    }
}
