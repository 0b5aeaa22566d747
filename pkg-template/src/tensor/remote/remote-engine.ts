/** The page's side of an engine in a worker: memory has numbers, and each call is a message. What was not allocated is told later, as on a GPU. */

import { ResiduaError } from '../../arguments/errors.js';
import { Accounts, type DeviceStats } from '../engine/accounts.js';
import type { Batch, Engine, Kernels, Memory, MemoryRequest, Runner } from '../engine/engine.js';
import type { Pending } from '../engine/pending.js';
import { pixelsOf, type Picture } from '../../arguments/picture.js';
import { contextOf, paint, type Canvas } from '../engine/picture.js';
import { NOTHING_VARIES, type Plan } from '../engine/plan.js';
import { isSameMemory } from '../engine/places.js';
import type { Connection } from './connection.js';
import type { DeviceFacts, MemoryPart, Notice } from './protocol.js';

/** Memory in the worker. `offset` counts from its start. */
interface RemoteMemory extends Memory {
  readonly number: number;
}

/** The kernels of a compiled tape in the worker. */
export interface RemoteKernels extends Kernels {
  readonly number: number;
}

/** Counters of the page, and what the worker counted last. */
export class RemoteAccounts extends Accounts {
  /** The counters in the worker. */
  latest: DeviceStats | null = null;

  override snapshot(): DeviceStats {
    const own = super.snapshot();
    if (this.latest === null) return own;
    const { tensors, tensorBytes, programs, programBytes, leaked } = own;
    return { ...structuredClone(this.latest), tensors, tensorBytes, programs, programBytes, leaked };
  }
}

/** Computes in a worker. */
export class RemoteEngine implements Engine {
  readonly backend: 'gpu' | 'cpu';
  private readonly largestBytes: number;
  private readonly live = new Map<number, RemoteMemory>();
  /** The latest picture that is drawn once it was read. */
  private drawn: Promise<unknown> = Promise.resolve();

  constructor(
    readonly connection: Connection,
    /** Its number in the worker. */
    readonly device: number,
    private readonly accounts: Accounts,
    { backend, largestBytes }: DeviceFacts,
  ) {
    this.backend = backend;
    this.largestBytes = largestBytes;
  }

  allocate(request: MemoryRequest): Memory {
    const { what, bytes, purpose } = request;
    if (bytes > this.largestBytes) throw new ResiduaError('limit-exceeded', `${what}: ${bytes} bytes are needed, and an allocation of the device in the worker has at most ${this.largestBytes}`);
    const number = this.connection.number();
    const memory: RemoteMemory = { number, bytes, buffer: null, offset: 0, isOwned: true, purpose, failure: null };
    this.live.set(number, memory);
    this.accounts.count(purpose, bytes);
    this.notify({ do: 'allocate', memory: number, request });
    return memory;
  }

  /** Memory that the worker has and frees. */
  lent({ memory: number, offset, bytes }: MemoryPart): Memory {
    const memory: RemoteMemory = { number, bytes, buffer: null, offset, isOwned: false, purpose: 'program', failure: null };
    return memory;
  }

  /** Memory that the worker has and the page owns. */
  adopted({ memory: number, bytes }: MemoryPart): Memory {
    const memory: RemoteMemory = { number, bytes, buffer: null, offset: 0, isOwned: true, purpose: 'tensor', failure: null };
    this.live.set(number, memory);
    this.accounts.count('tensor', bytes);
    return memory;
  }

  free(memory: Memory, isReusable: boolean): void {
    const { number } = memory as RemoteMemory;
    if (!memory.isOwned || !this.live.delete(number)) return;
    this.accounts.count(memory.purpose, -memory.bytes);
    this.notify({ do: 'free', memory: number, isReusable });
  }

  /** Takes that memory was not allocated. */
  refuse(number: number, error: ResiduaError): void {
    const memory = this.live.get(number);
    if (memory !== undefined) memory.failure = error;
  }

  allocated(): Promise<void> {
    return this.connection.request(this.device, { do: 'allocated' });
  }

  write(memory: Memory, offset: number, bytes: Uint8Array<ArrayBuffer>): void {
    const data = bytes.slice();
    this.notify({ do: 'write', to: partOf(memory), offset, data }, [data.buffer]);
  }

  copy(from: Memory, to: Memory, bytes: number): void {
    this.notify({ do: 'copy', from: partOf(from), to: partOf(to), bytes });
  }

  read(parts: readonly { readonly memory: Memory; readonly bytes: number }[]): Promise<Uint8Array<ArrayBuffer>[]> {
    return this.connection.request(this.device, { do: 'read', parts: parts.map(({ memory, bytes }) => ({ ...partOf(memory), bytes })) });
  }

  capture(argument: string, picture: Picture): (memory: Memory) => void {
    const bytes = pixelsOf(argument, picture);
    return (memory) => this.write(memory, 0, bytes);
  }

  target(argument: string, canvas: Canvas, width: number, height: number): (memory: Memory) => Promise<void> {
    const context = contextOf<CanvasRenderingContext2D>(argument, canvas, '2d');
    return (memory) => {
      const pixels = this.read([{ memory, bytes: width * height * 4 }]);
      const drawn = Promise.all([pixels, this.drawn.catch(() => {})]).then(([[bytes]]) => paint(canvas, context, width, height, bytes as Uint8Array));
      this.drawn = drawn;
      return drawn;
    };
  }

  runner(plan: Plan, kernels: Kernels, places: readonly (Memory | null)[]): Runner {
    const number = this.connection.number();
    const { number: compiled } = kernels as RemoteKernels;
    this.notify({ do: 'makeRunner', runner: number, compiled, isOnce: plan.varying === NOTHING_VARIES, places: places.map((place) => (place === null ? null : partOf(place))) });
    return new RemoteRunner(this.connection, this.device, number);
  }

  batches(): () => Batch {
    const batch: Batch = { run: (runner, slots, caller) => runner.run(slots, caller), copy: (from, to, bytes) => this.copy(from, to, bytes), end: () => {} };
    return () => batch;
  }

  async idle(): Promise<void> {
    await Promise.all([this.connection.request(this.device, { do: 'idle' }), this.drawn.catch(() => {})]);
  }

  trim(): void {
    this.notify({ do: 'trim' });
  }

  dispose(): void {
    for (const memory of this.live.values()) this.accounts.count(memory.purpose, -memory.bytes);
    this.live.clear();
    this.notify({ do: 'dispose' });
  }

  private notify(notice: Notice, transfer: readonly Transferable[] = []): void {
    this.connection.notify(this.device, notice, transfer);
  }
}

/** A runner in the worker. */
class RemoteRunner implements Runner {
  private bound: readonly Memory[] | null = null;

  constructor(
    private readonly connection: Connection,
    private readonly device: number,
    private readonly number: number,
  ) {}

  setWords(_words: Uint32Array, dims: Uint32Array): void {
    this.notify({ do: 'setDims', runner: this.number, dims: dims.slice() });
  }

  follow(dims: Uint32Array<ArrayBuffer>, runs: number): void {
    this.notify({ do: 'follow', runner: this.number, dims, runs });
  }

  rewind(): void {
    this.notify({ do: 'rewind', runner: this.number });
  }

  bind(slots: readonly Memory[]): void {
    if (this.bound !== null && isSameMemory(this.bound, slots)) return;
    this.bound = [...slots];
    this.notify({ do: 'bind', runner: this.number, slots: slots.map(partOf) });
  }

  run(slots: readonly Memory[], caller?: Pending): void {
    this.bind(slots);
    this.notify({ do: 'run', runner: this.number, call: caller === undefined ? 0 : this.connection.callOf(this.device, caller) });
  }

  dispose(): void {
    this.notify({ do: 'endRunner', runner: this.number });
  }

  private notify(notice: Notice): void {
    this.connection.notify(this.device, notice);
  }
}

/** What a message says of memory. */
export function partOf({ number: memory, offset, bytes }: Memory & { number?: number }): MemoryPart {
  return { memory: memory as number, offset, bytes };
}
