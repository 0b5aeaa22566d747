//! Directions that the residuals of a small problem leave free at its solution.
//!
//! A Cholesky factorisation of the last J̃ᵀJ̃ costs less than a step and says whether J̃ may lack rank; only then J̃ is analysed, as
//! [`mod@crate::solve::rank`] does. Of problems with more work than [`MOST_WORK`] nothing is said.

use super::linear_system::{LinearSystems, jacobian};
use crate::eval::Functions;
use crate::gauss_newton::host::{HostModel, LeastSquares};
use crate::solve::rank::analyse;
use residua_base::error::Result;
use residua_base::list::Listed;
use residua_linalg::null_space::TOLERANCE;

/// Multiplications of the factorisation and of J̃ᵀJ̃, at most: some tenths of a millisecond.
const MOST_WORK: usize = 300_000;
/// The square of a unit column's distance from the span of others that J̃ᵀJ̃ does not tell from 0 with certainty.
const UNSURE_PIVOT: f64 = 1e-10;
/// Parameters that are named at most.
const NAMED: usize = 3;
/// Entries of a free direction that name a parameter, relative to the largest.
const NOTABLE: f64 = 0.5;

/// Whether the model at a point may leave a direction free that is not frozen.
pub(super) fn is_suspected(model: &LeastSquares, systems: &LinearSystems, frozen: &[bool]) -> bool {
    let n = frozen.len();
    let free: Vec<usize> = systems.blocks.ranges.iter().flat_map(|&(first, count)| first..first + count).list();
    let rows = systems.row_offsets.len();
    if n == 0 || n.saturating_mul(n).saturating_mul(n + rows) > MOST_WORK {
        return false;
    }
    let mut jtj = vec![0.0; n * n];
    match &model.normal {
        // One block has all of J̃ᵀJ̃.
        Some(normal) if normal.jtj_blocks.len() == n * n => jtj.copy_from_slice(&normal.jtj_blocks),
        Some(_) => return false,
        None => {
            let matrix = jacobian(n, &systems.row_offsets, &systems.col_indices, &model.entries);
            for row in 0..matrix.rows() {
                for (i, a) in matrix.row(row) {
                    matrix.row(row).filter(|(j, _)| *j <= i).for_each(|(j, b)| jtj[i * n + j] += a * b);
                }
            }
        }
    }
    lacks_rank(&mut jtj, n, free.into_iter().filter(|&k| !frozen[k]).list())
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

/// The rank of J̃ and the parameters of free directions in a sentence with its full stop; empty where J̃ has full rank. Blocks that no residual
/// touches are told by themselves, so that with `are_some_untouched` directions of a single parameter are left out.
pub(super) async fn sentence(
    functions: &mut Functions,
    model: &mut HostModel,
    are_some_untouched: bool,
) -> Result<String> {
    let x = functions.values().to_vec();
    let space = analyse(functions, model, &x, TOLERANCE).await?.space;
    let mut names: Vec<String> = Vec::new();
    let mut more = false;
    for direction in &space.basis {
        let notable = || (0u32..).zip(direction).filter(|(_, value)| value.abs() >= NOTABLE);
        if are_some_untouched && notable().count() == 1 {
            continue;
        }
        for (parameter, _) in notable() {
            let name = functions.model().parameter_name(parameter);
            match names.contains(&name) {
                false if names.len() == NAMED => more = true,
                false => names.push(name),
                true => {}
            }
        }
    }
    if names.is_empty() {
        return Ok(String::new());
    }
    Ok(format!(
        "The Jacobian has rank {} of {}: the residuals do not determine {}{} separately; rank() returns the free directions.",
        space.rank,
        space.columns,
        names.join(", "),
        if more { ", …" } else { "" }
    ))
}
