/**
 * Solves with constraints: the method of multipliers (M. R. Hestenes 1969, M. J. D. Powell 1969; with the safeguards of A. R. Conn, N. I. M. Gould, Ph. L.
 * Toint, "LANCELOT", 1992, and of E. G. Birgin, J. M. Martínez, "Practical Augmented Lagrangian Methods", 2014) around a solver without constraints, and
 * sequential quadratic programming where matrices are small.
 */

import { ResiduaError } from '../../arguments/errors.js';
import type { ConstrainedSession } from '../../compile/functions.js';
import type { CancellationToken } from '../../module/cancellation.js';
import type { RawFunctions, IterationSummary, RawListener } from '../../module/raw.js';
import { readSolve, ROW, type RawSolveResult, type SolveRecord } from '../../module/solve-record.js';
import { dot } from '../../problem/vectors.js';
import type { StoppingTests, Termination } from '../stopping.js';
import { largest } from './dense.js';
import { constraintResults, describeConstraint, findDependent, type ConstraintResult } from './findings.js';
import { Lagrangian, type Objective, type Point } from './lagrangian.js';
import { constraintScales, curvature, optimality, parameterScales, violationOf, type Optimality } from './optimality.js';
import { isOptimal, MOST_DENSE, runSequential, type Tolerances, NO_SLOPE } from './sequential.js';
import { scientific } from '../scientific.js';

/** Stopping tests of one solve without constraints, and whether it is least squares of the constraints alone. */
export type InnerSolver = (raw: RawFunctions, tests: StoppingTests, listener: RawListener, token: CancellationToken) => Promise<RawSolveResult>;

/** What is solved, and how. */
export interface ConstrainedSettings {
  readonly objective: Objective;
  readonly tests: StoppingTests;
  /** The largest violation relative to the terms of a constraint; undefined for what the arithmetic can tell. */
  readonly constraintTolerance: number | undefined;
  readonly inner: InnerSolver;
  /** Minimises the least squares of constraints alone. */
  readonly restore: InnerSolver;
}

/** The record of a solve with its constraints. */
export interface ConstrainedRecord extends SolveRecord {
  readonly constraints: ConstraintResult[];
}

const MOST_ROUNDS = 40;
/** A fall of the violation that shows that multipliers converge. */
const FALL = 0.25;
/** The factor by which penalties grow where it does not fall so. */
const GROWTH = 10;
/** The largest growth: beyond it the conditions of the inner problems leave no digits. */
const MOST_GROWTH = 1e10;

/** Starts from which the least violation is sought. */
const MOST_ATTEMPTS = 3;

/** Violation and stationarity that dense steps reach, and that the costs of an arithmetic can tell without them. */
const TOLERANCES: Readonly<Record<'dense' | 'f32' | 'f32x2' | 'f64', Tolerances>> = {
  dense: { violation: 1e-10, stationarity: 1e-6 },
  f32: { violation: 1e-5, stationarity: 1e-2 },
  f32x2: { violation: 1e-9, stationarity: 1e-4 },
  f64: { violation: 1e-10, stationarity: 1e-5 },
};

/** Runs a solve. */
export async function solveConstrained(session: ConstrainedSession, settings: ConstrainedSettings, listener: RawListener, token: CancellationToken): Promise<ConstrainedRecord> {
  return new Run(session, settings, listener, token).run();
}

interface Ending {
  readonly success: boolean;
  readonly termination: Termination;
  readonly message: string;
}

class Run {
  private readonly problem: Lagrangian;
  private readonly isDense: boolean;
  private readonly began = performance.now();
  private readonly rows: number[] = [];
  /** Milliseconds of all solves within, by stage. */
  private readonly times = new Map<string, number>();
  /** Of the last solve within; 0 of dense steps, which are in double precision. */
  private precisionLoss = 0;
  private iterations = 0;
  private evaluations = 0;
  private arithmetic: SolveRecord['arithmetic'];
  private x: Float64Array = new Float64Array();
  private multipliers: Float64Array;
  private scales: Float64Array = new Float64Array();
  /** A gradient, in units of the objective, below which none counts. */
  private least = 0;
  private isStopped = false;

  constructor(
    private readonly session: ConstrainedSession,
    private readonly settings: ConstrainedSettings,
    private readonly listener: RawListener,
    private readonly token: CancellationToken,
  ) {
    this.problem = new Lagrangian(session, settings.objective);
    // Differences of gradients need all digits.
    this.isDense = this.problem.free.length <= MOST_DENSE && (session.backend === 'cpu' || session.gradientsOnCpu);
    this.arithmetic = session.precision;
    this.multipliers = new Float64Array(this.problem.count);
    this.multipliers.set(session.multipliers.map((multiplier, i) => (this.problem.isEnabled[i] === 1 ? multiplier : 0)));
  }

  async run(): Promise<ConstrainedRecord> {
    const { problem, session } = this;
    // A solve without iterations checks the start, and moves it into bounds and onto manifolds.
    const start = await this.solve(this.settings.inner, { maxIterations: 0 });
    this.x = start.x;
    let point = await problem.at(this.x);
    this.checkStart(point);
    this.scales = parameterScales(problem, point.x);
    this.least = this.slopeOf(point) * NO_SLOPE;
    const { ending, point: last } = await this.rounds(point);
    point = last;
    await this.place(point.x);
    session.multipliers.set(this.multipliers.subarray(0, problem.ofBlocks));
    const constraints = constraintResults(problem, point, this.multipliers, constraintScales(problem, point, this.scales), this.tolerances);
    const dependent = ending.success && this.isDense ? findDependent(problem, point, constraints, this.scales) : '';
    const findings = start.findings.filter(({ kind }) => kind === 'moved-start');
    return {
      ...start,
      ...ending,
      findings,
      message: [...findings.map(({ message }) => message), ending.message, dependent].filter((sentence) => sentence !== '').join(' '),
      arithmetic: this.arithmetic,
      precisionLoss: this.precisionLoss,
      times: [...this.times],
      solver: `${start.solver}, augmented Lagrangian${this.isDense ? ', sequential quadratic programming' : ''}`,
      iterations: this.iterations,
      functionEvaluations: this.evaluations + problem.evaluations,
      initialCost: start.initialCost,
      finalCost: point.f,
      computationTime: performance.now() - this.began,
      x: point.x,
      rows: Float64Array.from(this.rows),
      promise: NaN,
      constraints,
    };
  }

  private async rounds(start: Point): Promise<{ ending: Ending; point: Point }> {
    const { problem } = this;
    let point = start;
    let sizes = constraintScales(problem, point, this.scales);
    const norms = penaltyNorms(sizes, problem.ofBlocks);
    const size = Math.max(this.slopeOf(point), await curvature(problem, point, this.scales));
    let penalty = 10 * (size || Math.abs(point.f) || 1);
    const most = penalty * MOST_GROWTH;
    let [last, stalled] = [Infinity, 0];
    let measured = this.measure(point);
    const worstOf = (at: Point) => largest(norms.map((norm, i) => violationOf(problem, at.c, i) / norm));
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const over = this.stopped();
      if (over !== null) return { ending: over, point };
      if (this.isDense) {
        const result = await runSequential(problem, start.x, point, problem.withUnits(point, this.multipliers), this.tolerances, this.least, this.hearStep);
        if (result.hasConverged) {
          [this.multipliers, this.arithmetic, this.precisionLoss] = [result.multipliers, 'f64', 0];
          return { ending: converged(result.optimality), point: result.point };
        }
        const stop = this.stopped();
        if (stop !== null) return { ending: stop, point: result.point };
        if (result.isInfeasible) {
          const restored = await this.restore(point, norms);
          if ('ending' in restored) return restored;
          point = restored.point;
        }
      }
      const penalties = norms.map((norm) => penalty / norm ** 2);
      await problem.augment(this.multipliers, penalties);
      await this.place(point.x);
      const record = await this.solve(this.settings.inner, innerTolerances(round));
      await problem.reset();
      this.arithmetic = record.arithmetic;
      const reached = await problem.at(record.x);
      const violation = worstOf(reached);
      // The objective falls faster than this penalty rises, towards a point that tells nothing.
      if (!(violation <= Math.max(10 * worstOf(point), 1)) && penalty < most) {
        penalty = Math.min(penalty * GROWTH, most);
        continue;
      }
      this.x = record.x;
      point = reached;
      let worst = 0;
      for (let i = 0; i < problem.ofBlocks; i++) {
        if (problem.isEnabled[i] === 0) continue;
        const [c, rate] = [point.c[i] as number, penalties[i] as number];
        const before = this.multipliers[i] as number;
        const after = before + rate * c;
        const isOpen = problem.isEquality[i] === 0 && after < 0;
        this.multipliers[i] = isOpen ? 0 : after;
        worst = Math.max(worst, Math.abs(isOpen ? before / rate : c) / (norms[i] as number));
      }
      this.multipliers = problem.withUnits(point, this.multipliers);
      this.scales = parameterScales(problem, start.x, point.x);
      sizes = constraintScales(problem, point, this.scales);
      measured = this.measure(point);
      // Where the objective is at rest by itself, as one that is constant, multipliers are 0, and not what rounding makes of them.
      const none = problem.withUnits(point, new Float64Array(problem.count));
      const alone = optimality(problem, point, none, this.scales, sizes, this.least);
      if (!isOptimal(measured, this.tolerances) && isOptimal(alone, this.tolerances)) [this.multipliers, measured] = [none, alone];
      if (isOptimal(measured, this.tolerances)) return { ending: converged(measured), point };
      // Beyond the constraints a larger penalty bounds the objective from below. Where they hold it falls without a bound, or ends.
      if (record.termination === 'non-finite' && measured.violation <= this.tolerances.violation) {
        return { ending: { success: false, termination: 'non-finite', message: record.message }, point };
      }
      const stop = this.stopped();
      if (stop !== null) return { ending: stop, point };
      const isSolved = record.success || record.termination === 'precision-limit';
      if (worst > FALL * last && (isSolved || worst > 0.9 * last)) {
        penalty = Math.min(penalty * GROWTH, most);
        stalled += worst > 0.9 * last ? 1 : 0;
        if (stalled >= 2) {
          const restored = await this.restore(point, norms);
          if ('ending' in restored) return restored;
          stalled = 0;
          point = restored.point;
          this.multipliers = new Float64Array(problem.count);
        }
      }
      last = worst;
    }
    const { violation, stationarity } = measured;
    const message = `No convergence in ${MOST_ROUNDS} rounds of multipliers: the largest violation is ${scientific(violation, 2)} of its terms, the gradient of the Lagrangian ${scientific(stationarity, 2)} of its terms.`;
    return { ending: { success: false, termination: this.arithmetic === 'f64' ? 'max-iterations' : 'precision-limit', message }, point };
  }

  /** Minimises the squares of the violations alone. Ends the solve where what is left of them is a minimum. */
  private async restore(from: Point, norms: Float64Array): Promise<{ ending: Ending; point: Point } | { point: Point }> {
    const { problem } = this;
    let [point, least] = [from, Infinity];
    let violations = new Float64Array();
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      // By symmetry a start may lie where steps do not lower violations although it is no minimum.
      const { record, point: end } = await this.restoreOnce(attempt === 0 ? from.x : this.shaken(point.x, attempt), norms);
      const stop = this.stopped();
      if (stop !== null) return { ending: stop, point: end };
      const sizes = constraintScales(problem, end, this.scales);
      const all = norms.map((norm, i) => violationOf(problem, end.c, i) / Math.max(norm, sizes[i] as number));
      if (!record.success || largest(all) <= Math.max(1e-6, 10 * this.tolerances.violation)) return { point: end };
      const total = Math.sqrt(dot(all, all));
      if (total < least) [point, violations] = [end, all];
      if (total > 0.99 * least) break;
      least = total;
    }
    const most = largest(violations);
    const named = [...violations.keys()].filter((i) => (violations[i] as number) >= 0.05 * most).sort((a, b) => (violations[b] as number) - (violations[a] as number));
    const names = named.slice(0, 4).map((i) => describeConstraint(problem, i, point.c[i] as number));
    const more = named.length > 4 ? `, and ${named.length - 4} more` : '';
    const message = `The constraints contradict each other near here: no step lowers their violations. Those that do not hold: ${names.join(', ')}${more}.`;
    return { ending: { success: false, termination: 'infeasible', message }, point };
  }

  private async restoreOnce(x: Float64Array, norms: Float64Array): Promise<{ record: SolveRecord; point: Point }> {
    const { problem, session } = this;
    const blocks = Array.from(session.domain.residuals.keys());
    await session.call((raw) => blocks.forEach((block) => raw.setEnabled(block, false)));
    let record: SolveRecord;
    try {
      await new Lagrangian(session, 'least-squares').augment(new Float64Array(problem.count), norms.map((norm) => 1 / norm ** 2));
      await this.place(x);
      record = await this.solve(this.settings.restore, {});
    } finally {
      await problem.reset();
      await session.call((raw) => blocks.forEach((block) => raw.setEnabled(block, session.domain.residuals[block] === true)));
    }
    return { record, point: await problem.at(record.x) };
  }

  /** A point some hundredths of the parameters' sizes away, the same at every call. */
  private shaken(x: Float64Array, attempt: number): Float64Array {
    const { lower, upper } = this.session.domain;
    const to = x.slice();
    for (const j of this.problem.free) {
      const [number, low, high] = [x[j], lower[j], upper[j]] as [number, number, number];
      const change = 0.05 * (this.scales[j] as number) * Math.sin(1 + 12.9898 * j + 78.233 * attempt);
      // A bound in the way has the step go to its other side.
      const target = number + change < low || number + change > high ? number - change : number + change;
      to[j] = Math.min(Math.max(target, low), high);
    }
    return to;
  }

  private measure(point: Point): Optimality {
    return optimality(this.problem, point, this.multipliers, this.scales, constraintScales(this.problem, point, this.scales), this.least);
  }

  private get tolerances(): Tolerances {
    const { violation, stationarity } = TOLERANCES[this.isDense ? 'dense' : this.arithmetic];
    return { violation: this.settings.constraintTolerance ?? violation, stationarity };
  }

  /** The largest change of the objective that its gradient tells of a change of a parameter by its size. */
  private slopeOf({ gradient }: Point): number {
    return this.problem.free.reduce((most, j) => Math.max(most, Math.abs((gradient[j] as number) * (this.scales[j] as number))), 0);
  }

  private checkStart(point: Point): void {
    const { problem } = this;
    const place = point.c.findIndex((value, i) => {
      const row = point.entries.subarray(point.offsets[i], point.offsets[i + 1]);
      return !Number.isFinite(value) || !row.every(Number.isFinite);
    });
    if (place < 0) return;
    const what = Number.isFinite(point.c[place]) ? 'has a derivative that is' : 'is';
    throw new ResiduaError('non-finite', `${describeConstraint(problem, place, null)} ${what} not finite at the start; takes a start at which constraints and their derivatives are finite`);
  }

  /** Sets the parameters of the module. */
  private async place(x: Float64Array): Promise<void> {
    await this.session.call((raw) => raw.setValuesAt(Uint32Array.of(0), Uint32Array.of(x.length), x.slice()));
  }

  /** Solves without constraints, within what is left of iterations and time, and takes its history. */
  private async solve(inner: InnerSolver, limits: Partial<StoppingTests>): Promise<SolveRecord> {
    const { tests } = this.settings;
    const first = this.iterations;
    const isFirst = this.rows.length === 0;
    const maxTimeMs = Math.max(tests.maxTimeMs - (performance.now() - this.began), Number.MIN_VALUE);
    const left = tests.maxIterations === undefined ? {} : { maxIterations: Math.max(tests.maxIterations - first, 0) };
    const hear = (summary: IterationSummary): boolean => {
      if (summary.iteration === 0 && !isFirst) return false;
      if (this.listener({ ...summary, iteration: first + summary.iteration, elapsedMs: performance.now() - this.began })) this.isStopped = true;
      return this.isStopped;
    };
    const listen: RawListener = Object.assign(hear, { isDeaf: this.listener.isDeaf === true });
    const record = readSolve(await this.session.call((raw) => inner(raw, { ...tests, ...left, ...limits, maxTimeMs }, listen, this.token)));
    for (let at = 0; at < record.rows.length; at += ROW) {
      const row = record.rows.subarray(at, at + ROW);
      if (row[0] === 0 && !isFirst) continue;
      this.rows.push(first + (row[0] as number), ...row.subarray(1, ROW - 1), performance.now() - this.began);
    }
    for (const [stage, ms] of record.times) this.times.set(stage, (this.times.get(stage) ?? 0) + ms);
    this.precisionLoss = record.precisionLoss;
    this.iterations += record.iterations;
    this.evaluations += record.functionEvaluations;
    return record;
  }

  private readonly hearStep = (point: Point, before: Point, stationarity: number, stepNorm: number, stepSize: number): boolean => {
    this.iterations++;
    const summary: IterationSummary = {
      iteration: this.iterations,
      cost: point.f,
      costChange: before.f - point.f,
      gradientMaxNorm: stationarity,
      stepNorm,
      accepted: true,
      stepSize,
      elapsedMs: performance.now() - this.began,
    };
    this.rows.push(summary.iteration, point.f, summary.costChange, stationarity, stepNorm, 1 | (2 << 3), 0, 0, 0, stepSize, summary.elapsedMs);
    if (this.listener(summary)) this.isStopped = true;
    return this.stopped() !== null;
  };

  /** The ending of a solve that a limit or the caller stops; null where it goes on. */
  private stopped(): Ending | null {
    const { maxIterations = Infinity, maxTimeMs } = this.settings.tests;
    const ending = (termination: Termination, message: string): Ending => ({ success: false, termination, message });
    if (this.isStopped || this.token()) return ending('aborted', 'The solve was aborted.');
    if (performance.now() - this.began >= maxTimeMs) return ending('max-time', `maxTimeMs, ${maxTimeMs}, is over.`);
    if (this.iterations >= maxIterations) return ending('max-iterations', `maxIterations, ${maxIterations}, were made.`);
    return null;
  }
}

function converged({ violation, stationarity }: Optimality): Ending {
  const message = `Converged: constraints hold to ${scientific(violation, 2)} of their terms, and the gradient of the Lagrangian is ${scientific(stationarity, 2)} of its terms.`;
  return { success: true, termination: 'gradient-tolerance', message };
}

/** Norms of constraints by which penalties are divided: those of small ones are raised, since a gradient may be 0 at the start alone. */
function penaltyNorms(sizes: Float64Array, ofBlocks: number): Float64Array {
  const most = largest(sizes.subarray(0, ofBlocks));
  return sizes.map((size) => (most === 0 ? 1 : Math.max(size, 1e-3 * most)));
}

/** Tolerances of the solve of a round. The cost is quadratic in what the others measure. */
function innerTolerances(round: number): Partial<StoppingTests> {
  const tolerance = Math.max(10 ** (-3 - round), 1e-10);
  return { costTolerance: Math.max(tolerance ** 2, 1e-15), gradientTolerance: tolerance, parameterTolerance: Math.max(tolerance ** 2, 1e-15) };
}
