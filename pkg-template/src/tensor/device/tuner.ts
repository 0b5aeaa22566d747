/**
 * The choice of the tiles of matrix products on a GPU: by a table, by timing them when they are first needed, or as they were found before. What is timed is a product that
 * stands for others like it, with memory of its own, so that programs and reads share what was found.
 */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkOptions } from '../../arguments/options.js';
import type { Memory } from '../engine/engine.js';
import type { GpuEngine } from '../engine/gpu/gpu-engine.js';
import type { GpuRunner } from '../engine/gpu/gpu-runner.js';
import type { Pending } from '../engine/pending.js';
import { ownedPlaces } from '../engine/places.js';
import { readPlan, type LocalPlan, type Plan } from '../engine/plan.js';
import type { Planner } from '../engine/planner.js';
import { elementBytes, paddedBytes } from '../memory/numbers.js';
import type { TensorInstance } from '../module/loading.js';
import { writeTape } from '../recipe/tape.js';
import { keyOf, kindOf, readProducts, recipeOf, TILES, tileOn, type Product } from './tiles.js';

/** How tiles are chosen. */
export type Tuning = 'table' | 'measure' | { readonly found: string };

/** The form of `found`, and the kernels that it was found for. It changes together with `Tile::EXCHANGEABLE` in crates/tensor/src/kernel.rs and with the kernels of these tiles. */
const VERSION = 3;

/** What `found` has for a product whose tile is that of the table. */
const TABLE = 'table';

/**
 * Milliseconds of a pass that is timed, at least. Browsers may round timestamps to 0.1 ms, so that a time is wrong by up to 0.1 ms, which is 1.3 % of a pass and a quarter of what
 * `CLEARLY` leaves. Without timestamps the wait for the end of a pass varies as well; the fastest of some passes is taken.
 */
const PASS_MS = 8;

/** Dispatches of a pass at most. */
const MOST_DISPATCHES = 1024;

/** How often each tile is timed, all in turns: the clock of a GPU rises under load. */
const ROUNDS = 4;

/** Milliseconds after which no further round begins. */
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

/** What a text of `found` says; null for the text of a device that found nothing, and for one of another version or of an adapter without a name. Throws 'invalid-argument' for any other text. */
function readFound(text: string): { readonly adapter: string; readonly tiles: readonly (readonly [kind: string, tile: number | null])[] } | null {
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
  if (typeof adapter !== 'string' || typeof tiles !== 'object' || tiles === null || Array.isArray(tiles)) throw refused();
  const entries = Object.entries(tiles).map(([kind, name]) => [kind, name === TABLE ? null : TILES.indexOf(name as (typeof TILES)[number])] as const);
  if (entries.some(([, tile]) => tile === -1)) throw refused();
  // Adapters without a name may differ.
  return adapter === '' ? null : { adapter, tiles: entries };
}

/** Chooses tiles on one device. */
export class Tuner {
  private readonly adapter: string;
  private readonly vendor: string;
  private readonly measures: boolean;
  /** Tiles by the kinds of products; null for that of the table. */
  private readonly tiles: Map<string, number | null>;
  /** Kinds of products that are timed, or were. */
  private readonly timed = new Map<string, Promise<void>>();
  /** The latest of them: one is timed at a time. */
  private latest: Promise<void> = Promise.resolve();

  /** @param pending the waits of the device */
  constructor(
    private readonly instance: TensorInstance,
    private readonly engine: GpuEngine,
    private readonly pending: Pending,
    private readonly planner: Planner,
    tuning: Tuning,
  ) {
    const { vendor = '', architecture = '', device = '', description = '' } = (engine.gpu.adapterInfo as GPUAdapterInfo | undefined) ?? {};
    this.vendor = vendor;
    this.adapter = [vendor, architecture, device, description].join(' ').trim();
    this.measures = tuning === 'measure';
    const found = typeof tuning === 'object' ? readFound(tuning.found) : null;
    this.tiles = new Map(found?.adapter === this.adapter ? found.tiles : []);
  }

  /** What was found so far, as text; '' if nothing was, and on an adapter without a name. */
  get found(): string {
    if (this.tiles.size === 0 || this.adapter === '') return '';
    const tiles = Object.fromEntries([...this.tiles].map(([kind, tile]) => [kind, tile === null ? TABLE : TILES[tile]]));
    return JSON.stringify({ version: VERSION, adapter: this.adapter, tiles });
  }

  /**
   * A plan with the tiles that are chosen for its products, given the largest dims. Rejects where the device fails or the caller does not wait any more.
   *
   * @param caller the waits of the call that the plan is for
   */
  async tiled(plan: LocalPlan, dims: Uint32Array, caller?: Pending): Promise<LocalPlan> {
    const { instance, tiles } = this;
    const { raw } = plan;
    const products = readProducts(instance.call(() => raw.products(dims)));
    for (const product of this.measures ? products : []) {
      await this.known(product);
      this.pending.check();
      caller?.check();
    }
    let isChanged = false;
    for (const product of products) {
      const { kernel, tile } = product;
      const chosen = tiles.get(kindOf(product)) ?? tileOn(this.vendor, tile);
      if (chosen === tile) continue;
      instance.call(() => raw.setTile(kernel, chosen));
      isChanged = true;
    }
    return isChanged ? instance.call(() => readPlan(raw)) : plan;
  }

  /** Waits until the tiles were timed for products like this one. Where that fails, which is not tried again, the tile is that of the table. */
  private known(product: Product): Promise<void> {
    const kind = kindOf(product);
    let timed = this.timed.get(kind);
    if (timed === undefined) {
      // Callers check whether the device has failed.
      timed = this.latest.then(() => this.time(product)).catch(() => {});
      this.timed.set(kind, timed);
      this.latest = timed;
    }
    return timed;
  }

  /** Times the tiles for a product, and notes the fastest. Notes nothing where there is no memory for it. */
  private async time({ like, tile: suggested }: Product): Promise<void> {
    const { instance, engine, pending } = this;
    pending.check();
    const kind = kindOf({ like, tile: suggested });
    const { tape, inputs } = writeTape([recipeOf(like)]);
    const { raw } = await this.planner.plan(tape, () => pending.check());
    const memories: Memory[] = [];
    const runners: (GpuRunner | null)[] = [];
    const allocate = (bytes: number) => {
      const memory = engine.allocate({ what: 'a product that is timed', bytes: paddedBytes(bytes), purpose: 'program', isZeroed: true });
      memories.push(memory);
      return memory;
    };
    try {
      const [product, ...others] = readProducts(instance.call(() => raw.products(NO_DIMS)));
      // Plans may differ from what is assumed here, such as by slices of the depth.
      if (product === undefined || others.length > 0 || keyOf(product.like) !== keyOf(like)) return;
      // The rounded extents suggest another tile than the product's own, so that another tile may be the fastest for these.
      if (product.tile !== suggested) {
        this.tiles.set(kind, null);
        return;
      }
      const candidates = TILES.map((_, tile) =>
        instance.call(() => {
          raw.setTile(product.kernel, tile);
          return { plan: readPlan(raw), words: raw.words(NO_DIMS) as Uint32Array<ArrayBuffer> };
        }),
      );
      // Some tiles have one text for some kinds of products; it is timed once.
      const texts = candidates.map(({ plan }) => plan.kernels[product.kernel]?.text);
      const same = texts.map((text) => texts.indexOf(text));
      const slots = inputs.map(({ dtype, shape }) => allocate(elementBytes(dtype, shape as readonly number[])));
      const places = ownedPlaces((candidates[0] as { plan: Plan }).plan, engine, allocate);
      await pending.wait(engine.allocated());
      if (memories.some(({ failure }) => failure !== null)) return;
      // A tile that the browser's compiler refuses is left out.
      const compiled = await Promise.all(candidates.map(({ plan }, k) => (same[k] === k ? engine.compile(plan, () => {}).catch(() => null) : null)));
      for (const [k, { plan, words }] of candidates.entries()) {
        const kernels = compiled[k] ?? null;
        const runner = kernels === null ? null : engine.runner(plan, kernels, places, words);
        runner?.setWords(words, NO_DIMS);
        runners.push(runner);
      }
      await engine.idle();
      const times = await this.timesOf(runners, slots);
      const own = same[tileOn(this.vendor, suggested)] as number;
      const [best, ofOwn] = [times.indexOf(Math.min(...times)), times[own] as number];
      const time = times[best] as number;
      // A tile that was refused has no time. One that was not, but has no valid timestamps, is compared with none.
      const isFaster = runners[own] === null ? time < Infinity : ofOwn < Infinity && time < CLEARLY * ofOwn;
      this.tiles.set(kind, isFaster ? best : null);
    } finally {
      for (const runner of runners) runner?.dispose();
      for (const memory of memories) engine.free(memory, false);
      if (instance.failure === null) instance.call(() => raw.free());
    }
  }

  /** Milliseconds of a dispatch of each, by the fastest of some passes; infinite for those that are left out or have no valid timestamps. */
  private async timesOf(runners: readonly (GpuRunner | null)[], slots: readonly Memory[]): Promise<number[]> {
    const timer = this.engine.timer();
    const pass = (runner: GpuRunner, count: number) => timer.time((encoder) => runner.repeat(encoder, slots, count));
    const start = performance.now();
    try {
      const counts = runners.map(() => 1);
      const times = runners.map(() => Infinity);
      for (let round = 0; round < ROUNDS && (round === 0 || performance.now() - start < MOST_MS); round++) {
        for (const [k, runner] of runners.entries()) {
          if (runner === null) continue;
          if (round === 0) {
            // The first dispatch may wait for drivers.
            await pass(runner, 1);
            counts[k] = await longEnough((count) => pass(runner, count));
          }
          const count = counts[k] as number;
          times[k] = Math.min(times[k] as number, (await pass(runner, count)) / count);
        }
      }
      return times;
    } finally {
      timer.dispose();
    }
  }
}

/** How many dispatches a pass has that takes `PASS_MS`. */
async function longEnough(pass: (count: number) => Promise<number>): Promise<number> {
  let count = 1;
  while (count < MOST_DISPATCHES) {
    const start = performance.now();
    const time = await pass(count);
    // Timestamps of a short pass may be equal; if they run backwards, the clock ends the search.
    if (time === Infinity ? performance.now() - start >= MOST_MS : time >= PASS_MS) break;
    // A time that is rounded may be too small.
    const factor = time === Infinity ? 8 : Math.max(2, Math.min(8, Math.ceil((1.1 * PASS_MS) / time)));
    count = Math.min(MOST_DISPATCHES, factor * count);
  }
  return count;
}
