//! Directions that the residuals of a small problem leave free at its solution.
//!
//! A Cholesky factorisation of the last J̃ᵀJ̃ costs less than a step and says whether J̃ may lack rank; only then J̃ is analysed, as
//! [`mod@crate::solve::rank`] does. Of problems with more work than [`MOST_WORK`] nothing is said.

use super::linear_system::{LinearSystems, jacobian};
use crate::eval::{Arithmetic, Functions};
use crate::gauss_newton::host::{HostModel, LeastSquares};
use crate::solve::findings::Finding;
use crate::solve::levenberg_marquardt::point::Linearised;
use crate::solve::rank::{Analysed, analyse};
use crate::solve::start::Start;
use residua_base::error::Result;
use residua_base::list::{Listed, PushAll};
use residua_linalg::loops::add_squares;
use residua_linalg::normal_equations::{is_well_conditioned, products};
use residua_linalg::null_space::TOLERANCE;
use residua_linalg::{DenseQr, System, TrustRegionModel};
use std::collections::BTreeSet;

/// Multiplications of the factorisation and of J̃ᵀJ̃, at most: some tenths of a millisecond.
const MOST_WORK: usize = 300_000;
/// The square of a unit column's distance from the span of others that J̃ᵀJ̃ does not tell from 0 with certainty.
pub(super) const UNSURE_PIVOT: f64 = 1e-10;
/// Multiplications of the factorisation of [`promise`], at most: some tens of milliseconds.
const MOST_WORK_OF_PROMISE: usize = 30_000_000;
/// Entries of a free direction that name a parameter, relative to the largest.
const NOTABLE: f64 = 0.5;

/// Whether the model at a point may leave a direction free that is not frozen.
pub(super) fn is_suspected(model: &LeastSquares, systems: &LinearSystems, frozen: &[bool]) -> bool {
    let n = frozen.len();
    let rows = systems.row_offsets.len();
    if !is_small(n, rows) {
        return false;
    }
    // What differences explain of a direction is more than rounding.
    if !model.accuracy.is_empty() {
        return true;
    }
    let mut jtj = match &model.normal {
        // One block has all of J̃ᵀJ̃.
        Some(normal) if normal.jtj_blocks.len() == n * n => normal.jtj_blocks.clone(),
        Some(_) => return false,
        None => products(&jacobian(n, &systems.row_offsets, &systems.col_indices, &model.entries)),
    };
    let mut left_out = vec![true; n];
    for &(first, count) in &systems.blocks.ranges {
        left_out[first..first + count].copy_from_slice(&frozen[first..first + count]);
    }
    // In any order the pivots of a matrix are at least the inverse of its inverse's trace. That is known sooner than the pivots.
    if is_well_conditioned(jtj.clone(), &left_out, 0.5 / UNSURE_PIVOT) {
        return false;
    }
    lacks_rank(&mut jtj, n, (0..n).filter(|&k| !left_out[k]).list())
}

/// Whether so many columns and rows are analysed.
pub(super) fn is_small(n: usize, rows: usize) -> bool {
    n > 0 && n.saturating_mul(n).saturating_mul(n + rows) <= MOST_WORK
}

/// Whether a pivot of the lower half of a symmetric matrix, brought to a unit diagonal, is too small, in some order of elimination.
fn lacks_rank(a: &mut [f64], n: usize, mut order: Vec<usize>) -> bool {
    let lengths: Vec<f64> = (0..n).map(|k| a[k * n + k].sqrt()).list();
    if order.iter().any(|&k| lengths[k] == 0.0) {
        return true;
    }
    let place = |i: usize, j: usize| if i > j { i * n + j } else { j * n + i };
    for (position, &i) in order.iter().enumerate() {
        for &j in &order[..=position] {
            a[place(i, j)] /= lengths[i] * lengths[j];
        }
    }
    while let Some(last) = order.len().checked_sub(1) {
        let best =
            (0..=last).fold(0, |best, k| if a[order[k] * (n + 1)] > a[order[best] * (n + 1)] { k } else { best });
        order.swap(best, last);
        let pivot = order.remove(last);
        let diagonal = a[pivot * (n + 1)];
        if diagonal <= UNSURE_PIVOT {
            return true;
        }
        for (position, &i) in order.iter().enumerate() {
            let factor = a[place(i, pivot)] / diagonal;
            for &j in &order[..=position] {
                a[place(i, j)] -= factor * a[place(j, pivot)];
            }
        }
    }
    false
}

/// The rank of J̃ and the parameters of free directions; none where J̃ has full rank. With `without_single` directions of a single parameter are left out: blocks
/// that no residual touches are told by themselves.
pub async fn finding(
    functions: &mut Functions,
    model: &mut HostModel,
    without_single: bool,
) -> Result<Option<Finding>> {
    let x = functions.values().to_vec();
    let Analysed { space, linearised, .. } = analyse(functions, model, &x, TOLERANCE).await?;
    let mut squares = vec![0.0; x.len()];
    add_squares(&model.pattern(functions)?.col_indices, &linearised.entries, &mut squares);
    let mut names: Vec<String> = Vec::new();
    for direction in &space.basis {
        // In units of the columns; a column of zeros is a direction by itself.
        let size = |(value, square): (&f64, &f64)| value.abs() * if *square > 0.0 { square.sqrt() } else { 1.0 };
        let sizes = direction.iter().zip(&squares).map(size).list();
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        let notable = (0u32..).zip(&sizes).filter(|(_, size)| **size >= NOTABLE * largest);
        let own = notable.map(|(parameter, _)| functions.model().parameter_name(parameter)).list();
        if !(without_single && own.len() == 1) {
            names.push_all(own);
        }
    }
    let mut known = BTreeSet::new();
    names.retain(|name| known.insert(name.clone()));
    let (rank, columns) = (space.rank, space.columns);
    Ok((!names.is_empty()).then_some(Finding::Rank { rank, columns, names }))
}

/// What J̃ promises at the current parameters of a small problem, in units of σ² and in f64; 0 where rounding of the parameters in `arithmetic` explains it, and
/// none for a larger problem. Coordinates that their bounds hold stay where they are. `run`: the start of a run that had no such model, and a share. It is 0
/// then also where the step of the model changes no parameter by more than that share of the largest of its array, as where residuals vanish and leave no σ².
pub async fn promise(
    functions: &mut Functions,
    model: &mut HostModel,
    arithmetic: Arithmetic,
    run: Option<(&[f64], f64)>,
) -> Result<Option<f64>> {
    let Some((mut region, point)) = undamped(functions, model).await? else { return Ok(None) };
    let promise = region.promise();
    // Without a noise of the cost: its rounding is not that of the parameters.
    let mut is_none = promise <= point.rounding(-1.0, arithmetic.epsilon());
    if let Some((start, share)) = run {
        let mut step = vec![0.0; start.len()];
        region.step(f64::INFINITY, &mut step);
        let x = functions.values();
        is_none |= functions.model().arrays.iter().all(|array| {
            let numbers = array.offset as usize..(array.offset + array.count * array.dim) as usize;
            let largest = |of: &dyn Fn(usize) -> f64| numbers.clone().map(of).fold(0.0, f64::max);
            largest(&|k| step[k].abs()) <= share * largest(&|k| x[k].abs().max((x[k] - start[k]).abs()))
        });
    }
    Ok(Some(if is_none { 0.0 } else { promise / point.variance() }))
}

/// The model without a ball at the current parameters of a small problem, and the point's numbers.
async fn undamped(functions: &mut Functions, model: &mut HostModel) -> Result<Option<(TrustRegionModel, Linearised)>> {
    let n = functions.values().len();
    let rows = functions.model().num_residuals as usize;
    if n.saturating_mul(n).saturating_mul(n + rows) > MOST_WORK_OF_PROMISE {
        return Ok(None);
    }
    let Start { point, feasible, .. } = Start::of(functions, Arithmetic::F64)?;
    let samples = functions.sample_count();
    let LeastSquares { mut influence, residuals, entries, accuracy, .. } = model.linearise(functions, &point).await?;
    if HostModel::is_robust(functions) {
        influence = HostModel::influence(functions, &point).await?;
    }
    let pattern = model.pattern(functions)?;
    let jacobian = jacobian(n, &pattern.row_offsets, &pattern.col_indices, &entries);
    let (mut gradient, mut squares, mut frozen) = (vec![0.0; n], vec![0.0; n], vec![false; n]);
    jacobian.add_transposed_times(&residuals, &mut gradient);
    feasible.freeze(&point, &gradient, &mut frozen);
    add_squares(&pattern.col_indices, &entries, &mut squares);
    let scale: Vec<f64> = squares.iter().map(|square| square.sqrt()).list();
    let damping = vec![0.0; n];
    let system = System { jacobian, residuals: &residuals, damping: &damping, frozen: &frozen };
    let mut qr = DenseQr::new();
    qr.begin(&system);
    qr.advance(&system, f64::INFINITY);
    let mut region = TrustRegionModel::of_rows(&qr, &scale, &frozen);
    region.set_accuracy(&accuracy);
    let free = |k: &usize| !frozen[*k] && squares[*k] > 0.0;
    let coordinates = (0..n).filter(free).count() as f64;
    let scaled_size = (0..n).filter(free).map(|k| squares[k] * point[k] * point[k]).sum();
    let point = Linearised {
        cost: influence,
        influence,
        residuals: samples as f64,
        coordinates,
        scaled_size,
        cosine: f64::NAN,
    };
    Ok(Some((region, point)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gauss_newton::host::Normal;
    use residua_linalg::{CoordinateBlocks, DenseQr, LinearSolver};

    /// Whether the model of such rows of J̃ is suspected, with the matrix itself and as J̃ᵀJ̃ in one block.
    fn suspected(rows: &[Vec<f64>], frozen: &[bool]) -> [bool; 2] {
        let n = frozen.len();
        let systems = LinearSystems {
            row_offsets: (0..=rows.len()).map(|row| (row * n) as u32).collect(),
            col_indices: rows.iter().flat_map(|_| 0..n as u32).collect(),
            blocks: CoordinateBlocks { ranges: vec![(0, n)], ..CoordinateBlocks::default() },
            solver: LinearSolver::DenseQr(DenseQr::new()),
            trial: None,
        };
        let product = |i: usize, j: usize| rows.iter().map(|row| row[i] * row[j]).sum();
        let jtj_blocks = (0..n * n).map(|place| product(place / n, place % n)).collect();
        let matrix =
            LeastSquares { residuals: vec![0.0; rows.len()], entries: rows.concat(), ..LeastSquares::nothing() };
        let normal = Some(Normal { residuals: rows.len(), gradient: vec![0.0; n], jtj_blocks });
        let sums = LeastSquares { normal, ..LeastSquares::nothing() };
        [matrix, sums].map(|model| is_suspected(&model, &systems, frozen))
    }

    #[test]
    fn only_what_may_lack_rank_is_suspected() {
        let none = [false; 3];
        // The squared distance of the second column from the first, of unit length, is 1e-8 and 1e-12.
        let close = |offset: f64| vec![vec![1.0, 1.0, 0.0], vec![0.0, offset, 0.0], vec![0.0, 0.0, 2.0]];
        let sum = [vec![1.0, 2.0, 3.0], vec![2.0, 1.0, 3.0], vec![0.0, 1.0, 1.0]];
        let scaled = sum.clone().map(|row| vec![1e9 * row[0], 1e-9 * row[1], row[2]]);
        let full = [vec![1.0, 2.0, 0.0], vec![0.0, 1.0, 0.0], vec![3.0, 1.0, 1.0], vec![0.0, 0.0, 5.0]];
        let full_scaled = full.clone().map(|row| vec![1e9 * row[0], 1e-9 * row[1], row[2]]);
        let zero = [vec![1.0, 0.0, 1.0], vec![1.0, 0.0, 2.0]];
        for (rows, frozen, expected) in [
            (&full[..], none, false),
            (&full_scaled, none, false),
            (&sum, none, true),
            (&scaled, none, true),
            (&sum, [true, false, false], false),
            (&sum, [false, true, false], false),
            (&sum, [false, false, true], false),
            (&sum, [true; 3], false),
            (&zero, none, true),
            (&zero, [false, true, false], false),
            (&close(1e-4), none, false),
            (&close(1e-6), none, true),
            (&close(1e-6), [false, false, true], true),
            // Fewer rows than columns.
            (&full[2..], none, true),
        ] {
            assert_eq!(suspected(rows, &frozen), [expected; 2], "{rows:?} {frozen:?}");
        }
    }

    #[test]
    fn nothing_is_suspected_beyond_the_work_that_a_step_takes() {
        for (n, expected) in [(50, true), (60, false)] {
            let rows: Vec<Vec<f64>> =
                (1..=n).map(|row| (0..n).map(|column| f64::from(u8::from(column == row))).collect()).collect();
            assert_eq!(suspected(&rows, &vec![false; n]), [expected; 2], "{n} columns, of which the first is zero");
        }
    }

    #[test]
    fn nothing_is_suspected_where_the_blocks_are_not_all_of_the_matrix() {
        let systems = LinearSystems {
            row_offsets: vec![0, 2],
            col_indices: vec![0, 1],
            blocks: CoordinateBlocks { ranges: vec![(0, 1), (1, 1)], ..CoordinateBlocks::default() },
            solver: LinearSolver::DenseQr(DenseQr::new()),
            trial: None,
        };
        let normal = Some(Normal { residuals: 1, gradient: vec![0.0; 2], jtj_blocks: vec![1.0, 0.0] });
        let model = LeastSquares { normal, ..LeastSquares::nothing() };
        assert!(!is_suspected(&model, &systems, &[false; 2]));
    }
}
