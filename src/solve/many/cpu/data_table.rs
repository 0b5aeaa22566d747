//! The data of a chunk of problems, as kernels read it.

use residua_base::list::Listed;
use residua_linalg::loops::small;

use crate::solve::many::batch::{Batch, source_of};
use crate::solve::many::template::{Group, SharedProblem};

/// Data of a group's instances, column after column, problem after problem in each.
pub(super) fn data_table(
    template: &SharedProblem,
    batch: &Batch,
    group: &Group,
    own: &[Vec<f64>],
    problems: usize,
) -> Vec<f64> {
    let of_batch = &template.model.batches[group.batch];
    let count = of_batch.count as usize;
    let mut table = Vec::with_capacity(of_batch.class.data as usize * group.instances.len() * problems);
    for column in 0..of_batch.class.data {
        let (numbers, length, places) = match source_of(template, batch, group, column) {
            Some((entry, sources)) => {
                let place = |&instance: &u32| sources[instance as usize];
                (own[entry].as_slice(), batch.data[entry].length, group.instances.iter().map(place).list())
            }
            None => (&of_batch.data[column as usize * count..], 0, group.instances.clone()),
        };
        for problem in 0..problems {
            small::gather(&numbers[problem * length..], &places, &mut table);
        }
    }
    table
}
