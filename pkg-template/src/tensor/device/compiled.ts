/** Tapes that were compiled for a device: plans with their kernels. */

import type { Tape } from '../recipe/tape.js';
import type { Compiled } from './compiler.js';
import type { DeviceCore } from './core.js';

/** Compiled tapes that are kept. */
const KEPT = 256;

interface Entry {
  compiled: Compiled | null;
  readonly ready: Promise<Compiled>;
}

/** Tapes without dims of the caller by their content, so that a recipe of the same structure is compiled once, whatever its numbers are. */
export class CompiledTapes {
  private readonly known = new Map<string, Entry>();

  constructor(private readonly core: DeviceCore) {}

  /** Returns a compiled tape, or the promise of one where it has to be compiled, with the words of the `numbers` that it was compiled for. */
  get({ tape, numbers }: Pick<Tape, 'tape' | 'numbers'>): Compiled | Promise<Compiled> {
    // By bits, so that 0 and -0 are two numbers.
    const key = new Uint32Array(tape.buffer, tape.byteOffset, 2 * tape.length).join();
    const known = this.known.get(key);
    if (known !== undefined) {
      // The latest used is kept longest.
      this.known.delete(key);
      this.known.set(key, known);
      return known.compiled ?? known.ready;
    }
    const { core } = this;
    const ready = core.compiler.compile(tape, numbers, () => {}).then((compiled) => {
      // Its numbers are known, so that the module's part is not needed.
      core.compiler.free(compiled);
      return compiled;
    });
    const entry: Entry = { compiled: null, ready };
    this.known.set(key, entry);
    ready.then(
      (compiled) => (entry.compiled = compiled),
      () => this.known.delete(key),
    );
    if (this.known.size > KEPT) this.known.delete(this.known.keys().next().value as string);
    return ready;
  }
}
