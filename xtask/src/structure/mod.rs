//! Tests of the repository's structure: the sources are read as text, nothing is compiled.

mod cycles;
mod rust_modules;
mod script_imports;
mod test_tiers;
mod type_names;
mod wgsl_text;

use crate::fingerprint;
use crate::project;
use std::path::PathBuf;

/// The files below a folder of the repository whose names end so, with their text, by their paths in the repository.
fn sources(folder: &str, ends: &[&str]) -> Vec<(PathBuf, String)> {
    let is_source = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        ends.iter().any(|end| name.ends_with(end))
            && !path.components().any(|part| matches!(part.as_os_str().to_str(), Some("target" | "node_modules")))
    };
    let files = fingerprint::files(&project::root().join(folder)).unwrap();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path.strip_prefix(project::root()).unwrap().to_owned(), text)
    };
    files.into_iter().filter(is_source).map(read).collect()
}
