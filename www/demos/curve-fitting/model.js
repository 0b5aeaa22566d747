/**
 * A curve fit: points, a typed model, a robust loss. Returns the fit as compiled functions that remain valid when points move, the
 * parameters with their standard errors, and a search from many starts for models without a known start.
 */
import { covariance, GpuCompiledFunctions, levenbergMarquardt, loss, Problem, ResiduaError, solveMany, V } from 'residua';
import { seededNoise } from '../../problems/seeded-noise.js';

/** The available losses; `scale` is in the units of y. */
export const LOSSES = {
  squared: () => loss.squared(),
  huber: (scale) => loss.huber(scale),
  softL1: (scale) => loss.softL1(scale),
  cauchy: (scale) => loss.cauchy(scale),
  tukey: (scale) => loss.tukey(scale),
};

/** The initial capacity for points; beyond it the problem is compiled again with twice as many. */
const LEAST_CAPACITY = 32;

/** A block of one number is a Value, of two to four a vector, of more an array. */
const listed = (block, dim) => (dim === 1 ? [block] : [...block]);

/** A problem of `count` observations, whose numbers are set by a batch or setData. */
function curveProblem({ parameters, build }, values, { x, y, weight }, chosenLoss) {
  const dim = parameters.length;
  const problem = new Problem();
  const coefficients = problem.parameters('coefficients', { dim, values });
  const block = problem.residuals('points', {
    inputs: { coefficients: coefficients.shared(), x: problem.data(x), y: problem.data(y), weight: problem.data(weight) },
    residual: ({ coefficients: block, x, y, weight }) => V.sub(build(x, listed(block, dim)), y).mul(weight),
    loss: chosenLoss,
  });
  return { problem, coefficients, block };
}

export class CurveFit {
  /**
   * @param {ReturnType<typeof import('./expression.js').parseExpression>} model
   * @param {readonly { x: number, y: number }[]} points at least one
   * @param {readonly number[]} start one number per parameter
   * @param {{ loss?: keyof typeof LOSSES, scale?: number }} options
   */
  constructor(model, points, start, { loss: kind = 'squared', scale = 1 } = {}) {
    this.model = model;
    this.capacity = LEAST_CAPACITY;
    while (this.capacity < points.length) this.capacity *= 2;
    this.points = points;
    this.held = new Set();
    this.loss = kind;
    this.functions = null;
    this.result = null;
    Object.assign(this, curveProblem(model, start, this.#columns(), LOSSES[kind](scale)));
  }

  get parameters() {
    return this.coefficients.values();
  }

  set parameters(values) {
    this.coefficients.set(values);
  }

  /** Observations minus free parameters. */
  get freedom() {
    return this.points.length - (this.model.parameters.length - this.held.size);
  }

  /** Whether this many points fit without recompiling. */
  holds(points) {
    return points.length > 0 && points.length <= this.capacity;
  }

  /** Unused capacity repeats the first point with weight 0, because the model may have no value at another point. */
  #columns() {
    const { points, capacity } = this;
    const column = (read) => Float64Array.from({ length: capacity }, (_, k) => read(points[k] ?? points[0], k < points.length));
    return { x: column(({ x }) => x), y: column(({ y }) => y), weight: column((_, there) => Number(there)) };
  }

  async compile(options) {
    this.functions?.dispose();
    this.functions = null;
    this.functions = await GpuCompiledFunctions.compile(this.problem, options);
  }

  setPoints(points) {
    if (!this.holds(points)) throw new RangeError(`setPoints: ${points.length} points; it takes 1 to ${this.capacity}`);
    this.points = points;
    for (const [input, numbers] of Object.entries(this.#columns())) this.block.setData(input, numbers);
  }

  setLoss(kind, scale) {
    this.loss = kind;
    this.block.setLoss(LOSSES[kind](scale));
  }

  /** Makes a parameter constant, or free again. */
  hold(index, held) {
    this.coefficients.setConstant([0], held, [index]);
    if (held) this.held.add(index);
    else this.held.delete(index);
  }

  /** Solves from the current parameters. */
  async solve(options = {}) {
    // The fit during a drag should equal one from other starts, so the tolerances are near the rounding error.
    const tolerances = this.functions.backend === 'cpu' ? { costTolerance: 1e-12, gradientTolerance: 1e-10 } : { costTolerance: 1e-7 };
    this.result = await levenbergMarquardt(this.functions, { maxIterations: 200, ...tolerances, ...options });
    return this.result;
  }

  /**
   * Estimates with standard errors: the square roots of the diagonal of the covariance. Where they do not exist, `reason` is the reason.
   * @returns {Promise<{ rows: { name: string, value: number, error: number | null, held: boolean }[], deviation: number | null, reason:
   *   string | null }>}
   */
  async estimates() {
    const values = this.parameters;
    const describe = (errors, reason) => ({
      rows: this.model.parameters.map((name, k) => ({ name, value: values[k], error: this.held.has(k) ? null : (errors?.[k] ?? null), held: this.held.has(k) })),
      deviation: this.freedom > 0 && this.result !== null ? Math.sqrt((2 * this.result.finalCost) / this.freedom) : null,
      reason,
    });
    if (this.held.size === this.model.parameters.length) return describe(null, 'all parameters are held');
    if (this.freedom <= 0) return describe(null, `${this.points.length} points cannot tell how far ${this.model.parameters.length - this.held.size} parameters may be wrong`);
    try {
      const { standardDeviations } = await covariance(this.functions);
      return describe(standardDeviations, null);
    } catch (error) {
      if (!(error instanceof ResiduaError) || (error.code !== 'invalid-argument' && error.code !== 'non-finite')) throw error;
      return describe(null, error.code === 'non-finite' ? 'the model has no value at one of the points' : 'the points leave some of the parameters free to move');
    }
  }

  /** y minus the model's value, at each point. */
  residuals() {
    const values = this.parameters;
    return this.points.map(({ x, y }) => y - this.model.evaluate(x, values));
  }

  dispose() {
    this.functions?.dispose();
    this.functions = null;
  }
}

/**
 * Fits from many starts at once and returns the parameters of the best fit. The magnitudes of starts are distributed evenly on a
 * logarithmic scale around 1 and around those of the data, with either sign.
 * @param {ReturnType<typeof import('./expression.js').parseExpression>} model
 * @param {readonly { x: number, y: number }[]} points
 * @param {readonly (readonly number[])[]} given further starts
 */
export async function searchStarts(model, points, given = [], { count = 400, seed = 31, signal } = {}) {
  const { uniform } = seededNoise(seed);
  const dim = model.parameters.length;
  const column = (read) => Float64Array.from(points, read);
  const data = { x: column(({ x }) => x), y: column(({ y }) => y), weight: column(() => 1) };
  const size = () => (uniform() < 0.5 ? -1 : 1) * 10 ** (3 * uniform() - 1.7);
  const starts = [...given, ...Array.from({ length: count - given.length }, () => Array.from({ length: dim }, size))];
  const { problem } = curveProblem(model, starts[0], data, loss.squared());
  const result = await solveMany(problem, { count, parameters: { coefficients: starts.flat() } }, { backend: 'cpu', maxIterations: 60, signal });
  const found = starts.map((_, k) => ({ parameters: Array.from(result.x.subarray(dim * k, dim * (k + 1))), cost: result.cost[k] }));
  const usable = found.filter(({ parameters, cost }) => Number.isFinite(cost) && parameters.every(Number.isFinite));
  if (usable.length === 0) return null;
  const least = Math.min(...usable.map(({ cost }) => cost));
  // Waves that agree at every point have the same cost; the one with the smallest parameters is chosen.
  const length = ({ parameters }) => Math.hypot(...parameters);
  const best = usable.filter(({ cost }) => cost <= least * (1 + 1e-6) + 1e-12).reduce((a, b) => (length(b) < length(a) ? b : a));
  return { ...best, tried: count, milliseconds: result.computationTime };
}
