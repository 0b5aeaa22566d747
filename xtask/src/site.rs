//! `cargo xtask site`: the pages of `www/` with all that they need beside them, in one folder that any static server serves, below any path.
//!
//! `xtask/vendor.mjs` copies the libraries that the pages draw and plot with out of `node_modules`, their licences with them, and packs the handwritten digits
//! that `www/digits` trains on. Tokenisers, and the large libraries that benchmarks of language models run beside residua, are npm packages of their own folder
//! (`page_packages.rs`). `xtask/small-decoder/train.mjs` trains the model that the page of text generation opens with.

use crate::bench;
use crate::command::{self, AtPath, Outcome, announce};
use crate::fingerprint::{self, Step};
use crate::pack;
use crate::page_packages;
use crate::project;
use crate::setup::{self, Tools};
use std::fs;
use std::path::{Path, PathBuf};

const HELP: &str = "\
cargo xtask site

Builds the package and writes target/site/: the pages of www/, the package at residua/, the libraries that benchmarks compare with
at peers/, those that pages draw and plot with and the handwritten digits at vendor/, a small language model at small-decoder/, and
the documentation at docs/ where `cargo xtask docs` has built it. Any static server serves it, also below a path of its own; from
other places than localhost it takes https, without which browsers have no WebGPU.";

pub fn run(arguments: lexopt::Parser) -> Outcome {
    if command::helps(arguments, HELP)? {
        return Ok(());
    }
    let tools = setup::install()?;
    parts(&tools)?;
    println!("{}", put_together()?.display());
    Ok(())
}

/// Builds what stands beside the pages.
pub fn parts(tools: &Tools) -> Outcome {
    pack::pack(tools)?;
    libraries(tools)?;
    small_decoder(tools)
}

/// The same without the package.
pub fn libraries(tools: &Tools) -> Outcome {
    bench::peers(tools)?;
    vendor(tools)
}

/// Trains the small language model of the page of text generation; it takes up to a minute, once.
fn small_decoder(tools: &Tools) -> Outcome {
    let step = Step {
        name: "small-decoder",
        // The text that it learns from changes often, and any version of it does.
        inputs: &["xtask/small-decoder", "pkg-template/src/tensor/models"],
        outputs: &["target/small-decoder"],
        circumstances: "",
    };
    step.unless_current(|| {
        command::run(
            "training the small model of the page of text generation",
            &mut tools.node("xtask/small-decoder/train.mjs"),
        )
    })
}

/// Copies the libraries that pages draw and plot with into `target/vendor/`, and packs the digits.
fn vendor(tools: &Tools) -> Outcome {
    page_packages::install(tools)?;
    let step = Step {
        name: "vendor",
        inputs: &["package-lock.json", "xtask/page-packages", "xtask/vendor.mjs", "www/demos", "www/problems"],
        outputs: &["target/vendor"],
        circumstances: "",
    };
    step.unless_current(|| {
        command::run("libraries that pages draw with, and the digits", &mut tools.node("xtask/vendor.mjs"))
    })
}

/// Writes `target/site/` from parts that are built, and says where that is.
pub fn put_together() -> Outcome<PathBuf> {
    announce("putting target/site together");
    let site = project::root().join("target/site");
    if site.exists() {
        fs::remove_dir_all(&site).at(&site)?;
    }
    copy_folder(&project::root().join("www"), &site)?;
    for (below, folder) in project::mounts() {
        copy_folder(&folder, &site.join(below))?;
    }
    Ok(site)
}

fn copy_folder(from: &Path, to: &Path) -> Outcome {
    for file in fingerprint::files(from)? {
        let copy = to.join(file.strip_prefix(from).expect("the file was found under this folder"));
        let folder = copy.parent().expect("a file stands in a folder");
        fs::create_dir_all(folder).at(folder)?;
        fs::copy(&file, &copy).at(&file)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_copied_with_all_that_is_below_it() {
        let root = std::env::temp_dir().join(format!("xtask-site-{}", std::process::id()));
        let (from, to) = (root.join("from"), root.join("to/below"));
        for (file, text) in [("index.html", "page"), ("demos/cloth/demo.js", "demo")] {
            let file = from.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
        }
        copy_folder(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("index.html")).unwrap(), "page");
        assert_eq!(fs::read_to_string(to.join("demos/cloth/demo.js")).unwrap(), "demo");
        fs::remove_dir_all(&root).unwrap();
    }
}
