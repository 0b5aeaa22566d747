/** The page's side of what compiles tapes in a worker. */

import type { Compiled, Compiler, KernelComparison, Trial } from '../device/compiler.js';
import type { KernelProgress } from '../engine/engine.js';
import type { Pending } from '../engine/pending.js';
import type { Connection } from './connection.js';
import { partOf, type RemoteKernels } from './remote-engine.js';

/** A tape that was compiled in the worker. */
interface RemoteCompiled extends Compiled {
  readonly kernels: RemoteKernels;
  readonly text: string;
}

/** What the worker keeps of compiled tapes that are not referred to any more. */
const collected = /* @__PURE__ */ new FinalizationRegistry<() => void>((forget) => forget());

const NO_WORDS = /* @__PURE__ */ new Uint32Array(0);

/** Compiles tapes in a worker. */
export class RemoteCompiler implements Compiler {
  found = '';

  constructor(
    private readonly connection: Connection,
    private readonly device: number,
    /** Waits of the device. */
    private readonly pending: Pending,
  ) {}

  async compile(tape: Float64Array, most: Uint32Array, onProgress: KernelProgress, caller?: Pending): Promise<Compiled> {
    this.pending.check();
    caller?.check();
    const { connection, device } = this;
    const number = connection.number();
    const { plan, words, text, found } = await this.pending.wait(connection.request(device, { do: 'compile', compiled: number, tape, most }, { onProgress, caller }));
    this.found = found;
    const kernels: RemoteKernels = { list: [], number };
    const compiled: RemoteCompiled = { plan, kernels, words, text };
    collected.register(kernels, () => connection.notify(device, { do: 'forget', compiled: number }));
    return compiled;
  }

  words(): Uint32Array<ArrayBuffer> {
    return NO_WORDS;
  }

  text(compiled: Compiled): string {
    return (compiled as RemoteCompiled).text;
  }

  free(compiled: Compiled): void {
    this.connection.notify(this.device, { do: 'freePlan', compiled: (compiled as RemoteCompiled).kernels.number });
  }

  verify(name: string, compiled: Compiled, { dims, slots, isWritten, transfer }: Trial): Promise<KernelComparison[]> {
    transfer();
    const { number } = (compiled as RemoteCompiled).kernels;
    return this.pending.wait(
      this.connection.request(this.device, { do: 'verify', name, compiled: number, dims, slots: slots.map(partOf), written: slots.map((_, slot) => isWritten(slot)) }),
    );
  }
}
