//! The state block: the words through which the kernels of a solve on the device, and its host, know how it stands.
//!
//! Kernels read and write it; the host uploads it once and reads it when a batch of work is done. The names of the words are written
//! into the shaders from the tables here, so that they stand once. Numbers are f32 bits, truths and counts are u32.

use crate::eval::Arithmetic;
use crate::solve::levenberg_marquardt::point::{MOST_COORDINATES, TOLERANCE_OF_PROMISE};
use crate::solve::rules::{
    EXACT_GAIN, INITIAL_GROWTH, LEAST_FALL_OF_COLUMN, LEFT_OF_GRADIENT, MIN_DAMPING, MOST_LOSSES, NO_FLOOR, Tolerances,
};
use crate::solve::summary::{IterationSummary, Termination};
use crate::solve::words::{constants, integers, words};
use residua_base::decimal::{scientific, shortest_single};

words! { pub(super) u32, distinct STATE:
    // Gates, each at an offset that can be bound by itself.
    /// Whether the trial point is to be linearised.
    LINEARISE = 0,
    /// Whether conjugate gradients go on.
    ITERATE = 64,
    /// Whether there is a step to be tried.
    TRIAL = 128,
    /// Zero in every run, as the words after the other gates are: the word of the guard against rearranged sums.
    GUARD = 1,
    /// Whether the trial point becomes the point.
    COMMIT = 2,
    /// Whether the start has been looked at.
    STARTED = 3,
    /// Trial steps so far.
    ITERATION = 4,
    /// Why the solve has ended, 0 while it has not.
    TERMINATION = 5,
    /// Why it ends when the point reached is linearised.
    ENDING = 6,
    /// λ
    DAMPING = 7,
    /// ν
    GROWTH = 8,
    /// The upper bound of the predicted reduction of the next hidden step.
    FLOOR = 9,
    /// The cost at the point, and the error of its rounding.
    COST = 10,
    COST_LOW = 11,
    /// The cost before the last step.
    COST_BEFORE = 12,
    /// By how much the last trial lowered it.
    CHANGE = 13,
    /// ‖√C δ‖ of the last trial, and ‖√C x‖ before it, with C the diagonal of JᵀJ.
    SCALED_STEP = 14,
    SIZE = 15,
    /// max |g| and ‖C^(−½)g‖ of the coordinates that may move.
    LARGEST = 16,
    NORM = 17,
    /// η
    FORCING = 18,
    /// rᵀz, and where conjugate gradients end.
    RZ = 19,
    RZ_TARGET = 20,
    /// pᵀDp
    PDP = 21,
    /// β of the direction p = z + βp
    BETA = 41,
    /// Iterations of conjugate gradients in this step.
    LINEAR = 22,
    /// What an iteration's second kernel needs of what it overwrites.
    ITERATE_NOW = 23,
    RZ_BEFORE = 24,
    PDP_BEFORE = 25,
    LINEAR_BEFORE = 26,
    /// Whether α was a number.
    USABLE = 27,
    /// Whether the trial point has no derivatives, and the point is to be linearised again.
    RESTORE = 28,
    /// What became of the last trial, as the rules say it.
    VERDICT = 29,
    /// What they were before the last trial.
    DAMPING_BEFORE = 30,
    GROWTH_BEFORE = 31,
    FLOOR_BEFORE = 39,
    // The options of the solve.
    MOST_ITERATIONS = 32,
    MOST_LINEAR = 33,
    LINEAR_TOLERANCE = 34,
    COST_TOLERANCE = 35,
    GRADIENT_TOLERANCE = 36,
    PARAMETER_TOLERANCE = 37,
    EPSILON = 38,
    /// How many residuals there are.
    RESIDUALS = 40,
    /// Whether a step begins.
    STEP = 42,
    /// The gradient's cosine at the point.
    COSINE = 43,
    /// The predicted reduction of the last trial, and −gᵀδ of it.
    PREDICTED = 44,
    DESCENT = 45,
    /// Whether its linear system was solved as exactly as asked for.
    COMPLETE = 46,
    /// LINEAR when a step begins: 0, or [`REDUCING`].
    FIRST_LINEAR = 47,
    /// Steps since the last accepted one that were rejected for a lost column.
    LOSSES = 48,
    /// 1 where a column of J̃ is 0 at the point, 3 where it was not before.
    VANISHED = 49,
    /// The tolerance that was met, while the system without damping is solved for what it promises.
    STOP = 50,
    /// λ meanwhile.
    KEPT_DAMPING = 51,
    /// That promise at the end, and σ² there.
    PROMISE = 52,
    VARIANCE = 53,
    /// How many residuals count as samples, and how many coordinates may move.
    SAMPLES = 54,
    COORDINATES = 55,
    /// Why the run ends if that shows no minimum, 0 while steps are left.
    LAST = 56,
    /// The cost tolerance of which steps that converge quadratically leave a part.
    PROMISE_TOLERANCE = 57,
    /// The last iterations, each where its number modulo [`RING`] says.
    HISTORY = 192,
}

words! { pub(super) u32, distinct RECORDS:
    RECORD_COST = 0,
    RECORD_COST_LOW = 1,
    RECORD_CHANGE = 2,
    RECORD_LARGEST = 3,
    RECORD_STEP = 4,
    RECORD_ACCEPTED = 5,
    RECORD_DAMPING = 6,
    RECORD_GAIN = 7,
    RECORD_LINEAR = 8,
    RECORD_WORDS = 9,
}

/// Iterations that the history holds: more than one batch makes.
pub const RING: u32 = 64;

/// Iterations before the product that leaves the residual of a Schur complement: one more is 0.
pub const REDUCING: u32 = u32::MAX;

/// Words of the whole block.
pub const WORDS: u32 = HISTORY + RING * RECORD_WORDS;

/// The options of a solve on the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Trial steps, at most.
    pub max_iterations: u32,
    /// Iterations of conjugate gradients in a step, at most.
    pub max_linear_iterations: u32,
    /// Ceiling of the forcing term; 0 runs all iterations.
    pub linear_tolerance: f64,
    /// When it has converged.
    pub tolerances: Tolerances,
    /// λ at the start.
    pub initial_damping: f64,
    /// What the evaluations are computed in.
    pub arithmetic: Arithmetic,
    /// How many residuals there are.
    pub residuals: u32,
    /// How many of them count as samples.
    pub samples: u32,
    /// How many coordinates may move.
    pub coordinates: u32,
    /// Whether blocks are eliminated by a Schur complement.
    pub reduces: bool,
}

impl Settings {
    /// The block at the start of a solve.
    pub fn words(&self) -> Vec<u32> {
        let mut words = vec![0; WORDS as usize];
        let mut put = |word: u32, bits: u32| words[word as usize] = bits;
        put(LINEARISE, 1);
        put(STEP, 1);
        put(MOST_ITERATIONS, self.max_iterations);
        put(MOST_LINEAR, self.max_linear_iterations.max(1));
        put(FIRST_LINEAR, if self.reduces { REDUCING } else { 0 });
        for (word, number) in [
            (DAMPING, self.initial_damping.max(MIN_DAMPING)),
            (GROWTH, INITIAL_GROWTH),
            (FLOOR, NO_FLOOR.min(f32::MAX.into())),
            (LINEAR_TOLERANCE, self.linear_tolerance),
            (EPSILON, self.tolerances.epsilon(self.arithmetic.epsilon())),
            (RESIDUALS, self.residuals.into()),
            (SAMPLES, self.samples.into()),
            (COORDINATES, self.coordinates.into()),
            (PROMISE, f64::NAN),
            (PROMISE_TOLERANCE, if self.coordinates as usize <= MOST_COORDINATES { self.tolerances.cost } else { 0.0 }),
        ] {
            put(word, (number as f32).to_bits());
        }
        let tolerances = [COST_TOLERANCE, GRADIENT_TOLERANCE, PARAMETER_TOLERANCE];
        for (word, tolerance) in tolerances.into_iter().zip(self.tolerances.in_single_precision()) {
            put(word, tolerance.to_bits());
        }
        words
    }
}

/// The state block as it was read back.
#[derive(Clone, Copy, Debug)]
pub struct State<'a>(&'a [u32]);

impl<'a> State<'a> {
    /// The state in these words, [`WORDS`] of them.
    pub fn new(words: &'a [u32]) -> State<'a> {
        State(words)
    }

    fn number(self, word: u32) -> f64 {
        f64::from(f32::from_bits(self.0[word as usize]))
    }

    /// How many trial steps there were.
    pub fn iteration(self) -> u32 {
        self.0[ITERATION as usize]
    }

    /// Why the solve has ended, if it has.
    pub fn termination(self) -> Option<Termination> {
        Termination::from_code(self.number(TERMINATION))
    }

    /// Whether the start is not finite.
    pub fn failed_at_start(self) -> bool {
        self.termination() == Some(Termination::NonFinite) && self.iteration() == 0
    }

    /// How many iterations have complete records: the last one is incomplete until its point is linearised.
    pub fn recorded(self) -> u32 {
        let pending = self.0[LINEARISE as usize] != 0 && self.0[RESTORE as usize] == 0;
        self.iteration() + u32::from(!pending)
    }

    /// Whether a column of J̃ is 0 at the point, and whether one was not before.
    pub fn vanished(self) -> [bool; 2] {
        [1, 2].map(|bit| self.0[VANISHED as usize] & bit != 0)
    }

    /// The gradient's cosine at the point.
    pub fn cosine(self) -> f64 {
        self.number(COSINE)
    }

    /// The length of the last trial relative to the point, in units of the columns of J̃.
    pub fn relative_step(self) -> f64 {
        self.number(SCALED_STEP) / self.number(SIZE)
    }

    /// What the model promises where a run has ended for a tolerance, in units of σ²; `None` where it was not computed.
    pub fn promise(self) -> Option<f64> {
        let promise = self.number(PROMISE);
        let of_variance = if promise == 0.0 { 0.0 } else { promise / self.number(VARIANCE) };
        (promise >= 0.0).then_some(of_variance)
    }

    /// The record of an iteration that is still in the ring.
    pub fn record(self, iteration: u32, elapsed_ms: f64) -> IterationSummary {
        let first = HISTORY + iteration % RING * RECORD_WORDS;
        let number = |word: u32| self.number(first + word);
        let tried = iteration > 0;
        IterationSummary {
            iteration,
            cost: number(RECORD_COST) + number(RECORD_COST_LOW),
            cost_change: number(RECORD_CHANGE),
            gradient_max_norm: number(RECORD_LARGEST),
            step_norm: number(RECORD_STEP),
            accepted: self.0[(first + RECORD_ACCEPTED) as usize] != 0,
            damping: Some(number(RECORD_DAMPING)),
            gain_ratio: tried.then(|| number(RECORD_GAIN)),
            linear_iterations: tried.then(|| self.0[(first + RECORD_LINEAR) as usize]),
            step_size: None,
            elapsed_ms,
        }
    }
}

/// Constants with the words' names, for the shaders.
pub fn declarations() -> String {
    let counts = [("RING", RING), ("REDUCING", REDUCING), ("MOST_LOSSES", MOST_LOSSES)];
    let numbers = [
        ("LEAST_FALL_OF_COLUMN", LEAST_FALL_OF_COLUMN),
        ("LEFT_OF_GRADIENT", LEFT_OF_GRADIENT),
        ("EXACT_GAIN", EXACT_GAIN),
        ("MIN_DAMPING", MIN_DAMPING),
        ("TOLERANCE_OF_PROMISE", TOLERANCE_OF_PROMISE),
        ("SMALLEST_SQUARE", f32::MIN_POSITIVE.into()),
    ];
    let terminations = [
        ("NON_FINITE", Termination::NonFinite),
        ("MAX_ITERATIONS", Termination::MaxIterations),
        ("COST_CONVERGED", Termination::CostTolerance),
        ("PRECISION_LIMIT", Termination::PrecisionLimit),
    ];
    let words = [STATE, RECORDS, &counts].map(integers).concat();
    let terminations = terminations.map(|(name, termination)| (name, termination.code() as f32));
    words + &constants(&numbers, |number| scientific(number, Some(9))) + &constants(&terminations, shortest_single)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_a_place_before_the_history_and_every_gate_one_that_can_be_bound() {
        for (name, word) in STATE {
            assert!(*name == "HISTORY" || *word < HISTORY, "{name}");
        }
        // Bindings start at multiples of 256 bytes.
        assert!([LINEARISE, ITERATE, TRIAL].iter().all(|gate| gate % 64 == 0));
    }

    #[test]
    fn a_solve_starts_with_its_settings_and_two_open_gates() {
        let settings = Settings {
            max_iterations: 7,
            max_linear_iterations: 20,
            linear_tolerance: 0.5,
            tolerances: Tolerances { cost: 0.25, gradient: 0.0, parameter: 0.125 },
            initial_damping: 0.001,
            arithmetic: Arithmetic::F32,
            residuals: 5,
            samples: 4,
            coordinates: 3,
            reduces: false,
        };
        let words = settings.words();
        let open: Vec<u32> =
            [LINEARISE, STEP, ITERATE, TRIAL].into_iter().filter(|gate| words[*gate as usize] != 0).collect();
        assert_eq!(open, [LINEARISE, STEP]);
        assert_eq!(words[EPSILON as usize], f32::EPSILON.to_bits());
        assert_eq!((words[MOST_ITERATIONS as usize], words[MOST_LINEAR as usize]), (7, 20));
        assert_eq!(words[DAMPING as usize], 0.001_f32.to_bits());
        assert_eq!(State::new(&words).promise(), None);
        let state = State::new(&words);
        assert_eq!((state.termination(), state.iteration(), state.recorded()), (None, 0, 0));

        let all_off = Settings { tolerances: Tolerances { cost: 0.0, gradient: 0.0, parameter: 0.0 }, ..settings };
        assert_eq!(all_off.words()[EPSILON as usize], 0);
        // What a device may take for 0 keeps its test on.
        let tiny = Settings { tolerances: Tolerances { cost: 1e-300, gradient: 0.0, parameter: 1e-40 }, ..settings };
        let words = tiny.words();
        let tolerances =
            [COST_TOLERANCE, GRADIENT_TOLERANCE, PARAMETER_TOLERANCE].map(|word| f32::from_bits(words[word as usize]));
        assert_eq!(tolerances, [f32::MIN_POSITIVE, 0.0, f32::MIN_POSITIVE]);
    }

    #[test]
    fn records_are_read_from_the_ring() {
        let mut words = vec![0; WORDS as usize];
        words[ITERATION as usize] = RING + 3;
        words[TERMINATION as usize] = (Termination::CostTolerance.code() as f32).to_bits();
        let first = (HISTORY + 3 * RECORD_WORDS) as usize;
        for (word, number) in [(RECORD_COST, 1.0_f32), (RECORD_COST_LOW, 1e-9), (RECORD_STEP, 0.5), (RECORD_GAIN, 2.0)]
        {
            words[first + word as usize] = number.to_bits();
        }
        words[first + RECORD_LINEAR as usize] = 9;
        let state = State::new(&words);
        assert_eq!(state.termination(), Some(Termination::CostTolerance));
        assert_eq!(state.recorded(), RING + 4);
        let record = state.record(RING + 3, 1.5);
        assert_eq!(record.cost, 1.0 + f64::from(1e-9_f32));
        assert_eq!((record.step_norm, record.accepted, record.elapsed_ms), (0.5, false, 1.5));
        assert_eq!((record.gain_ratio, record.linear_iterations), (Some(2.0), Some(9)));
    }
}
