//! The state block of a system on a device: the words through which its kernels and the host talk. All are f32.

#![allow(missing_docs, reason = "the comment above a name also covers those after it")]

use crate::solve::words::{constants, integers, words};
use residua_base::decimal::shortest_single;

words! { pub usize, distinct STATE:
    /// Whether conjugate gradients go on.
    GATE = 0,
    /// Zero in every run, as is the word after [`OPEN`]: the guard against rearranged sums.
    GUARD = 1,
    /// What became of them: [`RUNNING`] and what follows.
    STATUS = 2,
    /// Iterations so far.
    ITERATIONS = 3,
    /// rᵀz, at the first iteration, and at the one before.
    ENERGY = 4,
    FIRST = 5,
    ENERGY_BEFORE = 6,
    // What the host wants: damping relative to the diagonal, the share of the first rᵀz at which the system is solved, iterations at most.
    DAMPING = 8,
    TOLERANCE = 9,
    MOST_ITERATIONS = 10,
    /// A gate that is open in every run.
    OPEN = 64,
}

/// Words of the block.
pub const WORDS: usize = 128;

/// Conjugate gradients go on.
pub const RUNNING: f32 = 0.0;
/// The system is solved.
pub const SOLVED: f32 = 1.0;
/// It is not after as many iterations as there may be.
pub const UNSOLVED: f32 = 2.0;
/// A direction has no positive curvature.
pub const INDEFINITE: f32 = 3.0;
/// A number is NaN or infinite.
pub const NOT_FINITE: f32 = 4.0;

words! { pub u32, distinct VECTORS:
    STEP = 0,
    /// The gradient, times a power of two.
    GRADIENT = 1,
    RESIDUAL = 2,
    PRECONDITIONED = 3,
    DIRECTION = 4,
    /// The product of the direction; before, magnitudes.
    PRODUCT = 5,
    /// Scales of the coordinates' units.
    SCALES = 6,
    /// Diagonal of the sum of projected Hessians.
    DIAGONAL = 7,
    /// The basis of the preconditioner's coarse part, all of its vectors in one.
    BASIS = 8,
    /// Columns of the sum's diagonal blocks, then those of their factors.
    COLUMNS = 9,
}

words! { pub u32, distinct SECTIONS:
    /// Partial sums of rᵀz.
    ENERGIES = 0,
    /// Those of the damping's share of pᵀHp.
    DAMPED = 256,
    /// Those of the coarse part of rᵀz.
    COARSE_ENERGIES = 512,
    /// Those of the rest of pᵀHp.
    CURVATURES = 576,
}

/// A pivot is at least this share of what stands on the diagonal: a hundred roundings, which then move a coordinate by a hundredth of a step.
const LEAST_PIVOT: &str = "1e-5";

/// Declarations of everything by its name, where blocks have at most so many numbers.
pub fn declarations(numbers: u32) -> String {
    let sizes = [("FACTORS", COLUMNS + numbers), ("MOST_NUMBERS", numbers)];
    let statuses = [
        ("RUNNING", RUNNING),
        ("SOLVED", SOLVED),
        ("UNSOLVED", UNSOLVED),
        ("INDEFINITE", INDEFINITE),
        ("NOT_FINITE", NOT_FINITE),
    ];
    let text = [STATE, VECTORS, SECTIONS, &sizes].map(integers).concat() + &constants(&statuses, shortest_single);
    text + "const LEAST_PIVOT = " + LEAST_PIVOT + ";\n"
}
