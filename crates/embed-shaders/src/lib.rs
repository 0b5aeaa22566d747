//! The build script of a crate with WGSL files.
//!
//! [`embed`] copies the `.wgsl` files of a folder into `OUT_DIR/shaders` without comments, which only readers of the sources need, and with a tab for four
//! spaces, which an expansion has again, or without indentation. The crate includes a copy by `include_str!(concat!(env!("OUT_DIR"), "/shaders/name.wgsl"))`. Messages about a
//! template count the lines of the copy.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Copies the `.wgsl` files of `folder`, relative to the crate's own folder, with their relative paths. The build script runs again
/// when the folder changes. `indented`: whether their texts keep their indentation.
pub fn embed(folder: &str, indented: bool) -> io::Result<()> {
    let variable =
        |name| env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(format!("{name} is not set")));
    let from = variable("CARGO_MANIFEST_DIR")?.join(folder);
    println!("cargo::rerun-if-changed={}", from.display());
    copy_folder(&from, &variable("OUT_DIR")?.join("shaders"), indented)
}

fn copy_folder(from: &Path, to: &Path, indented: bool) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_dir() {
            copy_folder(&path, &to.join(name), indented)?;
        } else if path.extension().is_some_and(|extension| extension == "wgsl") {
            let code = without_comments(&fs::read_to_string(&path)?);
            let lines = || code.lines().map(|line| format!("{}\n", line.trim_start()));
            let text = if indented { code.replace("    ", "\t") } else { lines().collect() };
            fs::write(to.join(name), text)?;
        }
    }
    Ok(())
}

/// The text without comments, and without the lines of nothing but a comment. WGSL has no string literals, and the files use line comments alone.
pub fn without_comments(source: &str) -> String {
    let code = |line: &str| match line.split_once("//") {
        Some((before, _)) if before.trim().is_empty() => String::new(),
        Some((before, _)) => format!("{}\n", before.trim_end()),
        None => format!("{line}\n"),
    };
    source.lines().map(code).collect()
}

/// The names of the functions and structures that a file defines.
pub fn definitions(source: &str) -> Vec<&str> {
    let begins = |line: &&str| line.starts_with("fn ") || line.starts_with("struct ");
    let name = |line| str::split(line, |c: char| !c.is_alphanumeric() && c != '_').nth(1);
    source.lines().filter(begins).filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::{definitions, without_comments};

    #[test]
    fn definitions_begin_at_the_left() {
        let source =
            "#import a\nstruct Pair {\n    fn_a: f32,\n}\nfn twice_of(a: f32) -> f32 {\n    return 2.0 * a;\n}\n";
        assert_eq!(definitions(source), ["Pair", "twice_of"]);
    }

    #[test]
    fn comments_are_removed_with_lines_that_have_nothing_else() {
        let source =
            "// head\nfn f(a: f32) -> f32 { // says\n    let b = a / 2.0;\n\n    // why\n    return b; // what\n}\n";
        assert_eq!(without_comments(source), "fn f(a: f32) -> f32 {\n    let b = a / 2.0;\n\n    return b;\n}\n");
    }
}
