/**
 * L-BFGS over a function that returns value and gradient, in double precision: J. Nocedal and S. J. Wright, Numerical Optimization (2nd
 * ed., 2006), algorithms 7.4 and 7.5, with a line search that halves and doubles its bracket until both Wolfe conditions hold. For the
 * plain loop and for libraries that only evaluate; its convergence tests are residua's.
 */

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

/** d = −H g by the two loops, the newest pair last. */
function direction(gradient, pairs, d) {
  for (let i = 0; i < d.length; i++) d[i] = -gradient[i];
  const alphas = [];
  for (let k = pairs.length - 1; k >= 0; k--) {
    const { s, y, curvature } = pairs[k];
    const alpha = dot(s, d) / curvature;
    alphas[k] = alpha;
    for (let i = 0; i < d.length; i++) d[i] -= alpha * y[i];
  }
  if (pairs.length > 0) {
    const { y, curvature } = pairs.at(-1);
    const scale = curvature / dot(y, y);
    for (let i = 0; i < d.length; i++) d[i] *= scale;
  }
  for (let k = 0; k < pairs.length; k++) {
    const { s, y, curvature } = pairs[k];
    const beta = dot(y, d) / curvature;
    for (let i = 0; i < d.length; i++) d[i] += (alphas[k] - beta) * s[i];
  }
}

/**
 * @param {(x: Float64Array) => { value: number, gradient: ArrayLike<number> } | Promise<{ value: number, gradient: ArrayLike<number> }>}
 *   evaluate
 * @param {Float64Array} start not modified
 * @returns {Promise<{ x: Float64Array, initialCost: number, finalCost: number, iterations: number, evaluations: number, termination: string
 *   }>}
 */
export async function lbfgs(evaluate, start, options = {}) {
  const { maxIterations = 100, costTolerance = 1e-6, gradientTolerance = 1e-6, parameterTolerance = 1e-8, historySize = 10, maxLineSearchSteps = 20, c1 = 1e-4, c2 = 0.9 } = options;
  let x = Float64Array.from(start);
  const d = new Float64Array(x.length);
  const pairs = [];
  let evaluations = 0;
  const at = async (point) => {
    evaluations++;
    const made = evaluate(point);
    return made instanceof Promise ? await made : made;
  };
  const first = await at(x);
  let value = first.value, gradient = Float64Array.from(first.gradient);
  const initialCost = value;
  let iterations = 0;
  const end = (termination) => ({ x, initialCost, finalCost: value, iterations, evaluations, termination });
  if (gradientTolerance > 0 && maxNorm(gradient) <= gradientTolerance) return end('gradient-tolerance');
  while (iterations < maxIterations) {
    direction(gradient, pairs, d);
    let slope = dot(gradient, d);
    if (!(slope < 0)) {
      pairs.length = 0;
      direction(gradient, pairs, d);
      slope = dot(gradient, d);
    }
    // Without history pairs the gradient has no scale.
    let step = pairs.length === 0 ? Math.min(1, 1 / Math.sqrt(-slope)) : 1;
    let [low, high] = [0, Infinity];
    let taken = null;
    for (let trial = 0; trial < maxLineSearchSteps; trial++) {
      const point = new Float64Array(x.length);
      for (let i = 0; i < point.length; i++) point[i] = x[i] + step * d[i];
      const found = await at(point);
      if (!(found.value <= value + c1 * step * slope)) high = step;
      else if (dot(found.gradient, d) < c2 * slope) {
        low = step;
        taken = { point, value: found.value, gradient: Float64Array.from(found.gradient), step };
      } else {
        taken = { point, value: found.value, gradient: Float64Array.from(found.gradient), step };
        break;
      }
      step = high === Infinity ? 2 * step : (low + high) / 2;
    }
    if (taken === null) return end('line-search-failed');
    const s = new Float64Array(x.length), y = new Float64Array(x.length);
    for (let i = 0; i < s.length; i++) {
      s[i] = taken.step * d[i];
      y[i] = taken.gradient[i] - gradient[i];
    }
    const curvature = dot(s, y);
    if (curvature > 1e-10 * dot(y, y)) {
      pairs.push({ s, y, curvature });
      if (pairs.length > historySize) pairs.shift();
    }
    const change = value - taken.value, before = value;
    const small = parameterTolerance > 0 && Math.sqrt(dot(s, s)) <= parameterTolerance * (Math.sqrt(dot(x, x)) + parameterTolerance);
    ({ point: x, value, gradient } = taken);
    iterations++;
    if (gradientTolerance > 0 && maxNorm(gradient) <= gradientTolerance) return end('gradient-tolerance');
    if (costTolerance > 0 && Math.abs(change) <= costTolerance * Math.abs(before)) return end('cost-tolerance');
    if (small) return end('parameter-tolerance');
  }
  return end('max-iterations');
}
