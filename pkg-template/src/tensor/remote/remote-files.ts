/** Files with tensors, read in the worker, as the page has them. */

import type { ResiduaError } from '../../arguments/errors.js';
import { Cell } from '../device/cell.js';
import { Device } from '../device/device.js';
import { QuantizedTensor } from '../device/quantized-tensor.js';
import { StoredTensor } from '../device/stored-tensor.js';
import type { Pending } from '../engine/pending.js';
import type { FileFormat, FilesElsewhere, LoadOptions } from '../files/load.js';
import type { FileSource } from '../files/source.js';
import type { Connection } from './connection.js';
import type { Question, SentTensor, SentTensors } from './protocol.js';
import type { RemoteEngine } from './remote-engine.js';
import { sending } from './sent-source.js';

/** Has files read in the worker of a device. */
export class RemoteFiles implements FilesElsewhere {
  constructor(
    private readonly connection: Connection,
    private readonly number: number,
    private readonly engine: RemoteEngine,
  ) {}

  async load(device: Device, call: string, format: FileFormat, source: FileSource, options: LoadOptions, caller: Pending): Promise<unknown> {
    const { connection, number } = this;
    const { dtype, select, onProgress, signal } = options;
    const { pending } = Device.coreOf(device);
    const opening = sending(call, source, false, signal);
    const file = await pending.wait(caller.wait(opening)).catch((error: unknown) => {
      opening.then((late) => late.end(), () => {});
      throw error;
    });
    const heard = (call: () => void): void => {
      try {
        call();
      } catch (thrown) {
        // What select() and onProgress() throw ends the load.
        caller.fail(thrown as ResiduaError);
      }
    };
    const onQuestion = (asks: Question, question: number): void => heard(() => {
      const selected = 'names' in asks && select !== undefined ? asks.names.filter((name) => select(name) === true) : [];
      connection.notify(number, { do: 'give', question, given: { selected } });
    });
    const loading = connection.request(
      number,
      { do: 'loadFile', format, source: file.source, dtype, isSelected: select !== undefined },
      { onProgress: (loaded, total) => heard(() => onProgress?.(loaded, total)), caller, transfer: file.transfer, onQuestion },
    );
    try {
      return this.resultOf(device, format, await pending.wait(caller.wait(loading)));
    } catch (error) {
      // Whatever was read for nobody is freed.
      loading.then((found) => this.free(found), () => {});
      throw error;
    } finally {
      file.end();
    }
  }

  private resultOf(device: Device, format: FileFormat, { tensors, metadata }: SentTensors): unknown {
    const named = Object.fromEntries(tensors.map((tensor) => [tensor.name, this.tensorOf(device, tensor)]));
    if (format === 'npy') return named[''];
    return format === 'npz' ? named : { tensors: named, metadata };
  }

  private tensorOf(device: Device, { quantised, shape, parts }: SentTensor): StoredTensor | QuantizedTensor {
    const core = Device.coreOf(device);
    const [first, second] = parts.map(({ part, dtype, sizes }) => new Cell(core, dtype, Object.freeze(sizes), this.engine.adopted(part), 'tensor')) as [Cell, Cell];
    return quantised === null ? new StoredTensor(device, first) : new QuantizedTensor(device, quantised, shape as ConstructorParameters<typeof QuantizedTensor>[2], [first, second]);
  }

  private free({ tensors }: SentTensors): void {
    for (const { part } of tensors.flatMap(({ parts }) => parts)) this.connection.notify(this.number, { do: 'free', memory: part.memory, isReusable: true });
  }
}
