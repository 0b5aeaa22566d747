//! Attention, query by query.

use super::{Array, Node};
use crate::dtype::DType;
use crate::expr::Attention;
use residua_base::list::Listed;

impl Node<'_> {
    /// Weighted means of the values of the keys that each query sees.
    pub(super) fn attention(&self, shape: Vec<usize>, attention: &Attention) -> Array {
        let (q, k, v) = (self.operand(0), self.operand(1), self.operand(2));
        let mask = (self.tensor.operands.len() == 4).then(|| self.operand(3));
        let is_bool = mask.is_some() && self.expr.tensor(self.tensor.operands[3]).dtype == DType::Bool;
        let position = self.size(&attention.position);
        let rank = shape.len();
        let (size, keys) = (q.shape[rank - 1], k.shape[rank - 2]);
        let shared = (shape[rank - 3] / k.shape[rank - 3].max(1)).max(1);
        // The weights of the keys that one query sees, which all elements of its vector share.
        let mut known: (Vec<usize>, Vec<(usize, f64)>) = (Vec::new(), Vec::new());
        Array::of(shape, |at| {
            let (query, column) = (&at[..rank - 1], at[rank - 1]);
            let key = |key: usize, column: usize| {
                let mut place = at.to_vec();
                (place[rank - 3], place[rank - 2], place[rank - 1]) = (at[rank - 3] / shared, key, column);
                place
            };
            if known.0 != query {
                let score = |j: usize| {
                    if !attention.sees(position + query[rank - 2] as i64, j as i64) {
                        return f64::NEG_INFINITY;
                    }
                    let product = |c: usize| q.at(&[query, &[c]].concat()) * k.at(&key(j, c));
                    let score = (0..size).map(product).sum::<f64>() * attention.scale;
                    let score = attention.softcap.map_or(score, |cap| cap * (score / cap).tanh());
                    match mask.map(|mask| mask.broadcast_at(&[query, &[j]].concat())) {
                        Some(0.0) if is_bool => f64::NEG_INFINITY,
                        Some(term) if !is_bool => score + term,
                        Some(_) | None => score,
                    }
                };
                let seen: Vec<(usize, f64)> =
                    (0..keys).map(|j| (j, score(j))).filter(|(_, score)| *score != f64::NEG_INFINITY).list();
                let most = seen.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = seen.iter().map(|(_, score)| (score - most).exp()).sum();
                known = (query.to_vec(), seen.iter().map(|(j, score)| (*j, (score - most).exp() / sum)).list());
            }
            known.1.iter().fold(0.0, |sum, (j, weight)| sum + weight * v.at(&key(*j, column)))
        })
    }
}
