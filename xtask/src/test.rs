//! `cargo xtask test`: the checks and tests of the project, counted together.
//!
//! [`runners`] states which tests run for every change and which with `--all`; [`lanes`] runs commands that do not depend on each other side by side. A
//! runner that fails does not stop the others. The last line is `N passed, N failed`; the one before it names the tests whose data was absent (a test
//! prints `data absent: <test>: <path>` for that).

mod lanes;
mod process;
pub mod runners;

use crate::command::{Failure, Outcome};
use crate::fingerprint;
use crate::project;
use crate::server::Server;
use crate::setup::{self, Browser, Tools};
use crate::tally::{Report, Tally};
use lanes::{Job, Needs};
use runners::{SCRIPT_RUNNERS, Tier};
use std::collections::BTreeSet;
use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

const HELP: &str = "\
cargo xtask test [--all] [--only NAME]... [--hardware]

Installs what is missing and runs the tests that every change must pass. Ends with one line `N passed, N failed`; the
status is 0 when nothing failed.
  --all        also long tests, tests that assert times, and everything in Firefox
  --only NAME  only the runners whose name contains NAME; may be given several times
  --hardware   browser tests on the GPU that is there; by default on software adapters, SwiftShader in Chromium and lavapipe in Firefox";

/// Targets of cargo test whose tests run in a page.
pub const WASM_TESTS: [&str; 2] = ["--package residua --test wasm --test gpu_worker", "--package residua-base --lib"];

/// Commands that run at the same time. Many wait for a browser's software device, which is a program of its own.
const LANES: usize = 2;

pub fn run(mut arguments: lexopt::Parser) -> Outcome {
    use lexopt::Arg::{Long, Short};
    use lexopt::ValueExt;
    let (mut only, mut hardware, mut tier) = (Vec::new(), false, Tier::Change);
    while let Some(argument) = arguments.next()? {
        match argument {
            Short('h') | Long("help") => {
                println!("{HELP}");
                return Ok(());
            }
            Long("all") => tier = Tier::All,
            Long("only") => only.push(arguments.value()?.string()?),
            Long("hardware") => hardware = true,
            other => return Err(other.unexpected().into()),
        }
    }
    let start = Instant::now();
    let tools = setup::install()?;
    let server = Server::start("127.0.0.1", 0, "/", None)?;
    let mut session =
        Session { tools: &tools, server: &server, tier, hardware, only, jobs: Vec::new(), results: Vec::new() };
    session.queue()?;
    let (jobs, mut results) = (session.jobs, session.results);
    lanes::run(jobs, LANES, |ended| {
        if let Some(result) = results.iter_mut().find(|result| result.name == ended.runner) {
            result.take(&ended);
        }
    });
    report(results, start.elapsed())
}

/// What the commands of one runner have printed and taken.
struct RunnerResult {
    name: &'static str,
    report: Report,
    tally: Tally,
    time: Duration,
}

impl RunnerResult {
    fn take(&mut self, ended: &lanes::Ended) {
        let failed = self.tally.failed;
        ended.lines.iter().for_each(|line| self.tally.read(self.report, line));
        self.tally.ended(self.report, ended.success, failed);
        self.time += ended.time;
    }
}

struct Session<'a> {
    tools: &'a Tools,
    server: &'a Server,
    tier: Tier,
    hardware: bool,
    only: Vec<String>,
    jobs: Vec<Job>,
    results: Vec<RunnerResult>,
}

impl Session<'_> {
    /// Queues the jobs of all runners that are wanted.
    fn queue(&mut self) -> Outcome {
        let tools = self.tools;
        let scripts = self.scripts()?;
        if self.wants("package") || !scripts.is_empty() {
            // Everything that the pages need: the package and the libraries beside it.
            let mut site = Command::new(env::current_exe().map_err(|error| Failure(format!("xtask: {error}")))?);
            site.arg("site").current_dir(project::root());
            self.results.push(RunnerResult::new("package", Report::Status));
            self.jobs.push(Job { runner: "package", part: String::new(), command: site, needs: Needs::ToPack });
        }
        let cargo = |arguments: &[&str]| {
            let mut command = tools.command("cargo");
            command.args(arguments);
            command
        };
        // Clippy has a folder of its own: it checks while tests are built, which take most of a run and wait for nothing.
        let clippy = |arguments: &[&str]| {
            let mut command = cargo(&[&["clippy", "--workspace"], arguments, &["--", "-D", "warnings"]].concat());
            command.env("CARGO_TARGET_DIR", project::root().join("target/clippy"));
            command
        };
        self.runner("rustfmt", Report::Status, Needs::Nothing, || cargo(&["fmt", "--all", "--check"]));
        self.runner("clippy", Report::Status, Needs::Lints, || clippy(&["--all-targets"]));
        // What is compiled there alone: the modules, and tests that run in a page. Other tests have been checked as native ones.
        self.runner("clippy for wasm32", Report::Status, Needs::Lints, || {
            let targets = ["--lib", "--test", "wasm", "--test", "gpu_worker"];
            clippy(&[&["--exclude", "xtask", "--target", "wasm32-unknown-unknown"], &targets[..]].concat())
        });
        self.runner("native tests", Report::Libtest, Needs::Builds, || {
            cargo(&["test", "--workspace", "--no-fail-fast", "--", "--show-output"])
        });
        for (name, browser) in
            [("wasm tests in Chromium", Browser::Chromium), ("wasm tests in Firefox", Browser::Firefox)]
        {
            if self.tier == Tier::All || browser == Browser::Chromium {
                let mut node = tools.browser_node(browser, self.hardware);
                node.arg("xtask/wasm-tests.mjs").args(WASM_TESTS).env("RESIDUA_TIER", self.tier.name());
                self.runner(name, Report::Libtest, Needs::Builds, || node);
            }
        }
        self.runner("oxlint", Report::Status, Needs::Nothing, || {
            let mut oxlint = tools.node(project::npm_script("oxlint/bin/oxlint"));
            oxlint.arg("--deny-warnings");
            oxlint
        });
        for script in scripts {
            self.script(script);
        }
        Ok(())
    }

    /// The scripts that run, in the order of their runners; those that assert times last, since nothing may run beside them.
    fn scripts(&self) -> Outcome<Vec<Script>> {
        let mut scripts = Vec::new();
        for runner in &SCRIPT_RUNNERS {
            if !self.wants(runner.name) {
                continue;
            }
            for file in fingerprint::files(&project::root().join(runner.folder))? {
                if let Some(mark) = runners::mark(&file)
                    && runners::takes(self.tier, runner.browser, mark)
                {
                    scripts.push(Script { runner, file, is_alone: mark == runners::Mark::Clock });
                }
            }
        }
        scripts.sort_by_key(|script| script.is_alone);
        Ok(scripts)
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| name.contains(only.as_str()))
    }

    /// Queues a runner of one command.
    fn runner(&mut self, name: &'static str, report: Report, needs: Needs, command: impl FnOnce() -> Command) {
        if self.wants(name) {
            self.results.push(RunnerResult::new(name, report));
            self.jobs.push(Job { runner: name, part: String::new(), command: command(), needs });
        }
    }

    /// Queues one script, with a process of its own, which may hang without the others.
    fn script(&mut self, Script { runner, file, is_alone }: Script) {
        let mut node = self.tools.browser_node(runner.browser.unwrap_or(Browser::Chromium), self.hardware);
        node.args(["--test", "--test-reporter=spec"]).arg(&file);
        node.env("RESIDUA_URL", &self.server.url);
        node.env("RESIDUA_TIER", self.tier.name());
        let needs = if is_alone { Needs::PackageAlone } else { Needs::Package };
        let part = file.strip_prefix(project::root()).unwrap_or(&file).display().to_string();
        if self.results.iter().all(|result| result.name != runner.name) {
            self.results.push(RunnerResult::new(runner.name, Report::Node));
        }
        self.jobs.push(Job { runner: runner.name, part, command: node, needs });
    }
}

impl RunnerResult {
    fn new(name: &'static str, report: Report) -> Self {
        Self { name, report, tally: Tally::default(), time: Duration::ZERO }
    }
}

struct Script {
    runner: &'static runners::ScriptRunner,
    file: PathBuf,
    is_alone: bool,
}

fn report(mut results: Vec<RunnerResult>, total: Duration) -> Outcome {
    println!();
    for RunnerResult { name, tally, time, .. } in &mut results {
        tally.finish();
        let names: Vec<&str> = tally.failures.iter().map(String::as_str).collect();
        let (passed, failed) = (tally.passed, tally.failed);
        println!(
            "{name}: {passed} passed, {failed} failed, {:.1} s{}{}",
            time.as_secs_f64(),
            if names.is_empty() { "" } else { ": " },
            names.join(", ")
        );
    }
    println!("total time: {:.1} s, in {LANES} lanes", total.as_secs_f64());
    let absent: BTreeSet<&str> =
        results.iter().flat_map(|result| result.tally.absent.iter().map(String::as_str)).collect();
    let absent: Vec<&str> = absent.into_iter().collect();
    println!("data absent: {}", if absent.is_empty() { "none".to_owned() } else { absent.join("; ") });
    let passed: usize = results.iter().map(|result| result.tally.passed).sum();
    let failed: usize = results.iter().map(|result| result.tally.failed).sum();
    println!("{passed} passed, {failed} failed");
    if failed == 0 && passed > 0 {
        return Ok(());
    }
    // The counts are the message.
    std::process::exit(1)
}
