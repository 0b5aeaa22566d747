//! Gradients that are gathered from rows of J in pairs: the kernels of a device, interpreted in f32, against the same sums in f64, where the parts of
//! a point's gradient cancel.

use crate::interpreter::run;
use crate::recorder::{Recorder, compiled, problem};
use residua::eval::pairs::{split, to_table};
use residua::gauss_newton::device::shaders::{AssembleUniforms, GradientPairs, LocalEntries, ModelShader};
use residua::model::access_plan::{AccessPlan, Entry, Role};
use residua::model::least_squares::{LocalTable, has_row_in_pairs};
use residua::model::{Batch, Class, Losses};
use residua_codegen::Width;
use residua_codegen::wgsl::{self, Dispatch, PairDispatch, PairForm};
use residua_ir::graph::Op;

const POINTS: u32 = 40;

/// Weight, the kind of loss, its numbers, and its factor.
const SQUARED: [f64; 5] = [0.3, 0.0, 1.0, 1.0, 1.7];
const CAUCHY: [f64; 5] = [0.3, 3.0, 0.8, 0.0, 1.7];

/// How a residual of some points is made, and the points of an instance.
struct Sample {
    batch: Batch,
    /// For each block of an instance the factor of its point in the difference.
    factors: Vec<f64>,
    entries: LocalEntries,
}

/// |Σ factor · point| − rest, of neighbours along a ring.
fn sample(factors: &[f64], entries: LocalEntries) -> Sample {
    let mut r = Recorder::default();
    let mut squares = Vec::new();
    for axis in 0..3 {
        let terms: Vec<u32> = (0u32..)
            .zip(factors)
            .map(|(block, &factor)| {
                let point = r.parameter(3 * block + axis);
                if factor == 1.0 {
                    return point;
                }
                let factor = r.constant(factor);
                r.mul(point, factor)
            })
            .collect();
        let difference = match (terms[..].split_first().unwrap(), factors) {
            ((&first, _), [1.0, -1.0]) => {
                let second = r.parameter(3 + axis);
                r.sub(first, second)
            }
            ((&first, rest), _) => rest.iter().fold(first, |sum, &term| r.add(sum, term)),
        };
        squares.push(r.mul(difference, difference));
    }
    let sum = squares.into_iter().reduce(|a, b| r.add(a, b)).unwrap();
    let length = r.apply(Op::Norm, &[sum]);
    let rest = r.data(0);
    let residual = r.sub(length, rest);
    let blocks = factors.len() as u32;
    let mut input = problem(&[("points", 3, POINTS, "euclidean")]);
    let indices = (0..blocks).flat_map(|block| (0..POINTS).map(move |i| (i + block * block) % POINTS)).collect();
    let tape = r.tape(vec![residual], 3 * blocks, 1);
    input.add_residuals("r", vec![0; blocks as usize], indices, rests(factors), tape).unwrap();
    Sample { batch: compiled(input).batches.remove(0), factors: factors.to_vec(), entries }
}

/// A number of 48 bits.
fn pair(number: f64) -> f64 {
    split(number).into_iter().map(f64::from).sum()
}

/// Points within 1e-6 of a straight line, at equal distances: directions differ by more than f32's rounding, and the parts still cancel.
fn point() -> Vec<f64> {
    let beside = |k: u32| 1e-6 * (f64::from(k) * 0.618_033_988_749_895).fract();
    let coordinate = |k: u32| pair(1.1 * f64::from(k / 3) * [0.6, 0.64, 0.48][k as usize % 3] + beside(k));
    (0..3 * POINTS).map(coordinate).collect()
}

/// The difference of an instance along three axes, and its length.
fn difference(factors: &[f64], instance: u32) -> ([f64; 3], f64) {
    let x = point();
    let at = |block: u32, axis: u32| x[(3 * ((instance + block * block) % POINTS) + axis) as usize];
    let d = [0, 1, 2].map(|axis| (0u32..).zip(factors).map(|(block, factor)| factor * at(block, axis)).sum::<f64>());
    (d, d.iter().map(|d| d * d).sum::<f64>().sqrt())
}

/// Lengths that leave residuals of 1, up to 1e-9: along the line the parts of a point's gradient cancel to as much.
fn rests(factors: &[f64]) -> Vec<f64> {
    let rest = |i: u32| difference(factors, i).1 - 1.0 - 1e-9 * (f64::from(i) * 0.7548).fract();
    (0..POINTS).map(|i| pair(rest(i))).collect()
}

/// The gradient in f64, and the largest of the sums of its parts' sizes.
fn reference(factors: &[f64], constants: [f64; 5]) -> (Vec<f64>, f64) {
    let rests = rests(factors);
    let mut gradient = vec![0.0; 3 * POINTS as usize];
    let mut sizes = gradient.clone();
    for i in 0..POINTS {
        let (d, length) = difference(factors, i);
        let r = length - rests[i as usize];
        let slope = if constants[1] == 0.0 { 1.0 } else { 1.0 / (1.0 + r * r / (constants[2] * constants[2])) };
        for (block, factor) in (0u32..).zip(factors) {
            for (axis, d) in d.iter().enumerate() {
                let place = 3 * ((i + block * block) % POINTS) as usize + axis;
                let part = constants[0] * constants[4] * slope * r * factor * d / length;
                gradient[place] += part;
                sizes[place] += part.abs();
            }
        }
    }
    (gradient, sizes.into_iter().fold(0.0, f64::max))
}

fn bits(numbers: impl IntoIterator<Item = f32>) -> Vec<u32> {
    numbers.into_iter().map(f32::to_bits).collect()
}

/// The gradient as a device assembles it; with rows that are rounded to f32 before, if `rounded` says so.
fn assembled(sample: &Sample, losses: Losses, constants: [f64; 5], form: PairForm, rounded: bool) -> Vec<f64> {
    let Sample { batch, factors, entries } = sample;
    let class = Class { losses, ..Class::clone(&batch.class) };
    let plan = AccessPlan::in_width(&class, batch.rows, Entry::LineariseRows, Width::Pair, "").unwrap();
    let table = LocalTable::of(&class);
    let numbers: Vec<f64> = constants.into_iter().chain(batch.batch_constants.iter().copied()).collect();
    let constants = bits(to_table(Width::Pair, &numbers));
    let x = point();
    let low = x.len().next_multiple_of(64);
    let mut vector = vec![0.0; 2 * low];
    for (place, number) in x.iter().enumerate() {
        [vector[place], vector[low + place]] = split(*number);
    }
    let of_role = |role: &Role| match role {
        Role::Parameters => bits(vector.iter().copied()),
        Role::Indices => batch.indices.clone(),
        Role::Data => bits(to_table(Width::Pair, &batch.data)),
        Role::BatchConstants => constants.clone(),
        Role::Local => vec![0; (table.columns_on_device(Width::Pair) * POINTS) as usize],
        _ => unreachable!("a linearisation has no such buffer"),
    };
    let mut buffers: Vec<Vec<u32>> = plan.roles.iter().map(of_role).collect();
    let local = plan.roles.iter().position(|role| *role == Role::Local).unwrap();
    let dispatch = PairDispatch::new(Dispatch::new(POINTS, POINTS, 0), [low as u32, 0]);
    buffers.extend([vec![0; 2], vec![1, 0], dispatch.words().to_vec()]);
    run(&wgsl::write(&plan.kernel, form).unwrap(), [1, 1], &mut buffers);

    // Each point's entries: of each block that it is, the place of the block's first column.
    let (mut offsets, mut places) = (vec![0], Vec::new());
    for point in 0..POINTS {
        for block in 0..factors.len() as u32 {
            let instance = (point + POINTS - block * block % POINTS) % POINTS;
            places.push(3 * block * POINTS + instance);
        }
        offsets.push(places.len() as u32);
    }
    let rows = has_row_in_pairs(1, losses);
    let pairs = if rows { GradientPairs::Rows } else { GradientPairs::Parts };
    let uniforms = AssembleUniforms {
        rows: POINTS,
        stride: POINTS,
        outputs: 1,
        first_partial: table.partial(0, 0) * POINTS,
        row_stride: table.width * POINTS,
        scale: 2,
    };
    let targets = (0..POINTS).map(|point| 3 * point).collect();
    let mut local = std::mem::take(&mut buffers[local]);
    if rounded {
        let low = |place: u32| (table.low(place) * POINTS) as usize;
        local[low(0)..low(table.width)].fill(0);
    }
    let numbers = 3 * POINTS as usize;
    let mut buffers = vec![offsets, places, targets, local, vec![0; numbers], vec![0; 2 * numbers]];
    buffers.extend(rows.then_some(constants));
    buffers.extend([vec![1, 0], uniforms.words().to_vec()]);
    run(&ModelShader::Assemble { dim: 3, entries: *entries, pairs }.wgsl(), [1, 1], &mut buffers);
    buffers[4].iter().map(|&word| f64::from(f32::from_bits(word))).collect()
}

#[test]
fn gradients_of_rows_in_pairs_have_the_digits_of_their_parts() {
    // Springs, whose second end has the negatives of the first's columns, and bars of three points.
    for (factors, entries) in
        [(vec![1.0, -1.0], LocalEntries::MirroredRows), (vec![1.0, -2.0, 1.0], LocalEntries::Rows)]
    {
        let sample = sample(&factors, entries);
        for (losses, constants) in [(Losses::Squared, SQUARED), (Losses::Any, SQUARED), (Losses::Any, CAUCHY)] {
            // With losses the parts of the gradient are written, which are mirrored or whole.
            let entries =
                if losses == Losses::Any && entries == LocalEntries::Rows { LocalEntries::Parts } else { entries };
            let sample = Sample { batch: sample.batch.clone(), factors: factors.clone(), entries };
            let (expected, size) = reference(&factors, constants);
            let worst = |form, rounded| {
                let found = assembled(&sample, losses, constants, form, rounded);
                // Beyond three roundings of the result to f32.
                let beyond = |(a, b): (&f64, &f64)| (a - b).abs() - 3.0 * 2f64.powi(-24) * b.abs();
                found.iter().zip(&expected).map(beyond).fold(0.0, f64::max) / size
            };
            for form in [PairForm::Fused, PairForm::Split] {
                let error = worst(form, false);
                println!("{factors:?}, {losses:?}, {constants:?}, {form:?}: {error:.1e}");
                // A part is some ten operations of 2⁻⁴⁵.
                assert!(error <= 2f64.powi(-42), "{error:e}");
            }
            if losses == Losses::Squared {
                assert!(worst(PairForm::Split, true) > 1e-9, "the control: rows in f32");
            }
        }
    }
}
