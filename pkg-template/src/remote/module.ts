/** The WebAssembly module in a worker, with the interface of the glue (module/raw.ts). Every call becomes a message to the worker. */

import { ResiduaError } from '../arguments/errors.js';
import type { RawFunctions, RawModule, RawProblem } from '../module/raw.js';
import { Connection, type Port } from './connection.js';
import { RemoteContext } from './context.js';
import { RemoteFunctions } from './functions.js';
import { watchLivenessLock } from './liveness-lock.js';
import { RemoteMany, RemoteProblem } from './problem.js';
import type { WorkerFacts } from './protocol.js';

/** The page's side of the module. */
export class RemoteModule implements RawModule {
  readonly connection: Connection;
  private readonly contexts = new Map<number, RemoteContext>();

  constructor(port: Port) {
    const connection = (this.connection = new Connection(port));
    connection.onCounts = (context, counts, isLost) => this.contexts.get(context)?.update(counts, isLost);
    connection.onLoss = (context, loss) => this.contexts.get(context)?.lose(loss);
    const { contexts } = this;
    this.RawProblem = class extends RemoteProblem {
      constructor() {
        super(connection);
      }
      static fromTape(...tape: Parameters<RawModule['RawProblem']['fromTape']>): RemoteProblem {
        return RemoteProblem.ofTape(connection, ...tape);
      }
    };
    this.RawContext = {
      create: (...args) => RemoteContext.create(connection, contexts, ...args),
      isAvailable: () => connection.request({ do: 'isAvailable' }) as Promise<boolean>,
    };
    this.RawFunctions = { compile: (...args) => RemoteFunctions.compile(connection, ...args) };
    this.RawMany = class extends RemoteMany {
      constructor(problem: RawProblem, ...args: ManyArguments) {
        super(connection, problem as RemoteProblem, ...args);
      }
    };
  }

  readonly RawProblem: RawModule['RawProblem'];
  readonly RawContext: RawModule['RawContext'];
  readonly RawFunctions: { compile(...args: Parameters<RawModule['RawFunctions']['compile']>): Promise<RawFunctions> };
  readonly RawMany: RawModule['RawMany'];

  /** Loads the WebAssembly in the worker. */
  async default(options?: { module_or_path?: unknown }): Promise<void> {
    const { connection } = this;
    const loaded = (await connection.request({ do: 'load', source: options?.module_or_path })) as WorkerFacts;
    watchLivenessLock(loaded.livenessLock, () => connection.fail('its worker has ended'));
  }

  evaluateExpression(): number {
    throw new ResiduaError('not-initialized', 'expressions are evaluated on the page; await init() first');
  }

  onPanic(listener: Parameters<RawModule['onPanic']>[0]): void {
    this.connection.onFailure = listener;
  }

  /** Does nothing: after a failure, loading starts another worker. */
  restart(): void {}
}

type ManyArguments = ConstructorParameters<typeof RemoteMany> extends [unknown, unknown, ...infer Rest] ? Rest : never;
