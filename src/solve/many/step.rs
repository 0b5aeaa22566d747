//! Steps of a small problem from its normal equations H δ = −g, which lie as [`NormalLayout`] says.

use super::kernels::NormalLayout;
use crate::solve::rules::{damped, damping_scale};
use crate::solve::vector::dot;

/// −δ̄ᵀg, and ‖J̃δ̄‖² = δ̄ᵀHδ̄.
pub(super) fn descent_and_square(layout: NormalLayout, normal: &[f64], step: &[f64]) -> [f64; 2] {
    let (mut descent, mut square) = (0.0, 0.0);
    for row in 0..layout.free {
        let mut slope = 0.0;
        for other in 0..layout.free {
            slope += normal[layout.jtj(row.min(other), row.max(other))] * step[other];
        }
        descent -= step[row] * normal[layout.gradient(row)];
        square += step[row] * slope;
    }
    [descent, square]
}

/// ‖√D δ̄‖ with D the diagonal of H.
pub(super) fn scaled_norm(layout: NormalLayout, normal: &[f64], step: &[f64]) -> f64 {
    let terms = step.iter().enumerate().map(|(k, step)| normal[layout.jtj(k, k)] * step * step);
    terms.sum::<f64>().sqrt()
}

/// (H + λD) δ = −g by Cholesky factorisation, frozen coordinates left out; D is the present diagonal. `false`, and no step, where a pivot is
/// not positive.
pub(super) fn damped_step(
    layout: NormalLayout,
    normal: &[f64],
    lambda: f64,
    frozen: &[bool],
    step: &mut [f64],
) -> bool {
    let free = layout.free;
    let mut factor = normal[layout.jtj(0, 0)..].to_vec();
    let place = |row: usize, column: usize| column * (column + 1) / 2 + row;
    for column in 0..free {
        for row in 0..=column {
            let entry = &mut factor[place(row, column)];
            if frozen[column] || frozen[row] {
                *entry = if row == column { 1.0 } else { 0.0 };
            } else if row == column {
                *entry += damped(lambda, damping_scale(*entry, 0.0));
            }
        }
    }
    // H = UᵀU, column after column.
    for column in 0..free {
        for row in 0..=column {
            let (a, b) = (&factor[place(0, row)..][..row], &factor[place(0, column)..][..row]);
            let rest = factor[place(row, column)] - dot(a, b);
            factor[place(row, column)] = if row < column {
                rest / factor[place(row, row)]
            } else if rest > 0.0 && rest.is_finite() {
                rest.sqrt()
            } else {
                return false;
            };
        }
    }
    for row in 0..free {
        let slope = if frozen[row] { 0.0 } else { -normal[layout.gradient(row)] };
        step[row] = (slope - dot(&factor[place(0, row)..][..row], &step[..row])) / factor[place(row, row)];
    }
    for row in (0..free).rev() {
        let mut dot = 0.0;
        for k in row + 1..free {
            dot += factor[place(row, k)] * step[k];
        }
        step[row] = (step[row] - dot) / factor[place(row, row)];
    }
    true
}
