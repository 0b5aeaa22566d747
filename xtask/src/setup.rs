//! `cargo xtask setup`: installs the tools that are missing, and says where all of them are.
//!
//! Every tool is looked for first and installed only when it is not there; what cannot be installed is named together
//! with the command that would do it, after everything else has been tried.

use crate::command::{self, AtPath, Failure, Outcome, announce, find, output};
use crate::project;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const HELP: &str = "\
cargo xtask setup

Installs the tools that are missing, and nothing that is already there:
  - Rust's target wasm32-unknown-unknown, clippy and rustfmt (rustup)
  - wasm-pack, and the wasm-bindgen of the version in Cargo.lock (cargo install)
  - the npm development tools of package-lock.json (npm ci)
  - Chromium, Firefox and lavapipe, its Vulkan device without a GPU (apt-get, as root or through sudo)
Node.js 20 or newer has to be there. CHROMIUM and FIREFOX may name programs to use instead of those on the PATH,
LAVAPIPE the file lvp_icd*.json that describes lavapipe to Vulkan.";

const WASM_TARGET: &str = "wasm32-unknown-unknown";
const OLDEST_NODE: u32 = 20;
/// Releases before it have no WebGPU on any system, whatever their preferences say.
const OLDEST_FIREFOX: u32 = 141;

/// Where the tools are, once all of them are there.
pub struct Tools {
    path: OsString,
    pub chromium: PathBuf,
    pub firefox: PathBuf,
    /// The file that tells Vulkan of Mesa's device without a GPU.
    pub lavapipe: PathBuf,
}

/// The browsers that the tests run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Browser {
    Chromium,
    Firefox,
}

impl Browser {
    pub fn name(self) -> &'static str {
        match self {
            Browser::Chromium => "Chromium",
            Browser::Firefox => "Firefox",
        }
    }
}

impl Tools {
    /// A command that finds the tools, run in the repository's root.
    pub fn command(&self, program: &str) -> Command {
        in_root(program, &self.path)
    }

    /// Node on a script.
    pub fn node(&self, script: impl AsRef<OsStr>) -> Command {
        let mut command = self.command("node");
        command.arg(script);
        command
    }

    /// Node with what tests/browser.mjs reads: which browser, where the programs are, and which adapter they take.
    pub fn browser_node(&self, browser: Browser, hardware: bool) -> Command {
        let mut node = self.command("node");
        node.env("RESIDUA_BROWSER", browser.name().to_ascii_lowercase());
        node.env("CHROMIUM", &self.chromium).env("FIREFOX", &self.firefox).env("LAVAPIPE", &self.lavapipe);
        node.env("RESIDUA_ADAPTER", if hardware { "hardware" } else { "software" });
        node
    }
}

pub fn run(arguments: lexopt::Parser) -> Outcome {
    if command::helps(arguments, HELP)? {
        return Ok(());
    }
    let tools = install()?;
    println!("All tools are there; Chromium is {}, Firefox is {}.", tools.chromium.display(), tools.firefox.display());
    Ok(())
}

/// Installs what is missing.
pub fn install() -> Outcome<Tools> {
    let path = search_path(&[cargo_bin()])?;
    let mut missing = Vec::new();
    let mut require = |result: Outcome| {
        if let Err(Failure(words)) = result {
            missing.push(words);
        }
    };

    require(node_is_recent(&path));
    require(wasm_target(&path));
    require(rustup_component(&path, "clippy", "cargo-clippy"));
    require(rustup_component(&path, "rustfmt", "rustfmt"));
    require(wasm_pack(&path));
    let mut folders = Vec::new();
    require(wasm_bindgen(&path).map(|folder| folders.extend(folder)));
    require(npm_packages(&path));
    require(browsers(&path));

    if !missing.is_empty() {
        return Err(Failure(format!("these are missing:\n\n{}", missing.join("\n\n"))));
    }
    folders.push(cargo_bin());
    let not_found = || Failure("the browsers were installed and still are not to be found".to_owned());
    Ok(Tools {
        chromium: chromium(&path).ok_or_else(not_found)?,
        firefox: firefox(&path).ok_or_else(not_found)?,
        lavapipe: lavapipe().ok_or_else(not_found)?,
        path: search_path(&folders)?,
    })
}

fn in_root(program: &str, path: &OsStr) -> Command {
    let mut command = Command::new(find(&[program], path).unwrap_or_else(|| program.into()));
    command.current_dir(project::root()).env("PATH", path);
    command
}

/// The PATH with these folders before it.
fn search_path(first: &[PathBuf]) -> Outcome<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::join_paths(first.iter().cloned().chain(env::split_paths(&path)))
        .map_err(|error| Failure(format!("the PATH cannot be extended: {error}")))
}

fn home() -> PathBuf {
    env::var_os("HOME").map_or_else(env::temp_dir, PathBuf::from)
}

fn cargo_bin() -> PathBuf {
    env::var_os("CARGO_HOME").map_or_else(|| home().join(".cargo"), PathBuf::from).join("bin")
}

fn node_is_recent(path: &OsStr) -> Outcome {
    let advice = "install Node.js 20 or newer, with npm: https://nodejs.org/en/download";
    let version = output(in_root("node", path).arg("--version")).map_err(|_| Failure(format!("Node.js: {advice}")))?;
    let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_none_or(|major| major < OLDEST_NODE) {
        return Err(Failure(format!("Node.js is {version}, too old: {advice}")));
    }
    find(&["npm"], path).map(drop).ok_or_else(|| Failure(format!("npm: {advice}")))
}

fn wasm_target(path: &OsStr) -> Outcome {
    let libraries = output(in_root("rustc", path).args(["--print", "target-libdir", "--target", WASM_TARGET]))?;
    if Path::new(&libraries).is_dir() {
        return Ok(());
    }
    rustup(path, &["target", "add", WASM_TARGET])
}

fn rustup_component(path: &OsStr, component: &str, program: &str) -> Outcome {
    // With rustup the program on the PATH is a proxy that is there before the component is, so it has to answer.
    match output(in_root(program, path).arg("--version")) {
        Ok(_) => Ok(()),
        Err(_) => rustup(path, &["component", "add", component]),
    }
}

fn rustup(path: &OsStr, arguments: &[&str]) -> Outcome {
    command::run(&format!("rustup {}", arguments.join(" ")), in_root("rustup", path).args(arguments))
}

fn wasm_pack(path: &OsStr) -> Outcome {
    if find(&["wasm-pack"], path).is_some() {
        return Ok(());
    }
    cargo_install(path, "wasm-pack", &[])
}

/// The folder to search first for the wasm-bindgen of the version in Cargo.lock; none when the one on the PATH is it.
///
/// wasm-pack takes a wasm-bindgen of the right version from the PATH and else tries to download one on every run. A
/// version that another project has installed stays as it is: ours goes into the user's cache.
fn wasm_bindgen(path: &OsStr) -> Outcome<Option<PathBuf>> {
    let version = locked_version("wasm-bindgen")?;
    let is_it = |program: &Path| {
        output(Command::new(program).arg("--version"))
            .is_ok_and(|words| words.split_whitespace().nth(1) == Some(&version))
    };
    if find(&["wasm-bindgen"], path).is_some_and(|program| is_it(&program)) {
        return Ok(None);
    }
    let cache = env::var_os("XDG_CACHE_HOME").map_or_else(|| home().join(".cache"), PathBuf::from);
    let root = cache.join("residua").join(format!("wasm-bindgen-{version}"));
    let folder = root.join("bin");
    if !is_it(&folder.join("wasm-bindgen")) {
        let root = root.to_string_lossy();
        cargo_install(path, "wasm-bindgen-cli", &["--version", &version, "--root", &root])?;
    }
    Ok(Some(folder))
}

fn locked_version(package: &str) -> Outcome<String> {
    let file = project::root().join("Cargo.lock");
    let text = fs::read_to_string(&file).at(&file)?;
    let name = format!("name = \"{package}\"");
    let mut lines = text.lines().skip_while(|line| *line != name);
    lines
        .nth(1)
        .and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
        .map(str::to_owned)
        .ok_or_else(|| Failure(format!("{} names no version of {package}", file.display())))
}

fn cargo_install(path: &OsStr, package: &str, options: &[&str]) -> Outcome {
    let install = |lock: &[&str]| {
        let step = format!("cargo install {package}");
        command::run(&step, in_root("cargo", path).args(["install", package]).args(options).args(lock))
    };
    install(&["--locked"]).or_else(|_| {
        // A registry mirror may lag behind the versions in a package's own lock file.
        announce("with its lock file that failed; again without");
        install(&[])
    })
}

fn npm_packages(path: &OsStr) -> Outcome {
    if output(in_root("node", path).arg("xtask/npm-in-step.mjs")).is_ok() {
        return Ok(());
    }
    command::run("npm ci", in_root("npm", path).args(["ci", "--no-audit", "--no-fund"]))
}

fn chromium(path: &OsStr) -> Option<PathBuf> {
    let programs = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    env::var_os("CHROMIUM").map(PathBuf::from).or_else(|| find(&programs, path))
}

/// A Firefox that has WebGPU.
fn firefox(path: &OsStr) -> Option<PathBuf> {
    let program = env::var_os("FIREFOX").map(PathBuf::from).or_else(|| find(&["firefox-esr", "firefox"], path))?;
    // `Mozilla Firefox 153.7.0esr`
    let words = output(Command::new(&program).arg("--version")).ok()?;
    let major = words.split_whitespace().find_map(|word| word.split('.').next()?.parse::<u32>().ok())?;
    (major >= OLDEST_FIREFOX).then_some(program)
}

fn lavapipe() -> Option<PathBuf> {
    let icd_in = |folder: &str| {
        let entries = fs::read_dir(folder).ok()?;
        entries.filter_map(|entry| Some(entry.ok()?.path())).find(|file| {
            let name = file.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            name.starts_with("lvp_icd") && name.ends_with(".json")
        })
    };
    let folders = ["/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d"];
    env::var_os("LAVAPIPE").map(PathBuf::from).or_else(|| folders.into_iter().find_map(icd_in))
}

/// What of the browsers is missing, as Debian's packages.
fn missing_packages(path: &OsStr) -> Vec<&'static str> {
    let pieces = [
        (chromium(path).is_some(), "chromium"),
        (firefox(path).is_some(), "firefox-esr"),
        (lavapipe().is_some(), "mesa-vulkan-drivers"),
    ];
    pieces.into_iter().filter(|(is_there, _)| !is_there).map(|(_, package)| package).collect()
}

fn browsers(path: &OsStr) -> Outcome {
    let packages = missing_packages(path);
    if packages.is_empty() {
        return Ok(());
    }
    let by_hand = || {
        let packages = packages.join(" ");
        Failure(format!(
            "browsers, or what they need: sudo apt-get install {packages}\n\
             (where packages have other names: install Chromium, Firefox and Mesa's lavapipe in their way, \
             and let CHROMIUM, FIREFOX and LAVAPIPE, the file lvp_icd*.json, name those that are not found; \
             Firefox has WebGPU from {OLDEST_FIREFOX} on, which Debian brings as a security update)"
        ))
    };
    let sudo: &[&str] = if output(Command::new("id").arg("-u")).is_ok_and(|user| user == "0") {
        &[]
    } else if output(Command::new("sudo").args(["-n", "true"])).is_ok() {
        &["sudo", "-n"]
    } else {
        return Err(by_hand());
    };
    if find(&["apt-get"], path).is_none() {
        return Err(by_hand());
    }
    let apt = |arguments: &[&str]| {
        let words = [sudo, &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"], arguments].concat();
        command::run(&format!("apt-get {}", arguments.join(" ")), in_root(words[0], path).args(&words[1..]))
    };
    // One source of many that does not answer must not stop the installation from the others.
    let updated = apt(&["update"]);
    apt(&[&["install", "--yes", "--no-install-recommends"], &packages[..]].concat())
        .map_err(|Failure(words)| Failure(format!("{}\n{words}", by_hand())))
        .map_err(|failure| match updated {
            Ok(()) => failure,
            Err(update) => Failure(format!("{failure}\n{update}")),
        })?;
    // What was installed may be too old.
    if missing_packages(path).is_empty() { Ok(()) } else { Err(by_hand()) }
}
