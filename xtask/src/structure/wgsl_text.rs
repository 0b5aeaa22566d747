//! WGSL is written by templates and by a writer, and never searched, replaced or parsed after it is emitted: a scan of the sources.

use super::{rust_modules::is_test, sources};

/// The preprocessor, which reads templates before anything is emitted.
const PREPROCESSOR: [&str; 2] = ["crates/codegen/src/wgsl/template", "crates/embed-shaders"];

/// Files that emit WGSL search no text at all.
const EMITTERS: [&str; 9] = [
    "crates/codegen/src/wgsl",
    "crates/tensor/src/wgsl",
    "src/eval/pair_arithmetic.rs",
    "src/eval/shaders.rs",
    "src/gauss_newton/device/shaders.rs",
    "src/shader_source.rs",
    "src/solve/levenberg_marquardt/device/shaders.rs",
    "src/solve/lbfgs/device/shaders.rs",
    "src/solve/many/program.rs",
];

const SEARCHES: [&str; 12] = [
    ".lines()",
    ".split(",
    ".split_once(",
    ".rsplit_once(",
    ".find(\"",
    ".rfind(",
    ".contains(\"",
    ".matches(",
    ".strip_prefix(",
    ".strip_suffix(",
    ".match_indices(",
    ".char_indices(",
];

/// What only WGSL has, in the strings that a search looks for.
const MARKS: [&str; 6] = ["@group", "@compute", "@binding", "var<", "fn ", "struct "];

/// The lines of a source that search or replace text that may be WGSL.
fn breaches(source: &str, emits: bool) -> Vec<&str> {
    let code = source.split("#[cfg(test)]").next().unwrap().split("#[cfg(all(test").next().unwrap();
    let is_breach = |line: &&str| {
        // `Cell::replace` takes one argument, `str::replace` two.
        let replaces = line.split_once(".replace(").is_some_and(|(_, after)| arguments(after) == 2);
        let edits = [".replacen(", ".insert_str(", ".replace_range("].iter().any(|call| line.contains(call));
        let searches = SEARCHES.iter().any(|call| line.contains(call));
        replaces || edits || (searches && (emits || MARKS.iter().any(|mark| line.contains(&format!("\"{mark}")))))
    };
    code.lines().filter(|line| !line.trim_start().starts_with("//")).filter(is_breach).collect()
}

/// How many arguments a call has, from behind its parenthesis on.
fn arguments(after: &str) -> usize {
    let (mut depth, mut count) = (0, 1);
    for character in after.chars() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => break,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => count += 1,
            _ => {}
        }
    }
    count
}

#[test]
fn no_emitted_text_is_searched_replaced_or_parsed() {
    let mut files = sources("src", &[".rs"]);
    files.extend(sources("crates", &[".rs"]));
    files.retain(|(path, _)| !is_test(path));
    assert!(files.len() > 100, "{}", files.len());
    let mut emitters = 0;
    for (path, source) in files {
        if PREPROCESSOR.iter().any(|part| path.starts_with(part)) {
            continue;
        }
        let emits = EMITTERS.iter().any(|emitter| path.starts_with(emitter));
        emitters += usize::from(emits);
        assert_eq!(breaches(&source, emits), Vec::<&str>::new(), "{}", path.display());
    }
    assert!(emitters > 15, "{emitters}");
}

#[test]
fn a_scan_finds_what_patches_a_text() {
    for line in [
        "let text = text.replace(\"#parts\", &parts.to_string());",
        "text.replacen(\") {\\n\", gate, 1)",
        "text.insert_str(place, gate);",
        "let (before, body) = text.split_once(\"@compute\").unwrap();",
        "if line.contains(\"var<storage\") {",
    ] {
        assert_eq!(breaches(line, false), [line]);
    }
    for line in ["let before = cell.replace(State::Disposed);", "let name = path.strip_prefix(\"src\");"] {
        assert_eq!(breaches(line, false), Vec::<&str>::new());
    }
    assert_eq!(breaches("text.lines()", true), ["text.lines()"]);
}
