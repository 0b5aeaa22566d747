//! `cargo xtask demo`: the project's main job in headless Chromium, once on the GPU and once on the CPU.
//!
//! The work itself is the page `www/demo/`; `xtask/demo.mjs` opens it, hands it the mesh, and writes what comes back.

use crate::command::{Failure, Outcome, announce};
use crate::pack;
use crate::server::Server;
use crate::setup::{self, Browser};
use lexopt::ValueExt;
use std::path::PathBuf;
use std::process::Stdio;

const HELP: &str = "\
cargo xtask demo [--mesh FILE.obj] [--form FORM] [--iterations N] [--hardware] [--json]

Makes a mesh developable (Stein, Grinspun and Crane 2018) with L-BFGS in headless Chromium, on the GPU and on the CPU,
prints both runs as a table, and writes target/demo/before.png, after.png and result.obj.
  --mesh FILE.obj  a triangle mesh; by default an icosphere of 2,562 vertices
  --form FORM      how the energy is written: `problem` (index arrays, the default) or `params` (one expression a vertex)
  --iterations N   200 by default
  --hardware       on the GPU that is there; by default on SwiftShader, Chromium's software adapter
  --json           end with one line of JSON: {\"gpu\": {...}, \"cpu\": {...}}
The status is 0 only if both runs reduced the cost and, on the icosphere, agree within 1 % on the final cost.";

pub fn run(mut arguments: lexopt::Parser) -> Outcome {
    use lexopt::Arg::{Long, Short};
    let (mut mesh, mut form, mut iterations) = (None, "problem".to_owned(), 200u32);
    let (mut hardware, mut json) = (false, false);
    while let Some(argument) = arguments.next()? {
        match argument {
            Short('h') | Long("help") => {
                println!("{HELP}");
                return Ok(());
            }
            Long("mesh") => mesh = Some(PathBuf::from(arguments.value()?)),
            Long("form") => form = arguments.value()?.string()?,
            Long("iterations") => iterations = arguments.value()?.parse()?,
            Long("hardware") => hardware = true,
            Long("json") => json = true,
            other => return Err(other.unexpected().into()),
        }
    }
    if !["problem", "params"].contains(&form.as_str()) {
        return Err(Failure(format!("--form is {form:?}; it takes problem or params")));
    }
    if iterations == 0 {
        return Err(Failure("--iterations is 0; it takes at least 1".to_owned()));
    }
    // The script runs in the repository's root, the person may stand elsewhere.
    let mesh = mesh
        .map(|file| file.canonicalize().map_err(|error| Failure(format!("--mesh {}: {error}", file.display()))))
        .transpose()?;
    let tools = setup::install()?;
    pack::pack(&tools)?;
    let server = Server::start("127.0.0.1", 0, "/", None)?;
    announce("the demo in Chromium");
    let mut node = tools.browser_node(Browser::Chromium, hardware);
    node.arg("xtask/demo.mjs");
    node.args(["--url", &server.url, "--iterations", &iterations.to_string(), "--form", &form]);
    if let Some(mesh) = mesh {
        node.arg("--mesh").arg(mesh);
    }
    if json {
        node.arg("--json");
    }
    match node.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        // The script has said why.
        Ok(_) => std::process::exit(1),
        Err(error) => Err(Failure(format!("Node could not be started: {error}"))),
    }
}
