//! Attention: softmax(q kᵀ · scale + mask) v for each head, and its composition of products, elementwise operations and reductions.
//!
//! Queries are [..., heads, m, d], keys [..., key heads, n, d], values [..., key heads, n, e]; consecutive heads of a group share the keys of
//! one key head. A mask broadcasts to [..., heads, m, n].

use super::{Elementwise, Expr, Reduction, Tensor, TensorId, TensorOp};
use crate::dtype::DType;
use crate::size::Size;

/// Which keys a query sees, and what becomes of a score before the softmax. A query that sees no key gives 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// Whether query i sees the keys up to position + i alone.
    pub causal: bool,
    /// The place of the first query among the keys; it may be negative.
    pub position: Size,
    /// Factor of the products of queries and keys.
    pub scale: f64,
    /// Query i sees the keys from position + i − window to position + i alone.
    pub window: Option<u32>,
    /// Scores s become c · tanh(s / c) before the mask.
    pub softcap: Option<f64>,
}

impl Attention {
    /// Whether the places of a query and a key decide whether the one sees the other.
    pub fn has_limits(&self) -> bool {
        self.causal || self.window.is_some()
    }

    /// Whether a query at a place of the keys' axis sees the key at another.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn sees(&self, query: i64, key: i64) -> bool {
        (!self.has_limits() || key <= query) && self.window.is_none_or(|window| key >= query - i64::from(window))
    }
}

/// The composition up to the weights of the keys. With groups all have an axis more, the heads of a group; its extent is 1 for keys.
pub struct Weights {
    /// The queries.
    pub queries: TensorId,
    /// The keys.
    pub keys: TensorId,
    /// tanh(s / c), where there is a softcap.
    pub capped: Option<TensorId>,
    /// The weights, [..., m, n].
    pub weights: TensorId,
}

impl Expr {
    /// Attention of [q, k, v] or [q, k, v, mask].
    pub fn attention(&mut self, attention: Attention, operands: &[TensorId]) -> TensorId {
        let mut shape = self.shape(operands[0]).to_vec();
        shape.pop();
        shape.extend(self.shape(operands[2]).last().cloned());
        self.push(Tensor { op: TensorOp::Attention(attention), operands: operands.to_vec(), dtype: DType::F32, shape })
    }

    /// The composition of other operations that attention is.
    pub fn composed_attention(&mut self, attention: &Attention, operands: &[TensorId]) -> TensorId {
        let mut shape = self.shape(operands[0]).to_vec();
        shape.pop();
        shape.extend(self.shape(operands[2]).last().cloned());
        let heads = self.heads_of_a_group(operands);
        let Weights { weights, .. } = self.attention_weights(attention, operands);
        let values = self.shared_by_groups(operands[2], heads);
        let product = self.matmul(weights, values, DType::F32);
        self.reshape(product, &shape)
    }

    /// How many heads share the keys of one; none where each has its own.
    pub fn heads_of_a_group(&self, operands: &[TensorId]) -> Option<i64> {
        let heads = |id: TensorId| self.shape(id).iter().rev().nth(2).cloned();
        let (own, shared) = (heads(operands[0])?, heads(operands[1])?);
        if own == shared { None } else { Some(own.known()? / shared.known()?.max(1)) }
    }

    /// A tensor of all heads with an axis for the heads of a group.
    pub fn in_groups(&mut self, x: TensorId, heads: Option<i64>) -> TensorId {
        let Some(heads) = heads else { return x };
        let mut shape = self.shape(x).to_vec();
        let axis = shape.len() - 3;
        let all = shape[axis].known().unwrap_or(heads);
        // What repeats along the heads repeats along both axes.
        let parts = if all == 1 { [1, 1] } else { [all / heads, heads] };
        shape.splice(axis..=axis, parts.map(Size::constant));
        self.reshape(x, &shape)
    }

    /// A tensor of key heads with an axis that repeats for the heads of a group.
    pub fn shared_by_groups(&mut self, x: TensorId, heads: Option<i64>) -> TensorId {
        if heads.is_none() {
            return x;
        }
        let mut shape = self.shape(x).to_vec();
        shape.insert(shape.len() - 2, Size::constant(1));
        self.reshape(x, &shape)
    }

    /// The weights of the keys for each query: softmax of the scores, and 0 for all keys where a query sees none.
    pub fn attention_weights(&mut self, attention: &Attention, operands: &[TensorId]) -> Weights {
        let heads = self.heads_of_a_group(operands);
        let queries = self.in_groups(operands[0], heads);
        let keys = self.shared_by_groups(operands[1], heads);
        let turned = self.transpose(keys);
        let product = self.matmul(queries, turned, DType::F32);
        let mut scores = self.with_number(Elementwise::Mul, product, attention.scale);
        let mut capped = None;
        if let Some(cap) = attention.softcap {
            let quotient = self.with_number(Elementwise::Div, scores, cap);
            let bounded = self.elementwise(Elementwise::Tanh, &[quotient]);
            capped = Some(bounded);
            scores = self.with_number(Elementwise::Mul, bounded, cap);
        }
        let nothing = self.constant(f64::NEG_INFINITY, DType::F32);
        if let Some(mask) = operands.get(3) {
            let mask = if self.shape(*mask).len() < 3 { *mask } else { self.in_groups(*mask, heads) };
            scores = if self.dtype(mask) == DType::Bool {
                self.elementwise(Elementwise::Select, &[mask, scores, nothing])
            } else {
                self.elementwise(Elementwise::Add, &[scores, mask])
            };
        }
        if let Some(sees) = self.limits(attention, scores) {
            scores = self.elementwise(Elementwise::Select, &[sees, scores, nothing]);
        }
        let weights = self.guarded_softmax(scores);
        Weights { queries, keys, capped, weights }
    }

    /// Whether a query sees a key by their places, [m, n] for scores [..., m, n]; none where it always does.
    fn limits(&mut self, attention: &Attention, scores: TensorId) -> Option<TensorId> {
        if !attention.has_limits() {
            return None;
        }
        let shape = self.shape(scores);
        let shape = shape[shape.len() - 2..].to_vec();
        let [query, key] = [0, 1].map(|axis| self.iota(axis, DType::I32, &shape));
        let position = self.extent(&attention.position, DType::I32);
        let place = self.elementwise(Elementwise::Add, &[query, position]);
        let sees = self.elementwise(Elementwise::Le, &[key, place]);
        let Some(window) = attention.window else { return Some(sees) };
        let window = self.constant(f64::from(window), DType::I32);
        let first = self.elementwise(Elementwise::Sub, &[place, window]);
        let is_near = self.elementwise(Elementwise::Ge, &[key, first]);
        Some(self.elementwise(Elementwise::And, &[sees, is_near]))
    }

    /// The softmax along the last axis, which is 0 where all scores are −∞.
    fn guarded_softmax(&mut self, scores: TensorId) -> TensorId {
        let shape = self.shape(scores).to_vec();
        let axis = [shape.len() as u32 - 1];
        let most = self.reduce_keeping(Reduction::Max, scores, &axis);
        let (nothing, zero, one) = (
            self.constant(f64::NEG_INFINITY, DType::F32),
            self.constant(0.0, DType::F32),
            self.constant(1.0, DType::F32),
        );
        let is_none = self.elementwise(Elementwise::Eq, &[most, nothing]);
        let most = self.elementwise(Elementwise::Select, &[is_none, zero, most]);
        let difference = self.elementwise(Elementwise::Sub, &[scores, most]);
        let exponential = self.elementwise(Elementwise::Exp, &[difference]);
        let sum = self.reduce_keeping(Reduction::Sum, exponential, &axis);
        let is_zero = self.elementwise(Elementwise::Eq, &[sum, zero]);
        let sum = self.elementwise(Elementwise::Select, &[is_zero, one, sum]);
        self.elementwise(Elementwise::Div, &[exponential, sum])
    }

    fn with_number(&mut self, op: Elementwise, x: TensorId, number: f64) -> TensorId {
        let number = self.constant(number, DType::F32);
        self.elementwise(op, &[x, number])
    }
}
