//! The npm packages of pages that the project's own tools do not need: tokenisers, and large libraries that benchmarks of language models run beside residua.
//!
//! `xtask/page-packages` declares them. They are installed into `target/page-packages` by the commands that make pages, so that the others do not download them.

use crate::command::{self, AtPath, Outcome};
use crate::fingerprint::Step;
use crate::project;
use crate::setup::Tools;
use std::fs;

const FOLDER: &str = "target/page-packages";

/// Installs them where they are not what the lock file says.
pub fn install(tools: &Tools) -> Outcome {
    let step = Step {
        name: "page-packages",
        inputs: &["xtask/page-packages"],
        outputs: &["target/page-packages/node_modules/.package-lock.json"],
        circumstances: "",
    };
    step.unless_current(|| {
        let folder = project::root().join(FOLDER);
        fs::create_dir_all(&folder).at(&folder)?;
        for name in ["package.json", "package-lock.json"] {
            let file = project::root().join("xtask/page-packages").join(name);
            fs::copy(&file, folder.join(name)).at(&file)?;
        }
        let mut npm = tools.command("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", FOLDER]);
        command::run("npm ci of the packages of pages", &mut npm)
    })
}
