/**
 * Levenberg-Marquardt by hand. Both take `steps` steps with the damping of Nielsen, converged or not, and move x; they give what the last cost is.
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
 * Vertices of three coordinates: conjugate gradients without JᵀJ, preconditioned by its diagonal blocks, `iterations` of them a step.
 * @param functions one of this folder's with linearise, product and cost
 */
export function sparseLevenbergMarquardt(functions, x, steps, iterations) {
  const n = x.length;
  const vector = () => new Float64Array(n);
  const [gradient, trial, step, residual, z, p, image, diagonal, damping] = Array.from({ length: 9 }, vector);
  const blocks = new Float64Array(2 * n);
  const inverses = new Float64Array(2 * n);

  function linearise() {
    gradient.fill(0);
    blocks.fill(0);
    const cost = functions.linearise(x, gradient, blocks);
    for (let v = 0; v < n; v += 3) {
      diagonal[v] = blocks[2 * v];
      diagonal[v + 1] = blocks[2 * v + 2];
      diagonal[v + 2] = blocks[2 * v + 5];
    }
    return cost;
  }

  /** Inverses of the damped blocks, symmetric, as they are stored. */
  function invertBlocks(lambda) {
    for (let v = 0; v < n; v += 3) {
      const k = 2 * v;
      for (let i = 0; i < 3; i++) damping[v + i] = lambda * Math.min(Math.max(diagonal[v + i], 1e-6), 1e32);
      const a = blocks[k] + damping[v];
      const b = blocks[k + 1];
      const c = blocks[k + 2] + damping[v + 1];
      const d = blocks[k + 3];
      const e = blocks[k + 4];
      const f = blocks[k + 5] + damping[v + 2];
      const A = c * f - e * e;
      const B = d * e - b * f;
      const D = b * e - c * d;
      const scale = 1 / (a * A + b * B + d * D);
      inverses[k] = scale * A;
      inverses[k + 1] = scale * B;
      inverses[k + 2] = scale * (a * f - d * d);
      inverses[k + 3] = scale * D;
      inverses[k + 4] = scale * (b * d - a * e);
      inverses[k + 5] = scale * (a * c - b * b);
    }
  }

  /** z = M⁻¹r; gives rᵀz. */
  function precondition() {
    let sum = 0;
    for (let v = 0; v < n; v += 3) {
      const k = 2 * v;
      const rx = residual[v];
      const ry = residual[v + 1];
      const rz = residual[v + 2];
      const zx = inverses[k] * rx + inverses[k + 1] * ry + inverses[k + 3] * rz;
      const zy = inverses[k + 1] * rx + inverses[k + 2] * ry + inverses[k + 4] * rz;
      const zz = inverses[k + 3] * rx + inverses[k + 4] * ry + inverses[k + 5] * rz;
      z[v] = zx;
      z[v + 1] = zy;
      z[v + 2] = zz;
      sum += rx * zx + ry * zy + rz * zz;
    }
    return sum;
  }

  function conjugateGradients() {
    step.fill(0);
    for (let k = 0; k < n; k++) residual[k] = -gradient[k];
    let size = precondition();
    p.set(z);
    for (let iteration = 0; iteration < iterations && size !== 0; iteration++) {
      image.fill(0);
      let curvature = functions.product(p, image);
      for (let k = 0; k < n; k++) curvature += damping[k] * p[k] * p[k];
      const alpha = size / curvature;
      for (let k = 0; k < n; k++) {
        step[k] += alpha * p[k];
        residual[k] -= alpha * (image[k] + damping[k] * p[k]);
      }
      const next = precondition();
      const beta = next / size;
      for (let k = 0; k < n; k++) p[k] = z[k] + beta * p[k];
      size = next;
    }
  }

  const rule = new Damping();
  let cost = linearise();
  for (let number = 0; number < steps; number++) {
    invertBlocks(rule.lambda);
    conjugateGradients();
    for (let k = 0; k < n; k++) trial[k] = x[k] + step[k];
    image.fill(0);
    let predicted = -0.5 * functions.product(step, image);
    for (let k = 0; k < n; k++) predicted -= step[k] * gradient[k];
    const gain = (cost - functions.cost(trial)) / predicted;
    if (gain > 0) {
      x.set(trial);
      cost = linearise();
      rule.accept(gain);
    } else rule.reject();
  }
  return cost;
}

/**
 * Few parameters: normal equations, formed in the loop over residuals, and their Cholesky factor.
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
