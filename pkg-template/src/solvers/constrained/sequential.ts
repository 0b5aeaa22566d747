/**
 * Sequential quadratic programming for small problems: steps of Newton's method for the Lagrangian, with its Hessian by differences of its gradients
 * (J. Nocedal, S. J. Wright, "Numerical Optimization", chapter 18), and a line search of the exact penalty function with a second-order correction
 * (R. Fletcher 1982). It converges quadratically, so that constraints hold to rounding at the end.
 */

import { dot } from '../../problem/vectors.js';
import { largest, negativeCurvature } from './dense.js';
import { groupColumns, hessianOf } from './hessian.js';
import type { Lagrangian, Point } from './lagrangian.js';
import { constraintScales, optimality, parameterScales, violationOf, type Optimality } from './optimality.js';
import { solveQuadraticProgram } from './quadratic-program.js';
import { TangentSpace } from './tangent-space.js';

/** Numbers that may move, at most, for matrices of their square and gradients at twice as many points. */
export const MOST_DENSE = 200;

/** How a run of sequential quadratic programming ended. */
export interface SequentialResult {
  readonly point: Point;
  readonly multipliers: Float64Array;
  readonly optimality: Optimality;
  readonly hasConverged: boolean;
  /** Whether the last program had no solution. */
  readonly isInfeasible: boolean;
}

/** Relative tolerances of a point that counts as optimal. */
export interface Tolerances {
  readonly violation: number;
  readonly stationarity: number;
}

/** Called after each step; true ends the run. */
export type StepListener = (point: Point, before: Point, stationarity: number, stepNorm: number, stepSize: number) => boolean;

const MOST_STEPS = 100;
const EPSILON = 2 ** -52;

/** A stationarity that is asked for where rounding lets it be reached, in units of the tolerance. */
const STRICT = 1e-3;
/** Saddles that a run leaves, at most. */
const MOST_ESCAPES = 4;

/**
 * Runs from a point. A stationary point from which the objective falls along a direction of negative curvature is left. `origin`: where the solve began, of
 * whose parameters' sizes and those at the end a minimum is measured in, since a start of the run may have far larger ones.
 */
export async function runSequential(
  problem: Lagrangian,
  origin: Float64Array,
  start: Point,
  startMultipliers: Float64Array,
  tolerances: Tolerances,
  least: number,
  listener: StepListener,
): Promise<SequentialResult> {
  const scales = parameterScales(problem, start.x);
  const columns = groupColumns(problem.couplings(), problem.free.length);
  const strict = { ...tolerances, stationarity: STRICT * tolerances.stationarity };
  let point = start;
  let multipliers = startMultipliers;
  let weights = new Float64Array(problem.count);
  /** A slope that counts as none. */
  let floor = least;
  const measureIn = (units: Float64Array, at: Point, of: Float64Array) => optimality(problem, at, of, units, constraintScales(problem, at, units), floor);
  const measure = (at: Point, of: Float64Array) => measureIn(scales, at, of);
  let measured = measure(point, multipliers);
  /** The lowest stationary point so far. */
  let found: SequentialResult | null = null;
  let escapes = 0;
  const end = (isInfeasible = false): SequentialResult => {
    // What is left of a number that goes to 0 is rounding of its scale.
    const left = EPSILON / tolerances.violation;
    const units = parameterScales(problem, origin, point.x).map((scale, j) => Math.min(Math.max(scale, left * (scales[j] as number)), scales[j] as number));
    const hasConverged = isOptimal(measured, tolerances) && isOptimal(measureIn(units, point, multipliers), tolerances);
    const result = { point, multipliers, optimality: measured, hasConverged, isInfeasible };
    // Beside a lower point what was found is a saddle.
    const isLower = found !== null && point.f < found.point.f && measured.violation <= tolerances.violation;
    return found === null || isLower || (hasConverged && !found.hasConverged) ? result : found;
  };
  const merit = ({ f, c }: Point): number => {
    let sum = f;
    for (let i = 0; i < problem.count; i++) sum += (weights[i] as number) * violationOf(problem, c, i);
    return sum;
  };
  /** Returns a point beside a stationary one that is no minimum, which it keeps; null at a minimum. */
  const escape = async (model: LinearModel, hessian: Float64Array): Promise<Point | null> => {
    if (escapes === MOST_ESCAPES) return null;
    const places = besideSaddle(problem, model, hessian, point, multipliers, scales);
    const points: Point[] = [];
    for (const place of places) {
      const other = await problem.at(place);
      if (Number.isFinite(merit(other))) points.push(other);
    }
    if (points.length === 0) return null;
    found = end();
    escapes++;
    return points.reduce((best, other) => (merit(other) < merit(best) ? other : best));
  };
  for (let round = 0; round < MOST_STEPS; round++) {
    const hessian = await hessianOf(problem, point, multipliers, scales, columns);
    const model = programAt(problem, point, scales, multipliers);
    // A start that is stationary has no slope: that of the way counts.
    if (least === 0) floor = Math.max(floor, NO_SLOPE * largest(model.gradient));
    const solution = solveModel(problem, model, hessian, floor);
    if (solution === null && !isOptimal(measured, tolerances)) return end(true);
    let next = solution?.multipliers ?? multipliers;
    let atNext = measure(point, next);
    let isEnd = solution !== null && isOptimal(atNext, largest(solution.step) <= 1e-11 ? tolerances : strict);
    if (solution !== null && !isEnd) {
      // Where no multipliers exist, those of a step are larger than those of its start by a factor however near the minimum is.
      const fitted = fittedMultipliers(model, solution.ofRows, problem.count);
      if (fitted !== null && largest(next) > 1.1 * largest(fitted)) {
        const atFitted = measure(point, fitted);
        const isSharp = Math.max(atFitted.stationarity, atFitted.gain / COMPLEMENTARY) <= strict.stationarity;
        if (isSharp && isOptimal(atFitted, tolerances)) [next, atNext, isEnd] = [fitted, atFitted, true];
      }
    }
    if (solution === null || isEnd) {
      const before = multipliers;
      [multipliers, measured] = [next, atNext];
      if (solution !== null) {
        // One more step costs little, and brings what holds to a tolerance to rounding.
        const polished = await problem.at(moved(problem, point, solution.step, scales, 1));
        const ofPolished = measure(polished, next);
        if (ofPolished.violation <= measured.violation && ofPolished.stationarity <= Math.max(measured.stationarity, strict.stationarity)) {
          [point, measured] = [polished, ofPolished];
        }
      }
      // The Hessian is that of the multipliers before, which tell nothing of a start that is stationary.
      const beyond = await escape(model, areClose(multipliers, before) ? hessian : await hessianOf(problem, point, multipliers, scales, columns));
      if (beyond === null) return end();
      point = beyond;
      continue;
    }
    weights = weights.map((weight, i) => Math.max(1.1 * Math.abs(next[i] as number), 0.5 * (weight + Math.abs(next[i] as number))));
    const before = merit(point);
    let slope = dot(model.gradient, solution.step);
    for (let i = 0; i < problem.count; i++) slope -= (weights[i] as number) * violationOf(problem, point.c, i);
    slope = Math.min(slope, 0);
    const rounding = 100 * EPSILON * (Math.abs(point.f) + Math.abs(before));
    const accepts = (at: Point, size: number) => merit(at) <= before + 1e-4 * size * slope + rounding;
    const from = point;
    let size = 1;
    let trial = await problem.at(moved(problem, from, solution.step, scales, 1));
    if (!accepts(trial, 1)) {
      const corrected = correctedStep(model, solution.hessian, solution.step, trial);
      const second = corrected === null ? trial : await problem.at(moved(problem, from, corrected, scales, 1));
      if (corrected !== null && accepts(second, 1)) trial = second;
      else {
        while (!accepts(trial, size) && size > 1e-10) {
          size *= size < 1e-3 ? 0.1 : 0.5;
          trial = await problem.at(moved(problem, from, solution.step, scales, size));
        }
        if (!accepts(trial, size)) {
          const beyond = isOptimal(measured, tolerances) ? await escape(model, hessian) : null;
          if (beyond === null) return end();
          point = beyond;
          continue;
        }
      }
    }
    point = trial;
    multipliers = multipliers.map((multiplier, i) => multiplier + size * ((next[i] as number) - multiplier));
    measured = measure(point, multipliers);
    if (listener(point, from, measured.stationarity, size * largest(solution.step), size)) return end();
  }
  return end();
}

/** Whether multipliers have the same Hessian of the Lagrangian but for a hundredth. */
function areClose(a: Float64Array, b: Float64Array): boolean {
  return a.every((multiplier, i) => Math.abs(multiplier - (b[i] as number)) <= 0.01 * Math.abs(multiplier));
}

/** The share of a slope at the start that counts as none. */
export const NO_SLOPE = 1e-8;

/** A |λc| that counts as 0, in units of a gradient that does: to first order it is the distance from the minimum's value, which a gradient is the root of. */
const COMPLEMENTARY = 1e-3;

/** Whether a point counts as optimal. */
export function isOptimal({ violation, stationarity, complementarity, gain }: Optimality, tolerances: Tolerances): boolean {
  const { stationarity: most } = tolerances;
  return violation <= tolerances.violation && stationarity <= most && complementarity <= COMPLEMENTARY * most && gain <= most;
}

/** The linear model at a point, in units of the parameters' scales: constraints, then lower and upper bounds. */
interface LinearModel {
  readonly gradient: Float64Array;
  readonly rows: Float64Array;
  readonly values: Float64Array;
  readonly equalities: number;
  /** The constraint of each row; -1 of bounds. */
  readonly constraints: readonly number[];
  /** Whether each row is expected to be met exactly. */
  readonly isTight: readonly boolean[];
  /** Whether the gradient of the Lagrangian leads each row to be met exactly. */
  readonly isPressed: readonly boolean[];
}

function programAt(problem: Lagrangian, point: Point, scales: Float64Array, multipliers: Float64Array): LinearModel {
  const { free, count, isEquality, isEnabled, session } = problem;
  const size = free.length;
  const places = new Map<number, number>();
  free.forEach((j, place) => places.set(j, place));
  const constraints: number[] = [];
  for (const kind of [1, 0]) for (let i = 0; i < count; i++) if (isEnabled[i] === 1 && isEquality[i] === kind) constraints.push(i);
  const equalities = constraints.reduce((sum, i) => sum + (isEquality[i] as number), 0);
  const bounds: (readonly [place: number, sign: number, value: number])[] = [];
  free.forEach((j, place) => {
    const [x, scale, lower, upper] = [point.x[j], scales[j], session.domain.lower[j], session.domain.upper[j]] as [number, number, number, number];
    if (lower > -Infinity) bounds.push([place, -1, (lower - x) / scale]);
    if (upper < Infinity) bounds.push([place, 1, (x - upper) / scale]);
  });
  const rows = new Float64Array((constraints.length + bounds.length) * size);
  const values = new Float64Array(constraints.length + bounds.length);
  constraints.forEach((i, row) => {
    values[row] = point.c[i] as number;
    for (let k = point.offsets[i] as number; k < (point.offsets[i + 1] as number); k++) {
      const j = point.columns[k] as number;
      const place = places.get(j);
      if (place !== undefined) rows[row * size + place] = (point.entries[k] as number) * (scales[j] as number);
    }
  });
  bounds.forEach(([place, sign, value], k) => {
    rows[(constraints.length + k) * size + place] = sign;
    values[constraints.length + k] = value;
  });
  const gradient = Float64Array.from(free, (j) => (point.gradient[j] as number) * (scales[j] as number));
  const isTight = constraints.map((i) => isEquality[i] === 1 || (multipliers[i] as number) > 0);
  const isPressed = isTight.slice();
  const slopes = problem.gradient(point, multipliers);
  for (const [place, sign, value] of bounds) {
    isTight.push(value >= -1e-12);
    isPressed.push(value >= -1e-12 && sign * (slopes[free[place] as number] as number) < 0);
  }
  return { gradient, rows, values, equalities, constraints: [...constraints, ...bounds.map(() => -1)], isTight, isPressed };
}

/** A step in units of scales, its multipliers, and the Hessian that it was made with. */
interface ModelSolution {
  readonly step: Float64Array;
  readonly multipliers: Float64Array;
  /** The multipliers of the model's rows. */
  readonly ofRows: Float64Array;
  readonly hessian: Float64Array;
}

/**
 * Solves the program at a point. Where the Hessian is not positive definite, it is made so in directions that tight constraints exclude, which
 * changes multipliers alone, and where that does not do in all of them. Returns null where constraints contradict each other.
 */
function solveModel({ count }: Lagrangian, model: LinearModel, hessian: Float64Array, least: number): ModelSolution | null {
  const size = model.gradient.length;
  const pressed = solvePressed(model, hessian, model.values);
  if (pressed !== null && isDescent(model, pressed)) {
    const multipliers = new Float64Array(count);
    model.constraints.forEach((i, row) => i >= 0 && (multipliers[i] = pressed.multipliers[row] as number));
    return { step: pressed.step, multipliers, ofRows: pressed.multipliers, hessian };
  }
  const norm = Math.max(largest(hessian), Number.MIN_VALUE);
  const floor = Math.max(norm, largest(model.gradient), least, Number.MIN_VALUE);
  const damped = Array.from({ length: 10 }, (_, k) => [10, 1e-7 * 10 ** k] as const);
  for (const [augmentation, damping] of [[0, 0] as const, [10, 0] as const, [1e3, 0] as const, ...damped]) {
    const matrix = hessian.slice();
    const shares = new Float64Array(model.values.length);
    if (augmentation > 0) {
      model.isTight.forEach((isTight, row) => {
        if (!isTight) return;
        const entries = model.rows.subarray(row * size, (row + 1) * size);
        const square = dot(entries, entries);
        if (square === 0) return;
        const share = (augmentation * norm) / square;
        shares[row] = share;
        for (let a = 0; a < size; a++) {
          const factor = share * (entries[a] as number);
          if (factor !== 0) for (let b = 0; b < size; b++) matrix[a * size + b] = (matrix[a * size + b] as number) + factor * (entries[b] as number);
        }
      });
    }
    for (let a = 0; a < size; a++) matrix[a * size + a] = (matrix[a * size + a] as number) + damping * floor;
    const solution = solveQuadraticProgram({ size, hessian: matrix, gradient: model.gradient, rows: model.rows, values: model.values, equalities: model.equalities });
    if (solution === 'indefinite') continue;
    if (solution === 'infeasible') return null;
    const multipliers = new Float64Array(count);
    model.constraints.forEach((i, row) => {
      if (i < 0) return;
      let change = 0;
      for (let j = 0; j < size; j++) change += (model.rows[row * size + j] as number) * (solution.step[j] as number);
      const own = solution.multipliers[row] as number;
      multipliers[i] = row < model.equalities ? own + (shares[row] as number) * change : Math.max(0, own === 0 ? 0 : own + (shares[row] as number) * change);
    });
    return { step: solution.step, multipliers, ofRows: solution.multipliers, hessian: matrix };
  }
  return null;
}

/**
 * Solves the program under the supposition that the pressed rows are those that hold with equality: a step of Newton's method for the conditions of
 * optimality. Null where the supposition is wrong: another row would not hold, one of them would pull, or the Hessian is not positive definite along them.
 */
function solvePressed({ gradient, rows, equalities, constraints, isPressed }: LinearModel, hessian: Float64Array, values: Float64Array): { step: Float64Array; multipliers: Float64Array } | null {
  const size = gradient.length;
  const rowOf = (row: number) => rows.subarray(row * size, (row + 1) * size);
  const at = new Float64Array(size);
  const fixed: boolean[] = [];
  const places: number[] = [];
  for (let row = 0; row < values.length; row++) {
    if (isPressed[row] !== true) continue;
    if (constraints[row] !== -1) places.push(row);
    else {
      const place = rowOf(row).findIndex((entry) => entry !== 0);
      if (fixed[place] === true) return null;
      fixed[place] = true;
      at[place] = -(values[row] as number) * (rowOf(row)[place] as number);
    }
  }
  const space = TangentSpace.of(places.map(rowOf), fixed, size);
  const solution = space?.minimize(hessian, gradient, places.map(rowOf), places.map((row) => values[row] as number), at) ?? null;
  if (solution === null) return null;
  const { step } = solution;
  const multipliers = new Float64Array(values.length);
  places.forEach((row, k) => (multipliers[row] = solution.multipliers[k] as number));
  const slopes = gradient.map((entry, j) => entry + dot(hessian.subarray(j * size, (j + 1) * size), step));
  for (const row of places) rowOf(row).forEach((entry, j) => (slopes[j] = (slopes[j] as number) + (multipliers[row] as number) * entry));
  for (let row = 0; row < values.length; row++) {
    if (isPressed[row] === true) {
      if (constraints[row] === -1) multipliers[row] = -dot(rowOf(row), slopes);
      if (row >= equalities && !((multipliers[row] as number) >= 0)) return null;
      continue;
    }
    const terms = Math.abs(values[row] as number) + rowOf(row).reduce((sum, entry, j) => sum + Math.abs(entry * (step[j] as number)), 0);
    if (!((values[row] as number) + dot(rowOf(row), step) <= 64 * EPSILON * terms)) return null;
  }
  return { step, multipliers };
}

/** The multipliers of the rows that a step has met with force which suit its start best; null where one would pull, or rows depend on each other. */
function fittedMultipliers({ gradient, rows, equalities, constraints }: LinearModel, ofRows: Float64Array, count: number): Float64Array | null {
  const size = gradient.length;
  const rowOf = (row: number) => rows.subarray(row * size, (row + 1) * size);
  const met = Array.from(ofRows.keys()).filter((row) => row < equalities || (ofRows[row] as number) > 0);
  const fixed: boolean[] = [];
  for (const row of met) if (constraints[row] === -1) fixed[rowOf(row).findIndex((entry) => entry !== 0)] = true;
  const places = met.filter((row) => constraints[row] !== -1);
  const fitted = TangentSpace.of(places.map(rowOf), fixed, size)?.multipliersOf(gradient) ?? null;
  if (fitted === null || places.some((row, k) => row >= equalities && !((fitted[k] as number) >= 0))) return null;
  const multipliers = new Float64Array(count);
  places.forEach((row, k) => (multipliers[constraints[row] as number] = fitted[k] as number));
  return multipliers;
}

/** Whether the exact penalty function falls along a step. */
function isDescent({ gradient, values, equalities, constraints }: LinearModel, { step, multipliers }: { step: Float64Array; multipliers: Float64Array }): boolean {
  let slope = dot(gradient, step);
  constraints.forEach((i, row) => {
    if (i >= 0) slope -= 1.1 * Math.abs(multipliers[row] as number) * (row < equalities ? Math.abs(values[row] as number) : Math.max(0, values[row] as number));
  });
  return slope <= 0;
}

/**
 * Returns points beside one, along a direction in which the Lagrangian curves down and that no constraint excludes to first order; none beside a minimum.
 * Constraints and bounds with multipliers count as exclusions, others leave one side open.
 */
function besideSaddle(problem: Lagrangian, model: LinearModel, hessian: Float64Array, point: Point, multipliers: Float64Array, scales: Float64Array): Float64Array[] {
  const { free } = problem;
  const size = free.length;
  const gradient = problem.gradient(point, multipliers);
  const norm = largest(hessian);
  const slopes = Float64Array.from(free, (j) => (gradient[j] as number) * (scales[j] as number));
  const slope = 1e-7 * Math.max(largest(model.gradient), largest(slopes), norm);
  const fixed = Array.from(slopes, (entry) => Math.abs(entry) > slope);
  const tight = model.constraints.flatMap((i, row) => {
    if (i < 0) return [];
    const entries = model.rows.subarray(row * size, (row + 1) * size);
    return row < model.equalities || (multipliers[i] as number) * Math.sqrt(dot(entries, entries)) > slope ? [entries] : [];
  });
  // Rows that follow from others exclude nothing more.
  const independent = (rows: readonly Float64Array[], row: Float64Array) => (TangentSpace.of([...rows, row], fixed, size) === null ? rows : [...rows, row]);
  const space = TangentSpace.of(tight, fixed, size) ?? TangentSpace.of(tight.reduce(independent, [] as readonly Float64Array[]), fixed, size);
  if (space === null) return [];
  const matrix = space.reduced(hessian, size);
  // Differences of gradients leave some 1e-10 of the largest entry.
  for (let a = 0; a < space.dimension; a++) matrix[a * (space.dimension + 1)] = (matrix[a * (space.dimension + 1)] as number) + 1e-8 * norm;
  const reduced = negativeCurvature(matrix, space.dimension);
  if (reduced === null) return [];
  const along = space.along(reduced, size);
  const most = largest(along);
  const direction = along.map((entry) => entry / most);
  // A step that a constraint or a bound stops at once leads nowhere.
  return [1, -1].flatMap((sign) => {
    const isInside = model.constraints.every((i, row) => {
      if ((model.values[row] as number) < -1e-9 || row < model.equalities) return true;
      return sign * dot(model.rows.subarray(row * size, (row + 1) * size), direction) <= 1e-6 || (i >= 0 && (multipliers[i] as number) > 0);
    });
    const to = moved(problem, point, direction, scales, 0.1 * sign);
    const isMoved = to.some((number, j) => Math.abs(number - (point.x[j] as number)) > 0.01 * (scales[j] as number));
    return isInside && isMoved ? [to] : [];
  });
}

/** The step for constraints as they are at the end of another step, which leaves out what linear models of them leave out. */
function correctedStep(model: LinearModel, hessian: Float64Array, step: Float64Array, trial: Point): Float64Array | null {
  const size = step.length;
  const values = model.values.slice();
  model.constraints.forEach((i, row) => {
    if (i < 0) return;
    let change = 0;
    for (let j = 0; j < size; j++) change += (model.rows[row * size + j] as number) * (step[j] as number);
    values[row] = (trial.c[i] as number) - change;
  });
  if (!values.every(Number.isFinite)) return null;
  const solution = solvePressed(model, hessian, values) ?? solveQuadraticProgram({ size, hessian, gradient: model.gradient, rows: model.rows, values, equalities: model.equalities });
  return typeof solution === 'string' ? null : solution.step;
}

/** x + size · step, within the bounds. */
function moved({ free, session }: Lagrangian, { x }: Point, step: Float64Array, scales: Float64Array, size: number): Float64Array {
  const to = x.slice();
  free.forEach((j, place) => {
    const target = (x[j] as number) + size * (step[place] as number) * (scales[j] as number);
    to[j] = Math.min(Math.max(target, session.domain.lower[j] as number), session.domain.upper[j] as number);
  });
  return to;
}
