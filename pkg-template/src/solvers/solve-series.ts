/** Several solves of the module that are one to the caller: their iterations are numbered on, and limits of iterations and time are of all of them. */

import { joined } from '../arguments/numeric-arguments.js';
import type { IterationSummary, RawListener } from '../module/raw.js';
import { ROW, type SolveRecord } from '../module/solve-record.js';
import type { StoppingTests } from './stopping.js';

/** What a series tells of all its solves. */
export type SeriesTotals = Pick<SolveRecord, 'rows' | 'times' | 'iterations' | 'functionEvaluations' | 'computationTime'>;

/** The solves of a series so far. */
export class SolveSeries {
  /** Steps of all solves. */
  iterations = 0;
  /** Whether the listener has ended the series. */
  isEnded = false;
  private readonly began = performance.now();
  private readonly records: SolveRecord[] = [];
  private readonly rows: Float64Array[] = [];
  private milliseconds = 0;

  constructor(
    private readonly limits: Partial<StoppingTests>,
    private readonly listen: RawListener,
  ) {}

  /** Number of solves. */
  get count(): number {
    return this.records.length;
  }

  /** The last solve. */
  get last(): SolveRecord {
    return this.records.at(-1) as SolveRecord;
  }

  /** The limit that ends the series, if one is reached. */
  get limit(): 'max-iterations' | 'max-time' | null {
    const { maxIterations = Infinity, maxTimeMs = Infinity } = this.limits;
    if (this.iterations >= maxIterations) return 'max-iterations';
    return performance.now() - this.began >= maxTimeMs ? 'max-time' : null;
  }

  /** Limits of the next solve, with at most `iterations`. */
  within(iterations: number = Infinity): Partial<StoppingTests> {
    const { maxIterations = Infinity, maxTimeMs = Infinity } = this.limits;
    const most = Math.min(iterations, maxIterations - this.iterations);
    return { ...(most < Infinity ? { maxIterations: most } : {}), maxTimeMs: Math.max(maxTimeMs - (performance.now() - this.began), 1e-3) };
  }

  /** The listener of the next solve. */
  listener(): RawListener {
    const { iterations, milliseconds, count } = this;
    const hear = (summary: IterationSummary): boolean => {
      if (count > 0 && summary.iteration === 0) return false;
      // A solve may have converged at the iteration at which the listener ends the series.
      const isEnd = this.listen({ ...summary, iteration: summary.iteration + iterations, elapsedMs: summary.elapsedMs + milliseconds });
      this.isEnded ||= isEnd;
      return isEnd;
    };
    return Object.assign(hear, { isDeaf: this.listen.isDeaf === true });
  }

  /** Adds a solve that has ended. */
  add(record: SolveRecord): void {
    const rows = this.count === 0 ? record.rows : record.rows.slice(ROW);
    for (let at = 0; at < rows.length; at += ROW) {
      (rows[at] as number) += this.iterations;
      (rows[at + ROW - 1] as number) += this.milliseconds;
    }
    this.rows.push(rows);
    this.records.push(record);
    this.iterations += record.iterations;
    this.milliseconds += record.computationTime;
  }

  /** Iterations, counts and times of all solves. */
  totals(): SeriesTotals {
    const times = new Map<string, number>();
    for (const record of this.records) for (const [name, ms] of record.times) times.set(name, (times.get(name) ?? 0) + ms);
    return {
      rows: joined(Float64Array, this.rows),
      times: [...times],
      iterations: this.iterations,
      functionEvaluations: this.records.reduce((count, record) => count + record.functionEvaluations, 0),
      computationTime: performance.now() - this.began,
    };
  }
}
