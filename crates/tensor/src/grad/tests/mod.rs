//! Every rule and the rule of its result against central differences of the reference, kernels of these against the reference, and rules at
//! singular points.

use residua_ir::graph::{Graph, InputId, NodeId};

use super::*;
use crate::expr::{Array, evaluate};
use crate::fuse::Target;
use crate::plan::Plan;
use crate::plan::execute::{bytes_of, elements_of, execute};
use crate::tape::write;

mod attention;
mod custom;
mod fourier;
mod linalg;
mod rules;
mod singular;

/// What the dim of the shapes is.
const DIM: u32 = 3;

/// A shape; −1 is the dim.
fn sizes(shape: &[i64]) -> Vec<Size> {
    shape.iter().map(|extent| if *extent < 0 { Size::dim(0) } else { Size::constant(*extent) }).collect()
}

fn count(shape: &[i64]) -> usize {
    Size::product(&sizes(shape)).at(&[DIM]) as usize
}

/// Uniform in an interval; xorshift64*.
struct Random(u64);

impl Random {
    fn within(&mut self, (low, high): (f64, f64)) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let unit = (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64;
        low + (high - low) * unit
    }

    /// Numbers that are f32.
    fn numbers(&mut self, count: usize, interval: (f64, f64)) -> Vec<f64> {
        (0..count).map(|_| f64::from(self.within(interval) as f32)).collect()
    }
}

/// What makes a tensor of the inputs.
type Build<'a> = dyn Fn(&mut Expr, &[TensorId]) -> TensorId + 'a;

/// The sum of a tensor's products with weights, which a new slot holds.
fn weighted(expr: &mut Expr, x: TensorId, slot: u32) -> TensorId {
    let shape = expr.shape(x).to_vec();
    let weights = expr.input(slot, DType::F32, &shape);
    let x = expr.cast(x, DType::F32);
    let product = expr.elementwise(Elementwise::Mul, &[x, weights]);
    let axes: Vec<u32> = (0..shape.len() as u32).collect();
    expr.reduce(Reduction::Sum, product, &axes)
}

/// A recipe that was passed over a tape and differentiated.
fn differentiated(recipe: &Recipe) -> Recipe {
    let mut recipe = Recipe::decode(&write(recipe)).unwrap();
    differentiate(&mut recipe).unwrap();
    recipe.expr.check().unwrap();
    assert!(recipe.expr.nodes.iter().all(|tensor| !matches!(tensor.op, TensorOp::Gradient | TensorOp::CustomGradient)));
    recipe
}

/// The results of a recipe without gradients.
fn results(recipe: &Recipe, contents: &[Vec<f64>]) -> Vec<Array> {
    let values = evaluate(&recipe.expr, &[DIM], contents);
    recipe.results.iter().map(|id| values[id.0 as usize].clone()).collect()
}

/// Whether kernels for the GPU and for the host give what the reference gives.
fn assert_kernels(name: &str, recipe: &Recipe, contents: &[Vec<f64>]) {
    let recipe = differentiated(recipe);
    let is_slot = |tensor: &&Tensor, slot: usize| tensor.op == TensorOp::Input(slot as u32);
    let bytes = |(slot, numbers): (usize, &Vec<f64>)| {
        let tensor = recipe.expr.nodes.iter().find(|tensor| is_slot(tensor, slot)).unwrap();
        bytes_of(tensor.dtype, numbers)
    };
    // Up to some hundred roundings of 6e-8 in f32, on terms that partly cancel; a rounding to f16 is one of 5e-4.
    let is_half = recipe.expr.nodes.iter().any(|tensor| tensor.dtype == DType::F16);
    let tolerance = if is_half { 2e-3 } else { 1e-4 };
    for is_host in [false, true] {
        let target = Target { is_host, most_buffers: 8 };
        let plan = Plan::new(&recipe, &target).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut slots: Vec<Vec<u8>> = contents.iter().enumerate().map(bytes).collect();
        let found = execute(&plan, &[DIM], &mut slots).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (place, (bytes, expected)) in found.iter().zip(results(&recipe, contents)).enumerate() {
            let found = elements_of(DType::F32, bytes, expected.data.len());
            for (element, (found, expected)) in found.iter().zip(&expected.data).enumerate() {
                assert!(
                    (found - expected).abs() <= tolerance * (1.0 + expected.abs()),
                    "{name}: element {element} of result {place} is {found} by kernels, not {expected}"
                );
            }
        }
    }
}

/// Whether derivatives of a scalar, the first result of a recipe, by slots are those by differences; the derivatives are the other results.
fn assert_derivatives(name: &str, recipe: &Recipe, contents: &[Vec<f64>]) {
    let recipe = differentiated(recipe);
    let derivatives = results(&recipe, contents).split_off(1);
    // The scalar alone, without its derivatives.
    let count = recipe.results[0].0 as usize + 1;
    let nodes = recipe.expr.nodes[..count].to_vec();
    let scalar = Recipe { expr: Expr { nodes }, results: vec![recipe.results[0]], ..recipe };
    for (slot, found) in derivatives.iter().enumerate() {
        for element in 0..found.data.len() {
            let at = |x: f64| {
                let mut moved = contents.to_vec();
                moved[slot][element] = x;
                results(&scalar, &moved)[0].data[0]
            };
            let x = contents[slot][element];
            // A wide step: its error h⁴f⁽⁵⁾/30 is below 1e-8 for fifth derivatives up to 3e5, that of rounding ε|f|/h for |f| up to 1e4.
            let h = 1e-3;
            let expected = (8.0 * (at(x + h) - at(x - h)) - (at(x + 2.0 * h) - at(x - 2.0 * h))) / (12.0 * h);
            let found = found.data[element];
            assert!(
                (found - expected).abs() <= 1e-8 * (1.0 + expected.abs()),
                "{name}: derivative by element {element} of input {slot} is {found}, by differences {expected}"
            );
        }
    }
}

/// Checks first and second derivatives of a tensor by its first inputs, which are f32 of given shapes with numbers in given intervals. The
/// others have types and contents.
fn check(name: &str, reals: &[(&[i64], (f64, f64))], others: &[(DType, &[i64], &[f64])], build: &Build<'_>) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut expr = Expr::default();
    let mut contents: Vec<Vec<f64>> = Vec::new();
    let mut inputs = Vec::new();
    for (shape, interval) in reals {
        inputs.push(expr.input(inputs.len() as u32, DType::F32, &sizes(shape)));
        contents.push(random.numbers(count(shape), *interval));
    }
    for (dtype, shape, data) in others {
        inputs.push(expr.input(inputs.len() as u32, *dtype, &sizes(shape)));
        contents.push(data.to_vec());
    }
    let wrt = inputs[..reals.len()].to_vec();
    let y = build(&mut expr, &inputs);
    let scalar = weighted(&mut expr, y, contents.len() as u32);
    contents.push(random.numbers(Size::product(expr.shape(y)).at(&[DIM]) as usize, (0.5, 2.0)));
    let gradients: Vec<TensorId> = wrt.iter().map(|x| expr.gradient(scalar, *x)).collect();
    let results = [vec![scalar], gradients.clone()].concat();
    let mut recipe = Recipe { expr, dims: vec![DIM], results, assignments: Vec::new() };
    assert_derivatives(name, &recipe, &contents);
    assert_kernels(name, &recipe, &contents);

    let expr = &mut recipe.expr;
    let mut sum = expr.constant(0.0, DType::F32);
    for gradient in gradients {
        let term = weighted(expr, gradient, contents.len() as u32);
        sum = expr.elementwise(Elementwise::Add, &[sum, term]);
        contents.push(random.numbers(Size::product(expr.shape(gradient)).at(&[DIM]) as usize, (0.5, 2.0)));
    }
    let second = wrt.iter().map(|x| expr.gradient(sum, *x));
    recipe.results = [sum].into_iter().chain(second).collect();
    let name = format!("gradient of {name}");
    assert_derivatives(&name, &recipe, &contents);
    assert_kernels(&name, &recipe, &contents);
}

/// An operation that gives f32.
fn of(expr: &mut Expr, op: TensorOp, operands: &[TensorId], shape: &[i64]) -> TensorId {
    expr.push(Tensor { op, operands: operands.to_vec(), dtype: DType::F32, shape: sizes(shape) })
}

/// A merge rule on states.
fn rule(identity: &[f64], merge: impl FnOnce(&mut Graph, &[NodeId], &[NodeId]) -> Vec<NodeId>) -> Rc<Rule> {
    let count = identity.len();
    let mut graph = Graph::new();
    let nodes: Vec<NodeId> = (0..2 * count as u32).map(|input| graph.input(InputId(input))).collect();
    let results = merge(&mut graph, &nodes[..count], &nodes[count..]);
    Rc::new(Rule { identity: identity.to_vec(), merge: graph.check(2 * count as u32).unwrap(), results })
}
