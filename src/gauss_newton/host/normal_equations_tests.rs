//! Models of sums against models of rows.

use super::{HostModel, LeastSquares};
use crate::eval::Functions;
use crate::eval::tests::{block_on, on_cpu};
use crate::model::CompileInput;
use crate::model::losses::LossParameters;
use crate::model::pattern::Pattern;
use crate::model::tests::{Recorder, compiled};
use residua_base::deadline::Deadline;
use residua_ir::graph::Op;

/// Instances of each residual block.
const INSTANCES: u32 = 301;

/// A quaternion, two blocks of three, an angle: eleven parameters that all instances of a block share. The first block has two residuals,
/// the second has a block twice, the third shares with both.
pub(crate) fn shared_by_blocks() -> Functions {
    shared(false)
}

/// The same; with weights of instances, of which every seventh is 0.
pub(crate) fn shared(weighted: bool) -> Functions {
    let mut input = CompileInput::problem();
    for (name, dim, count, manifold) in
        [("turn", 4, 1, "unit-quaternion"), ("shift", 3, 2, "euclidean"), ("angle", 1, 1, "angle")]
    {
        input.add_array(name, dim, count, manifold).unwrap();
    }
    let t: Vec<f64> = (0..INSTANCES).map(|i| f64::from(i) / f64::from(INSTANCES)).collect();
    let mut add = |slots: Vec<u32>, blocks: [u32; 2], r: Recorder, nodes| {
        let parameters = input.parameter_count(&slots).unwrap();
        let indices = blocks.iter().flat_map(|&block| vec![block; INSTANCES as usize]).collect();
        let weights = (0..INSTANCES).filter(|_| weighted).map(|i| f64::from(i % 7)).collect::<Vec<f64>>();
        let columns = 1 + u32::from(weighted);
        let tape = r.tape_with_data(nodes, parameters, columns);
        let block = input.add_residuals("", slots, indices, [t.clone(), weights].concat(), tape).unwrap();
        if weighted {
            input.set_instance_weights(block, 1).unwrap();
        }
    };

    // The quaternion's numbers are 0 to 3, those of a block of three follow.
    let mut r = Recorder::default();
    let (q, s, t) = ([0, 1, 2, 3].map(|k| r.parameter(k)), [4, 5, 6].map(|k| r.parameter(k)), r.data(0));
    let wave = {
        let along = r.apply(Op::Mul, &[s[0], t]);
        r.apply(Op::Sin, &[along])
    };
    let first = {
        let product = r.apply(Op::Mul, &[q[0], q[1]]);
        r.apply(Op::Add, &[product, wave])
    };
    let second = {
        let (a, b) = (r.apply(Op::Mul, &[q[2], t]), r.apply(Op::Mul, &[q[3], s[1]]));
        let sum = r.apply(Op::Add, &[a, b]);
        r.apply(Op::Sub, &[sum, s[2]])
    };
    add(vec![0, 1], [0, 0], r, vec![first, second]);

    let mut r = Recorder::default();
    let (a, b, t) = ([0, 1, 2].map(|k| r.parameter(k)), [3, 4, 5].map(|k| r.parameter(k)), r.data(0));
    let decay = {
        let rate = r.apply(Op::Mul, &[a[0], t]);
        let decay = r.apply(Op::Exp, &[rate]);
        r.apply(Op::Mul, &[decay, b[1]])
    };
    let rest = r.apply(Op::Sub, &[b[2], t]);
    let sum = r.apply(Op::Add, &[decay, rest]);
    add(vec![1, 1], [1, 1], r, vec![sum]);

    let mut r = Recorder::default();
    let (s, angle, t) = ([0, 1, 2].map(|k| r.parameter(k)), r.parameter(3), r.data(0));
    let phase = {
        let along = r.apply(Op::Mul, &[s[2], t]);
        let phase = r.apply(Op::Add, &[along, angle]);
        r.apply(Op::Cos, &[phase])
    };
    let height = r.apply(Op::Mul, &[phase, s[0]]);
    add(vec![1, 2], [1, 0], r, vec![height]);

    on_cpu(compiled(input), &START)
}

/// A unit quaternion first.
const START: [f64; 11] = [0.5, -0.5, 0.5, 0.5, 1.2, 0.7, -0.3, -0.8, 1.5, 0.4, 0.2];

/// Every parameter moved a little; what a solver would not do with a quaternion is as good to an evaluation.
fn moved(by: f64) -> Vec<f64> {
    START.iter().enumerate().map(|(k, x)| x + by * (k as f64 - 4.5)).collect()
}

/// J̃ᵀr̃ and J̃ᵀJ̃ of a model with rows, the upper half of the latter left at 0.
fn sums_of_rows(model: &LeastSquares, pattern: &Pattern, n: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut gradient, mut jtj_blocks) = (vec![0.0; n], vec![0.0; n * n]);
    for (row, r) in model.residuals.iter().enumerate() {
        let entries = pattern.row_offsets[row] as usize..pattern.row_offsets[row + 1] as usize;
        for a in entries.clone() {
            let i = pattern.col_indices[a] as usize;
            gradient[i] += model.entries[a] * r;
            for b in entries.clone().filter(|&b| pattern.col_indices[b] as usize <= i) {
                jtj_blocks[i * n + pattern.col_indices[b] as usize] += model.entries[a] * model.entries[b];
            }
        }
    }
    (gradient, jtj_blocks)
}

/// Functions with their model.
struct Modelled {
    functions: Functions,
    host: HostModel,
}

impl Modelled {
    fn of(functions: Functions) -> Modelled {
        Modelled { functions, host: HostModel::default() }
    }

    fn prepare(&mut self) -> bool {
        block_on(self.host.prepare_sums(&mut self.functions, Deadline::NEVER)).unwrap() == Some(true)
    }

    fn linearise_as_sums(&mut self, x: &[f64]) -> LeastSquares {
        self.host.linearise_as_sums(&mut self.functions, x).unwrap()
    }

    fn reduction_of_sums(&mut self, x: &[f64]) -> f64 {
        self.host.reduction_of_sums(&mut self.functions, x).unwrap()
    }
}

/// Compares models and reductions of sums with those of rows.
fn assert_same_as_rows(functions: Functions, about: &str) {
    let mut f = Modelled::of(functions);
    assert!(f.prepare(), "{about}");
    let (x, n) = (moved(0.0), START.len());
    let rows = block_on(f.host.linearise(&mut f.functions, &x)).unwrap();
    let (gradient, jtj_blocks) = sums_of_rows(&rows, f.host.pattern(&mut f.functions).unwrap(), n);
    let sums = f.linearise_as_sums(&x);
    let normal = sums.normal.as_ref().unwrap();
    assert_eq!(normal.residuals, 4 * INSTANCES as usize);
    // Sums of 1,204 terms, added in another order.
    let rounding = 1e-13;
    assert!((sums.cost - rows.cost).abs() <= rounding * rows.cost, "{about}");
    let length = |i: usize| jtj_blocks[i * n + i].sqrt();
    for i in 0..n {
        let bound = rounding * length(i) * (2.0 * rows.cost).sqrt();
        assert!((normal.gradient[i] - gradient[i]).abs() <= bound, "{about}: gradient {i}");
        for j in 0..=i {
            let difference = (normal.jtj_blocks[i * n + j] - jtj_blocks[i * n + j]).abs();
            assert!(difference <= rounding * length(i) * length(j), "{about}: entry {i}, {j} by {difference}");
        }
    }
    for by in [1e-3, 1e-9, 0.1] {
        let to = moved(by);
        let of_rows = block_on(f.host.reduction(&mut f.functions, &to)).unwrap();
        let of_sums = f.reduction_of_sums(&to);
        // In another order again, of terms that are not all of one sign.
        assert!((of_sums - of_rows).abs() <= 1e-11 * of_rows.abs(), "{about}, by {by}: {of_sums} {of_rows}");
    }
}

#[test]
fn sums_are_those_of_the_rows_whatever_the_losses_and_weights() {
    assert_same_as_rows(shared_by_blocks(), "squared");
    assert_same_as_rows(shared(true), "squared, weights of instances");
    let kinds = ["huber", "softL1", "cauchy", "arctan", "tukey", "tolerant"];
    for (kind, weighted) in kinds.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let mut f = shared(weighted);
        // One block keeps the squared loss; tolerant bends up below its a, tukey forgets what is beyond its.
        f.set_loss(0, LossParameters::new(kind, 0.6, 0.3, 1.5).unwrap()).unwrap();
        f.set_loss(1, LossParameters::new(kind, 2.5, 0.7, 1.0).unwrap()).unwrap();
        f.set_weight(1, 0.3).unwrap();
        f.set_weight(2, 7.0).unwrap();
        assert_same_as_rows(f, kind);
    }
}

#[test]
fn constants_have_zeros_and_blocks_that_take_no_part_add_none() {
    for disabled in 0..3 {
        let mut f = shared_by_blocks();
        f.set_enabled(disabled, false).unwrap();
        let mut constant = vec![false; 11];
        constant[4] = true;
        constant[9] = true;
        f.set_constant(constant).unwrap();
        // An angle that no residual touches any more has a length of zero in both.
        assert_same_as_rows(f, &format!("without block {disabled}"));
    }
}

#[test]
fn a_trial_point_that_is_taken_has_its_model_already() {
    let (mut tried, mut fresh) = (Modelled::of(shared_by_blocks()), Modelled::of(shared_by_blocks()));
    for f in [&mut tried, &mut fresh] {
        f.prepare();
        f.linearise_as_sums(&START);
    }
    let (first, second) = (moved(0.01), moved(0.02));
    // A trial that is not taken leaves no trace.
    tried.reduction_of_sums(&second);
    tried.reduction_of_sums(&first);
    assert_eq!(tried.linearise_as_sums(&first), fresh.linearise_as_sums(&first));
    let [of_tried, of_fresh] = [&mut tried, &mut fresh].map(|f| f.reduction_of_sums(&second));
    assert_eq!(of_tried, of_fresh, "it falls from where the model was made last");
    // What was changed since is heard of.
    tried.functions.set_weight(0, 2.0).unwrap();
    fresh.functions.set_weight(0, 2.0).unwrap();
    for f in [&mut tried, &mut fresh] {
        f.prepare();
    }
    fresh.linearise_as_sums(&START);
    assert_eq!(tried.linearise_as_sums(&second), fresh.linearise_as_sums(&second));
}

#[test]
fn a_row_that_is_not_finite_shows_in_the_sums() {
    for bad in [f64::NAN, f64::INFINITY] {
        let mut f = Modelled::of(shared_by_blocks());
        let mut data: Vec<f64> = f.functions.model().batches[1].data.clone();
        data[77] = bad;
        f.functions.set_data(1, 0, &data).unwrap();
        f.prepare();
        assert!(!f.linearise_as_sums(&START).is_finite(), "{bad}");
        assert!(!f.reduction_of_sums(&START).is_finite(), "{bad}");
    }
}

#[test]
fn a_residual_without_number_shows_where_its_loss_has_one() {
    let mut f = Modelled::of(shared_by_blocks());
    f.functions.set_loss(1, LossParameters::new("tukey", 1.0, 0.0, 1.0).unwrap()).unwrap();
    f.prepare();
    assert!(f.linearise_as_sums(&START).is_finite());
    let mut data: Vec<f64> = f.functions.model().batches[1].data.clone();
    data[77] = f64::INFINITY;
    f.functions.set_data(1, 0, &data).unwrap();
    f.prepare();
    assert!(!f.linearise_as_sums(&START).is_finite());
}

#[test]
fn sums_are_for_many_residuals_of_few_parameters_that_all_instances_share() {
    let prepared = |functions: Functions| Modelled::of(functions).prepare();
    assert!(prepared(shared_by_blocks()));
    // Rows r = p − k of one parameter; p is the last of so many.
    let line = |rows: u32, params: usize, other: u32| {
        let mut r = Recorder::default();
        let outputs = (0..rows)
            .map(|k| {
                let p = r.parameter(if k == 7 { other } else { params as u32 - 1 });
                let k = r.constant(f64::from(k));
                r.apply(Op::Sub, &[p, k])
            })
            .collect();
        crate::eval::tests::functions(r, outputs, &vec![0.0; params])
    };
    assert!(prepared(line(512, 16, 15)));
    assert!(!prepared(line(511, 16, 15)), "few residuals");
    assert!(!prepared(line(512, 17, 16)), "many parameters");
    assert!(!prepared(line(512, 16, 3)), "an instance has a parameter of its own");
}
