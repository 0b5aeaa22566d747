//! Derivatives below infinite slopes: of powers and roots at 0.

use super::rules_test::gradient_at;
use super::*;

/// Derivatives by k and b, and all second ones (by k and k, k and b, b and k, b and b), of an expression of k, b and a number x that nothing is
/// differentiated by.
fn derivatives_at(point: [f64; 3], expression: impl Fn(&mut Graph, [NodeId; 3]) -> NodeId) -> [f64; 6] {
    let wrt = [0, 1].map(InputId);
    let mut graph = Graph::new();
    let inputs = [0, 1, 2].map(|input| graph.input(InputId(input)));
    let output = expression(&mut graph, inputs);
    let first = jacobian(&mut graph, &[output], &wrt).remove(0);
    let zero = graph.literal(0.0);
    let first = [0, 1].map(|k| first[k].unwrap_or(zero));
    let second = jacobian(&mut graph, &first, &wrt);
    let values = graph.check(3).unwrap().evaluate(&point);
    let all = [Some(first[0]), Some(first[1]), second[0][0], second[0][1], second[1][0], second[1][1]];
    all.map(|node| node.map_or(0.0, |node| values[node.index()]))
}

#[test]
fn what_is_0_whatever_the_parameters_has_no_derivatives() {
    type Expression = fn(&mut Graph, [NodeId; 3]) -> NodeId;
    let table: &[(&str, Expression)] = &[
        ("(x/k)ᵇ", |g, [k, b, x]| {
            let quotient = g.div(x, k);
            g.pow(quotient, b)
        }),
        ("(xk)ᵇ", |g, [k, b, x]| {
            let product = g.mul(x, k);
            g.pow(product, b)
        }),
        ("((x eᵏ) k/(1 + k))ᵇ", |g, [k, b, x]| {
            let power = g.exp(k);
            let inner = g.mul(x, power);
            let (product, one) = (g.mul(inner, k), g.literal(1.0));
            let divisor = g.add(one, k);
            let quotient = g.div(product, divisor);
            g.pow(quotient, b)
        }),
        ("(xk + x/k)ᵇ b", |g, [k, b, x]| {
            let (product, quotient) = (g.mul(x, k), g.div(x, k));
            let sum = g.add(product, quotient);
            let power = g.pow(sum, b);
            g.mul(power, b)
        }),
        ("√(xk)", |g, [k, _, x]| {
            let product = g.mul(x, k);
            g.sqrt(product)
        }),
        ("√((x/k)ᵇ)", |g, [k, b, x]| {
            let quotient = g.div(x, k);
            let power = g.pow(quotient, b);
            g.sqrt(power)
        }),
        ("(x/k)^0.3", |g, [k, _, x]| {
            let (quotient, exponent) = (g.div(x, k), g.literal(0.3));
            g.pow(quotient, exponent)
        }),
        ("(x/k)^1.5", |g, [k, _, x]| {
            let (quotient, exponent) = (g.div(x, k), g.literal(1.5));
            g.pow(quotient, exponent)
        }),
        ("(x/k)^1.3", |g, [k, _, x]| {
            let (quotient, exponent) = (g.div(x, k), g.literal(1.3));
            g.pow(quotient, exponent)
        }),
        ("xᵇ", |g, [_, b, x]| g.pow(x, b)),
    ];
    for b in [0.25, 0.5, 1.0, 1.5, 2.0, 3.5] {
        for k in [0.7, 3.0] {
            for (name, expression) in table {
                let found = derivatives_at([k, b, 0.0], expression);
                assert_eq!(found.map(f64::abs), [0.0; 6], "{name} at x = 0, k = {k}, b = {b}");
            }
        }
    }
}

#[test]
fn powers_have_the_limits_of_their_derivatives_at_0() {
    const INF: f64 = f64::INFINITY;
    type Expression = fn(&mut Graph, [NodeId; 3]) -> NodeId;
    fn power(g: &mut Graph, [x, ..]: [NodeId; 3], exponent: f64) -> NodeId {
        let exponent = g.literal(exponent);
        g.pow(x, exponent)
    }
    // First and second derivatives by the base k, and the mixed one by both in either order.
    let table: &[(&str, f64, Expression, [f64; 4])] = &[
        ("kᵇ", 1.0, |g, [k, b, _]| g.pow(k, b), [1.0, 0.0, -INF, -INF]),
        ("kᵇ", 1.5, |g, [k, b, _]| g.pow(k, b), [0.0, INF, 0.0, 0.0]),
        ("kᵇ", 2.0, |g, [k, b, _]| g.pow(k, b), [0.0, 2.0, 0.0, 0.0]),
        ("kᵇ", 3.0, |g, [k, b, _]| g.pow(k, b), [0.0, 0.0, 0.0, 0.0]),
        ("k^1.5", 1.0, |g, x| power(g, x, 1.5), [0.0, INF, 0.0, 0.0]),
        ("k^2.5", 1.0, |g, x| power(g, x, 2.5), [0.0, 0.0, 0.0, 0.0]),
        ("k^7.5", 1.0, |g, x| power(g, x, 7.5), [0.0, 0.0, 0.0, 0.0]),
        (
            "k√k, by hand",
            1.0,
            |g, [k, ..]| {
                let root = g.sqrt(k);
                g.mul(k, root)
            },
            [0.0, INF, 0.0, 0.0],
        ),
        ("k^0.5", 1.0, |g, x| power(g, x, 0.5), [INF, -INF, 0.0, 0.0]),
    ];
    for (name, b, expression, expected) in table {
        let [first, _, second, mixed, other_mixed, _] = derivatives_at([0.0, *b, 1.0], expression);
        let found = [first, second, mixed, other_mixed];
        assert_eq!(found.map(|x| x + 0.0), *expected, "{name} at 0, b = {b}");
    }
}

#[test]
fn a_fixed_factor_of_0_below_a_root_passes_no_slope_on() {
    // √(kz) at z = 0, by k and by z.
    let found = gradient_at([2.0, 0.0, 0.0], |g, [k, z, _]| {
        let product = g.mul(k, z);
        g.sqrt(product)
    });
    assert_eq!(found, [0.0, f64::INFINITY, 0.0]);
    // There is no slope of √(z²) at 0, and none of √(kz) where both are 0.
    let kinks: [fn(&mut Graph, [NodeId; 3]) -> NodeId; 2] = [|g, [z, ..]| g.mul(z, z), |g, [k, z, _]| g.mul(k, z)];
    for inner in kinks {
        let found = gradient_at([0.0; 3], |g, inputs| {
            let inner = inner(g, inputs);
            g.sqrt(inner)
        });
        assert!(found[0].is_nan(), "{found:?}");
    }
}
