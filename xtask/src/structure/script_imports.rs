//! Which script imports which: static `import` and `export … from` of relative paths, types included.

use super::sources;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Pairs of files, by their paths in the repository, of which the first imports the second.
pub fn imports(root: &str) -> BTreeSet<(PathBuf, PathBuf)> {
    let files = sources(root, &[".ts", ".js", ".mjs"]);
    let known: BTreeSet<&PathBuf> = files.iter().map(|(path, _)| path).collect();
    let mut found = BTreeSet::new();
    for (path, text) in &files {
        for address in addresses(text) {
            let target = normal(&path.parent().unwrap().join(address));
            // TypeScript names the file that it writes.
            let candidates = [target.clone(), target.with_extension("ts")];
            if let Some(target) = candidates.iter().find(|target| known.contains(target)) {
                found.insert((path.clone(), target.clone()));
            }
        }
    }
    found
}

/// The relative addresses that a script imports.
fn addresses(text: &str) -> Vec<&str> {
    let quoted = |after: &'_ str| -> Option<usize> { after.find(['\'', '"']) };
    let mut found = Vec::new();
    for keyword in [" from ", "\nimport "] {
        for (place, _) in text.match_indices(keyword) {
            let after = &text[place + keyword.len()..];
            if let Some(end) = after.get(1..).and_then(quoted).filter(|_| after.starts_with(['\'', '"'])) {
                found.push(&after[1..=end]);
            }
        }
    }
    found.retain(|address| address.starts_with('.'));
    found
}

fn normal(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = found.pop(),
            Component::CurDir => {}
            part => found.push(part),
        }
    }
    found
}

#[test]
fn imports_of_relative_paths_are_found() {
    let text = "import { a } from './a.js';\nimport type { B } from \"../b.js\";\nimport './c.js';\nexport * from './d.js';\nimport three from 'three';";
    assert_eq!(addresses(text), ["./a.js", "../b.js", "./d.js", "./c.js"]);
    assert_eq!(normal(Path::new("www/demos/../b.js")), Path::new("www/b.js"));
}
