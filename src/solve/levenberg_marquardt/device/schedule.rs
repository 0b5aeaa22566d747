//! How much work is submitted at a time. Nothing here changes a number: gates on the device decide what runs.
//!
//! A *unit* is some iterations of conjugate gradients, a tail and a head: a step if its iterations suffice, or a part of one. A
//! batch of units ends with a read-back; the next batch is submitted before the one before it is read, so that the device never waits.

/// Milliseconds a batch takes at most, where that leaves few enough read-backs.
const SHORT_BATCH: f64 = 30.0;

/// Milliseconds that a submission takes at most, as far as units can be divided: browsers and systems end those that take seconds.
const SUBMISSION: f64 = 100.0;

/// So many steps are read back in at most [`BATCHES`] batches.
const STEPS: u32 = 20;

/// See [`STEPS`].
const BATCHES: u32 = 5;

/// Steps of the first batch.
const FIRST: u32 = 2;

/// Units of a batch at most: a history record for each must have room in the ring.
const MOST_UNITS: u32 = super::state::RING / 2;

/// Iterations of conjugate gradients in a unit while none have been counted.
const FIRST_ITERATIONS: u32 = 16;

/// Iterations of conjugate gradients in a unit at least: those that are not needed cost microseconds, one too few a unit.
const LEAST_ITERATIONS: u32 = 8;

/// Decides the sizes of batches.
#[derive(Clone, Debug)]
pub struct Schedule {
    most_linear: u32,
    runs_all: bool,
    batches: u32,
    /// Units of the last batch.
    last: u32,
    /// Milliseconds a unit took.
    unit: Option<f64>,
    iterations: u32,
    units_per_step: u32,
}

/// One batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Units in it.
    pub units: u32,
    /// Iterations of conjugate gradients in each unit.
    pub iterations: u32,
    /// Units that are submitted at a time.
    pub at_a_time: u32,
}

impl Schedule {
    /// The schedule of a solve with so many iterations of conjugate gradients a step at most. `runs_all`: and never fewer.
    pub fn new(most_linear: u32, runs_all: bool) -> Schedule {
        let most_linear = most_linear.max(1);
        let iterations = if runs_all { most_linear.min(128) } else { most_linear.min(FIRST_ITERATIONS) };
        let units_per_step = if runs_all { most_linear.div_ceil(iterations) } else { 1 };
        Schedule { most_linear, runs_all, batches: 0, last: 0, unit: None, iterations, units_per_step }
    }

    /// The schedule of another solve of the same functions: it begins with what this one has learned, if it may take as many iterations of
    /// conjugate gradients. A page that solves for every frame then waits once for each solve, not once for each unit.
    pub fn again(self, most_linear: u32, runs_all: bool) -> Schedule {
        if (self.most_linear, self.runs_all) != (most_linear.max(1), runs_all) {
            return Schedule::new(most_linear, runs_all);
        }
        Schedule { batches: 0, last: 0, ..self }
    }

    /// The next batch, for a solve that has made or submitted so many steps and may take so many more.
    pub fn next(&mut self, steps_done: u32, steps_left: u32) -> Batch {
        let least = match BATCHES.saturating_sub(self.batches) {
            BATCHES => FIRST,
            0 => 1,
            batches => STEPS.saturating_sub(steps_done).div_ceil(batches).max(1),
        };
        let doubled = if self.batches == 0 { least } else { (2 * self.last).max(least) };
        let units = match self.unit {
            None => doubled,
            Some(unit) => {
                let fitting = (SHORT_BATCH / unit.max(1e-3)) as u32;
                doubled.min(fitting).max(least)
            }
        };
        let wanted = steps_left.max(1).saturating_mul(self.units_per_step);
        let units = units.saturating_mul(self.units_per_step).clamp(1, wanted.min(MOST_UNITS));
        self.batches += 1;
        self.last = units.div_ceil(self.units_per_step);
        let at_a_time = self.unit.map_or(units, |unit| (SUBMISSION / unit.max(1e-3)) as u32).clamp(1, units);
        Batch { units, iterations: self.iterations, at_a_time }
    }

    /// How many steps a batch makes, as far as is known.
    pub fn steps_of(&self, batch: Batch) -> u32 {
        batch.units / self.units_per_step
    }

    /// A batch is done: so many milliseconds after the one before it, with so many iterations of conjugate gradients in its longest
    /// step.
    pub fn observe(&mut self, batch: Batch, milliseconds: f64, linear: u32) {
        self.unit = Some(milliseconds * f64::from(self.units_per_step) / f64::from(batch.units.max(1)));
        if self.runs_all || linear == 0 {
            return;
        }
        // Where a step may take few more than the least, it gets them: which step needs them is up to the device's rounding.
        let least = if self.most_linear <= 2 * LEAST_ITERATIONS { self.most_linear } else { LEAST_ITERATIONS };
        let likely = linear.next_power_of_two().max(least).min(self.most_linear);
        self.iterations = likely.clamp(1, 64);
        self.units_per_step = likely.div_ceil(self.iterations);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of a solve whose units all take as long, each observed when the next but one is submitted.
    fn batches(steps: u32, unit: f64) -> Vec<u32> {
        let mut schedule = Schedule::new(10, true);
        let (mut done, mut sizes) = (0, Vec::new());
        let mut waiting: Option<Batch> = None;
        while done < steps {
            let batch = schedule.next(done, steps - done);
            done += batch.units;
            sizes.push(batch.units);
            if let Some(done) = waiting.replace(batch) {
                schedule.observe(done, unit * f64::from(done.units), 10);
            }
        }
        sizes
    }

    #[test]
    fn twenty_steps_take_at_most_five_batches() {
        for unit in [0.1, 1.5, 10.0, 100.0, 3000.0] {
            let sizes = batches(20, unit);
            assert!(sizes.len() <= 5, "{unit} ms: {sizes:?}");
            assert_eq!(sizes.iter().sum::<u32>(), 20);
        }
    }

    #[test]
    fn long_batches_are_submitted_in_parts() {
        let mut schedule = Schedule::new(10, true);
        let first = schedule.next(0, 20);
        assert_eq!(first.at_a_time, first.units, "nothing is known of the first");
        for (unit, at_a_time) in [(1.0, 5), (40.0, 2), (500.0, 1)] {
            let mut schedule = schedule.clone();
            schedule.observe(first, unit * f64::from(first.units), 10);
            let batch = schedule.next(2, 18);
            assert_eq!(batch.at_a_time, at_a_time.min(batch.units), "{unit} ms");
        }
    }

    #[test]
    fn batches_grow_to_thirty_milliseconds_and_the_ring() {
        assert_eq!(batches(100, 0.01)[..5], [2, 5, 10, 20, 32]);
        assert!(batches(300, 0.01).iter().all(|&units| units <= MOST_UNITS));
        assert!(batches(100, 2.0)[2..].iter().all(|&units| units <= 15));
    }

    #[test]
    fn another_solve_begins_with_what_the_last_one_learned() {
        let mut schedule = Schedule::new(100, false);
        let first = schedule.next(0, 1);
        schedule.observe(first, 1.0, 100);
        assert_eq!(schedule.clone().again(100, false).next(0, 1), Batch { units: 2, iterations: 64, at_a_time: 2 });
        assert_eq!(schedule.clone().again(200, false).next(0, 1).iterations, FIRST_ITERATIONS, "another limit");
        assert_eq!(schedule.again(100, true).next(0, 1).iterations, 100, "all of them");
        let mut short = Schedule::new(10, true);
        for _ in 0..5 {
            let batch = short.next(0, 20);
            short.observe(batch, 0.1, 10);
        }
        assert_eq!(short.again(10, true).next(0, 20).units, FIRST, "batches are small at the beginning again");
    }

    #[test]
    fn iterations_of_a_unit_follow_those_that_were_counted() {
        let mut schedule = Schedule::new(100, false);
        let first = schedule.next(0, 50);
        assert_eq!(first, Batch { units: FIRST, iterations: FIRST_ITERATIONS, at_a_time: FIRST });
        for (linear, iterations) in [(5, 8), (9, 16), (40, 64), (100, 64), (1, LEAST_ITERATIONS)] {
            schedule.observe(first, 1.0, linear);
            assert_eq!(schedule.next(0, 50).iterations, iterations, "{linear}");
        }
        // A step of 100 iterations takes two units of 64.
        schedule.observe(first, 1.0, 100);
        assert!(schedule.next(0, 1).units == 2);
        assert_eq!(Schedule::new(10, true).next(0, 1), Batch { units: 1, iterations: 10, at_a_time: 1 });
        // A unit is a step, whatever the last ones took.
        let mut short = Schedule::new(10, false);
        short.observe(first, 1.0, 3);
        assert_eq!(short.next(2, 18).iterations, 10);
    }
}
