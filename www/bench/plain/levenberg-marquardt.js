/**
 * Levenberg-Marquardt in plain JavaScript, in double precision, with conjugate gradients preconditioned by the diagonal blocks of JᵀJ, for
 * models whose tangent space consists of blocks of three. Its rules for steps (trust region, forcing) are those of residua on the CPU, so that both take
 * the same steps: Powell's dogleg in a ball of scaled steps (Nocedal and Wright, "Numerical Optimization", section 4.1), forcing terms of Eisenstat and
 * Walker, "Choosing the Forcing Terms in an Inexact Newton Method" (1996).
 *
 * A model has `cost(x)`; `linearise(x, gradient, blocks)`, which returns the cost and adds Jᵀr and the lower halves of the diagonal blocks
 * of JᵀJ (xx, xy, yy, xz, yz, zz); and `product(p, jtjp)`, which adds JᵀJp and returns ‖Jp‖². A model whose parameters are not vertices of
 * three coordinates has `blocks` (their number) and `retract(x, step, out)`; its first step is not cut. `frozen`, if present, is 1 for each constant
 * tangent coordinate.
 */

const LEAST_GAIN = 1e-3;
const GOOD_GAIN = 0.75;
/** The radius after a good step, in lengths of the step, and where others from the same point were rejected. */
const GROWTH = 3;
const GROWTH_AFTER_REJECTION = 1.5;
/** A block whose determinant is less than this share of the product of its diagonal is singular. */
const SINGULAR = 1e-14;
/** A radius below this leads nowhere. */
const LEAST_RADIUS = 1e-300;

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

function maxNorm(a) {
  let most = 0;
  for (let i = 0; i < a.length; i++) most = Math.max(most, Math.abs(a[i]));
  return most;
}

/** The inverses of the diagonal blocks, in the same layout; of a singular one, those of its diagonal, or 1. */
function invertBlocks(diagonal, frozen, inverse) {
  for (let block = 0; block < diagonal.length / 6; block++) {
    const at = 6 * block, k = 3 * block;
    let a = diagonal[at], b = diagonal[at + 1], c = diagonal[at + 3];
    let d = diagonal[at + 2], e = diagonal[at + 4], f = diagonal[at + 5];
    if (frozen !== undefined) {
      if (frozen[k]) [a, b, c] = [1, 0, 0];
      if (frozen[k + 1]) [b, d, e] = [0, 1, 0];
      if (frozen[k + 2]) [c, e, f] = [0, 0, 1];
    }
    const xx = d * f - e * e, xy = c * e - b * f, xz = b * e - c * d;
    const determinant = a * xx + b * xy + c * xz;
    if (!(determinant > SINGULAR * a * d * f)) {
      inverse.set([a > 0 ? 1 / a : 1, 0, d > 0 ? 1 / d : 1, 0, 0, f > 0 ? 1 / f : 1], at);
      continue;
    }
    const scale = 1 / determinant;
    inverse[at] = xx * scale;
    inverse[at + 1] = xy * scale;
    inverse[at + 2] = (a * f - c * c) * scale;
    inverse[at + 3] = xz * scale;
    inverse[at + 4] = (b * c - a * e) * scale;
    inverse[at + 5] = (a * d - b * b) * scale;
  }
}

/** z = M⁻¹r; returns rᵀz. */
function precondition(inverse, r, z) {
  let sum = 0;
  for (let block = 0; block < inverse.length / 6; block++) {
    const at = 6 * block, k = 3 * block;
    const x = r[k], y = r[k + 1], w = r[k + 2];
    const zx = inverse[at] * x + inverse[at + 1] * y + inverse[at + 3] * w;
    const zy = inverse[at + 1] * x + inverse[at + 2] * y + inverse[at + 4] * w;
    const zw = inverse[at + 3] * x + inverse[at + 4] * y + inverse[at + 5] * w;
    z[k] = zx;
    z[k + 1] = zy;
    z[k + 2] = zw;
    sum += x * zx + y * zy + w * zw;
  }
  return sum;
}

/** The vectors of a run, allocated once for a number of tangent coordinates. */
export function workspace(n) {
  const vector = () => new Float64Array(n);
  return {
    gradient: vector(), scale: vector(), gaussNewton: vector(), descent: vector(), step: vector(), residual: vector(), preconditioned: vector(), direction: vector(), jtjp: vector(),
    diagonal: new Float64Array(2 * n), inverse: new Float64Array(2 * n),
  };
}

/** JᵀJ step = −gradient; returns the number of iterations. */
function conjugateGradients(model, space, tolerance, maxIterations) {
  const { gradient, gaussNewton: step, residual, preconditioned, direction, jtjp, diagonal, inverse } = space;
  const { frozen } = model;
  invertBlocks(diagonal, frozen, inverse);
  step.fill(0);
  for (let i = 0; i < residual.length; i++) residual[i] = -gradient[i];
  let size = precondition(inverse, residual, preconditioned);
  direction.set(preconditioned);
  const enough = tolerance * tolerance * size;
  for (let iteration = 0; iteration < maxIterations; iteration++) {
    if (!(size > 0)) return iteration;
    jtjp.fill(0);
    const alpha = size / model.product(direction, jtjp);
    for (let i = 0; i < step.length; i++) {
      step[i] += alpha * direction[i];
      residual[i] -= alpha * jtjp[i];
    }
    if (frozen !== undefined) for (let i = 0; i < step.length; i++) if (frozen[i]) residual[i] = 0;
    const next = precondition(inverse, residual, preconditioned);
    if (next <= enough) return iteration + 1;
    const beta = next / size;
    size = next;
    for (let i = 0; i < direction.length; i++) direction[i] = preconditioned[i] + beta * direction[i];
  }
  return maxIterations;
}

/**
 * Minimises from `x`, which is not modified. A tolerance of 0 disables its test.
 * @returns {{ x: Float64Array, initialCost: number, finalCost: number, iterations: number, linearIterations: number, termination: string,
 *   costs: number[] }}
 *   costs: after each iteration, accepted or not
 */
export function levenbergMarquardt(model, x, options = {}, space = workspace(3 * (model.blocks ?? x.length / 3))) {
  const { maxIterations = 100, costTolerance = 1e-6, gradientTolerance = 1e-6, parameterTolerance = 1e-8, maxLinearIterations = 500, linearTolerance = 0.1 } = options;
  const { gradient, scale, gaussNewton, descent, step, diagonal, jtjp } = space;
  scale.fill(0);
  const { frozen } = model;
  let point = Float64Array.from(x), trial = new Float64Array(x.length);
  const linearise = () => {
    gradient.fill(0);
    diagonal.fill(0);
    const cost = model.linearise(point, gradient, diagonal);
    if (frozen !== undefined) for (let i = 0; i < gradient.length; i++) if (frozen[i]) gradient[i] = 0;
    return cost;
  };
  const scaled = (a, b) => {
    let sum = 0;
    for (let i = 0; i < a.length; i++) sum += scale[i] * a[i] * b[i];
    return sum;
  };
  let cost = linearise();
  const initialCost = cost;
  let [radius, costBefore, forcing, previousNorm, linearIterations] = [0, Infinity, linearTolerance, 0, 0];
  const costs = [];
  const end = (termination) => ({ x: point, initialCost, finalCost: cost, iterations: costs.length, linearIterations, termination, costs });
  if (gradientTolerance > 0 && maxNorm(gradient) <= gradientTolerance) return end('gradient-tolerance');
  while (costs.length < maxIterations) {
    follow(scale, diagonal, cost / costBefore);
    costBefore = cost;
    if (costs.length === 0) radius = model.retract === undefined ? Math.sqrt(scaled(point, point)) : Infinity;
    const norm = scaledGradient(gradient, diagonal);
    forcing = forcingTerm(norm, previousNorm, forcing, linearTolerance);
    previousNorm = norm;
    linearIterations += conjugateGradients(model, space, forcing, maxLinearIterations);
    for (let i = 0; i < descent.length; i++) descent[i] = scale[i] > 0 ? -gradient[i] / scale[i] : 0;
    jtjp.fill(0);
    const slope = scaled(descent, descent), cauchy = slope / model.product(descent, jtjp);
    const path = { cauchy: cauchy * Math.sqrt(slope), gaussNewton: Math.sqrt(scaled(gaussNewton, gaussNewton)), product: cauchy * scaled(descent, gaussNewton) };
    // Steps from this point, until one is accepted.
    for (let growth = GROWTH; ; growth = GROWTH_AFTER_REJECTION) {
      const [ofCauchy, ofGaussNewton] = dogleg(radius, path);
      for (let i = 0; i < step.length; i++) step[i] = ofCauchy * cauchy * descent[i] + ofGaussNewton * gaussNewton[i];
      if (model.retract === undefined) for (let i = 0; i < step.length; i++) trial[i] = point[i] + step[i];
      else model.retract(point, step, trial);
      const change = cost - model.cost(trial);
      jtjp.fill(0);
      const gain = change / (-dot(gradient, step) - model.product(step, jtjp) / 2);
      const length = Math.min(radius, path.gaussNewton);
      const accepted = gain > LEAST_GAIN;
      if (!accepted) radius = (change >= 0 ? 0.5 : 0.25) * length;
      else if (gain > GOOD_GAIN) radius = Math.max(radius, growth * length);
      else if (gain < 0.25) radius = 0.5 * length;
      if (accepted) {
        const before = cost;
        const small = parameterTolerance > 0 && Math.sqrt(dot(step, step)) <= parameterTolerance * (Math.sqrt(dot(point, point)) + parameterTolerance);
        [point, trial] = [trial, point];
        cost -= change;
        costs.push(cost);
        if (costs.length < maxIterations) linearise();
        if (gradientTolerance > 0 && maxNorm(gradient) <= gradientTolerance) return end('gradient-tolerance');
        if (costTolerance > 0 && change <= costTolerance * before) return end('cost-tolerance');
        if (small) return end('parameter-tolerance');
        break;
      }
      costs.push(cost);
      if (!(radius > LEAST_RADIUS)) return end('trust-region-collapsed');
      if (costs.length >= maxIterations) break;
    }
  }
  return end('max-iterations');
}

/** D² at a new point: the diagonal of JᵀJ, or 0.81 of what it was, less where all of it and the cost fall by more. */
function follow(scale, diagonal, costs) {
  const place = (i) => 6 * Math.floor(i / 3) + [0, 2, 5][i % 3];
  let common = costs;
  for (let i = 0; i < scale.length; i++) if (scale[i] > 0) common = Math.max(common, diagonal[place(i)] / scale[i]);
  for (let i = 0; i < scale.length; i++) scale[i] = Math.max(0.81 * Math.min(common, 1) * scale[i], diagonal[place(i)]);
}

/** The norm of the gradient in units of the columns of J. */
function scaledGradient(gradient, diagonal) {
  let sum = 0;
  for (let i = 0, at = 0; i < gradient.length; i += 3, at += 6) {
    const squares = [diagonal[at], diagonal[at + 2], diagonal[at + 5]];
    for (let k = 0; k < 3; k++) if (squares[k] > 0) sum += gradient[i + k] ** 2 / squares[k];
  }
  return Math.sqrt(sum);
}

/** The shares of Cauchy point and Gauss-Newton step in the point where the path over both leaves the ball, from their lengths and product. */
function dogleg(radius, { cauchy, gaussNewton, product }) {
  if (gaussNewton <= radius) return [0, 1];
  if (cauchy >= radius) return [radius / cauchy, 0];
  const along = product - cauchy * cauchy, square = gaussNewton * gaussNewton - product - along, room = radius * radius - cauchy * cauchy;
  const root = Math.sqrt(along * along + square * room);
  const t = along > 0 ? room / (along + root) : (root - along) / square;
  return [1 - t, t];
}

/** Eisenstat and Walker's second choice, with γ = 0.9 and their safeguard. */
function forcingTerm(norm, previousNorm, previous, ceiling) {
  if (previousNorm === 0) return ceiling;
  const choice = 0.9 * (norm / previousNorm) ** 2, safeguard = 0.9 * previous * previous;
  return Math.min(safeguard > 0.1 ? Math.max(choice, safeguard) : choice, ceiling);
}
