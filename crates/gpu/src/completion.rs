//! Completion of GPU work: empty submissions while a read-back is awaited.
//!
//! Browsers check for finished GPU work when commands arrive at the queue, and otherwise on a timer: after about 3 ms in
//! Chromium and 100 ms in Firefox. A page cannot request that check, so a loop of `MessageChannel` turns submits empty command
//! lists while a read-back is awaited. A round trip then takes 0.15 ms instead of 3.1 in Chromium on an H200, and 1 ms instead of 100
//! in Firefox.
//!
//! Each empty submission takes time in the GPU process of the browser. The interval between them therefore grows with the
//! wait: a fixed interval of 0.05 ms lengthens a submission of 40 ms to 46.5 ms (docs/decisions/0023-work-on-a-device.md).
//!
//! On a software adapter the loop and the work share processors. Turns then end after [`PATIENCE`], and timers follow.
//!
//! [`Schedule`] decides which turns of the loop submit, from the clock alone; the loop itself is compiled for wasm32.

#[cfg(target_arch = "wasm32")]
mod message_loop;

#[cfg(target_arch = "wasm32")]
pub(crate) use message_loop::CompletionLoop;

/// When the next empty submission is due: the least time since the last one, and the turns of the loop after which it is due
/// whatever the clock reads, since browsers may round the clock to 1 ms and more.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Interval {
    milliseconds: f64,
    turns: u32,
}

/// The first interval of a wait: work of a few tenths of a millisecond is noticed some 30 µs earlier than with [`LEAST`].
const FIRST: Interval = Interval { milliseconds: 0.02, turns: 5 };

/// Submissions of a wait that follow each other in the [`FIRST`] interval.
const FIRST_SUBMISSIONS: u32 = 16;

/// The least interval after that.
const LEAST: Interval = Interval { milliseconds: 0.05, turns: 16 };

/// The interval as a fraction of the time waited, once that is more than [`LEAST`].
const FRACTION_OF_WAIT: f64 = 0.05;

/// Milliseconds of a wait for a software adapter in which turns follow each other at once. Shorter work is noticed as early as elsewhere.
const PATIENCE: f64 = 1.0;

/// The interval after `submissions` empty submissions of a wait that has lasted `waited` milliseconds.
fn interval(submissions: u32, waited: f64) -> Interval {
    if submissions < FIRST_SUBMISSIONS {
        return FIRST;
    }
    let growth = (FRACTION_OF_WAIT * waited / LEAST.milliseconds).max(1.0);
    Interval { milliseconds: growth * LEAST.milliseconds, turns: (growth * f64::from(LEAST.turns)) as u32 }
}

/// Which turns of the loop make an empty submission. All times are in milliseconds on one clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Schedule {
    /// The start of the latest wait, and the submissions since.
    began: f64,
    submissions: u32,
    /// The time of the last submission, and the turns since.
    last: f64,
    turns: u32,
}

impl Schedule {
    /// A wait starts: intervals are short again, also for waits that began earlier.
    pub fn begin(&mut self, now: f64) {
        (self.began, self.submissions) = (now, 0);
    }

    /// Counts a turn of the loop. Returns whether it makes a submission.
    pub fn turn(&mut self, now: f64) -> bool {
        self.turns += 1;
        let interval = interval(self.submissions, now - self.began);
        let is_due = now - self.last >= interval.milliseconds || self.turns >= interval.turns;
        if is_due {
            (self.last, self.turns) = (now, 0);
            self.submissions += 1;
        }
        is_due
    }

    /// Whether a wait for a software adapter leaves processors to the work from now on.
    pub fn pauses(&self, now: f64) -> bool {
        now - self.began >= PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of the submissions in a wait that begins at 7 ms and lasts `milliseconds`, with turns of 3 µs and a clock that is
    /// rounded down to multiples of `tick`.
    fn submissions(milliseconds: f64, tick: f64) -> Vec<f64> {
        const TURN: f64 = 0.003;
        let clock = |time: f64| (time / tick).floor() * tick;
        let mut schedule = Schedule::default();
        schedule.begin(clock(7.0));
        let times = (0..(milliseconds / TURN) as u32).map(|turn| 7.0 + TURN * f64::from(turn));
        times.filter(|&time| schedule.turn(clock(time))).map(|time| time - 7.0).collect()
    }

    #[test]
    fn the_interval_starts_short_and_grows_to_a_twentieth_of_the_wait() {
        for (count, waited, expected) in [
            (0, 0.0, FIRST),
            (15, 0.4, FIRST),
            (16, 0.4, LEAST),
            (30, 1.0, LEAST),
            (40, 2.0, Interval { milliseconds: 0.1, turns: 32 }),
            (90, 40.0, Interval { milliseconds: 2.0, turns: 640 }),
            // A clock that was set back.
            (90, -5.0, LEAST),
        ] {
            assert_eq!(interval(count, waited), expected, "{count} submissions, {waited} ms");
        }
    }

    #[test]
    fn short_work_is_noticed_within_its_first_intervals_and_long_work_is_hardly_disturbed() {
        let times = submissions(40.0, 1e-6);
        // The clock decides after every fifth turn of 3 µs at the latest.
        assert!(times.windows(2).take(15).all(|pair| pair[1] - pair[0] < 0.021), "{times:?}");
        assert_eq!(times[0], 0.0);
        // 16 at first, then (1 − 0.24)/0.05 until 1 ms, then ln(40)/ln(1.05) until 40 ms.
        assert!((90..=120).contains(&times.len()), "{}", times.len());
        for pair in times.windows(2).filter(|pair| pair[0] > 1.0) {
            let share = (pair[1] - pair[0]) / pair[0];
            assert!((0.04..=0.056).contains(&share), "{pair:?}");
        }
    }

    #[test]
    fn a_clock_of_whole_milliseconds_leaves_the_pace_to_the_turns() {
        let (exact, rounded) = (submissions(40.0, 1e-6).len(), submissions(40.0, 1.0).len());
        assert!(rounded >= exact / 2 && rounded <= 2 * exact, "{exact} submissions, {rounded} with a rounded clock");
        // A clock that stands still: 5 turns at first, 16 later.
        let turns = (40.0 / 0.003) as usize;
        assert_eq!(submissions(40.0, 1e9).len(), 16 + (turns - 16 * 5) / 16);
    }

    #[test]
    fn each_wait_for_a_software_adapter_is_patient_for_a_millisecond() {
        let mut schedule = Schedule::default();
        for began in [0.0, 20.0] {
            schedule.begin(began);
            let pauses = [0.0, 0.9, 1.0, 1.1, 50.0].map(|waited| schedule.pauses(began + waited));
            assert_eq!(pauses, [false, false, true, true, true], "a wait that begins at {began}");
        }
    }

    #[test]
    fn each_wait_starts_with_short_intervals() {
        let mut schedule = Schedule::default();
        schedule.begin(0.0);
        let mut now = 0.0;
        while now < 50.0 {
            now += 0.003;
            schedule.turn(now);
        }
        schedule.begin(now);
        assert!(
            (0..8).any(|turn| schedule.turn(now + 0.003 * f64::from(turn))),
            "a new wait has its first submission within 24 µs"
        );
    }
}
