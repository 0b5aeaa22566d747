//! Free parameter blocks that are an input of no enabled residual, but for instances of weight 0, and so are not determined.

use std::borrow::Cow;

use crate::model::Model;
use residua_base::list::Listed;

/// Blocks that are named at most.
const NAMED: usize = 3;

/// The free blocks that no enabled residual touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Untouched {
    /// Names of the first ones, in the user's terms.
    pub names: Vec<String>,
    /// Number of all.
    pub count: usize,
}

impl Untouched {
    /// The blocks of a model; `constant`: whether each parameter is constant.
    pub fn of(model: &Model, constant: &[bool]) -> Untouched {
        let mut touched = vec![false; model.num_params as usize];
        for batch in model.batches.iter().filter(|batch| model.blocks[batch.block as usize].enabled) {
            for (column, &dim) in batch.class.block_dims.iter().enumerate() {
                let blocks = batch.column(column as u32);
                let counts = |&(instance, _): &(usize, &u32)| batch.instance_weight(instance) != 0.0;
                let counting = || blocks.iter().enumerate().filter(counts).map(|(_, &block)| block).list();
                let blocks = if batch.class.weight.is_some() { Cow::Owned(counting()) } else { Cow::Borrowed(blocks) };
                residua_linalg::loops::mark(&blocks, dim as usize, &mut touched);
            }
        }
        let mut untouched = Untouched::default();
        for array in &model.arrays {
            for block in 0..array.count {
                let first = (array.offset + block * array.dim) as usize;
                let places = first..first + array.dim as usize;
                if places.clone().any(|place| touched[place]) || places.clone().all(|place| constant[place]) {
                    continue;
                }
                untouched.count += 1;
                if untouched.names.len() < NAMED {
                    untouched.names.push(match array.name.as_str() {
                        "" => format!("parameter {first}"),
                        name => format!("{name}[{block}]"),
                    });
                }
            }
        }
        untouched
    }
}
