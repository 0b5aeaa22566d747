/** The page's side of a GPU device in the worker. Its statistics are those that the worker sent last. */

import { invalidArgument } from '../arguments/errors.js';
import type { RawContext, RawEngineRequest, RawStats } from '../module/raw.js';
import type { Connection } from './connection.js';
import type { ContextFacts, EngineData } from './protocol.js';

type Loss = { reason: string; message: string };

/** A context whose device is in the worker. */
export class RemoteContext implements RawContext {
  private counts: RawStats;
  private isDeviceLost = false;
  private resolveLost: (loss: Loss) => void = () => {};
  private readonly loss = new Promise<Loss>((resolve) => {
    this.resolveLost = resolve;
  });

  private constructor(
    private readonly connection: Connection,
    readonly number: number,
    private readonly facts: ContextFacts,
  ) {
    this.counts = facts.stats;
  }

  /** Requests a device in the worker. Throws 'invalid-argument' for a device of the application. */
  static async create(
    connection: Connection,
    contexts: Map<number, RemoteContext>,
    powerPreference: string | undefined,
    device: GPUDevice | undefined,
    profile: boolean,
  ): Promise<RemoteContext> {
    if (device !== undefined && device !== null) {
      throw invalidArgument(
        'GpuContext.create: device',
        "the application's own device",
        "none with 'residua/worker': a device can't go into a worker; contexts of 'residua' adopt one",
      );
    }
    const number = connection.newObject();
    const facts = await connection.request({ do: 'createContext', context: number, powerPreference, profile });
    const context = new RemoteContext(connection, number, facts as ContextFacts);
    contexts.set(number, context);
    return context;
  }

  share(): RawContext {
    return this;
  }

  device(): null {
    return null;
  }

  adapter(): ContextFacts['adapter'] {
    return this.facts.adapter;
  }

  lost(): Promise<Loss> {
    return this.loss;
  }

  isLost(): boolean {
    return this.isDeviceLost;
  }

  stats(): RawStats {
    return structuredClone(this.counts);
  }

  trim(): void {
    this.connection.notify({ do: 'trim', context: this.number });
  }

  dispose(): void {
    this.connection.notify({ do: 'dispose', what: 'context', number: this.number });
  }

  /** Stores statistics that the worker sent. */
  update(stats: RawStats, isLost: boolean): void {
    this.counts = stats;
    this.isDeviceLost ||= isLost;
  }

  /** Records the loss of the device. */
  lose({ reason, message }: Loss): void {
    this.isDeviceLost = true;
    this.resolveLost({ reason, message });
  }
}

/** Returns the part of a request that is sent to the worker. */
export function engineData({ backend, precision, workload, fewest, fallbackThreshold }: RawEngineRequest): EngineData {
  return { backend, precision, workload, fewest, fallbackThreshold };
}

/** Returns the number of the context of a request. */
export async function contextNumber(engine: RawEngineRequest): Promise<number> {
  return ((await engine.requestContext()) as RemoteContext).number;
}
