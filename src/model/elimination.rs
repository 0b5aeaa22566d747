//! The parameter arrays whose blocks a Schur complement eliminates: those that were named, or those that the tables show to suit.
//!
//! Blocks can be eliminated together if no two of them are in one instance, such as points, each of which is observed by cameras alone. The
//! block-diagonal part of J̃ᵀJ̃ that belongs to them is inverted block by block.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;

use super::batch::{ArrayInfo, Batch, Model};

/// Larger blocks are not found, only named.
const MOST_COLUMNS: u32 = 6;

/// The arrays of the lowest group, ascending, of pairs of array and group.
pub(super) fn lowest_group(groups: &[(u32, u32)]) -> Vec<u32> {
    let lowest = groups.iter().map(|(_, group)| *group).min();
    let mut arrays = groups.iter().filter(|(_, group)| Some(*group) == lowest).map(|(array, _)| *array).list();
    arrays.sort_unstable();
    arrays
}

/// Whether no instance has two different blocks of the arrays that were named.
///
/// # Errors
/// `invalid-argument` naming two blocks that are in one instance.
pub(super) fn check(model: &Model) -> Result<()> {
    for batch in &model.batches {
        let Some((instance, [a, b])) = pair_of(batch, &model.arrays, &model.eliminated) else { continue };
        let name = |address: u32| {
            let array = &model.arrays[array_of(&model.arrays, address)];
            format!("{}[{}]", array.name, (address - array.offset) / array.dim)
        };
        let block = &model.blocks[batch.block as usize].name;
        let instance = batch.instances.as_ref().map_or(instance as u32, |instances| instances[instance]);
        return Err(Error::invalid_argument(format!(
            "setElimination: got {} and {} in one group and in one residual, instance {instance} of block '{block}'; \
             takes a lowest group whose blocks share no residual",
            name(a),
            name(b)
        )));
    }
    Ok(())
}

impl Model {
    /// The arrays whose blocks a Schur complement eliminates, ascending: those that were named; else those of small blocks, no two of which
    /// are in one instance, arrays with more blocks before others. None if there are no such arrays.
    pub fn eliminated_arrays(&self) -> Vec<u32> {
        if !self.eliminated.is_empty() {
            return self.eliminated.clone();
        }
        let is_small = |array: &ArrayInfo| array.count > 1 && array.manifold.tangent_dim(array.dim) <= MOST_COLUMNS;
        let small = (0u64..).zip(&self.arrays).filter(|(_, array)| is_small(array));
        // What the count lacks of the most in the upper half, the array in the lower.
        let mut candidates = small.map(|(k, array)| u64::from(u32::MAX - array.count) << 32 | k).list();
        candidates.sort_unstable();
        let mut arrays: Vec<u32> = Vec::new();
        for candidate in candidates.into_iter().map(|key| key as u32) {
            arrays.push(candidate);
            let is_independent =
                |batch: &Batch| !batch.has_addends() && pair_of(batch, &self.arrays, &arrays).is_none();
            if !self.batches.iter().all(is_independent) {
                arrays.pop();
            }
        }
        arrays.sort_unstable();
        arrays
    }
}

/// The array of a block's address.
fn array_of(arrays: &[ArrayInfo], address: u32) -> usize {
    arrays.partition_point(|array| array.offset <= address) - 1
}

/// An instance with two different blocks of some arrays, and the addresses of these.
fn pair_of(batch: &Batch, arrays: &[ArrayInfo], of: &[u32]) -> Option<(usize, [u32; 2])> {
    if batch.count == 0 {
        return None;
    }
    let is_of = |column: &u32| of.contains(&(array_of(arrays, batch.column(*column)[0]) as u32));
    let columns = (0..batch.class.block_dims.len() as u32).filter(is_of).list();
    let [first, others @ ..] = columns.as_slice() else { return None };
    // Columns that are the same as the first are the same as one another.
    others.iter().find_map(|&other| {
        let pairs = batch.column(*first).iter().zip(batch.column(other));
        pairs.enumerate().find(|(_, (a, b))| a != b).map(|(instance, (a, b))| (instance, [*a, *b]))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Recorder, compiled};
    use super::super::{CompileInput, Model};
    use residua_base::cooperative::{Slices, run_synchronously};
    use residua_base::error::{ErrorCode, Result};
    use residua_ir::graph::Op;

    /// Distances of scalars: 2 cameras and 4 points in two arrays, and a scale. Each pair of slots is a residual block.
    fn model(groups: &[(u32, u32)], pairs: &[[u32; 2]]) -> Result<Model> {
        let mut input = CompileInput::problem();
        for (name, count) in [("cameras", 2), ("points", 3), ("more", 4), ("scale", 1)] {
            input.add_array(name, 1, count, "euclidean").unwrap();
        }
        for &(array, group) in groups {
            input.set_elimination(array, group).unwrap();
        }
        for &slots in pairs {
            let mut r = Recorder::default();
            let ends = [r.parameter(0), r.parameter(1)];
            let difference = r.apply(Op::Sub, &ends);
            let tape = r.tape(vec![difference], 2);
            input.add_residuals("r", slots.to_vec(), vec![0, 1, 1, 0], Vec::new(), tape).unwrap();
        }
        run_synchronously(input.into_model(&Slices::unlimited()))
    }

    #[test]
    fn independent_blocks_are_found_by_array() {
        assert_eq!(
            model(&[], &[[0, 1]]).unwrap().eliminated_arrays(),
            [1, 2],
            "arrays without residuals are independent, too"
        );
        assert_eq!(model(&[], &[[0, 1], [1, 2]]).unwrap().eliminated_arrays(), [0, 2]);
        assert_eq!(model(&[], &[[0, 1], [0, 2]]).unwrap().eliminated_arrays(), [1, 2]);
        assert_eq!(model(&[], &[[0, 0], [1, 1], [2, 2]]).unwrap().eliminated_arrays(), [] as [u32; 0]);
    }

    #[test]
    fn the_lowest_group_is_eliminated() {
        assert_eq!(model(&[(0, 3)], &[[0, 1]]).unwrap().eliminated_arrays(), [0]);
        assert_eq!(model(&[(0, 3), (1, 1), (2, 1)], &[[0, 1], [2, 0]]).unwrap().eliminated_arrays(), [1, 2]);
        // The last group that an array is given counts.
        assert_eq!(model(&[(0, 3), (1, 1), (1, 4)], &[[0, 1]]).unwrap().eliminated_arrays(), [0]);
    }

    #[test]
    fn a_group_of_dependent_blocks_is_refused_by_name() {
        let error = model(&[(1, 0), (2, 0), (0, 1)], &[[0, 1], [2, 1]]).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        let expected = "setElimination: got more[0] and points[1] in one group and in one residual, instance 0 of block 'r'; takes a lowest group whose blocks share no residual";
        assert!(error.message.contains(expected), "{}", error.message);
        let same = model(&[(1, 0)], &[[1, 1]]).unwrap_err();
        assert!(same.message.contains("points[0] and points[1]"), "{}", same.message);
        // Higher groups may be dependent.
        assert!(model(&[(0, 0), (1, 1)], &[[0, 1], [1, 1]]).is_ok());
    }

    #[test]
    fn only_arrays_that_exist_are_grouped() {
        assert!(CompileInput::problem().set_elimination(0, 0).is_err());
        let tape = Recorder::default().tape(Vec::new(), 0);
        assert_eq!(compiled(CompileInput::params(0, Box::new(tape))).eliminated_arrays(), [] as [u32; 0]);
    }
}
