/**
 * The messages between a page and the worker that computes its tensors. The page numbers memory, compiled tapes, runners and calls. It sends messages in
 * batches; those about one device take effect in their order.
 */

import type { ErrorData } from '../../remote/protocol.js';
import type { KernelComparison } from '../device/compiler.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import type { DeviceFeatures, Loss } from '../device/core.js';
import type { CheckedOptions } from '../device/opening.js';
import type { DeviceStats } from '../engine/accounts.js';
import type { MemoryRequest } from '../engine/engine.js';
import type { Plan } from '../engine/plan.js';
import type { DType } from '../dtype.js';
import type { FileFormat } from '../files/load.js';
import type { ModelFeed } from '../onnx/feeds.js';
import type { QuantizedType } from '../recipe/quantised.js';

/** Memory, or a part of it. */
export interface MemoryPart {
  readonly memory: number;
  readonly offset: number;
  readonly bytes: number;
}

/** What needs no answer. */
export type Notice =
  | { readonly do: 'allocate'; readonly memory: number; readonly request: MemoryRequest }
  | { readonly do: 'free'; readonly memory: number; readonly isReusable: boolean }
  | { readonly do: 'write'; readonly to: MemoryPart; readonly offset: number; readonly data: Uint8Array<ArrayBuffer> }
  | { readonly do: 'copy'; readonly from: MemoryPart; readonly to: MemoryPart; readonly bytes: number }
  /** `isOnce`: its numbers are set once. */
  | { readonly do: 'makeRunner'; readonly runner: number; readonly compiled: number; readonly isOnce: boolean; readonly places: readonly (MemoryPart | null)[] }
  | { readonly do: 'setDims'; readonly runner: number; readonly dims: Uint32Array }
  | { readonly do: 'follow'; readonly runner: number; readonly dims: Uint32Array<ArrayBuffer>; readonly runs: number }
  | { readonly do: 'rewind'; readonly runner: number }
  | { readonly do: 'bind'; readonly runner: number; readonly slots: readonly MemoryPart[] }
  /** A run with the slots that were bound last. Several runs may be of one call. */
  | { readonly do: 'run'; readonly runner: number; readonly call: number }
  | { readonly do: 'endRunner'; readonly runner: number }
  /** The plan is not needed any more; its kernels may be. */
  | { readonly do: 'freePlan'; readonly compiled: number }
  | { readonly do: 'forget'; readonly compiled: number }
  | { readonly do: 'cancel'; readonly call: number }
  /** Answers a question: for a file, or which of many names are selected. */
  | { readonly do: 'give'; readonly question: number; readonly given: Given }
  | { readonly do: 'freeModel'; readonly model: number }
  | { readonly do: 'trim' }
  | { readonly do: 'dispose' };

/** What is answered. */
export type Request =
  | { readonly do: 'load'; readonly source: WebAssembly.Module | undefined }
  | { readonly do: 'open'; readonly options: Omit<CheckedOptions, 'share' | 'checks'> }
  | { readonly do: 'compile'; readonly compiled: number; readonly tape: Float64Array; readonly most: Uint32Array }
  | { readonly do: 'read'; readonly parts: readonly MemoryPart[] }
  /** Waits until it is known whether memory so far was allocated; what was not is told before the answer. */
  | { readonly do: 'allocated' }
  | { readonly do: 'idle' }
  | { readonly do: 'loadFile'; readonly format: FileFormat; readonly source: SentSource; readonly dtype: 'f32' | 'f16' | undefined; readonly isSelected: boolean }
  | { readonly do: 'loadModel'; readonly model: number; readonly format: ModelFormat; readonly source: SentSource; readonly dims: Readonly<Record<string, SentSize>>; readonly hasFiles: boolean }
  | { readonly do: 'runModel'; readonly model: number; readonly feeds: Readonly<Record<string, SentFeed>> }
  | { readonly do: 'verify'; readonly name: string; readonly compiled: number; readonly dims: Uint32Array<ArrayBuffer>; readonly slots: readonly MemoryPart[]; readonly written: readonly boolean[] };

/** What the answers have. */
export interface Results {
  /** The name of a lock that the worker holds; null where there are no locks. */
  load: string | null;
  open: DeviceFacts;
  compile: CompiledFacts;
  read: Uint8Array<ArrayBuffer>[];
  allocated: void;
  idle: void;
  loadFile: SentTensors;
  loadModel: ModelFacts;
  runModel: SentOutput[];
  verify: KernelComparison[];
}

/** What is known of a device from its start. */
export interface DeviceFacts {
  readonly backend: 'gpu' | 'cpu';
  readonly fallbackReason: string | null;
  readonly features: DeviceFeatures;
  /** The most bytes that an allocation has. */
  readonly largestBytes: number;
}

/** What a page has of a compiled tape. */
export interface CompiledFacts {
  /** Without the content of tables, which the worker writes. */
  readonly plan: Plan;
  /** The numbers of a run for the largest dims. */
  readonly words: Uint32Array<ArrayBuffer>;
  /** The plan in words. */
  readonly text: string;
  /** What the device found of tiles so far. */
  readonly found: string;
}

/** What the worker asks during a load: a further file, or which of these tensors are selected. */
export type Question = { readonly path: string } | { readonly names: readonly string[] };

/** What the page answers. */
export type Given = SentSource | { readonly selected: readonly string[] } | { readonly error: ErrorData };

/** A tensor of a file, with the parts of its memory: those of quantised weights are two. */
export interface SentTensor {
  readonly name: string;
  /** The type of quantised weights. */
  readonly quantised: QuantizedType | null;
  readonly shape: readonly number[];
  readonly parts: readonly { readonly part: MemoryPart; readonly dtype: DType; readonly sizes: readonly number[] }[];
}

/** What a file holds. */
export interface SentTensors {
  readonly tensors: readonly SentTensor[];
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** The formats of models. */
export type ModelFormat = 'onnx' | 'tfjs';

/** A file as it is sent: what fetches it or has it, or where its pieces come from, with the address of a response, '' without one. */
export type SentSource = { readonly address: string } | { readonly blob: Blob } | { readonly bytes: Uint8Array<ArrayBuffer> } | { readonly port: MessagePort; readonly size: number | null; readonly url: string };

/** A size of a model: a Dim has a name and its largest value. */
export type SentSize = number | { readonly dim: string; readonly max: number };

/** What a run of a model is given. */
export type SentFeed = { readonly part: MemoryPart; readonly dtype: DType; readonly sizes: readonly number[] } | { readonly given: Exclude<ModelFeed, StoredTensor> };

/** An input or output of a model. */
export interface SentValue {
  readonly name: string;
  readonly type: string;
  readonly dtype: DType;
  readonly shape: readonly (SentSize | string)[] | null;
}

/** What a page has of a model in the worker. */
export interface ModelFacts {
  readonly inputs: readonly SentValue[];
  readonly outputs: readonly SentValue[];
}

/** An output of a run. Its memory is the worker's. */
export interface SentOutput {
  readonly name: string;
  readonly dtype: DType;
  readonly sizes: readonly number[];
  readonly part: MemoryPart;
}

/** A message of the page. A call of 0 cannot be aborted and is not answered. */
export type Message = (Notice | (Request & { readonly call: number })) & { readonly device: number };

/** A message of the worker. */
export type Answer =
  | { readonly call: number; readonly value: unknown; readonly stats?: DeviceStats; readonly device: number }
  | { readonly call: number; readonly error: ErrorData; readonly device: number }
  | { readonly call: number; readonly done: number; readonly total: number }
  | { readonly call: number; readonly question: number; readonly asks: Question }
  /** Memory was not allocated. */
  | { readonly device: number; readonly refused: number; readonly error: ErrorData }
  /** Everything on a device is gone. `loss` is null where work failed and the device was not lost. */
  | { readonly device: number; readonly ended: ErrorData; readonly loss: Loss | null };
