/** Checkpoints: all that a training is, in a file of the safetensors format. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { checkObject } from '../../arguments/numeric-arguments.js';
import { checkOptions } from '../../arguments/options.js';
import { dispose } from '../device/dispose.js';
import type { Drawn } from '../device/random-key.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { loadSafetensors, saveSafetensors } from '../files/safetensors.js';
import type { FileSource } from '../files/source.js';
import { sameShape, shapeText } from '../size.js';
import { DataLoader, type LoaderState } from './data-loader.js';
import { TrainingStep, type StepProgress } from './training-step.js';

/** Where the numbers of a checkpoint stand among the metadata. */
const KEY = 'residua.training';
const VERSION = 1;

/** What is saved and loaded beside the step. */
export interface CheckpointOptions {
  /** The loader: a resumed training goes on with the batch after the last one that was given. */
  data?: DataLoader<any>;
}

/** What is saved beside the step. */
export interface SaveCheckpointOptions extends CheckpointOptions {
  /** Texts of the application's own. */
  metadata?: Readonly<Record<string, string>>;
}

/**
 * Saves a training as a file of the safetensors format: weights, the optimiser's state, averages, the step's `state`, how many steps there were, learning rates that are numbers, what was
 * drawn of random numbers, and where the loader is. It holds what there is at the call, also during a fit, for which it is called in onEpoch. Rejects with 'invalid-argument', 'disposed' and as a read does.
 */
export async function saveCheckpoint(step: TrainingStep<any, any>, options: SaveCheckpointOptions = {}): Promise<Blob> {
  const call = 'saveCheckpoint';
  checkStep(call, step);
  checkOptions(`${call}: options`, options, { data: true, metadata: true });
  const { data, metadata = {} } = options;
  checkLoader(call, data);
  const { drawn, ...progress } = step.progress;
  const written = { version: VERSION, ...progress, drawn: drawn.map(({ seed, runs }) => ({ seed: String(seed), runs })), ...(data === undefined ? {} : { data: data.state }) };
  checkObject(`${call}: metadata`, metadata);
  if (Object.hasOwn(metadata, KEY)) throw invalidArgument(`${call}: metadata`, `the name '${KEY}'`, 'other names: the checkpoint has it');
  return saveSafetensors(step.tensors(), { ...metadata, [KEY]: JSON.stringify(written) });
}

/**
 * Loads a checkpoint into a step that was compiled in the same way, with its weights, optimiser and averages, and into a loader: steps from here on give the same bits as if the training had
 * not stopped, on the same device and engine. Nothing is compiled for the step. Generators of random numbers of the step get the seeds of the file. Returns the application's texts.
 * Rejects with 'invalid-argument' for a file of another training, of which nothing is taken then, and as `loadSafetensors` does.
 */
export async function loadCheckpoint(source: FileSource, step: TrainingStep<any, any>, options: CheckpointOptions = {}): Promise<Record<string, string>> {
  const call = 'loadCheckpoint';
  checkStep(call, step);
  checkOptions(`${call}: options`, options, { data: true });
  const { data } = options;
  checkLoader(call, data);
  const targets = step.tensors();
  const { tensors, metadata } = await loadSafetensors(source, { device: step.device });
  try {
    const { [KEY]: text, ...texts } = metadata;
    const { progress, state } = progressOf(`${call}: source`, text, step);
    if (data !== undefined && state === undefined) throw invalidArgument(`${call}: source`, 'a checkpoint without the state of a loader', 'one that was saved with `data`');
    checkTensors(`${call}: source`, targets, tensors);
    // Of a loader of other data nothing is taken. What is left cannot be refused.
    data?.restore(state as LoaderState);
    await Promise.all(Object.entries(targets).map(([name, target]) => target.set(tensors[name] as StoredTensor)));
    step.progress = progress;
    return texts;
  } finally {
    dispose(tensors);
  }
}

function checkStep(call: string, step: unknown): asserts step is TrainingStep {
  if (!(step instanceof TrainingStep)) throw invalidArgument(`${call}: step`, describe(step), 'a training step');
}

function checkLoader(call: string, data: unknown): void {
  if (data !== undefined && !(data instanceof DataLoader)) throw invalidArgument(`${call}: data`, describe(data), 'a DataLoader');
}

/** Throws 'invalid-argument' unless a file has the tensors of a step, and no others. */
function checkTensors(argument: string, targets: Readonly<Record<string, StoredTensor>>, found: Readonly<Record<string, StoredTensor>>): void {
  for (const [name, { dtype, shape }] of Object.entries(targets)) {
    const tensor = Object.hasOwn(found, name) ? found[name] : undefined;
    const takes = `${dtype} ${shapeText(shape)}, as the step has it`;
    if (tensor === undefined) throw invalidArgument(`${argument}: ${name}`, 'nothing', takes);
    if (tensor.dtype !== dtype || !sameShape(tensor.shape, shape)) throw invalidArgument(`${argument}: ${name}`, `${tensor.dtype} ${shapeText(tensor.shape)}`, takes);
  }
  const other = Object.keys(found).find((name) => !Object.hasOwn(targets, name));
  if (other !== undefined) throw invalidArgument(`${argument}: ${other}`, 'a tensor that the step does not have', `'${Object.keys(targets).join("', '")}'`);
}

const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/** What the text of a checkpoint says. Throws 'invalid-argument' where it is none, or one of another step. */
function progressOf(argument: string, text: string | undefined, step: TrainingStep): { progress: StepProgress; state: LoaderState | undefined } {
  if (text === undefined) throw invalidArgument(argument, 'a file without the numbers of a training', 'what saveCheckpoint() gives');
  const refuse = (what: string) => new ResiduaError('invalid-argument', `${argument}: got ${what}; takes what saveCheckpoint() gives`);
  let found: Record<string, unknown>;
  try {
    found = JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw refuse('numbers of a training that are no JSON');
  }
  if (typeof found !== 'object' || found === null || found.version !== VERSION) throw refuse(`a checkpoint of version ${describe(found?.version)}`);
  const { steps, runs, averaged, weight, rates, drawn, data } = found;
  const now = step.progress;
  if (!isCount(steps) || !isCount(runs) || !isCount(averaged)) throw refuse('counts that are no whole numbers');
  if (runs >= step.accumulate) throw invalidArgument(argument, `a checkpoint after ${runs} runs of a step`, `fewer than ${step.accumulate}, as the step accumulates`);
  if (typeof weight !== 'number' || !(weight >= 0)) throw refuse('a weight that is no number');
  const isRate = (rate: unknown) => rate === null || (typeof rate === 'number' && rate >= 0);
  if (!Array.isArray(rates) || rates.length !== now.rates.length || !rates.every(isRate)) throw refuse(`learning rates of ${describe(rates)}`);
  if (!Array.isArray(drawn) || drawn.length !== now.drawn.length) throw invalidArgument(argument, `random numbers of ${describe(drawn)} generators`, `those of ${now.drawn.length}, as the step draws`);
  const draws = drawn.map((draw: { seed?: unknown; runs?: unknown } | null): Drawn => {
    if (typeof draw?.seed !== 'string' || !/^\d{1,20}$/.test(draw.seed) || !isCount(draw.runs)) throw refuse('a generator without a seed and runs');
    return { seed: BigInt.asUintN(64, BigInt(draw.seed)), runs: draw.runs };
  });
  return { progress: { steps, runs, averaged, weight, rates: rates as (number | null)[], drawn: draws }, state: data as LoaderState | undefined };
}
