//! Many small problems on the way of which a parameter loses its effect: BoxBOD of NIST, a rise b₁(1 − exp(−b₂t)).

use crate::many::{Draft, Silent, block_on, message, numbers, on_cpu, on_device, on_device_in, options};
use residua::eval::Arithmetic;
use residua::model::losses::LossParameters;
use residua::solve::Termination;
use residua_codegen::wgsl::PairForm;

use residua::solve::many::guard::{Guarded, PairSolver, guard};
use residua::solve::many::{Batch, ManyListener, ManyOptions, ManySolutions, SharedProblem};
use residua::solve::rules::Tolerances;
use residua_base::error::{Error, ErrorCode, Result};
use residua_ir::graph::Op;

/// Half of the certified sum of squares. Where the exponential has vanished it is 4885.8 at best.
const LEAST: f64 = 1168.0088766 / 2.0;

/// Starts from which steps without the rule lose b₂.
const STARTS: [[f64; 2]; 4] = [[1.0, 1.0], [10.0, 10.0], [1.0, 10.0], [0.1, 0.1]];

fn defaults() -> ManyOptions {
    ManyOptions { tolerances: Tolerances { cost: 1e-8, gradient: 1e-8, parameter: 1e-8 }, ..options() }
}

fn rise() -> SharedProblem {
    let mut draft = Draft::default();
    draft.array(2, "euclidean", &[1.0, 1.0]);
    let (t, y) = ([1.0, 2.0, 3.0, 5.0, 7.0, 10.0], [109.0, 149.0, 149.0, 191.0, 213.0, 224.0]);
    draft.block(&[(0, &[0; 6])], &[&t, &y], LossParameters::squared(), |g, p, data| {
        let exponent = g.mul(p[1], data[0]);
        let exponent = g.apply(Op::Neg, &[exponent]);
        let vanishing = g.apply(Op::Exp, &[exponent]);
        let one = g.constant(1.0);
        let share = g.sub(one, vanishing);
        let value = g.mul(p[0], share);
        vec![g.sub(value, data[1])]
    });
    draft.template()
}

fn from<'a>(starts: &[[f64; 2]]) -> Batch<'a> {
    let parameters = vec![(0, 2, numbers(starts.concat()))];
    Batch { count: starts.len() as u32, parameters, data: Vec::new() }
}

/// NIST's second start, each parameter times a power of ten between -1.5 and 1.5.
fn random_starts() -> Vec<[f64; 2]> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut power = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        10f64.powf(3.0 * (state >> 11) as f64 / (1u64 << 53) as f64 - 1.5)
    };
    (0..20).map(|_| [100.0 * power(), 0.75 * power()]).collect()
}

struct NoPairs;

impl PairSolver for NoPairs {
    async fn solve(&mut self, _: &Batch<'_>, _: &mut dyn ManyListener) -> Result<ManySolutions> {
        Err(Error::new(ErrorCode::GpuUnavailable, "products are not rounded"))
    }
}

fn guarded(template: &SharedProblem, batch: &Batch, solutions: ManySolutions, may_hand_over: bool) -> Guarded {
    let mut none = NoPairs;
    let pairs = may_hand_over.then_some(&mut none);
    block_on(guard(template, batch, &defaults(), solutions, Arithmetic::F32, pairs, &mut Silent)).unwrap()
}

/// How many have the certified cost, up to the share of it that 24 bits leave of six residuals.
fn arrived(solutions: &ManySolutions) -> usize {
    let is_least = |(cost, end): (&f64, &Termination)| end.converged() && (cost / LEAST - 1.0).abs() < 1e-5;
    solutions.cost.iter().zip(&solutions.termination).filter(|&pair| is_least(pair)).count()
}

#[test]
fn a_parameter_that_single_precision_loses_is_found_by_a_second_way_on_the_host() {
    let template = rise();
    // Of the starts that lose the parameter none arrives on the device, of others all but two.
    for (starts, arrives) in [(STARTS.to_vec(), 0), (random_starts(), 18)] {
        let (batch, all) = (from(&starts), starts.len());
        let host = on_cpu(&template, &batch, &defaults());
        assert_eq!(arrived(&host), all, "{host:?}");
        assert_eq!(message(&Guarded::of_host(host)), format!("{all} of {all} problems converged."));
        for pairs in [None, Some(PairForm::Split)] {
            let device = on_device_in(&template, &batch, &defaults(), 5, pairs);
            let ended = |solutions: &ManySolutions| solutions.termination.iter().filter(|end| end.converged()).count();
            let on_first_way = arrived(&device);
            assert!(on_first_way >= arrives, "{on_first_way} of {all} arrive on the device");
            assert_eq!(ended(&device), on_first_way, "no lost parameter is a success: {device:?}");

            let auto = guarded(&template, &batch, device.clone(), true);
            assert_eq!(arrived(&auto.solutions), all, "{:?}", auto.solutions);
            let says = "again in double precision, from their starts.";
            assert!(message(&auto).contains(says), "{}", message(&auto));
            assert_eq!(auto.arithmetic == Arithmetic::F64, on_first_way == 0);

            let gpu = guarded(&template, &batch, device, false);
            assert_eq!((arrived(&gpu.solutions), ended(&gpu.solutions)), (on_first_way, on_first_way));
        }
    }
}

/// A limit max(b₁ − 1, 0), and b₂ − 3; then b₁·t at t = 0, which never has an effect.
fn limit(of_limit: bool) -> SharedProblem {
    let mut draft = Draft::default();
    draft.array(2, "euclidean", &[5.0, 1.0]);
    draft.block(&[(0, &[0])], &[&[0.0]], LossParameters::squared(), |g, p, data| {
        let [one, zero, three] = [1.0, 0.0, 3.0].map(|number| g.constant(number));
        let beyond = g.sub(p[0], one);
        let limit = g.apply(Op::Max, &[beyond, zero]);
        let product = g.mul(p[0], data[0]);
        let unseen = g.sub(product, three);
        vec![if of_limit { limit } else { unseen }, g.sub(p[1], three)]
    });
    draft.template()
}

#[test]
fn a_limit_that_is_kept_and_data_of_zeros_stay_successes() {
    for of_limit in [true, false] {
        let (template, batch) = (limit(of_limit), from(&[[5.0, 1.0], [0.0, 1.0]]));
        let device = on_device(&template, &batch, &defaults(), 40);
        for may_hand_over in [true, false] {
            let found = guarded(&template, &batch, device.clone(), may_hand_over);
            assert_eq!((&found.solutions, found.arithmetic), (&device, Arithmetic::F32));
            assert!(message(&found).starts_with("2 of 2 problems converged. Rounding"), "{}", message(&found));
        }
    }
}

#[test]
fn what_is_not_finite_in_single_precision_is_solved_on_the_host() {
    // e^100 is beyond f32.
    let (template, batch) = (rise(), from(&[[1.0, -10.0], [100.0, 0.75], [f64::NAN, 1.0]]));
    let device = on_device(&template, &batch, &defaults(), 40);
    let lost = |solutions: &ManySolutions| {
        let is_lost = |end: &Termination| *end == Termination::NonFinite;
        solutions.termination.iter().map(is_lost).collect::<Vec<_>>()
    };
    assert_eq!(lost(&device), [true, false, true]);
    assert_eq!(lost(&guarded(&template, &batch, device.clone(), false).solutions), [true, false, true]);
    assert_eq!(lost(&guarded(&template, &batch, device, true).solutions), [false, false, true]);
}
