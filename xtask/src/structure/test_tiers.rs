//! Every test file belongs to a tier: a runner takes it.

use super::sources;
use crate::test::WASM_TESTS;
use crate::test::runners::{SCRIPT_RUNNERS, mark};
use std::path::Path;

#[test]
fn every_test_script_has_a_runner() {
    for root in ["tests", "www", "pkg-template/src", "docs", "xtask"] {
        for (path, _) in sources(root, &[".test.mjs", ".test.js", ".test.ts", ".spec.mjs", ".spec.js", ".spec.ts"]) {
            assert!(mark(&path).is_some(), "{}: the name states no tier", path.display());
            let is_taken = SCRIPT_RUNNERS.iter().any(|runner| path.starts_with(runner.folder));
            assert!(is_taken, "{}: no runner takes this folder", path.display());
        }
    }
}

/// A file in `tests` is a binary of its own, which runs in a page; a file of tests/native or tests/wasm that no `mod` names is never
/// compiled.
#[test]
fn every_file_of_rust_tests_is_part_of_a_binary_that_runs() {
    let files = sources("tests", &[".rs"]);
    for (path, _) in files.iter().filter(|(path, _)| path.parent() == Some(Path::new("tests"))) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let mut targets = WASM_TESTS.iter().flat_map(|target| target.split(' '));
        assert!(targets.any(|word| word == name), "{}: the wasm runner does not take it", path.display());
    }
    for folder in ["tests/native", "tests/wasm"].map(Path::new) {
        let (_, main) = files.iter().find(|(path, _)| *path == folder.join("main.rs")).unwrap();
        for (path, _) in files.iter().filter(|(path, _)| path.starts_with(folder)) {
            let name = path.iter().nth(2).unwrap().to_str().unwrap().trim_end_matches(".rs");
            assert!(name == "main" || main.contains(&format!("mod {name};")), "{}: no mod of main.rs", path.display());
        }
    }
    for (path, _) in files.iter().filter(|(path, _)| path.starts_with("tests/models")) {
        let name = format!("models/{}\"", path.file_name().unwrap().to_str().unwrap());
        assert!(files.iter().any(|(_, text)| text.contains(&name)), "{}: no binary names it", path.display());
    }
}

/// Tests in a page are those of `tests` and of the crates that the runner names.
#[test]
fn every_wasm_test_is_in_a_crate_that_the_runner_takes() {
    let mut files = sources("src", &[".rs"]);
    files.extend(sources("crates", &[".rs"]));
    for (path, _) in files.iter().filter(|(_, text)| text.contains("wasm_bindgen_test")) {
        let package = path.iter().nth(1).unwrap().to_str().unwrap();
        let is_taken = WASM_TESTS.iter().any(|target| target.contains(&format!("residua-{package} ")));
        assert!(is_taken, "{}: the wasm runner does not take it", path.display());
    }
}
