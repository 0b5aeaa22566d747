//! Runs jobs side by side in a fixed number of lanes.
//!
//! A lane takes the first job of the queue that may start. What a job prints is printed whole when the job ends, so that lines of two jobs do not mix; with
//! one lane each line is printed at once.

use super::process;
use crate::command::Failure;
use std::process::Command;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What a job needs, or keeps from others, while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    /// Cargo's folder of development builds, which one cargo at a time can write.
    Builds,
    /// The folder of what clippy has checked, likewise.
    Lints,
    /// The packed package, the pages and what stands beside them: what the job that [`Needs::ToPack`] leaves.
    Package,
    /// The same, and no other job beside it.
    PackageAlone,
    /// It makes the package.
    ToPack,
}

/// A command of a runner.
pub struct Job {
    pub runner: &'static str,
    /// What the runner runs here, where it has several commands; else empty.
    pub part: String,
    pub command: Command,
    pub needs: Needs,
}

/// What became of a job.
pub struct Ended {
    pub runner: &'static str,
    pub lines: Vec<String>,
    pub success: bool,
    pub time: Duration,
}

struct Queue {
    waiting: Vec<Job>,
    running: Vec<Needs>,
    /// How packing ended; success where no job packs.
    packed: Option<bool>,
}

impl Queue {
    fn may_start(&self, needs: Needs) -> bool {
        if self.running.contains(&Needs::PackageAlone) {
            return false;
        }
        match needs {
            Needs::Nothing | Needs::ToPack => true,
            Needs::Builds | Needs::Lints => !self.running.contains(&needs),
            Needs::Package => self.packed.is_some(),
            Needs::PackageAlone => self.packed.is_some() && self.running.is_empty(),
        }
    }

    /// Takes out the first job that may start.
    fn next(&mut self) -> Option<Job> {
        let position = self.waiting.iter().position(|job| self.may_start(job.needs))?;
        let job = self.waiting.remove(position);
        self.running.push(job.needs);
        Some(job)
    }
}

/// Runs all jobs and calls `ended` with each, one at a time, in the order in which they end.
pub fn run(jobs: Vec<Job>, lanes: usize, ended: impl FnMut(Ended) + Send) {
    let lanes = lanes.min(jobs.len()).max(1);
    let packed = if jobs.iter().any(|job| job.needs == Needs::ToPack) { None } else { Some(true) };
    let queue = Mutex::new(Queue { waiting: jobs, running: Vec::new(), packed });
    let (change, ended) = (Condvar::new(), Mutex::new(ended));
    let lane = || {
        loop {
            let mut state = locked(&queue);
            let job = loop {
                if state.waiting.is_empty() {
                    return;
                }
                match state.next() {
                    Some(job) => break job,
                    None => state = change.wait(state).unwrap_or_else(PoisonError::into_inner),
                }
            };
            let has_package = state.packed != Some(false);
            drop(state);
            let (needs, title) = (job.needs, job.title());
            let outcome = execute(job, lanes == 1, has_package);
            let success = outcome.success;
            let mut report = locked(&ended);
            if lanes > 1 {
                println!("\n==> {title}");
                outcome.lines.iter().for_each(|line| println!("{line}"));
            }
            println!("    {title}: {:.1} s", outcome.time.as_secs_f64());
            report(outcome);
            drop(report);
            let mut state = locked(&queue);
            if let Some(position) = state.running.iter().position(|&running| running == needs) {
                state.running.remove(position);
            }
            if needs == Needs::ToPack {
                state.packed = Some(success);
            }
            drop(state);
            change.notify_all();
        }
    };
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(lane);
        }
    });
}

fn execute(job: Job, is_live: bool, has_package: bool) -> Ended {
    let start = Instant::now();
    let mut lines = Vec::new();
    if is_live {
        println!("\n==> {}", job.title());
    }
    let mut each = |line: &str| {
        if is_live {
            println!("{line}");
        }
        lines.push(line.to_owned());
    };
    let outcome = if !has_package && matches!(job.needs, Needs::Package | Needs::PackageAlone) {
        // A package of an earlier run proves nothing.
        Err(Failure("not run: there is no package".to_owned()))
    } else {
        process::stream(job.command, &mut each)
    };
    if let Err(Failure(words)) = &outcome {
        each(words);
    }
    Ended { runner: job.runner, success: outcome.is_ok(), lines, time: start.elapsed() }
}

impl Job {
    fn title(&self) -> String {
        if self.part.is_empty() { self.runner.to_owned() } else { format!("{}: {}", self.runner, self.part) }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn job(runner: &'static str, script: &str, needs: Needs) -> Job {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Job { runner, part: String::new(), command, needs }
    }

    fn outcomes(jobs: Vec<Job>, lanes: usize) -> Vec<(&'static str, bool, Vec<String>)> {
        let mut found = Vec::new();
        run(jobs, lanes, |ended| found.push((ended.runner, ended.success, ended.lines)));
        found
    }

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-lanes-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Fails where the file is there, which it makes while it runs.
    fn exclusive(file: &Path) -> String {
        let file = file.display();
        format!("test ! -e {file} && touch {file} && sleep 0.1 && rm {file}")
    }

    #[test]
    fn every_job_runs_once_and_its_lines_are_kept() {
        for lanes in [1, 2, 5] {
            let jobs = (0..4).map(|_| job("says", "echo one; echo two >&2", Needs::Nothing)).collect();
            let mut found = outcomes(jobs, lanes);
            found.iter_mut().for_each(|(_, _, lines)| lines.sort());
            assert_eq!(found, vec![("says", true, vec!["one".to_owned(), "two".to_owned()]); 4], "{lanes} lanes");
        }
    }

    #[test]
    fn scripts_wait_for_the_package_and_fail_without_it() {
        let folder = folder("package");
        let file = folder.join("package").display().to_string();
        for (pack, success) in [(format!("sleep 0.1; touch {file}"), true), (format!("rm {file}; false"), false)] {
            let jobs = vec![
                job("script", &format!("test -e {file}"), Needs::Package),
                job("pack", &pack, Needs::ToPack),
                job("lint", "true", Needs::Nothing),
            ];
            let mut found: Vec<_> =
                outcomes(jobs, 2).into_iter().map(|(runner, success, _)| (runner, success)).collect();
            let place = |name| found.iter().position(|&(runner, _)| runner == name);
            assert!(place("pack") < place("script"), "{found:?}");
            found.sort();
            assert_eq!(found, [("lint", true), ("pack", success), ("script", success)]);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn builds_exclude_each_other_and_a_job_alone_excludes_all() {
        let folder = folder("exclusive");
        for needs in [Needs::Builds, Needs::PackageAlone] {
            let script = exclusive(&folder.join(format!("{needs:?}")));
            let jobs = (0..3).map(|_| job("exclusive", &script, needs)).collect();
            assert!(outcomes(jobs, 3).iter().all(|(_, success, _)| *success), "{needs:?}");
        }
        let script = exclusive(&folder.join("any"));
        let jobs = vec![
            job("ordinary", &script, Needs::Builds),
            job("alone", &script, Needs::PackageAlone),
            job("script", &script, Needs::Package),
        ];
        // The builds and the script do meet, without the one that runs alone.
        let alone: Vec<bool> = outcomes(jobs, 2)
            .iter()
            .filter(|(runner, ..)| *runner == "alone")
            .map(|&(_, success, _)| success)
            .collect();
        assert_eq!(alone, [true]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
