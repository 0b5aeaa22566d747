//! The runners of `cargo xtask test`, and which test scripts each of them takes in which tier.
//!
//! A script's name states when it runs:
//!
//! | name | for every change | with `--all` |
//! |---|---|---|
//! | `*.test.mjs` | in Node, or in Chromium | in Node, or in both browsers |
//! | `*.smoke.test.mjs` | in both browsers | in both browsers |
//! | `*.long.test.mjs` | not | in Node, or in both browsers |
//! | `*.clock.test.mjs` | not | the same, with no other runner beside it: it asserts times |
//!
//! A long test among quick ones is a `longTest` (tests/tier.mjs).

use crate::setup::Browser;
use std::path::Path;

/// How much of the tests a run takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// What every change must pass.
    Change,
    All,
}

impl Tier {
    /// The value of RESIDUA_TIER, by which a script leaves out its long tests.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Change => "change",
            Tier::All => "all",
        }
    }
}

/// A folder of test scripts and what runs them: Node alone, or Node with a browser.
pub struct ScriptRunner {
    pub name: &'static str,
    pub folder: &'static str,
    pub browser: Option<Browser>,
}

const fn runner(name: &'static str, folder: &'static str, browser: Option<Browser>) -> ScriptRunner {
    ScriptRunner { name, folder, browser }
}

/// Runners of scripts, in the order in which they start. Those with the longest scripts come first, so that both lanes end at about the same time.
pub const SCRIPT_RUNNERS: [ScriptRunner; 9] = [
    runner("page tests in Chromium", "tests/e2e", Some(Browser::Chromium)),
    runner("page tests in Firefox", "tests/e2e", Some(Browser::Firefox)),
    runner("truth in Chromium", "tests/truth", Some(Browser::Chromium)),
    runner("truth in Firefox", "tests/truth", Some(Browser::Firefox)),
    runner("consumers of the package in Chromium", "tests/consumers", Some(Browser::Chromium)),
    runner("consumers of the package in Firefox", "tests/consumers", Some(Browser::Firefox)),
    runner("package in Node", "tests/package", None),
    runner("facade tests", "tests/facade", None),
    runner("page code in Node", "tests/www", None),
];

/// What a script's name states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Plain,
    Smoke,
    Long,
    Clock,
}

/// The mark in a script's name; none where the file is no test script.
pub fn mark(file: &Path) -> Option<Mark> {
    let name = file.file_name()?.to_str()?.strip_suffix(".test.mjs")?;
    match name.split_once('.') {
        None => Some(Mark::Plain),
        Some((_, "smoke")) => Some(Mark::Smoke),
        Some((_, "long")) => Some(Mark::Long),
        Some((_, "clock")) => Some(Mark::Clock),
        Some(_) => None,
    }
}

/// Whether a runner takes a script in a tier.
pub fn takes(tier: Tier, browser: Option<Browser>, mark: Mark) -> bool {
    match (tier, mark) {
        (Tier::All, _) | (Tier::Change, Mark::Smoke) => true,
        (Tier::Change, Mark::Plain) => browser != Some(Browser::Firefox),
        (Tier::Change, Mark::Long | Mark::Clock) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_states_when_a_script_runs() {
        let (chromium, firefox) = (Some(Browser::Chromium), Some(Browser::Firefox));
        // For every change: in Node, in Chromium, in Firefox.
        let cases = [
            ("a/solve.test.mjs", Some((Mark::Plain, [true, true, false]))),
            ("a/pages.smoke.test.mjs", Some((Mark::Smoke, [true, true, true]))),
            ("a/nist.long.test.mjs", Some((Mark::Long, [false, false, false]))),
            ("a/frames.clock.test.mjs", Some((Mark::Clock, [false, false, false]))),
            ("a/solve.quick.test.mjs", None),
            ("a/browser.mjs", None),
            ("a/solve.test.js", None),
        ];
        for (file, expected) in cases {
            let found = mark(Path::new(file));
            assert_eq!(found, expected.map(|(mark, _)| mark), "{file}");
            if let Some((mark, for_a_change)) = expected {
                let taken = |tier| [None, chromium, firefox].map(|browser| takes(tier, browser, mark));
                assert_eq!(taken(Tier::Change), for_a_change, "{file}");
                assert_eq!(taken(Tier::All), [true; 3], "{file}");
            }
        }
    }
}
