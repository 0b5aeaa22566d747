//! Steps of sparse problems by the model with second derivatives.

use super::*;
use crate::eval::Functions;
use crate::eval::tests::functions;
use crate::gauss_newton::host::HostModel;
use crate::gauss_newton::host::hessian_system::{Damping, HessianSystem, Refinement};
use crate::model::tests::Recorder;
use crate::solve::levenberg_marquardt::host::second_order::{Question, step as curved_step};
use crate::solve::vector::norm;
use crate::solve::{Objective, Solution};
use residua_base::cooperative::Yielder;
use residua_base::deadline::Deadline;
use residua_ir::graph::Op;
use residua_linalg::loops::semidefinite::Negative;

/// A chain of springs in the plane of length 1 each, whose ends are held `stretch` times as far apart as its length; in between it is bent.
fn chain(springs: u32, stretch: f64) -> Functions {
    let mut r = Recorder::default();
    let end = r.constant(f64::from(springs) * stretch);
    let zero = r.constant(0.0);
    let places: Vec<_> = (0..=springs)
        .map(|k| match k {
            0 => [zero, zero],
            k if k == springs => [end, zero],
            k => [r.parameter(2 * k - 2), r.parameter(2 * k - 1)],
        })
        .collect();
    let one = r.constant(1.0);
    let outputs = places
        .windows(2)
        .map(|ends| {
            let [x, y] = [0, 1].map(|d| {
                let difference = r.apply(Op::Sub, &[ends[1][d], ends[0][d]]);
                r.square(difference)
            });
            let sum = r.apply(Op::Add, &[x, y]);
            let length = r.apply(Op::Sqrt, &[sum]);
            r.apply(Op::Sub, &[length, one])
        })
        .collect();
    let start = (1..springs).flat_map(|k| [f64::from(k) * stretch, 0.3 * f64::from(k * 37 % 11) - 1.5]);
    functions(r, outputs, &start.collect::<Vec<_>>())
}

fn solve(functions: &mut Functions) -> Solution {
    let options = LevenbergMarquardtOptions::defaults();
    block_on(minimise_least_squares(functions, &mut SolverResources::default(), &options, &mut ())).unwrap()
}

#[test]
fn a_stretched_chain_becomes_straight_in_few_steps() {
    for stretch in [1.3, 2.0, 3.0] {
        let springs = 120;
        let Solution { x, summary, details, .. } = solve(&mut chain(springs, stretch));
        assert!(summary.success(), "{stretch}: {}", summary.message());
        assert!(details.linear_solver.contains("sparse Cholesky"), "{}", details.linear_solver);
        // Without second derivatives 100 steps leave a tenth of the cost that the bend has.
        assert!(summary.iterations <= 25, "{stretch}: {} iterations", summary.iterations);
        let least = 0.5 * f64::from(springs) * (stretch - 1.0).powi(2);
        // A promise of 1e-4 σ², which is no more than the cost.
        assert!((summary.final_cost - least).abs() < 1e-4 * least, "{stretch}: {} for {least}", summary.final_cost);
        for (k, place) in x.chunks_exact(2).enumerate() {
            let straight = [(k + 1) as f64 * stretch, 0.0];
            // The square root of that promise, in units of the springs' lengths.
            assert!(distance(place, &straight) < 0.1, "{stretch}: {place:?} for {straight:?}");
        }
    }
}

#[test]
fn the_step_of_hessians_as_they_are_solves_their_sum() {
    // At a straight chain that is stretched the Hessian is positive definite; at one that is not stretched it is not.
    for (stretch, is_definite) in [(2.0, true), (0.5, false)] {
        let mut functions = chain(5, stretch);
        let x: Vec<f64> =
            (1..5).flat_map(|k| [f64::from(k) * stretch + 0.01 * f64::from(k % 3), 0.02 * f64::from(k)]).collect();
        let n = x.len();
        block_on(async {
            assert!(HostModel::prepare_hessian_system(&mut functions, Deadline::NEVER).await.unwrap());
            let mut system = HessianSystem::new(&mut functions, Objective::LeastSquares).unwrap();
            let mut yielder = Yielder::new();
            system.evaluate(&mut functions, Objective::LeastSquares, &x, &mut yielder).await.unwrap();
            let gradient = functions.evaluate_on_host(Objective::LeastSquares, &x).await.unwrap().gradient;
            let (mut step, mut frozen) = (vec![0.0; n], vec![false; n]);
            frozen[3] = true;
            let question = (gradient.as_slice(), frozen.as_slice());
            let outcome = system.solve_as_is(question, &mut step, &mut yielder, &mut || false).await;
            assert_eq!(format!("{outcome:?}"), if is_definite { "Solved" } else { "Singular" });
            if !is_definite {
                // Conjugate gradients follow a direction without curvature to the ball, where the Hessian's own model takes no less from the cost than along
                // the step of the matrix without negative eigenvalues, as far as the ball allows.
                system.replace_negative(Negative::Clamped, &mut yielder).await;
                let mut damping = Damping::OF_FACTORISATION.least;
                system.solve(question, &mut damping, &mut step, &mut yielder, &mut || false).await;
                let promised = -0.5 * dot(&gradient, &step);
                let (scale, radius) = (vec![4.0; n], 0.5);
                let within =
                    |step: &[f64]| step.iter().map(|entry| entry * (radius / (2.0 * norm(step))).min(1.0)).collect();
                let projected: Vec<f64> = within(&step);
                let refinement = Refinement { ratio: f64::INFINITY, left: 1e-8, ball: Some((&scale, radius)) };
                system.refine(question, refinement, &mut step, &mut yielder, &mut || false).await;
                let reduction = |step: &[f64]| -dot(&gradient, step) - 0.5 * system.quadratic_form(step, false);
                // Rounding of a root.
                assert!((2.0 * norm(&step) - radius).abs() < 1e-12, "{}", norm(&step));
                assert!(step[3] == 0.0 && reduction(&step) >= reduction(&projected), "{step:?} and {projected:?}");
                // A ball as small as that leaves no promise of its own.
                let (ball, ends, replaces) = ((scale.as_slice(), 1e-9), true, true);
                let question = Question { point: &x, gradient: &gradient, frozen: &frozen, ball, ends, replaces };
                let (mut own, mut stops) = (None, || false);
                let curved = curved_step(&mut own, &mut functions, question, Deadline::NEVER, &mut yielder, &mut stops);
                let Curved::Step(cut, promise) = curved.await.unwrap() else { panic!("no second derivatives") };
                assert!(norm(&cut) < 1e-9 && promise == promised, "{promise} for {promised} and {cut:?}");
                return;
            }
            assert_eq!(step[3], 0.0);
            let mut along = 0.0;
            for k in (0..n).filter(|&k| k != 3) {
                let of_unit = |sign: f64| {
                    let mut vector = step.clone();
                    vector[k] += sign;
                    system.quadratic_form(&vector, false)
                };
                // uᵀHv by polarisation.
                let product = 0.25 * (of_unit(1.0) - of_unit(-1.0));
                // A damping of 1e-11, and rounding of forms of some units.
                assert!((product + gradient[k]).abs() < 1e-9, "{k}: {product} for {}", -gradient[k]);
                along -= step[k] * gradient[k];
            }
            assert!(along > 0.0);
        });
    }
}
