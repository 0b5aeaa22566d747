//! The rule of attention.

use super::*;
use crate::expr::Attention;

#[test]
fn attention() {
    let plain = || Attention { causal: false, position: Size::constant(1), scale: 0.7, window: None, softcap: None };
    let within = (-1.0, 1.0);
    let table: &[(&str, [i64; 2], Attention)] = &[
        ("attention", [2, 2], plain()),
        ("attention of groups", [4, 2], Attention { causal: true, ..plain() }),
        ("attention with a softcap", [2, 1], Attention { softcap: Some(0.8), ..plain() }),
        ("attention within a window", [2, 1], Attention { window: Some(1), ..plain() }),
    ];
    for (name, [heads, key_heads], attention) in table {
        let shapes: [&[i64]; 3] = [&[*heads, 2, 2], &[*key_heads, -1, 2], &[*key_heads, -1, 1]];
        check(name, &shapes.map(|shape| (shape, within)), &[], &|expr, x| expr.attention(attention.clone(), x));
    }
    // A mask that repeats along the queries, and one that leaves out all keys of a query.
    let shapes: [&[i64]; 4] = [&[2, 2, 2], &[1, 3, 2], &[1, 3, 2], &[2, 1, 3]];
    check("attention with terms", &shapes.map(|shape| (shape, within)), &[], &|expr, x| expr.attention(plain(), x));
    let mask: (DType, &[i64], &[f64]) = (DType::Bool, &[2, 3], &[0.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
    check(
        "attention with bools",
        &shapes[..3].iter().map(|shape| (*shape, within)).collect::<Vec<_>>(),
        &[mask],
        &|expr, x| expr.attention(plain(), x),
    );
}
