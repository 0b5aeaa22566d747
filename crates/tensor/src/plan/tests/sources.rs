//! Sources as operands: what is computed of nothing may stand wherever memory does, on both engines.

use super::*;
use crate::grad::differentiate;
use crate::recorded::{RecordedCase, cases};

/// A tensor of a type and a shape that is computed of nothing.
type Source = fn(DType, &[Size]) -> TensorOp;

/// One number everywhere, one that a run tells, a size everywhere, and the coordinate along the last axis, where there is one and the type has numbers.
const SOURCES: [Source; 4] = [
    |_, _| TensorOp::Constant(1.0),
    |dtype, _| {
        if dtype == DType::Bool { TensorOp::Constant(1.0) } else { TensorOp::Number(size(bits_of(dtype, 2.0).into())) }
    },
    |dtype, _| if dtype == DType::Bool { TensorOp::Constant(0.0) } else { TensorOp::Extent(size(2)) },
    |dtype, shape| match shape.len() {
        axes @ 1.. if dtype != DType::Bool => TensorOp::Iota(axes as u32 - 1),
        _ => TensorOp::Constant(0.0),
    },
];

/// A number as the bits that kernels take it by.
fn bits_of(dtype: DType, number: f64) -> u32 {
    if dtype.is_real() { (number as f32).to_bits() } else { number as i64 as u32 }
}

fn inputs_of(expr: &Expr) -> Vec<TensorId> {
    let is_input = |id: &TensorId| matches!(expr.tensor(*id).op, TensorOp::Input(_));
    (0..expr.nodes.len() as u32).map(TensorId).filter(is_input).collect()
}

/// A recipe of the facade with sources in place of some inputs.
fn replaced(case: &RecordedCase, chosen: &[TensorId], source: Source) -> Recipe {
    let mut recipe = Recipe::decode(&case.tape).expect("a tape that is recorded");
    for id in chosen {
        let tensor = &mut recipe.expr.nodes[id.0 as usize];
        tensor.op = source(tensor.dtype, &tensor.shape);
    }
    recipe
}

/// Nodes of a recipe beyond which its tests take seconds: it is a transform of a large length, of operations that shorter ones have too.
const MOST_NODES: usize = 400;

/// Calls a test with each input of a recipe as a source, which is another one each time, and with all of them.
fn for_sources(case: &RecordedCase, mut test: impl FnMut(Recipe, &[TensorId])) {
    let recipe = Recipe::decode(&case.tape).expect("a tape that is recorded");
    if recipe.expr.nodes.len() > MOST_NODES {
        return;
    }
    let inputs = inputs_of(&recipe.expr);
    let mut choices: Vec<Vec<TensorId>> = inputs.iter().map(|id| vec![*id]).collect();
    if inputs.len() > 1 {
        choices.push(inputs);
    }
    for (turn, chosen) in choices.iter().enumerate() {
        eprintln!("{}: {chosen:?}", case.title);
        test(replaced(case, chosen, SOURCES[(case.title.len() + turn) % SOURCES.len()]), chosen);
    }
}

#[test]
fn every_input_of_every_operation_may_be_a_source() {
    let mut count = 0;
    for case in cases() {
        for_sources(&case, |Recipe { expr, results, .. }, _| {
            check(expr, &results, &case.inputs, &case.dims);
            count += 1;
        });
    }
    assert!(count > 600, "{count} recipes");
}

#[test]
fn derivatives_of_every_operation_by_and_of_sources_are_computed() {
    let mut count = 0;
    for case in cases() {
        for_sources(&case, |mut recipe, chosen| {
            let (expr, of) = (&mut recipe.expr, recipe.results[0]);
            if expr.dtype(of) != DType::F32 || case.title.starts_with("chain") {
                return;
            }
            let axes: Vec<u32> = (0..expr.shape(of).len() as u32).collect();
            let scalar = expr.reduce(Reduction::Sum, of, &axes);
            let leaves = [inputs_of(expr).as_slice(), chosen].concat();
            let leaves: Vec<TensorId> = leaves.into_iter().filter(|id| expr.dtype(*id) == DType::F32).collect();
            let slopes = leaves.iter().map(|leaf| expr.gradient(scalar, *leaf)).collect();
            recipe.results = slopes;
            if recipe.results.is_empty() {
                return;
            }
            differentiate(&mut recipe).expect("a recipe with derivatives");
            check(recipe.expr, &recipe.results, &case.inputs, &case.dims);
            count += 1;
        });
    }
    assert!(count > 400, "{count} recipes");
}

/// Operations of a tensor and a number.
const OPERATIONS: [E; 13] =
    [E::Add, E::Sub, E::Mul, E::Div, E::Mod, E::FloorMod, E::Pow, E::Minimum, E::Maximum, E::Eq, E::Ne, E::Lt, E::Ge];

#[test]
fn numbers_that_a_run_tells_give_the_bits_of_those_in_kernels_and_share_them() {
    for dtype in [DType::F32, DType::F16, DType::I32, DType::U32, DType::U8] {
        let signed = !matches!(dtype, DType::U32 | DType::U8);
        let data: Vec<f64> = [5.0, 0.0, 7.0, 3.0, 9.0, 1.0].map(|x| if signed { x - 3.0 } else { x }).to_vec();
        let numbers: &[f64] = match dtype {
            DType::F32 | DType::F16 => &[0.1, -2.5, 3.0, 7.0],
            DType::I32 => &[-7.0, 2.0, 3.0, 65537.0],
            DType::U32 | DType::U8 | DType::Bool => &[2.0, 3.0, 7.0, 200.0],
        };
        let mut expr = Expr::default();
        let x = expr.input(0, dtype, &shape(&[2, 3]));
        let of = |number: TensorId, expr: &mut Expr| -> Vec<TensorId> {
            OPERATIONS
                .iter()
                .flat_map(|op| [expr.elementwise(*op, &[x, number]), expr.elementwise(*op, &[number, x])])
                .collect()
        };
        let told =
            expr.push(Tensor { op: TensorOp::Number(Size::dim(0)), operands: Vec::new(), dtype, shape: Vec::new() });
        let by_run = of(told, &mut expr);
        let recipe = |results: Vec<TensorId>, expr: &Expr| Recipe {
            expr: expr.clone(),
            dims: vec![u32::MAX],
            results,
            assignments: Vec::new(),
        };
        let by_run = recipe(by_run, &expr);
        for number in numbers {
            let mut expr = expr.clone();
            let literal = expr.constant(*number, dtype);
            let in_kernels = of(literal, &mut expr);
            let in_kernels = recipe(in_kernels, &expr);
            let dims = [bits_of(dtype, *number)];
            for is_host in [true, false] {
                let target = Target { is_host, ..GPU };
                let [found, expected] = [&by_run, &in_kernels].map(|recipe| {
                    let plan = Plan::new(recipe, &target).expect("a recipe that plans");
                    let mut slots = vec![bytes_of(dtype, &data)];
                    if is_host {
                        execute_by(&plan, &dims, &mut slots, &crate::wasm::run_generated).expect("kernels that run")
                    } else {
                        for kernel in &plan.kernels {
                            let text =
                                crate::wgsl::write(kernel, &crate::wgsl::DeviceLimits::default()).expect("a kernel");
                            residua_portable::validated(&text.text);
                        }
                        execute(&plan, &dims, &mut slots).expect("kernels that run")
                    }
                });
                for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    let op = OPERATIONS[place / 2].name();
                    assert_eq!(found, expected, "host {is_host}: {op} of {} and {number}, {}", dtype.name(), place % 2);
                }
            }
        }
        // The reference rounds no halves.
        if dtype == DType::F16 {
            continue;
        }
        let Recipe { expr, results, .. } = by_run;
        check(expr, &results, &[data], &[bits_of(dtype, numbers[2])]);
    }
}
