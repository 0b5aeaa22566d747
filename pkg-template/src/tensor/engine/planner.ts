/** Has the module compile tapes, one at a time, with turns of the event loop in between. */

import type { Turns } from '../memory/turns.js';
import type { TensorInstance } from '../module/loading.js';
import type { RawPlanOptions } from '../module/raw.js';
import { readPlan, type LocalPlan } from './plan.js';

/** Milliseconds of work after which the page has a turn. */
const TURN_MS = 12;

/** Makes the plans of one device. */
export class Planner {
  /** Settles when no plan is under way. */
  private latest: Promise<void> = Promise.resolve();
  /** Plans that are not made yet. */
  private waiting = 0;
  /** When the present turn began, as far as plans are concerned. */
  private start = 0;

  constructor(
    private readonly instance: TensorInstance,
    private readonly options: RawPlanOptions,
    private readonly turns: Turns,
  ) {}

  /** Makes a plan of a tape. Rejects with what the module finds wrong, and with what `check` throws before it begins or after a turn: what is left is then left out. */
  async plan(tape: Float64Array, check: () => void): Promise<LocalPlan> {
    if (this.waiting === 0) this.start = performance.now();
    this.waiting += 1;
    const before = this.latest;
    let end = () => {};
    this.latest = new Promise((resolve) => (end = resolve));
    try {
      await before;
      check();
      return await this.make(tape, check);
    } finally {
      this.waiting -= 1;
      end();
    }
  }

  private async make(tape: Float64Array, check: () => void): Promise<LocalPlan> {
    const { instance } = this;
    const compiling = instance.call((module) => module.Compiling.begin(tape, this.options));
    try {
      for (;;) {
        const left = TURN_MS - (performance.now() - this.start);
        if (left > 0) {
          const raw = instance.call(() => compiling.advance(left));
          if (raw !== undefined) return instance.call(() => readPlan(raw));
        }
        await new Promise<void>((resolve) => this.turns.next(resolve));
        this.start = performance.now();
        check();
      }
    } finally {
      if (instance.failure === null) instance.call(() => compiling.free());
    }
  }
}
