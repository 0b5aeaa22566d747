/**
 * Fits of a peak (amplitude, centre, width, offset, slope) to samples, one after another, by Levenberg-Marquardt in plain JavaScript with
 * hand-written derivatives and a 5×5 Cholesky factorisation, in double precision; its rules are those of plain/levenberg-marquardt.js.
 */
const N = 5;

export class PlainPeaks {
  /** @param {Float64Array} times the times of each peak's samples */
  constructor(times) {
    this.times = times;
    this.normal = new Float64Array(N * N);
    this.factor = new Float64Array(N * N);
    this.gradient = new Float64Array(N);
    this.step = new Float64Array(N);
    this.trial = new Float64Array(N);
  }

  /** Fits all peaks from `starts`; returns parameters, costs and iterations. */
  fit(samples, starts, { maxIterations = 100, costTolerance = 1e-6, gradientTolerance = 1e-6, parameterTolerance = 1e-8 } = {}) {
    const count = starts.length / N, width = this.times.length;
    const x = Float64Array.from(starts), cost = new Float64Array(count);
    let iterations = 0;
    for (let problem = 0; problem < count; problem++) {
      const y = samples.subarray(width * problem, width * (problem + 1));
      const point = x.subarray(N * problem, N * (problem + 1));
      iterations += this.#one(point, y, cost, problem, maxIterations, costTolerance, gradientTolerance, parameterTolerance);
    }
    return { x, cost, iterations };
  }

  #one(x, y, costs, problem, maxIterations, costTolerance, gradientTolerance, parameterTolerance) {
    const { normal, gradient, step, trial } = this;
    let cost = this.#linearise(x, y);
    let [lambda, growth, iteration] = [1e-3, 2, 0];
    while (iteration < maxIterations) {
      let steepest = 0;
      for (let k = 0; k < N; k++) steepest = Math.max(steepest, Math.abs(gradient[k]));
      if (steepest <= gradientTolerance) break;
      iteration++;
      if (!this.#solve(lambda)) {
        lambda *= growth;
        growth *= 2;
        continue;
      }
      let [promised, moved, size] = [0, 0, 0];
      for (let k = 0; k < N; k++) {
        trial[k] = x[k] + step[k];
        let image = 0;
        for (let l = 0; l < N; l++) image += normal[N * k + l] * step[l];
        promised -= step[k] * (gradient[k] + image / 2);
        moved += step[k] * step[k];
        size += x[k] * x[k];
      }
      const trialCost = this.#cost(trial, y);
      const change = cost - trialCost, gain = change / promised;
      if (!(gain > 1e-3)) {
        lambda *= growth;
        growth *= 2;
        if (lambda > 1e32) break;
        continue;
      }
      lambda = Math.max(lambda * Math.max(1 / 3, 1 - (2 * gain - 1) ** 3), 1e-16);
      growth = 2;
      x.set(trial);
      const before = cost;
      cost = trialCost;
      if (change <= costTolerance * before || Math.sqrt(moved) <= parameterTolerance * (Math.sqrt(size) + parameterTolerance)) break;
      this.#linearise(x, y);
    }
    costs[problem] = cost;
    return iteration;
  }

  #cost(x, y) {
    const { times } = this;
    const amplitude = x[0], centre = x[1], width = x[2], offset = x[3], slope = x[4];
    let sum = 0;
    for (let i = 0; i < times.length; i++) {
      const z = (times[i] - centre) / width;
      const r = amplitude * Math.exp(-z * z) + offset + slope * times[i] - y[i];
      sum += r * r;
    }
    return sum / 2;
  }

  /** The cost, with gradient and JᵀJ. */
  #linearise(x, y) {
    const { times, normal, gradient } = this;
    const amplitude = x[0], centre = x[1], width = x[2], offset = x[3], slope = x[4];
    normal.fill(0);
    gradient.fill(0);
    let sum = 0;
    for (let i = 0; i < times.length; i++) {
      const t = times[i], z = (t - centre) / width, bell = Math.exp(-z * z);
      const r = amplitude * bell + offset + slope * t - y[i];
      const byCentre = (2 * amplitude * bell * z) / width, byWidth = byCentre * z;
      sum += r * r;
      gradient[0] += r * bell;
      gradient[1] += r * byCentre;
      gradient[2] += r * byWidth;
      gradient[3] += r;
      gradient[4] += r * t;
      normal[0] += bell * bell;
      normal[1] += bell * byCentre;
      normal[2] += bell * byWidth;
      normal[3] += bell;
      normal[4] += bell * t;
      normal[6] += byCentre * byCentre;
      normal[7] += byCentre * byWidth;
      normal[8] += byCentre;
      normal[9] += byCentre * t;
      normal[12] += byWidth * byWidth;
      normal[13] += byWidth;
      normal[14] += byWidth * t;
      normal[18] += 1;
      normal[19] += t;
      normal[24] += t * t;
    }
    for (let k = 1; k < N; k++) for (let l = 0; l < k; l++) normal[N * k + l] = normal[N * l + k];
    return sum / 2;
  }

  /** (JᵀJ + λ diag) step = −gradient; returns whether the matrix is positive definite. */
  #solve(lambda) {
    const { normal, factor, gradient, step } = this;
    for (let k = 0; k < N; k++) {
      for (let l = 0; l <= k; l++) {
        let sum = normal[N * k + l];
        if (k === l) sum += lambda * Math.min(Math.max(sum, 1e-6), 1e32);
        for (let m = 0; m < l; m++) sum -= factor[N * k + m] * factor[N * l + m];
        if (k === l) {
          if (!(sum > 0)) return false;
          factor[N * k + k] = Math.sqrt(sum);
        } else factor[N * k + l] = sum / factor[N * l + l];
      }
    }
    for (let k = 0; k < N; k++) {
      let sum = -gradient[k];
      for (let l = 0; l < k; l++) sum -= factor[N * k + l] * step[l];
      step[k] = sum / factor[N * k + k];
    }
    for (let k = N - 1; k >= 0; k--) {
      let sum = step[k];
      for (let l = k + 1; l < N; l++) sum -= factor[N * l + k] * step[l];
      step[k] = sum / factor[N * k + k];
    }
    return true;
  }
}
