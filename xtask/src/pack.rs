//! `cargo xtask pack`: the npm package, unpacked to `target/npm/residua` and as `target/npm/residua-<version>.tgz`.

use crate::build;
use crate::command::{self, AtPath, Failure, Outcome, announce, output};
use crate::fingerprint;
use crate::project;
use crate::setup::{self, Tools};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const HELP: &str = "\
cargo xtask pack

Builds the npm package: target/npm/residua/ and target/npm/residua-<version>.tgz.
Prints the sizes of its two modules and fails when the Brotli size of one is over its budget, or when a file is in the
package that should not be.";

/// What stands beside the folders of the package as it is.
const TEXTS: [&str; 6] =
    ["README.md", "LICENSE", "LICENSE-MIT", "LICENSE-APACHE", "residua.wasm.d.ts", "residua-tensor.wasm.d.ts"];

/// The folders of the package that are those of `pkg-template`.
const FOLDERS: [&str; 3] = ["wasm", "wasm-core", "wasm-tensor"];

/// What TypeScript wrote. In the package its declarations are in a folder of this name, beside bundles of its modules.
const COMPILED: &str = "dist";

/// The modules as they are, for bundlers, which leave out more of them than of bundles.
const MODULES: &str = "modules";

pub fn run(arguments: lexopt::Parser) -> Outcome {
    if command::helps(arguments, HELP)? {
        return Ok(());
    }
    let tools = setup::install()?;
    let tarball = pack(&tools)?;
    println!("{}", tarball.display());
    // A module over the budget works, so that this is left to a release.
    command::run("sizes of the modules", tools.node("xtask/compressed-sizes.mjs").arg(project::package()))
}

/// Builds what is not up to date and packs it; gives the tarball.
pub fn pack(tools: &Tools) -> Outcome<PathBuf> {
    build::build(tools)?;
    announce("packing target/npm/residua");
    let root = project::root();
    let npm = root.join("target/npm");
    if npm.exists() {
        fs::remove_dir_all(&npm).at(&npm)?;
    }
    let package = project::package();
    copy(&root.join("pkg-template/package.json"), &package.join("package.json"))?;
    for folder in FOLDERS {
        let from = root.join("pkg-template").join(folder);
        for file in fingerprint::files(&from)? {
            let below = file.strip_prefix(&from).expect("the file was found under this folder");
            copy(&file, &package.join(folder).join(below))?;
        }
    }
    let compiled = root.join("pkg-template").join(COMPILED);
    for file in fingerprint::files(&compiled)? {
        let below = file.strip_prefix(&compiled).expect("the file was found under this folder");
        let folder = if below.to_string_lossy().ends_with(".d.ts") { COMPILED } else { MODULES };
        copy(&file, &package.join(folder).join(below))?;
    }
    command::run("bundles", tools.node("xtask/bundle.mjs").arg(&compiled).arg(package.join(COMPILED)))?;
    for text in TEXTS {
        let own = root.join("pkg-template").join(text);
        copy(&if own.exists() { own } else { root.join(text) }, &package.join(text))?;
    }
    let name = output(tools.command("npm").args(["pack", "./target/npm/residua", "--pack-destination", "target/npm"]))?;
    let tarball = npm.join(name.lines().last().unwrap_or_default());
    check_version(tools)?;
    check_files(tools, &tarball)?;
    Ok(tarball)
}

fn copy(from: &Path, to: &Path) -> Outcome {
    let folder = to.parent().expect("a file in the package stands in a folder");
    fs::create_dir_all(folder).at(folder)?;
    fs::copy(from, to).at(from).map(drop)
}

/// The crates of the modules and the package are released together, so they have one version.
fn check_version(tools: &Tools) -> Outcome {
    let script = "console.log(JSON.parse(require('fs').readFileSync('target/npm/residua/package.json')).version)";
    let package = output(tools.command("node").args(["-e", script]))?;
    for name in ["residua", "residua-tensor"] {
        let id = output(tools.command("cargo").args(["pkgid", "--package", name]))?;
        if id.rsplit(['#', '@']).next() != Some(package.as_str()) {
            return Err(Failure(format!("pkg-template/package.json has version {package}, the crate is {id}")));
        }
    }
    Ok(())
}

/// The tarball holds all of `target/npm/residua`, and there is nothing in it but what a package is made of.
fn check_files(tools: &Tools, tarball: &Path) -> Outcome {
    let listing = output(tools.command("tar").arg("-tzf").arg(tarball))?;
    let packed: BTreeSet<&str> = listing.lines().filter_map(|line| line.strip_prefix("package/")).collect();
    let stray: Vec<&str> = packed.iter().copied().filter(|file| !belongs(file)).collect();
    if !stray.is_empty() {
        return Err(Failure(format!("these files do not belong into the package: {}", stray.join(", "))));
    }
    let folder = project::package();
    let left_out: Vec<String> = fingerprint::files(&folder)?
        .iter()
        .map(|file| file.strip_prefix(&folder).expect("found under this folder").to_string_lossy().into_owned())
        .filter(|file| !packed.contains(file.as_str()))
        .collect();
    if left_out.is_empty() {
        return Ok(());
    }
    Err(Failure(format!("npm left out of the tarball: {} (see \"files\" in package.json)", left_out.join(", "))))
}

fn belongs(file: &str) -> bool {
    const WASM: [&str; 11] = [
        "wasm/residua.js",
        "wasm/residua.d.ts",
        "wasm/residua_bg.wasm",
        "wasm/residua_bg.wasm.d.ts",
        "wasm-core/residua_core.js",
        "wasm-core/residua_core.d.ts",
        "wasm-core/residua_core_bg.wasm",
        "wasm-tensor/residua_tensor.js",
        "wasm-tensor/residua_tensor.d.ts",
        "wasm-tensor/residua_tensor_bg.wasm",
        "wasm-tensor/residua_tensor_bg.wasm.d.ts",
    ];
    file == "package.json"
        || TEXTS.contains(&file)
        || WASM.contains(&file)
        || (file.starts_with("dist/")
            && (file.ends_with(".d.ts") || (file.ends_with(".js") && file.matches('/').count() == 1)))
        || (file.starts_with("modules/") && file.ends_with(".js"))
}

#[cfg(test)]
mod tests {
    use super::belongs;

    #[test]
    fn a_package_holds_code_types_wasm_and_texts_alone() {
        let cases = [
            ("package.json", true),
            ("LICENSE-MIT", true),
            ("dist/index.js", true),
            ("dist/mesh/index.d.ts", true),
            ("dist/mesh/index.js", false),
            ("modules/mesh/index.js", true),
            ("modules/mesh/index.d.ts", false),
            ("residua.wasm.d.ts", true),
            ("wasm/residua_bg.wasm", true),
            ("wasm-tensor/residua_tensor_bg.wasm", true),
            ("wasm-tensor/residua_bg.wasm", false),
            ("wasm/.gitignore", false),
            ("wasm/package.json", false),
            ("src/index.ts", false),
            ("dist/tsconfig.tsbuildinfo", false),
            ("node_modules/typescript/package.json", false),
        ];
        for (file, expected) in cases {
            assert_eq!(belongs(file), expected, "{file}");
        }
    }
}
