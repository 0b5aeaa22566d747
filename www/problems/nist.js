/**
 * Curve fits of the Statistical Reference Datasets of NIST (https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml): observations whose
 * least-squares coefficients are certified to 11 digits, with two starts each. Takes the text of a .dat file; returns its numbers, and the
 * fit as a Problem. The models are listed by name, from the formulas in the files' headers.
 *
 * The coefficients are one block of a parameter array (`shared`), so that a solver with a block preconditioner has their whole normal
 * matrix.
 */
import { Problem, V } from 'residua';

/** An invalid .dat file; `line` counts from 1. */
export class NistError extends Error {
  constructor(line, message) {
    super(`NIST line ${line}: ${message}`);
    this.name = 'NistError';
    this.line = line;
  }
}

// ---------------------------------------------------------------- models

const exponentialRise = ([b1, b2], [x]) => b1.mul(V.sub(1, V.exp(b2.mul(x).neg())));

const exponentialOverLine = ([b1, b2, b3], [x]) => V.exp(b1.mul(x).neg()).div(b2.add(b3.mul(x)));

/** An exponential plus two Gaussians. */
const twoPeaks = ([b1, b2, b3, b4, b5, b6, b7, b8], [x]) => {
  const bell = (height, center, width) => height.mul(V.exp(x.sub(center).square().div(width.square()).neg()));
  return b1.mul(V.exp(b2.mul(x).neg())).add(bell(b3, b4, b5)).add(bell(b6, b7, b8));
};

/** c₀ + c₁x + c₂x² + …, by Horner's rule. */
const polynomial = (coefficients, x) => coefficients.reduceRight((value, coefficient) => V.add(coefficient, value.mul(x)), V.C(0));

/** The predicted response by dataset: a function of the coefficients and the predictors. */
export const models = {
  BoxBOD: exponentialRise,
  Chwirut1: exponentialOverLine,
  Chwirut2: exponentialOverLine,
  DanWood: ([b1, b2], [x]) => b1.mul(V.powValue(x, b2)),
  Gauss1: twoPeaks,
  Gauss2: twoPeaks,
  Hahn1: ([b1, b2, b3, b4, b5, b6, b7], [x]) => polynomial([b1, b2, b3, b4], x).div(polynomial([1, b5, b6, b7], x)),
  Kirby2: ([b1, b2, b3, b4, b5], [x]) => polynomial([b1, b2, b3], x).div(polynomial([1, b4, b5], x)),
  Lanczos3: ([b1, b2, b3, b4, b5, b6], [x]) =>
    [[b1, b2], [b3, b4], [b5, b6]].map(([height, rate]) => height.mul(V.exp(rate.mul(x).neg()))).reduce((sum, term) => sum.add(term)),
  MGH09: ([b1, b2, b3, b4], [x]) => b1.mul(x.square().add(x.mul(b2))).div(x.square().add(x.mul(b3)).add(b4)),
  Misra1a: exponentialRise,
  Misra1b: ([b1, b2], [x]) => b1.mul(V.sub(1, b2.mul(x).div(2).add(1).pow(-2))),
  Misra1c: ([b1, b2], [x]) => b1.mul(V.sub(1, b2.mul(x).mul(2).add(1).pow(-0.5))),
  Misra1d: ([b1, b2], [x]) => b1.mul(b2).mul(x).div(b2.mul(x).add(1)),
  Nelson: ([b1, b2, b3], [x1, x2]) => b1.sub(b2.mul(x1).mul(V.exp(b3.mul(x2).neg()))),
  Rat42: ([b1, b2, b3], [x]) => b1.div(V.exp(b2.sub(b3.mul(x))).add(1)),
  Roszman1: ([b1, b2, b3, b4], [x]) => b1.sub(b2.mul(x)).sub(V.atan(b3.div(x.sub(b4))).div(Math.PI)),
};

/** Nelson's model is of the logarithm of the observations. */
const responses = { Nelson: Math.log };

// ---------------------------------------------------------------- the file format

/** Number() also accepts hexadecimal, empty strings and "Infinity". */
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

/**
 * Misprints in copies of the files, by dataset and word. Roszman1's b1 is certified as 2.0196866396E-01; some copies have
 * 1.20196866396E-0. At the right number the model gives the certified sum of squares to all digits, at the other one 50,000 times as
 * much.
 */
const MISPRINTS = { Roszman1: { '1.20196866396E-0': '2.0196866396E-01' } };

/**
 * Reads a .dat file: the rows `b1 = start1 start2 certified deviation`, the certified sum of squares, and after the last line that begins
 * with `Data:` the observations, response first.
 *
 * @param {string} text
 * @returns {{
 *   name: string, starts: [Float64Array, Float64Array], certified: Float64Array, deviations: Float64Array, sumOfSquares: number,
 *   y: Float64Array, predictors: Float64Array[], }} `deviations` are the coefficients' standard deviations, `y` the response of the model,
 * `predictors` one array for each
 */
export function parseNist(text) {
  const lines = text.split(/\r\n|\n|\r/);
  const fail = (index, message) => { throw new NistError(index + 1, message); };
  const name = /^Dataset Name:\s*(\S+)/m.exec(text)?.[1];
  if (name === undefined) fail(0, 'there is no line "Dataset Name:"');
  const number = (word, index) => {
    const meant = MISPRINTS[name]?.[word] ?? word;
    return DECIMAL.test(meant) ? Number(meant) : fail(index, `"${word}" is not a decimal number`);
  };

  const rows = [];
  let sumOfSquares, dataHead = -1;
  lines.forEach((line, index) => {
    const row = /^\s*b(\d+)\s*=\s*(.*)$/.exec(line);
    if (row !== null) {
      const words = row[2].trim().split(/\s+/);
      if (Number(row[1]) !== rows.length + 1) fail(index, `b${row[1]} is where b${rows.length + 1} is expected`);
      if (words.length !== 4) fail(index, `a coefficient takes two starts, its certified value and its deviation, this one has ${words.length} numbers`);
      rows.push(words.map((word) => number(word, index)));
    }
    const sum = /^Residual Sum of Squares:\s*(\S+)/.exec(line);
    if (sum !== null) sumOfSquares = number(sum[1], index);
    if (line.startsWith('Data:')) dataHead = index;
  });
  if (rows.length === 0) fail(lines.length - 1, 'the file ends without a coefficient');
  if (sumOfSquares === undefined) fail(lines.length - 1, 'the file ends without a residual sum of squares');

  const observations = [];
  for (let index = dataHead + 1; index < lines.length; index++) {
    if (lines[index].trim() === '') continue;
    const words = lines[index].trim().split(/\s+/).map((word) => number(word, index));
    if (words.length < 2 || (observations.length > 0 && words.length !== observations[0].length)) {
      fail(index, `an observation takes ${observations[0]?.length ?? 'at least 2'} numbers, this one has ${words.length}`);
    }
    observations.push(words);
  }
  if (observations.length < rows.length) fail(lines.length - 1, `there are ${observations.length} observations for ${rows.length} coefficients`);

  const column = (table, k) => Float64Array.from(table, (row) => row[k]);
  return {
    name,
    starts: [column(rows, 0), column(rows, 1)], certified: column(rows, 2), deviations: column(rows, 3), sumOfSquares,
    y: column(observations, 0).map(responses[name] ?? ((y) => y)),
    predictors: observations[0].slice(1).map((_, k) => column(observations, k + 1)),
  };
}

/**
 * The fit of a dataset from given coefficients: one residual per observation, model minus response.
 * @param {ReturnType<typeof parseNist>} dataset
 * @param {Float64Array} start
 * @returns {{ problem: Problem, coefficients: import('residua').ParameterArray }}
 */
export function nistProblem({ name, y, predictors }, start) {
  const model = models[name];
  if (model === undefined) throw new RangeError(`nistProblem: there is no model of "${name}"; there are ${Object.keys(models).join(', ')}`);
  const problem = new Problem();
  const coefficients = problem.parameters('coefficients', { dim: start.length, values: start });
  const columns = Object.fromEntries(predictors.map((values, k) => [`x${k + 1}`, problem.data(values)]));
  problem.residuals(name, {
    inputs: { b: coefficients.shared(), y: problem.data(y), ...columns },
    residual: ({ b, y, ...x }) => model([...b], predictors.map((_, k) => x[`x${k + 1}`])).sub(y),
  });
  return { problem, coefficients };
}

/** The number of certified digits, an upper bound of the matching digits. */
const CERTIFIED_DIGITS = 11;

/**
 * The least number of matching digits over all coefficients, the log relative error of NIST: −log₁₀ |computed − certified| / |certified|,
 * from 0 to 11.
 */
export function matchingDigits(computed, certified) {
  return Array.from(certified, (value, i) => {
    const digits = -Math.log10(Math.abs(computed[i] - value) / Math.abs(value));
    return Number.isNaN(digits) ? 0 : Math.min(Math.max(digits, 0), CERTIFIED_DIGITS);
  }).reduce((least, digits) => Math.min(least, digits));
}
