//! The project's own commands, run as `cargo xtask <command>` from anywhere in the repository.
//!
//! Each command is a module with its help text and a `run`. All of them stand on [`setup`], which installs what is
//! missing and gives back where the tools are, and most on [`build`] and [`pack`], which redo only what has changed.
//! Progress goes to standard error; standard output holds the command's result alone.

mod bench;
mod binary;
mod build;
mod command;
mod demo;
mod docs;
mod fingerprint;
mod guard;
mod names;
mod order;
mod pack;
mod page_packages;
mod project;
mod serve;
mod server;
mod setup;
mod sharing;
mod site;
#[cfg(test)]
mod structure;
mod tally;
mod test;

use command::{Failure, Outcome};
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask <command> [options]

  setup   install the tools that are missing
  demo    make an icosphere (or a mesh of yours) developable in headless Chromium, on the GPU and on the CPU
  serve   serve the pages of www/ with the package beside them
  test    run every check and test of the project
  bench   run the benchmarks in headless Chromium, with other libraries beside residua
  site    put everything that the pages need into target/site, for any static server
  pack    write the npm package to target/npm/
  docs    build the documentation into target/docs/

`cargo xtask <command> --help` tells more.";

fn main() -> ExitCode {
    match dispatch() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch() -> Outcome {
    use lexopt::Arg::{Long, Short, Value};
    let mut arguments = lexopt::Parser::from_env();
    match arguments.next()? {
        None | Some(Short('h') | Long("help")) => {
            println!("{HELP}");
            Ok(())
        }
        Some(Value(command)) => match command.to_str() {
            Some("setup") => setup::run(arguments),
            Some("demo") => demo::run(arguments),
            Some("serve") => serve::run(arguments),
            Some("test") => test::run(arguments),
            Some("bench") => bench::run(arguments),
            Some("site") => site::run(arguments),
            Some("pack") => pack::run(arguments),
            Some("docs") => docs::run(arguments),
            _ => Err(Failure(format!("there is no command {command:?}\n\n{HELP}"))),
        },
        Some(other) => Err(other.unexpected().into()),
    }
}
