/** Decoders that run: programs for pieces of a prompt and for a token, the memory of keys and values, and the loop that generates. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkOptions, pickOptions, type OptionNames } from '../../arguments/options.js';
import { makeDisposable } from '../../compile/dispose.js';
import { Device } from '../device/device.js';
import type { KvCache } from '../device/kv-cache.js';
import { spec, type Program, type ProgramPlan } from '../device/program.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { where } from '../functions.js';
import { checkAccumulate } from '../linear.js';
import { Quantized } from '../quantized.js';
import { dim, plus, type Size } from '../size.js';
import { arange } from '../sources.js';
import type { Tensor } from '../tensor.js';
import { graph, mixOf, type DecoderModel } from './decoder-graph.js';
import { maskOf, type Grammar, type GrammarState } from './grammar.js';
import { compileSampler, SAMPLING_OPTIONS, type Sampler, type SamplingOptions } from './sampling.js';
import { checkTokens } from './tokens.js';

/** Options of {@link compileDecoder}. */
export interface DecoderOptions {
  /** Tokens of a sequence that there is room for, prompt and answer together. Default: those that the model was trained for, but at most 2048. */
  capacity?: number;
  /** Sequences that are generated together. Default 1. */
  batch?: number;
  /** Tokens of a prompt that a run takes at most: fewer take less memory, more are faster. Default 1024. */
  piece?: number;
  /** Type in which keys and values are stored. Default 'f16'. */
  cache?: 'f16' | 'f32';
  /**
   * How products of prompts with quantised weights are added: 'int8' as in linear(), which is faster where a device multiplies bytes faster than floats, and
   * off by what it rounds. Tokens that are generated, and the products that give logits, are 'f32', the default.
   */
  accumulate?: 'f32' | 'int8';
  /** How many of the likeliest tokens may be drawn from. Default 64. */
  likeliest?: number;
  /** Called with the number of kernels that are compiled, the number of all, and the program: 'prompt' or 'token'. */
  onProgress?: (done: number, total: number, stage: string) => void;
  /** Ends the compile with 'aborted'. */
  signal?: AbortSignal;
}

const DECODER_OPTIONS: OptionNames<DecoderOptions> = { capacity: true, batch: true, piece: true, cache: true, accumulate: true, likeliest: true, onProgress: true, signal: true };

/** Options of {@link Decoder.generate}. */
export interface GenerateOptions extends SamplingOptions {
  /** Where drawing begins: the same seed, prompt and options give the same tokens on the same device. Drawn from the clock unless told. */
  seed?: number | bigint;
  /** What the text must be. Then each token is read before the next run. */
  grammar?: Grammar;
  /** Tokens that never come. */
  forbidden?: readonly number[];
  /** Tokens that end a text; those of the model unless told. */
  ends?: readonly number[];
  /** Runs that are submitted ahead of the token that is read. Default 3. */
  ahead?: number;
  /** Where the prompt begins: the tokens before are those that the decoder has taken already. Default 0. */
  position?: number;
}

const GENERATE_OPTIONS: OptionNames<GenerateOptions> = { ...SAMPLING_OPTIONS, seed: true, grammar: true, forbidden: true, ends: true, ahead: true, position: true };

type Step = Program<any, { logits: Tensor<'f32'> }>;

/**
 * Compiles the programs of a decoder, and makes its memory of keys and values: 2 · layers · kvHeads · size · capacity · batch numbers, which never grows. Tokens are chosen on the device, where the
 * next run reads them. Rejects with 'invalid-argument', 'out-of-memory', 'limit-exceeded', 'aborted'.
 */
export async function compileDecoder(device: Device, model: DecoderModel, options: DecoderOptions = {}): Promise<Decoder> {
  const { layers, kvHeads, size, context, rotary, ends } = model.settings;
  const mixes = ({ position, starts, capacity, keep }: StepParts) => mixOf(model, { position, starts, capacity, keep });
  return compileSteps('compileDecoder', device, {
    layers, kvHeads, size, context, ends,
    // Positions of a table end; others go on, with ever less sense.
    isBounded: rotary === null,
    isQuantised: Object.values(model.weights).some((weight) => weight instanceof Quantized),
    logits: (ids, parts) => graph('compileDecoder', ids, model, { position: parts.position, starts: parts.starts, isLast: true, accumulate: parts.accumulate, mix: mixes(parts) }),
  }, options);
}

/** What a graph of a step depends on. */
export interface StepParts {
  /** The place of the first token. */
  readonly position: Size;
  /** Where each sequence begins; null: all at 0. */
  readonly starts: Tensor<'i32'> | null;
  /** The most tokens that there can be. */
  readonly capacity: number;
  /** How products with quantised weights are added. */
  readonly accumulate: 'f32' | 'int8';
  /** Keeps the keys and values of a layer, and gives all of them. */
  readonly keep: (layer: number, k: Tensor, v: Tensor) => { k: Tensor; v: Tensor };
}

/** What is compiled: sizes of the memory of keys and values, and the graph of a step. */
export interface StepGraph {
  readonly layers: number;
  readonly kvHeads: number;
  readonly size: number;
  readonly context: number;
  readonly isBounded: boolean;
  /** Whether some weights are quantised. */
  readonly isQuantised: boolean;
  readonly ends: readonly number[];
  /** Logits [..., vocabulary] after tokens [..., tokens]. */
  readonly logits: (ids: Tensor<'i32'>, parts: StepParts) => Tensor<'f32'>;
}

/** Compiles the programs of a decoder whose graph is given. */
export async function compileSteps(call: string, device: Device, of: StepGraph, options: DecoderOptions): Promise<Decoder> {
  if (!(device instanceof Device)) throw invalidArgument(`${call}: device`, describe(device), 'a Device');
  checkOptions(`${call}: options`, options, DECODER_OPTIONS);
  const { layers, kvHeads, size, context, isBounded, isQuantised, ends } = of;
  const { capacity = Math.min(context, 2048), batch = 1, piece: asked = 1024, cache: dtype = 'f16', accumulate = 'f32', likeliest = 64, onProgress, signal } = options;
  checkWholeNumber(`${call}: capacity`, capacity, 1, isBounded ? context : undefined);
  for (const [name, value] of Object.entries({ batch, piece: asked, likeliest })) checkWholeNumber(`${call}: ${name}`, value, 1);
  checkAccumulate(`${call}: accumulate`, accumulate);
  if (accumulate === 'int8' && !isQuantised) throw invalidArgument(`${call}: accumulate`, "'int8'", "'f32', as no weights of the model are quantised");
  const piece = Math.min(asked, capacity);
  const made: { dispose(): void }[] = [];
  const keep = <T extends { dispose(): void }>(thing: T): T => {
    made.push(thing);
    return thing;
  };
  try {
    const cache = keep(device.kvCache({ layers, heads: kvHeads, size, capacity, dtype, ...(batch === 1 ? {} : { batch }) }));
    const [next, history] = [keep(device.zeros([batch], 'i32')), keep(device.zeros([batch, capacity], 'i32'))];
    // Of a batch, where each sequence begins: shorter prompts have padding before them.
    const starts = batch === 1 ? null : keep(device.zeros([batch], 'i32'));
    const [position, count] = [dim('position', capacity), dim('count', piece)];
    const body = (ids: Tensor<'i32'>, added: 'f32' | 'int8') => ({ logits: record(of, ids, { position, starts, history, cache, capacity, accumulate: added }) });
    const told = (name: string) => ({ name, ...(signal === undefined ? {} : { signal }), ...(onProgress === undefined ? {} : { onProgress: (done: number, total: number) => onProgress(done, total, name) }) });
    const read: Step = keep(await device.compile({ ids: spec('i32', [batch, count]) }, ({ ids }) => body(ids, accumulate), told('prompt')));
    const write: Step = keep(await device.compile({}, () => body(next.expandDims(-1), 'f32'), told('token')));
    const vocabulary = read.outputs.logits.shape[1] as number;
    const sampler = keep(await compileSampler(device, { vocabulary, history, next, likeliest }));
    return new Decoder({ capacity, batch, piece, vocabulary, ends }, { read, write, sampler, starts }, made);
  } catch (error) {
    for (const thing of made) thing.dispose();
    throw error;
  }
}

/** Logits [sequences, vocabulary] after the tokens, whose keys and values go to the cache. */
function record(
  of: StepGraph,
  ids: Tensor<'i32'>,
  { position, starts, history, cache, capacity, accumulate }: { position: Size; starts: StoredTensor<'i32'> | null; history: StoredTensor<'i32'>; cache: KvCache; capacity: number; accumulate: 'f32' | 'int8' },
): Tensor<'f32'> {
  const parts: StepParts = { position, starts, capacity, accumulate, keep: (layer, k, v) => cache.append(layer, k, v, position) };
  if (starts === null) {
    history.assignAt([0, position], ids);
    return of.logits(ids.squeeze(0), parts).expandDims(0);
  }
  const end = plus(position, ids.shape[1] as Size);
  const isText = arange(end, 'i32').slice([position, end]).gte(starts.expandDims(-1));
  history.assignAt([0, position], where(isText, ids, NO_TOKEN));
  return of.logits(ids, parts);
}

/** A number that is no token of any model. */
const NO_TOKEN = 2 ** 31 - 1;

/** A decoder that is ready to run; {@link compileDecoder} makes it. It does one thing at a time: what is begun while a loop over generate() is under way spoils that text. */
export class Decoder {
  /** Tokens of a sequence that there is room for. */
  readonly capacity: number;
  /** Sequences that are generated together. */
  readonly batch: number;
  /** Tokens that there are. */
  readonly vocabulary: number;
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;
  private readonly piece: number;
  private readonly ends: readonly number[];
  private latest: StoredTensor<'f32'>;
  private isMasked = false;

  /** @internal Made by compileDecoder(). */
  constructor(
    sizes: { capacity: number; batch: number; piece: number; vocabulary: number; ends: readonly number[] },
    private readonly parts: { read: Step; write: Step; sampler: Sampler; starts: StoredTensor<'i32'> | null },
    private readonly owned: readonly { dispose(): void }[],
  ) {
    ({ capacity: this.capacity, batch: this.batch, piece: this.piece, vocabulary: this.vocabulary, ends: this.ends } = sizes);
    this.latest = parts.read.outputs.logits;
  }

  /** What the runs do: of a piece of a prompt, and of a token. */
  get plans(): { prompt: ProgramPlan; token: ProgramPlan } {
    return { prompt: this.parts.read.plan, token: this.parts.write.plan };
  }

  /**
   * Takes tokens from `position` on, a list, or of a batch a list for each sequence, and returns the logits [sequences, vocabulary] of the one after them, which hold until the next run. At position
   * 0 lists may differ in length: the shorter ones end where the longest does. Throws 'invalid-argument' for what is no token, and beyond the capacity.
   */
  feed(ids: readonly number[] | readonly (readonly number[])[], position = 0): StoredTensor<'f32'> {
    const lists = this.listsOf('feed', ids, position);
    const longest = (lists[0] as readonly number[]).length;
    for (let at = 0; at < longest; at += this.piece) {
      const part = lists.map((list) => list.slice(at, at + this.piece));
      this.latest = this.parts.read.run({ ids: part.flat() }, { position: position + at, count: (part[0] as number[]).length }).logits;
    }
    return this.latest;
  }

  /** Chooses the token after the first `end` ones from the latest logits, one a sequence, on the device. Throws 'invalid-argument' for options that are out of range. */
  choose(end: number, options: SamplingOptions = {}): StoredTensor<'i32'> {
    return this.parts.sampler.choose(this.latest, end, options);
  }

  /** Takes the tokens that were chosen last, which stand at `position`, and returns the logits of those after them. */
  step(position: number): StoredTensor<'f32'> {
    return (this.latest = this.parts.write.run({}, { position }).logits);
  }

  /** Yields the tokens after a prompt, until the model ends the text, the grammar has no more, the memory is full or the caller leaves the loop. Rejects with 'invalid-argument' for what is no token and for options that are out of range. */
  async *generate(prompt: readonly number[], options: GenerateOptions = {}): AsyncGenerator<number, void> {
    for await (const [token] of this.loop('generate', [prompt], options)) yield token as number;
  }

  /** The same of several prompts, at most `batch`, each on its own. Yields a token for each, null for those whose text has ended. */
  generateBatch(prompts: readonly (readonly number[])[], options: GenerateOptions = {}): AsyncGenerator<(number | null)[], void> {
    return this.loop('generateBatch', prompts, options);
  }

  private async *loop(call: string, prompts: readonly (readonly number[])[], options: GenerateOptions): AsyncGenerator<(number | null)[], void> {
    checkOptions(`${call}: options`, options, GENERATE_OPTIONS);
    const { seed = Date.now(), grammar, forbidden = [], ends = this.ends, position = 0, ahead = 3 } = options;
    checkWholeNumber(`${call}: ahead`, ahead, 0);
    if (!Array.isArray(forbidden)) throw invalidArgument(`${call}: forbidden`, describe(forbidden), 'a list of tokens');
    checkTokens(`${call}: forbidden`, forbidden, this.vocabulary);
    const sampling = pickOptions<SamplingOptions>(options, SAMPLING_OPTIONS);
    if (!Array.isArray(prompts) || prompts.length < 1 || prompts.length > this.batch) throw invalidArgument(`${call}: prompts`, describe(prompts), `1 to ${this.batch} lists of tokens, the batch of compileDecoder()`);
    // Sequences without a prompt compute another's, and are not shown.
    const lists = Array.from({ length: this.batch }, (_, k) => prompts[k] ?? (prompts[0] as readonly number[]));
    this.parts.sampler.random.setSeed(seed);
    if (this.isMasked || forbidden.length > 0) {
      const mask = new Uint8Array(this.batch * this.vocabulary).fill(1);
      for (let at = 0; at < mask.length; at += this.vocabulary) for (const id of forbidden) mask[at + id] = 0;
      this.parts.sampler.allowed.set(mask);
    }
    this.isMasked = grammar !== undefined || forbidden.length > 0;
    this.feed(this.batch === 1 ? (lists[0] as readonly number[]) : lists, position);
    let end = position + Math.max(...lists.map(({ length }) => length));
    const states: (GrammarState | null)[] = prompts.map(() => grammar?.start ?? null);
    const hasEnded = prompts.map(() => false);
    const pending: Promise<Int32Array>[] = [];
    for (let submitted = 0; ; ) {
      while (pending.length <= (grammar === undefined ? ahead : 0) && (submitted === 0 || end < this.capacity)) {
        if (submitted++ > 0) this.step(end++);
        if (grammar !== undefined) this.mask(call, grammar, states, hasEnded, ends, forbidden);
        const token = this.choose(end, sampling).data();
        token.catch(() => undefined); // After the caller left the loop nothing reads it.
        pending.push(token);
      }
      const tokens = await pending.shift();
      if (tokens === undefined) return;
      prompts.forEach((_, k) => {
        const token = tokens[k] as number;
        if (ends.includes(token)) hasEnded[k] = true;
        else if (grammar !== undefined && hasEnded[k] === false) states[k] = grammar.next(states[k] as GrammarState, token);
      });
      if (hasEnded.every(Boolean)) return;
      yield prompts.map((_, k) => (hasEnded[k] === true ? null : (tokens[k] as number)));
      // A text that is complete and has no continuation ends without a token for it.
      if (grammar !== undefined) states.forEach((state, k) => (hasEnded[k] ||= grammar.isFinal(state as GrammarState)));
      if (hasEnded.every(Boolean)) return;
    }
  }

  /** Writes which tokens may come. */
  private mask(call: string, grammar: Grammar, states: readonly (GrammarState | null)[], hasEnded: readonly boolean[], ends: readonly number[], forbidden: readonly number[]): void {
    const { allowed } = this.parts.sampler;
    states.forEach((state, k) => {
      if (hasEnded[k] === true) return;
      const mask = maskOf(grammar, state as GrammarState, this.vocabulary, ends);
      for (const id of forbidden) mask[id] = 0;
      if (!mask.includes(1)) throw new ResiduaError('invalid-argument', `${call}: grammar: got one that no token continues after the tokens so far; takes one whose texts the vocabulary can write`);
      allowed.set(mask, k * this.vocabulary);
    });
  }

  /** Frees its programs and its memory of keys and values, after the runs so far; not the weights. A second call does nothing. */
  dispose(): void {
    for (const thing of this.owned) thing.dispose();
  }

  /** The tokens of each sequence, of equal numbers. */
  private listsOf(call: string, ids: unknown, position: number): readonly (readonly number[])[] {
    checkWholeNumber(`${call}: position`, position, 0);
    const lists = (this.batch === 1 ? [ids] : ids) as unknown[];
    if (!Array.isArray(lists) || lists.length !== this.batch) throw invalidArgument(`${call}: ids`, describe(ids), `${this.batch} lists of tokens, one a sequence`);
    const longest = lists.reduce((most: number, list, k) => {
      const argument = `${call}: ids${this.batch === 1 ? '' : `[${k}]`}`;
      if (!Array.isArray(list) || list.length === 0) throw invalidArgument(argument, describe(list), 'a list of at least one token');
      checkTokens(argument, list, this.vocabulary);
      return Math.max(most, list.length);
    }, 0);
    if (position + longest > this.capacity) throw invalidArgument(`${call}: ids`, `${longest} tokens from position ${position} on`, `at most ${this.capacity} tokens in all, the capacity`);
    const padding = lists.map((list) => longest - (list as readonly number[]).length);
    if (position > 0 && padding.some((count) => count > 0)) throw invalidArgument(`${call}: ids`, 'lists of different lengths', 'lists of one length where the position is above 0');
    if (position === 0) this.parts.starts?.set(padding);
    return (lists as (readonly number[])[]).map((list, k) => [...Array<number>(padding[k] as number).fill(0), ...list]);
  }
}

makeDisposable(Decoder);
