//! How large a problem is: as it was given, and what is left of it when what is constant or takes no part is left out.

use crate::model::{Batch, Model};

/// Counts of a problem, as Ceres' reports have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Blocks of parameters; in the params form each parameter is one.
    pub parameter_blocks: usize,
    /// Numbers in them.
    pub parameters: usize,
    /// Their degrees of freedom: fewer than numbers on manifolds.
    pub effective_parameters: usize,
    /// Instances of residual functions.
    pub residual_blocks: usize,
    /// Residuals.
    pub residuals: usize,
}

impl Sizes {
    /// Of a model, whole and reduced, when these parameters are constant.
    pub fn of(model: &Model, constant: &[bool]) -> [Sizes; 2] {
        let (mut whole, mut reduced) = (Sizes::default(), Sizes::default());
        for array in &model.arrays {
            let dim = array.dim as usize;
            let tangents = array.manifold.tangent_dim(array.dim) as usize;
            for block in 0..array.count as usize {
                let first = array.offset as usize + block * dim;
                let fixed = constant[first..first + dim].iter().filter(|fixed| **fixed).count();
                whole.add_block(dim, tangents);
                if fixed < dim {
                    reduced.add_block(dim - fixed, tangents.saturating_sub(fixed));
                }
            }
        }
        whole.residuals = model.num_residuals as usize;
        let of_batches = model.batches.iter().filter(|batch| !batch.has_addends());
        whole.residual_blocks = of_batches.map(|batch| batch.count as usize).sum::<usize>() + long_sums(model);
        if !constant.contains(&true) && model.sample_count() == whole.residuals {
            return [whole, whole];
        }
        let mut rows = vec![false; model.num_residuals as usize];
        for batch in &model.batches {
            let samples = batch.sample_counts();
            let takes_part = model.blocks[batch.block as usize].takes_part();
            for instance in 0..batch.count as usize {
                let free = || {
                    batch.class.locals.iter().any(|local| {
                        let address = batch.column(local.column)[instance] + local.component;
                        !constant[address as usize]
                    })
                };
                let first = batch.row(instance) as usize;
                let of_instance = || samples.as_ref().map_or(batch.class.outputs.len(), |samples| samples[instance]);
                let samples = if takes_part && free() { of_instance() } else { 0 };
                // The addends of a long sum are one residual.
                if !batch.has_addends() {
                    reduced.residual_blocks += usize::from(samples > 0);
                    reduced.residuals += samples;
                } else if samples > 0 && !std::mem::replace(&mut rows[first], true) {
                    reduced.residual_blocks += 1;
                    reduced.residuals += 1;
                }
            }
        }
        [whole, reduced]
    }

    fn add_block(&mut self, numbers: usize, tangents: usize) {
        self.parameter_blocks += 1;
        self.parameters += numbers;
        self.effective_parameters += tangents;
    }
}

/// Residuals that are long sums.
fn long_sums(model: &Model) -> usize {
    if !model.batches.iter().any(Batch::has_addends) {
        return 0;
    }
    let mut rows = vec![false; model.num_residuals as usize];
    for batch in model.batches.iter().filter(|batch| batch.has_addends()) {
        (0..batch.count as usize).for_each(|instance| rows[batch.row(instance) as usize] = true);
    }
    rows.into_iter().filter(|&sum| sum).count()
}
