//! `cargo xtask bench`: the benchmarks of `www/bench/` in headless Chromium, with other libraries beside residua.
//!
//! The work itself is the page; `xtask/bench.mjs` opens it and prints its tables, `xtask/peers.mjs` bundles the libraries.

use crate::command::{self, AtPath, Failure, Outcome, announce};
use crate::fingerprint::Step;
use crate::pack;
use crate::page_packages;
use crate::server::Server;
use crate::setup::{self, Browser, Tools};
use lexopt::ValueExt;
use std::path::PathBuf;
use std::process::Stdio;

const HELP: &str = "\
cargo xtask bench [--only NAME,...] [--sizes N,...] [--reps N] [--budget MS] [--contenders WORD,...] [--set NAME=VALUE]...
                  [--save FILE] [--hardware]

Runs the benchmarks of www/bench/ in headless Chromium and prints a table for each. Contenders for a job run in turns in
the same page; who would take longer than the budget at a size is told and left out.
  --only NAME,...        benchmarks; by default all whose sizes are asked for
  --sizes N,...          sizes, in vertices for most; by default 12,100,1000
  --reps N               samples of each contender at each size; 5 by default
  --budget MS            for each contender at each size; 1000 by default
  --contenders WORD,...  only those whose names hold one of the words
  --set NAME=VALUE       a parameter of a single benchmark
  --save FILE            all figures as JSON
  --hardware             on the GPU that is there; by default on SwiftShader, whose times say nothing of a GPU's";

pub fn run(mut arguments: lexopt::Parser) -> Outcome {
    use lexopt::Arg::{Long, Short};
    let mut query: Vec<(String, String)> = [("sizes", "12,100,1000"), ("reps", "5"), ("budget", "1000")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    let (mut hardware, mut save) = (false, None);
    while let Some(argument) = arguments.next()? {
        match argument {
            Short('h') | Long("help") => {
                println!("{HELP}");
                return Ok(());
            }
            Long(name @ ("only" | "sizes" | "reps" | "budget" | "contenders")) => {
                let name = name.to_owned();
                let value = arguments.value()?.string()?;
                query.retain(|(known, _)| *known != name);
                query.push((name, value));
            }
            Long("set") => {
                let words = arguments.value()?.string()?;
                let (name, value) =
                    words.split_once('=').ok_or_else(|| Failure(format!("--set is {words:?}; it takes NAME=VALUE")))?;
                query.push((name.to_owned(), value.to_owned()));
            }
            // The script runs in the repository's root, the person may stand elsewhere.
            Long("save") => {
                let file = PathBuf::from(arguments.value()?);
                save = Some(std::path::absolute(&file).at(&file)?);
            }
            Long("hardware") => hardware = true,
            other => return Err(other.unexpected().into()),
        }
    }
    let tools = setup::install()?;
    pack::pack(&tools)?;
    peers(&tools)?;
    let server = Server::start("127.0.0.1", 0, "/", None)?;
    announce("the benchmarks in Chromium");
    let mut node = tools.browser_node(Browser::Chromium, hardware);
    node.arg("xtask/bench.mjs");
    node.args(["--url", &server.url]);
    for (name, value) in query {
        node.arg("--set").arg(format!("{name}={value}"));
    }
    if let Some(file) = save {
        node.arg("--save").arg(file);
    }
    match node.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        // The script has said why.
        Ok(_) => std::process::exit(1),
        Err(error) => Err(Failure(format!("Node could not be started: {error}"))),
    }
}

/// Bundles the libraries that run beside residua into `target/peers/`.
pub fn peers(tools: &Tools) -> Outcome {
    page_packages::install(tools)?;
    let step = Step {
        name: "peers",
        inputs: &["package-lock.json", "xtask/page-packages", "xtask/peers.mjs"],
        outputs: &["target/peers"],
        circumstances: "",
    };
    step.unless_current(|| command::run("bundling the libraries to compare with", &mut tools.node("xtask/peers.mjs")))
}
