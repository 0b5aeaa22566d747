//! What kernels in pairs compute, interpreted in f32 and compared with the reference evaluation in f64. The interpreter rounds as IEEE 754 says, so
//! errors here are those of the method; those of devices are tested in browsers.

use crate::interpreter::run;
use crate::kernels;
use crate::pair_operations::{bound, operands, worst};
use residua::eval::pairs::{from_table, split, to_table};
use residua_codegen::wgsl::{self, Dispatch, PairDispatch, PairForm};
use residua_codegen::{Epilogue, Index, Kernel, Load, Output, Width};
use residua_ir::graph::{Graph, InputId, NodeId, Op};

/// Numbers spread evenly over [0, 1), the same in every run.
fn fraction(position: usize, sequence: usize) -> f64 {
    let step = [0.618_033_988_749_895, 0.754_877_666_246_693, 0.569_840_290_998_053][sequence % 3];
    ((position as f64 + 0.5) * step + 0.1 * sequence as f64).fract()
}

fn bits(numbers: impl IntoIterator<Item = f32>) -> Vec<u32> {
    numbers.into_iter().map(f32::to_bits).collect()
}

/// The numbers of single precision that words are.
fn floats(words: &[u32]) -> Vec<f32> {
    words.iter().map(|word| f32::from_bits(*word)).collect()
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

/// The results of an op on triples of operands, as words of one pair after the other.
fn results_of(op: Op, operands: &[[f64; 3]], form: PairForm) -> Vec<u32> {
    let count = operands.len();
    let kernel = in_pairs(kernels::of_ops(&[op]), &|name| if name == "operands" { 3 } else { 1 });
    let kernel = kernel.check().unwrap();
    let columns: Vec<f64> = [0, 1, 2].into_iter().flat_map(|k| operands.iter().map(move |given| given[k])).collect();
    let mut buffers = vec![bits(to_table(Width::Pair, &columns)), vec![0; 2 * count], vec![0], dispatch(count)];
    run(&wgsl::write(&kernel, form).unwrap(), [count.div_ceil(64) as u32, 1], &mut buffers);
    let (high, low) = buffers[1].split_at(count);
    high.iter().zip(low).flat_map(|(high, low)| [*high, *low]).collect()
}

#[test]
fn every_op_of_a_kernel_is_within_its_bound_over_its_domain() {
    for op in Op::ALL {
        let operands = operands(*op, 96);
        for form in [PairForm::Split, PairForm::Fused] {
            let (error, at) = worst(*op, &operands, &results_of(*op, &operands, form));
            assert!(error <= bound(*op).1, "{} of {at:?} in {form:?}: {error:e}", op.name());
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
        for (i, derivative) in from_table(Width::Pair, &floats(&buffers[3])).into_iter().enumerate() {
            let r = f64::from(x[i]) - f64::from(y[i]);
            let slope = if kind == 1.0 && r.abs() > 0.75 { 0.75 / r.abs() } else { 1.0 };
            assert!((derivative - 2.0 * slope * r).abs() <= 4e-14 * r.abs(), "{kind}: {derivative}");
        }
    }
}

/// A kernel in pairs of a graph over columns of operands that a function makes, with one result.
fn kernel_of(columns: u32, make: impl FnOnce(&mut Graph, &[NodeId]) -> NodeId) -> String {
    let mut graph = Graph::new();
    let inputs: Vec<NodeId> = (0..columns).map(|input| graph.input(InputId(input))).collect();
    let result = make(&mut graph, &inputs);
    let kernel = Kernel {
        buffers: vec![kernels::reals("operands", false), kernels::reals("results", true)],
        loads: (0..columns).map(|column| kernels::read(0, Index::column(column))).collect(),
        outputs: vec![kernels::store(1, Index::column(0), result)],
        ..Kernel::new("graph", graph.check(columns).unwrap())
    };
    let kernel = in_pairs(kernel, &|name| if name == "operands" { columns } else { 1 });
    wgsl::write(&kernel.check().unwrap(), PairForm::Fused).unwrap()
}

/// The high parts of the results of a kernel's text, each of operands in columns, and both parts together.
fn computed(text: &str, operands: &[Vec<f64>]) -> Vec<(f32, f64)> {
    let count = operands.len();
    let columns: Vec<f64> = (0..operands[0].len()).flat_map(|k| operands.iter().map(move |given| given[k])).collect();
    let mut buffers = vec![bits(to_table(Width::Pair, &columns)), vec![0; 2 * count], vec![0], dispatch(count)];
    run(text, [count.div_ceil(64) as u32, 1], &mut buffers);
    let numbers = floats(&buffers[1]);
    let (high, low) = numbers.split_at(count);
    high.iter().zip(low).map(|(high, low)| (*high, f64::from(*high) + f64::from(*low))).collect()
}

fn highs(text: &str, operands: &[Vec<f64>]) -> Vec<f32> {
    computed(text, operands).into_iter().map(|(high, _)| high).collect()
}

fn squared_length(g: &mut Graph, inputs: &[NodeId]) -> NodeId {
    let squares: Vec<NodeId> = inputs.iter().map(|x| g.apply_raw(Op::Mul, &[*x, *x])).collect();
    squares.into_iter().reduce(|a, b| g.apply_raw(Op::Add, &[a, b])).unwrap()
}

#[test]
fn infinities_within_a_kernel_give_what_they_give_in_single_precision() {
    let sigmoid = kernel_of(1, |g, x| {
        let one = g.literal(1.0);
        let negative = g.apply_raw(Op::Neg, x);
        let e = g.apply_raw(Op::Exp, &[negative]);
        let sum = g.apply_raw(Op::Add, &[one, e]);
        g.apply_raw(Op::Div, &[one, sum])
    });
    assert_eq!(highs(&sigmoid, &[vec![-1e30], vec![-90.0], vec![1e30]]), [0.0, 0.0, 1.0]);
    let bell = kernel_of(3, |g, x| {
        let square = squared_length(g, x);
        let negative = g.apply_raw(Op::Neg, &[square]);
        g.apply_raw(Op::Exp, &[negative])
    });
    // Squares are beyond f32 one by one, and their sum alone.
    let far = [vec![1e25, 1.0, -2.0], vec![1.0, -1e25, 1e25], vec![1.5e19, 1.5e19, 1.5e19], vec![0.0, 0.0, 0.0]];
    assert_eq!(highs(&bell, &far), [0.0, 0.0, 0.0, 1.0]);
    let inverse = kernel_of(3, |g, x| {
        let square = squared_length(g, x);
        g.apply_raw(Op::InverseNorm, &[square])
    });
    assert_eq!(highs(&inverse, &far), [0.0; 4]);
    let square = kernel_of(3, squared_length);
    let infinite = f32::INFINITY;
    assert_eq!(highs(&square, &far), [infinite, infinite, infinite, 0.0]);
    // The last difference is of two infinities, or of one and a number.
    let difference = kernel_of(4, |g, x| {
        let [first, second] = [0, 2].map(|k| g.apply_raw(Op::Mul, &[x[k], x[k + 1]]));
        g.apply_raw(Op::Sub, &[first, second])
    });
    let found = highs(&difference, &[vec![1e30; 4], vec![1e30, 1e30, 2.0, 3.0], vec![2.0, 3.0, 1e30, 1e30]]);
    assert!(found[0].is_nan() && found[1..] == [infinite, -infinite], "{found:?}");
}

#[test]
fn long_sums_of_products_lose_no_more_than_their_cancellation() {
    // More terms than follow one another without normalisation.
    const TERMS: usize = 20;
    let dot = |g: &mut Graph, x: &[NodeId]| {
        let products: Vec<NodeId> = (0..TERMS).map(|k| g.apply_raw(Op::Mul, &[x[k], x[TERMS + k]])).collect();
        products.into_iter().reduce(|a, b| g.apply_raw(Op::Add, &[a, b])).unwrap()
    };
    let text = kernel_of(2 * TERMS as u32, dot);
    let calls = |function: &str| text.split("fn ").nth(1).unwrap().matches(&format!("{function}(")).count();
    assert_eq!((calls("unnormalised_product"), calls("pair_product")), (TERMS, 0));
    // 19 sums: the eighth and the sixteenth end a chain, and the last is the result.
    assert_eq!((calls("unnormalised_sum"), calls("pair_sum")), (16, 3));
    let operands: Vec<Vec<f64>> = (0..64)
        .map(|instance| {
            let mut numbers: Vec<f64> = (0..2 * TERMS).map(|k| fraction(41 * instance + k, k) - 0.5).collect();
            // The last term takes away what the others leave, up to 2⁻³⁰.
            let rest: f64 = (0..TERMS - 1).map(|k| numbers[k] * numbers[TERMS + k]).sum();
            numbers[TERMS - 1] = (rest + 2f64.powi(-30) * fraction(instance, 1)) / -numbers[2 * TERMS - 1];
            numbers.iter().map(|number| split(*number).into_iter().map(f64::from).sum()).collect()
        })
        .collect();
    let mut worst = 0.0f64;
    for (given, (_, found)) in operands.iter().zip(computed(&text, &operands)) {
        let terms: Vec<f64> = (0..TERMS).map(|k| given[k] * given[TERMS + k]).collect();
        let sizes: f64 = terms.iter().map(|term| term.abs()).sum();
        worst = worst.max((found - terms.iter().sum::<f64>()).abs() / sizes);
    }
    println!("{worst:e}");
    // Products within 2⁻⁴⁵ and 19 sums within 2⁻⁴⁶ of the largest partial sum, which is no more than all sizes: 2⁻⁴² at most.
    assert!(worst <= 2f64.powi(-42) && worst > 0.0, "{worst:e}");
}
