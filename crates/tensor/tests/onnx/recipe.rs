//! Recipes of cases: inputs are slots, in the order of the case.

use residua_tensor::dtype::DType;
use residua_tensor::expr::{Elementwise, Expr, Reduction, Tensor, TensorId, TensorOp};
use residua_tensor::size::Size;
use residua_tensor::tape::Recipe;

use crate::case::Case;

/// A shape of numbers.
pub fn sizes(shape: &[i64]) -> Vec<Size> {
    shape.iter().map(|extent| Size::constant(*extent)).collect()
}

/// A recipe that is being made.
pub struct Builder<'a> {
    pub case: &'a Case,
    pub expr: Expr,
    inputs: Vec<Option<TensorId>>,
}

impl Builder<'_> {
    pub fn new(case: &Case) -> Builder<'_> {
        Builder { case, expr: Expr::default(), inputs: vec![None; case.inputs.len()] }
    }

    /// The recipe and the contents of its slots.
    pub fn finish(self, results: Vec<TensorId>) -> (Recipe, Vec<Vec<f64>>) {
        let contents =
            self.case.inputs.iter().map(|input| input.as_ref().map(|data| data.numbers.clone()).unwrap_or_default());
        let recipe = Recipe { expr: self.expr, dims: Vec::new(), results, assignments: Vec::new() };
        (recipe, contents.collect())
    }

    /// An input as a tensor, once.
    pub fn input(&mut self, place: usize) -> TensorId {
        if let Some(known) = self.inputs[place] {
            return known;
        }
        let data = self.case.input(place).expect("the operator has this input");
        let input = self.expr.input(place as u32, data.dtype, &sizes(&data.shape));
        self.inputs[place] = Some(input);
        input
    }

    pub fn has(&self, place: usize) -> bool {
        self.case.input(place).is_some()
    }

    pub fn shape(&self, x: TensorId) -> Vec<i64> {
        self.expr.shape(x).iter().map(|size| size.known().expect("shapes of cases are numbers")).collect()
    }

    pub fn rank(&self, x: TensorId) -> i64 {
        self.expr.shape(x).len() as i64
    }

    /// A number of a tensor's type.
    pub fn number(&mut self, number: f64, like: TensorId) -> TensorId {
        let dtype = self.expr.dtype(like);
        self.expr.constant(number, dtype)
    }

    pub fn apply(&mut self, op: Elementwise, operands: &[TensorId]) -> TensorId {
        self.expr.elementwise(op, operands)
    }

    /// An operation on a tensor and a number.
    pub fn with(&mut self, op: Elementwise, x: TensorId, number: f64) -> TensorId {
        let number = self.number(number, x);
        self.apply(op, &[x, number])
    }

    /// a where the condition holds, else b.
    pub fn select(&mut self, condition: TensorId, a: TensorId, b: TensorId) -> TensorId {
        self.apply(Elementwise::Select, &[condition, a, b])
    }

    pub fn keeping(&mut self, reduction: Reduction, x: TensorId, axes: &[u32]) -> TensorId {
        self.expr.reduce_keeping(reduction, x, axes)
    }

    /// The mean over axes, which stay with extent 1.
    pub fn mean(&mut self, x: TensorId, axes: &[u32]) -> TensorId {
        let count: i64 = axes.iter().map(|axis| self.shape(x)[*axis as usize]).product();
        let sum = self.keeping(Reduction::Sum, x, axes);
        self.with(Elementwise::Div, sum, count as f64)
    }

    /// Any operation of the type of its first operand.
    pub fn push(&mut self, op: TensorOp, operands: &[TensorId], shape: &[i64]) -> TensorId {
        let dtype = self.expr.dtype(operands[0]);
        self.expr.push(Tensor { op, operands: operands.to_vec(), dtype, shape: sizes(shape) })
    }

    /// The coordinate along an axis, of the type i32.
    pub fn places(&mut self, axis: usize, shape: &[i64]) -> TensorId {
        self.expr.iota(axis as u32, DType::I32, &sizes(shape))
    }

    pub fn reshape(&mut self, x: TensorId, shape: &[i64]) -> TensorId {
        self.expr.reshape(x, &sizes(shape))
    }

    /// The axis of an attribute, which may count from the end.
    pub fn axis(&self, default: i64, rank: i64) -> u32 {
        self.case.integer("axis", default).rem_euclid(rank.max(1)) as u32
    }

    /// The shape of an output of the case.
    pub fn output_shape(&self, place: usize) -> Vec<i64> {
        self.case.outputs[place].shape.clone()
    }
}
