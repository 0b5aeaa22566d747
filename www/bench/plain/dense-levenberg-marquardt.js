/**
 * Levenberg-Marquardt in plain JavaScript for few parameters: takes `steps` steps with the damping of Nielsen, whether it converges or not,
 * and updates x; returns the last cost.
 */

/** The damping of K. Madsen, H. B. Nielsen and O. Tingleff (2004), section 3.2. */
class Damping {
  lambda = 1e-4;
  growth = 2;

  accept(gain) {
    this.lambda *= Math.max(1 / 3, 1 - (2 * gain - 1) ** 3);
    this.growth = 2;
  }

  reject() {
    this.lambda *= this.growth;
    this.growth *= 2;
  }
}

/**
 * Normal equations, formed in the loop over residuals, and their Cholesky factor.
 * @param functions one of this folder's with normalEquations and cost
 */
export function denseLevenbergMarquardt(functions, x, steps) {
  const n = x.length;
  const gradient = new Float64Array(n);
  const matrix = new Float64Array(n * n);
  const factor = new Float64Array(n * n);
  const step = new Float64Array(n);
  const trial = new Float64Array(n);
  const rule = new Damping();
  let cost = functions.normalEquations(x, gradient, matrix);
  for (let number = 0; number < steps; number++) {
    factor.set(matrix);
    for (let i = 0; i < n; i++) factor[i * n + i] += rule.lambda * Math.min(Math.max(matrix[i * n + i], 1e-6), 1e32);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        let entry = factor[i * n + j];
        for (let k = 0; k < j; k++) entry -= factor[i * n + k] * factor[j * n + k];
        factor[i * n + j] = i === j ? Math.sqrt(entry) : entry / factor[j * n + j];
      }
      let right = -gradient[i];
      for (let k = 0; k < i; k++) right -= factor[i * n + k] * step[k];
      step[i] = right / factor[i * n + i];
    }
    for (let i = n - 1; i >= 0; i--) {
      for (let k = i + 1; k < n; k++) step[i] -= factor[k * n + i] * step[k];
      step[i] /= factor[i * n + i];
    }
    let predicted = 0;
    for (let i = 0; i < n; i++) {
      trial[i] = x[i] + step[i];
      let image = 0;
      for (let j = 0; j < n; j++) image += (j <= i ? matrix[i * n + j] : matrix[j * n + i]) * step[j];
      predicted -= step[i] * (gradient[i] + 0.5 * image);
    }
    const gain = (cost - functions.cost(trial)) / predicted;
    if (gain > 0) {
      x.set(trial);
      cost = functions.normalEquations(x, gradient, matrix);
      rule.accept(gain);
    } else rule.reject();
  }
  return cost;
}
