/** A plan as plain data: kernels, the pieces of memory that they use, and the order in which they run. */

import type { RawCompiledPlan } from '../module/raw.js';

/** A kernel of a plan. */
export interface Kernel {
  readonly name: string;
  /** WGSL with the entry point 'main'; empty on the CPU. */
  readonly text: string;
  /** One for each binding, in order: 0 read-only storage, 1 storage, 2 uniform. */
  readonly bindings: Uint8Array;
  /** Which buffers are bound in windows, because a binding is shorter; null: none. */
  readonly windows: Windows | null;
}

/** How the buffers of a kernel are bound: a longer one in several windows, one after the other. */
export interface Windows {
  /** Bytes of a window; the last one of a buffer may be shorter. */
  readonly bytes: number;
  /** For each buffer how many windows it has. */
  readonly counts: readonly number[];
}

/** A piece of memory: a slot that a run binds, memory within a run, which steps share that do not overlap in time, a result, or a table that nothing writes. */
export interface Place {
  readonly kind: 'slot' | 'temporary' | 'result' | 'table';
  /** Position of the slot; 0 for others. */
  readonly slot: number;
  /** Bytes for the largest dims; 0 for a slot. */
  readonly bytes: number;
  /** What a table holds; null for others, and where a worker has the table. */
  readonly content: Uint8Array<ArrayBuffer> | null;
}

/** A dispatch of a kernel on places, in binding order. */
export interface Dispatch {
  readonly kernel: number;
  readonly places: readonly number[];
}

/** A copy from one place to another. */
export interface Copy {
  readonly from: number;
  readonly to: number;
}

/** A step of a run. */
export type Step = Dispatch | Copy;

/** Whether a step is a dispatch. */
export function isDispatch(step: Step): step is Dispatch {
  return 'kernel' in step;
}

/** Words of each step before the content of the uniform buffer: workgroups x, y, z, first uniform word, uniform words; or bytes of a copy. */
export const STEP_WORDS = 5;

/** What a program does at each run. */
export interface Plan {
  readonly kernels: readonly Kernel[];
  readonly places: readonly Place[];
  /** The place of each result. */
  readonly results: readonly number[];
  readonly steps: readonly Step[];
  /** Which words of the uniform buffer depend on dims, and how; see `RawCompiledPlan.varyingWords`. */
  readonly varying: Uint32Array<ArrayBuffer>;
}

/** A plan of the module on this thread. */
export interface LocalPlan extends Plan {
  /** The handle of the module. */
  readonly raw: RawCompiledPlan;
}

const PLACE_KINDS = ['slot', 'temporary', 'result', 'table'] as const;

/** Reads the plan that the module has made. */
export function readPlan(raw: RawCompiledPlan): LocalPlan {
  const kernels = Array.from({ length: raw.kernelCount() }, (_, k) => ({
    name: raw.kernelName(k),
    text: raw.kernelText(k),
    bindings: raw.kernelBindings(k),
    windows: readWindows(raw.kernelWindows(k)),
  }));
  const triples = raw.places();
  const places = Array.from({ length: triples.length / 3 }, (_, k) => {
    const [kind, number, bytes] = triples.subarray(3 * k, 3 * k + 3) as unknown as [number, number, number];
    const content = PLACE_KINDS[kind] === 'table' ? (raw.rootsOfUnity(number) as Uint8Array<ArrayBuffer>) : null;
    return { kind: PLACE_KINDS[kind] as Place['kind'], slot: content === null ? number : 0, bytes, content };
  });
  return { kernels, places, results: [...raw.results()], steps: readSteps(raw.steps()), varying: raw.varyingWords() as Uint32Array<ArrayBuffer>, raw };
}

function readWindows([bytes, ...counts]: Float64Array): Windows | null {
  return bytes === undefined ? null : { bytes, counts };
}

/** The steps: dispatches of one kernel on the same places, as rounds have, are one object. */
function readSteps(words: Uint32Array): Step[] {
  const steps: Step[] = [];
  const known = new Map<string, Dispatch>();
  for (let at = 0; at < words.length; ) {
    const [kind, a, b] = words.subarray(at, at + 3) as unknown as [number, number, number];
    if (kind === 0) {
      const places = [...words.subarray(at + 3, at + 3 + b)];
      const key = `${a} ${places.join()}`;
      const dispatch = known.get(key) ?? { kernel: a, places };
      known.set(key, dispatch);
      steps.push(dispatch);
    } else {
      steps.push({ from: a, to: b });
    }
    at += kind === 0 ? 3 + b : 3;
  }
  return steps;
}

/** The table of words that depend on dims, for runs with words of their own. */
export const NOTHING_VARIES: Uint32Array<ArrayBuffer> = /* @__PURE__ */ Uint32Array.of(0);

/** The numbers of a run for other values of dims that no size of a tensor has, from those for some values: `varying` has polynomials modulo 2³². */
export function wordsAt({ steps, varying }: Plan, words: Uint32Array<ArrayBuffer>, dims: Uint32Array): Uint32Array<ArrayBuffer> {
  const found = words.slice();
  const at = (place: number) => varying[place] as number;
  for (let k = 0; k < at(0); k++) {
    const start = at(1 + k);
    let sum = 0;
    let next = start + 2;
    for (let term = 0; term < at(start + 1); term++) {
      const count = at(next + 1);
      let product = at(next);
      for (let place = 0; place < count; place++) product = Math.imul(product, dims[at(next + 2 + place)] as number);
      sum += product | 0;
      next += 2 + count;
    }
    found[steps.length * STEP_WORDS + at(start)] = sum;
  }
  return found;
}

/** The places that a step reads or writes. */
export function placesOf(step: Step): readonly number[] {
  return isDispatch(step) ? step.places : [step.from, step.to];
}
