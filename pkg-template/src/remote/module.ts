/** The module as the page sees it that runs in a worker: the same shape as the glue's exports (raw.ts), with everything sent there. */

import { ResiduaError } from '../errors.js';
import type { RawFunctions, RawModule, RawProblem } from '../raw.js';
import { Connection, type Port } from './connection.js';
import { RemoteContext } from './context.js';
import { RemoteFunctions } from './functions.js';
import { watchLifeline } from './lifeline.js';
import { RemoteMany, RemoteProblem } from './problem.js';
import type { Introduction } from './protocol.js';

/** The page's half of the module. */
export class RemoteModule implements RawModule {
  hasWebGpu = false;
  readonly connection: Connection;
  private readonly contexts = new Map<number, RemoteContext>();

  constructor(port: Port) {
    const connection = (this.connection = new Connection(port));
    connection.onCounts = (context, counts, isLost) => this.contexts.get(context)?.count(counts, isLost);
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
    const loaded = (await connection.request({ do: 'load', source: options?.module_or_path })) as Introduction;
    this.hasWebGpu = loaded.hasWebGpu;
    watchLifeline(loaded.lifeline, () => connection.fail('its worker is gone'));
  }

  evaluateExpression(): number {
    throw new ResiduaError('not-initialized', 'expressions are evaluated on the page; await init() first');
  }

  onPanic(listener: (message: string) => void): void {
    this.connection.onFailure = listener;
  }

  /** A worker is not started again: its place is taken by another. */
  restart(): void {}
}

type ManyArguments = ConstructorParameters<typeof RemoteMany> extends [unknown, unknown, ...infer Rest] ? Rest : never;
