//! What shares a kernel and what does not.

use super::access_plan::{AccessPlan, Entry};
use super::*;
use residua_base::cooperative::{Slices, run_synchronously};
use residua_codegen::Width;
use residua_ir::graph::Op;

/// Records expressions the way the facade does.
#[derive(Default)]
pub(crate) struct Recorder {
    ops: Vec<u8>,
    operands: [Vec<u32>; 3],
    constants: Vec<f64>,
}

impl Recorder {
    fn entry(&mut self, code: u8, operands: [u32; 3]) -> u32 {
        self.ops.push(code);
        for (column, operand) in self.operands.iter_mut().zip(operands) {
            column.push(operand);
        }
        self.ops.len() as u32 - 1
    }

    pub fn constant(&mut self, value: f64) -> u32 {
        self.constants.push(value);
        self.entry(Leaf::Constant as u8, [self.constants.len() as u32 - 1, 0, 0])
    }

    pub fn parameter(&mut self, number: u32) -> u32 {
        self.entry(Leaf::Parameter as u8, [number, 0, 0])
    }

    pub fn apply(&mut self, op: Op, operands: &[u32]) -> u32 {
        let mut padded = [0; 3];
        padded[..operands.len()].copy_from_slice(operands);
        self.entry(op as u8, padded)
    }

    pub fn square(&mut self, a: u32) -> u32 {
        self.apply(Op::Mul, &[a, a])
    }

    pub fn data(&mut self, column: u32) -> u32 {
        self.entry(Leaf::Data as u8, [column, 0, 0])
    }

    pub fn tape(self, outputs: Vec<u32>, parameters: u32) -> Tape {
        self.tape_with_data(outputs, parameters, 0)
    }

    pub fn tape_with_data(self, outputs: Vec<u32>, parameters: u32, columns: u32) -> Tape {
        Tape::new(self.ops, self.operands, self.constants, outputs, parameters, columns).unwrap()
    }
}

/// The model of an input, read in one slice.
pub(crate) fn compiled(input: CompileInput) -> Model {
    run_synchronously(input.into_model(&Slices::unlimited())).unwrap()
}

/// The model of the params form.
pub(crate) fn params_model(tape: Tape, parameters: u32) -> Model {
    compiled(CompileInput::params(parameters, Box::new(tape)))
}

/// The model with kernels for any loss. Production has such kernels in the problem form alone, which has no long sums.
pub(crate) fn with_any_loss(mut model: Model) -> Model {
    for batch in &mut model.batches {
        batch.class = std::rc::Rc::new(Class { losses: Losses::Any, ..Class::clone(&batch.class) });
    }
    model
}

/// The model of one instance whose two slots take blocks 0 and 1 of an array of single numbers.
pub(crate) fn pair_model(tape: Tape) -> Model {
    let mut input = CompileInput::problem();
    input.add_array("x", 1, 2, "euclidean").unwrap();
    input.add_residuals("r", vec![0, 0], vec![0, 1], Vec::new(), tape).unwrap();
    compiled(input)
}

fn group(recorder: Recorder, outputs: Vec<u32>, parameters: u32) -> Vec<Batch> {
    params_model(recorder.tape(outputs, parameters), parameters).batches
}

fn counts(batches: &[Batch]) -> Vec<u32> {
    batches.iter().map(|batch| batch.count).collect()
}

#[test]
fn clamps_to_different_intervals_share_a_kernel() {
    let mut r = Recorder::default();
    let mut outputs = Vec::new();
    for (low, high) in [(0.0, 1.0), (-1.0, 3.0)] {
        let x = r.parameter(0);
        let (low, high) = (r.constant(low), r.constant(high));
        let below = r.apply(Op::Max, &[x, low]);
        outputs.push(r.apply(Op::Min, &[below, high]));
    }
    let batches = group(r, outputs, 1);
    assert_eq!(counts(&batches), [2]);
    let mut columns: Vec<&[f64]> = batches[0].data.chunks(2).collect();
    columns.sort_by(|a, b| a[0].total_cmp(&b[0]));
    assert_eq!(columns, [[0.0, -1.0], [1.0, 3.0]], "the bounds are data, a column each");
}

#[test]
fn parameters_in_another_order_share_a_kernel() {
    let mut r = Recorder::default();
    let p: Vec<u32> = (0..4).map(|number| r.parameter(number)).collect();
    let a = r.apply(Op::Sub, &[p[0], p[1]]);
    let b = r.apply(Op::Sub, &[p[3], p[2]]);
    // The operands of a commutative op are met in structural order, whichever way they were written.
    let (sin_a, exp_b) = (r.apply(Op::Sin, &[a]), r.apply(Op::Exp, &[p[2]]));
    let first = r.apply(Op::Add, &[sin_a, exp_b]);
    let (sin_b, exp_a) = (r.apply(Op::Sin, &[b]), r.apply(Op::Exp, &[p[0]]));
    let second = r.apply(Op::Add, &[exp_a, sin_b]);
    let batches = group(r, vec![first, second], 4);
    assert_eq!(counts(&batches), [2]);
}

#[test]
fn factors_in_another_order_share_a_kernel_where_a_parameter_is_known() {
    let mut r = Recorder::default();
    let (a, b) = (r.parameter(0), r.parameter(1));
    let mut outputs = Vec::new();
    for (first, second) in [(a, b), (b, a)] {
        let sine = r.apply(Op::Sin, &[a]);
        let product = r.apply(Op::Mul, &[first, second]);
        outputs.push(r.apply(Op::Add, &[sine, product]));
        let sine = r.apply(Op::Sin, &[b]);
        outputs.push(r.apply(Op::Add, &[product, sine]));
    }
    let batches = group(r, outputs, 2);
    assert_eq!(counts(&batches), [4]);
}

#[test]
fn data_that_happen_to_be_0_or_1_or_equal_split_nothing() {
    let mut r = Recorder::default();
    let mut outputs = Vec::new();
    for (a, b) in [(0.0, 1.0), (1.0, 0.0), (2.0, 2.0), (0.5, 0.25)] {
        let x = r.parameter(0);
        let (a, b) = (r.constant(a), r.constant(b));
        let scaled = r.apply(Op::Mul, &[x, a]);
        outputs.push(r.apply(Op::Sub, &[scaled, b]));
    }
    assert_eq!(counts(&group(r, outputs, 1)), [4]);
}

#[test]
fn the_square_of_one_parameter_is_not_the_product_of_two() {
    let mut r = Recorder::default();
    let (s, t) = (r.parameter(0), r.parameter(1));
    let outputs = vec![r.apply(Op::Mul, &[s, t]), r.apply(Op::Mul, &[t, t]), r.apply(Op::Mul, &[t, s])];
    let batches = group(r, outputs, 2);
    assert_eq!(counts(&batches), [2, 1]);
    assert_eq!(batches[1].class.locals.len(), 1);
    assert_eq!(batches[0].rows, Rows::Column(batches[0].class.block_dims.len() as u32), "rows 0 and 2");
}

#[test]
fn subexpressions_of_constants_are_folded_whatever_their_value() {
    let mut r = Recorder::default();
    let mut outputs = Vec::new();
    for value in [0.0, 3.0] {
        let (x, c) = (r.parameter(0), r.constant(value));
        let folded = r.square(c);
        outputs.push(r.apply(Op::Add, &[x, folded]));
    }
    let batches = group(r, outputs, 1);
    assert_eq!(counts(&batches), [2]);
    assert_eq!(batches[0].data, [0.0, 9.0]);
}

#[test]
fn coordinates_that_stand_side_by_side_take_one_index() {
    let mut r = Recorder::default();
    let mut outputs = Vec::new();
    for point in 0..3 {
        let p: Vec<u32> = (0..6).map(|number| r.parameter(6 * point + number)).collect();
        let squares: Vec<u32> = (0..3)
            .map(|axis| {
                let difference = r.apply(Op::Sub, &[p[axis], p[3 + axis]]);
                r.square(difference)
            })
            .collect();
        let sum = r.apply(Op::Add, &[squares[0], squares[1]]);
        outputs.push(r.apply(Op::Add, &[sum, squares[2]]));
    }
    let batches = group(r, outputs, 18);
    assert_eq!(counts(&batches), [3]);
    assert_eq!(batches[0].class.block_dims, [4, 2], "runs are cut at four");
    assert_eq!(batches[0].column(0), [0, 6, 12]);
}

/// ‖a − b‖ of two points, or ‖a − 2b‖.
fn distance(r: &mut Recorder, first: u32, second: u32, uneven: bool) -> u32 {
    let squares: Vec<u32> = (0..3)
        .map(|k| {
            let (a, mut b) = (r.parameter(first + k), r.parameter(second + k));
            if uneven {
                b = r.apply(Op::Add, &[b, b]);
            }
            let difference = r.apply(Op::Sub, &[a, b]);
            r.square(difference)
        })
        .collect();
    let sum = r.apply(Op::Add, &[squares[0], squares[1]]);
    let sum = r.apply(Op::Add, &[sum, squares[2]]);
    r.apply(Op::Sqrt, &[sum])
}

#[test]
fn the_two_ends_of_a_spring_share_their_columns_of_the_jacobian() {
    for uneven in [false, true] {
        let mut r = Recorder::default();
        let outputs = [(0, 6), (3, 9), (6, 3)].map(|(first, second)| distance(&mut r, first, second, uneven));
        let batches = group(r, outputs.to_vec(), 12);
        assert_eq!(batches[0].class.block_dims, [3, 3]);
        assert_eq!(least_squares::is_mirrored(&batches[0].class), !uneven);
    }
}

#[test]
fn rows_in_pairs_have_the_first_end_of_a_spring_alone() {
    let mut r = Recorder::default();
    let outputs = [(0, 6), (3, 9), (6, 3)].map(|(first, second)| distance(&mut r, first, second, false));
    let batch = group(r, outputs.to_vec(), 12).remove(0);
    let columns = |losses, entry| {
        let class = Class { losses, ..Class::clone(&batch.class) };
        let plan = AccessPlan::in_width(&class, batch.rows, entry, Width::Pair, "").unwrap();
        let columns = |index: &residua_codegen::Index| index.as_column().unwrap();
        let elements = plan.kernel.outputs.iter().filter_map(|output| output.element());
        let mut written: Vec<(u32, Option<u32>)> =
            elements.map(|element| (columns(&element.index), element.low.as_ref().map(columns))).collect();
        written.sort_unstable();
        written
    };
    // J̃ᵀr̃ of both ends, r, J̃ of both ends, and the low parts of the first seven.
    let whole: Vec<_> = (0..13).map(|column| (column, (column < 7).then(|| column + 13))).collect();
    for losses in [Losses::Any, Losses::Squared] {
        assert_eq!(columns(losses, Entry::Linearise), whole);
    }
    let first = |&(column, _): &(u32, Option<u32>)| !(3..6).contains(&column) && column < 10;
    assert_eq!(columns(Losses::Any, Entry::LineariseRows), whole.into_iter().filter(first).collect::<Vec<_>>());
    // r and the first end's columns of J̃, whose low parts stand where those of J̃ᵀr̃ do.
    let in_pairs = [(6, Some(19)), (7, Some(13)), (8, Some(14)), (9, Some(15))];
    assert_eq!(columns(Losses::Squared, Entry::LineariseRows), in_pairs);
}

#[test]
fn a_long_sum_becomes_instances_of_its_terms() {
    let mut r = Recorder::default();
    let mut sum = None;
    for number in 0..100_000 {
        let (x, target) = (r.parameter(number), r.constant(f64::from(number)));
        let difference = r.apply(Op::Sub, &[x, target]);
        let term = r.square(difference);
        sum = Some(sum.map_or(term, |sum| r.apply(Op::Add, &[sum, term])));
    }
    let batches = group(r, vec![sum.unwrap()], 100_000);
    assert_eq!(counts(&batches), [100_000]);
    assert!(batches[0].has_addends());
    assert_eq!(batches[0].row(99_999), 0);
}

#[test]
fn a_mean_carries_its_factor_to_the_addends() {
    let mut r = Recorder::default();
    let terms: Vec<u32> = (0..40).map(|number| r.parameter(number)).collect();
    let sum = terms.iter().copied().reduce(|a, b| r.apply(Op::Add, &[a, b])).unwrap();
    let factor = r.constant(1.0 / 40.0);
    let mean = r.apply(Op::Mul, &[sum, factor]);
    let batches = group(r, vec![mean], 40);
    assert_eq!(counts(&batches), [40]);
    assert_eq!(batches[0].batch_constants, [1.0 / 40.0]);
}

#[test]
fn a_sum_used_twice_is_not_expanded() {
    // 2⁶⁰ addends if inner sums were expanded.
    let mut r = Recorder::default();
    let mut x = r.parameter(0);
    for _ in 0..60 {
        x = r.apply(Op::Add, &[x, x]);
    }
    let batches = group(r, vec![x], 1);
    assert_eq!(counts(&batches), [1]);
    assert!(!batches[0].has_addends());
}

#[test]
fn gathering_adds_up_every_local_gradient_once() {
    // A shared parameter 0 beside one of its own for each instance: 5,000 entries for one block need three levels.
    let count = 5000u32;
    let mut r = Recorder::default();
    let shared = r.parameter(0);
    let outputs: Vec<u32> = (0..count)
        .map(|number| {
            let own = r.parameter(2 + 2 * number);
            let difference = r.apply(Op::Sub, &[own, shared]);
            r.square(difference)
        })
        .collect();
    let num_params = 2 * count + 2;
    let batches = group(r, outputs, num_params);
    for range in [0..count as usize, 100..4000] {
        let passes = incidence::gather_passes(&batches[0], range.clone(), num_params).unwrap();
        let locals: Vec<f64> = (0..range.len() * 2).map(|entry| (entry % 97) as f64).collect();
        let gathered = run_passes(&passes, &locals, range.len(), num_params as usize);
        let mut expected = vec![0.0; num_params as usize];
        for column in 0..2 {
            for (position, &address) in batches[0].column(column)[range.clone()].iter().enumerate() {
                expected[address as usize] += locals[column as usize * range.len() + position];
            }
        }
        assert_eq!(gathered, expected, "whole numbers below 2⁵³ add up exactly");
        assert!(passes.iter().all(|pass| pass.offsets.windows(2).all(|o| o[1] - o[0] <= incidence::SEGMENT as u32)));
        assert_eq!(passes.len(), 4, "one for the light blocks, three levels for the heavy one");
    }
}

#[test]
fn overlapping_blocks_are_gathered_coordinate_by_coordinate() {
    let count = 100u32;
    let mut r = Recorder::default();
    let outputs: Vec<u32> = (0..count)
        .map(|number| {
            let (a, b) = (r.parameter(number), r.parameter(number + 1));
            r.apply(Op::Div, &[a, b])
        })
        .collect();
    let batches = group(r, outputs, count + 1);
    assert_eq!(batches[0].class.block_dims, [2], "a window sliding over scalars");
    let passes = incidence::gather_passes(&batches[0], 0..count as usize, count + 1).unwrap();
    let locals: Vec<f64> = (0..2 * count).map(f64::from).collect();
    let gathered = run_passes(&passes, &locals, count as usize, count as usize + 1);
    for (parameter, sum) in gathered.iter().enumerate() {
        let first = if parameter < count as usize { parameter as f64 } else { 0.0 };
        let second = if parameter > 0 { (count as usize + parameter - 1) as f64 } else { 0.0 };
        assert_eq!(*sum, first + second);
    }
}

/// What the gather shader does, with every row's target written once a pass.
fn run_passes(passes: &[incidence::Pass], locals: &[f64], stride: usize, num_params: usize) -> Vec<f64> {
    use incidence::{Destination, Source};
    let mut gradient = vec![0.0; num_params];
    let mut scratch = [Vec::new(), Vec::new()];
    for pass in passes {
        let mut sums = Vec::new();
        for row in 0..pass.rows() {
            for component in 0..pass.dim as usize {
                let entries = &pass.entries[pass.offsets[row] as usize..pass.offsets[row + 1] as usize];
                let sum: f64 = entries
                    .iter()
                    .map(|&entry| match pass.source {
                        Source::Local => locals[entry as usize + component * stride],
                        Source::Scratch(which) => scratch[which as usize][entry as usize + component],
                    })
                    .sum();
                sums.push((pass.targets[row] as usize + component, sum));
            }
        }
        let mut written: Vec<usize> = sums.iter().map(|&(target, _)| target).collect();
        written.sort_unstable();
        assert!(written.windows(2).all(|pair| pair[0] != pair[1]), "two threads write one place");
        match pass.destination {
            Destination::Gradient => sums.iter().for_each(|&(target, sum)| gradient[target] += sum),
            Destination::Scratch(which) => {
                scratch[which as usize] = vec![f64::NAN; pass.scratch_len()];
                sums.iter().for_each(|&(target, sum)| scratch[which as usize][target] = sum);
            }
        }
    }
    gradient
}

#[test]
fn chunks_fit_the_binding_and_cover_the_batch() {
    let mut r = Recorder::default();
    let outputs: Vec<u32> = (0..1000)
        .map(|number| {
            let (a, b) = (r.parameter(5 * number), r.parameter(5 * number + 2));
            r.apply(Op::Mul, &[a, b])
        })
        .collect();
    let batch = &group(r, outputs, 5000)[0];
    let limits = chunks::ChunkLimits { binding_bytes: 1024, instances: None, width: Width::Single };
    let ranges = chunks::chunk_ranges(batch, 2, limits).unwrap();
    assert_eq!(ranges.iter().map(|range| range.len()).sum::<usize>(), 1000);
    assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
    assert!(ranges.iter().all(|range| range.len() * 2 * 4 <= 1024));
    assert!(chunks::chunk_ranges(batch, 2, chunks::ChunkLimits { instances: Some(300), ..limits }).unwrap().len() >= 8);
    let refused =
        chunks::chunk_ranges(batch, 2, chunks::ChunkLimits { binding_bytes: 8, instances: None, width: Width::Single });
    assert_eq!(refused.unwrap_err().code, residua_base::ErrorCode::LimitExceeded);
    assert_eq!(chunks::slice_columns(&[1, 2, 3, 4, 5, 6], 3, 1..3), [2, 3, 5, 6]);
}

/// Residuals of several kinds: springs with lengths of their own between points, some with the points the other way round; squares of
/// coordinates; a long sum; one that is twice the same.
fn of_several_kinds() -> (Recorder, Vec<u32>, u32) {
    let mut r = Recorder::default();
    let parameters: Vec<u32> = (0..30).map(|number| r.parameter(number)).collect();
    let mut outputs = Vec::new();
    for spring in 0..9 {
        let (a, b) = if spring % 4 == 3 { (3 * spring + 3, 3 * spring) } else { (3 * spring, 3 * spring + 3) };
        let squares: Vec<u32> = (0..3)
            .map(|coordinate| {
                let difference = r.apply(Op::Sub, &[parameters[a + coordinate], parameters[b + coordinate]]);
                r.square(difference)
            })
            .collect();
        let sum = r.apply(Op::Add, &[squares[0], squares[1]]);
        let sum = r.apply(Op::Add, &[sum, squares[2]]);
        let (length, rest) = (r.apply(Op::Norm, &[sum]), r.constant(1.0 + spring as f64));
        outputs.push(r.apply(Op::Sub, &[length, rest]));
        outputs.push(r.square(parameters[spring]));
    }
    let mut sum = r.apply(Op::Sin, &[parameters[0]]);
    for term in 1..40 {
        let (factor, sine) = (r.constant(f64::from(term)), r.apply(Op::Sin, &[parameters[term as usize % 30]]));
        let product = r.apply(Op::Mul, &[factor, sine]);
        sum = r.apply(Op::Add, &[sum, product]);
    }
    outputs.push(sum);
    outputs.push(outputs[0]);
    (r, outputs, 30)
}

#[test]
fn batches_are_the_same_whatever_the_slice() {
    let in_slices = |slice: usize| {
        let (recorder, outputs, parameters) = of_several_kinds();
        let tape = recorder.tape(outputs, parameters);
        let input = CompileInput::params(parameters, Box::new(tape));
        run_synchronously(input.into_model(&Slices::of_length(slice))).unwrap().batches
    };
    let whole = in_slices(usize::MAX);
    assert_eq!(counts(&whole), [10, 9, 1, 39], "springs, squares, the sum's first term and its others");
    for slice in [1, 7, 64, 1000] {
        let batches = in_slices(slice);
        assert_eq!(batches.len(), whole.len());
        for (batch, expected) in batches.iter().zip(&whole) {
            assert!(batch.class.has_kernels_of(&expected.class), "slices of {slice}");
            let tables =
                |batch: &Batch| (batch.indices.clone(), batch.data.clone(), batch.batch_constants.clone(), batch.rows);
            assert_eq!(tables(batch), tables(expected), "slices of {slice}");
        }
    }
}

#[test]
fn data_that_are_read_rows_at_a_time_stand_column_after_column() {
    const COLUMNS: u32 = 3;
    // More rows than are read at once, and a rest.
    let count = 2500;
    let data: Vec<f64> = (0..COLUMNS as usize * count).map(|number| number as f64).collect();
    let mut r = Recorder::default();
    let x = r.parameter(0);
    let sum = (0..COLUMNS).fold(x, |sum, column| {
        let number = r.data(column);
        r.apply(Op::Add, &[sum, number])
    });
    let mut input = CompileInput::problem();
    input.add_array("x", 1, 1, "euclidean").unwrap();
    let tape = r.tape_with_data(vec![sum], 1, COLUMNS);
    input.add_residuals("r", vec![0], vec![0; count], data.clone(), tape).unwrap();
    assert_eq!(compiled(input).batches[0].data, data);
}
