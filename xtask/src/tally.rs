//! Reading what test runners print: how many tests passed and failed, which failed, and which had no data.

use std::collections::BTreeSet;

/// What one runner has said so far.
#[derive(Default, Debug, PartialEq)]
pub struct Tally {
    pub passed: usize,
    pub failed: usize,
    /// The names of the tests that failed, as far as the runner gives them.
    pub failures: BTreeSet<String>,
    /// What follows `data absent: ` on a line: a test's name and the path that it looked at.
    pub absent: BTreeSet<String>,
}

/// How a runner reports.
#[derive(Clone, Copy)]
pub enum Report {
    /// Rust's: `test result: ok. 3 passed; 0 failed; …` for every test binary.
    Libtest,
    /// Node's spec reporter: `ℹ pass 3`, `ℹ fail 0`, `ℹ cancelled 0`.
    Node,
    /// None: the exit status is its one test.
    Status,
}

impl Tally {
    /// Takes in one line of a runner's output.
    pub fn read(&mut self, report: Report, line: &str) {
        if let Some((_, what)) = line.split_once("data absent: ") {
            self.absent.insert(what.trim().to_owned());
        }
        match report {
            Report::Libtest => self.read_libtest(line.trim()),
            Report::Node => self.read_node(line.trim()),
            Report::Status => {}
        }
    }

    fn read_libtest(&mut self, line: &str) {
        if let Some((_, counts)) = line.split_once("test result: ") {
            self.passed += count_before(counts, " passed");
            self.failed += count_before(counts, " failed");
        } else if let Some(name) = line.strip_prefix("test ").and_then(failed_test) {
            self.failures.insert(name.to_owned());
        }
    }

    fn read_node(&mut self, line: &str) {
        let count = |word: &str| line.strip_prefix(word).and_then(|count| count.trim().parse::<usize>().ok());
        if let Some(count) = count("ℹ pass ") {
            self.passed += count;
        } else if let Some(count) = count("ℹ fail ").or_else(|| count("ℹ cancelled ")) {
            self.failed += count;
        } else if let Some(name) = line.strip_prefix("✖ ")
            && name != "failing tests:"
        {
            self.failures.insert(name.split(" (").next().unwrap_or(name).to_owned());
        }
    }

    /// Takes in how one of the runner's commands ended, before which `failed` tests had failed. A command that fails
    /// without a failed test has broken down: that counts as one failure of its own.
    pub fn ended(&mut self, report: Report, success: bool, failed: usize) {
        match report {
            Report::Status if success => self.passed += 1,
            Report::Status => self.failed += 1,
            Report::Libtest | Report::Node if !success && self.failed == failed => {
                self.failed += 1;
                self.failures.insert("the runner broke down".to_owned());
            }
            Report::Libtest | Report::Node => {}
        }
    }

    /// Ends the count: a runner that ran no test at all proves nothing, so that is a failure too, unless it said which data all of them wait for.
    pub fn finish(&mut self) {
        if self.passed + self.failed == 0 && self.absent.is_empty() {
            self.failed = 1;
            self.failures.insert("the runner ran no test".to_owned());
        }
    }
}

fn count_before(text: &str, word: &str) -> usize {
    let digits = text.split(word).next().and_then(|before| before.rsplit([' ', ';']).next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// libtest writes `NAME ... FAILED`, wasm-bindgen-test `NAME ... FAIL`.
fn failed_test(line: &str) -> Option<&str> {
    let (name, outcome) = line.split_once(" ... ")?;
    outcome.starts_with("FAIL").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(report: Report, success: bool, output: &str) -> Tally {
        let mut tally = Tally::default();
        for line in output.lines() {
            tally.read(report, line);
        }
        tally.ended(report, success, 0);
        tally.finish();
        tally
    }

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn counts_are_summed_over_all_test_binaries() {
        let output = "\
test graph::op ... ok
test cpu::sin ... FAILED
data absent: solve::nist: ../shared/data/nist
test result: FAILED. 11 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.01s
test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s";
        let expected = Tally {
            passed: 15,
            failed: 1,
            failures: names(&["cpu::sin"]),
            absent: names(&["solve::nist: ../shared/data/nist"]),
        };
        assert_eq!(tally(Report::Libtest, false, output), expected);
    }

    #[test]
    fn nodes_cancelled_tests_count_as_failed() {
        let output =
            "✔ a (1.2ms)\n✖ b (3.4ms)\nℹ tests 3\nℹ pass 1\nℹ fail 1\nℹ cancelled 1\n\n✖ failing tests:\n✖ b (3.4ms)";
        let expected = Tally { passed: 1, failed: 2, failures: names(&["b"]), absent: BTreeSet::new() };
        assert_eq!(tally(Report::Node, false, output), expected);
    }

    #[test]
    fn a_runner_that_breaks_down_or_runs_nothing_counts_as_a_failure() {
        let cases = [
            (Report::Libtest, false, "error[E0308]: mismatched types", (0, 1)),
            (Report::Libtest, false, "test result: ok. 2 passed; 0 failed;\nsegmentation fault", (2, 1)),
            (Report::Libtest, true, "test result: ok. 0 passed; 0 failed; 0 ignored", (0, 1)),
            (Report::Node, true, "ℹ pass 0\nℹ fail 0", (0, 1)),
            (Report::Node, true, "data absent: nist: ../shared/data/nist\nℹ pass 0\nℹ fail 0", (0, 0)),
            (Report::Status, true, "", (1, 0)),
            (Report::Status, false, "", (0, 1)),
        ];
        for (report, success, output, expected) in cases {
            let tally = tally(report, success, output);
            assert_eq!((tally.passed, tally.failed), expected, "{output}");
        }
    }
}
