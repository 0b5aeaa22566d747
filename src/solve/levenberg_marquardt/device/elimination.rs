//! Which blocks conjugate gradients on the device eliminate by a Schur complement that is never formed.
//!
//! With C the block-diagonal part of J̃ᵀJ̃ + λD of the eliminated blocks, E its coupling to the others and B the others' part, conjugate gradients
//! solve S δ = E C⁻¹ g_e − g_k for the kept blocks with S = B − E C⁻¹ Eᵀ. They do it in the space of all blocks: a direction p has −C⁻¹Eᵀp_k for the eliminated
//! blocks, so that (J̃ᵀJ̃ + λD)p is S p_k for the kept ones and 0 for the eliminated ones. An iteration multiplies twice by J̃ᵀJ̃, and the step comes out
//! whole. The first product of a step is that of −C⁻¹g_e, the eliminated blocks' own step, and is no iteration.

use crate::gauss_newton::device::blocks::BlockKind;
use crate::model::Model;
use residua_base::error::{Error, Result};
use residua_linalg::{Kind, grouped};

/// With so many times as many coordinates in the eliminated blocks as in the others 'auto' eliminates them.
const WORTH: u64 = 4;

/// The blocks that are eliminated: those of whole arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elimination {
    /// For each array whether it is.
    pub is_eliminated: Vec<bool>,
    blocks: u64,
    /// Tangent coordinates of these, and of the others.
    coordinates: [u64; 2],
}

impl Elimination {
    /// The blocks of a model that can be eliminated; none if there are no such blocks, they are too large, or nothing would be left.
    pub fn of(model: &Model) -> Option<Elimination> {
        let mut elimination =
            Elimination { is_eliminated: vec![false; model.arrays.len()], blocks: 0, coordinates: [0; 2] };
        model.eliminated_arrays().into_iter().for_each(|array| elimination.is_eliminated[array as usize] = true);
        for (array, &eliminated) in model.arrays.iter().zip(&elimination.is_eliminated) {
            if array.dim == 0 || array.count == 0 {
                continue;
            }
            let kind = BlockKind::of(array);
            if eliminated && kind.dim != array.dim {
                return None;
            }
            let coordinates = u64::from(array.count) * u64::from(array.dim / kind.dim) * u64::from(kind.tangent);
            elimination.coordinates[usize::from(!eliminated)] += coordinates;
            elimination.blocks += if eliminated { array.count.into() } else { 0 };
        }
        elimination.coordinates.iter().all(|&coordinates| coordinates > 0).then_some(elimination)
    }

    /// What a solver that was named, or none, eliminates.
    ///
    /// # Errors
    /// `invalid-argument` if elimination was asked for and cannot be had.
    pub fn for_solver(model: &Model, solver: Option<Kind>) -> Result<Option<Elimination>> {
        match solver {
            None => Ok(Elimination::of(model).filter(Elimination::is_worth_it)),
            Some(Kind::IterativeSchur) => match Elimination::of(model) {
                None => Err(Error::invalid_argument(
                    "linearSolver: got 'iterative-schur'; takes 'auto' or 'pcg' with this problem on the GPU, because it has no array of blocks of at \
                     most 10 numbers, no two of which are in one residual, beside other arrays",
                )),
                elimination => Ok(elimination),
            },
            Some(_) => Ok(None),
        }
    }

    /// Whether 'auto' takes it.
    fn is_worth_it(&self) -> bool {
        self.coordinates[0] >= WORTH * self.coordinates[1]
    }

    /// As reports say it.
    pub fn sentence(&self) -> String {
        format!(
            "iterative-schur: on the device, {} independent blocks are eliminated and leave {} coordinates",
            grouped(self.blocks),
            grouped(self.coordinates[1])
        )
    }
}
