//! Residuals over one block of very many numbers: kernels grow with the entries of J, not with outputs times parameters.

use super::access_plan::{AccessPlan, Derivatives, Entry, Target};
use super::losses::LossParameters;
use super::tests::{Recorder, compiled};
use super::*;
use crate::eval::tests::{block_on, on_cpu};
use crate::eval::{Functions, Objective};
use crate::gauss_newton::host::HostModel;
use crate::solve::levenberg_marquardt::host::{self, SolverResources};
use crate::solve::session::DeviceResources;
use crate::solve::{
    IterationSummary, LbfgsOptions, LevenbergMarquardtOptions, Listener, Solution, Termination, minimise,
};
use residua_base::deadline::Deadline;
use residua_ir::graph::Op;

/// One instance with the residuals xᵢ − (1 + i/dim), over one block of `dim` numbers.
fn model(dim: u32) -> Model {
    let mut r = Recorder::default();
    let outputs = (0..dim)
        .map(|number| {
            let (x, d) = (r.parameter(number), r.data(number));
            r.apply(Op::Sub, &[x, d])
        })
        .collect();
    let mut input = CompileInput::problem();
    input.add_array("x", dim, 1, "euclidean").unwrap();
    let data = (0..dim).map(|number| 1.0 + f64::from(number) / f64::from(dim)).collect();
    input.add_residuals("r", vec![0], vec![0], data, r.tape_with_data(outputs, dim, dim)).unwrap();
    compiled(input)
}

#[test]
fn kernels_of_a_wide_block_grow_with_the_entries_of_j() {
    const DIM: usize = 6_500;
    let model = model(DIM as u32);
    let batch = &model.batches[0];
    for target in [Target::Cpu, Target::Gpu] {
        for entry in
            [Entry::Values, Entry::CostGradient, Entry::Jacobian, Entry::Linearise, Entry::Product, Entry::Trial]
        {
            let plan = AccessPlan::new(&batch.class, batch.rows, entry, target, "").unwrap();
            // A residual and its entry of J are some ten operations; outputs times parameters would be 6,500 for each.
            assert!(plan.kernel.graph.graph().len() < 20 * DIM, "{}", entry.name());
            assert_eq!(plan.partials.len(), if entry == Entry::Jacobian { DIM } else { 0 }, "{}", entry.name());
        }
    }
    assert_eq!(Derivatives::new(&batch.class, batch.rows).places.len(), DIM);
}

#[test]
fn the_correction_for_a_loss_is_left_out_where_it_fills_j_and_the_gradient_stays() {
    // The one loss that is convex in s somewhere, for which J̃ is corrected.
    let tolerant = LossParameters::new("tolerant", 1.0, 0.5, 1.0).unwrap();
    for (dim, entries) in [(8, 8 * 8), (40, 40)] {
        let mut functions = on_cpu(model(dim), &vec![0.7; dim as usize]);
        functions.set_loss(0, tolerant).unwrap();
        let mut of_host = HostModel::default();
        let at = functions.values().to_vec();
        let model = block_on(of_host.linearise(&mut functions, &at)).unwrap();
        assert_eq!(model.entries.len(), entries);
        let pattern = of_host.pattern(&mut functions).unwrap();
        let mut gradient = vec![0.0; dim as usize];
        for (row, ends) in pattern.row_offsets.windows(2).enumerate() {
            for entry in ends[0] as usize..ends[1] as usize {
                gradient[pattern.col_indices[entry] as usize] += model.entries[entry] * model.residuals[row];
            }
        }
        let expected = block_on(functions.evaluate_with_gradient(Objective::LeastSquares, None)).unwrap();
        assert!((model.cost - expected.cost).abs() <= 1e-14 * expected.cost);
        for (found, expected) in gradient.iter().zip(expected.gradient) {
            // Sums of at most 40 products, each rounded some ten times.
            assert!((found - expected).abs() < 1e-13, "{found} {expected}");
        }
    }
}

/// A listener that aborts from the given question on.
struct Asked(u32);

impl Listener for Asked {
    fn iteration(&mut self, _: &IterationSummary) -> bool {
        false
    }

    fn aborted(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 == 0
    }
}

fn solved(dim: u32, solver: Option<&str>, max_time_ms: f64, listener: &mut Asked) -> Solution {
    let mut functions: Functions = on_cpu(model(dim), &vec![0.0; dim as usize]);
    let number = |name: &str| (name == "maxTimeMs").then_some(max_time_ms);
    let text = |name: &str| solver.filter(|_| name == "linearSolver").map(str::to_owned);
    let options = LevenbergMarquardtOptions::from_numbers(functions.place(), &number, &text);
    let (options, mut resources) = (options.unwrap(), SolverResources::default());
    // Kernels are there, so that the time is that of the solve.
    assert!(block_on(resources.model.prepare(&mut functions, Deadline::NEVER)).unwrap());
    block_on(host::minimise_least_squares(&mut functions, &mut resources, &options, listener)).unwrap()
}

#[test]
fn a_long_linear_system_ends_at_the_limit_of_time_and_at_an_abort() {
    // One system by dense QR takes 10⁹ multiplications, some hundred milliseconds at least.
    let late = solved(900, Some("dense-qr"), 50.0, &mut Asked(u32::MAX)).summary;
    assert_eq!((late.termination, late.history.len()), (Termination::MaxTime, 1), "{}", late.message());
    assert_eq!(late.message(), "Stopped after maxTimeMs, 50 milliseconds.", "before the first step");
    // Asked before the first request, before the linear system, and then between its slices.
    let aborted = solved(400, Some("dense-qr"), f64::INFINITY, &mut Asked(10)).summary;
    assert_eq!((aborted.termination, aborted.history.len()), (Termination::Aborted, 1), "{}", aborted.message());
}

#[test]
fn a_solve_ends_between_the_pieces_of_its_kernels_and_the_next_one_goes_on_with_them() {
    const DIM: u32 = 300;
    let mut functions: Functions = on_cpu(model(DIM), &vec![0.0; DIM as usize]);
    let mut resources = SolverResources::default();
    let mut solved = |max_time_ms: f64| {
        let number = |name: &str| (name == "maxTimeMs").then_some(max_time_ms);
        let options = LevenbergMarquardtOptions::from_numbers(functions.place(), &number, &|_: &str| None).unwrap();
        let listener = &mut Asked(u32::MAX);
        block_on(host::minimise_least_squares(&mut functions, &mut resources, &options, listener)).unwrap()
    };
    // The pattern of J̃, the linear solver on it, the plan, and its code.
    for _ in 0..4 {
        let Solution { x, summary, .. } = solved(1e-6);
        assert_eq!((summary.termination, summary.history.len()), (Termination::MaxTime, 0), "{}", summary.message());
        assert!(summary.initial_cost.is_nan() && summary.final_cost.is_nan());
        assert_eq!(
            summary.message(),
            "Stopped after maxTimeMs, 0.000001 milliseconds, before the cost of the start was known."
        );
        assert_eq!(x, vec![0.0; DIM as usize]);
    }
    let late = solved(1e-6).summary;
    assert_eq!((late.termination, late.history.len()), (Termination::MaxTime, 1), "{}", late.message());
    assert!(late.final_cost > 0.0 && late.final_cost == late.initial_cost);
    assert!(solved(f64::INFINITY).summary.success());
}

#[test]
fn lbfgs_ends_between_the_pieces_of_its_kernels_and_the_next_solve_goes_on_with_them() {
    const DIM: u32 = 300;
    let mut functions: Functions = on_cpu(model(DIM), &vec![0.0; DIM as usize]);
    let mut resources = DeviceResources::default();
    let mut solved = |max_time_ms: f64| {
        let mut options = LbfgsOptions::defaults();
        options.solve.max_time_ms = max_time_ms;
        let listener = &mut Asked(u32::MAX);
        block_on(minimise(&mut functions, &mut resources, &options, true, listener)).unwrap()
    };
    // The plan, and its code.
    for _ in 0..2 {
        let Solution { x, summary, .. } = solved(1e-6);
        assert_eq!((summary.termination, summary.history.len()), (Termination::MaxTime, 0), "{}", summary.message());
        assert_eq!(
            summary.message(),
            "Stopped after maxTimeMs, 0.000001 milliseconds, before the cost of the start was known."
        );
        assert_eq!(x, vec![0.0; DIM as usize]);
    }
    let late = solved(1e-6).summary;
    assert_eq!((late.termination, late.history.len()), (Termination::MaxTime, 1), "{}", late.message());
    assert!(late.final_cost.is_finite() && late.final_cost == late.initial_cost);
}

#[test]
fn a_wide_block_is_solved_by_every_linear_solver_that_takes_it() {
    for solver in [None, Some("pcg"), Some("sparse-cholesky")] {
        let solution = solved(1_500, solver, f64::INFINITY, &mut Asked(u32::MAX));
        assert!(solution.summary.success(), "{solver:?}: {}", solution.summary.message());
        for (number, x) in solution.x.iter().enumerate() {
            // A run ends where the cost changes by 1e-8 of itself; x is off by the root of that at most, of residuals near 0 by far less.
            assert!((x - 1.0 - number as f64 / 1_500.0).abs() < 1e-6, "{solver:?} {number}");
        }
    }
}
