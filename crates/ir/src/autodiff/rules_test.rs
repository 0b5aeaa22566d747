//! Rules against central differences of the reference evaluation, and how they behave in composition and at singular points.

use super::*;
use crate::elementary;
use crate::graph::Op;

/// Uniform in an interval; xorshift64*.
struct Random(u64);

impl Random {
    fn within(&mut self, (low, high): (f64, f64)) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let unit = (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64;
        low + (high - low) * unit
    }
}

/// How far an operand is from the nearest value where the op is not smooth; its domain keeps off those not named here.
fn distance_to_kink(op: Op, operands: &[f64]) -> f64 {
    let to_whole = |value: f64| (value - value.round()).abs();
    let between = || (operands[0] - operands[1]).abs();
    match op {
        Op::Lookup => unreachable!("it is no function of its operands"),
        Op::Abs | Op::Sign | Op::GuardedMul | Op::Select => operands[0].abs(),
        Op::Floor | Op::Ceil => to_whole(operands[0]),
        Op::Round => to_whole(operands[0] - 0.5),
        Op::Mod => to_whole(operands[0] / operands[1]) * operands[1].min(operands[1].powi(2) / operands[0].abs()),
        Op::Min | Op::Max | Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => between(),
        Op::Neg
        | Op::Sqrt
        | Op::Norm
        | Op::InverseNorm
        | Op::StopGradient
        | Op::Add
        | Op::Sub
        | Op::Mul
        | Op::Div
        | Op::Pow => f64::INFINITY,
        elementary!(Op) if op.arity() == 2 => operands[0].hypot(operands[1]),
        elementary!(Op) => f64::INFINITY,
    }
}

/// The derivative of `f` at `x` by the central difference of fourth order.
fn central_difference(f: impl Fn(f64) -> f64, x: f64) -> f64 {
    let h = 1e-4 * x.abs().clamp(1e-3, 1.0);
    (8.0 * (f(x + h) - f(x - h)) - (f(x + 2.0 * h) - f(x - 2.0 * h))) / (12.0 * h)
}

/// Compares the node of ∂function/∂input with differences of the function's own value, at random points of the op's domain.
fn assert_partial_is_difference(
    graph: &Graph,
    op: Op,
    function: NodeId,
    partial: Option<NodeId>,
    input: usize,
    name: &str,
) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (op as u64) << 8 ^ input as u64);
    let graph = graph.clone().check(op.arity() as u32).unwrap();
    let mut checked = 0;
    for _ in 0..400 {
        let point: Vec<f64> = op.domain().iter().map(|interval| random.within(*interval)).collect();
        // Five times the widest span of a difference.
        if distance_to_kink(op, &point) < 1e-3 {
            continue;
        }
        let at = |x: f64| {
            let mut moved = point.clone();
            moved[input] = x;
            graph.evaluate(&moved)[function.index()]
        };
        let value = at(point[input]);
        let expected = if op == Op::StopGradient { 0.0 } else { central_difference(at, point[input]) };
        let found = partial.map_or(0.0, |partial| graph.evaluate(&point)[partial.index()]);
        // The difference formula is wrong by h⁴f⁽⁵⁾/30, at worst some 1e-7 relative (asin at 0.99); rounding adds ε·|f|/h,
        // with the smallest h of 1e-7 some 1e-9·|f|, from 1e-12·|f| where |x| > 1.
        let rounding = 1e-12 * value.abs() / point[input].abs().clamp(1e-3, 1.0);
        let tolerance = 1e-6 * expected.abs() + 10.0 * rounding + 1e-11;
        assert!((found - expected).abs() <= tolerance, "{name} at {point:?}: {found}, by differences {expected}");
        checked += 1;
    }
    assert!(checked >= 200, "{name}: only {checked} points are away from kinks");
}

#[test]
fn every_rule_and_the_rule_of_its_result_agree_with_central_differences() {
    for op in Op::ALL.iter().copied() {
        let wrt: Vec<InputId> = (0..op.arity() as u32).map(InputId).collect();
        let mut graph = Graph::new();
        let inputs: Vec<NodeId> = wrt.iter().map(|input| graph.input(*input)).collect();
        let function = graph.apply_raw(op, &inputs);
        let first = jacobian(&mut graph, &[function], &wrt).remove(0);
        for (place, partial) in first.iter().enumerate() {
            assert_eq!(partial.is_some(), passage(op, place) != Passage::Closed, "{} to {place}", op.name());
            let name = format!("∂{}/∂{place}", op.name());
            assert_partial_is_difference(&graph, op, function, *partial, place, &name);
        }
        for (place, partial) in first.iter().enumerate() {
            let Some(partial) = *partial else { continue };
            let second = jacobian(&mut graph, &[partial], &wrt).remove(0);
            for (other, second) in second.iter().enumerate() {
                let name = format!("∂²{}/∂{place}∂{other}", op.name());
                assert_partial_is_difference(&graph, op, partial, *second, other, &name);
            }
        }
    }
}

#[test]
fn rules_pass_nothing_exactly_where_the_passage_is_closed() {
    for op in Op::ALL.iter().copied() {
        for guarded in [false, true] {
            let mut graph = Graph::new();
            let mut operands = [0, 1, 2].map(|input| graph.input(InputId(input)));
            let adjoint = graph.input(InputId(3));
            let first = operands[0];
            operands[op.arity()..].fill(first);
            let result = graph.apply_raw(op, &operands[..op.arity()]);
            let (are_active, above) = ([true; 3], Slope::Power);
            let application = Application { operands, result, adjoint };
            let mut rule = InGraph { graph: &mut graph, application, are_active, guarded, above };
            for place in 0..op.arity() {
                let passes = rule.pull_back(op, place).is_some();
                assert_eq!(passes, passage(op, place) != Passage::Closed, "{} to {place}", op.name());
            }
        }
    }
}

/// The gradient of an expression of x, y, z at a point.
pub(super) fn gradient_at(point: [f64; 3], expression: impl Fn(&mut Graph, [NodeId; 3]) -> NodeId) -> [f64; 3] {
    let wrt = [0, 1, 2].map(InputId);
    let mut graph = Graph::new();
    let inputs = wrt.map(|input| graph.input(input));
    let output = expression(&mut graph, inputs);
    let one = graph.literal(1.0);
    let partials = gradient(&mut graph, &[(output, one)], &wrt);
    let values = graph.check(3).unwrap().evaluate(&point);
    [0, 1, 2].map(|k| partials[k].map_or(0.0, |partial: NodeId| values[partial.index()]))
}

#[test]
fn singular_points_have_the_gradients_that_are_promised() {
    const INF: f64 = f64::INFINITY;
    type Expression = fn(&mut Graph, [NodeId; 3]) -> NodeId;
    let table: &[(&str, [f64; 3], Expression, [f64; 3])] = &[
        (
            "ifThenElse(x > 0, √x, 0) at 0",
            [0.0; 3],
            |g, [x, ..]| {
                let zero = g.literal(0.0);
                let (condition, root) = (g.lt(zero, x), g.sqrt(x));
                g.select(condition, root, zero)
            },
            [0.0; 3],
        ),
        (
            "ifThenElse(x > 0, y/x, z) at x = 0",
            [0.0, 5.0, 1.0],
            |g, [x, y, z]| {
                let zero = g.literal(0.0);
                let (condition, quotient) = (g.lt(zero, x), g.div(y, x));
                g.select(condition, quotient, z)
            },
            [0.0, 0.0, 1.0],
        ),
        (
            "ifThenElse(x > 0, log(log x), 7y) at x = −1, nested below a sum",
            [-1.0, 2.0, 0.0],
            |g, [x, y, _]| {
                let (zero, seven) = (g.literal(0.0), g.literal(7.0));
                let condition = g.lt(zero, x);
                let inner = g.log(x);
                let outer = g.log(inner);
                let other = g.mul(seven, y);
                let selected = g.select(condition, outer, other);
                g.add(selected, y)
            },
            [0.0, 8.0, 0.0],
        ),
        (
            "z · min(√x, y) at x = 0 with y below 0",
            [0.0, -1.0, 3.0],
            |g, [x, y, z]| {
                let root = g.sqrt(x);
                let smaller = g.apply(Op::Min, &[root, y]);
                g.mul(smaller, z)
            },
            [0.0, 3.0, -1.0],
        ),
        (
            "selections in selections, in both branches, with operands in common, at x = −1",
            [-1.0, 2.0, 3.0],
            |g, [x, y, z]| {
                let zero = g.literal(0.0);
                let (condition, other_condition) = (g.lt(zero, x), g.lt(y, z));
                let (root, logarithm) = (g.sqrt(x), g.log(x));
                let inner = g.select(other_condition, logarithm, root);
                let product = g.mul(root, inner);
                let scaled = g.mul(product, y);
                let square = g.mul(z, z);
                let other_inner = g.select(other_condition, square, product);
                g.select(condition, scaled, other_inner)
            },
            [0.0, 0.0, 6.0],
        ),
        (
            "ifThenElse(x > 0, √x, 0) + √x at 0, where √x is used outside too",
            [0.0; 3],
            |g, [x, ..]| {
                let zero = g.literal(0.0);
                let (condition, root) = (g.lt(zero, x), g.sqrt(x));
                let selected = g.select(condition, root, zero);
                g.add(selected, root)
            },
            [INF, 0.0, 0.0],
        ),
        ("√x at 0", [0.0; 3], |g, [x, ..]| g.sqrt(x), [INF, 0.0, 0.0]),
        ("|x| at 0", [0.0; 3], |g, [x, ..]| g.abs(x), [0.0; 3]),
        (
            "|(x, y, z)| at 0",
            [0.0; 3],
            |g, v| {
                let square = squared_length(g, v);
                g.apply(Op::Norm, &[square])
            },
            [0.0; 3],
        ),
        (
            "x/|(x, y, z)| at 0",
            [0.0; 3],
            |g, v| {
                let square = squared_length(g, v);
                let inverse = g.inverse_norm(square);
                g.mul(v[0], inverse)
            },
            [0.0; 3],
        ),
        ("min(x, y) at a tie", [2.0, 2.0, 0.0], |g, [x, y, _]| g.apply(Op::Min, &[x, y]), [0.5, 0.5, 0.0]),
        ("max(x, y) at a tie", [2.0, 2.0, 0.0], |g, [x, y, _]| g.apply(Op::Max, &[x, y]), [0.5, 0.5, 0.0]),
        ("pow(x, y) at 0⁰", [0.0, 0.0, 0.0], |g, [x, y, _]| g.pow(x, y), [0.0, -INF, 0.0]),
        ("pow(x, y) at 0¹", [0.0, 1.0, 0.0], |g, [x, y, _]| g.pow(x, y), [1.0, 0.0, 0.0]),
        ("pow(x, y) at 0²", [0.0, 2.0, 0.0], |g, [x, y, _]| g.pow(x, y), [0.0; 3]),
        ("x·x at 3", [3.0, 0.0, 0.0], |g, [x, ..]| g.mul(x, x), [6.0, 0.0, 0.0]),
        (
            "x · stopGradient(x) at 3",
            [3.0, 0.0, 0.0],
            |g, [x, ..]| {
                let stopped = g.apply(Op::StopGradient, &[x]);
                g.mul(x, stopped)
            },
            [3.0, 0.0, 0.0],
        ),
        (
            "ifThenElse(x > 0, ifThenElse(y > 0, 2z, 3z), 5z) where the outer condition is 0 and the inner is not",
            [-1.0, 1.0, 7.0],
            |g, [x, y, z]| {
                let zero = g.literal(0.0);
                let (outer, inner) = (g.lt(zero, x), g.lt(zero, y));
                let [two, three, five] = [2.0, 3.0, 5.0].map(|factor| {
                    let factor = g.literal(factor);
                    g.mul(factor, z)
                });
                let nested = g.select(inner, two, three);
                g.select(outer, nested, five)
            },
            [0.0, 0.0, 5.0],
        ),
        (
            "y√x + ifThenElse(x > 0, √x, 0) at x = y = 0: a zero that no condition makes is multiplied by ∞",
            [0.0; 3],
            |g, [x, y, _]| {
                let zero = g.literal(0.0);
                let (condition, root) = (g.lt(zero, x), g.sqrt(x));
                let product = g.mul(y, root);
                let selected = g.select(condition, root, zero);
                g.add(product, selected)
            },
            [f64::NAN, 0.0, 0.0],
        ),
        (
            "x²y at x = ∞, y = 0, where the expression is NaN",
            [INF, 0.0, 0.0],
            |g, [x, y, _]| {
                let square = g.mul(x, x);
                g.mul(square, y)
            },
            [f64::NAN, INF, 0.0],
        ),
    ];
    for (name, point, expression, expected) in table {
        let found = gradient_at(*point, expression);
        let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
        assert!(found.iter().zip(expected).all(|(a, b)| same(*a, *b)), "{name}: {found:?}, not {expected:?}");
    }
}

fn squared_length(graph: &mut Graph, [x, y, z]: [NodeId; 3]) -> NodeId {
    let squares = [x, y, z].map(|a| graph.mul(a, a));
    let sum = graph.add(squares[0], squares[1]);
    graph.add(sum, squares[2])
}

#[test]
fn below_a_selection_products_stay_plain_and_one_selection_ends_them() {
    let mut graph = Graph::new();
    let [x, y, z] = [0, 1, 2].map(|input| graph.input(InputId(input)));
    let terms = [graph.mul(x, y), graph.sin(x), graph.exp(x)];
    let product = terms.iter().fold(y, |product, term| graph.mul(product, *term));
    let zero = graph.literal(0.0);
    let output = graph.select(z, product, zero);
    let one = graph.literal(1.0);
    let partial = gradient(&mut graph, &[(output, one)], &[InputId(0)])[0].unwrap();
    let (extracted, _) = graph.extract(&[partial]);
    let count = |counted: Op| {
        extracted.nodes().iter().filter(|node| matches!(node, Node::Apply(op, _) if *op == counted)).count()
    };
    assert_eq!((count(Op::Select), count(Op::GuardedMul)), (1, 0));
}

#[test]
fn nothing_is_differentiated_that_does_not_depend_on_the_inputs() {
    let mut graph = Graph::new();
    let [x, y] = [0, 1].map(|input| graph.input(InputId(input)));
    let (sine, floor) = (graph.sin(y), graph.apply(Op::Floor, &[x]));
    let constant = graph.exp(floor);
    let product = graph.mul(x, sine);
    let output = graph.mul(product, constant);
    let seed = graph.literal(1.0);
    let before = graph.len();
    let partials = gradient(&mut graph, &[(output, seed)], &[InputId(0)]);
    // sin(y)·exp(floor(x)), and no derivative of either.
    assert_eq!(graph.len(), before + 1);
    assert_eq!(graph.node(partials[0].unwrap()), Node::Apply(Op::Mul, [sine, constant, sine]));
}

#[test]
fn seeds_weigh_the_partials_of_their_outputs_and_add_up() {
    let mut graph = Graph::new();
    let [x, y, seed] = [0, 1, 2].map(|input| graph.input(InputId(input)));
    let three = graph.literal(3.0);
    let product = graph.mul(x, y);
    let sine = graph.sin(x);
    let partials =
        gradient(&mut graph, &[(product, seed), (sine, three), (sine, seed)], &[InputId(0), InputId(1), InputId(9)]);
    assert!(partials[2].is_none(), "no output depends on an input that the graph does not have");
    let values = graph.check(3).unwrap().evaluate(&[0.5, 2.0, 10.0]);
    let at = |column: usize| values[partials[column].unwrap().index()];
    // The sums are taken in another order here: a few roundings.
    assert!((at(0) - (10.0 * 2.0 + 13.0 * 0.5f64.cos())).abs() < 1e-13);
    assert_eq!(at(1), 10.0 * 0.5);
}

#[test]
fn sparsity_says_where_the_jacobian_has_entries() {
    // More inputs than one word of a bit set holds.
    let wrt: Vec<InputId> = (0..70).map(InputId).collect();
    let mut graph = Graph::new();
    let x: Vec<NodeId> = wrt.iter().map(|input| graph.input(*input)).collect();
    let floor = graph.apply(Op::Floor, &[x[3]]);
    let outputs = [
        graph.mul(x[0], x[69]),
        graph.mul(x[64], floor),
        graph.select(x[1], x[2], floor),
        graph.apply(Op::StopGradient, &[x[5]]),
        x[7],
        graph.literal(2.0),
    ];
    let structure = sparsity(&graph, &outputs, &wrt);
    let rows = jacobian(&mut graph, &outputs, &wrt);
    for (row, (structure, partials)) in structure.iter().zip(&rows).enumerate() {
        let found: Vec<bool> = partials.iter().map(Option::is_some).collect();
        assert_eq!(structure, &found, "row {row}");
    }
    let count: Vec<usize> = structure.iter().map(|row| row.iter().filter(|entry| **entry).count()).collect();
    assert_eq!(count, [2, 1, 1, 0, 1, 0]);
}

#[test]
fn a_chain_of_100_000_operations_is_differentiated_without_recursion() {
    let mut graph = Graph::new();
    let x = graph.input(InputId(0));
    let mut value = x;
    for step in 0..50_000 {
        value = graph.sin(value);
        value = if step % 3 == 0 { graph.add(value, x) } else { graph.select(x, value, x) };
    }
    let wrt = [InputId(0)];
    let one = graph.literal(1.0);
    let partial = gradient(&mut graph, &[(value, one)], &wrt)[0].unwrap();
    assert!(sparsity(&graph, &[partial], &wrt)[0][0]);
    let (graph, outputs) = graph.extract(&[value, partial]);
    let graph = graph.check(1).unwrap();

    let at = |x: f64| graph.evaluate(&[x])[outputs[0].index()];
    let found = graph.evaluate(&[0.3])[outputs[1].index()];
    let expected = central_difference(at, 0.3);
    // As in the test of the rules; the chain contracts, so that its roundings do not add up.
    assert!((found - expected).abs() <= 1e-6 * expected.abs() + 1e-9, "{found}, by differences {expected}");
}
