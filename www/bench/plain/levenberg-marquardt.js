/**
 * Levenberg-Marquardt in plain JavaScript, in double precision, with conjugate gradients preconditioned by the diagonal blocks of JᵀJ, for
 * models whose tangent space consists of blocks of three. Its rules for steps (trust region, forcing) are residua's, so that both take
 * the same steps: those of Nielsen, "Damping parameter in Marquardt's method" (1999), forcing terms of Eisenstat and Walker,
 * "Choosing the Forcing Terms in an Inexact Newton Method" (1996).
 *
 * A model has `cost(x)`; `linearise(x, gradient, blocks)`, which returns the cost and adds Jᵀr and the lower halves of the diagonal blocks
 * of JᵀJ (xx, xy, yy, xz, yz, zz); and `product(p, jtjp)`, which adds JᵀJp and returns ‖Jp‖². A model whose parameters are not vertices of
 * three coordinates has `blocks` (their number) and `retract(x, step, out)`. `frozen`, if present, is 1 for each constant tangent
 * coordinate.
 */

const LEAST_GAIN = 1e-3;

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

/** The inverses of the damped diagonal blocks, in the same layout. */
function invertBlocks(diagonal, damping, frozen, inverse) {
  for (let block = 0; block < diagonal.length / 6; block++) {
    const at = 6 * block, k = 3 * block;
    let a = diagonal[at] + damping[k], b = diagonal[at + 1], c = diagonal[at + 3];
    let d = diagonal[at + 2] + damping[k + 1], e = diagonal[at + 4], f = diagonal[at + 5] + damping[k + 2];
    if (frozen !== undefined) {
      if (frozen[k]) [a, b, c] = [1, 0, 0];
      if (frozen[k + 1]) [b, d, e] = [0, 1, 0];
      if (frozen[k + 2]) [c, e, f] = [0, 0, 1];
    }
    const xx = d * f - e * e, xy = c * e - b * f, xz = b * e - c * d;
    const scale = 1 / (a * xx + b * xy + c * xz);
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
    gradient: vector(), scale: vector(), damping: vector(), step: vector(), residual: vector(), preconditioned: vector(), direction: vector(), jtjp: vector(),
    diagonal: new Float64Array(2 * n), inverse: new Float64Array(2 * n),
  };
}

/** (JᵀJ + damping) step = −gradient; returns the number of iterations. */
function conjugateGradients(model, space, tolerance, maxIterations) {
  const { gradient, damping, step, residual, preconditioned, direction, jtjp, diagonal, inverse } = space;
  const { frozen } = model;
  invertBlocks(diagonal, damping, frozen, inverse);
  step.fill(0);
  for (let i = 0; i < residual.length; i++) residual[i] = -gradient[i];
  let size = precondition(inverse, residual, preconditioned);
  direction.set(preconditioned);
  const enough = tolerance * tolerance * size;
  for (let iteration = 0; iteration < maxIterations; iteration++) {
    if (!(size > 0)) return iteration;
    jtjp.fill(0);
    let curvature = model.product(direction, jtjp);
    for (let i = 0; i < direction.length; i++) curvature += damping[i] * direction[i] * direction[i];
    const alpha = size / curvature;
    for (let i = 0; i < step.length; i++) {
      step[i] += alpha * direction[i];
      residual[i] -= alpha * (jtjp[i] + damping[i] * direction[i]);
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
  const { maxIterations = 100, costTolerance = 1e-6, gradientTolerance = 1e-6, parameterTolerance = 1e-8, initialDamping = 1e-4, maxLinearIterations = 500, linearTolerance = 0.1 } = options;
  const { gradient, scale, damping, step, diagonal, jtjp } = space;
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
  let cost = linearise();
  const initialCost = cost;
  let [lambda, growth, forcing, previousNorm, linearIterations] = [initialDamping, 2, linearTolerance, 0, 0];
  const costs = [];
  const end = (termination) => ({ x: point, initialCost, finalCost: cost, iterations: costs.length, linearIterations, termination, costs });
  if (gradientTolerance > 0 && maxNorm(gradient) <= gradientTolerance) return end('gradient-tolerance');
  while (costs.length < maxIterations) {
    // The largest diagonal so far, of x, y and z of each block.
    for (let i = 0, at = 0; i < scale.length; i += 3, at += 6) {
      scale[i] = largest(scale[i], diagonal[at]);
      scale[i + 1] = largest(scale[i + 1], diagonal[at + 2]);
      scale[i + 2] = largest(scale[i + 2], diagonal[at + 5]);
    }
    for (let i = 0; i < scale.length; i++) damping[i] = scale[i] === 0 ? lambda : lambda * scale[i];
    const norm = Math.sqrt(dot(gradient, gradient));
    forcing = forcingTerm(norm, previousNorm, forcing, linearTolerance);
    previousNorm = norm;
    linearIterations += conjugateGradients(model, space, forcing, maxLinearIterations);
    if (model.retract === undefined) for (let i = 0; i < step.length; i++) trial[i] = point[i] + step[i];
    else model.retract(point, step, trial);
    const trialCost = model.cost(trial);
    jtjp.fill(0);
    const predicted = -dot(gradient, step) - model.product(step, jtjp) / 2;
    const gain = (cost - trialCost) / predicted;
    const accepted = gain > LEAST_GAIN;
    lambda = accepted ? Math.max(lambda * Math.max(1 / 3, 1 - (2 * gain - 1) ** 3), 1e-16) : lambda * growth;
    growth = accepted ? 2 : 2 * growth;
    if (!accepted) {
      costs.push(cost);
      if (lambda > 1e32) return end('trust-region-collapsed');
      continue;
    }
    const change = cost - trialCost;
    const before = cost;
    const small = parameterTolerance > 0 && Math.sqrt(dot(step, step)) <= parameterTolerance * (Math.sqrt(dot(point, point)) + parameterTolerance);
    [point, trial] = [trial, point];
    cost = trialCost;
    costs.push(cost);
    if (costs.length < maxIterations) linearise();
    if (gradientTolerance > 0 && maxNorm(gradient) <= gradientTolerance) return end('gradient-tolerance');
    if (costTolerance > 0 && change <= costTolerance * before) return end('cost-tolerance');
    if (small) return end('parameter-tolerance');
  }
  return end('max-iterations');
}

const largest = (kept, diagonal) => Math.max(kept, diagonal);

/** Eisenstat and Walker's second choice, with γ = 0.9 and their safeguard. */
function forcingTerm(norm, previousNorm, previous, ceiling) {
  if (previousNorm === 0) return ceiling;
  const choice = 0.9 * (norm / previousNorm) ** 2, safeguard = 0.9 * previous * previous;
  return Math.min(safeguard > 0.1 ? Math.max(choice, safeguard) : choice, ceiling);
}
