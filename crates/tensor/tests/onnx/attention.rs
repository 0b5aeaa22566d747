//! Attention. Past keys stand before the others; lengths of keys for each batch are a mask.

use residua_tensor::dtype::DType;
use residua_tensor::expr::{Attention, Elementwise, TensorId};
use residua_tensor::size::Size;

use crate::recipe::Builder;

pub fn build(b: &mut Builder) -> Option<Vec<TensorId>> {
    let case = b.case;
    if case.op != "Attention" {
        return None;
    }
    let heads = ["q_num_heads", "kv_num_heads", "kv_num_heads"].map(|name| case.integer(name, 0));
    let [q, new_k, new_v] = [0, 1, 2].map(|place| {
        let x = b.input(place);
        by_heads(b, x, heads[place])
    });
    let mut results = Vec::new();
    let (mut k, mut v, mut past) = (new_k, new_v, 0);
    if b.has(4) {
        let [past_k, past_v] = [4, 5].map(|place| b.input(place));
        past = b.shape(past_k)[2];
        (k, v) = (b.expr.concat(&[past_k, k], 2), b.expr.concat(&[past_v, v], 2));
        results.extend([k, v]);
    }
    let (queries, keys, size) = (b.shape(q)[2], b.shape(k)[2], b.shape(q)[3]);
    let mut attention = Attention {
        causal: case.integer("is_causal", 0) == 1,
        position: Size::constant(past),
        scale: case.float("scale", 1.0 / (size as f64).sqrt()),
        window: u32::try_from(case.integer("left_window_size", -1)).ok(),
        softcap: Some(case.float("softcap", 0.0)).filter(|cap| *cap > 0.0),
    };
    let mut mask = b.has(3).then(|| b.input(3));
    if b.has(6) {
        mask = Some(lengths(b, [b.shape(q)[0], queries, keys], attention.causal));
        attention.causal = false;
    }
    let of = |b: &mut Builder, values: TensorId| {
        let q = b.expr.cast(q, DType::F32);
        let operands = [q, k, values].into_iter().chain(mask).collect::<Vec<_>>();
        b.expr.attention(attention.clone(), &operands)
    };
    if case.outputs.len() > 1 + results.len() {
        let scores = match case.integer("qk_matmul_output_mode", 0) {
            // The weights: attention to rows of the identity.
            3 => {
                let mut shape = b.shape(k);
                shape[3] = keys;
                let (row, column) = (b.places(2, &shape), b.places(3, &shape));
                let identity = b.apply(Elementwise::Eq, &[row, column]);
                let identity = b.expr.cast(identity, DType::F32);
                of(b, identity)
            }
            mode => scores(b, &attention, [q, k], if mode == 2 { mask } else { None }, mode > 0),
        };
        results.push(scores);
    }
    let mut y = of(b, v);
    if heads[0] > 0 {
        let shape = b.shape(y);
        let turned = b.expr.permute(y, &[0, 2, 1, 3]);
        y = b.reshape(turned, &[shape[0], shape[2], shape[1] * shape[3]]);
    }
    results.insert(0, b.expr.cast(y, case.outputs[0].dtype));
    Some(results)
}

/// [batch, tokens, heads · size] as [batch, heads, tokens, size].
fn by_heads(b: &mut Builder, x: TensorId, heads: i64) -> TensorId {
    if heads == 0 {
        return x;
    }
    let shape = b.shape(x);
    let split = b.reshape(x, &[shape[0], shape[1], heads, shape[2] / heads]);
    b.expr.permute(split, &[0, 2, 1, 3])
}

/// Which keys count, by their number in each batch; where it is causal the last query stands at the last of them.
fn lengths(b: &mut Builder, [batch, queries, keys]: [i64; 3], causal: bool) -> TensorId {
    let shape = [batch, 1, queries, keys];
    let lengths = b.input(6);
    let lengths = b.reshape(lengths, &[batch, 1, 1, 1]);
    let place = b.places(3, &shape);
    let counts = b.apply(Elementwise::Lt, &[place, lengths]);
    if !causal {
        return counts;
    }
    let query = b.places(2, &shape);
    let query = b.with(Elementwise::Sub, query, queries as f64);
    let last = b.apply(Elementwise::Add, &[query, lengths]);
    let sees = b.apply(Elementwise::Le, &[place, last]);
    b.apply(Elementwise::And, &[counts, sees])
}

/// The scores, perhaps with the softcap and the mask.
fn scores(
    b: &mut Builder,
    attention: &Attention,
    [q, k]: [TensorId; 2],
    mask: Option<TensorId>,
    is_capped: bool,
) -> TensorId {
    let turned = b.expr.transpose(k);
    let product = b.expr.matmul(q, turned, DType::F32);
    let mut scores = b.with(Elementwise::Mul, product, attention.scale);
    if let Some(cap) = attention.softcap.filter(|_| is_capped) {
        let quotient = b.with(Elementwise::Div, scores, cap);
        let bounded = b.apply(Elementwise::Tanh, &[quotient]);
        scores = b.with(Elementwise::Mul, bounded, cap);
    }
    mask.map_or(scores, |mask| b.apply(Elementwise::Add, &[scores, mask]))
}
