//! `cargo xtask serve`: a small HTTP server for the pages of `www/`, with the built package mounted beside them.
//!
//! `/` is `www/`, `/residua/` is `target/npm/residua/`, `/peers/` is `target/peers/`, `/vendor/` is `target/vendor/`,
//! `/small-decoder/` is `target/small-decoder/`, `/docs/` is `target/docs/` once built. A page that runs by itself reports
//! with POSTs to `/log` and, at its end, to `/result`.

use crate::command::Outcome;
use crate::server::{ReportKind, Server};
use crate::setup;
use crate::site;
use std::sync::mpsc;

const HELP: &str = "\
cargo xtask serve [--port N] [--host ADDRESS] [--base PATH] [--once]

Builds the package and serves the pages of www/, with the package at residua/, until interrupted.
  --port N        8080 by default; 0 takes a free one
  --host ADDRESS  127.0.0.1 by default
  --base PATH     serve everything below this path, as a site in a sub-folder
  --once          end after the first POST to /result, whose body is printed last
What pages POST to /log is printed.";

pub fn run(mut arguments: lexopt::Parser) -> Outcome {
    use lexopt::Arg::{Long, Short};
    use lexopt::ValueExt;
    let (mut port, mut host, mut base, mut once) = (8080u16, "127.0.0.1".to_owned(), "/".to_owned(), false);
    while let Some(argument) = arguments.next()? {
        match argument {
            Short('h') | Long("help") => {
                println!("{HELP}");
                return Ok(());
            }
            Long("port") => port = arguments.value()?.parse()?,
            Long("host") => host = arguments.value()?.string()?,
            Long("base") => base = arguments.value()?.string()?,
            Long("once") => once = true,
            other => return Err(other.unexpected().into()),
        }
    }
    let tools = setup::install()?;
    site::parts(&tools)?;
    let (reports, received) = mpsc::channel();
    let server = Server::start(&host, port, &base, Some(reports))?;
    eprintln!("serving {} (interrupt to end)", server.url);
    for report in received {
        println!("{}", report.body);
        if once && report.kind == ReportKind::Result {
            break;
        }
    }
    Ok(())
}
