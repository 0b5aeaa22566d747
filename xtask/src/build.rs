//! From the sources to `pkg-template/wasm` and `pkg-template/dist`: wasm-pack, wasm-opt, TypeScript. Each stage runs
//! only when something that it reads has changed.

use crate::command::{self, AtPath, Outcome, output};
use crate::fingerprint::Step;
use crate::names;
use crate::project;
use crate::setup::Tools;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

/// What wasm-opt does. The lowest kilobyte of memory is the far end of the stack, which grows downwards: nothing has an address
/// there.
const PASSES: [&str; 3] = ["--low-memory-unused", "--merge-similar-functions", "-Oz"];

/// Builds what is not up to date.
pub fn build(tools: &Tools) -> Outcome {
    wasm(tools)?;
    typescript(tools)
}

fn wasm(tools: &Tools) -> Outcome {
    let compiler = output(tools.command("rustc").arg("--version"))?;
    let features = wasm_features(tools)?;
    let step = Step {
        name: "wasm",
        inputs: &["Cargo.toml", "Cargo.lock", ".cargo/config.toml", "package-lock.json", "src", "shaders"],
        outputs: &["pkg-template/wasm"],
        circumstances: &format!("{compiler} {features:?} {PASSES:?}, short names"),
    };
    step.unless_current(|| {
        let folder = project::root().join("pkg-template/wasm");
        let module = folder.join("residua_bg.wasm");
        if folder.exists() {
            fs::remove_dir_all(&folder).at(&folder)?;
        }
        command::run(
            "wasm-pack build",
            tools
                .command("wasm-pack")
                .args(["build", "--release", "--target", "web", "--mode", "no-install", "--no-pack"])
                .args(["--out-dir", "pkg-template/wasm", "--out-name", "residua"])
                .env("CARGO_ENCODED_RUSTFLAGS", without_paths_of_this_machine()),
        )?;
        // It says `*`, and npm would leave the whole folder out of the package.
        let ignore = folder.join(".gitignore");
        if ignore.exists() {
            fs::remove_file(&ignore).at(&ignore)?;
        }
        command::run(
            "wasm-opt",
            tools
                .node(project::npm_script("binaryen/bin/wasm-opt"))
                .arg(&module)
                .args(PASSES)
                .arg("--output")
                .arg(&module)
                .args(&features),
        )?;
        let glue = folder.join("residua.js");
        let (bytes, text) = names::shorten(&fs::read(&module).at(&module)?, &fs::read_to_string(&glue).at(&glue)?)?;
        fs::write(&module, bytes).at(&module)?;
        fs::write(&glue, text).at(&glue)
    })
}

/// A compiler flag by which the places that panics name do not say where this machine keeps its crates.
fn without_paths_of_this_machine() -> OsString {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let mut flag = OsString::new();
    if let Some(home) = home {
        flag.push("--remap-path-prefix=");
        flag.push(home.join("registry").join("src"));
        flag.push("=");
    }
    flag
}

/// wasm-opt's flags for exactly the features that the compiler uses: with fewer the module would not validate, with
/// more wasm-opt might write instructions that a browser we support does not know.
fn wasm_features(tools: &Tools) -> Outcome<Vec<String>> {
    let target = output(tools.command("rustc").args(["--print", "cfg", "--target", "wasm32-unknown-unknown"]))?;
    let features = target.lines().filter_map(|line| line.strip_prefix("target_feature=\"")?.strip_suffix('"'));
    let mut flags = vec!["--mvp-features".to_owned()];
    flags.extend(features.map(|feature| match feature {
        "nontrapping-fptoint" => "--enable-nontrapping-float-to-int".to_owned(),
        "simd128" => "--enable-simd".to_owned(),
        other => format!("--enable-{other}"),
    }));
    Ok(flags)
}

fn typescript(tools: &Tools) -> Outcome {
    let step = Step {
        name: "typescript",
        inputs: &[
            "pkg-template/src",
            "pkg-template/tsconfig.json",
            "pkg-template/wasm/residua.d.ts",
            "package-lock.json",
        ],
        outputs: &["pkg-template/dist"],
        circumstances: "",
    };
    step.unless_current(|| {
        let folder = project::root().join("pkg-template/dist");
        if folder.exists() {
            fs::remove_dir_all(&folder).at(&folder)?;
        }
        let compiler = project::npm_script("typescript/bin/tsc");
        command::run("TypeScript", tools.node(compiler).args(["--project", "pkg-template"]))
    })
}
