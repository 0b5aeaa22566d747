/**
 * Compares the kernels of a program on the GPU with the same kernels on the CPU. Each dispatch is made on memory of its own and read before and after; the CPU computes
 * from what was there before, by WebAssembly that is generated from the kernel that the WGSL comes from, or by an interpreter. So an error of one kernel does not spread to others.
 */

import { ResiduaError } from '../../arguments/errors.js';
import { DTYPE_BYTES, type DType } from '../dtype.js';
import { Accounts } from '../engine/accounts.js';
import { CpuEngine } from '../engine/cpu/cpu-engine.js';
import type { HostKernel } from '../engine/cpu/cpu-runner.js';
import type { Memory, Runner } from '../engine/engine.js';
import type { Pending } from '../engine/pending.js';
import { memoryOf, ownedPlaces } from '../engine/places.js';
import { isDispatch, NOTHING_VARIES, placesOf, STEP_WORDS, wordsAt, type Dispatch, type LocalPlan, type Plan } from '../engine/plan.js';
import { paddedBytes } from '../memory/numbers.js';
import { difference, type Difference } from '../memory/difference.js';
import { Turns } from '../memory/turns.js';
import type { TensorInstance } from '../module/loading.js';
import { DTYPE_CODE } from '../tape-codes.js';
import type { ProgramInput } from './cell.js';
import { CompiledTape } from './compiled.js';
import { rawOf, type Compiled, type KernelComparison, type Trial } from './compiler.js';
import { Schedule, type ScheduleRunner } from './schedule.js';
import type { DeviceCore } from './core.js';
import type { ProgramCore } from './program-core.js';
import type { FeedValue } from './program-inputs.js';

const DTYPES = Object.keys(DTYPE_CODE) as DType[];

/** Milliseconds of the CPU's work after which the page has a turn. */
const TURN_MS = 12;

/** An element type and a number of elements. */
interface Elements {
  readonly dtype: DType;
  readonly count: number;
}

/** Compares all kernels that a run with these inputs and sizes dispatches, in order, those of a loop in its first step. Rejects as `Program.verify` says. */
export async function verify(program: ProgramCore, feedOf: (input: ProgramInput) => FeedValue, sizes: unknown): Promise<KernelComparison[]> {
  const { core, name } = program;
  const compiled = program.compiled as CompiledTape | Schedule;
  if (core.engine.backend !== 'gpu') throw new ResiduaError('gpu-unavailable', `${program.name}.verify: the program's device is on the CPU; takes a program of a device on a GPU, whose kernels it compares with the CPU`);
  const trial = program.trial(feedOf, sizes);
  if (core.compiler.verify === undefined) return compareKernels(core, name, compiled, trial);
  if (compiled instanceof Schedule) throw new ResiduaError('invalid-argument', `${program.name}.verify: got a program with loops, on a device in a worker; takes one without loops there, or a device of residua/tensor`);
  return core.compiler.verify(name, compiled.compiled, trial);
}

/** Compares all kernels that a trial dispatches, in order. `name` is that of the program, in messages. */
export async function compareKernels(core: DeviceCore, name: string, compiled: CompiledTape | Schedule, { words, dims, slots, isWritten, transfer }: Trial): Promise<KernelComparison[]> {
  const { engine } = core;
  const plans = compiled instanceof Schedule ? compiled.compiled : [compiled];
  const ofPlans = compiled instanceof Schedule ? compiled.dimsOfLeaves(dims) : [dims];
  // The plans may be freed while this waits.
  const comparisons = plans.map((each, k) => new Comparison(core, each.compiled, ofPlans[k] as Uint32Array));
  const owned: Memory[] = [];
  const own = (bytes: number) => {
    const memory = core.allocate({ what: `verify of ${name}`, bytes, purpose: 'program', isZeroed: true });
    owned.push(memory);
    return memory;
  };
  let loaded: ReturnType<Schedule['load']> | null = null;
  try {
    // What is written stays as it is, and what a later run may write over is kept.
    const bound = slots.map((memory, slot) => (isWritten(slot) ? own(memory.bytes) : memory));
    const copied = core.afterEarlier(() => {
      transfer();
      slots.forEach((from, slot) => {
        const to = bound[slot] as Memory;
        if (to !== from) engine.copy(from, to, from.bytes);
      });
    });
    const places = compiled instanceof Schedule ? [] : ownedPlaces(compiled.compiled.plan, engine, own);
    if (compiled instanceof Schedule) loaded = compiled.load((bytes) => own(paddedBytes(bytes)));
    await Promise.all([copied, ...comparisons.map((each) => each.compile()), core.checkAllocated(owned)]);
    if (loaded === null) return await (comparisons[0] as Comparison).run(words, dims, places, bound);
    return await verifySchedule(core, loaded.runner, comparisons, words, dims, bound);
  } finally {
    loaded?.runner.dispose();
    for (const each of comparisons) each.dispose();
    for (const memory of owned) core.free(memory);
  }
}

/** Runs a schedule. Of each leaf the first run is compared. */
async function verifySchedule(core: DeviceCore, runner: ScheduleRunner, comparisons: readonly Comparison[], words: Uint32Array<ArrayBuffer>, dims: Uint32Array<ArrayBuffer>, bound: readonly Memory[]): Promise<KernelComparison[]> {
  const { engine } = core;
  const compared: KernelComparison[] = [];
  const seen = new Set<number>();
  await core.afterEarlier(() => {
    runner.setWords(words, dims);
    runner.rewind();
  });
  for (const { leaf, slots, isStep, copies, dims: ofRun } of runner.executions(bound)) {
    for (const { from, to } of copies) await core.afterEarlier(() => engine.copy(from, to, Math.min(from.bytes, to.bytes)));
    if (leaf === null) continue;
    const isFirst = !seen.has(leaf);
    const comparison = comparisons[leaf] as Comparison;
    const start = comparisons.slice(0, leaf).reduce((sum, { length }) => sum + length, 0);
    if (isFirst) compared.push(...(await comparison.run(wordsAt(comparison.plan, words.slice(start, start + comparison.length), ofRun()), ofRun(), runner.ofLeaves[leaf] as (Memory | null)[], slots)));
    seen.add(leaf);
    // A step reads and writes different memory, so that it may be done twice. The numbers of the next one come after its own.
    if (isStep) await core.afterEarlier(() => void (runner.runners[leaf] as Runner).run(slots));
  }
  return compared;
}

/** A plan whose kernels are compared. */
class Comparison {
  readonly plan: Plan;
  /** How many numbers a run has. */
  readonly length: number;
  private readonly host: HostKernels;
  private readonly elements: readonly (readonly Elements[])[];

  constructor(
    private readonly core: DeviceCore,
    private readonly compiled: Compiled,
    dims: Uint32Array,
  ) {
    this.plan = compiled.plan;
    const instance = core.instance as TensorInstance;
    this.elements = this.plan.kernels.map((_, kernel) => elementsOf(instance, this.plan, kernel, dims));
    this.length = compiled.words.length;
    this.host = new HostKernels(core.pending, instance, this.plan);
  }

  compile(): Promise<void> {
    return this.host.compile();
  }

  dispose(): void {
    this.host.dispose();
  }

  /** Makes the steps of a run, and compares each. */
  async run(words: Uint32Array<ArrayBuffer>, dims: Uint32Array<ArrayBuffer>, places: (Memory | null)[], bound: readonly Memory[]): Promise<KernelComparison[]> {
    const { core, plan, host, elements } = this;
    const { engine } = core;
    const at = (place: number) => memoryOf(plan, places, bound, place);
    const compared: KernelComparison[] = [];
    for (const [k, step] of plan.steps.entries()) {
      const ofStep = wordsOf(words, plan, k);
      const [x, y, z] = ofStep as unknown as [number, number, number];
      if (!isDispatch(step)) {
        await core.afterEarlier(() => engine.copy(at(step.from), at(step.to), x));
      } else if (x * y * z > 0) {
        const used = [...new Set(placesOf(step))];
        const read = (place: number) => ({ memory: at(place), bytes: at(place).bytes });
        const runner = engine.runner({ ...plan, steps: [step], varying: NOTHING_VARIES }, this.compiled.kernels, places, ofStep);
        // Nothing comes between the two reads and the dispatch.
        const [before, after] = await core.afterEarlier(() => {
          const before = engine.read(used.map(read));
          runner.setWords(ofStep, dims);
          runner.run(bound);
          return Promise.all([before, engine.read(used.map(read))]);
        });
        runner.dispose();
        const expected = await host.run(step, used, before, ofStep);
        compared.push({ kernel: plan.kernels[step.kernel]?.name ?? '', ...largest(plan, step, used, elements[step.kernel] ?? [], after, expected) });
      }
    }
    return compared;
  }
}

/** The element type and the number of elements of each buffer of a kernel. */
function elementsOf(instance: TensorInstance, plan: Plan, kernel: number, dims: Uint32Array): Elements[] {
  const pairs = instance.call(() => rawOf(plan).elements(kernel, dims));
  return Array.from({ length: pairs.length / 2 }, (_, k) => ({ dtype: DTYPES[pairs[2 * k] as number] as DType, count: pairs[2 * k + 1] as number }));
}

/** The numbers of a run that has one step of a plan alone. */
function wordsOf(words: Uint32Array, { steps }: Plan, step: number): Uint32Array<ArrayBuffer> {
  const uniforms = words.subarray(steps.length * STEP_WORDS);
  const found = new Uint32Array(STEP_WORDS + uniforms.length);
  found.set(words.subarray(step * STEP_WORDS, (step + 1) * STEP_WORDS));
  found.set(uniforms, STEP_WORDS);
  return found;
}

/** The largest differences over all buffers that a dispatch writes. */
function largest(plan: Plan, { kernel, places }: Dispatch, used: readonly number[], elements: readonly Elements[], found: readonly Uint8Array<ArrayBuffer>[], expected: readonly Uint8Array<ArrayBuffer>[]): Difference {
  const { bindings, windows } = plan.kernels[kernel] as Plan['kernels'][number];
  let [maxError, maxUlps, binding] = [0, 0, 0];
  places.forEach((place, position) => {
    const access = bindings[binding];
    binding += windows?.counts[position] ?? 1;
    if (access !== 1) return;
    const { dtype, count } = elements[position] as Elements;
    const at = used.indexOf(place);
    const [a, b] = [found, expected].map((of) => (of[at] as Uint8Array<ArrayBuffer>).subarray(0, count * DTYPE_BYTES[dtype])) as [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>];
    const apart = difference(dtype, a, b);
    [maxError, maxUlps] = [Math.max(maxError, apart.maxError), Math.max(maxUlps, apart.maxUlps)];
  });
  return { maxError, maxUlps };
}

/** The kernels of a plan for the GPU on the CPU. */
class HostKernels {
  private readonly engine: CpuEngine;
  private readonly bytes: Uint8Array<ArrayBuffer>;
  /** For each kernel, the numbers of its first function and of the one after its last. */
  private readonly ranges: (readonly [first: number, end: number])[] = [];
  private functions: Record<string, unknown> = {};
  /** The kernels that are interpreted. */
  private readonly interpreted = new Map<number, NonNullable<ReturnType<LocalPlan['raw']['verifyKernel']>>>();
  private readonly turns = new Turns();

  constructor(
    private readonly pending: Pending,
    private readonly instance: TensorInstance,
    private readonly plan: Plan,
  ) {
    this.engine = new CpuEngine(instance, new Accounts(), pending);
    this.bytes = instance.call(() => rawOf(plan).verifyModule()) as Uint8Array<ArrayBuffer>;
    let end = 0;
    instance.call(() => rawOf(plan).verifyFunctions()).forEach((count, kernel) => {
      this.ranges.push([end, (end += count)]);
      const interpreted = count === 0 ? instance.call(() => rawOf(plan).verifyKernel(kernel)) : undefined;
      if (interpreted !== undefined) this.interpreted.set(kernel, interpreted);
    });
  }

  async compile(): Promise<void> {
    const memory = this.instance.call((module) => module.wasmMemory());
    this.functions = (await this.pending.wait(WebAssembly.instantiate(this.bytes, { env: { memory } }))).instance.exports;
  }

  /** What a dispatch leaves in the places that it uses, from what was there before. */
  async run(step: Dispatch, used: readonly number[], before: readonly Uint8Array<ArrayBuffer>[], words: Uint32Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>[]> {
    const { engine, plan } = this;
    const interpreted = this.interpreted.get(step.kernel);
    if (interpreted !== undefined) return this.interpret(interpreted, step, used, before, words);
    const memories: Memory[] = [];
    const places: (Memory | null)[] = plan.places.map(() => null);
    try {
      used.forEach((place, k) => {
        const bytes = before[k] as Uint8Array<ArrayBuffer>;
        const memory = engine.allocate({ what: 'verify', bytes: bytes.length, purpose: 'program' });
        memories.push(memory);
        places[place] = memory;
        engine.write(memory, 0, bytes);
      });
      const [first, end] = this.ranges[step.kernel] as readonly [number, number];
      for (let position = first; position < end; position++) await this.call(position, step, places, words);
      return await engine.read(memories.map((memory) => ({ memory, bytes: memory.bytes })));
    } finally {
      for (const memory of memories) engine.free(memory);
    }
  }

  private interpret(kernel: { run(words: Uint32Array, buffers: readonly Uint8Array[]): Uint8Array[] }, { places }: Dispatch, used: readonly number[], before: readonly Uint8Array<ArrayBuffer>[], words: Uint32Array): Uint8Array<ArrayBuffer>[] {
    const [first, count] = [words[3] as number, words[4] as number];
    const uniform = words.subarray(STEP_WORDS + first, STEP_WORDS + first + count);
    const left = this.instance.call(() => kernel.run(uniform, places.map((place) => before[used.indexOf(place)] as Uint8Array)));
    return used.map((place) => left[places.indexOf(place)] as Uint8Array<ArrayBuffer>);
  }

  /** Frees the memory of a run that did not end. */
  dispose(): void {
    if (this.instance.failure === null) this.engine.dispose();
  }

  private async call(position: number, { kernel, places: ofStep }: Dispatch, places: readonly (Memory | null)[], words: Uint32Array<ArrayBuffer>): Promise<void> {
    const { engine, plan, turns } = this;
    const generated = this.functions[String(position)] as HostKernel | undefined;
    if (generated === undefined) throw new ResiduaError('internal', `kernel '${plan.kernels[kernel]?.name}' has no code for the CPU`);
    const runner = engine.runner({ ...plan, steps: [{ kernel: 0, places: ofStep }] }, { list: [generated] }, places, words);
    try {
      runner.setWords(words);
      const parts = runner.run([]);
      const isOver = () => parts === undefined || parts.next().done === true;
      for (let began = performance.now(); !isOver(); ) {
        if (performance.now() - began < TURN_MS) continue;
        await new Promise<void>((resolve) => turns.next(resolve));
        began = performance.now();
      }
    } finally {
      runner.dispose();
    }
  }
}
