//! The reference evaluation in f64: the living definition of every op. What generated code computes is measured against it.
//!
//! [`Op::Lookup`] reads tables, which are given beside the operands. Without tables it is NaN.

use super::{CheckedGraph, MathFunction, Node, Op, elementary};
use crate::elementary;

/// The value of an op at the given operands, as many as its arity. NaN operands give NaN but where the op's description says
/// otherwise.
pub fn evaluate(op: Op, operands: &[f64]) -> f64 {
    debug_assert_eq!(operands.len(), op.arity(), "{op:?} takes {} operands", op.arity());
    let a = operands[0];
    let b = operands.get(1).copied().unwrap_or(a);
    let c = operands.get(2).copied().unwrap_or(a);
    apply(op, a, b, c)
}

/// The same with three operands; an op of fewer ignores the others.
fn apply(op: Op, a: f64, b: f64, c: f64) -> f64 {
    match op {
        Op::Neg => -a,
        Op::Abs => a.abs(),
        // f64::signum has no zero.
        Op::Sign => {
            if a > 0.0 {
                1.0
            } else if a < 0.0 {
                -1.0
            } else {
                a
            }
        }
        Op::Sqrt | Op::Norm => a.sqrt(),
        Op::InverseNorm => {
            if a == 0.0 {
                0.0
            } else {
                1.0 / a.sqrt()
            }
        }
        elementary!(Op) => match op.function().value {
            MathFunction::Unary(function) => function(a),
            MathFunction::Binary(function) => function(a, b),
        },
        Op::Floor => a.floor(),
        Op::Ceil => a.ceil(),
        Op::Round => round(a),
        Op::StopGradient => a,
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul => a * b,
        Op::Div => a / b,
        Op::Pow => elementary::pow(a, b),
        Op::Mod => elementary::remainder(a, b),
        // f64::min and max drop a NaN.
        Op::Min if a.is_nan() || b.is_nan() => f64::NAN,
        // Of two zeros the negative one is the smaller, as in WebAssembly; f64::min and max return either.
        Op::Min if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        Op::Min => a.min(b),
        Op::Max if a.is_nan() || b.is_nan() => f64::NAN,
        Op::Max if a == b => {
            if a.is_sign_negative() {
                b
            } else {
                a
            }
        }
        Op::Max => a.max(b),
        Op::Eq => truth(a == b),
        Op::Ne => truth(a != b),
        Op::Lt => truth(a < b),
        Op::Le => truth(a <= b),
        Op::Gt => truth(a > b),
        Op::Ge => truth(a >= b),
        Op::GuardedMul => {
            if a == 0.0 {
                0.0
            } else {
                a * b
            }
        }
        // A NaN is not 0, so it selects b.
        Op::Select => {
            if a != 0.0 {
                b
            } else {
                c
            }
        }
        Op::Lookup => f64::NAN,
    }
}

/// Whether the result of an op may be off by a rounding.
fn rounds(op: Op) -> bool {
    let is_exact = matches!(
        op,
        Op::Neg
            | Op::Abs
            | Op::Sign
            | Op::Floor
            | Op::Ceil
            | Op::Round
            | Op::StopGradient
            | Op::Min
            | Op::Max
            | Op::Select
    );
    !is_exact && !matches!(op, Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge)
}

/// The value of [`Op::Lookup`] at its operands in these tables; NaN where it leads out of them.
pub fn look_up(tables: &[f64], [place, first, length]: [f64; 3]) -> f64 {
    // A conversion of a float saturates, and that of a NaN gives 0.
    let place = (place as usize).min((length as usize).saturating_sub(1));
    tables.get(first as usize + place).copied().unwrap_or(f64::NAN)
}

fn truth(condition: bool) -> f64 {
    if condition { 1.0 } else { 0.0 }
}

/// Math.round: halves go up. Adding ½ first would round 0.49999999999999994 to 1.
fn round(a: f64) -> f64 {
    let below = a.floor();
    let nearest = if a - below >= 0.5 { below + 1.0 } else { below };
    nearest.copysign(a)
}

impl CheckedGraph {
    /// The values of all nodes, in order of id, at the given inputs ([`CheckedGraph::input_count`] of them).
    pub fn evaluate(&self, inputs: &[f64]) -> Vec<f64> {
        let mut values = vec![0.0; self.graph().len()];
        self.evaluate_into(inputs, &mut values);
        values
    }

    /// The same, written to a slice of as many numbers as the graph has nodes.
    pub fn evaluate_into(&self, inputs: &[f64], values: &mut [f64]) {
        self.evaluate_with(inputs, &[], values);
    }

    /// The same of a graph that reads tables.
    pub fn evaluate_with(&self, inputs: &[f64], tables: &[f64], values: &mut [f64]) {
        self.evaluate_by(inputs, tables, values, |value| value);
    }

    /// The same, with what `change` makes of the result of each operation that rounds: evaluations whose roundings are others show what rounding does to the
    /// outputs. Operations within a loop are left as they are, and lookups.
    pub fn evaluate_by(&self, inputs: &[f64], tables: &[f64], values: &mut [f64], mut change: impl FnMut(f64) -> f64) {
        let graph = self.graph();
        let mut states: Vec<Option<Vec<f64>>> = vec![None; graph.loops().len()];
        for (position, node) in graph.nodes().iter().enumerate() {
            values[position] = match node {
                Node::Literal(bits) => f64::from_bits(*bits),
                Node::Input(input) => inputs[input.0 as usize],
                Node::Apply(Op::Lookup, operands) => look_up(tables, operands.map(|operand| values[operand.index()])),
                Node::Apply(op, [a, b, c]) => {
                    let value = apply(*op, values[a.index()], values[b.index()], values[c.index()]);
                    if rounds(*op) { change(value) } else { value }
                }
                Node::Result(of, number) => {
                    let run = || graph.loop_of(*of).run(|node| values[node.index()], tables);
                    change(states[of.index()].get_or_insert_with(run)[*number as usize])
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal, NaN to NaN included and signs of zero kept.
    fn same(a: f64, b: f64) -> bool {
        a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
    }

    #[test]
    fn ops_have_the_values_of_javascript_at_singular_points() {
        const NAN: f64 = f64::NAN;
        const INF: f64 = f64::INFINITY;
        let table: &[(Op, &[f64], f64)] = &[
            (Op::Sign, &[-0.0], -0.0),
            (Op::Sign, &[NAN], NAN),
            (Op::Sqrt, &[-1.0], NAN),
            (Op::Norm, &[0.0], 0.0),
            (Op::InverseNorm, &[0.0], 0.0),
            (Op::InverseNorm, &[4.0], 0.5),
            (Op::InverseNorm, &[-1.0], NAN),
            (Op::InverseNorm, &[NAN], NAN),
            (Op::Log, &[0.0], -INF),
            (Op::Log, &[-1.0], NAN),
            (Op::Asin, &[1.5], NAN),
            (Op::Sigmoid, &[-1000.0], 0.0),
            (Op::Sigmoid, &[1000.0], 1.0),
            (Op::Softplus, &[1000.0], 1000.0),
            (Op::Softplus, &[-1000.0], 0.0),
            (Op::Softplus, &[NAN], NAN),
            (Op::Erf, &[-0.0], -0.0),
            (Op::Erf, &[INF], 1.0),
            (Op::Erf, &[-INF], -1.0),
            (Op::Round, &[0.5], 1.0),
            (Op::Round, &[-0.5], -0.0),
            (Op::Round, &[2.5], 3.0),
            (Op::Round, &[-2.5], -2.0),
            (Op::Round, &[0.49999999999999994], 0.0),
            (Op::Round, &[4503599627370497.0], 4503599627370497.0),
            (Op::Round, &[-INF], -INF),
            (Op::Round, &[NAN], NAN),
            (Op::Pow, &[NAN, 0.0], 1.0),
            (Op::Pow, &[1.0, NAN], NAN),
            (Op::Pow, &[1.0, INF], NAN),
            (Op::Pow, &[-1.0, -INF], NAN),
            (Op::Pow, &[-2.0, 3.0], -8.0),
            (Op::Pow, &[-2.0, 0.5], NAN),
            (Op::Pow, &[0.0, -1.0], INF),
            (Op::Mod, &[-5.5, 2.0], -1.5),
            (Op::Mod, &[5.5, -2.0], 1.5),
            (Op::Mod, &[1.0, 0.0], NAN),
            (Op::Atan2, &[0.0, -1.0], std::f64::consts::PI),
            (Op::Min, &[NAN, 1.0], NAN),
            (Op::Min, &[1.0, NAN], NAN),
            (Op::Max, &[NAN, 1.0], NAN),
            (Op::Max, &[1.0, NAN], NAN),
            (Op::Eq, &[NAN, NAN], 0.0),
            (Op::Ne, &[NAN, NAN], 1.0),
            (Op::Le, &[NAN, 1.0], 0.0),
            (Op::GuardedMul, &[0.0, NAN], 0.0),
            (Op::GuardedMul, &[-0.0, INF], 0.0),
            (Op::GuardedMul, &[2.0, 3.0], 6.0),
            (Op::GuardedMul, &[NAN, 0.0], NAN),
            (Op::Select, &[1.0, 2.0, NAN], 2.0),
            (Op::Select, &[-0.0, NAN, 3.0], 3.0),
            (Op::Select, &[NAN, 2.0, 3.0], 2.0),
        ];
        for (op, operands, expected) in table {
            let found = evaluate(*op, operands);
            assert!(same(found, *expected), "{}{operands:?} is {found}, not {expected}", op.name());
        }
    }

    #[test]
    fn a_place_is_rounded_down_and_kept_within_its_table() {
        let tables = [9.0, 1.0, 2.0, 3.0, 9.0];
        let at = |place: f64| look_up(&tables, [place, 1.0, 3.0]);
        assert_eq!([0.0, 0.99, 1.0, 2.5].map(at), [1.0, 1.0, 2.0, 3.0]);
        assert_eq!([-0.5, -7.0, f64::NEG_INFINITY, 3.0, 1e300, f64::INFINITY].map(at), [1.0, 1.0, 1.0, 3.0, 3.0, 3.0]);
        assert!([1.0, 2.0, 3.0].contains(&at(f64::NAN)));
        assert!(look_up(&[], [0.0, 0.0, 1.0]).is_nan());
    }

    #[test]
    fn the_error_function_has_its_published_values() {
        // Abramowitz and Stegun, table 7.1, with the digits of DLMF 7.2.1 by mpmath.
        let table = [
            (1e-300, 1.128_379_167_095_512_6e-300),
            (1e-8, 1.128_379_167_095_512_6e-8),
            (0.1, 0.112_462_916_018_284_9),
            (0.5, 0.520_499_877_813_046_5),
            (0.84375, 0.767_225_661_232_341_6),
            (1.0, 0.842_700_792_949_714_9),
            (2.0, 0.995_322_265_018_952_7),
            (3.0, 0.999_977_909_503_001_4),
            (6.5, 1.0),
        ];
        for (x, expected) in table {
            // One unit of the last place, and a half of the table's own rounding.
            for (found, expected) in [(evaluate(Op::Erf, &[x]), expected), (evaluate(Op::Erf, &[-x]), -expected)] {
                assert!((found - expected).abs() <= 1.5 * f64::EPSILON * expected.abs(), "erf({x}) is {found}");
            }
        }
    }

    #[test]
    fn the_negative_of_two_zeros_is_the_smaller() {
        for [a, b] in [[0.0, -0.0], [-0.0, 0.0]] {
            assert!(evaluate(Op::Min, &[a, b]).is_sign_negative());
            assert!(evaluate(Op::Max, &[a, b]).is_sign_positive());
        }
    }

    #[test]
    fn every_op_but_comparisons_and_selections_passes_on_a_nan() {
        for op in Op::ALL {
            let absorbs = matches!(op, Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Select);
            if absorbs {
                continue;
            }
            for position in 0..op.arity() {
                let mut operands = vec![0.5; op.arity()];
                operands[position] = f64::NAN;
                assert!(evaluate(*op, &operands).is_nan(), "{}{operands:?}", op.name());
            }
        }
    }
}
