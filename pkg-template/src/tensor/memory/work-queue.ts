/**
 * The order of work on a device: uploads, runs, copies and reads take place in the order of the calls.
 *
 * Work starts at once where no earlier work is left. It waits where earlier work waits for a compile, and, on the CPU, where earlier work is
 * not done. Work in steps (an iterator) gives the page a turn after some milliseconds.
 */

import type { Turns } from './turns.js';

/** What is done at its turn. An iterator has a step of it done by each `next()`. */
export type Work = () => Iterator<void> | void;

/** Milliseconds of work after which the page has a turn. */
const TURN = 12;

interface Entry {
  readonly work: Work;
  isReady: boolean;
}

/** Work of one device, in order. */
export class WorkQueue {
  private entries: Entry[] = [];
  /** The steps left of the first entry. */
  private steps: Iterator<void> | null = null;
  private isTurnDue = false;
  private isWorking = false;

  /** @param fail takes errors of work that was not done at once, which has no caller any more */
  constructor(
    private readonly turns: Turns,
    private readonly fail: (error: unknown) => void,
  ) {}

  /** Whether work that is pushed now would start at once. */
  get isIdle(): boolean {
    return this.entries.length === 0;
  }

  /**
   * Does `work` after all earlier work; at once, if none is left. Errors of work that is done at once are thrown.
   *
   * @param ready work waits for it; work is left out if it rejects
   */
  push(work: Work, ready?: Promise<unknown>): void {
    const entry: Entry = { work, isReady: ready === undefined };
    this.entries.push(entry);
    ready?.then(
      () => {
        entry.isReady = true;
        this.resume();
      },
      () => {
        this.entries = this.entries.filter((other) => other !== entry);
        this.resume();
      },
    );
    if (this.entries[0] === entry && entry.isReady && !this.isWorking) this.proceed();
  }

  /** Leaves out all work that is not done. */
  clear(): void {
    this.entries = [];
    this.steps = null;
  }

  /** Continues where no caller can take an error. */
  private resume(): void {
    if (this.isTurnDue || this.isWorking) return;
    try {
      this.proceed();
    } catch (error) {
      this.fail(error);
    }
  }

  private proceed(): void {
    const start = performance.now();
    this.isWorking = true;
    try {
      for (let entry = this.entries[0]; entry?.isReady === true; entry = this.entries[0]) {
        if (!this.isDone(entry, start)) {
          this.resumeLater();
          return;
        }
        this.entries.shift();
      }
    } catch (error) {
      this.entries.shift();
      this.steps = null;
      // Work that was pushed meanwhile has no other call to start it.
      if (this.entries.length > 0) this.resumeLater();
      throw error;
    } finally {
      this.isWorking = false;
    }
  }

  /** Continues in a later turn. */
  private resumeLater(): void {
    this.isTurnDue = true;
    this.turns.next(() => {
      this.isTurnDue = false;
      this.resume();
    });
  }

  /** Works on an entry until it is done or the turn is over. */
  private isDone(entry: Entry, start: number): boolean {
    this.steps ??= entry.work() ?? null;
    while (this.steps !== null) {
      if (this.steps.next().done === true) this.steps = null;
      else if (performance.now() - start >= TURN) return false;
    }
    return true;
  }
}
