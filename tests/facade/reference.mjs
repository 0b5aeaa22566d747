/**
 * A small evaluator of tapes for these tests, independent of the crate. It computes values in double precision or with every operation
 * rounded to f32, and gradients by the reverse sweep. It has the ops that geometry and Mat3 use.
 */

import { Op } from '../../pkg-template/dist/expressions/op-codes.js';
import { arity, record, Recording } from '../../pkg-template/dist/expressions/tape.js';

const NAMES = new Map(Object.entries(Op).map(([name, code]) => [code, name]));

/** The value and the partial derivatives of each op. */
const RULES = {
  neg: [(a) => -a, () => [-1]],
  abs: [Math.abs, (a) => [Math.sign(a)]],
  sign: [Math.sign, () => [0]],
  sqrt: [Math.sqrt, (a) => [0.5 / Math.sqrt(a)]],
  norm: [Math.sqrt, (a) => [a === 0 ? 0 : 0.5 / Math.sqrt(a)]],
  inverseNorm: [(a) => (a === 0 ? 0 : 1 / Math.sqrt(a)), (a) => [a === 0 ? 0 : -0.5 * a ** -1.5]],
  exp: [Math.exp, (a) => [Math.exp(a)]],
  log: [Math.log, (a) => [1 / a]],
  cos: [Math.cos, (a) => [-Math.sin(a)]],
  sin: [Math.sin, (a) => [Math.cos(a)]],
  acos: [Math.acos, (a) => [-1 / Math.sqrt(1 - a * a)]],
  stopGradient: [(a) => a, () => [0]],
  round: [Math.round, () => [0]],
  add: [(a, b) => a + b, () => [1, 1]],
  sub: [(a, b) => a - b, () => [1, -1]],
  mul: [(a, b) => a * b, (a, b) => [b, a]],
  div: [(a, b) => a / b, (a, b) => [1 / b, -a / (b * b)]],
  pow: [(a, b) => a ** b, (a, b) => [b * a ** (b - 1), Math.log(a) * a ** b]],
  atan2: [Math.atan2, (y, x) => [x / (x * x + y * y), -y / (x * x + y * y)]],
  min: [Math.min, (a, b) => (a < b ? [1, 0] : a > b ? [0, 1] : [0.5, 0.5])],
  max: [Math.max, (a, b) => (a > b ? [1, 0] : a < b ? [0, 1] : [0.5, 0.5])],
  eq: [(a, b) => Number(a === b), () => [0, 0]],
  neq: [(a, b) => Number(a !== b), () => [0, 0]],
  lt: [(a, b) => Number(a < b), () => [0, 0]],
  lte: [(a, b) => Number(a <= b), () => [0, 0]],
  gt: [(a, b) => Number(a > b), () => [0, 0]],
  gte: [(a, b) => Number(a >= b), () => [0, 0]],
  select: [(a, b, c) => (a !== 0 ? b : c), (a) => (a !== 0 ? [0, 1, 0] : [0, 0, 1])],
};

/** The tape of `build(params)`, whose result is one Value. */
export function tapeOf(params, build) {
  const recording = new Recording('params', params);
  const output = record(recording, () => recording.position(build(params)));
  return recording.finish(Uint32Array.of(output));
}

/** Evaluates a tape; `round` is applied to every number (Math.fround emulates f32). */
export function evaluate(tape, parameters, round = (x) => x) {
  const values = forward(tape, parameters, round);
  return values[tape.outputs[0]];
}

/** The value and its gradient by the parameters. */
export function gradient(tape, parameters, round = (x) => x) {
  const values = forward(tape, parameters, round);
  const adjoints = new Float64Array(tape.ops.length);
  const result = new Float64Array(parameters.length);
  adjoints[tape.outputs[0]] = 1;
  for (let i = tape.outputs[0]; i >= 0; i--) {
    const adjoint = adjoints[i];
    const op = tape.ops[i];
    if (adjoint === 0) continue; // also for the guarded product below a select
    if (op === Op.parameter) result[tape.a[i]] += adjoint;
    const count = arity(op);
    if (count === 0) continue;
    const operands = [tape.a[i], tape.b[i], tape.c[i]].slice(0, count);
    const partials = RULES[NAMES.get(op)][1](...operands.map((operand) => values[operand]));
    operands.forEach((operand, k) => {
      if (partials[k] !== 0) adjoints[operand] = round(adjoints[operand] + round(adjoint * round(partials[k])));
    });
  }
  return { value: values[tape.outputs[0]], gradient: result };
}

function forward(tape, parameters, round) {
  const { ops, a, b, c, constants } = tape;
  const values = new Float64Array(ops.length);
  for (let i = 0; i < ops.length; i++) {
    const op = ops[i];
    if (op === Op.literal || op === Op.constant) values[i] = round(constants[a[i]]);
    else if (op === Op.parameter) values[i] = round(parameters[a[i]]);
    else {
      const rule = RULES[NAMES.get(op)];
      if (rule === undefined) throw new Error(`no rule for op ${NAMES.get(op)} (${op})`);
      const operands = [values[a[i]], values[b[i]], values[c[i]]].slice(0, arity(op));
      values[i] = round(rule[0](...operands));
    }
  }
  return values;
}

/** A repeatable sequence of numbers in [0, 1): mulberry32. */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Eigenvalues (ascending) and eigenvectors of a symmetric 3×3 matrix (rows) by Jacobi rotations. */
export function jacobiEigen(matrix) {
  const m = matrix.map((row) => [...row]);
  const vectors = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
  for (let sweep = 0; sweep < 60; sweep++) {
    for (const [p, q] of [[0, 1], [0, 2], [1, 2]]) {
      if (m[p][q] === 0) continue;
      const theta = (m[q][q] - m[p][p]) / (2 * m[p][q]);
      const t = (theta >= 0 ? 1 : -1) / (Math.abs(theta) + Math.hypot(theta, 1));
      const cos = 1 / Math.hypot(t, 1);
      const sin = t * cos;
      for (let k = 0; k < 3; k++) [m[k][p], m[k][q]] = [cos * m[k][p] - sin * m[k][q], sin * m[k][p] + cos * m[k][q]];
      for (let k = 0; k < 3; k++) [m[p][k], m[q][k]] = [cos * m[p][k] - sin * m[q][k], sin * m[p][k] + cos * m[q][k]];
      for (let k = 0; k < 3; k++) {
        [vectors[k][p], vectors[k][q]] = [cos * vectors[k][p] - sin * vectors[k][q], sin * vectors[k][p] + cos * vectors[k][q]];
      }
    }
  }
  const order = [0, 1, 2].sort((i, j) => m[i][i] - m[j][j]);
  return { values: order.map((i) => m[i][i]), vectors: order.map((i) => vectors.map((row) => row[i])) };
}
