//! Algebra of the simplifier, rule by rule. That random expressions keep their values is a property in `property_tests.rs`.

use super::{Graph, InputId, NodeId, Op};

#[test]
fn half_integer_powers_are_products_of_roots() {
    for exponent in [0.5, -0.5, 1.5, -1.5, 2.5, 7.5, 3.0, -7.0] {
        let mut graph = Graph::new();
        let x = graph.input(InputId(0));
        let exponent_node = graph.literal(exponent);
        let power = graph.pow(x, exponent_node);
        assert!(graph.nodes().iter().all(|node| !matches!(node, super::Node::Apply(Op::Pow, _))));
        let graph = graph.check(1).unwrap();
        for base in [0.0, 1e-3, 0.3, 1.7, 42.0, f64::INFINITY, f64::NAN, -1.5] {
            let found = graph.evaluate(&[base])[power.index()];
            let expected = super::evaluate(Op::Pow, &[base, exponent]);
            // Nine roundings at most.
            let close = (found - expected).abs() <= 9.0 * f64::EPSILON * expected.abs();
            let alike = found == expected || (found.is_nan() && expected.is_nan());
            assert!(close || alike, "{base}^{exponent} is {expected}, found {found}");
        }
    }
}

/// Builds with the simplifier in a graph whose inputs 0, 1 and 2 are x, y and z.
fn built(build: impl Fn(&mut Graph, [NodeId; 3]) -> [NodeId; 2]) -> [NodeId; 2] {
    let mut graph = Graph::new();
    let inputs = [0, 1, 2].map(|input| graph.input(InputId(input)));
    build(&mut graph, inputs)
}

#[test]
fn each_rule_gives_the_simpler_node() {
    type Rule = (&'static str, fn(&mut Graph, [NodeId; 3]) -> [NodeId; 2]);
    let rules: &[Rule] = &[
        ("x + 0 = x", |g, [x, ..]| {
            let zero = g.literal(0.0);
            [g.add(x, zero), x]
        }),
        ("0 − x = −x", |g, [x, ..]| {
            let zero = g.literal(0.0);
            [g.sub(zero, x), g.neg(x)]
        }),
        ("x + y = y + x", |g, [x, y, _]| [g.add(x, y), g.add(y, x)]),
        ("x + x = 2x", |g, [x, ..]| {
            let two = g.literal(2.0);
            [g.add(x, x), g.mul(two, x)]
        }),
        ("x + (−y) = x − y", |g, [x, y, _]| {
            let minus_y = g.neg(y);
            [g.add(x, minus_y), g.sub(x, y)]
        }),
        ("x − (−y) = x + y", |g, [x, y, _]| {
            let minus_y = g.neg(y);
            [g.sub(x, minus_y), g.add(x, y)]
        }),
        ("−(x − y) = y − x", |g, [x, y, _]| {
            let difference = g.sub(x, y);
            [g.neg(difference), g.sub(y, x)]
        }),
        ("x · (−1) = −x", |g, [x, ..]| {
            let minus_one = g.literal(-1.0);
            [g.mul(x, minus_one), g.neg(x)]
        }),
        ("x / 1 = x", |g, [x, ..]| {
            let one = g.literal(1.0);
            [g.div(x, one), x]
        }),
        ("x / 4 = 0.25 x", |g, [x, ..]| {
            let (four, quarter) = (g.literal(4.0), g.literal(0.25));
            [g.div(x, four), g.mul(x, quarter)]
        }),
        ("2 · (3 · (−x)) = −6 x", |g, [x, ..]| {
            let (two, three, minus_six) = (g.literal(2.0), g.literal(3.0), g.literal(-6.0));
            let minus_x = g.neg(x);
            let inner = g.mul(three, minus_x);
            [g.mul(two, inner), g.mul(minus_six, x)]
        }),
        ("(−x)(−y) = x y", |g, [x, y, _]| {
            let (minus_x, minus_y) = (g.neg(x), g.neg(y));
            [g.mul(minus_x, minus_y), g.mul(x, y)]
        }),
        ("||−x|| = |x|", |g, [x, ..]| {
            let minus_x = g.neg(x);
            let inner = g.abs(minus_x);
            [g.abs(inner), g.abs(x)]
        }),
        ("x² = x · x", |g, [x, ..]| {
            let two = g.literal(2.0);
            [g.pow(x, two), g.mul(x, x)]
        }),
        ("select(1, x, y) = x", |g, [x, y, _]| {
            let one = g.literal(1.0);
            [g.select(one, x, y), x]
        }),
        ("select(x, y, y) = y", |g, [x, y, _]| [g.select(x, y, y), y]),
        ("a guard on a finite literal is none", |g, [x, ..]| {
            let two = g.literal(2.0);
            [g.guarded_mul(x, two), g.mul(two, x)]
        }),
        ("select(x < y, 1, 0) = (x < y)", |g, [x, y, _]| {
            let (one, zero) = (g.literal(1.0), g.literal(0.0));
            let condition = g.lt(x, y);
            [g.select(condition, one, zero), condition]
        }),
        ("literals fold", |g, _| {
            let (two, three) = (g.literal(2.0), g.literal(3.0));
            [g.sub(two, three), g.literal(-1.0)]
        }),
    ];
    for (name, build) in rules {
        let [found, expected] = built(build);
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn what_may_hide_a_nan_stays() {
    let mut graph = Graph::new();
    let x = graph.input(InputId(0));
    let zero = graph.literal(0.0);
    for (op, operands) in [
        (Op::Mul, [x, zero]),
        (Op::Mul, [zero, x]),
        (Op::Sub, [x, x]),
        (Op::Div, [x, x]),
        (Op::Div, [zero, x]),
        (Op::Eq, [x, x]),
        (Op::GuardedMul, [x, zero]),
    ] {
        let node = graph.apply(op, &operands);
        assert!(graph.literal_value(node).is_none(), "{}({operands:?})", op.name());
        let values = graph.clone().check(1).unwrap().evaluate(&[f64::NAN]);
        let expected = super::evaluate(op, &operands.map(|operand| values[operand.index()]));
        assert_eq!(values[node.index()].is_nan(), expected.is_nan(), "{}", op.name());
    }
}
