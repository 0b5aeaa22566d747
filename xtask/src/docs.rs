//! `cargo xtask docs`: the documentation as a site in `target/docs`.
//!
//! The work itself is `xtask/docs.mjs`, on the markdown of `docs/site/` and the package's TypeScript sources; the package is
//! packed and served for it, since the kernels that the site shows are generated while it is built.

use crate::command::{self, Outcome};
use crate::pack;
use crate::server::Server;
use crate::setup;

const HELP: &str = "\
cargo xtask docs

Builds the documentation into target/docs/: a tutorial, how to move from other libraries, the API reference, and the
background. It is a folder of static pages: open target/docs/index.html, or serve the folder below any path.
That its code runs, its links lead somewhere and its pages are accessible is tested by `cargo xtask test`.";

pub fn run(arguments: lexopt::Parser) -> Outcome {
    if command::helps(arguments, HELP)? {
        return Ok(());
    }
    let tools = setup::install()?;
    pack::pack(&tools)?;
    let server = Server::start("127.0.0.1", 0, "/", None)?;
    let mut node = tools.node("xtask/docs.mjs");
    node.env("RESIDUA_URL", &server.url).env("CHROMIUM", &tools.chromium);
    command::run("the documentation", &mut node)?;
    println!("{}", crate::project::root().join("target/docs/index.html").display());
    Ok(())
}
