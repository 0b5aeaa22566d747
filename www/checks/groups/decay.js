/** The problem of the Levenberg-Marquardt checks: a decaying curve through points on it. */
import { Problem, V } from 'residua';

/** Points of y = 2 exp(−1.5 x), and a curve a exp(b x) to fit. */
export function decay(values = [1, -1]) {
  const xs = Array.from({ length: 40 }, (_, i) => i / 20);
  const problem = new Problem();
  const curve = problem.parameters('curve', { dim: 2, values });
  const block = problem.residuals('points', {
    inputs: { curve: curve.shared(), x: problem.data(xs), y: problem.data(xs.map((x) => 2 * Math.exp(-1.5 * x))) },
    residual: ({ curve, x, y }) => V.sub(V.mul(curve.x, V.exp(V.mul(curve.y, x))), y),
  });
  return { problem, curve, block };
}

/**
 * Checks that a solve of exact data has reached its solution. In f32 the cost at such a solution is rounding alone, which a solve says by ending with
 * 'precision-limit'.
 */
export function reached(check, result) {
  const isRounding = result.termination === 'precision-limit' && result.precisionLoss > 1e-3;
  check.ok(result.success || (result.arithmetic === 'f32' && isRounding), `${result.precisionLoss} of the cost is rounding: ${result.message}`);
}

/** The tolerance of its solution, 2 and −1.5. */
export const within = {
  gpu: { within: 1e-5, because: 'gradientTolerance, 1e-6, over the least eigenvalue of JᵀJ, 1.7; in f32 forty residuals of size 1 leave the gradient uncertain by some 1e-6.' },
  cpu: { within: 1e-6, because: 'gradientTolerance, 1e-6, over the least eigenvalue of JᵀJ, 1.7.' },
};
