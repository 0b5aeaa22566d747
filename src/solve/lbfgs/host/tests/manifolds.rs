//! L-BFGS on manifolds, on functions with a known minimum.

use super::*;
use crate::eval::tests::block_on;
use crate::model::{ArrayInfo, Manifold};

/// Minimises over blocks of one manifold, to a gradient of about √ε, below which the cost's change is lost in rounding. Returns the run and
/// the largest deviation of an evaluated block from length 1.
fn on_manifold(
    objective: Objective,
    manifold: Manifold,
    dim: u32,
    start: &[f64],
    arithmetic: Arithmetic,
) -> (Run, f64) {
    let count = start.len() as u32 / dim;
    let array = ArrayInfo { name: String::new(), dim, count, offset: 0, manifold };
    let manifolds = block_on(ManifoldMap::of(&[array], start.len())).unwrap().map(Rc::new);
    let options = until_gradient(if arithmetic == Arithmetic::F64 { 1e-9 } else { 1e-5 }, 300);
    let lbfgs = solver(start, FeasibleSet::unconstrained(start.len()), manifolds.clone(), &options, arithmetic);
    let in_tangents = |x: &[f64], gradient: &mut [f64]| {
        let cost = objective(x, gradient);
        manifolds.as_ref().unwrap().convert_gradient(x, gradient).unwrap();
        cost
    };
    let run = run(&in_tangents, lbfgs);
    assert_eq!(run.summary.termination, Termination::GradientTolerance, "{}", run.summary.message());
    let length = |block: &[f64]| block.iter().map(|x| x * x).sum::<f64>().sqrt();
    let blocks = run.evaluated.iter().flat_map(|x| x.chunks(dim as usize));
    let off = blocks.map(|block| (length(block) - 1.0).abs()).fold(0.0, f64::max);
    (run, off)
}

/// A fixed sequence of scattered numbers in (−1, 1).
fn scattered(count: usize, seed: f64) -> Vec<f64> {
    (0..count).map(|i| ((i as f64 + 1.0) * 12.9898 + seed * 78.233).sin()).collect()
}

fn unit(v: &[f64]) -> Vec<f64> {
    let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
    v.iter().map(|x| x / length).collect()
}

/// ½ xᵀAx over unit vectors is least at the eigenvector of the least eigenvalue. A = R diag(1, 2, …) R with a Householder reflection R, whose
/// first column is that eigenvector.
#[test]
fn the_minimum_of_a_rayleigh_quotient_is_the_eigenvector_of_the_least_eigenvalue() {
    for dim in 2..=6_usize {
        let w = unit(&scattered(dim, 3.0));
        let reflected = |x: &[f64]| -> Vec<f64> {
            let along: f64 = x.iter().zip(&w).map(|(x, w)| x * w).sum();
            x.iter().zip(&w).map(|(x, w)| x - 2.0 * along * w).collect()
        };
        let objective = |x: &[f64], gradient: &mut [f64]| {
            let scaled: Vec<f64> = reflected(x).iter().enumerate().map(|(k, y)| (k + 1) as f64 * y).collect();
            gradient.copy_from_slice(&reflected(&scaled));
            0.5 * x.iter().zip(&*gradient).map(|(x, g)| x * g).sum::<f64>()
        };
        let mut first = vec![0.0; dim];
        first[0] = 1.0;
        let eigenvector = reflected(&first);
        for (arithmetic, rounding) in [(Arithmetic::F64, 1e-15), (Arithmetic::F32, 2e-7)] {
            for seed in 1..=5 {
                let start = unit(&scattered(dim, f64::from(seed)));
                let (run, off) = on_manifold(&objective, Manifold::UnitVector, dim as u32, &start, arithmetic);
                // Every trial point is on the sphere up to rounding.
                assert!(off < 4.0 * rounding, "{dim} {seed}: {off}");
                let turn: f64 = run.solution.iter().zip(&eigenvector).map(|(x, e)| x * e).sum();
                // The gap of the eigenvalues is 1: the gradient's tolerance, 1e-8 or 1e-5, bounds the angle, whose square is lost in the cosine.
                assert!((turn.abs() - 1.0).abs() < 10.0 * rounding, "{dim} {seed}: {turn}");
                assert!(run.summary.iterations <= 60, "{dim} {seed}: {}", run.summary.iterations);
            }
        }
    }
}

fn product(a: &[f64], b: &[f64]) -> [f64; 4] {
    let ([w, x, y, z], [s, t, u, v]) = ([a[0], a[1], a[2], a[3]], [b[0], b[1], b[2], b[3]]);
    [
        w * s - x * t - y * u - z * v,
        w * t + x * s + y * v - z * u,
        w * u - x * v + y * s + z * t,
        w * v + x * u - y * t + z * s,
    ]
}

/// Σ 1 − (q·pᵢ)² over pairs of rotations exp(±δ)·m is least at m.
#[test]
fn the_mean_of_symmetric_rotations_is_their_centre() {
    let mean = unit(&[0.3, -0.8, 0.4, 0.2]);
    let around: Vec<[f64; 4]> = (0..6)
        .map(|k| {
            let v = scattered(3, f64::from(k / 2));
            let (sign, length) = (if k % 2 == 0 { 0.4 } else { -0.4 }, v.iter().map(|x| x * x).sum::<f64>().sqrt());
            let (sine, cosine) = (sign * length).sin_cos();
            product(&[cosine, sine * v[0] / length, sine * v[1] / length, sine * v[2] / length], &mean)
        })
        .collect();
    let objective = |q: &[f64], gradient: &mut [f64]| {
        gradient.fill(0.0);
        around
            .iter()
            .map(|p| {
                let along: f64 = q.iter().zip(p).map(|(q, p)| q * p).sum();
                gradient.iter_mut().zip(p).for_each(|(g, p)| *g -= 2.0 * along * p);
                1.0 - along * along
            })
            .sum()
    };
    for seed in 1..=8 {
        let start = unit(&scattered(4, f64::from(seed)));
        let (run, off) = on_manifold(&objective, Manifold::UnitQuaternion, 4, &start, Arithmetic::F64);
        assert!(off < 4e-15, "{off}");
        let turn: f64 = run.solution.iter().zip(&mean).map(|(q, m)| q * m).sum();
        // The curvature is some 10: a gradient of 1e-8 is an angle of 1e-9, nothing in its cosine.
        assert!((turn.abs() - 1.0).abs() < 1e-14, "{seed}: {turn}");
        assert!(run.summary.iterations <= 30, "{}", run.summary.iterations);
    }
}

/// Σ 1 − cos(a − aᵢ) is least at the direction of Σ (cos aᵢ, sin aᵢ), beyond π as seen from the starts.
#[test]
fn angles_wrap_at_pi() {
    let around = [2.9_f64, 3.4, 3.9];
    let objective = |a: &[f64], gradient: &mut [f64]| {
        gradient[0] = around.iter().map(|b| (a[0] - b).sin()).sum();
        around.iter().map(|b| 1.0 - (a[0] - b).cos()).sum()
    };
    for start in [2.0, 3.1, -3.0, -1.0] {
        let (run, _) = on_manifold(&objective, Manifold::Angle, 1, &[start], Arithmetic::F64);
        // They stand symmetrically around 3.4, which is 3.4 − 2π; the gradient is at most 2.8, and so is the curvature there.
        assert!((run.solution[0] - (3.4 - std::f64::consts::TAU)).abs() < 4e-9, "{start}: {:?}", run.solution);
        assert!(run.evaluated.iter().all(|a| a[0].abs() <= std::f64::consts::PI), "{:?}", run.evaluated);
    }
}

#[test]
fn constant_blocks_on_manifolds_are_unchanged_beside_free_ones() {
    // A constant unit vector, a free one, and a Euclidean number; all have non-zero derivatives.
    let arrays = [(3, 2, 0, Manifold::UnitVector), (1, 1, 6, Manifold::Euclidean)]
        .map(|(dim, count, offset, manifold)| ArrayInfo { name: String::new(), dim, count, offset, manifold });
    let manifolds = block_on(ManifoldMap::of(&arrays, 7)).unwrap().map(Rc::new);
    let constant = [1, 1, 1, 0, 0, 0, 0];
    let set = FeasibleSet::new(7, &constant, &[], &[], Arithmetic::F64).unwrap();
    let start = [0.6, 0.0, 0.8, 1.0, 0.0, 0.0, 5.0];
    let objective = |x: &[f64], gradient: &mut [f64]| {
        gradient.copy_from_slice(&[1.0, 2.0, 3.0, 0.0, -1.0, 0.0, x[6]]);
        manifolds.as_ref().unwrap().convert_gradient(x, gradient).unwrap();
        0.5 * x[6] * x[6] - x[4]
    };
    let lbfgs = solver(&start, set, manifolds.clone(), &until_gradient(1e-10, 100), Arithmetic::F64);
    let run = run(&objective, lbfgs);
    assert_eq!(run.summary.termination, Termination::GradientTolerance, "{}", run.summary.message());
    assert!(run.evaluated.iter().all(|x| x[..3] == [0.6, 0.0, 0.8]), "bit for bit");
    for (got, expected) in run.solution[3..].iter().zip([0.0, 1.0, 0.0, 0.0]) {
        // The curvature at the minimum is 1 in every direction, and the gradient at the start 5.
        assert!((got - expected).abs() < 1e-9, "{:?}", run.solution);
    }
}
