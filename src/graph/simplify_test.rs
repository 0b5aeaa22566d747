//! Algebra of the simplifier: the rules one by one, and that random expressions keep their values.

use super::{Graph, InputId, NodeId, Op};

/// xorshift64*: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32
    }

    fn coin(&mut self) -> bool {
        self.next() & 1 == 1
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.next() as usize % from.len()]
    }
}

const INPUTS: u32 = 4;

/// Powers of two, so that small powers of them are exact and every rule can be held to equality.
const POINTS: &[f64] = &[0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 0.25, -4.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
const LITERALS: &[f64] = &[0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.25, 4.0, f64::INFINITY, f64::NAN];
const EXPONENTS: &[f64] = &[0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 4.0, 5.0, -5.0, 6.0, 7.0, 8.0, -8.0];

/// A graph of `applications` random applications as they come, to be copied through the simplifier.
fn random_graph(random: &mut Random, applications: usize) -> Graph {
    let mut graph = Graph::new();
    let inputs: Vec<NodeId> = (0..INPUTS).map(|input| graph.input(InputId(input))).collect();
    let mut nodes = inputs.clone();
    nodes.extend(LITERALS.iter().map(|value| graph.literal(*value)));
    for _ in 0..applications {
        // Half of the ops are those with most rules, and operands are often recent, so that rules meet their patterns.
        const FAVOURED: &[Op] =
            &[Op::Neg, Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Pow, Op::GuardedMul, Op::Select, Op::Abs, Op::Lt];
        let op = if random.coin() { random.pick(FAVOURED) } else { random.pick(Op::ALL) };
        let recent = &nodes[nodes.len().saturating_sub(6)..];
        let mut operands: Vec<NodeId> =
            (0..op.arity()).map(|_| if random.coin() { random.pick(recent) } else { random.pick(&nodes) }).collect();
        if op == Op::Pow {
            operands = vec![random.pick(&inputs), graph.literal(random.pick(EXPONENTS))];
        }
        nodes.push(graph.apply_raw(op, &operands));
    }
    graph
}

#[test]
fn random_expressions_keep_their_values_and_their_nans() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut compared, mut finite, mut shrunk) = (0, 0, 0);
    for _ in 0..3_000 {
        let raw = random_graph(&mut random, 20);
        let mut simplified = Graph::new();
        let inputs: Vec<NodeId> = (0..INPUTS).map(|input| simplified.input(InputId(input))).collect();
        let copies = simplified.append(&raw, &inputs);
        shrunk += usize::from(simplified.extract(&copies).0.len() < raw.len());
        let raw = raw.check(INPUTS).unwrap();
        let simplified = simplified.check(INPUTS).unwrap();
        for _ in 0..8 {
            let point: Vec<f64> = (0..INPUTS).map(|_| random.pick(POINTS)).collect();
            let expected = raw.evaluate(&point);
            let found = simplified.evaluate(&point);
            // Signs of zero are not promised, and a division would turn them into signs of infinity.
            if expected.iter().chain(&found).any(|value| value.to_bits() == (-0.0f64).to_bits()) {
                continue;
            }
            for (position, copy) in copies.iter().enumerate() {
                let (expected, found) = (expected[position], found[copy.index()]);
                compared += 1;
                finite += usize::from(expected.is_finite());
                // No tolerance: at these points every rule is exact.
                assert!(
                    expected == found || (expected.is_nan() && found.is_nan()),
                    "{:?} at {point:?} is {expected}, simplified to {:?} it is {found}",
                    raw.graph().nodes()[position],
                    simplified.graph().node(*copy)
                );
            }
        }
    }
    assert!(compared > 100_000 && finite > compared / 2, "{compared} comparisons, {finite} of finite values");
    assert!(shrunk > 2_000, "only {shrunk} of 3000 became smaller");
}

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
