//! Whether one kernel multiplies by a Schur complement, and what its text depends on: all instances have one eliminated block, and tables of one form.
//!
//! It reads J̃ once an iteration and leaves nothing for the eliminated blocks, where products of instances and a substitution read it twice.

use super::elimination::Elimination;
use super::shape::{Group, Part, Shape};
use crate::eval::record::Kernels;
use crate::gauss_newton::device::{JtjProduct, ModelRecorder};
use crate::model::least_squares::LocalTable;
use crate::model::{Batch, Class};
use std::fmt::Write;

/// Entries of J̃ that an instance has at most: a thread holds them.
const MOST_ENTRIES: u32 = 64;

/// Tangent coordinates of an eliminated block at most: a workgroup's memory holds those of 256.
pub const MOST_COORDINATES: u32 = 6;

/// What the instances have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coupling {
    /// Residuals of an instance.
    pub outputs: u32,
    /// Columns of J̃ of an instance.
    pub width: u32,
    /// The first column of the eliminated block.
    pub own: u32,
    /// Statements that form the kept blocks' numbers of the direction.
    pub directions: String,
}

impl Coupling {
    /// That of the instances of a model, if one kernel does for all.
    pub fn of<K: Kernels>(
        model: &ModelRecorder<K>,
        shape: &Shape,
        elimination: Option<&Elimination>,
    ) -> Option<Coupling> {
        let elimination = elimination?;
        let fused = model.layout.fused.as_ref()?;
        let mut eliminated = shape.groups.iter().filter(|group| group.shape.part == Part::Eliminated);
        let (Some(group), None) = (eliminated.next(), eliminated.next()) else { return None };
        let forms_direction = matches!(model.jtj_product(), JtjProduct::FusedParts { forms_direction: true, .. });
        // Blocks with very many entries have no lists.
        let is_heavy = fused.heavy.iter().any(|pass| pass.shape.dim == group.shape.dim);
        if !forms_direction || is_heavy || group.shape.tangent > MOST_COORDINATES {
            return None;
        }
        let is_eliminated = |address: u32| {
            let arrays = &model.model.arrays;
            elimination.is_eliminated[arrays.partition_point(|array| array.offset <= address) - 1]
        };
        let mut found: Option<Coupling> = None;
        for chunk in &model.evaluation.chunks {
            let coupling = Coupling::of_batch(&model.model.batches[chunk.batch], group, &is_eliminated)?;
            if *found.get_or_insert_with(|| coupling.clone()) != coupling {
                return None;
            }
        }
        found
    }

    fn of_batch(batch: &Batch, group: &Group, is_eliminated: &dyn Fn(u32) -> bool) -> Option<Coupling> {
        let class: &Class = &batch.class;
        let LocalTable { width, outputs } = LocalTable::of(class);
        if outputs * width > MOST_ENTRIES {
            return None;
        }
        let (mut own, mut first, mut directions) = (None, 0, String::new());
        for (column, &dim) in (0u32..).zip(&class.block_dims) {
            if is_eliminated(*batch.column(column).first()?) {
                if dim != group.shape.dim || own.replace(first).is_some() {
                    return None;
                }
            } else {
                writeln!(directions, "let a{column} = indices[addresses + {column}u * stride];").ok()?;
                for component in 0..dim {
                    writeln!(directions, "let p{} = p_at(a{column} + {component}u);", first + component).ok()?;
                }
            }
            first += dim;
        }
        Some(Coupling { outputs, width, own: own?, directions })
    }
}
