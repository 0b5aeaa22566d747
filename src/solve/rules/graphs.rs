//! The graphs of the rules.

use super::constants::{
    ALL_DIGITS, GOOD_GAIN, HALF_A_UNIT, INITIAL_GROWTH, LEAST_FALL, LEAST_GAIN, LEAST_PROMISE, LEAST_SHRINK,
    LEFT_OF_TOLERANCE, MAX_DAMPING, MIN_DAMPING, MOST_NOISE, NOISES, POOR_GAIN, ROUNDINGS, SETTLED, STEEP,
};
use crate::solve::scalar;
use crate::solve::summary::Termination;
use residua_codegen::Function;
use residua_ir::graph::{Graph, NodeId, Op};

/// A function of one case. `formula` takes the graph and its parameters.
fn rule<const P: usize, const R: usize>(
    name: &'static str,
    parameters: &'static [&'static str; P],
    formula: impl FnOnce(&mut Graph, [NodeId; P]) -> [NodeId; R],
) -> Function {
    let mut graph = Graph::new();
    let inputs = scalar::inputs(&mut graph);
    let results = formula(&mut graph, inputs);
    scalar::of_graph(name, parameters, graph, &results)
}

/// Both are true.
fn and(g: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
    g.mul(a, b)
}

/// Either is true.
fn or(g: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
    g.apply(Op::Max, &[a, b])
}

/// Above every finite number but the last in f64; in f32 it is infinity.
const HUGE: f64 = f64::MAX;

/// The factor of an extended step without curvature: in f32 too it leaves no step that is small.
const MOST_EXTENSION: f64 = 1e30;

/// Rounding of x, and of what is computed from it, leaves residual i uncertain by about ε Σⱼ|Jᵢⱼxⱼ|, and so the cost by ε‖r‖ times the root
/// mean square of that if roundings are independent; and by its own rounding. −1 without ε, since nothing is below that.
pub(super) fn noise() -> Function {
    rule("lm_noise", &["cost", "scaled_size", "residuals", "epsilon"], |g, [cost, scaled_size, residuals, epsilon]| {
        let (zero, one, two) = (g.literal(0.0), g.literal(1.0), g.literal(2.0));
        let squares = g.mul(two, cost);
        let norm = g.sqrt(squares);
        // Squares beyond the range are no measure.
        let finite = is_finite(g, scaled_size);
        let scaled_size = g.select(finite, scaled_size, zero);
        let mean = g.div(scaled_size, residuals);
        let spread = g.sqrt(mean);
        let of_residuals = g.mul(norm, spread);
        let roundings = g.literal(ROUNDINGS);
        let of_residuals = g.mul(roundings, of_residuals);
        let sum = g.apply(Op::Max, &[of_residuals, cost]);
        let noise = g.mul(epsilon, sum);
        let none = g.neg(one);
        let judged = g.lt(zero, epsilon);
        [g.select(judged, noise, none)]
    })
}

/// max |gⱼ|/√Dⱼ over √(2F). A gradient of 0 has the cosine 0 at any cost.
pub(super) fn cosine() -> Function {
    rule("lm_cosine", &["scaled_gradient", "cost"], |g, [scaled_gradient, cost]| {
        let (zero, two) = (g.literal(0.0), g.literal(2.0));
        let squares = g.mul(two, cost);
        let norm = g.sqrt(squares);
        let cosine = g.div(scaled_gradient, norm);
        let flat = g.eq(scaled_gradient, zero);
        [g.select(flat, zero, cosine)]
    })
}

/// Whether a number is finite: false of NaN.
fn is_finite(g: &mut Graph, number: NodeId) -> NodeId {
    let (magnitude, huge) = (g.abs(number), g.literal(HUGE));
    g.lt(magnitude, huge)
}

/// t = −δ̄ᵀg / ‖J̃δ̄‖², at least 1, and the predicted reduction −½ t δ̄ᵀg of the extended step. ‖J̃δ̄‖² follows from the predicted reduction
/// −δ̄ᵀg − ½‖J̃δ̄‖²; where rounding leaves none of it, t is huge.
fn extended(g: &mut Graph, predicted: NodeId, descent: NodeId) -> [NodeId; 2] {
    let (zero, one, two, half, huge) =
        (g.literal(0.0), g.literal(1.0), g.literal(2.0), g.literal(0.5), g.literal(MOST_EXTENSION));
    let rest = g.sub(descent, predicted);
    let square = g.mul(two, rest);
    let quotient = g.div(descent, square);
    let factor = g.apply(Op::Max, &[quotient, one]);
    let bends = g.lt(zero, square);
    let factor = g.select(bends, factor, huge);
    let most = g.mul(factor, descent);
    [factor, g.mul(half, most)]
}

/// ϱ = reduction/predicted reduction, and the verdict: Madsen et al., (2.18) and algorithm 3.16; Ceres asks for a least ratio. For the ends see
/// the module's documentation; a hopeless step that met NaN or infinity ends with that.
pub(super) fn gain() -> Function {
    let parameters = &["change", "predicted", "descent", "step", "size", "cost", "cosine", "noise", "floor", "epsilon"];
    rule("lm_gain", parameters, |g, [change, predicted, descent, step, size, cost, cosine, noise, floor, epsilon]| {
        let (zero, one, least) = (g.literal(0.0), g.literal(1.0), g.literal(LEAST_GAIN));
        let ratio = g.div(change, predicted);
        let magnitude = g.abs(predicted);
        let hidden = g.le(magnitude, noise);
        let change_magnitude = g.abs(change);
        let visible = g.lt(noise, change_magnitude);
        let finite = is_finite(g, change);
        // Where the cost changes by more than its noise the model is wrong, and nothing is hidden.
        let visible = and(g, finite, visible);
        let unseen = g.sub(one, visible);
        let hidden = and(g, hidden, unseen);
        let seen = g.sub(one, hidden);
        let descends = g.lt(zero, predicted);
        let sound = and(g, descends, finite);

        let enough = g.lt(least, ratio);
        let enough = and(g, seen, enough);

        let share = g.literal(LEAST_FALL);
        let half = g.mul(share, floor);
        let falls = g.le(predicted, half);
        let moves = g.lt(zero, step);
        let loss = g.neg(change);
        let harmless = g.le(loss, noise);
        let faint = and(g, hidden, falls);
        let faint = and(g, faint, moves);
        let faint = and(g, faint, harmless);

        let by_cost = and(g, sound, enough);
        let by_model = and(g, sound, faint);
        let doubled = g.add(by_model, by_model);
        let verdict = g.add(by_cost, doubled);
        let floor = g.select(by_model, predicted, floor);

        let least_step = g.mul(epsilon, size);
        let still = g.le(step, least_step);
        let hopeless = or(g, hidden, still);
        let accepted = or(g, by_cost, by_model);
        let rejected = g.sub(one, accepted);
        let judged = g.lt(zero, epsilon);
        let over = and(g, rejected, hopeless);
        let over = and(g, over, judged);

        let [_, promised] = extended(g, predicted, descent);
        let noises = g.literal(NOISES);
        let most = g.mul(noises, noise);
        let nothing_left = g.le(promised, most);
        let settled = g.literal(SETTLED);
        let settled = g.le(cosine, settled);
        let of_rounding = g.mul(cosine, cost);
        let rounded = g.le(of_rounding, noise);
        let share = g.literal(MOST_NOISE);
        let most = g.mul(share, cost);
        let precise = g.le(noise, most);
        let rounded = and(g, rounded, precise);
        let settled = or(g, settled, rounded);
        let settled = and(g, settled, nothing_left);
        let exact = g.le(cost, noise);
        let converged = or(g, settled, exact);
        let steep = g.literal(STEEP);
        let steep = g.lt(steep, cosine);
        // The fall that the best step along one coordinate promises.
        let square = g.mul(cosine, cosine);
        let of_coordinate = g.mul(square, cost);
        let shown = g.lt(noise, of_coordinate);
        let steep = and(g, steep, shown);
        let collapsed = or(g, steep, seen);
        let mut code = |termination: Termination| g.literal(termination.code());
        let codes = [
            Termination::PrecisionLimit,
            Termination::TrustRegionCollapsed,
            Termination::CostTolerance,
            Termination::NonFinite,
        ];
        let [precision, collapse, convergence, lost] = codes.map(&mut code);
        let end = g.select(collapsed, collapse, precision);
        let end = g.select(converged, convergence, end);
        let end = g.select(finite, end, lost);
        [ratio, verdict, floor, g.select(over, end, zero)]
    })
}

/// λ and ν: Nielsen's rule, Madsen et al., (2.21) and algorithm 3.16; λ·max(⅓, 1 − (2ϱ − 1)³) after a step, λν and 2ν
/// without one.
pub(super) fn damping() -> Function {
    rule("lm_damping", &["lambda", "growth", "ratio", "verdict"], |g, [lambda, growth, ratio, verdict]| {
        let (one, two, third) = (g.literal(1.0), g.literal(2.0), g.literal(LEAST_SHRINK));
        let doubled = g.mul(two, ratio);
        let centred = g.sub(doubled, one);
        let square = g.mul(centred, centred);
        let cube = g.mul(square, centred);
        let slack = g.sub(one, cube);
        let shrink = g.apply(Op::Max, &[third, slack]);
        // The ratio of a hidden step is one of rounding errors.
        let hidden = g.lt(one, verdict);
        let shrink = g.select(hidden, third, shrink);
        let factor = g.select(verdict, shrink, growth);
        let scaled = g.mul(lambda, factor);
        let least = g.literal(MIN_DAMPING);
        let lambda = g.apply(Op::Max, &[scaled, least]);
        let faster = g.mul(two, growth);
        let initial = g.literal(INITIAL_GROWTH);
        let growth = g.select(verdict, initial, faster);
        let most = g.literal(MAX_DAMPING);
        let beyond = g.lt(most, lambda);
        let code = g.literal(Termination::TrustRegionCollapsed.code());
        let goes_on = g.literal(0.0);
        [lambda, growth, g.select(beyond, code, goes_on)]
    })
}

/// Whether a tolerance is on, and the one that counts: not below what the arithmetic can tell.
fn effective(g: &mut Graph, tolerance: NodeId, least: NodeId) -> [NodeId; 2] {
    let zero = g.literal(0.0);
    [g.lt(zero, tolerance), g.apply(Op::Max, &[tolerance, least])]
}

/// The gradient's cosine, the cost's relative reduction, the step's relative length, in this order: MINPACK's gtol, ftol and xtol, on the
/// extended step. A gradient of exactly 0 is convergence at any tolerance. A linear system that was not solved as exactly as asked for gives
/// no step that shows convergence.
pub(super) fn convergence() -> Function {
    let parameters = &[
        "verdict",
        "complete",
        "cost",
        "change",
        "predicted",
        "descent",
        "cosine",
        "step",
        "size",
        "cost_tolerance",
        "gradient_tolerance",
        "parameter_tolerance",
        "epsilon",
    ];
    rule(
        "lm_convergence",
        parameters,
        |g,
         [
            verdict,
            complete,
            cost,
            change,
            predicted,
            descent,
            cosine,
            step,
            size,
            of_cost,
            of_gradient,
            of_parameters,
            epsilon,
        ]| {
            let (zero, one, two) = (g.literal(0.0), g.literal(1.0), g.literal(2.0));
            let roundings = g.literal(ROUNDINGS);
            let least = g.mul(roundings, epsilon);
            // A predicted reduction is relative to the cost what the square of a cosine is.
            let least_cost = g.mul(least, least);
            let all_digits = g.literal(ALL_DIGITS);
            let asks_for_all = g.le(of_cost, all_digits);
            let [[by_cost, of_cost], [by_gradient, of_gradient], [by_step, of_parameters]] =
                [(of_cost, least_cost), (of_gradient, least), (of_parameters, least)]
                    .map(|(tolerance, least)| effective(g, tolerance, least));
            let of_cost = g.select(asks_for_all, least_cost, of_cost);
            let [factor, promised] = extended(g, predicted, descent);

            let within = g.le(cosine, of_gradient);
            let within = and(g, within, by_gradient);
            let vanishes = g.eq(cosine, zero);
            let flat = or(g, within, vanishes);

            // The predicted reduction of the best step along one coordinate: its length is that of the gradient's cosine times ‖r̃‖, its reduction the
            // square of that cosine times the cost.
            let square = g.mul(cosine, cosine);
            let of_coordinate = g.mul(square, cost);
            let promised = g.apply(Op::Max, &[promised, of_coordinate]);
            let share = g.mul(of_cost, cost);
            let small_promise = g.le(promised, share);
            let magnitude = g.abs(change);
            let small_change = g.le(magnitude, share);
            let twice = g.mul(two, predicted);
            let as_promised = g.le(change, twice);
            let shown = and(g, small_change, as_promised);
            let hidden = g.lt(one, verdict);
            let shown = or(g, shown, hidden);
            let settled = and(g, small_promise, shown);
            let settled = and(g, settled, complete);
            let settled = and(g, settled, by_cost);

            let length = g.mul(factor, step);
            let squares = g.mul(two, cost);
            let norm = g.sqrt(squares);
            let of_coordinate = g.mul(cosine, norm);
            let length = g.apply(Op::Max, &[length, of_coordinate]);
            let share = g.mul(of_parameters, size);
            let still = g.le(length, share);
            let still = and(g, still, complete);
            let finite = is_finite(g, size);
            let still = and(g, still, finite);
            let still = and(g, still, by_step);

            let mut code = |termination: Termination| g.literal(termination.code());
            let codes = [Termination::ParameterTolerance, Termination::CostTolerance, Termination::GradientTolerance];
            let [parameter, cost, gradient] = codes.map(&mut code);
            let end = g.select(still, parameter, zero);
            let end = g.select(settled, cost, end);
            [g.select(flat, gradient, end)]
        },
    )
}

/// The Gauss-Newton step where it is within the radius; else a point of the line that leads to it from the Cauchy point a, where that is within
/// the radius, else a shorter a. On the line a + t(b − a) of length Δ, t solves t²‖b − a‖² + 2t aᵀ(b − a) = Δ² − ‖a‖².
pub(super) fn dogleg() -> Function {
    let parameters = &["radius", "cauchy", "gauss_newton", "product"];
    rule("lm_dogleg", parameters, |g, [radius, cauchy, gauss_newton, product]| {
        let (zero, one) = (g.literal(0.0), g.literal(1.0));
        let [radius_square, a_square, b_square] = [radius, cauchy, gauss_newton].map(|length| g.mul(length, length));
        let along = g.sub(product, a_square);
        let beyond = g.sub(b_square, product);
        let square = g.sub(beyond, along);
        let room = g.sub(radius_square, a_square);
        let roots = g.mul(along, along);
        let term = g.mul(square, room);
        let roots = g.add(roots, term);
        let root = g.sqrt(roots);
        // Of the two forms of the root the one without a difference.
        let sum = g.add(along, root);
        let divisor = g.lt(zero, along);
        let by_sum = g.div(room, sum);
        let difference = g.sub(root, along);
        let by_difference = g.div(difference, square);
        let t = g.select(divisor, by_sum, by_difference);
        let rest = g.sub(one, t);
        let shortened = g.div(radius, cauchy);
        let far = g.le(radius, cauchy);
        let of_a = g.select(far, shortened, rest);
        let of_b = g.select(far, zero, t);
        let reached = g.le(gauss_newton, radius);
        [g.select(reached, zero, of_a), g.select(reached, one, of_b)]
    })
}

/// Some times the length of a step that was as good as predicted, half of one that was not, and a quarter of one that raised the cost or has none.
pub(super) fn radius() -> Function {
    let parameters = &["radius", "length", "change", "growth", "ratio", "verdict"];
    rule("lm_radius", parameters, |g, [radius, length, change, growth, ratio, verdict]| {
        let (zero, half, quarter) = (g.literal(0.0), g.literal(0.5), g.literal(0.25));
        let good = g.literal(GOOD_GAIN);
        let good = g.lt(good, ratio);
        // The ratio of a hidden step is one of rounding errors.
        let one = g.literal(1.0);
        let hidden = g.lt(one, verdict);
        let good = or(g, good, hidden);
        let poor = g.literal(POOR_GAIN);
        let poor = g.lt(ratio, poor);
        let longer = g.mul(growth, length);
        let longer = g.apply(Op::Max, &[radius, longer]);
        let shorter = g.mul(half, length);
        let kept = g.select(poor, shorter, radius);
        let accepted = g.select(good, longer, kept);
        // False of NaN.
        let falls = g.le(zero, change);
        let share = g.select(falls, half, quarter);
        let rejected = g.mul(share, length);
        [g.select(verdict, accepted, rejected)]
    })
}

/// Whether a point is a minimum by the promise of its undamped model, whether rounding leaves no more of one, whether rounding is too small to hide one that
/// counts, and whether it is a minimum where no step leads on, whatever the tolerance of the cost asks for.
/// [`Linearised`](crate::solve::levenberg_marquardt::point::Linearised) has the same in f64.
pub(super) fn minimum() -> Function {
    let parameters = &[
        "promise",
        "cost",
        "influence",
        "residuals",
        "coordinates",
        "scaled_size",
        "noise",
        "cost_tolerance",
        "epsilon",
    ];
    rule(
        "lm_minimum",
        parameters,
        |g, [promise, cost, influence, residuals, coordinates, scaled_size, noise, of_cost, epsilon]| {
            let (zero, one, two, half) = (g.literal(0.0), g.literal(1.0), g.literal(2.0), g.literal(0.5));
            let exact = g.le(cost, noise);
            let finite = is_finite(g, scaled_size);
            let size = g.select(finite, scaled_size, zero);
            let roundings = g.literal(ROUNDINGS);
            let rounding = g.mul(roundings, epsilon);
            let number = g.apply(Op::Max, &[residuals, one]);
            let mean = g.div(size, number);
            let root = g.sqrt(mean);
            let of_coordinate = g.mul(rounding, root);
            let square = g.mul(of_coordinate, of_coordinate);
            let square = g.mul(square, coordinates);
            let unit = g.literal(HALF_A_UNIT);
            let unit = g.mul(unit, epsilon);
            let root = g.sqrt(size);
            let beside = g.mul(unit, root);
            let beside = g.mul(beside, beside);
            let square = g.apply(Op::Max, &[square, beside]);
            let of_rounding = g.mul(half, square);

            let freedom = g.sub(residuals, coordinates);
            let freedom = g.apply(Op::Max, &[freedom, one]);
            let squares = g.mul(two, influence);
            let variance = g.div(squares, freedom);
            let least = g.literal(LEAST_PROMISE);
            let least = g.mul(least, variance);
            let left = g.literal(LEFT_OF_TOLERANCE);
            let left = g.mul(left, of_cost);
            let left = g.mul(left, influence);
            let asks = g.lt(zero, of_cost);
            let few = g.apply(Op::Min, &[left, least]);
            let tolerable = g.select(asks, few, least);
            let tolerable = g.apply(Op::Max, &[tolerable, of_rounding]);

            let magnitude = g.abs(promise);
            let known = is_finite(g, magnitude);
            let hidden = g.le(promise, of_rounding);
            let hidden = and(g, hidden, known);
            let small = g.le(promise, tolerable);
            let small = and(g, small, known);
            let told = g.le(of_rounding, least);
            let near = g.le(promise, least);
            let near = and(g, near, known);
            [or(g, exact, small), or(g, exact, hidden), or(g, exact, told), or(g, exact, near)]
        },
    )
}

/// Eisenstat and Walker, *Choosing the forcing terms in an inexact Newton method* (1996), choice 2 with γ = 0.9 and α = 2, and its
/// safeguard; the ceiling at the start.
pub(super) fn forcing() -> Function {
    let parameters = &["gradient_norm", "previous_norm", "previous", "ceiling"];
    rule("lm_forcing", parameters, |g, [norm, previous_norm, previous, ceiling]| {
        let (zero, gamma, threshold) = (g.literal(0.0), g.literal(0.9), g.literal(0.1));
        let ratio = g.div(norm, previous_norm);
        let square = g.mul(ratio, ratio);
        let choice = g.mul(gamma, square);
        let square = g.mul(previous, previous);
        let safeguard = g.mul(gamma, square);
        let raised = g.apply(Op::Max, &[choice, safeguard]);
        let guarded = g.lt(threshold, safeguard);
        let term = g.select(guarded, raised, choice);
        // The ceiling also replaces NaN.
        let below = g.lt(term, ceiling);
        let term = g.select(below, term, ceiling);
        let follows = g.lt(zero, previous_norm);
        [g.select(follows, term, ceiling)]
    })
}
