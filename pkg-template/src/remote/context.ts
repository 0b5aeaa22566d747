/** The page's half of a GPU device in the worker. What it has counted is what the worker last told. */

import { invalidArgument } from '../errors.js';
import type { RawContext, RawStats } from '../raw.js';
import type { Connection } from './connection.js';
import type { ContextFacts } from './protocol.js';

type Loss = { reason: string; message: string };

/** A context whose device is in the worker. */
export class RemoteContext implements RawContext {
  private counts: RawStats;
  private isGone = false;
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

  /** Makes a device there. An application's own one is refused. */
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
    return this.isGone;
  }

  stats(): RawStats {
    return structuredClone(this.counts);
  }

  trim(): void {
    this.connection.tell({ do: 'trim', context: this.number });
  }

  dispose(): void {
    this.connection.tell({ do: 'dispose', what: 'context', number: this.number });
  }

  /** What the worker tells. */
  count(stats: RawStats, isLost: boolean): void {
    this.counts = stats;
    this.isGone ||= isLost;
  }

  /** The device is lost. */
  lose({ reason, message }: Loss): void {
    this.isGone = true;
    this.resolveLost({ reason, message });
  }
}
