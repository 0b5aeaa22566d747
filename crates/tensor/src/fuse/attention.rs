//! Kernels of attention: tiles of queries and keys for prompts; blocks of keys, and a merge of their states, for few queries.

use std::rc::Rc;

use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_ir::graph::{Graph as RuleGraph, InputId, Op as Real};

use super::build::{Buffers, Built, Destinations, Write, coordinates, extent, extents, name, roots_of, writes};
use crate::dtype::DType;
use crate::expr::{Attention as Of, Expr, Rule, TensorId, TensorOp};
use crate::kernel::{Attention, AttentionSchedule, Body, CausalMask, Combine, Fold, Rows, SizeBounds};
use crate::lower::merge::{Merged, merge};
use crate::lower::{ElementIndex, Lowering, Memory};
use crate::scalar::{Id, Type, TypedOp};
use crate::size::Size;

/// The kernels of attention. Where dims decide how many queries there are, those for few stand beside the one for many.
pub fn attention(
    expr: &Expr,
    stored: &[bool],
    id: TensorId,
    destinations: Destinations,
    most_dims: &[u32],
    scratch: &mut u32,
) -> Result<Vec<Built>> {
    let parts = Parts { expr, stored, id, destinations };
    let shape = &expr.tensor(id).shape;
    let queries = &shape[shape.len() - 2];
    let least = queries.known().unwrap_or(0);
    let most = queries.at(most_dims);
    let few = i64::from(Attention::MOST_QUERIES);
    let mut built = Vec::new();
    if least <= few {
        let blocks = parts.blocks(most_dims)?;
        built.push(parts.kernel(AttentionSchedule::Blocks, Some((*scratch, blocks)))?);
        built.push(parts.merged(*scratch, blocks)?);
        *scratch += 3;
    }
    if most > few {
        built.push(parts.kernel(AttentionSchedule::Tiles, None)?);
    }
    if queries.known().is_none() {
        for built in &mut built {
            let is_tiles = matches!(&built.kernel.body, Body::Attention(of) if of.schedule == AttentionSchedule::Tiles);
            let (least, most) =
                if is_tiles { (Attention::MOST_QUERIES + 1, u32::MAX) } else { (0, Attention::MOST_QUERIES) };
            built.kernel.guard = Some(SizeBounds { size: queries.clone(), least, most });
        }
    }
    Ok(built)
}

/// What kernels of one attention are made from.
struct Parts<'a> {
    expr: &'a Expr,
    stored: &'a [bool],
    id: TensorId,
    destinations: Destinations<'a>,
}

/// A point: coordinates of the axes of the batch with that of the head, and of the head of the keys.
struct Heads {
    /// Of the queries.
    own: Vec<Id>,
    /// Of keys and values.
    shared: Vec<Id>,
    /// Extents of the axes of the batch that are longer than 1.
    axes: Vec<Size>,
}

impl Parts<'_> {
    fn of(&self) -> Result<&Of> {
        match &self.expr.tensor(self.id).op {
            TensorOp::Attention(of) => Ok(of),
            _ => Err(Error::internal("kernels of attention for another operation")),
        }
    }

    /// The shape of an operand.
    fn shape(&self, place: usize) -> &[Size] {
        &self.expr.tensor(self.expr.tensor(self.id).operands[place]).shape
    }

    /// How many blocks of keys there are at most.
    fn blocks(&self, most_dims: &[u32]) -> Result<u32> {
        let shape = self.shape(1);
        let keys = shape[shape.len() - 2].at(most_dims).max(0) as u64;
        u32::try_from(keys.div_ceil(u64::from(Attention::BLOCK))).map_err(|_| Error::internal("too many keys"))
    }

    /// The axes of the batch; heads of a group have an axis of their own.
    fn heads(&self, lowering: &mut Lowering) -> Heads {
        let operands = &self.expr.tensor(self.id).operands;
        let shape = self.shape(0);
        let leading = &shape[..shape.len() - 3];
        let heads = shape[shape.len() - 3].clone();
        let shared = self.shape(1)[shape.len() - 3].clone();
        let Some(group) = self.expr.heads_of_a_group(operands) else {
            let all = [leading, &[heads]].concat();
            let (own, axes) = coordinates(lowering, &all, 0);
            return Heads { shared: own.clone(), own, axes };
        };
        let group = Size::constant(group);
        let all = [leading, &[shared, group.clone()]].concat();
        let (at, axes) = coordinates(lowering, &all, 0);
        let batch = &at[..leading.len()];
        let (key_head, within) = (at[leading.len()], at[leading.len() + 1]);
        let group = lowering.size(&group);
        let first = lowering.graph.apply(TypedOp::IntMul, &[key_head, group]);
        let head = lowering.graph.apply(TypedOp::IntAdd, &[first, within]);
        Heads { own: [batch, &[head]].concat(), shared: [batch, &[key_head]].concat(), axes }
    }

    /// The kernel of a schedule; for blocks the first of three pieces of scratch memory, and how many blocks there are at most.
    fn kernel(&self, schedule: AttentionSchedule, scratch: Option<(u32, u32)>) -> Result<Built> {
        let of = self.of()?.clone();
        let tensor = self.expr.tensor(self.id);
        let mut lowering = Lowering::of(self.expr, self.stored);
        let heads = self.heads(&mut lowering);
        let first = heads.axes.len() as u32;
        let [query, key, place, block] = [0, 1, 2, 3].map(|axis| lowering.graph.coordinate(first + axis));
        let mut factor = |operand: usize, heads: &[Id], row: Id| {
            let at = [heads, &[row, place]].concat();
            lowering.value(tensor.operands[operand], ElementIndex::Coordinates(at))
        };
        let factors = [factor(0, &heads.own, query)?, factor(1, &heads.shared, key)?, factor(2, &heads.shared, key)?];
        let score = self.score(&mut lowering, &of, &heads.own, [query, key])?;
        let shape = self.shape(0).to_vec();
        let rank = shape.len();
        let (queries, keys) = (shape[rank - 2].clone(), self.shape(1)[rank - 2].clone());
        let (size, width) = (shape[rank - 1].clone(), tensor.shape[rank - 1].clone());
        let mut all = Vec::new();
        let element = lowering.graph.folded(1, 0, Type::F32);
        match scratch {
            None => {
                let at = [heads.own.as_slice(), &[query, place]].concat();
                writes(&mut lowering, self.id, &at, element, self.destinations, &mut all);
            }
            Some((scratch, blocks)) => {
                let blocks = Size::constant(i64::from(blocks));
                let of_rows = [&tensor.shape[..rank - 1], &[blocks]].concat();
                let at = [heads.own.as_slice(), &[query, block]].concat();
                let state = lowering.linear_of(&at, &of_rows);
                let width = lowering.size(&width);
                let of_vectors = lowering.graph.apply(TypedOp::IntMul, &[state, width]);
                let index = lowering.graph.apply(TypedOp::IntAdd, &[of_vectors, place]);
                for (result, index) in [index, state, state].into_iter().enumerate() {
                    let value = lowering.graph.folded(1, result as u32, Type::F32);
                    let memory = Memory::Scratch(scratch + result as u32);
                    all.push(Write { memory, dtype: DType::F32, index, value });
                }
            }
        }
        let roots = [factors.as_slice(), &[score], &roots_of(&all)].concat();
        let groups = [heads.axes, vec![queries], vec![keys], vec![width.clone()], vec![Size::default()]];
        let Merged { graph, mut sizes, groups, roots } = merge(&lowering.graph, &lowering.sizes, &groups, &roots);
        let mut buffers = Buffers::of(&lowering);
        let elements = buffers.stores(&all, &roots[4..]);
        let known = |size: &Size| size.known().and_then(|size| u32::try_from(size).ok());
        let (Some(size), Some(width)) = (known(&size), known(&width)) else {
            return Err(Error::internal("sizes of heads that depend on dims"));
        };
        let limits =
            of.has_limits().then(|| CausalMask { position: extent(&of.position, &mut sizes), window: of.window });
        let body = Attention {
            batch: extents(&groups[0], &mut sizes),
            queries: extent(&groups[1][0], &mut sizes),
            keys: extent(&groups[2][0], &mut sizes),
            size,
            width,
            query: roots[0],
            key: roots[1],
            value: roots[2],
            score: roots[3],
            limits,
            elements,
            schedule,
        };
        let prefix = match schedule {
            AttentionSchedule::Tiles => "attention",
            AttentionSchedule::Blocks => "attention_of_blocks",
        };
        Ok(buffers.built(self.name(prefix), sizes, graph, Body::Attention(body)))
    }

    /// The score of a query and a key from their product.
    fn score(&self, lowering: &mut Lowering, of: &Of, heads: &[Id], [query, key]: [Id; 2]) -> Result<Id> {
        let operands = &self.expr.tensor(self.id).operands;
        let product = lowering.graph.folded(0, 0, Type::F32);
        let scale = lowering.graph.f32(of.scale as f32);
        let mut score = lowering.graph.real(Real::Mul, &[product, scale]);
        if let Some(cap) = of.softcap {
            let cap = lowering.graph.f32(cap as f32);
            let quotient = lowering.graph.real(Real::Div, &[score, cap]);
            let bounded = lowering.graph.real(Real::Tanh, &[quotient]);
            score = lowering.graph.real(Real::Mul, &[bounded, cap]);
        }
        let nothing = lowering.graph.f32(Attention::LEAST_SCORE);
        if let Some(mask) = operands.get(3) {
            let shape = self.expr.tensor(*mask).shape.clone();
            let all = [heads, &[query, key]].concat();
            let zero = lowering.graph.u32(0);
            let own = all[all.len() - shape.len()..].iter().zip(&shape);
            let at = own.map(|(at, extent)| if extent.is(1) { zero } else { *at }).list();
            let term = lowering.value(*mask, ElementIndex::Coordinates(at))?;
            score = match lowering.graph.ty(term) {
                Type::Bool => lowering.graph.apply(TypedOp::Select, &[term, score, nothing]),
                _ => lowering.graph.real(Real::Add, &[score, term]),
            };
        }
        Ok(score)
    }

    /// The kernel that merges the states of blocks.
    fn merged(&self, scratch: u32, blocks: u32) -> Result<Built> {
        let shape = &self.expr.tensor(self.id).shape;
        let rank = shape.len();
        let mut lowering = Lowering::of(self.expr, self.stored);
        let (at, axes) = coordinates(&mut lowering, shape, 0);
        let block = lowering.graph.coordinate(axes.len() as u32);
        let count = Size::constant(i64::from(blocks));
        let of_rows = [&shape[..rank - 1], std::slice::from_ref(&count)].concat();
        let state = lowering.linear_of(&[&at[..rank - 1], &[block]].concat(), &of_rows);
        let width = lowering.size(&shape[rank - 1]);
        let of_vectors = lowering.graph.apply(TypedOp::IntMul, &[state, width]);
        let vector = lowering.graph.apply(TypedOp::IntAdd, &[of_vectors, at[rank - 1]]);
        let mut operands = Vec::new();
        for (number, index) in [vector, state, state].into_iter().enumerate() {
            let buffer = lowering.buffer(Memory::Scratch(scratch + number as u32), DType::F32);
            operands.push(lowering.graph.load(buffer, index, Type::F32));
        }
        // Blocks beyond the last key are not written.
        let length = lowering.graph.u32(Attention::BLOCK);
        let start = lowering.graph.apply(TypedOp::IntMul, &[block, length]);
        let keys = lowering.size(&self.shape(1)[rank - 2].clone());
        let valid = lowering.graph.apply(TypedOp::Lt, &[start, keys]);
        let [sum, total] = [0, 2].map(|result| lowering.graph.folded(0, result, Type::F32));
        let zero = lowering.graph.f32(0.0);
        let is_none = lowering.graph.apply(TypedOp::Eq, &[total, zero]);
        let quotient = lowering.graph.real(Real::Div, &[sum, total]);
        let value = lowering.graph.apply(TypedOp::Select, &[is_none, zero, quotient]);
        let mut all = Vec::new();
        writes(&mut lowering, self.id, &at, value, self.destinations, &mut all);
        let roots = [operands.as_slice(), &[valid], &roots_of(&all)].concat();
        let groups = [axes, vec![count]];
        let Merged { graph, mut sizes, groups, roots } = merge(&lowering.graph, &lowering.sizes, &groups, &roots);
        let mut buffers = Buffers::of(&lowering);
        let results = buffers.stores(&all, &roots[4..]);
        let rule = Rc::new(merge_of_states()?);
        let fold =
            Fold { combine: Combine::By(rule), operands: roots[..3].to_vec(), merges_states: true, keeps_state: true };
        let body = Rows {
            outer: extents(&groups[0], &mut sizes),
            row: groups[1].iter().map(|size| extent(size, &mut sizes)).list(),
            valid: Some(roots[3]),
            folds: vec![fold],
            elements: Vec::new(),
            results,
        };
        Ok(buffers.built(self.name("attention_merge"), sizes, graph, Body::Rows(body)))
    }

    fn name(&self, prefix: &str) -> String {
        name(self.expr, self.stored, prefix, &[self.id])
    }
}

/// How states of two blocks merge: sums are scaled by the exponential of how much less the largest score of their block is than that of both.
fn merge_of_states() -> Result<Rule> {
    let mut graph = RuleGraph::new();
    let inputs: Vec<_> = (0..6).map(|input| graph.input(InputId(input))).list();
    let most = graph.apply(Real::Max, &[inputs[1], inputs[4]]);
    let mut sums: Option<[_; 2]> = None;
    for state in inputs.chunks_exact(3) {
        let difference = graph.apply(Real::Sub, &[state[1], most]);
        let factor = graph.apply(Real::Exp, &[difference]);
        let scaled = [state[0], state[2]].map(|sum| graph.apply(Real::Mul, &[sum, factor]));
        sums = Some(match sums {
            None => scaled,
            Some(earlier) => [0, 1].map(|place: usize| graph.apply(Real::Add, &[earlier[place], scaled[place]])),
        });
    }
    let [sum, total] = sums.ok_or_else(|| Error::internal("a merge of no states"))?;
    let identity = vec![0.0, f64::from(Attention::LEAST_SCORE), 0.0];
    Ok(Rule { identity, merge: graph.check(6)?, results: vec![sum, most, total] })
}
