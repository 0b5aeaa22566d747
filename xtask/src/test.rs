//! `cargo xtask test`: every check and test of the project, one runner after another, counted together.
//!
//! A runner that fails does not stop the others. The last line is `N passed, N failed`; the one before it names the
//! tests whose data was absent (a test says so by printing `data absent: <test>: <path>`).

use crate::command::{self, AtPath, Failure, Outcome, announce, find};
use crate::fingerprint;
use crate::pack;
use crate::project;
use crate::serve::Server;
use crate::setup::{self, Browser, Tools};
use crate::site;
use crate::tally::{Report, Tally};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

const HELP: &str = "\
cargo xtask test [--only NAME]... [--hardware]

Installs what is missing and runs every check and test. Ends with one line `N passed, N failed`; the status is 0 when
nothing failed.
  --only NAME  only the runners whose name contains NAME; may be given several times
  --hardware   browser tests on the GPU that is there; by default on software adapters, SwiftShader in Chromium and lavapipe in Firefox";

/// A command that takes longer has hung. Compiling everything from nothing is the longest that one does.
const LIMIT: Duration = Duration::from_secs(15 * 60);

pub fn run(mut arguments: lexopt::Parser) -> Outcome {
    use lexopt::Arg::{Long, Short};
    use lexopt::ValueExt;
    let (mut only, mut hardware) = (Vec::new(), false);
    while let Some(argument) = arguments.next()? {
        match argument {
            Short('h') | Long("help") => {
                println!("{HELP}");
                return Ok(());
            }
            Long("only") => only.push(arguments.value()?.string()?),
            Long("hardware") => hardware = true,
            other => return Err(other.unexpected().into()),
        }
    }
    let tools = setup::install()?;
    let mut session = Session { tools: &tools, hardware, only, results: Vec::new() };
    session.all()?;
    session.report()
}

struct Session<'a> {
    tools: &'a Tools,
    hardware: bool,
    only: Vec<String>,
    results: Vec<(&'static str, Tally)>,
}

impl Session<'_> {
    fn all(&mut self) -> Outcome {
        let tools = self.tools;
        let cargo = |arguments: &[&str]| {
            let mut command = tools.command("cargo");
            command.args(arguments);
            command
        };
        self.runner("rustfmt", Report::Status, || vec![cargo(&["fmt", "--all", "--check"])]);
        let deny = ["--", "-D", "warnings"];
        self.runner("clippy", Report::Status, || {
            vec![cargo(&[&["clippy", "--workspace", "--all-targets"], &deny[..]].concat())]
        });
        self.runner("clippy for wasm32", Report::Status, || {
            let wasm = ["clippy", "--package", "residua", "--all-targets", "--target", "wasm32-unknown-unknown"];
            vec![cargo(&[&wasm, &deny[..]].concat())]
        });
        self.runner("oxlint", Report::Status, || {
            let mut oxlint = tools.node(project::npm_script("oxlint/bin/oxlint"));
            oxlint.arg("--deny-warnings");
            vec![oxlint]
        });
        self.runner("native tests", Report::Libtest, || {
            vec![cargo(&["test", "--workspace", "--no-fail-fast", "--", "--show-output"])]
        });
        let wasm_tests = wasm_test_targets()?;
        self.runner("wasm tests in Chromium", Report::Libtest, || {
            wasm_tests.iter().map(|target| wasm_pack_test(tools, target)).collect()
        });
        self.runner("wasm tests in Firefox", Report::Libtest, || {
            let mut node = tools.browser_node(Browser::Firefox, false);
            node.arg("xtask/wasm-tests.mjs").args(wasm_tests.iter().flatten());
            vec![node]
        });
        self.browser_tests()
    }

    /// The tests that stand on the packed package. Without one they have failed: an older one would prove nothing.
    fn browser_tests(&mut self) -> Outcome {
        use Browser::{Chromium, Firefox};
        const RUNNERS: [(&str, &str, Browser); 8] = [
            ("facade tests", "tests/facade", Chromium),
            ("page code in Node", "tests/www", Chromium),
            ("page tests in Chromium", "tests/e2e", Chromium),
            ("page tests in Firefox", "tests/e2e", Firefox),
            ("truth in Chromium", "tests/truth", Chromium),
            ("truth in Firefox", "tests/truth", Firefox),
            ("consumers of the package in Chromium", "tests/consumers", Chromium),
            ("consumers of the package in Firefox", "tests/consumers", Firefox),
        ];
        if !self.wanted("package") && !RUNNERS.iter().any(|(name, ..)| self.wanted(name)) {
            return Ok(());
        }
        announce("package");
        let packed = pack::pack(self.tools);
        let mut tally = Tally::default();
        // Packing is one test, the budget another.
        let checks = match &packed {
            Ok(package) => vec![Ok(()), package.within_budget()],
            Err(Failure(words)) => vec![Err(Failure(words.clone()))],
        };
        for check in checks {
            tally.ended(Report::Status, check.is_ok(), 0);
            if let Err(failure) = check {
                println!("error: {failure}");
                tally.failures.extend(failure.0.lines().next().map(str::to_owned));
            }
        }
        if let Ok(package) = &packed {
            println!("{}", package.sizes);
        }
        self.results.push(("package", tally));
        site::libraries(self.tools)?;
        site::put_together()?;
        let server = Server::start("127.0.0.1", 0, "/", None)?;
        for (name, folder, browser) in RUNNERS {
            let package = match &packed {
                Ok(package) => package,
                Err(_) => {
                    self.broke_down(name, "not run, for want of a package");
                    continue;
                }
            };
            let scripts = test_scripts(folder)?;
            if scripts.is_empty() {
                self.broke_down(name, "it has no test scripts");
                continue;
            }
            let (tools, hardware) = (self.tools, self.hardware);
            self.runner(name, Report::Node, || {
                // Each script by itself: it is what may hang.
                let run = |script: &PathBuf| {
                    let mut node = tools.browser_node(browser, hardware);
                    node.args(["--test", "--test-reporter=spec"]).arg(script);
                    node.env("RESIDUA_URL", &server.url).env("RESIDUA_TARBALL", &package.tarball);
                    node
                };
                scripts.iter().map(run).collect()
            });
        }
        Ok(())
    }

    fn wanted(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| name.contains(only.as_str()))
    }

    /// Counts a runner that could not even be started.
    fn broke_down(&mut self, name: &'static str, why: &str) {
        if self.wanted(name) {
            let mut tally = Tally { failed: 1, ..Tally::default() };
            tally.failures.insert(why.to_owned());
            self.results.push((name, tally));
        }
    }

    /// Runs the commands of a runner one after another and counts their tests together.
    fn runner(&mut self, name: &'static str, report: Report, commands: impl FnOnce() -> Vec<Command>) {
        if !self.wanted(name) {
            return;
        }
        announce(name);
        let start = Instant::now();
        let mut tally = Tally::default();
        for command in commands() {
            let failed = tally.failed;
            let success = stream(command, |line| {
                println!("{line}");
                tally.read(report, line);
            });
            if let Err(failure) = &success {
                println!("{failure}");
            }
            tally.ended(report, success.is_ok(), failed);
        }
        tally.finish();
        let (passed, failed) = (tally.passed, tally.failed);
        eprintln!("    {name}: {passed} passed, {failed} failed in {:.1} s", start.elapsed().as_secs_f64());
        self.results.push((name, tally));
    }

    fn report(&self) -> Outcome {
        println!();
        for (name, tally) in &self.results {
            let names: Vec<&str> = tally.failures.iter().map(String::as_str).collect();
            let (passed, failed) = (tally.passed, tally.failed);
            println!(
                "{name}: {passed} passed, {failed} failed{}{}",
                if names.is_empty() { "" } else { ": " },
                names.join(", ")
            );
        }
        let absent: BTreeSet<&str> =
            self.results.iter().flat_map(|(_, tally)| tally.absent.iter().map(String::as_str)).collect();
        let absent: Vec<&str> = absent.into_iter().collect();
        println!("data absent: {}", if absent.is_empty() { "none".to_owned() } else { absent.join("; ") });
        let passed: usize = self.results.iter().map(|(_, tally)| tally.passed).sum();
        let failed: usize = self.results.iter().map(|(_, tally)| tally.failed).sum();
        println!("{passed} passed, {failed} failed");
        if failed == 0 && passed > 0 {
            return Ok(());
        }
        // The counts have said it; nothing may follow them.
        std::process::exit(1)
    }
}

/// The crate's targets with tests for the browser, as arguments of cargo test: the library, and those of `tests/*.rs`
/// that use wasm-bindgen-test.
fn wasm_test_targets() -> Outcome<Vec<Vec<String>>> {
    let mut targets = vec![vec!["--lib".to_owned()]];
    for file in fingerprint::files(&project::root().join("tests"))? {
        let is_test = file.extension().is_some_and(|extension| extension == "rs")
            && fs::read_to_string(&file).at(&file)?.contains("wasm_bindgen_test");
        if let (true, Some(name)) = (is_test, file.file_stem()) {
            targets.push(vec!["--test".to_owned(), name.to_string_lossy().into_owned()]);
        }
    }
    Ok(targets)
}

/// One target at a time, since cargo stops at the first that fails and wasm-pack cannot be told to tell it otherwise.
fn wasm_pack_test(tools: &Tools, target: &[String]) -> Command {
    let mut wasm_pack = tools.command("wasm-pack");
    wasm_pack.args(["test", "--headless", "--chrome", "--mode", "no-install", "--chromedriver"]);
    wasm_pack.arg(&tools.chromedriver).arg(".").args(target).args(["--", "--nocapture"]);
    // In seconds: software rendering takes minutes where a GPU takes seconds.
    wasm_pack.env("WASM_BINDGEN_TEST_TIMEOUT", "600").env("WASM_BINDGEN_TEST_DRIVER_TIMEOUT", "30");
    wasm_pack
}

/// The test scripts of a folder: `*.test.mjs` and `*.test.js`.
fn test_scripts(folder: &str) -> Outcome<Vec<PathBuf>> {
    let mut scripts = fingerprint::files(&project::root().join(folder))?;
    scripts.retain(|file| [".test.mjs", ".test.js"].iter().any(|end| file.to_string_lossy().ends_with(end)));
    Ok(scripts)
}

/// Runs a command to its end and hands on each line of its output and its errors; fails when it does, or hangs.
fn stream(mut command: Command, mut each: impl FnMut(&str)) -> Outcome {
    let deadline = Instant::now() + LIMIT;
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
        match received.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => each(&line),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                end_group(&mut child);
                return Err(Failure(format!("`{line}` did not end within {} s", LIMIT.as_secs())));
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
