//! Second derivatives against differences of residuals and gradients, and against formulas.

use super::HostModel;
use super::normal_equations_tests::{shared, shared_by_blocks};
use crate::eval::tests::{block_on, functions, functions_with_losses, on_cpu};
use crate::eval::{Functions, Objective};
use crate::model::losses::{self, LossParameters};
use crate::model::manifolds::retract;
use crate::model::tests::{Recorder, compiled};
use crate::model::{CompileInput, Model};
use residua_ir::graph::{Graph, InputId, Op};

/// x ⊞ tδ of all blocks.
fn moved(model: &Model, x: &[f64], delta: &[f64], t: f64) -> Vec<f64> {
    let mut all = Vec::new();
    for array in &model.arrays {
        let (dim, tangents) = (array.dim as usize, array.manifold.tangent_dim(array.dim) as usize);
        for first in (0..array.count as usize).map(|block| array.offset as usize + block * dim) {
            let mut g = Graph::new();
            let inputs: Vec<_> = (0..dim + tangents).map(|number| g.input(InputId(number as u32))).collect();
            let nodes = retract(&mut g, array.manifold, &inputs[..dim], &inputs[dim..]);
            let step = delta[first..first + tangents].iter().map(|delta| t * delta);
            let numbers: Vec<f64> = x[first..first + dim].iter().copied().chain(step).collect();
            let values = g.check(numbers.len() as u32).unwrap().evaluate(&numbers);
            all.extend(nodes.iter().map(|node| values[node.index()]));
        }
    }
    all
}

/// d²/dt² r(x ⊞ tδ) at 0 by differences of the fourth order.
fn differences(f: &mut Functions, x: &[f64], delta: &[f64]) -> Vec<f64> {
    let h = 4e-3;
    let steps = [(-2.0, -1.0), (-1.0, 16.0), (0.0, -30.0), (1.0, 16.0), (2.0, -1.0)];
    let mut sums = vec![0.0; f.model().num_residuals as usize];
    for (step, factor) in steps {
        let at = moved(f.model(), x, delta, step * h);
        let residuals = block_on(f.evaluate(Some(&at))).unwrap();
        sums.iter_mut().zip(residuals).for_each(|(sum, r)| *sum += factor * r);
    }
    sums.iter().map(|sum| sum / (12.0 * h * h)).collect()
}

/// Truncation is h⁴/90 = 3e-12 times a sixth derivative, which is 64 at most of what is below; rounding is 64 roundings of numbers near 4 by 12h², 3e-10.
const OF_DIFFERENCES: f64 = 1e-9;

/// A unit vector of three, a pose of a quaternion and three numbers, an angle, two blocks of two.
fn on_manifolds() -> (Functions, Vec<f64>) {
    let mut input = CompileInput::problem();
    let pose = "unit-quaternion 4 × euclidean 3";
    for (name, dim, count, manifold) in
        [("axis", 3, 1, "unit-vector"), ("pose", 7, 1, pose), ("angle", 1, 1, "angle"), ("pair", 2, 2, "euclidean")]
    {
        input.add_array(name, dim, count, manifold).unwrap();
    }
    // The axis has the numbers 0 to 2, the pose 3 to 9, the angle 10.
    let mut r = Recorder::default();
    let p: Vec<u32> = (0..11).map(|number| r.parameter(number)).collect();
    let product = |r: &mut Recorder, a: usize, b: usize| r.apply(Op::Mul, &[p[a], p[b]]);
    let (a, b, c) = (product(&mut r, 0, 3), product(&mut r, 2, 5), product(&mut r, 1, 8));
    let sine = r.apply(Op::Sin, &[p[10]]);
    let sum = r.apply(Op::Add, &[a, b]);
    let first = r.apply(Op::Mul, &[sum, sine]);
    let wave = r.apply(Op::Cos, &[c]);
    let square = r.square(p[4]);
    let second = r.apply(Op::Add, &[wave, square]);
    let parameters = input.parameter_count(&[0, 1, 2]).unwrap();
    let tape = r.tape_with_data(vec![first, second], parameters, 0);
    input.add_residuals("all", vec![0, 1, 2], vec![0, 0, 0], Vec::new(), tape).unwrap();
    // Pairs with each other in both orders, and with themselves.
    let mut r = Recorder::default();
    let p: Vec<u32> = (0..4).map(|number| r.parameter(number)).collect();
    let product = r.apply(Op::Mul, &[p[0], p[3]]);
    let wave = r.apply(Op::Sin, &[product]);
    let square = r.square(p[1]);
    let third = r.apply(Op::Mul, &[square, p[2]]);
    let output = r.apply(Op::Add, &[wave, third]);
    let parameters = input.parameter_count(&[3, 3]).unwrap();
    let tape = r.tape_with_data(vec![output], parameters, 0);
    input.add_residuals("pairs", vec![3, 3], vec![0, 1, 1, 0, 1, 1], Vec::new(), tape).unwrap();
    let x = vec![0.6, 0.0, -0.8, 0.5, -0.5, 0.5, 0.5, 1.0, -0.7, 0.3, 1.1, 0.4, -0.9, 1.2, 0.8];
    (on_cpu(compiled(input), &x), x)
}

/// A direction with 0 where no tangent coordinate is.
fn direction(model: &Model, shift: f64) -> Vec<f64> {
    let mut direction = vec![0.0; model.num_params as usize];
    for array in &model.arrays {
        for block in 0..array.count {
            for component in 0..array.manifold.tangent_dim(array.dim) {
                let place = array.offset + block * array.dim + component;
                direction[place as usize] = (1.7 * f64::from(place) + shift).sin();
            }
        }
    }
    direction
}

#[test]
fn second_derivatives_along_a_direction_are_those_of_the_path() {
    let cases = [on_manifolds(), (shared_by_blocks(), shared_by_blocks().values().to_vec())];
    for (mut f, x) in cases {
        for shift in [0.0, 1.0, 2.0] {
            let delta = direction(f.model(), shift);
            let expected = differences(&mut f, &x, &delta);
            let found = block_on(HostModel::default().second_directional(&mut f, &x, &delta)).unwrap();
            for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert!((found - expected).abs() <= OF_DIFFERENCES, "residual {row}: {found}, not {expected}");
            }
        }
    }
}

#[test]
fn the_matrix_is_that_of_all_directions() {
    let of_shared = |weighted| (shared(weighted), shared(weighted).values().to_vec());
    for (mut f, x) in [on_manifolds(), of_shared(false), of_shared(true)] {
        let n = x.len();
        let mut host = HostModel::default();
        let matrix = block_on(host.second_order(&mut f, &x)).unwrap();
        let r = block_on(f.evaluate(Some(&x))).unwrap();
        let mut weighted = r.clone();
        for batch in &f.model().batches {
            for instance in (0..batch.count as usize).filter(|_| batch.class.weight.is_some()) {
                let first = batch.row(instance) as usize;
                let rows = &mut weighted[first..first + batch.class.outputs.len()];
                rows.iter_mut().for_each(|r| *r *= batch.instance_weight(instance));
            }
        }
        let entry = |i: usize, j: usize| matrix[i.max(j) * n + i.min(j)];
        let is_tangent: Vec<bool> = direction(f.model(), 0.1).iter().map(|along| *along != 0.0).collect();
        let mut bend = |delta: &[f64]| -> f64 {
            let seconds = differences(&mut f, &x, delta);
            weighted.iter().zip(seconds).map(|(r, second)| r * second).sum()
        };
        for i in 0..n {
            for j in 0..=i {
                let mut delta = vec![0.0; n];
                delta[i] += 1.0;
                let of_i = bend(&delta);
                delta[j] += 1.0;
                let of_both = bend(&delta);
                delta[i] -= 1.0;
                let of_j = bend(&delta);
                let expected = if i == j { of_i } else { 0.5 * (of_both - of_i - of_j) };
                let expected = if is_tangent[i] && is_tangent[j] { expected } else { 0.0 };
                // As many as there are residuals.
                let tolerance = OF_DIFFERENCES * weighted.iter().map(|r| r.abs()).sum::<f64>();
                assert!((entry(i, j) - expected).abs() <= tolerance, "{i}, {j}: {}, not {expected}", entry(i, j));
            }
        }
    }
}

#[test]
fn known_functions_have_their_second_derivatives() {
    // r = x²y − 2 and y³
    let mut recorder = Recorder::default();
    let (x, y, two) = (recorder.parameter(0), recorder.parameter(1), recorder.constant(2.0));
    let square = recorder.square(x);
    let product = recorder.apply(Op::Mul, &[square, y]);
    let first = recorder.apply(Op::Sub, &[product, two]);
    let square = recorder.square(y);
    let second = recorder.apply(Op::Mul, &[square, y]);
    let mut f = functions(recorder, vec![first, second], &[3.0, 0.5]);
    let mut host = HostModel::default();
    let r = [2.5, 0.125];
    let matrix = block_on(host.second_order(&mut f, &[3.0, 0.5])).unwrap();
    assert_eq!([matrix[0], matrix[2], matrix[3]], [r[0], r[0] * 6.0, r[1] * 3.0]);
    // 2y dx² + 4x dx dy, and 6y dy²
    let seconds = block_on(host.second_directional(&mut f, &[3.0, 0.5], &[2.0, -1.0])).unwrap();
    assert_eq!(seconds, [4.0 - 24.0, 3.0]);
    // Jᵀ(−20, 3), with the rows (2xy, x²) and (0, 3y²).
    let gradient = block_on(host.second_directional_gradient(&mut f, &[3.0, 0.5], &[2.0, -1.0])).unwrap();
    assert_eq!(gradient, [-60.0, -180.0 + 3.0 * 0.75]);
    f.set_weight(0, 4.0).unwrap();
    assert_eq!(block_on(host.second_order(&mut f, &[3.0, 0.5])).unwrap()[2], 4.0 * r[0] * 6.0);
    let seconds = block_on(host.second_directional(&mut f, &[3.0, 0.5], &[2.0, -1.0])).unwrap();
    assert_eq!(seconds, [-40.0, 6.0], "by the root of the weight");
    f.set_constant(vec![false, true]).unwrap();
    let matrix = block_on(host.second_order(&mut f, &[3.0, 0.5])).unwrap();
    assert_eq!(matrix, [4.0 * r[0], 0.0, 0.0, 0.0]);
    let gradient = block_on(host.second_directional_gradient(&mut f, &[3.0, 0.5], &[2.0, 0.0])).unwrap();
    assert_eq!(gradient, [4.0 * 3.0 * 4.0, 0.0]);
    f.set_enabled(0, false).unwrap();
    assert!(block_on(host.second_order(&mut f, &[3.0, 0.5])).unwrap().iter().all(|entry| *entry == 0.0));
    let nothing = block_on(host.second_directional(&mut f, &[3.0, 0.5], &[2.0, -1.0])).unwrap();
    assert_eq!(nothing, [0.0, 0.0]);
}

#[test]
fn a_linear_function_of_a_point_on_a_sphere_bends_with_the_sphere() {
    for (manifold, x) in [("unit-quaternion", vec![0.5, -0.5, 0.5, 0.5]), ("unit-vector", vec![0.6, -0.8])] {
        let dim = x.len() as u32;
        let mut input = CompileInput::problem();
        input.add_array("x", dim, 1, manifold).unwrap();
        let mut r = Recorder::default();
        let outputs: Vec<u32> = (0..dim).map(|number| r.parameter(number)).collect();
        input.add_residuals("r", vec![0], vec![0], Vec::new(), r.tape_with_data(outputs, dim, 0)).unwrap();
        let (mut f, mut host) = (on_cpu(compiled(input), &x), HostModel::default());
        let mut delta = vec![2.0; x.len()];
        delta[x.len() - 1] = 0.0;
        let square = 4.0 * f64::from(dim - 1);
        let seconds = block_on(host.second_directional(&mut f, &x, &delta)).unwrap();
        for (second, x) in seconds.iter().zip(&x) {
            assert!((second + square * x).abs() < 1e-15 * square, "x″ = −‖δ‖²x: {second}");
        }
        // ‖x‖² does not change, of which half the second derivative is JᵀJ + S, with JᵀJ = 1.
        let matrix = block_on(host.second_order(&mut f, &x)).unwrap();
        let n = x.len();
        for i in 0..n {
            for j in 0..=i {
                let expected = if i == j && i + 1 < n { -1.0 } else { 0.0 };
                assert!((matrix[i * n + j] - expected).abs() < 1e-15, "{manifold} {i}, {j}: {}", matrix[i * n + j]);
            }
        }
    }
}

/// x·y − 1, y²x, sin(x) − 1, and a sum of a hundred sines, which is taken apart.
fn with_long_sum() -> Functions {
    let mut r = Recorder::default();
    let (x, y) = (r.parameter(0), r.parameter(1));
    let one = r.constant(1.0);
    let product = r.apply(Op::Mul, &[x, y]);
    let first = r.apply(Op::Sub, &[product, one]);
    let square = r.square(y);
    let second = r.apply(Op::Mul, &[square, x]);
    let sine = r.apply(Op::Sin, &[x]);
    let third = r.apply(Op::Sub, &[sine, one]);
    let mut sine = |number: u32| {
        let (parameter, share) = (r.parameter(number % 2), r.constant(0.01 * f64::from(1 + number)));
        let scaled = r.apply(Op::Mul, &[parameter, share]);
        r.apply(Op::Sin, &[scaled])
    };
    let terms: Vec<u32> = (0..100).map(&mut sine).collect();
    let sum = terms.into_iter().reduce(|a, b| r.apply(Op::Add, &[a, b])).unwrap();
    functions_with_losses(r, vec![first, second, third, sum], &[0.9, 1.1])
}

#[test]
fn with_the_model_it_is_the_second_derivative_of_the_cost_but_for_losses_that_flatten() {
    for (kind, a, b) in
        [("squared", 1.0, 1.0), ("tolerant", 1.2, 0.4), ("huber", 0.7, 1.0), ("cauchy", 0.7, 1.0), ("arctan", 3.0, 1.0)]
    {
        let (mut f, mut host, x) = (with_long_sum(), HostModel::default(), [0.9, 1.1]);
        let loss = LossParameters::new(kind, a, b, 1.5).unwrap();
        f.set_loss(0, loss).unwrap();
        f.set_weight(0, 1.7).unwrap();
        let matrix = block_on(host.second_order(&mut f, &x)).unwrap();
        let model = block_on(host.linearise(&mut f, &x)).unwrap();
        let raw = block_on(f.evaluate(Some(&x))).unwrap();
        let jacobian = block_on(f.evaluate_jacobian(Some(&x))).unwrap().entries;
        let pattern = host.pattern(&mut f).unwrap().clone();
        let mut found = [[matrix[0], matrix[2]], [matrix[2], matrix[3]]];
        for (row, r) in raw.iter().enumerate() {
            let lacks = 2.0 * 1.7 * losses::evaluate_bend(&loss, r * r).min(0.0) * r * r;
            let entries = pattern.row_offsets[row] as usize..pattern.row_offsets[row + 1] as usize;
            for p in entries.clone() {
                for q in entries.clone() {
                    let [i, j] = [p, q].map(|entry| pattern.col_indices[entry] as usize);
                    found[i][j] += model.entries[p] * model.entries[q] + lacks * jacobian[p] * jacobian[q];
                }
            }
        }
        let h = 1e-5;
        for j in 0..2 {
            let mut at = |step: f64| {
                let mut to = x;
                to[j] += step;
                block_on(f.evaluate_at(Objective::LeastSquares, &to)).unwrap().gradient
            };
            let (after, before) = (at(h), at(-h));
            for i in 0..2 {
                let expected = (after[i] - before[i]) / (2.0 * h);
                // Central differences of a gradient near 1e3, whose third derivative is not above 1e5: 1e-5 of truncation, 1e-8 of rounding.
                assert!((found[i][j] - expected).abs() < 2e-5, "{kind} {i}, {j}: {}, not {expected}", found[i][j]);
            }
        }
    }
}

#[test]
fn scaled_second_derivatives_are_scaled_as_the_model_is() {
    for kind in ["squared", "huber", "softL1", "cauchy", "arctan", "tukey", "tolerant"] {
        for (mut f, blocks) in [(with_long_sum(), 1), (on_manifolds().0, 2), (shared_by_blocks(), 3), (shared(true), 3)]
        {
            let (x, mut host) = (f.values().to_vec(), HostModel::default());
            let delta = direction(f.model(), 0.3);
            let raw = block_on(host.second_directional(&mut f, &x, &delta)).unwrap();
            let r = block_on(f.evaluate(Some(&x))).unwrap();
            let jacobian = block_on(host.linearise(&mut f, &x)).unwrap().entries;
            let loss = LossParameters::new(kind, 1.3, 0.4, 1.5).unwrap();
            for block in 0..blocks {
                f.set_loss(block, loss).unwrap();
                f.set_weight(block, 0.3 + block as f64).unwrap();
            }
            let scaled = block_on(host.second_directional(&mut f, &x, &delta)).unwrap();
            let gradient = block_on(host.second_directional_gradient(&mut f, &x, &delta)).unwrap();
            let model = block_on(host.linearise(&mut f, &x)).unwrap();
            let pattern = host.pattern(&mut f).unwrap().clone();
            let times = |entries: &[f64], numbers: &[f64], rows: std::ops::Range<usize>| {
                let mut product = vec![0.0; x.len()];
                for row in rows {
                    for entry in pattern.row_offsets[row] as usize..pattern.row_offsets[row + 1] as usize {
                        product[pattern.col_indices[entry] as usize] += entries[entry] * numbers[row];
                    }
                }
                product
            };
            let of_rows = times(&model.entries, &scaled, 0..r.len());
            // w(ρ′Jᵀr″ + 2 max(ρ″, 0)(Jᵀr)(rᵀr″)), instance by instance.
            let mut expected = vec![0.0; x.len()];
            let mut seen = vec![false; r.len()];
            for batch in &f.model().batches {
                // Of an instance's weight, J and r″ above have the root each.
                let weight = f.model().blocks[batch.block as usize].weight;
                for first in (0..batch.count as usize).map(|instance| batch.row(instance) as usize) {
                    let rows = first..first + batch.class.outputs.len();
                    if std::mem::replace(&mut seen[first], true) {
                        continue;
                    }
                    let s = r[rows.clone()].iter().map(|r| r * r).sum();
                    let (slope, bend) = (losses::evaluate(&loss, s).1, losses::evaluate_bend(&loss, s).max(0.0));
                    let along: f64 = rows.clone().map(|row| r[row] * raw[row]).sum();
                    let of_slope = times(&jacobian, &raw, rows.clone());
                    let of_bend = times(&jacobian, &r, rows);
                    for (sum, (a, b)) in expected.iter_mut().zip(of_slope.iter().zip(of_bend)) {
                        *sum += weight * (slope * a + 2.0 * bend * along * b);
                    }
                }
            }
            let size = scaled.iter().map(|x| x * x).sum::<f64>().sqrt();
            let length = model.entries.iter().map(|x| x * x).sum::<f64>().sqrt();
            for (number, (found, expected)) in gradient.iter().zip(&expected).enumerate() {
                // Sums of up to 1,204 products in other orders.
                let tolerance = 1e-13 * size * length;
                assert!((found - expected).abs() <= tolerance, "{kind} {number}: {found}, not {expected}");
                assert!((found - of_rows[number]).abs() <= tolerance, "{kind} {number}: {found} of rows");
            }
        }
    }
}
