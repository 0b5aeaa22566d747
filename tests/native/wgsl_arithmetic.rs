//! What generated kernels and static shaders compute, interpreted in f32 and compared with the reference evaluation in f64.

use crate::interpreter::run;
use crate::kernels;
use residua::eval::shaders::{GatherUniforms, ReduceSumUniforms, Shader};
use residua::gauss_newton::device::shaders::{AssembleFusedUniforms, ModelShader};
use residua_codegen::wgsl::{self, Dispatch};
use residua_ir::graph::{Op, evaluate};

fn words(numbers: impl IntoIterator<Item = f32>) -> Vec<u32> {
    numbers.into_iter().map(f32::to_bits).collect()
}

fn numbers(words: &[u32]) -> Vec<f32> {
    words.iter().map(|word| f32::from_bits(*word)).collect()
}

/// Numbers spread evenly over [0, 1), the same in every run: multiples of an irrational number, one for each sequence.
fn fraction(position: usize, sequence: usize) -> f64 {
    let step = [0.618_033_988_749_895, 0.754_877_666_246_693, 0.569_840_290_998_053][sequence];
    ((position as f64 + 0.5) * step).fract()
}

/// The op of a kernel of its own on triples of operands.
fn results_of(op: Op, operands: &[Vec<f32>; 3]) -> Vec<f32> {
    let count = operands[0].len();
    let kernel = kernels::of_ops(&[op]).check().unwrap();
    let text = wgsl::write(&kernel, wgsl::PairForm::Split).unwrap();
    let mut buffers = vec![words(operands.iter().flatten().copied()), vec![0; count]];
    if wgsl::reads_zero(&kernel) {
        buffers.push(vec![0]);
    }
    buffers.push(Dispatch::new(count as u32, count as u32, 0).words().to_vec());
    run(&text, [count.div_ceil(64) as u32, 1], &mut buffers);
    numbers(&buffers[1])
}

/// Distance in units of the last place of the reference.
fn ulps(value: f32, reference: f64) -> f64 {
    let exponent = (reference.abs().log2().floor() as i32).max(-126);
    (f64::from(value) - reference).abs() / 2f64.powi(exponent - 23)
}

#[test]
fn every_op_is_within_four_units_of_the_last_place_over_its_domain() {
    for op in Op::ALL {
        let operands = [0, 1, 2].map(|k| {
            let (low, high) = op.domain().get(k).copied().unwrap_or((0.0, 1.0));
            (0..2048).map(|i| (low + (high - low) * fraction(i, k)) as f32).collect::<Vec<f32>>()
        });
        let results = results_of(*op, &operands);
        let mut worst = (0.0, Vec::new());
        for (i, result) in results.iter().enumerate() {
            let exact: Vec<f64> = operands[..op.arity()].iter().map(|column| f64::from(column[i])).collect();
            let reference = evaluate(*op, &exact);
            // 0 has no last place, and neither op that reaches it here rounds.
            let error = if reference == 0.0 { f64::from(result.abs()) * 1e30 } else { ulps(*result, reference) };
            if error > worst.0 {
                worst = (error, exact);
            }
        }
        println!("{:13} {:5.2} ulp at {:?}", op.name(), worst.0, worst.1);
        // The functions' own errors are below 3.2 in this arithmetic; WGSL's division may add 2 to some.
        assert!(worst.0 <= 4.0, "{}: {} ulp at {:?}", op.name(), worst.0, worst.1);
    }
}

#[test]
fn singular_operands_have_the_value_of_the_reference() {
    const SINGULAR: [f32; 21] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        1.5,
        1e-30,
        -1e-30,
        1e30,
        -1e30,
        0.499_999_97,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        100.0,
        -100.0,
    ];
    let count = SINGULAR.len();
    for op in Op::ALL {
        let used = count.pow(op.arity() as u32);
        let operands = [0, 1, 2].map(|k| (0..used).map(|i| SINGULAR[i / count.pow(k) % count]).collect::<Vec<f32>>());
        let results = results_of(*op, &operands);
        for (i, result) in results.iter().enumerate() {
            let exact: Vec<f64> = operands[..op.arity()].iter().map(|column| f64::from(column[i])).collect();
            let huge_angle = matches!(op, Op::Sin | Op::Cos | Op::Tan) && exact[0].abs() > 1e5;
            let reference = evaluate(*op, &exact);
            let single = reference as f32;
            let agrees = if huge_angle {
                result.is_finite() || reference.is_nan()
            } else if single.is_nan() {
                result.is_nan()
            } else if single.is_infinite() || single.abs() < f32::MIN_POSITIVE {
                // What f32 can't hold as a normal number is infinite or 0.
                *result == single || (single.is_finite() && result.abs() < f32::MIN_POSITIVE)
            } else {
                ulps(*result, reference) <= 4.0
            };
            assert!(agrees, "{}({exact:?}) is {reference}, got {result}", op.name());
        }
    }
}

#[test]
fn angles_up_to_a_hundred_thousand_keep_their_sine() {
    let angles: Vec<f32> = (0..4096).map(|i| ((2.0 * fraction(i, 0) - 1.0) * 1e5) as f32).collect();
    let operands = [angles.clone(), angles.clone(), angles.clone()];
    for op in [Op::Sin, Op::Cos] {
        for (angle, result) in angles.iter().zip(results_of(op, &operands)) {
            let reference = evaluate(op, &[f64::from(*angle)]);
            // One rounding of the remainder, of the polynomial and of the result.
            assert!((f64::from(result) - reference).abs() < 2e-7, "{}({angle}) = {reference}, got {result}", op.name());
        }
    }
}

#[test]
fn a_kernel_of_springs_gives_gradients_and_its_energy() {
    // Two points a length of 5 apart, 150 springs of rest lengths 1, 2, 3, …: more than two workgroups.
    let count = 150_u32;
    let positions = words([1.0, 2.0, 3.0, 4.0, 6.0, 3.0]);
    let slots = (0..count).map(|_| 0).chain((0..count).map(|_| 3)).collect();
    let rests = words((1..=count).map(|rest| rest as f32));
    let uniform = Dispatch::new(count, count, 0).words().to_vec();
    let mut buffers = [positions, slots, rests, vec![0; 6 * count as usize], vec![0; 3], uniform];
    // Two dimensions of workgroups, one workgroup more than there are instances for.
    run(&wgsl::write(&kernels::spring().check().unwrap(), wgsl::PairForm::Split).unwrap(), [2, 2], &mut buffers);
    let local = numbers(&buffers[3]);
    for instance in 0..count as usize {
        let stretch = 5.0 - (instance as f32 + 1.0);
        let gradient: Vec<f32> = (0..6).map(|column| local[column * count as usize + instance]).collect();
        for (value, direction) in gradient.iter().zip([-0.6, -0.8, 0.0, 0.6, 0.8, 0.0_f32]) {
            assert!((value - stretch * direction).abs() <= 1e-6 * stretch.abs(), "{instance}: {gradient:?}");
        }
    }
    let partials = numbers(&buffers[4]);
    for (group, partial) in partials.iter().enumerate() {
        let instances = 64 * group..(64 * (group + 1)).min(count as usize);
        let energy: f64 = instances.map(|instance| (5.0 - (instance as f64 + 1.0)).powi(2) / 2.0).sum();
        // A sum of 64 squares, each with three roundings.
        assert!((f64::from(*partial) - energy).abs() <= 1e-6 * energy, "{group}: {partial} for {energy}");
    }
}

#[test]
fn the_selector_of_a_call_chooses_the_case_and_the_first_serves_the_rest() {
    let text = wgsl::write(&kernels::robust().check().unwrap(), wgsl::PairForm::Split).unwrap();
    // r = 5 − 2 = 3, weight 2, Huber's scale 2: the derivative is w·ρ′·r, the cost w·ρ/2.
    for (selector, derivative, cost) in [(0.0, 6.0, 9.0), (1.0, 4.0, 8.0), (7.0, 6.0, 9.0)] {
        let settings = words([selector, 2.0, 0.0, 2.0]);
        let mut buffers =
            [words([5.0]), words([2.0]), settings, vec![0], vec![0], Dispatch::new(1, 1, 0).words().to_vec()];
        run(&text, [1, 1], &mut buffers);
        let results = [buffers[3][0], buffers[4][0]].map(f32::from_bits);
        let distance = (results[0] - derivative).abs().max((results[1] - cost).abs());
        // 2/3 is the one number that is rounded.
        assert!(distance < 1e-6, "{selector}: {results:?}");
    }
}

#[test]
fn sums_of_many_terms_are_exact_to_double_precision() {
    let shader = Shader::ReduceSum.wgsl();
    // Large terms that cancel and small ones that remain: plain f32 would lose them all.
    let terms: Vec<f32> = (0..2500)
        .map(|i| match i % 3 {
            0 => 1e6,
            1 => -1e6,
            _ => 1e-3 * (i as f32),
        })
        .chain([-1e6])
        .collect();
    let exact: f64 = terms.iter().map(|term| f64::from(*term)).sum();
    let first = ReduceSumUniforms { count: terms.len() as u32, width: 1, input_first: 0, output_first: 4 };
    assert_eq!(first.workgroups(), 3);
    let mut buffers = [words(terms), vec![0; 10], vec![0], first.words().to_vec()];
    run(&shader, [2, 2], &mut buffers);
    let second = ReduceSumUniforms { count: 3, width: 2, input_first: 4, output_first: 1 };
    let mut buffers = [buffers[1].clone(), vec![0; 3], vec![0], second.words().to_vec()];
    run(&shader, [1, 1], &mut buffers);
    let pair = numbers(&buffers[1][1..]);
    let sum = f64::from(pair[0]) + f64::from(pair[1]);
    // Pairs of f32 carry some 48 bits; the terms are up to 1e6.
    assert!((sum - exact).abs() < 1e6 * 2f64.powi(-44), "{sum} for {exact}");
}

#[test]
fn an_infinite_term_makes_the_sum_infinite_and_not_undefined() {
    let uniform = ReduceSumUniforms { count: 3, width: 1, input_first: 0, output_first: 0 };
    let mut buffers = [words([1.0, f32::INFINITY, 2.0]), vec![0; 2], vec![0], uniform.words().to_vec()];
    run(&Shader::ReduceSum.wgsl(), [1, 1], &mut buffers);
    assert_eq!(numbers(&buffers[1]), [f32::INFINITY, 0.0]);
}

#[test]
fn gathering_sums_the_entries_of_each_row_in_levels() {
    let shader = Shader::Gather { fused: false, gated: false, pairs: false }.wgsl();
    // Local gradients of 5 entries with 2 components, column after column. Row 0 is split into two segments of two entries,
    // which write to scratch; a second level gathers those; row 1 is empty, row 2 has one entry.
    let local = words([1.0, 2.0, 4.0, 8.0, 16.0, 10.0, 20.0, 40.0, 80.0, 160.0]);
    let segments = GatherUniforms { rows: 2, dim: 2, component_stride: 5, add: 0 };
    let mut buffers =
        [vec![0, 2, 4], vec![0, 1, 2, 3], vec![0, 2], local.clone(), vec![0; 4], segments.words().to_vec()];
    run(&shader, [segments.workgroups(), 1], &mut buffers);
    let scratch = buffers[4].clone();
    assert_eq!(numbers(&scratch), [3.0, 30.0, 12.0, 120.0]);

    let result = words([-1.0; 6]);
    let long_row = GatherUniforms { rows: 1, dim: 2, component_stride: 1, add: 0 };
    let mut buffers = [vec![0, 2], vec![0, 2], vec![0], scratch, result, long_row.words().to_vec()];
    run(&shader, [1, 1], &mut buffers);
    assert_eq!(numbers(&buffers[4]), [15.0, 150.0, -1.0, -1.0, -1.0, -1.0]);

    let rest = GatherUniforms { rows: 2, dim: 2, component_stride: 5, add: 1 };
    let mut buffers = [vec![0, 0, 1], vec![4], vec![2, 4], local, buffers[4].clone(), rest.words().to_vec()];
    run(&shader, [1, 1], &mut buffers);
    assert_eq!(numbers(&buffers[4]), [15.0, 150.0, -1.0, -1.0, 15.0, 159.0]);
}

/// Lists over two tables of three and two instances, of blocks with two numbers: the second table's columns are 2 apart, and the third slot leads nowhere.
fn slots() -> Vec<u32> {
    let head = [2, 0, 0, 0, 0, 0, 0, 0];
    // First column, distance, mask, first column of J, distance of J's rows, rows.
    let slots = [[1, 3, 3, 1, 0, 1, 0, 0], [7, 2, 3, 7, 0, 1, 0, 0], [0; 8]];
    head.into_iter().chain(slots.into_iter().flatten()).collect()
}

/// A zero, two columns of three, two columns of two.
const TABLES: [f32; 11] = [0.0, 1.0, 2.0, 4.0, 10.0, 20.0, 40.0, 0.5, 0.25, 5.0, 2.5];

#[test]
fn entries_of_fused_lists_lead_to_the_tables_of_their_slots() {
    // The first table's instance 2 and the second's instance 1; what takes no part; the first table's instance 0.
    let (offsets, entries) = (vec![0, 3, 4], vec![2, (1 << 2) + 1, (2 << 2) + 3, 0]);
    let figures = GatherUniforms { rows: 2, dim: 2, component_stride: 0, add: 0 };
    let mut buffers =
        [offsets.clone(), entries.clone(), vec![2, 0], words(TABLES), vec![0; 4], slots(), figures.words().to_vec()];
    run(&Shader::Gather { fused: true, gated: false, pairs: false }.wgsl(), [1, 1], &mut buffers);
    assert_eq!(numbers(&buffers[4]), [1.0, 10.0, 4.25, 42.5]);

    // With columns of J where those of the gradient stand: its squares and products, row by row of the triangle.
    let mut lists = slots();
    let first = lists.len() as u32;
    lists.extend(offsets.iter().map(|offset| first + 3 + offset));
    lists.extend(&entries);
    for pairs in [false, true] {
        let figures = AssembleFusedUniforms { rows: 2, offsets: first, first: 0, scale: 2 };
        let mut buffers =
            [lists.clone(), words(TABLES), vec![0; 4], vec![0; 8], vec![7; 8], vec![1], figures.words().to_vec()];
        run(&ModelShader::AssembleFused { dim: 2, pairs, wide: false }.wgsl(), [1, 1], &mut buffers);
        assert_eq!(numbers(&buffers[2]), [4.25, 42.5, 1.0, 10.0]);
        let blocks = [16.0 + 0.0625, 160.0 + 0.625, 1600.0 + 6.25, 0.0, 1.0, 10.0, 100.0, 0.0];
        assert_eq!(numbers(&buffers[3]), blocks);
        // Small integers and halves have no errors to be kept.
        let low = if pairs { [0, 0, 0, 7, 0, 0, 0, 7] } else { [7; 8] };
        assert_eq!(buffers[4], low);
    }
}
