/** The worker that computes tensors, as the page has it: it starts with the first device, and again after its end. */

import { invalidArgument, ResiduaError } from '../../arguments/errors.js';
import type { Port } from '../../remote/connection.js';
import { watchLivenessLock } from '../../remote/liveness-lock.js';
import { compileSource, terminated, type ThreadListener } from '../../remote/thread.js';
import type { WasmSource } from '../../module/loading.js';
import { DeviceCore, type DeviceParts } from '../device/core.js';
import type { CheckedOptions, OpenDevice } from '../device/opening.js';
import { Pending } from '../engine/pending.js';
import { Connection } from './connection.js';
import { readElsewhere, type FilesElsewhere } from '../files/load.js';
import { RemoteCompiler } from './remote-compiler.js';
import { RemoteAccounts, RemoteEngine } from './remote-engine.js';

/** What the worker has of devices that nobody refers to any more. */
const collected = /* @__PURE__ */ new FinalizationRegistry<() => void>((dispose) => dispose());

/** A worker that was started. */
export interface StartedThread {
  readonly port: Port;
  /** Tells errors of the worker. Returns what is to be called once it has answered. */
  listen(listener: ThreadListener): () => void;
  /** Ends it. */
  end(): void;
}

/** The worker of a page. */
export class TensorThread {
  private current: { readonly connection: Connection; readonly ready: Promise<Connection> } | null = null;
  /** The compiled module, for the worker that replaces another one. */
  private module: Promise<WebAssembly.Module> | undefined;

  /** @param files what reads files in the worker, where its script can */
  constructor(
    private readonly start: () => StartedThread,
    private readonly files: (new (connection: Connection, device: number, engine: RemoteEngine) => FilesElsewhere) | null = null,
  ) {}

  /** Starts the worker and loads the module in it, and again after its failure. */
  async init(source?: WasmSource): Promise<void> {
    if (source !== undefined && this.module === undefined) {
      this.module = compileSource(source);
      this.module.catch(() => (this.module = undefined));
    }
    const connection = await this.connection();
    await connection.request(0, { do: 'load', source: await this.module });
  }

  /** Ends the worker with everything in it. */
  terminate(): void {
    this.current?.connection.close(terminated());
    this.current = null;
  }

  /** Opens a device in the worker. */
  readonly open: OpenDevice = async (options: CheckedOptions) => {
    if (options.share !== undefined) {
      throw invalidArgument('Device.create: share', "a GPUDevice or a context of the page's thread", "none with 'residua/tensor/worker': a device can't go into a worker; Device of 'residua/tensor' takes it");
    }
    const { backend, checks, profile, sliceMs, tuning } = options;
    const connection = await this.connection();
    const device = connection.number();
    let end: Parameters<DeviceParts['watch']>[0] = () => {};
    const [accounts, pending] = [new RemoteAccounts(), new Pending()];
    let engine: RemoteEngine | null = null;
    connection.listen(device, {
      refuse: (memory, error) => engine?.refuse(memory, error),
      count: (stats) => void (accounts.latest = stats),
      end: (failure, loss) => {
        if (loss !== null) end(loss, failure);
        pending.fail(failure);
      },
    });
    const facts = await connection.request(device, { do: 'open', options: { backend, profile, sliceMs, tuning } });
    engine = new RemoteEngine(connection, device, accounts, facts);
    const compiler = new RemoteCompiler(connection, device, pending);
    const watch: DeviceParts['watch'] = (listener) => {
      end = listener;
      return () => void (end = () => {});
    };
    const core = new DeviceCore({ accounts, pending, engine, compiler, instance: null, gpu: null, features: facts.features, watch }, checks);
    if (this.files !== null) readElsewhere.set(core, new this.files(connection, device, engine));
    collected.register(core, () => connection.notify(device, { do: 'dispose' }));
    return { core, fallbackReason: facts.fallbackReason };
  };

  private connection(): Promise<Connection> {
    if (this.current === null || this.current.connection.isClosed) this.current = this.connect();
    return this.current.ready;
  }

  private connect(): { readonly connection: Connection; readonly ready: Promise<Connection> } {
    const { port, listen, end } = this.start();
    const connection = new Connection(port);
    connection.onClose = end;
    const fail = (message: string) => connection.close(new ResiduaError('internal', `residua failed: ${message}. Tensors and programs of the worker are gone; Device.create() starts another one`));
    const loaded = listen({ fail, close: (reason) => connection.close(reason) });
    const load = async (): Promise<Connection> => {
      try {
        const lock = await connection.request(0, { do: 'load', source: await this.module });
        watchLivenessLock(lock, () => fail('its worker has ended'));
      } catch (error) {
        connection.close(error as ResiduaError);
        throw error;
      }
      loaded();
      return connection;
    };
    return { connection, ready: load() };
  }
}
