/** The recording of a program's body: which stored tensors it assigns to. */

import { describe, invalidGraph, ResiduaError } from '../../arguments/errors.js';
import type { Node } from '../recipe/node.js';
import type { Assignment } from '../recipe/tape.js';
import type { Cell } from './cell.js';
import type { DeviceCore } from './core.js';
import { tensorsOf } from './results.js';

/** A stored tensor, as a body sees it: recipes that are made of it refer to its node. */
export interface Assignable {
  node: Node;
  readonly cell: Cell;
}

/** The body that is being recorded. */
let active: Body | null = null;

/** A body while it is recorded. */
export class Body {
  private readonly assigned = new Map<Assignable, Node>();

  private constructor(private readonly core: DeviceCore) {}

  /** Calls the body of a program of a device. Returns its result, the nodes of that, and the assignments in it. */
  static record(core: DeviceCore, body: () => unknown): { result: unknown; nodes: Node[]; assignments: Assignment[] } {
    if (active !== null) throw invalidGraph('compile: got a call inside the body of another compile; takes one body at a time');
    const recording = new Body(core);
    active = recording;
    try {
      const result = body();
      if (result instanceof Promise) throw new ResiduaError('invalid-argument', `compile: body: got ${describe(result)}; takes a function that is not async`);
      // A stored tensor that is a result has its last value here.
      const nodes = tensorsOf('compile: the result of body', result).map(({ node }) => node);
      return { result, nodes, assignments: recording.assignments() };
    } finally {
      active = null;
      for (const [target, input] of recording.assigned) target.node = input;
    }
  }

  /** Whether a body is being recorded. */
  static get isActive(): boolean {
    return active !== null;
  }

  /** Lets a stored tensor hold a value from here on. Throws 'invalid-graph' outside of a body. */
  static assign(target: Assignable, value: Node): void {
    if (active === null) throw invalidGraph('assign: got a call outside of the body of a compile, where set() does it; takes calls inside');
    if (target.cell.core !== active.core) throw invalidGraph('assign: got a stored tensor of another device than that of the program; takes one of its device');
    target.cell.check('assign');
    if (!active.assigned.has(target)) active.assigned.set(target, target.node);
    target.node = value;
  }

  private assignments(): Assignment[] {
    return Array.from(this.assigned, ([target, input]) => ({ input, value: target.node }));
  }
}
