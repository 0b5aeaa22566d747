/**
 * Loops: a body that is recorded once and runs many times. A body is a recipe like any other. What changes from step to step is
 *
 * - its states, inputs whose memory is that of the step before,
 * - its counters, dims that each step tells anew. A slice of a scanned tensor, and the place of a row that a step leaves, have them as their starts, so
 *   that a step reads and writes where the tensors lie.
 *
 * All else that it uses stands outside and is computed once, before the loop. The results are inputs of the recipe around it, whose `source` says
 * which loop gives them. `stages.ts` cuts a recipe at its loops, `device/schedule.ts` runs the parts, and `loop-gradient.ts` makes the loop that
 * gives derivatives.
 */

import { Extent, largest, minus, sizeAt, termsOf, times, type Dim, type Size } from '../size.js';
import { Node } from './node.js';

/** The values of a loop's counter: whole numbers from `first` on that are below every one of the ends, each a size divided by a number. */
export interface Steps {
  readonly first: Size;
  readonly ends: readonly { readonly limit: Size; readonly per: number }[];
  /** Whether they come from the last one to the first one. */
  readonly isReversed: boolean;
}

/** The first value of a counter and how many there are. */
export function rangeAt({ first, ends }: Steps, valueOf: (dim: Dim) => number): { first: number; count: number } {
  const from = sizeAt(first, valueOf);
  return { first: from, count: Math.max(0, Math.min(...ends.map(({ limit, per }) => Math.ceil(sizeAt(limit, valueOf) / per) - from))) };
}

/** The values 0, 1, … below a size. */
export function stepsTo(limit: Size): Steps {
  return { first: 0, ends: [{ limit, per: 1 }], isReversed: false };
}

/** A state. */
export interface Carried {
  /** Before the first step; outside of the body. */
  readonly first: Node;
  /** What a step begins with: an input of the body. */
  readonly held: Node;
  /** What it ends with; of the type and shape of `first`. */
  readonly next: Node;
}

/** Rows that each step leaves in a tensor. */
export interface Row {
  /** The tensor, as an input of the body. */
  readonly held: Node;
  /** Where along its first axis the rows begin, in terms of the counters. */
  readonly place: Size;
  /** The rows. */
  readonly value: Node;
}

/** A dim that each step tells: the counter divided by a number, rounded down. */
export interface Counter {
  readonly dim: Dim;
  readonly per: number;
}

/** What a loop gives: the `source` of an input of the recipe around it. */
export class LoopResult {
  constructor(
    readonly loop: Loop,
    readonly kind: 'state' | 'rows',
    /** Among the loop's states or rows. */
    readonly position: number,
  ) {}
}

/** The `source` of what stands for the adjoint in a derivative of the caller. */
const ADJOINT: object = /* @__PURE__ */ Object.freeze({});

/** What stands for the adjoint in a derivative of the caller. In a body of a loop it is another one in each step. */
export function adjointNode({ dtype, shape }: Pick<Node, 'dtype' | 'shape'>): Node {
  return new Node('constant', dtype, shape, [], [0], ADJOINT);
}

/** The `source` of inputs of bodies: states, and tensors of rows. */
export const HELD: object = /* @__PURE__ */ Object.freeze({});

const COUNTER = '\0step ';

let counters = 0;

/** A counter with a name that no dim of the caller has. */
export function newCounter(most: number, per = 1): Counter {
  counters += 1;
  return { dim: Extent.named(`${COUNTER}${counters}`, Math.max(0, most)), per };
}

/** Whether a dim is the counter of a loop. */
export function isCounter({ name }: Dim): boolean {
  return name.startsWith(COUNTER);
}

/** An input of a body. */
export function heldNode({ dtype, shape }: Pick<Node, 'dtype' | 'shape'>): Node {
  return new Node('input', dtype, shape, [], [], HELD);
}

/** A loop of a recipe. */
export class Loop {
  /** Its counter, and others that a step tells. */
  readonly counters: Counter[];
  readonly carried: Carried[] = [];
  readonly rows: Row[] = [];
  /** Where the results stand in the recipe around. */
  readonly states: Node[] = [];
  readonly stacks: Node[] = [];
  /** The states that the parts of its steps begin with, where derivatives go through it. */
  checkpoints: readonly Node[] | null = null;

  /**
   * @param isOfGradient whether it is part of a derivative
   * @param substitutes what stands in the body for nodes of another loop's body
   */
  constructor(
    readonly steps: Steps,
    counter: Counter,
    readonly isOfGradient = false,
    readonly substitutes: ReadonlyMap<Node, Node> = new Map(),
  ) {
    this.counters = [counter];
  }

  /** The counter in the body. */
  get counter(): Dim {
    return (this.counters[0] as Counter).dim;
  }

  /** The largest number of steps. */
  get mostSteps(): number {
    const { first, ends } = this.steps;
    return Math.max(0, Math.min(...ends.map(({ limit, per }) => Math.ceil(largest(minus(limit, times(first, per))) / per))));
  }

  /** Adds a state and gives its last value. */
  carry(state: Carried): Node {
    const { dtype, shape } = state.held;
    const result = new Node('input', dtype, shape, [], [], new LoopResult(this, 'state', this.carried.push(state) - 1));
    this.states.push(result);
    return result;
  }

  /** Adds rows and gives the tensor of them, which has so many. */
  stack(value: Node, place: Size, count: Size): Node {
    const shape = [count, ...value.shape.slice(1)];
    const held = heldNode({ dtype: value.dtype, shape });
    const result = new Node('input', value.dtype, shape, [], [], new LoopResult(this, 'rows', this.rows.push({ held, place, value }) - 1));
    this.stacks.push(result);
    return result;
  }

  /** What stands for a node in the body. */
  resolve(node: Node): Node {
    return this.substitutes.get(node) ?? node;
  }
}

/** What a loop computes and what it is computed from. */
export function nodesOfLoop({ carried, rows }: Loop): Node[] {
  return [...carried.flatMap(({ first, next }) => [first, next]), ...rows.map(({ value }) => value)];
}

/** Operations whose result is a view of their operand or costs nothing: a body has them itself where they stand outside. */
const TRANSPARENT: readonly string[] = ['reshape', 'expand', 'permute', 'slice', 'windows', 'constant', 'extent', 'iota', 'dequantize'];

/** Whether a node is computed anew wherever it is used. */
export function isTransparent({ op }: Node): boolean {
  return TRANSPARENT.includes(op);
}

/** The sizes that a node has anywhere. */
function sizesOf({ shape, attributes, bounds }: Node): Size[] {
  return [...shape, ...bounds, ...attributes.flatMap((each) => (typeof each === 'object' && 'size' in each ? [each.size] : []))];
}

/** The names of the dims of sizes. */
function namesIn(sizes: readonly Size[]): string[] {
  return sizes.flatMap((size) => (typeof size === 'number' ? [] : termsOf(size).flatMap(({ dims }) => dims.map(({ name }) => name))));
}

/** Calls a function for each node that roots are computed from, each once and after those that it is computed from. */
export function inOrder(roots: Iterable<Node>, operandsOf: (node: Node) => readonly Node[], visit: (node: Node) => void, seen: Set<Node> = new Set()): void {
  for (const root of roots) {
    const open: { readonly node: Node; readonly operands: readonly Node[]; next: number }[] = [];
    const enter = (node: Node) => {
      if (seen.has(node)) return;
      seen.add(node);
      open.push({ node, operands: operandsOf(node), next: 0 });
    };
    enter(root);
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const operand = top.operands[top.next++];
      if (operand !== undefined) enter(operand);
      else {
        open.pop();
        visit(top.node);
      }
    }
  }
}

/** What the body of a loop takes from outside: nodes, which are memory there, and dims. */
export interface Outside {
  readonly nodes: readonly Node[];
  readonly dims: ReadonlySet<string>;
}

/** What recipes with loops depend on. Rows that nobody asks for are left out. */
export class Dependence {
  private readonly wanted = new Set<Row>();
  private readonly outside = new Map<Loop, Outside>();
  /** All loops, those in bodies of others too. */
  readonly loops: readonly Loop[];

  constructor(roots: readonly Node[]) {
    const loops = new Set<Loop>();
    const seen = new Set<Node>();
    const open = [...roots];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (seen.has(node)) continue;
      seen.add(node);
      open.push(...node.operands);
      if (!(node.source instanceof LoopResult)) continue;
      const { loop, kind, position } = node.source;
      if (!loops.has(loop)) {
        loops.add(loop);
        open.push(...loop.carried.flatMap(({ first, next }) => [first, next]), ...loop.substitutes.values());
      }
      if (kind === 'rows') {
        const row = loop.rows[position] as Row;
        this.wanted.add(row);
        open.push(row.value);
      }
    }
    this.loops = [...loops];
  }

  /** The rows of a loop that are asked for. */
  rowsOf(loop: Loop): Row[] {
    return loop.rows.filter((row) => this.wanted.has(row));
  }

  /** What the steps of a loop compute. */
  resultsOf(loop: Loop): Node[] {
    return [...loop.carried.map(({ next }) => next), ...this.rowsOf(loop).map(({ value }) => value)].map((node) => loop.resolve(node));
  }

  /** What a node is computed from in the body of a loop, or outside of all for null; a loop's result from what the loop takes. */
  operandsOf(node: Node, within: Loop | null): readonly Node[] {
    const operands = node.source instanceof LoopResult ? this.operandsOfLoop(node.source.loop) : node.operands;
    return within === null || within.substitutes.size === 0 ? operands : operands.map((each) => within.resolve(each));
  }

  /** What a loop takes from the recipe around it. */
  operandsOfLoop(loop: Loop): readonly Node[] {
    return [...loop.carried.map(({ first }) => first), ...this.outsideOf(loop).nodes];
  }

  /** Whether nodes change from step to step of a loop; null: whether they are inside of all loops, which they are. */
  changing(loop: Loop | null): (node: Node) => boolean {
    if (loop === null) return () => true;
    const names = new Set(loop.counters.map(({ dim }) => dim.name));
    const held = new Set<Node>([...loop.carried, ...loop.rows].map((each) => each.held));
    const known = new Map<Node, boolean>();
    const operands = (node: Node) => this.operandsOf(node, loop);
    const isOwn = (node: Node) =>
      held.has(node) || node.source === ADJOINT || namesIn(sizesOf(node)).some((name) => names.has(name)) || (node.source instanceof LoopResult && [...this.outsideOf(node.source.loop).dims].some((name) => names.has(name)));
    return (node) => {
      const found = known.get(node);
      if (found !== undefined) return found;
      inOrder([node], (each) => (known.has(each) ? [] : operands(each)), (each) => {
        if (!known.has(each)) known.set(each, isOwn(each) || operands(each).some((operand) => known.get(operand) === true));
      });
      return known.get(node) as boolean;
    };
  }

  /** What the body of a loop takes from outside. */
  outsideOf(loop: Loop): Outside {
    const known = this.outside.get(loop);
    if (known !== undefined) return known;
    const isChanging = this.changing(loop);
    const nodes: Node[] = [];
    const dims = new Set(namesIn([loop.steps.first, ...loop.steps.ends.map(({ limit }) => limit), ...this.rowsOf(loop).map(({ place }) => place)]));
    const held = new Set<Node>([...loop.carried, ...loop.rows].map((each) => each.held));
    const isInside = (node: Node) => isChanging(node) || isTransparent(node);
    inOrder(
      this.resultsOf(loop),
      (node) => (isInside(node) ? this.operandsOf(node, loop) : []),
      (node) => {
        for (const name of namesIn(sizesOf(node))) dims.add(name);
        if (node.source instanceof LoopResult && isChanging(node)) for (const name of this.outsideOf(node.source.loop).dims) dims.add(name);
        if (!isInside(node) && !held.has(node)) nodes.push(node);
      },
    );
    for (const { dim } of loop.counters) dims.delete(dim.name);
    const found = { nodes, dims };
    this.outside.set(loop, found);
    return found;
  }
}

