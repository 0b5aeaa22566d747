//! Running other programs: with their output passed through while a person waits, or captured when it is an answer.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What went wrong, in words for the person at the terminal.
#[derive(Debug)]
pub struct Failure(pub String);

pub type Outcome<T = ()> = Result<T, Failure>;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<lexopt::Error> for Failure {
    fn from(error: lexopt::Error) -> Self {
        Self(error.to_string())
    }
}

/// Gives a file error the path that it is about.
pub trait AtPath<T> {
    fn at(self, path: &Path) -> Outcome<T>;
}

impl<T> AtPath<T> for io::Result<T> {
    fn at(self, path: &Path) -> Outcome<T> {
        self.map_err(|error| Failure(format!("{}: {error}", path.display())))
    }
}

/// Whether a command that takes no arguments is asked for its help, which is then printed.
pub fn helps(mut arguments: lexopt::Parser, help: &str) -> Outcome<bool> {
    use lexopt::Arg::{Long, Short};
    match arguments.next()? {
        None => Ok(false),
        Some(Short('h') | Long("help")) => {
            println!("{help}");
            Ok(true)
        }
        Some(other) => Err(other.unexpected().into()),
    }
}

/// Announces a step on standard error.
pub fn announce(step: &str) {
    eprintln!("==> {step}");
}

/// Runs a command to its end, its output going to standard error; fails when it does.
pub fn run(step: &str, command: &mut Command) -> Outcome {
    announce(step);
    let start = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(io::stderr()).status();
    match status {
        Ok(status) if status.success() => {
            eprintln!("    done in {:.1} s", start.elapsed().as_secs_f64());
            Ok(())
        }
        Ok(status) => Err(Failure(format!("{step}: `{}` ended with {status}", line(command)))),
        Err(error) => Err(Failure(format!("{step}: `{}` could not be started: {error}", line(command)))),
    }
}

/// What a command prints on standard output, trimmed; fails with its standard error when it does.
pub fn output(command: &mut Command) -> Outcome<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure(format!("`{}` could not be started: {error}", line(command))))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(Failure(format!("`{}` ended with {}\n{words}", line(command), output.status)))
    }
}

/// A command as one would type it.
pub fn line(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy().into_owned()));
    words.join(" ")
}

/// The first of these programs that stands in a folder of `path`.
pub fn find(programs: &[&str], path: &OsStr) -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(path).collect();
    programs
        .iter()
        .flat_map(|program| folders.iter().map(move |folder| folder.join(program)))
        .find(|candidate| candidate.is_file())
}
