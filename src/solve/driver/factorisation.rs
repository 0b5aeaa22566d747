//! Where the device's conjugate gradients cannot keep up with a factorisation on the host: chains, bands and the like, whose factor has few entries, and along
//! which conjugate gradients go by one level an iteration. Both are counted; no kind of problem is named.

use crate::model::Model;
use crate::model::levels::Levels;

/// An iteration of conjugate gradients on a device takes at least as long as so many multiplications of a factorisation on the host: three dispatches of 7 µs,
/// at four multiplications a nanosecond.
const ITERATION: f64 = 80_000.0;

/// A linearisation on the host takes as long as so many multiplications for each entry of J̃.
const ENTRY: f64 = 10.0;

/// With fewer levels conjugate gradients in single precision end, whatever the weights: differences of second order over 2k samples, k levels, have a condition
/// number of some (2k)⁴/100, of which the root is a part of 2²⁴.
const LEAST_DEPTH: usize = 32;

/// Whether a step takes less on the host, by a factorisation, than on the device, by so many iterations at most.
pub(super) fn pays(model: &Model, constant: &[bool], iterations: u32) -> bool {
    let batches = || model.batches.iter().filter(|batch| model.blocks[batch.block as usize].takes_part());
    let residuals: f64 = batches().map(|batch| f64::from(batch.count) * batch.class.outputs.len() as f64).sum();
    // Directions that no residual determines stay as they are in conjugate gradients. A factorisation takes long steps along them.
    if residuals < constant.iter().filter(|&&constant| !constant).count() as f64 {
        return false;
    }
    let entries = batches().map(|batch| {
        let width: u32 = batch.class.block_dims.iter().sum();
        f64::from(batch.count) * f64::from(width) * batch.class.outputs.len() as f64
    });
    let linearisation = ENTRY * entries.sum::<f64>();
    let most = ITERATION * f64::from(iterations) - linearisation;
    if most <= 0.0 {
        return false;
    }
    Levels::of(model, constant, most).is_some_and(|Levels { depth, multiplications }| {
        let on_device = ITERATION * (depth as f64).min(f64::from(iterations));
        depth >= LEAST_DEPTH && linearisation + multiplications < on_device
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::CompileInput;
    use crate::model::tests::{Recorder, compiled};
    use residua_ir::graph::Op;

    /// Differences of blocks of `dim`, and one known number for each block.
    fn differences(count: u32, dim: u32, pairs: &[[u32; 2]]) -> Model {
        first_differences(count, dim, dim, pairs)
    }

    /// The same of which the first `outputs` numbers count.
    fn first_differences(count: u32, dim: u32, outputs: u32, pairs: &[[u32; 2]]) -> Model {
        let mut input = CompileInput::problem();
        let array = input.add_array("x", dim, count, "euclidean").unwrap();
        let mut r = Recorder::default();
        let slots: Vec<_> = (0..2 * dim).map(|slot| r.parameter(slot)).collect();
        let numbers = (0..outputs as usize).map(|k| r.apply(Op::Sub, &[slots[k], slots[k + dim as usize]])).collect();
        let indices = (0..2).flat_map(|end| pairs.iter().map(move |pair| pair[end])).collect();
        input.add_residuals("r", vec![array; 2], indices, Vec::new(), r.tape(numbers, 2 * dim)).unwrap();
        let mut known = Recorder::default();
        let x = known.parameter(0);
        let tape = known.tape(vec![x], dim);
        input.add_residuals("known", vec![array], (0..count).collect(), Vec::new(), tape).unwrap();
        compiled(input)
    }

    fn chain(count: u32, step: u32) -> Vec<[u32; 2]> {
        (0..count - step).map(|k| [k, k + step]).collect()
    }

    #[test]
    fn long_chains_and_bands_are_factorised_and_what_is_short_or_wide_is_not() {
        let band = [chain(200, 1), chain(200, 2)].concat();
        let ring = [chain(1000, 1), vec![[0, 999]]].concat();
        let star: Vec<[u32; 2]> = (1..5000).map(|k| [0, k]).collect();
        let grid: Vec<[u32; 2]> = (0..100 * 100)
            .flat_map(|k| [(k % 100 < 99).then_some([k, k + 1]), (k < 9900).then_some([k, k + 100])])
            .flatten()
            .collect();
        let mut out = differences(10_000, 1, &chain(10_000, 1));
        out.blocks[1].enabled = false;
        assert!(!pays(&out, &[false; 10_000], 500), "a chain whose known numbers take no part");
        let rope = first_differences(10_000, 3, 1, &chain(10_000, 1));
        assert!(!pays(&rope, &[false; 30_000], 500), "a rope in space, whose residuals are fewer than its coordinates");
        let apart: Vec<[u32; 2]> = (0..5000).map(|k| [2 * k, 2 * k + 1]).collect();
        type Case<'a> = (&'a str, u32, u32, &'a [[u32; 2]], bool);
        let table: [Case; 8] = [
            ("a chain of scalars", 10_000, 1, &chain(10_000, 1), true),
            ("a chain of blocks", 10_000, 6, &chain(10_000, 1), true),
            ("a band", 200, 1, &band, true),
            ("a ring", 1000, 3, &ring, true),
            ("a short chain", 31, 1, &chain(31, 1), false),
            ("a star", 5000, 3, &star, false),
            ("a grid", 10_000, 3, &grid, false),
            ("pairs", 10_000, 3, &apart, false),
        ];
        for (name, count, dim, pairs, expected) in table {
            let model = differences(count, dim, pairs);
            let free = vec![false; (count * dim) as usize];
            assert_eq!(pays(&model, &free, 500), expected, "{name}");
        }
    }

    #[test]
    fn constant_parameters_couple_nothing() {
        let model = differences(100, 1, &chain(100, 1));
        let levels = |constant: &[usize]| {
            let constant: Vec<bool> = (0..100).map(|k| constant.contains(&k)).collect();
            Levels::of(&model, &constant, f64::INFINITY).unwrap().depth
        };
        assert_eq!([levels(&[]), levels(&[0]), levels(&[30]), levels(&[30, 60])], [100, 99, 69, 39]);
        assert_eq!(Levels::of(&model, &[false; 100], 300.0), None, "a bound of the work");
    }
}
