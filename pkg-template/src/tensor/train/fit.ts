/** The loop of a training. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { checkOptions, type OptionNames } from '../../arguments/options.js';
import { checkSignal } from '../../module/cancellation.js';
import type { Feeds, Specs } from '../device/program.js';
import { Turns } from '../memory/turns.js';
import { DataLoader, type Batch } from './data-loader.js';
import { TrainingStep } from './training-step.js';

/** What an epoch came to. */
export interface EpochReport<N extends string = string> {
  /** Which epoch of this fit it is, from 1. */
  readonly epoch: number;
  /** Steps of the optimiser so far. */
  readonly steps: number;
  /** Batches of the epoch. */
  readonly batches: number;
  /** How long it took. */
  readonly seconds: number;
  /** Means over its samples: of the loss and of what else the body gives. */
  readonly means: { readonly [name in N]: number };
}

/** What a run came to. */
export interface BatchReport<N extends string = string> {
  /** Which epoch of this fit it is in, from 1. */
  readonly epoch: number;
  /** Which batch of it, from 1. */
  readonly batch: number;
  /** Steps of the optimiser up to this run. */
  readonly steps: number;
  /** The loss of the batch, and what else the body gives. */
  readonly values: { readonly [name in N]: number };
}

/** Options of a fit. */
export interface FitOptions<N extends string = string> {
  /** How often the data is gone through; the rest of an epoch that was begun counts as one. Infinity: until the signal fires or onEpoch returns true. */
  epochs: number;
  /** Called after each epoch, and waited for. True ends the fit. */
  onEpoch?: (report: EpochReport<N>) => boolean | void | Promise<boolean | void>;
  /** Called for each run, some runs later, once its numbers were read. Without it nothing is read before the end of an epoch. */
  onBatch?: (report: BatchReport<N>) => void;
  /** Ends the fit with 'aborted' between two runs: all that was submitted counts. */
  signal?: AbortSignal;
}

const FIT_OPTIONS: OptionNames<FitOptions> = { epochs: true, onEpoch: true, onBatch: true, signal: true };

/** Runs that the device may be behind: enough that it never waits, and few enough that memory and an abort do not. */
const IN_FLIGHT = 4;
/** Milliseconds after which the page has a turn. */
const TURN = 12;

/**
 * Trains: runs a step with each batch of the data, and gives the means of each epoch. Data is a loader, or batches that can be iterated, in turn for each epoch. The page has turns in between.
 * Rejects with 'aborted' when the signal fires, with 'invalid-argument' for wrong options and for an epoch without batches, and with what a run, a callback or the data throws. Weights and the
 * optimiser are then where the last run left them, and the loader is after the last batch that it gave, so that another fit goes on from there.
 */
export async function fit<I extends Specs, N extends string>(step: TrainingStep<I, N>, data: DataLoader<any> | Iterable<Batch> | AsyncIterable<Batch>, options: FitOptions<N>): Promise<EpochReport<N>[]> {
  if (!(step instanceof TrainingStep)) throw invalidArgument('fit: step', describe(step), 'a training step');
  if (typeof data !== 'object' || data === null || !(Symbol.iterator in data || Symbol.asyncIterator in data)) throw invalidArgument('fit: data', describe(data), 'a DataLoader, or batches that can be iterated');
  checkOptions('fit: options', options, FIT_OPTIONS);
  const { epochs, onEpoch, onBatch, signal } = options;
  if (epochs !== Infinity && !(Number.isInteger(epochs) && epochs >= 0)) throw invalidArgument('fit: epochs', describe(epochs), 'a whole number of at least 0, or Infinity');
  for (const [name, callback] of Object.entries({ onEpoch, onBatch })) if (callback !== undefined && typeof callback !== 'function') throw invalidArgument(`fit: ${name}`, describe(callback), 'a function');
  checkSignal('fit: signal', signal);
  const checkAborted = () => {
    if (signal?.aborted === true) throw new ResiduaError('aborted', 'fit was aborted by its signal');
  };
  checkAborted();
  const reports: EpochReport<N>[] = [];
  const pace = new Pace();
  // Means of runs before this fit are none of its own.
  await step.takeMeans();
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const [began, flight] = [performance.now(), [] as Promise<void>[]];
    let batches = 0;
    try {
      for await (const { inputs, sizes, size = 1 } of data instanceof DataLoader ? data.read(signal) : data) {
        const outputs = step.run(inputs as Feeds<I>, sizes, size);
        const [batch, { steps }] = [(batches += 1), step];
        flight.push(onBatch === undefined ? step.device.synchronize() : valuesOf(step, outputs).then((values) => onBatch({ epoch, batch, steps, values })));
        // Its failure is told where it is waited for.
        flight.at(-1)?.catch(() => {});
        if (flight.length > IN_FLIGHT) await flight.shift();
        await pace.turn();
        checkAborted();
      }
      await Promise.all(flight);
    } catch (error) {
      // Reports of runs that were submitted come before the end.
      await Promise.allSettled(flight);
      throw error;
    }
    if (batches === 0) throw invalidArgument('fit: data', `no batch in epoch ${epoch}`, 'a batch or more in each epoch: an array, or an object that can be iterated again');
    const report = { epoch, steps: step.steps, batches, seconds: (performance.now() - began) / 1000, means: await step.takeMeans() };
    reports.push(report);
    if ((await onEpoch?.(report)) === true) break;
    checkAborted();
  }
  return reports;
}

/** Reads the outputs of a run in one round trip. */
async function valuesOf<N extends string>(step: TrainingStep<any, N>, outputs: { readonly [name in N]: any }): Promise<{ [name in N]: number }> {
  const names = Object.keys(outputs) as N[];
  const found = await step.device.read(...names.map((name) => outputs[name]));
  return Object.fromEntries(names.map((name, k) => [name, (found[k] as Float32Array)[0]])) as { [name in N]: number };
}

/** Gives the page turns: on the CPU a run is computed at once, and promises alone give none. */
class Pace {
  private readonly turns = new Turns();
  private last = performance.now();

  async turn(): Promise<void> {
    if (performance.now() - this.last < TURN) return;
    await new Promise<void>((resolve) => this.turns.next(resolve));
    this.last = performance.now();
  }
}
