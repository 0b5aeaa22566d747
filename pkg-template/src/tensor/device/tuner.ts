/**
 * The choice of the tiles of matrix products on a GPU: by a table, by timing them when they are first needed, or as they were found before. What is timed is a product that
 * stands for others like it, with memory of its own, so that programs and reads share what was found.
 */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkOptions } from '../../arguments/options.js';
import type { Memory } from '../engine/engine.js';
import type { GpuEngine } from '../engine/gpu/gpu-engine.js';
import type { GpuRunner } from '../engine/gpu/gpu-runner.js';
import { ownedPlaces } from '../engine/places.js';
import { readPlan, type Plan } from '../engine/plan.js';
import { elementBytes, paddedBytes } from '../memory/numbers.js';
import type { TensorInstance } from '../module/loading.js';
import { writeTape } from '../recipe/tape.js';
import { keyOf, readProducts, recipeOf, TILES, tileOn, type Likeness } from './tiles.js';

/** How tiles are chosen. */
export type Tuning = 'table' | 'measure' | { readonly found: string };

/** The form of `found`, and the kernels that it was found for. */
const VERSION = 1;

/** Milliseconds of a pass that is timed: much more than a timestamp is rounded by, 0.1 ms; without timestamps, than the wait for the end of a pass varies by. */
const EXACT_PASS_MS = 2;
const PASS_MS = 5;

/** Dispatches of a pass at most. */
const MOST_DISPATCHES = 256;

/** How often each tile is timed, all in turns: the clock of a GPU rises under load. */
const ROUNDS = 4;

/** Milliseconds after which no further round begins: passes of a slow GPU vary less. */
const MOST_MS = 200;

/** A tile takes the place of that of the table if its time is less than this fraction of the other's. */
const CLEARLY = 0.95;

const NO_DIMS = /* @__PURE__ */ new Uint32Array(0);

/** Throws 'invalid-argument' unless `tuning` is one. */
export function checkTuning(tuning: unknown): asserts tuning is Tuning {
  const argument = 'Device.create: tuning';
  if (tuning === 'table' || tuning === 'measure') return;
  if (typeof tuning !== 'object' || tuning === null) throw invalidArgument(argument, describe(tuning), "'table', 'measure' or { found }");
  checkOptions(argument, tuning, { found: true });
  const { found } = tuning as Record<string, unknown>;
  if (typeof found !== 'string') throw invalidArgument(`${argument}.found`, describe(found), 'the text that device.tuning.found was');
  readFound(found);
}

/** What a text of `found` says; null for the text of a device that found nothing, and for one of another version. Throws 'invalid-argument' for any other text. */
function readFound(text: string): { readonly adapter: string; readonly tiles: readonly (readonly [key: string, tile: number])[] } | null {
  if (text === '') return null;
  const refused = () => invalidArgument('Device.create: tuning.found', describe(text), 'the text that device.tuning.found was');
  let value: { version?: unknown; adapter?: unknown; tiles?: unknown } | null;
  try {
    value = JSON.parse(text) as typeof value;
  } catch {
    throw refused();
  }
  if (typeof value?.version !== 'number') throw refused();
  if (value.version !== VERSION) return null;
  const { adapter, tiles } = value;
  if (typeof adapter !== 'string' || typeof tiles !== 'object' || tiles === null) throw refused();
  const entries = Object.entries(tiles).map(([key, name]) => [key, TILES.indexOf(name as (typeof TILES)[number])] as const);
  if (entries.some(([, tile]) => tile < 0)) throw refused();
  return { adapter, tiles: entries };
}

/** Chooses tiles on one device. */
export class Tuner {
  private readonly adapter: string;
  private readonly vendor: string;
  private readonly measures: boolean;
  /** Tiles by the keys of products. */
  private readonly tiles: Map<string, number>;
  /** Products that are timed, or were. */
  private readonly timed = new Map<string, Promise<void>>();
  /** The latest of them: one is timed at a time. */
  private latest: Promise<void> = Promise.resolve();

  constructor(
    private readonly instance: TensorInstance,
    private readonly engine: GpuEngine,
    tuning: Tuning,
  ) {
    const { vendor = '', architecture = '', device = '', description = '' } = (engine.gpu.adapterInfo as GPUAdapterInfo | undefined) ?? {};
    this.vendor = vendor;
    this.adapter = [vendor, architecture, device, description].join(' ').trim();
    this.measures = tuning === 'measure';
    const found = typeof tuning === 'object' ? readFound(tuning.found) : null;
    this.tiles = new Map(found?.adapter === this.adapter ? found.tiles : []);
  }

  /** What was found so far, as text; '' if nothing was. */
  get found(): string {
    if (this.tiles.size === 0) return '';
    return JSON.stringify({ version: VERSION, adapter: this.adapter, tiles: Object.fromEntries([...this.tiles].map(([key, tile]) => [key, TILES[tile]])) });
  }

  /** A plan with the tiles that are chosen for its products, given the largest dims. */
  async tiled(plan: Plan, dims: Uint32Array): Promise<Plan> {
    const { instance, tiles } = this;
    const { raw } = plan;
    const products = readProducts(instance.call(() => raw.products(dims)));
    if (this.measures) for (const { like } of products) await this.known(like);
    let isChanged = false;
    for (const { kernel, tile, like } of products) {
      const chosen = tiles.get(keyOf(like)) ?? tileOn(this.vendor, tile);
      if (chosen === tile) continue;
      instance.call(() => raw.setTile(kernel, chosen));
      isChanged = true;
    }
    return isChanged ? instance.call(() => readPlan(raw)) : plan;
  }

  /** Waits until the tiles were timed for products like this one. */
  private known(like: Likeness): Promise<void> {
    const key = keyOf(like);
    let timed = this.timed.get(key);
    if (timed === undefined) {
      timed = this.latest.then(() => this.time(like));
      this.timed.set(key, timed);
      this.latest = timed.catch(() => void this.timed.delete(key));
    }
    return timed;
  }

  /** Times all tiles for a product, and keeps the fastest. Where there is no memory for it, the table decides. */
  private async time(like: Likeness): Promise<void> {
    const { instance, engine } = this;
    const { tape, inputs } = writeTape([recipeOf(like)]);
    const raw = instance.call((module) => module.CompiledPlan.compile(tape, engine.planOptions));
    const memories: Memory[] = [];
    const runners: (GpuRunner | null)[] = [];
    const allocate = (bytes: number) => {
      const memory = engine.allocate({ what: 'a product that is timed', bytes: paddedBytes(bytes), purpose: 'program' });
      memories.push(memory);
      return memory;
    };
    try {
      const [product, ...others] = readProducts(instance.call(() => raw.products(NO_DIMS)));
      // Times of a product that is planned otherwise would say nothing.
      if (product === undefined || others.length > 0 || keyOf(product.like) !== keyOf(like)) return;
      const candidates = TILES.map((_, tile) =>
        instance.call(() => {
          raw.setTile(product.kernel, tile);
          return { plan: readPlan(raw), words: raw.words(NO_DIMS) as Uint32Array<ArrayBuffer> };
        }),
      );
      const slots = inputs.map(({ dtype, shape }) => allocate(elementBytes(dtype, shape as readonly number[])));
      const places = ownedPlaces((candidates[0] as { plan: Plan }).plan, allocate);
      await engine.allocated();
      if (memories.some(({ failure }) => failure !== null)) return;
      // A tile that the browser's compiler refuses is left out.
      const compiled = await Promise.all(candidates.map(({ plan }) => engine.compile(plan, () => {}).catch(() => null)));
      for (const [k, { plan, words }] of candidates.entries()) {
        const kernels = compiled[k] ?? null;
        const runner = kernels === null ? null : engine.runner(plan, kernels, places, words);
        runner?.setWords(words, NO_DIMS);
        runners.push(runner);
      }
      await engine.idle();
      const times = await this.timesOf(runners, slots);
      const own = tileOn(this.vendor, product.tile);
      const best = times.indexOf(Math.min(...times));
      this.tiles.set(keyOf(like), (times[best] as number) < CLEARLY * (times[own] as number) ? best : own);
    } finally {
      for (const runner of runners) runner?.dispose();
      for (const memory of memories) engine.free(memory, false);
      if (instance.failure === null) instance.call(() => raw.free());
    }
  }

  /** Milliseconds of a dispatch of each, by the fastest of some passes; infinite for those that are left out. */
  private async timesOf(runners: readonly (GpuRunner | null)[], slots: readonly Memory[]): Promise<number[]> {
    const timer = this.engine.timer();
    const long = timer.isExact ? EXACT_PASS_MS : PASS_MS;
    const pass = (runner: GpuRunner, count: number) => timer.time((encoder) => runner.repeat(encoder, slots, count));
    const start = performance.now();
    try {
      const counts = runners.map(() => 1);
      const times = runners.map(() => Infinity);
      for (let round = 0; round < ROUNDS && (round === 0 || performance.now() - start < MOST_MS); round++) {
        for (const [k, runner] of runners.entries()) {
          if (runner === null) continue;
          let count = counts[k] as number;
          // The first dispatch may wait for drivers.
          if (round === 0) await pass(runner, 1);
          const most = round === 0 ? MOST_DISPATCHES : count;
          let time = await pass(runner, count);
          while (time < long && count < most) time = await pass(runner, (count *= 4));
          counts[k] = count;
          times[k] = Math.min(times[k] as number, time / count);
        }
      }
      return times;
    } finally {
      timer.dispose();
    }
  }
}
