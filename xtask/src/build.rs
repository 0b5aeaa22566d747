//! From the sources to `pkg-template/wasm` (the solvers), `pkg-template/wasm-tensor` (tensors) and `pkg-template/dist`: wasm-pack,
//! wasm-opt, TypeScript. Each stage runs only when something that it reads has changed.

use crate::command::{self, AtPath, Outcome, output};
use crate::fingerprint::Step;
use crate::guard;
use crate::names;
use crate::order;
use crate::project;
use crate::setup::Tools;
use crate::sharing;
use std::path::PathBuf;
use std::{env, fs};

/// The passes of wasm-opt. The lowest kilobyte of memory is the far end of the stack, which grows downwards: nothing has an address there. A function
/// with one caller is inlined only where it is small: repeated patterns of code compress better in separate functions (docs/decisions/0038).
const PASSES: [&str; 3] = ["--low-memory-unused", "--one-caller-inline-max-function-size=20", "-O2"];

/// Half of what is usual. The data lies after the stack, and addresses below 2²⁰ are written in three bytes.
const STACK: &str = "-Clink-arg=-zstack-size=524288";

/// No elimination of partial redundancies: it copies code to save a load on some of the ways to it. Inner loops stay as they are but for
/// a load a row of a product.
const REDUNDANCIES: &str = "-Cllvm-args=-enable-pre=false -enable-load-pre=false";

/// A WebAssembly module of the package.
struct Module {
    /// The folder of its crate in the repository.
    source: &'static str,
    /// The folder of `pkg-template` that it is written to.
    folder: &'static str,
    /// The name of its files.
    name: &'static str,
    /// What it is made of, beside [`SHARED_INPUTS`].
    inputs: &'static [&'static str],
    /// Whether the page calls closures of the module, so that its glue is guarded.
    has_callbacks: bool,
}

/// What both modules are made of.
const SHARED_INPUTS: [&str; 11] = [
    "Cargo.toml",
    "Cargo.lock",
    ".cargo/config.toml",
    "package-lock.json",
    "crates/base",
    "crates/ir",
    "crates/module",
    "xtask/src/binary.rs",
    "xtask/src/names.rs",
    "xtask/src/order.rs",
    "xtask/src/sharing.rs",
];

const SOLVERS: Module = Module {
    source: ".",
    folder: "wasm",
    name: "residua",
    inputs: &[
        "src",
        "crates/codegen",
        "crates/cpu",
        "crates/embed-shaders",
        "crates/gpu",
        "crates/linalg",
        "crates/linalg-loops",
        "shaders",
        "build.rs",
    ],
    has_callbacks: true,
};

const TENSORS: Module = Module {
    source: "crates/tensor",
    folder: "wasm-tensor",
    name: "residua_tensor",
    inputs: &[
        "crates/codegen",
        "crates/embed-shaders",
        "crates/linalg-loops",
        "crates/tensor",
        "crates/tensor-loops",
        "shaders/common",
    ],
    has_callbacks: false,
};

/// The folder of the core module.
const CORE: &str = "pkg-template/wasm-core";

impl Module {
    /// The path of one of its files.
    fn path(&self, ending: &str) -> String {
        let infix = if ending == "wasm" { "_bg" } else { "" };
        format!("pkg-template/{}/{}{infix}.{ending}", self.folder, self.name)
    }
}

/// Builds what is not up to date.
pub fn build(tools: &Tools) -> Outcome {
    for module in [SOLVERS, TENSORS] {
        wasm(tools, &module)?;
    }
    core_glue()?;
    typescript(tools)?;
    core(tools)
}

fn wasm(tools: &Tools, module: &Module) -> Outcome {
    let compiler = output(tools.command("rustc").arg("--version"))?;
    let features = wasm_features(tools)?;
    let flags = rust_flags()?;
    let below = format!("pkg-template/{}", module.folder);
    let step = Step {
        name: module.folder,
        inputs: &[&SHARED_INPUTS, module.inputs].concat(),
        outputs: &[&below],
        circumstances: &format!("{compiler} {features:?} {flags} {PASSES:?}, in order, short names, guarded, shared"),
    };
    step.unless_current(|| {
        let folder = project::root().join(&below);
        let file = folder.join(format!("{}_bg.wasm", module.name));
        if folder.exists() {
            fs::remove_dir_all(&folder).at(&folder)?;
        }
        command::run(
            &format!("wasm-pack build {}", module.source),
            tools
                .command("wasm-pack")
                .env("CARGO_ENCODED_RUSTFLAGS", &flags)
                .args(["build", "--release", "--target", "web", "--mode", "no-install", "--no-pack"])
                .arg("--out-dir")
                .arg(&folder)
                .args(["--out-name", module.name, module.source]),
        )?;
        // It says `*`, and npm would leave the whole folder out of the package.
        let ignore = folder.join(".gitignore");
        if ignore.exists() {
            fs::remove_file(&ignore).at(&ignore)?;
        }
        let optimise = |passes: &[&str]| {
            let mut command = tools.node(project::npm_script("binaryen/bin/wasm-opt"));
            command::run("wasm-opt", command.arg(&file).args(passes).arg("--output").arg(&file).args(&features))
        };
        optimise(&PASSES)?;
        fs::write(&file, order::name_by_order(&fs::read(&file).at(&file)?)?).at(&file)?;
        optimise(&["--reorder-functions-by-name"])?;
        let glue = folder.join(format!("{}.js", module.name));
        let (bytes, text) =
            names::shorten(&fs::read(&file).at(&file)?, &fs::read_to_string(&glue).at(&glue)?, module.name)?;
        fs::write(&file, bytes).at(&file)?;
        let declared = folder.join(format!("{}.d.ts", module.name));
        let declarations = fs::read_to_string(&declared).at(&declared)?;
        let (mut text, mut declarations) = sharing::prepare(&text, &declarations, module.name)?;
        if module.has_callbacks {
            (text, declarations) = guard::guard(&text, &declarations)?;
        } else {
            guard::check_without_callbacks(&text)?;
        }
        fs::write(&declared, declarations).at(&declared)?;
        fs::write(&glue, text).at(&glue)
    })
}

/// The stack's size, what not to optimise, and flags that keep the paths of the building machine out of the module: panics name the file that they come
/// from. In the form of `CARGO_ENCODED_RUSTFLAGS`, which allows for spaces in paths.
fn rust_flags() -> Outcome<String> {
    let cargo_home = match env::var_os("CARGO_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => env::home_dir().unwrap_or_default().join(".cargo"),
    };
    let sources = cargo_home.join("registry/src");
    let mut folders = vec![project::root().to_owned(), cargo_home];
    if sources.exists() {
        // Of several that match the last one counts: the folders of the registries, so that crates' names come first.
        for entry in fs::read_dir(&sources).at(&sources)? {
            folders.push(entry.at(&sources)?.path());
        }
    }
    let mut flags: Vec<String> =
        folders.iter().map(|folder| format!("--remap-path-prefix={}/=", folder.display())).collect();
    flags.push(STACK.to_owned());
    flags.push(REDUNDANCIES.to_owned());
    Ok(flags.join("\u{1f}"))
}

/// wasm-opt's flags for exactly the features that the compiler uses: with fewer the module would not validate, with
/// more wasm-opt might write instructions that a browser we support does not know.
fn wasm_features(tools: &Tools) -> Outcome<Vec<String>> {
    let target = output(tools.command("rustc").args(["--print", "cfg", "--target", "wasm32-unknown-unknown"]))?;
    let features = target.lines().filter_map(|line| line.strip_prefix("target_feature=\"")?.strip_suffix('"'));
    // The panels of residua-linalg-loops are compiled with SIMD, which the target does not have by itself.
    let mut flags = vec!["--mvp-features".to_owned(), "--enable-simd".to_owned()];
    flags.extend(features.map(|feature| match feature {
        "nontrapping-fptoint" => "--enable-nontrapping-float-to-int".to_owned(),
        other => format!("--enable-{other}"),
    }));
    Ok(flags)
}

/// The glue of the core module: that of the whole one, which loads another file.
fn core_glue() -> Outcome {
    let [glue, declarations] =
        ["js", "d.ts"].map(|ending| (SOLVERS.path(ending), format!("{CORE}/residua_core.{ending}")));
    let step = Step {
        name: "core-glue",
        inputs: &[&glue.0, &declarations.0],
        outputs: &[&glue.1, &declarations.1],
        circumstances: "named",
    };
    step.unless_current(|| {
        let root = project::root();
        fs::create_dir_all(root.join(CORE)).at(&root.join(CORE))?;
        for (from, to) in [&glue, &declarations] {
            let text = fs::read_to_string(root.join(from)).at(&root.join(from))?;
            fs::write(root.join(to), text.replace("residua_bg.wasm", "residua_core_bg.wasm")).at(&root.join(to))?;
        }
        Ok(())
    })
}

/// The core module: see `xtask/core/make.mjs`.
fn core(tools: &Tools) -> Outcome {
    let (whole, core) = (SOLVERS.path("wasm"), format!("{CORE}/residua_core_bg.wasm"));
    let step = Step {
        name: "core",
        inputs: &[&whole, "pkg-template/dist", "xtask/core", "package-lock.json"],
        outputs: &[&core],
        circumstances: "",
    };
    step.unless_current(|| {
        let mut command = tools.node("xtask/core/make.mjs");
        command::run("core module", command.args([&whole, "pkg-template/dist", &core]))
    })
}

fn typescript(tools: &Tools) -> Outcome {
    let step = Step {
        name: "typescript",
        inputs: &[
            "pkg-template/src",
            "pkg-template/tsconfig.json",
            "pkg-template/wasm/residua.d.ts",
            "pkg-template/wasm-core/residua_core.d.ts",
            "pkg-template/wasm-tensor/residua_tensor.d.ts",
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::process::Command;

    /// The folders of a package of the workspace and of all that it is built of by path.
    fn path_dependencies(packages: &[Value], folder: &Path) -> BTreeSet<PathBuf> {
        let (mut found, mut open) = (BTreeSet::new(), vec![folder.to_owned()]);
        while let Some(folder) = open.pop() {
            let manifest = folder.join("Cargo.toml");
            let package =
                packages.iter().find(|package| package["manifest_path"].as_str().map(Path::new) == Some(&manifest));
            if !found.insert(folder) {
                continue;
            }
            let dependencies =
                package.expect("a path dependency is a package of the workspace")["dependencies"].as_array();
            open.extend(
                (dependencies.unwrap().iter())
                    .filter(|dependency| dependency["kind"] != "dev")
                    .filter_map(|dependency| dependency["path"].as_str().map(PathBuf::from)),
            );
        }
        found
    }

    #[test]
    fn the_inputs_of_a_module_are_all_its_path_dependencies() {
        let metadata = output(Command::new(env!("CARGO")).current_dir(project::root()).args([
            "metadata",
            "--no-deps",
            "--format-version=1",
        ]));
        let metadata: Value = serde_json::from_str(&metadata.unwrap()).unwrap();
        for module in [SOLVERS, TENSORS] {
            let folder = project::root().join(if module.source == "." { "" } else { module.source });
            // The solvers' own package stands in the root, whose folders are named one by one.
            let crates: BTreeSet<PathBuf> = (path_dependencies(metadata["packages"].as_array().unwrap(), &folder)
                .iter())
            .map(|folder| folder.strip_prefix(project::root()).unwrap().to_owned())
            .filter(|folder| folder.starts_with("crates"))
            .collect();
            let inputs: BTreeSet<PathBuf> = (SHARED_INPUTS.iter().chain(module.inputs))
                .filter(|input| input.starts_with("crates/"))
                .map(PathBuf::from)
                .collect();
            assert_eq!(inputs, crates, "{}", module.name);
        }
    }
}
