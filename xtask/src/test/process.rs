//! Runs a command and reads what it prints, line by line; ends one that hangs.

use crate::command::{self, Failure, Outcome, find};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// A command that prints nothing for longer has hung. Compiling one crate and its tests is the longest that one does without a line.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// Runs a command to its end and calls `each` with each line of its output and its errors; fails when it does, or hangs.
pub fn stream(mut command: Command, mut each: impl FnMut(&str)) -> Outcome {
    let line = command::line(&command);
    // A group of its own, so that a hung runner's browser ends with it.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| Failure(format!("`{line}` could not be started: {error}")))?;
    let (lines, received) = mpsc::channel();
    if let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) {
        forward(output, lines.clone());
        forward(errors, lines);
    }
    loop {
        match received.recv_timeout(LIMIT) {
            Ok(line) => each(&line),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                end_group(&mut child);
                return Err(Failure(format!("`{line}` printed nothing for {} s", LIMIT.as_secs())));
            }
        }
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure(format!("`{line}` ended with {status}"))),
        Err(error) => Err(Failure(format!("`{line}`: {error}"))),
    }
}

fn forward(output: impl Read + Send + 'static, lines: Sender<String>) {
    thread::spawn(move || {
        let mut reader = BufReader::new(output);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            if lines.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
                break;
            }
            line.clear();
        }
    });
}

fn end_group(child: &mut Child) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if let Some(kill) = find(&["kill"], &path) {
        let _ = Command::new(kill).args(["-KILL", "--", &format!("-{}", child.id())]).status();
    }
    let _ = child.kill();
    let _ = child.wait();
}
