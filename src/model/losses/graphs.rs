//! ρ, ρ′ and ρ″ of every kind, written so that f32 keeps its digits at small s, where most residuals of a good fit are.

use std::rc::Rc;

use super::{LossKind, LossParameters};
use residua_codegen::{Case, Function};
use residua_ir::autodiff;
use residua_ir::graph::{Graph, InputId, NodeId};

/// The function of (s, a, b) with results (ρ(s), ρ′(s)); its case `k` is the kind of number `k`. A NaN stays one.
pub fn function() -> Rc<Function> {
    FUNCTIONS.with(|[function, _]| function.clone())
}

/// The function of (s, a, b) with the result ρ″(s), the derivative of [`function()`]'s second result.
pub fn bend() -> Rc<Function> {
    FUNCTIONS.with(|[_, bend]| bend.clone())
}

thread_local! {
    /// [`function()`] and [`bend()`], made once for all kernels.
    static FUNCTIONS: [Rc<Function>; 2] = {
        let parameters = &["s", "a", "b"];
        let function = |name, results, cases: [Case; LossKind::ALL.len()]| {
            Rc::new(Function { name, parameters, results, cases: cases.into() })
        };
        [function("loss", 2, LossKind::ALL.map(case)), function("loss_bend", 1, LossKind::ALL.map(bend_case))]
    };
}

/// factor · ρ″(s), in f64.
pub fn evaluate_bend(loss: &LossParameters, s: f64) -> f64 {
    let case = bend_case(loss.kind);
    loss.factor * case.graph.evaluate(&[s, loss.a, loss.b])[case.results[0].index()]
}

/// factor · ρ′ and factor · ρ″ in f64, as a function of s. Its graphs are made once.
pub fn derivatives(loss: &LossParameters) -> impl Fn(f64) -> [f64; 2] {
    let LossParameters { kind, a, b, factor } = *loss;
    let (first, second) = (case(kind), bend_case(kind));
    move |s| {
        let slope = first.graph.evaluate(&[s, a, b])[first.results[1].index()];
        let bend = second.graph.evaluate(&[s, a, b])[second.results[0].index()];
        [factor * slope, factor * bend]
    }
}

/// factor · ρ′ in f64, as a function of s, for many instances.
pub fn slopes(loss: &LossParameters) -> impl FnMut(f64) -> f64 {
    let LossParameters { kind, a, b, factor } = *loss;
    let case = case(kind);
    let mut values = vec![0.0; case.graph.graph().len()];
    move |s| {
        case.graph.evaluate_into(&[s, a, b], &mut values);
        factor * values[case.results[1].index()]
    }
}

/// factor · ρ(s) and factor · ρ′(s), in f64.
pub fn evaluate(loss: &LossParameters, s: f64) -> (f64, f64) {
    // A graph is made for each call, which the most usual loss needs not.
    if loss.kind == LossKind::Squared {
        return (loss.factor * s, loss.factor);
    }
    let case = case(loss.kind);
    let values = case.graph.evaluate(&[s, loss.a, loss.b]);
    let result = |position: usize| loss.factor * values[case.results[position].index()];
    (result(0), result(1))
}

fn case(kind: LossKind) -> Case {
    let (graph, results) = graph_of(kind);
    finish(kind, graph, &results)
}

fn bend_case(kind: LossKind) -> Case {
    let (mut graph, [_, slope]) = graph_of(kind);
    let one = graph.literal(1.0);
    let derivative = autodiff::gradient(&mut graph, &[(slope, one)], &[InputId(0)]).pop().flatten();
    let derivative = derivative.unwrap_or_else(|| graph.literal(0.0));
    finish(kind, graph, &[derivative])
}

fn graph_of(kind: LossKind) -> (Graph, [NodeId; 2]) {
    let mut graph = Graph::new();
    let mut input = |number| graph.input(InputId(number));
    let (s, a, b) = (input(0), input(1), input(2));
    let results = loss(&mut graph, kind, s, a, b);
    (graph, results)
}

fn finish(kind: LossKind, graph: Graph, results: &[NodeId]) -> Case {
    let (graph, results) = graph.extract(results);
    let graph = graph.check(3).expect("a loss reads s, a and b alone");
    Case { name: kind.name(), graph, results }
}

/// ρ(s) and ρ′(s).
fn loss(g: &mut Graph, kind: LossKind, s: NodeId, a: NodeId, b: NodeId) -> [NodeId; 2] {
    let (zero, one, two, third) = (g.literal(0.0), g.literal(1.0), g.literal(2.0), g.literal(1.0 / 3.0));
    let squared_scale = g.mul(a, a);
    match kind {
        LossKind::Squared => [s, one],
        LossKind::Huber => {
            let inlier = g.le(s, squared_scale);
            let norm = g.sqrt(s);
            let twice = g.mul(two, a);
            let product = g.mul(twice, norm);
            let linear = g.sub(product, squared_scale);
            let decay = g.div(a, norm);
            [g.select(inlier, s, linear), g.select(inlier, one, decay)]
        }
        // 2a²(√(1 + y) − 1) = 2s/(1 + √(1 + y)), which does not cancel.
        LossKind::SoftL1 => {
            let ratio = g.div(s, squared_scale);
            let sum = g.add(one, ratio);
            let root = g.sqrt(sum);
            let twice = g.mul(two, s);
            let denominator = g.add(one, root);
            [g.div(twice, denominator), g.div(one, root)]
        }
        LossKind::Cauchy => {
            let ratio = g.div(s, squared_scale);
            let sum = g.add(one, ratio);
            let large = g.log(sum);
            let small = small_log_of_one_plus(g, ratio);
            let bound = g.literal(SMALL);
            let is_small = g.lt(ratio, bound);
            let logarithm = g.select(is_small, small, large);
            [g.mul(squared_scale, logarithm), g.div(one, sum)]
        }
        LossKind::Arctan => {
            let ratio = g.div(s, a);
            let angle = g.atan(ratio);
            let square = g.mul(ratio, ratio);
            let sum = g.add(one, square);
            [g.mul(a, angle), g.div(one, sum)]
        }
        // (a²/3)(1 − (1 − y)³) = s(1 − y + y²/3). The comparison is turned so that a NaN is no outlier.
        LossKind::Tukey => {
            let ratio = g.div(s, squared_scale);
            let outlier = g.lt(squared_scale, s);
            let complement = g.sub(one, ratio);
            let square = g.mul(ratio, ratio);
            let third_of_square = g.mul(third, square);
            let sum = g.add(complement, third_of_square);
            let inside = g.mul(s, sum);
            let saturated = g.mul(third, squared_scale);
            let influence = g.mul(complement, complement);
            [g.select(outlier, saturated, inside), g.select(outlier, zero, influence)]
        }
        // With u = s/b and v = a/b, b(log(1 + e^(u − v)) − log(1 + e^(−v))) = b log(1 + (eᵘ − 1)/(1 + eᵛ)); the right side for
        // small u, where the left one cancels.
        LossKind::Tolerant => {
            let difference = g.sub(s, a);
            let argument = g.div(difference, b);
            let scaled_bend = g.div(a, b);
            let below = g.neg(scaled_bend);
            let after = g.softplus(argument);
            let before = g.softplus(below);
            let large = g.sub(after, before);

            let ratio = g.div(s, b);
            let half = g.literal(0.5);
            let half_ratio = g.mul(half, ratio);
            // eᵘ − 1 = 2 sinh(u/2) e^(u/2)
            let sine = g.sinh(half_ratio);
            let power = g.exp(half_ratio);
            let product = g.mul(sine, power);
            let growth = g.mul(two, product);
            let share = g.sigmoid(below);
            let increment = g.mul(growth, share);
            let small = small_log_of_one_plus(g, increment);

            // (e^0.4 − 1)/2 = 0.246, and 1/(1 + eᵛ) is ½ at most.
            let bound = g.literal(0.4);
            let is_small = g.lt(ratio, bound);
            let logarithm = g.select(is_small, small, large);
            [g.mul(b, logarithm), g.sigmoid(argument)]
        }
    }
}

/// Up to here [`small_log_of_one_plus`] is exact to rounding, in f64 too.
const SMALL: f64 = 0.25;

/// log(1 + y) for 0 ≤ y ≤ [`SMALL`], where 1 + y would round y's digits away: 2 artanh(z) with z = y/(2 + y), by its series.
/// z² is at most 1/81, so the first of the terms left out, z¹⁷/17, is 3e-17 of the sum.
fn small_log_of_one_plus(g: &mut Graph, y: NodeId) -> NodeId {
    let two = g.literal(2.0);
    let denominator = g.add(two, y);
    let z = g.div(y, denominator);
    let square = g.mul(z, z);
    let mut sum = g.literal(1.0 / 15.0);
    for degree in [13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0f64] {
        let coefficient = g.literal(degree.recip());
        let product = g.mul(square, sum);
        sum = g.add(coefficient, product);
    }
    let twice = g.mul(two, z);
    g.mul(twice, sum)
}
