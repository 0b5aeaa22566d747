/**
 * Completion of GPU work: empty submissions while a result is awaited.
 *
 * Browsers look for finished work when commands arrive at the queue, and otherwise on a timer of milliseconds. A loop of turns therefore
 * submits empty lists while something is awaited, as crates/gpu/src/completion.rs does for the solvers; the intervals are those of decision
 * 0023: short at first, then a twentieth of the wait. On a software adapter the loop and the work share processors: after a millisecond its turns are those
 * of timers.
 */

import type { Turns } from '../../memory/turns.js';

/** The least time between two submissions in milliseconds, and the turns after which one is due whatever the clock reads. */
interface Interval {
  readonly milliseconds: number;
  readonly turns: number;
}

const FIRST: Interval = { milliseconds: 0.02, turns: 5 };
/** Submissions of a wait in the first interval. */
const FIRST_SUBMISSIONS = 16;
const LEAST: Interval = { milliseconds: 0.05, turns: 16 };
/** The interval as a fraction of the time waited, once that is more than the least. */
const FRACTION_OF_WAIT = 0.05;
/** Milliseconds of a wait for a software adapter in which turns follow each other at once. */
const PATIENCE = 1;

function interval(submissions: number, waited: number): Interval {
  if (submissions < FIRST_SUBMISSIONS) return FIRST;
  const growth = Math.max((FRACTION_OF_WAIT * waited) / LEAST.milliseconds, 1);
  return { milliseconds: growth * LEAST.milliseconds, turns: Math.floor(growth * LEAST.turns) };
}

/** The loop of one device. It runs while something is awaited. */
export class Completion {
  private waits = 0;
  private isRunning = false;
  private began = 0;
  private submissions = 0;
  private last = 0;
  private turnsSince = 0;

  constructor(
    private readonly queue: GPUQueue,
    private readonly turns: Turns,
    private readonly isSoftware: boolean,
  ) {}

  /** Waits for a promise of the device. */
  async of<T>(promise: Promise<T>): Promise<T> {
    this.waits += 1;
    [this.began, this.submissions] = [performance.now(), 0];
    if (!this.isRunning) {
      this.isRunning = true;
      this.turns.next(() => this.turn());
    }
    try {
      return await promise;
    } finally {
      this.waits -= 1;
    }
  }

  private turn(): void {
    if (this.waits === 0) {
      this.isRunning = false;
      return;
    }
    const now = performance.now();
    const due = interval(this.submissions, now - this.began);
    this.turnsSince += 1;
    if (now - this.last >= due.milliseconds || this.turnsSince >= due.turns) {
      [this.last, this.turnsSince] = [now, 0];
      this.submissions += 1;
      this.queue.submit([]);
    }
    if (this.isSoftware && now - this.began >= PATIENCE) setTimeout(() => this.turn(), 1);
    else this.turns.next(() => this.turn());
  }
}
