//! Derivatives of recipes as recipes, by reverse accumulation.
//!
//! [`differentiate`] replaces every gradient by operations. Each operation has a rule (the other files of this folder), which makes the adjoints of
//! its operands from that of its result with operations of [`Expr`] alone, so that derivatives of derivatives need nothing more.
//!
//! No derivative passes through integers and bools, comparisons, roundings and [`Elementwise::StopGradient`]. Where a selection or a view leaves
//! elements out, their adjoints are zeros that no infinite partial turns into a NaN: such adjoints are *guarded*, and products with them are
//! [`Elementwise::GuardedMul`]. Minima and maxima share a derivative evenly among equal elements; cumulative ones give it to the last of them in
//! the order of the scan.

use std::rc::Rc;

use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_ir::autodiff::Passage;

use crate::dtype::DType;
use crate::expr::winograd::Convolution;
use crate::expr::{Elementwise, Expr, Reduction, Rule, Tensor, TensorId, TensorOp};
use crate::size::Size;
use crate::tape::Recipe;

mod accumulate;
mod attention;
mod custom;
mod elementwise;
mod fourier;
mod linalg;
mod product;
mod rule;
mod scalar;
mod selection;
mod sparse;
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;
mod views;

/// Replaces all gradients of a recipe. What a scalar does not depend on has derivative 0.
///
/// # Errors
/// [`ErrorCode::InvalidGraph`](residua_base::error::ErrorCode::InvalidGraph) if a merge rule of a fold or scan is not a graph of few enough
/// numbers to be differentiated.
pub fn differentiate(recipe: &mut Recipe) -> Result<()> {
    differentiate_on(recipe, true)
}

/// The same for the host or for a device, where the derivative of a convolution in tiles by its pictures is one, too.
///
/// # Errors
/// As [`differentiate`].
pub fn differentiate_on(recipe: &mut Recipe, is_host: bool) -> Result<()> {
    if recipe.expr.nodes.iter().all(|tensor| !matches!(tensor.op, TensorOp::Gradient | TensorOp::CustomGradient)) {
        return Ok(());
    }
    let recorded = std::mem::take(&mut recipe.expr);
    let tiles = if is_host { None } else { Some(recipe.dims.clone()) };
    let mut sweep = Sweep { tiles, ..Sweep::default() };
    // Where each recorded node stands now; of a gradient possibly before its turn.
    let mut places: Vec<Option<TensorId>> = vec![None; recorded.nodes.len()];
    for (position, tensor) in recorded.nodes.iter().enumerate() {
        if places[position].is_some() {
            continue;
        }
        if tensor.op == TensorOp::Gradient {
            sweep.replace(&recorded, tensor.operands[0], &mut places)?;
        } else {
            let operands = tensor.operands.iter().map(|id| moved(&places, *id)).list();
            places[position] = Some(sweep.expr.push(Tensor { operands, ..tensor.clone() }));
        }
    }
    for position in 0..sweep.expr.nodes.len() {
        let tensor = &sweep.expr.nodes[position];
        // A cast that changes nothing is a node of its own for derivatives alone.
        let is_cast = tensor.op == TensorOp::Elementwise(Elementwise::Cast);
        if tensor.op == TensorOp::CustomGradient || (is_cast && sweep.expr.dtype(tensor.operands[0]) == tensor.dtype) {
            let tensor = &mut sweep.expr.nodes[position];
            tensor.op = TensorOp::Reshape;
            tensor.operands.truncate(1);
        }
    }
    recipe.expr = sweep.expr;
    for result in &mut recipe.results {
        *result = moved(&places, *result);
    }
    for (_, value) in &mut recipe.assignments {
        *value = moved(&places, *value);
    }
    Ok(())
}

/// Where a recorded node stands, which comes before what is looked at.
fn moved(places: &[Option<TensorId>], id: TensorId) -> TensorId {
    places[id.0 as usize].unwrap_or(id)
}

/// The derivative of the scalar by a node, as far as it is known.
#[derive(Clone, Copy, Debug)]
struct Adjoint {
    /// Of the node's type and shape.
    node: TensorId,
    /// Whether its zeros say that an element is left out, so that they stay 0 in products with anything.
    guarded: bool,
}

/// Reverse sweeps over an expression that grows.
#[derive(Default)]
struct Sweep {
    expr: Expr,
    /// Rules of linear recurrences that were made, by the count of numbers.
    recurrences: Vec<(usize, Rc<Rule>)>,
    /// The largest dims, where convolutions may be in tiles.
    tiles: Option<Vec<u32>>,
}

impl Sweep {
    /// Makes the gradients of a scalar by all that the recording asks for.
    fn replace(&mut self, recorded: &Expr, scalar: TensorId, places: &mut [Option<TensorId>]) -> Result<()> {
        let is_of_scalar = |tensor: &Tensor| tensor.op == TensorOp::Gradient && tensor.operands[0] == scalar;
        let asked: Vec<(usize, TensorId)> = recorded
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, tensor)| is_of_scalar(tensor))
            .map(|(position, tensor)| (position, tensor.operands[1]))
            .list();
        // A scalar does not depend on what stands after it.
        let by: Vec<TensorId> = asked.iter().filter(|(_, by)| *by <= scalar).map(|(_, by)| moved(places, *by)).list();
        let adjoints = self.run(moved(places, scalar), &by)?;
        for (position, by) in asked {
            let known = if by <= scalar { adjoints[moved(places, by).0 as usize] } else { None };
            let tensor = &recorded.nodes[position];
            let zeros = || self.expr.full(0.0, tensor.dtype, &tensor.shape);
            places[position] = Some(known.map_or_else(zeros, |adjoint| adjoint.node));
        }
        Ok(())
    }

    /// The adjoints of the nodes up to a scalar, as far as these lead to one of `by`.
    fn run(&mut self, scalar: TensorId, by: &[TensorId]) -> Result<Vec<Option<Adjoint>>> {
        let active = self.active(scalar, by);
        let mut adjoints: Vec<Option<Adjoint>> = vec![None; active.len()];
        let (dtype, shape) = (self.expr.dtype(scalar), self.expr.shape(scalar).to_vec());
        adjoints[scalar.0 as usize] = Some(Adjoint { node: self.expr.full(1.0, dtype, &shape), guarded: false });
        for position in (0..active.len()).rev().filter(|position| active[*position]) {
            let Some(adjoint) = adjoints[position] else { continue };
            let result = TensorId(position as u32);
            let operands = self.expr.tensor(result).operands.clone();
            let mut wanted: Vec<bool> = (0..operands.len())
                .map(|place| active[operands[place].0 as usize] && passes(&self.expr, result, place))
                .list();
            if !wanted.contains(&true) {
                continue;
            }
            if wanted[operands.len() - 1]
                && let Some((pictures, node)) = self.by_pictures(result, adjoint.node, by)
            {
                // Windows leave nothing out, but for what padding takes away.
                self.add(&mut adjoints, pictures, Adjoint { node, guarded: true });
                wanted[1] = false;
            }
            let mut pull_back = PullBack { sweep: self, result, operands: &operands, adjoint, wanted: &wanted };
            for (operand, share) in operands.iter().zip(pull_back.shares()?) {
                let Some(share) = share else { continue };
                self.add(&mut adjoints, *operand, share);
            }
        }
        Ok(adjoints)
    }

    /// Adds a share to the adjoint of a node.
    fn add(&mut self, adjoints: &mut [Option<Adjoint>], id: TensorId, share: Adjoint) {
        let sum = &mut adjoints[id.0 as usize];
        *sum = Some(match *sum {
            None => share,
            Some(known) => Adjoint {
                node: self.expr.elementwise(Elementwise::Add, &[known.node, share.node]),
                guarded: known.guarded && share.guarded,
            },
        });
    }

    /// The pictures of a convolution whose derivative by them takes less time in tiles, and their share of its adjoint. None where a derivative by
    /// something between them and the convolution is asked for.
    fn by_pictures(&mut self, result: TensorId, adjoint: TensorId, by: &[TensorId]) -> Option<(TensorId, TensorId)> {
        let most_dims = self.tiles.as_ref()?;
        let tensor = self.expr.tensor(result);
        let convolution =
            Convolution::of(&self.expr, tensor, &tensor.operands).filter(|_| tensor.op == TensorOp::MatMul)?;
        let mut id = tensor.operands[1];
        while id != convolution.pictures {
            if by.contains(&id) {
                return None;
            }
            id = self.expr.tensor(id).operands[0];
        }
        convolution.tiles_turned(most_dims)?;
        Some((convolution.pictures, convolution.by_pictures(&mut self.expr, adjoint)))
    }

    /// Whether each node up to the scalar has a derivative by one of `by`.
    fn active(&self, scalar: TensorId, by: &[TensorId]) -> Vec<bool> {
        let mut active = vec![false; scalar.0 as usize + 1];
        for id in by {
            active[id.0 as usize] = true;
        }
        for position in 0..active.len() {
            let id = TensorId(position as u32);
            let operands = self.expr.tensor(id).operands.iter().enumerate();
            let mut open = operands.filter(|(place, _)| passes(&self.expr, id, *place));
            active[position] = active[position] || open.any(|(_, operand)| active[operand.0 as usize]);
        }
        active
    }
}

/// Whether a derivative passes from a node to the operand at a place.
fn passes(expr: &Expr, id: TensorId, place: usize) -> bool {
    let tensor = expr.tensor(id);
    let is_open = match tensor.op {
        TensorOp::Elementwise(op) => scalar::passage_of(op, place) != Passage::Closed,
        // Pairs of what there is a derivative by and its adjoint follow the first two.
        TensorOp::CustomGradient => place >= 2 && place.is_multiple_of(2),
        _ => true,
    };
    is_open && tensor.dtype.is_real() && expr.dtype(tensor.operands[place]).is_real()
}

/// What indices name.
#[derive(Clone, Copy)]
enum Places {
    /// An element each.
    Elements,
    /// A slice each; the indices are a vector.
    Slices,
}

/// What the operands of a node get of its adjoint.
type Shares = Vec<Option<Adjoint>>;

/// An operation with the adjoint of its result.
struct PullBack<'a> {
    sweep: &'a mut Sweep,
    result: TensorId,
    operands: &'a [TensorId],
    adjoint: Adjoint,
    /// Which operands need a share.
    wanted: &'a [bool],
}

impl PullBack<'_> {
    fn shares(&mut self) -> Result<Shares> {
        let op = self.sweep.expr.tensor(self.result).op.clone();
        let adjoint = self.adjoint.node;
        Ok(match op {
            TensorOp::Elementwise(op) => self.elementwise(op),
            TensorOp::Reshape => {
                let shape = self.shape(0);
                let node = self.expr().reshape(adjoint, &shape);
                self.only(node)
            }
            TensorOp::Expand => {
                let node = self.sum_to(adjoint, 0);
                self.only(node)
            }
            TensorOp::Permute(axes) => {
                let node = self.expr().permute_back(adjoint, &axes);
                self.only(node)
            }
            TensorOp::Slice { starts, steps } => self.slice(&starts, &steps),
            TensorOp::SetSlice { starts, .. } => self.set_slice(&starts),
            TensorOp::Pad { before, border } => self.pad(&before, border),
            TensorOp::Concat(axis) => self.concat(axis),
            TensorOp::Windows { axis, step, dilation } => self.windows(axis, step, dilation),
            TensorOp::Gather(axis) => self.gather(axis),
            TensorOp::GatherElements(axis) => self.gather_elements(axis),
            TensorOp::Reduce(reduction, axes) => self.reduce(reduction, &axes),
            TensorOp::Scan { reduction, axis, exclusive, reverse } => self.scan(reduction, axis, exclusive, reverse)?,
            TensorOp::Fold { rule, axes, result } => self.fold(&rule, &axes, result)?,
            TensorOp::ScanBy { rule, axis, exclusive, reverse, result } => {
                self.scan_by(&rule, axis, [exclusive, reverse], result)?
            }
            TensorOp::MatMul => self.product(),
            TensorOp::Attention(attention) => self.attention(&attention),
            TensorOp::Fourier(fourier) => self.fourier(&fourier),
            TensorOp::Scatter(axis, combine) => self.put(axis, combine, Places::Elements),
            TensorOp::IndexPut(axis, combine) => self.put(axis, combine, Places::Slices),
            TensorOp::Linalg(kind) => self.linalg(kind),
            TensorOp::SparseProduct => self.sparse_product(),
            TensorOp::CustomGradient => self.custom(),
            TensorOp::Input(_)
            | TensorOp::Constant(_)
            | TensorOp::Extent(_)
            | TensorOp::Number(_)
            | TensorOp::Iota(_)
            | TensorOp::RandomBits(_)
            | TensorOp::Argsort { .. }
            // Quantised weights are constants.
            | TensorOp::Dequantize(_) => Vec::new(),
            TensorOp::DigitCounts(_) | TensorOp::DigitSort(_) | TensorOp::Roots(_) | TensorOp::RangeSum(_) => {
                return Err(Error::internal("an operation that planning makes, before it"));
            }
            TensorOp::Gradient => return Err(Error::internal("a gradient that is left while another is made")),
        })
    }

    fn expr(&mut self) -> &mut Expr {
        &mut self.sweep.expr
    }

    /// The shape of an operand.
    fn shape(&self, place: usize) -> Vec<Size> {
        self.sweep.expr.shape(self.operands[place]).to_vec()
    }

    /// The type of the result.
    fn dtype(&self) -> DType {
        self.sweep.expr.dtype(self.result)
    }

    /// The share of a single operand, whose zeros mean what those of the adjoint do.
    fn only(&self, node: TensorId) -> Shares {
        vec![Some(Adjoint { node, guarded: self.adjoint.guarded })]
    }

    /// The share of a single operand, parts of which are left out.
    fn only_guarded(&self, node: TensorId) -> Shares {
        vec![Some(Adjoint { node, guarded: true })]
    }

    /// A number as a scalar of the result's type.
    fn number(&mut self, number: f64) -> TensorId {
        let dtype = self.dtype();
        self.expr().constant(number, dtype)
    }

    fn apply(&mut self, op: Elementwise, operands: &[TensorId]) -> TensorId {
        self.expr().elementwise(op, operands)
    }

    /// A number times a tensor.
    fn scaled(&mut self, factor: f64, x: TensorId) -> TensorId {
        let factor = self.number(factor);
        self.apply(Elementwise::Mul, &[factor, x])
    }

    /// What comes of the adjoint, times a factor.
    fn times(&mut self, adjoint: TensorId, factor: TensorId) -> TensorId {
        let op = if self.adjoint.guarded { Elementwise::GuardedMul } else { Elementwise::Mul };
        self.apply(op, &[adjoint, factor])
    }

    /// Where a condition holds, else 0.
    fn where_holds(&mut self, condition: TensorId, x: TensorId) -> TensorId {
        let dtype = self.sweep.expr.dtype(x);
        let zero = self.expr().constant(0.0, dtype);
        self.apply(Elementwise::Select, &[condition, x, zero])
    }

    /// Summed over the axes along which an operand was repeated.
    fn sum_to(&mut self, x: TensorId, place: usize) -> TensorId {
        let (from, to) = (self.sweep.expr.shape(x).to_vec(), self.shape(place));
        let added = from.len() - to.len();
        let is_repeated = |axis: &usize| *axis < added || (to[axis - added].is(1) && !from[*axis].is(1));
        let axes: Vec<u32> = (0..from.len()).filter(is_repeated).map(|axis| axis as u32).list();
        let sum = if axes.is_empty() { x } else { self.expr().reduce(Reduction::Sum, x, &axes) };
        self.expr().reshape(sum, &to)
    }
}
