//! The state block of L-BFGS on the device: numbers through which its kernels, and the host, know how a run stands. The names here are
//! written into the shaders, so that they stand once. All are f32; truths are 0 and 1.

#![allow(missing_docs, reason = "the comment above a name also covers those after it")]

use crate::eval::{Arithmetic, Objective};
use crate::model::line;
use crate::solve::lbfgs::rules::{convergence, line_search as line_rule, losses};
use crate::solve::options::LbfgsOptions;
use crate::solve::words::{constants, integers, words};
use residua_base::decimal::shortest_single;

words! { pub usize, distinct STATE:
    /// The gate of what evaluates a trial point: whether there is one.
    EVALUATES = 0,
    /// Zero in every run: the word of the guard against rearranged sums, after the gate.
    GUARD = 1,
    /// Why the run has ended: 0, a number of `rules::convergence`, [`END_START`], [`END_SMALL`], or [`END_SEARCH`] plus a number of `rules::line_search`.
    ENDING = 45,
    /// Accepted steps; −1 before the start is evaluated.
    ITERATION = 2,
    /// Trial points evaluated.
    EVALUATIONS = 3,
    /// The cost at the point, and the error of its rounding.
    COST = 4,
    /// The lowest cost seen, where it is not the point's, and whether there is one.
    LOWEST_COST = 6,
    HAS_LOWEST = 8,
    /// ‖g‖ over the coordinates that may move, ‖x‖ over those that are no constants, and the rounding error of the cost.
    GRADIENT_NORM = 9,
    SIZE_NOW = 10,
    NOISE = 11,
    // The line search, as `rules::line_search` has it.
    STEP = 12,
    LOWER = 13,
    UPPER = 14,
    TRIALS = 15,
    FINITE = 16,
    CONTRADICTIONS = 17,
    /// Whether the next trial is taken whatever it brings.
    FORCED = 20,
    /// Whether the direction is new, and not yet tested.
    FRESH = 21,
    /// Whether it is the gradient's.
    STEEPEST = 22,
    /// What became of it: its slope, and whether the gradient's took its place.
    TURNED_SLOPE = 23,
    TURNED_STEEPEST = 24,
    /// γ, and whether there is one.
    SCALE = 25,
    HAS_SCALE = 26,
    /// Pairs remembered, and the slot that is written next.
    COUNT = 27,
    NEXT = 28,
    /// Of the last decision: whether the trial becomes the point, which slot takes its pair (−1: none), and whether the old point is the
    /// lowest.
    ACCEPTED = 29,
    KEPT = 30,
    STORE_LOWEST = 31,
    /// Progress, as `rules::convergence` has it.
    LEAST_COST = 32,
    LEAST_GRADIENT = 34,
    IDLE = 35,
    // Of the trial.
    TRIAL_COST = 36,
    TRIAL_COST_LOW = 37,
    TRIAL_LARGEST = 38,
    FOUND = 39,
    /// Factor of the gradient in the next direction.
    GRADIENT_FACTOR = 40,
    /// Whether bounds bent the way to a trial of this search.
    CROOKED = 41,
    /// How far the last trial was, for a step of 1.
    REACH = 42,
    /// [`START`], searching or [`DONE`].
    PHASE = 43,
    /// Of the last step taken, how far along the direction it went.
    ACCEPTED_STEP = 44,
    /// Of the last step taken: the largest share of an entry of the gradient in its largest value of the run.
    SHARE = 46,
    /// The square of the share above which a coordinate has not come to rest.
    SHARE_LIMIT = 47,
    // The options of the run.
    C1 = 48,
    C2 = 49,
    MAX_TRIALS = 50,
    RESOLUTION = 51,
    COST_TOLERANCE = 52,
    GRADIENT_TOLERANCE = 53,
    PARAMETER_TOLERANCE = 54,
    MAX_ITERATIONS = 55,
    /// Above it a cost or a norm is no result.
    LARGEST_RESULT = 56,
    /// By how much the cost has fallen since the start.
    FALL = 57,
    /// Whether nothing was added to the cost: whether it is half a sum of squares.
    HAS_SIZE = 58,
    /// Whether the run has converged if rounding hides any further fall of the cost.
    SETTLED = 59,
    /// Whether a step of this search was refused since it loses a parameter, and how many were in the run.
    REFUSED = 60,
    LOSSES = 61,
    /// The gate of what evaluates several steps at once: whether any stand after it, and after the guard's zero.
    LINE = 64,
    STEPS = 66,
    /// One record an iteration, over and over.
    RECORDS = 128,
}

words! { pub usize, COUNTS:
    /// Numbers of a record: cost and its error, change, largest gradient, step, step size, size, evaluations.
    RECORD_WORDS = 8,
    /// Records before the first is written over: more than two batches of work make.
    MOST_RECORDS = 256,
    /// Sections of the partial sums that concern the trial alone, and those of each pair of the history.
    OWN = 13,
    PRODUCTS = 6,
    // Sections.
    SLOPE = 0,
    PREDICTED = 1,
    SS = 2,
    SY = 3,
    YY = 4,
    QQ = 5,
    SQ = 6,
    YQ = 7,
    SIZE = 8,
    EFFECT = 9,
    LARGEST = 10,
    /// Largest numbers, too: the share, and the effect of a coordinate that has not come to rest.
    SHARES = 11,
    /// And by what factor an entry has fallen that the trial may have lost.
    FALLEN = 12,
    // Parts of the buffer of vectors.
    GRADIENT = 0,
    DIRECTION = 1,
    LOWEST = 2,
    STEEP = 3,
    BEGAN = 4,
    VECTORS = 5,
    // What is found of a trial.
    MOVED = 1,
    NON_FINITE_POINT = 2,
    NON_FINITE_GRADIENT = 4,
    BENT = 8,
    TURNED = 16,
}

/// The start is to be evaluated.
pub const START: f32 = 0.0;
/// A line search is under way.
const SEARCHING: f32 = 1.0;
/// The run has ended.
pub const DONE: f32 = 2.0;

/// The start is not finite.
pub const END_START: f32 = 8.0;
/// The gradient is too small to square.
pub const END_SMALL: f32 = 9.0;
/// The line search failed: added to its outcome.
pub const END_SEARCH: f32 = 16.0;

/// Numbers that the host reads.
pub const READ: usize = RECORDS + RECORD_WORDS * MOST_RECORDS;

/// Where the parts of variable length stand, for a history of so many pairs.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    capacity: usize,
}

impl Places {
    /// Of a history of `capacity` pairs.
    pub fn new(capacity: usize) -> Places {
        Places { capacity }
    }

    /// The sections of the partial sums: those of the trial, of the history, and of the next direction.
    pub fn sections(self) -> usize {
        self.turn() + 2
    }

    fn turn(self) -> usize {
        OWN + PRODUCTS * self.capacity
    }

    /// All names with their positions, in order.
    fn parts(self) -> [(&'static str, u32); 6] {
        let vectors = 2 * self.capacity;
        let lengths = [
            ("TOTALS", 2 * self.turn()),
            ("PRODUCTS_WITH_GRADIENT", 2 * vectors),
            ("ALPHAS", 2 * vectors),
            ("FACTORS", vectors),
            ("GRAM", 2 * vectors * vectors),
            ("END", 0),
        ];
        let mut place = READ;
        lengths.map(|(name, length)| {
            let first = place;
            place += length;
            (name, first as u32)
        })
    }

    /// Numbers of the state block.
    pub fn words(self) -> usize {
        self.parts()[5].1 as usize
    }

    /// Declarations of everything by its name.
    pub fn declarations(self) -> String {
        let others =
            [("TURN", self.turn() as u32), ("MOST_STEPS", line::STEPS), ("MOST_COORDINATES", losses::MOST_COORDINATES)];
        let numbers = [
            ("START", START),
            ("SEARCHING", SEARCHING),
            ("DONE", DONE),
            ("END_START", END_START),
            ("END_SMALL", END_SMALL),
            ("END_SEARCH", END_SEARCH),
            ("CAPACITY", self.capacity as f32),
            ("ACCEPTABLE", line_rule::ACCEPTABLE as f32),
            ("TOO_LONG", line_rule::TOO_LONG as f32),
            ("TOO_SHORT", line_rule::TOO_SHORT as f32),
            ("NON_FINITE_TRIAL", line_rule::NON_FINITE_TRIAL as f32),
            ("UNMOVED", line_rule::UNMOVED as f32),
            ("CONTINUE", line_rule::CONTINUE as f32),
            ("ACCEPT_TRIAL", line_rule::ACCEPT_TRIAL as f32),
            ("ACCEPT_LOWER", line_rule::ACCEPT_LOWER as f32),
            ("PRECISION", line_rule::PRECISION as f32),
            ("EXHAUSTED", line_rule::EXHAUSTED as f32),
            ("ROUNDINGS", line_rule::ROUNDINGS as f32),
            ("KNOWN_TRAVEL", convergence::KNOWN_TRAVEL as f32),
            ("LONG_STEP", losses::LONG_STEP as f32),
            ("LOST_SHARE", losses::LOST_SHARE as f32),
            ("MOST_FALLEN", losses::MOST_FALLEN as f32),
        ];
        let words = [STATE, COUNTS, &self.parts(), &others].map(integers).concat();
        // Twice as much is still a number of f32.
        words + &constants(&numbers, shortest_single) + "const LARGEST_NUMBER = 1e38;\n"
    }
}

/// The state of a run that has not begun.
pub fn initial(options: &LbfgsOptions, arithmetic: Arithmetic, places: Places) -> Vec<f32> {
    let mut state = vec![0.0; places.words()];
    state[EVALUATES] = 1.0;
    state[ITERATION] = -1.0;
    state[FRESH] = 1.0;
    state[STEEPEST] = 1.0;
    let solve = &options.solve;
    // A tolerance below f32's numbers is not off.
    let tolerance = |value: f64| if value > 0.0 { (value as f32).max(f32::MIN_POSITIVE) } else { 0.0 };
    let told = [
        (C1, options.c1 as f32),
        (C2, options.c2 as f32),
        (MAX_TRIALS, options.max_line_search_steps as f32),
        (RESOLUTION, arithmetic.epsilon() as f32),
        (COST_TOLERANCE, tolerance(solve.cost_tolerance)),
        (GRADIENT_TOLERANCE, tolerance(solve.gradient_tolerance)),
        (PARAMETER_TOLERANCE, tolerance(solve.parameter_tolerance)),
        (MAX_ITERATIONS, solve.max_iterations as f32),
        (LARGEST_RESULT, convergence::largest_result(arithmetic) as f32),
        (HAS_SIZE, f32::from(u8::from(options.objective == Objective::LeastSquares))),
    ];
    for (word, value) in told {
        state[word] = value;
    }
    state
}
