//! Kernels on the CPU in a page: as generated WebAssembly, against their interpretation.

use residua_codegen::memory::{InstanceRange, View};
use residua_codegen::{ElementType, Index, Kernel, KernelBuffer, Load, Output};
use residua_cpu::CompiledKernels;
use residua_ir::autodiff::gradient;
use residua_ir::graph::{Graph, InputId, NodeId, Op, evaluate};
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

fn buffer(name: &'static str, dtype: ElementType, written: bool) -> KernelBuffer {
    KernelBuffer { name, dtype, written }
}

/// Ops, of three columns, stored to a column each.
fn kernel_of(ops: &[Op]) -> Kernel {
    let mut graph = Graph::new();
    let operands: Vec<NodeId> = (0..3).map(|input| graph.input(InputId(input))).collect();
    let store = |(column, op): (usize, &Op)| {
        let node = graph.apply_raw(*op, &operands[..op.arity()]);
        Output::store(node, 1, Index::column(column as u32))
    };
    let outputs = ops.iter().enumerate().map(store).collect();
    Kernel {
        buffers: vec![buffer("operands", ElementType::Real, false), buffer("results", ElementType::Real, true)],
        loads: (0..3).map(|column| Load::read(0, Index::column(column))).collect(),
        outputs,
        ..Kernel::new("ops", graph.check(3).unwrap())
    }
}

/// Σ (|p − q| − l)² over springs in the plane, and its gradient.
fn springs() -> Kernel {
    let mut graph = Graph::new();
    let [px, py, qx, qy, length] = [0, 1, 2, 3, 4].map(|input| graph.input(InputId(input)));
    let squared = [(px, qx), (py, qy)].map(|(p, q)| {
        let difference = graph.apply(Op::Sub, &[p, q]);
        graph.apply(Op::Mul, &[difference, difference])
    });
    let squared = graph.apply(Op::Add, &squared);
    let distance = graph.apply(Op::Norm, &[squared]);
    let stretch = graph.apply(Op::Sub, &[distance, length]);
    let energy = graph.apply(Op::Mul, &[stretch, stretch]);
    let one = graph.literal(1.0);
    let partials = gradient(&mut graph, &[(energy, one)], &[0, 1, 2, 3].map(InputId));

    let end = |input: u32| Index::indexed(2, input / 2, input % 2);
    let mut loads: Vec<Load> = (0..4).map(|input| Load::read(0, end(input))).collect();
    loads.push(Load::read(1, Index::column(0)));
    let mut outputs: Vec<Output> =
        (0..).zip(&partials).map(|(input, node)| Output::accumulate(node.unwrap(), 3, end(input))).collect();
    outputs.push(Output::reduce(energy));
    Kernel {
        buffers: vec![
            buffer("parameters", ElementType::Real, false),
            buffer("lengths", ElementType::Real, false),
            buffer("ends", ElementType::U32, false),
            buffer("gradient", ElementType::Real, true),
        ],
        loads,
        outputs,
        ..Kernel::new("springs", graph.check(5).unwrap())
    }
}

/// A chain of springs through points on a wavy line.
struct Chain {
    parameters: Vec<f64>,
    lengths: Vec<f64>,
    ends: Vec<u32>,
}

impl Chain {
    fn new(springs: usize) -> Chain {
        let parameters = (0..=springs).flat_map(|point| [point as f64, (point as f64 * 0.7).sin()]).collect();
        let ends = (0..springs as u32).chain(1..=springs as u32).map(|point| 2 * point).collect();
        Chain { parameters, lengths: vec![0.9; springs], ends }
    }

    fn run(&self, program: &CompiledKernels, gradient: &mut [f64]) -> residua_base::Result<f64> {
        let springs = self.lengths.len() as u32;
        let mut views =
            [View::Read(&self.parameters), View::Read(&self.lengths), View::Index(&self.ends), View::Write(gradient)];
        program.run(0, &mut views, &InstanceRange { instances: 0..springs, stride: springs, first: 0, origin: 0 })
    }
}

async fn both(kernel: Kernel) -> [CompiledKernels; 2] {
    let kernel = kernel.check().unwrap();
    let compiled = CompiledKernels::compile(vec![kernel.clone()]).await.unwrap();
    assert_eq!(compiled.interpreted_because(), None, "a browser compiles kernels");
    let interpreted = CompiledKernels::interpreted(vec![kernel], "for comparison").unwrap();
    assert_eq!(interpreted.interpreted_because(), Some("for comparison"));
    [compiled, interpreted]
}

#[wasm_bindgen_test]
async fn every_op_is_compiled_to_what_the_interpretation_computes() {
    const COUNT: u32 = 1001;
    // Every other one a multiple of a half, so that comparisons meet equal operands.
    let operand = |number: u32| match 3.0 * (f64::from(number) * 1.7).sin() {
        rough if number.is_multiple_of(2) => (2.0 * rough).round() / 2.0,
        fine => fine,
    };
    // An even distance between columns, so that these meet in one instance.
    let operands: Vec<f64> =
        (0..3).flat_map(|column| (0..COUNT).map(move |instance| operand(1002 * column + instance))).collect();
    let results = both(kernel_of(Op::ALL)).await.map(|program| {
        let mut results = vec![0.0; Op::ALL.len() * COUNT as usize];
        let mut views = [View::Read(&operands), View::Write(&mut results)];
        program.run(0, &mut views, &InstanceRange { instances: 0..COUNT, stride: COUNT, first: 0, origin: 0 }).unwrap();
        results
    });
    for (op, [compiled, interpreted]) in Op::ALL.iter().zip(columns(&results, COUNT as usize)) {
        // The same functions in the same order: nothing to be rounded differently.
        let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
        assert!(compiled.iter().zip(interpreted).all(same), "{}", op.name());
        assert!(compiled.iter().any(|number| number.abs() > 0.0), "{} was computed", op.name());
    }
}

fn columns(results: &[Vec<f64>; 2], count: usize) -> impl Iterator<Item = [&[f64]; 2]> {
    results[0].chunks(count).zip(results[1].chunks(count)).map(|(compiled, interpreted)| [compiled, interpreted])
}

#[wasm_bindgen_test]
async fn a_gradient_is_accumulated_in_the_same_order() {
    for count in [0, 1, 2, 9, 1000] {
        let chain = Chain::new(count);
        let [compiled, interpreted] = both(springs()).await.map(|program| {
            let mut gradient = vec![0.0; chain.parameters.len()];
            let total = chain.run(&program, &mut gradient).unwrap();
            (total, gradient)
        });
        assert_eq!(compiled, interpreted, "{count} springs");
    }
}

#[wasm_bindgen_test]
async fn an_index_beyond_its_buffer_is_an_error_and_the_program_stays_usable() {
    let [compiled, interpreted] = both(springs()).await;
    let mut chain = Chain::new(7);
    let mut gradient = vec![0.0; chain.parameters.len()];
    let expected = chain.run(&interpreted, &mut gradient).unwrap();
    let right = std::mem::replace(&mut chain.ends[9], 1 << 30);
    let messages =
        [&compiled, &interpreted].map(|program| chain.run(program, &mut gradient).unwrap_err().message.clone());
    assert_eq!(messages[0], messages[1]);
    assert!(messages[0].contains("index 1073741824 into parameters"), "{}", messages[0]);
    chain.ends[9] = right;
    assert_eq!(chain.run(&compiled, &mut gradient), Ok(expected));
}

/// Replaces the constructor of modules by one that counts them.
const COUNT_MODULES: &str = "{
    const uncounted = WebAssembly.Module;
    WebAssembly.Module = class extends uncounted {
        static made = 0;
        static uncounted = uncounted;
        constructor(bytes) {
            super(bytes);
            WebAssembly.Module.made++;
        }
    };
}";

#[wasm_bindgen_test]
async fn programs_of_equal_kernels_in_turns_have_their_own_numbers_and_shapes() {
    let kernels = || vec![springs().check().unwrap()];
    let first = CompiledKernels::compile(kernels()).await.unwrap();
    js_sys::eval(COUNT_MODULES).unwrap();
    let second = CompiledKernels::compile(kernels()).await.unwrap();
    // One of no functions, to see that they are counted, and none for the second program.
    let count =
        js_sys::eval("new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)); WebAssembly.Module.made");
    assert_eq!(count.unwrap().as_f64(), Some(1.0));
    js_sys::eval("WebAssembly.Module = WebAssembly.Module.uncounted").unwrap();
    let chains = [Chain::new(7), Chain::new(12)];
    let run = |program: &CompiledKernels, chain: &Chain| {
        let mut gradient = vec![0.0; chain.parameters.len()];
        (chain.run(program, &mut gradient).unwrap(), gradient)
    };
    let [_, expected] = both(springs()).await;
    for _ in 0..2 {
        for (program, chain) in [&first, &second].into_iter().zip(&chains) {
            assert_eq!(run(program, chain), run(&expected, chain));
        }
    }
    // The module outlives the program that made it.
    drop(first);
    assert_eq!(run(&second, &chains[0]), run(&expected, &chains[0]));
}

#[wasm_bindgen_test]
async fn every_call_of_another_shape_is_checked() {
    let programs = both(springs()).await;
    let mut chain = Chain::new(7);
    let mut gradient = vec![0.0; chain.parameters.len()];
    for program in &programs {
        for _ in 0..2 {
            assert!(chain.run(program, &mut gradient).is_ok());
        }
        let ends = chain.ends.pop().unwrap();
        let refused = chain.run(program, &mut gradient).unwrap_err().message.clone();
        assert!(refused.contains("elements"), "{refused}");
        chain.ends.push(ends);
        assert!(chain.run(program, &mut gradient).is_ok());
    }
}

#[wasm_bindgen_test]
async fn a_program_outlives_the_growth_of_memory() {
    let [compiled, interpreted] = both(springs()).await;
    let chain = Chain::new(10);
    let mut gradient = vec![0.0; chain.parameters.len()];
    let before = chain.run(&compiled, &mut gradient).unwrap();
    let large = Chain::new(1 << 19);
    let mut large_gradient = vec![0.0; large.parameters.len()];
    let total = large.run(&compiled, &mut large_gradient).unwrap();
    assert_eq!(chain.run(&compiled, &mut gradient), Ok(before));
    assert_eq!(large.run(&interpreted, &mut large_gradient), Ok(total));
}

/// What a person would write for [`springs`].
fn loop_by_hand(chain: &Chain, gradient: &mut [f64]) -> f64 {
    let springs = chain.lengths.len();
    let mut total = 0.0;
    for spring in 0..springs {
        let (p, q) = (chain.ends[spring] as usize, chain.ends[springs + spring] as usize);
        let dx = chain.parameters[p] - chain.parameters[q];
        let dy = chain.parameters[p + 1] - chain.parameters[q + 1];
        let distance = (dx * dx + dy * dy).sqrt();
        let stretch = distance - chain.lengths[spring];
        total += stretch * stretch;
        let factor = if distance == 0.0 { 0.0 } else { 2.0 * stretch / distance };
        gradient[p] += factor * dx;
        gradient[p + 1] += factor * dy;
        gradient[q] -= factor * dx;
        gradient[q + 1] -= factor * dy;
    }
    total
}

#[wasm_bindgen_test]
async fn the_time_of_a_compiled_kernel_is_printed_beside_a_loop_by_hand() {
    let [compiled, interpreted] = both(springs()).await;
    let chain = Chain::new(200_000);
    let mut gradient = vec![0.0; chain.parameters.len()];
    let mut time = |rounds: u32, run: &dyn Fn(&mut [f64]) -> f64| {
        let mut total = run(&mut gradient);
        let start = js_sys::Date::now();
        for _ in 0..rounds {
            total = run(&mut gradient);
        }
        ((js_sys::Date::now() - start) / f64::from(rounds), total)
    };
    let by_hand = time(50, &|gradient| loop_by_hand(&chain, gradient));
    let generated = time(50, &|gradient| chain.run(&compiled, gradient).unwrap());
    let reference = time(2, &|gradient| chain.run(&interpreted, gradient).unwrap());
    console_log!(
        "200,000 springs: {:.2} ms compiled, {:.2} ms by hand, {:.2} ms interpreted",
        generated.0,
        by_hand.0,
        reference.0
    );
    // The totals differ by the order of 200,000 additions: at most that many roundings of the sum.
    assert!((by_hand.1 - generated.1).abs() <= 200_000.0 * f64::EPSILON * generated.1);
    assert_eq!(generated.1, reference.1);
}

#[wasm_bindgen_test]
async fn the_time_of_an_imported_function_is_printed_beside_a_loop_by_hand() {
    const COUNT: u32 = 200_000;
    let [compiled, _] = both(kernel_of(&[Op::Sin])).await;
    let operands: Vec<f64> = (0..3 * COUNT).map(|number| f64::from(number) * 0.001).collect();
    let mut results = vec![0.0; COUNT as usize];
    let dispatch = InstanceRange { instances: 0..COUNT, stride: COUNT, first: 0, origin: 0 };
    let mut times = vec![];
    for by_hand in [true, false, true, false] {
        let start = js_sys::Date::now();
        for _ in 0..20 {
            if by_hand {
                for (result, operand) in results.iter_mut().zip(&operands) {
                    *result = operand.sin();
                }
            } else {
                compiled.run(0, &mut [View::Read(&operands), View::Write(&mut results)], &dispatch).unwrap();
            }
        }
        times.push((js_sys::Date::now() - start) / 20.0);
    }
    console_log!("200,000 sines: {:.2} ms compiled, {:.2} ms by hand", times[3], times[2]);
    assert!(results.iter().zip(&operands).all(|(result, operand)| *result == evaluate(Op::Sin, &[*operand])));
}
