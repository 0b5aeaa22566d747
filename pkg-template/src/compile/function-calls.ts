/** The calls on compiled functions: one after another, each with the changes that were made before it. */

import type { Instance } from '../module/loading.js';
import type { RawFunctions } from '../module/raw.js';
import type { CompileInput, Edits, WriteBack } from './compile-input.js';
import { CallQueue } from './queue.js';

/** Runs calls of the module. */
export class FunctionCalls {
  readonly queue: CallQueue = new CallQueue('the GpuCompiledFunctions');
  /** Changes that the module does not have yet, those of a call whose growth failed first. */
  private readonly unapplied: Edits[] = [];

  /** @param grown is called when the module has what was appended */
  constructor(
    private readonly input: CompileInput,
    private readonly instance: Instance,
    private readonly handle: RawFunctions,
    private readonly grown: () => void,
  ) {}

  /** Calls the module at once, without changes. */
  read<T>(work: (handle: RawFunctions) => T): T {
    this.queue.check();
    return this.instance.call(() => work(this.handle));
  }

  /** Runs a call of the module that changes no parameters. */
  run<T>(work: (handle: RawFunctions) => Promise<T>): Promise<T> {
    this.queue.check();
    const edits = this.input.takeEdits();
    return this.queue.run(async () => {
      await this.apply(edits);
      return this.instance.wait(() => work(this.handle));
    });
  }

  /** Takes the changes for a job. Returns what runs it; `writeBack` gives the parameters a result, unless the functions are disposed. */
  begin(): <T>(job: (writeBack: WriteBack) => Promise<T>) => Promise<T> {
    this.queue.check();
    const edits = this.input.takeEdits();
    const writeBack = this.input.writeBack();
    return (job) =>
      this.queue.run(async () => {
        await this.apply(edits);
        return job((x) => {
          if (!this.queue.isDisposed) writeBack(x);
        });
      });
  }

  /** Gives the module the changes of a call. Where it has no room for what was appended, the next call tries again. */
  private async apply(edits: Edits): Promise<void> {
    this.unapplied.push(edits);
    for (let next; (next = this.unapplied[0]) !== undefined; ) {
      const { growth } = next;
      if (growth !== null) {
        await this.instance.wait((module) => this.handle.grow(growth.build(module), growth.values));
        growth.finish();
        this.grown();
      }
      this.unapplied.shift();
      this.change(next);
    }
  }

  private change({ values, commands }: Edits): void {
    for (const command of commands) this.instance.call(() => command(this.handle));
    if (values.length === 0) return;
    const numbers = new Float64Array(values.reduce((total, edit) => total + edit.numbers.length, 0));
    let end = 0;
    for (const edit of values) {
      numbers.set(edit.numbers, end);
      end += edit.numbers.length;
    }
    const starts = Uint32Array.from(values, ({ offset }) => offset);
    const lengths = Uint32Array.from(values, ({ numbers: { length } }) => length);
    this.instance.call(() => this.handle.setValuesAt(starts, lengths, numbers));
  }
}
