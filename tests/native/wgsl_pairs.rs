//! What kernels in pairs compute, interpreted in f32 and compared with the reference evaluation in f64. The interpreter rounds as IEEE 754 says, so
//! errors here are those of the method; those of devices are tested in browsers.

use crate::interpreter::run;
use crate::kernels;
use residua_codegen::wgsl::{self, Dispatch, PairDispatch, PairForm};
use residua_codegen::{Epilogue, Index, Kernel, Load, Output};
use residua_ir::graph::{Op, evaluate};

/// Numbers spread evenly over [0, 1), the same in every run.
fn fraction(position: usize, sequence: usize) -> f64 {
    let step = [0.618_033_988_749_895, 0.754_877_666_246_693, 0.569_840_290_998_053][sequence % 3];
    ((position as f64 + 0.5) * step + 0.1 * sequence as f64).fract()
}

/// Both parts of a number.
fn split(number: f64) -> [f32; 2] {
    let high = number as f32;
    [high, (number - f64::from(high)) as f32]
}

fn bits(numbers: impl IntoIterator<Item = f32>) -> Vec<u32> {
    numbers.into_iter().map(f32::to_bits).collect()
}

/// The words of a table: the high parts of all columns, then the low parts.
fn table(numbers: &[f64]) -> Vec<u32> {
    [0, 1].into_iter().flat_map(|part| bits(numbers.iter().map(|&number| split(number)[part]))).collect()
}

/// The numbers of such a table.
fn joined(words: &[u32]) -> Vec<f64> {
    let number = |word: &u32| f64::from(f32::from_bits(*word));
    let (high, low) = words.split_at(words.len() / 2);
    high.iter().zip(low).map(|(high, low)| number(high) + number(low)).collect()
}

/// A kernel whose loads and stores of columns are pairs, of tables of so many columns.
fn in_pairs(mut kernel: Kernel, columns: &dyn Fn(&str) -> u32) -> Kernel {
    let low = |buffer: u32, index: &Index| {
        let name = kernel.buffers[buffer as usize].name;
        index.as_column().map(|column| Index::column(column + columns(name)))
    };
    for load in &mut kernel.loads {
        if let Load::Read(element) = load {
            element.low = low(element.buffer, &element.index);
        }
    }
    for output in &mut kernel.outputs {
        output.epilogue = match output.epilogue.clone() {
            Epilogue::Store(mut element) => {
                element.low = low(element.buffer, &element.index);
                Epilogue::Store(element)
            }
            _ => Output::reduce_pair(output.node).epilogue,
        };
    }
    kernel
}

fn dispatch(count: usize) -> Vec<u32> {
    PairDispatch::new(Dispatch::new(count as u32, count as u32, 0), [0, 0]).words().to_vec()
}

/// The results of an op on triples of operands, in pairs.
fn results_of(op: Op, operands: &[f64], form: PairForm) -> Vec<f64> {
    let count = operands.len() / 3;
    let kernel = in_pairs(kernels::of_ops(&[op]), &|name| if name == "operands" { 3 } else { 1 });
    let kernel = kernel.check().unwrap();
    let mut buffers = vec![table(operands), vec![0; 2 * count], vec![0], dispatch(count)];
    run(&wgsl::write(&kernel, form).unwrap(), [count.div_ceil(64) as u32, 1], &mut buffers);
    joined(&buffers[1])
}

/// The largest error that an op may have, relative or where the result is below 1 absolute: the acceptance bounds of double-single arithmetic, of which
/// those of pow and of sums of exponentials grow with the exponent.
fn bound(op: Op) -> f64 {
    match op {
        Op::Pow | Op::Sinh | Op::Cosh => 3e-13,
        Op::Exp | Op::Log | Op::Sin | Op::Cos | Op::Tan | Op::Asin | Op::Acos | Op::Atan | Op::Atan2 => 1e-13,
        Op::Tanh | Op::Sigmoid | Op::Softplus | Op::Mod => 1e-13,
        _ => 4e-14,
    }
}

#[test]
fn every_op_has_some_46_bits_over_its_domain() {
    const COUNT: usize = 96;
    for op in Op::ALL {
        let range = |k: usize| op.domain().get(k).copied().unwrap_or((0.0, 1.0));
        let operand = |at: usize| {
            let (low, high) = range(at / COUNT);
            let [high, low] = split(low + (high - low) * fraction(at % COUNT, at / COUNT));
            f64::from(high) + f64::from(low)
        };
        let operands: Vec<f64> = (0..3 * COUNT).map(operand).collect();
        for form in [PairForm::Split, PairForm::Fused] {
            let results = results_of(*op, &operands, form);
            for (i, result) in results.iter().enumerate() {
                let exact: Vec<f64> = (0..op.arity()).map(|k| operands[k * COUNT + i]).collect();
                let reference = evaluate(*op, &exact);
                // Sums and differences cancel: their errors are relative to the operands.
                let size = exact.iter().fold(reference.abs().max(1.0), |most, operand| match op {
                    Op::Add | Op::Sub | Op::Mod => most.max(operand.abs()),
                    _ => most,
                });
                let error = (result - reference).abs() / size;
                assert!(error <= bound(*op), "{} of {exact:?} in {form:?}: {result}, {reference}", op.name());
            }
        }
    }
}

#[test]
fn outputs_have_the_width_that_they_ask_for() {
    // Two energies of springs: the gradient's columns 0 to 2 in pairs, 3 to 5 single, the total in pairs.
    const COUNT: usize = 100;
    let mut kernel = kernels::spring();
    for load in &mut kernel.loads[..6] {
        if let Load::Read(element) = load {
            element.low = Some(element.index.low(0));
        }
    }
    for (column, output) in (0u32..).zip(&mut kernel.outputs) {
        *output = match output.element().cloned() {
            Some(element) if column < 3 => {
                Output::store_pair(output.node, element.buffer, element.index, Index::column(6 + column))
            }
            Some(_) => output.clone(),
            None => Output::reduce_pair(output.node),
        };
    }
    let kernel = kernel.check().unwrap();
    let text = wgsl::write(&kernel, PairForm::Split).unwrap();
    let positions: Vec<f64> = (0..3 * (COUNT + 1)).map(|i| 1e3 + fraction(i, i % 3)).collect();
    let slots: Vec<u32> = (0..2 * COUNT as u32).map(|i| 3 * (i % COUNT as u32 + i / COUNT as u32)).collect();
    let rest: Vec<f32> = (0..COUNT).map(|i| (0.5 * fraction(i, 2)) as f32).collect();
    let low = positions.len().next_multiple_of(64);
    let mut x = vec![0.0; 2 * low];
    for (i, number) in positions.iter().enumerate() {
        [x[i], x[low + i]] = split(*number);
    }
    let mut uniform = dispatch(COUNT);
    uniform[4] = low as u32;
    let groups = COUNT.div_ceil(64);
    let start = vec![f32::NAN.to_bits(); 9 * COUNT];
    let mut buffers = vec![bits(x), slots, bits(rest.clone()), start, vec![0; 2 * groups], vec![0], uniform];
    run(&text, [groups as u32, 1], &mut buffers);

    let (mut energy, mut worst) = (0.0, [0.0_f64; 2]);
    for (i, rest) in rest.iter().enumerate() {
        let axes: Vec<f64> = (0..3).map(|axis| positions[3 * (i + 1) + axis] - positions[3 * i + axis]).collect();
        let length = axes.iter().map(|d| d * d).sum::<f64>().sqrt();
        let stretch = length - f64::from(*rest);
        energy += 0.5 * stretch * stretch;
        let number = |column: usize| f64::from(f32::from_bits(buffers[3][column * COUNT + i]));
        for (axis, difference) in axes.iter().enumerate() {
            let exact = stretch / length * difference;
            worst[0] = worst[0].max((number(axis) + number(6 + axis) + exact).abs());
            worst[1] = worst[1].max((number(3 + axis) - exact).abs());
        }
    }
    let total: f64 = buffers[4].iter().map(|word| f64::from(f32::from_bits(*word))).sum();
    // Positions of 1e3 have 48 bits: 4e-12 of their differences, and those differences are exact in pairs.
    assert!((total - energy).abs() <= 1e-11 * energy, "{total}, {energy}");
    assert!(worst[0] <= 1e-11, "{worst:?}");
    // The single outputs take the high part of what is computed in pairs.
    assert!((1e-9..1e-6).contains(&worst[1]), "{worst:?}");
}

#[test]
fn calls_are_made_in_pairs_where_a_result_is_wanted_as_a_pair() {
    const COUNT: usize = 64;
    let kernel = in_pairs(kernels::robust(), &|_| 1);
    let kernel = kernel.check().unwrap();
    let text = wgsl::write(&kernel, PairForm::Split).unwrap();
    assert!(text.contains("fn loss_of_pairs(") && !text.contains("fn loss("));
    let numbers = |sequence: usize| (0..COUNT).map(|i| (4.0 * fraction(i, sequence)) as f32).collect::<Vec<f32>>();
    let (x, y) = (numbers(0), numbers(1));
    let mut data = bits(y.iter().copied());
    data.resize(2 * COUNT, 0);
    for kind in [0.0, 1.0] {
        let settings = bits([kind, 0.75, 0.0, 2.0]);
        let local = vec![0; 2 * COUNT];
        let mut buffers =
            vec![bits(x.iter().copied()), data.clone(), settings, local, vec![0; 2], vec![0], dispatch(COUNT)];
        run(&text, [1, 1], &mut buffers);
        for (i, derivative) in joined(&buffers[3]).into_iter().enumerate() {
            let r = f64::from(x[i]) - f64::from(y[i]);
            let slope = if kind == 1.0 && r.abs() > 0.75 { 0.75 / r.abs() } else { 1.0 };
            assert!((derivative - 2.0 * slope * r).abs() <= 4e-14 * r.abs(), "{kind}: {derivative}");
        }
    }
}
