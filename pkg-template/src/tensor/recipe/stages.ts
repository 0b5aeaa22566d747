/**
 * Cuts a recipe with loops into leaves, recipes without loops that the module compiles, and says in which order they run on which memory. What a
 * loop gives is used by leaves after those that compute what the loop takes: a node's level is how many loops stand one behind the other below it,
 * and a leaf has the nodes of one level, in the body of one loop or outside of all. Nodes of lower levels are memory that an earlier leaf has
 * left; those on the way from a scalar to what it is differentiated by are computed again, since the module differentiates within a leaf.
 */

import { ResiduaError } from '../../arguments/errors.js';
import { DTYPE_BYTES } from '../dtype.js';
import { largest, product, termsOf, type Dim, type Size } from '../size.js';
import { Dependence, inOrder, isTransparent, LoopResult, type Counter, type Loop, type Steps } from './loop.js';
import { inMemory, Node } from './node.js';
import { writeTape, type Assignment, type Tape } from './tape.js';

/** A recipe without loops. */
export interface Leaf {
  readonly tape: Tape;
  /** The place of each of its inputs. */
  readonly slots: readonly number[];
  /** The place of each of its results, whose memory it has. */
  readonly results: readonly number[];
}

/** Memory: an input of the whole recipe, by its position; what a leaf leaves; memory of the loop itself, of so many bytes; or what a step of a loop says. */
export type StagePlace = { readonly kind: 'slot'; readonly slot: number } | { readonly kind: 'leaf' } | { readonly kind: 'own'; readonly bytes: number } | { readonly kind: 'step' };

/** Places of a state. */
export interface StatePlaces {
  /** What it is before the loop. */
  readonly first: number;
  /** What it is after the loop. */
  readonly last: number;
  /** Every second step writes this one. */
  readonly spare: number;
  /** What a step reads and writes: places of kind 'step'. */
  readonly before: number;
  readonly after: number;
}

/** A loop over items. */
export interface LoopItem {
  readonly steps: Steps;
  readonly counters: readonly Counter[];
  readonly states: readonly StatePlaces[];
  readonly body: readonly Item[];
}

/** A leaf, by its position, or a loop. */
export type Item = number | LoopItem;

/** A recipe that is cut at its loops. */
export interface Stages {
  readonly leaves: readonly Leaf[];
  readonly places: readonly StagePlace[];
  readonly items: readonly Item[];
  /** The place of each result. */
  readonly results: readonly number[];
  /** The inputs of the whole, by their slots. */
  readonly inputs: readonly Node[];
  /** The dims that a run tells. */
  readonly dims: readonly Dim[];
  /** Sizes that no run may make negative. */
  readonly bounds: readonly Dim[];
}

/** Cuts a recipe at its loops; null if it has none. */
export function stagesOf(results: readonly Node[], assignments: readonly Assignment[]): Stages | null {
  const dependence = new Dependence([...results, ...assignments.map(({ value }) => value)].map(inMemory));
  if (dependence.loops.length === 0) return null;
  return new Cutter(dependence).cut(results.map(inMemory), assignments.map(({ input, value }) => ({ input: inMemory(input), value: inMemory(value) })));
}

/** Bytes of a node's elements for the largest dims. */
function largestBytes({ dtype, shape }: Node): number {
  return largest(product(shape)) * DTYPE_BYTES[dtype];
}

class Cutter {
  readonly leaves: Leaf[] = [];
  readonly places: StagePlace[] = [];
  readonly inputs: Node[] = [];
  private readonly counters = new Set<string>();
  private readonly sizes: Size[] = [];

  constructor(readonly dependence: Dependence) {}

  cut(results: readonly Node[], assignments: readonly Assignment[]): Stages {
    const slots = new Map<Node, number>();
    const slotOf = (node: Node): number => {
      let place = slots.get(node);
      if (place === undefined) slots.set(node, (place = this.place({ kind: 'slot', slot: this.inputs.push(node) - 1 })));
      return place;
    };
    const { items, placeOf } = new Scope(this, null, slotOf).cut(results, assignments);
    const { leaves, places, inputs } = this;
    return { leaves, places, items, results: results.map(placeOf), inputs, dims: this.dims(), bounds: this.bounds() };
  }

  place(place: StagePlace): number {
    return this.places.push(place) - 1;
  }

  /** Notes what a loop tells and what it depends on. */
  noteLoop({ counters, steps }: Loop): void {
    for (const { dim } of counters) this.counters.add(dim.name);
    this.sizes.push(steps.first, ...steps.ends.map(({ limit }) => limit));
  }

  private dims(): Dim[] {
    const found = new Map<string, Dim>();
    for (const dim of [...this.leaves.flatMap(({ tape }) => tape.dims), ...this.sizes.flatMap((size) => termsOf(size).flatMap(({ dims }) => dims))]) {
      const { max } = found.get(dim.name) ?? dim;
      if (max !== dim.max) throw new ResiduaError('invalid-argument', `dim: got two Dims named ${dim.name}, up to ${max} and up to ${dim.max}; takes one largest size for one name`);
      if (!this.counters.has(dim.name)) found.set(dim.name, dim);
    }
    return [...found.values()];
  }

  private bounds(): Dim[] {
    const isOfRun = (bound: Dim) => termsOf(bound).every(({ dims }) => dims.every(({ name }) => !this.counters.has(name)));
    return this.leaves.flatMap(({ tape }) => tape.bounds).filter(isOfRun);
  }
}

/** A stage before it has places. */
interface Stage {
  readonly tape: Tape;
  readonly results: readonly Node[];
}

/** What a traversal of a stage finds. */
interface Reach {
  /** Inputs that stand for memory which others leave. */
  readonly stands: Map<Node, Node>;
  /** What earlier stages leave. */
  readonly lower: Set<Node>;
  readonly loops: Set<Loop>;
  /** By what scalars are differentiated. */
  readonly targets: Set<Node>;
}

/** The body of a loop, or what stands outside of all. */
class Scope {
  private readonly own = new Map<Node, number>();
  private readonly levels = new Map<Node, number>();
  private readonly isChanging: (node: Node) => boolean;
  private readonly outside: ReadonlySet<Node>;
  private readonly needs: Set<Node>[] = [];
  private readonly loops: Set<Loop>[] = [];
  private readonly known = new Set<Loop>();

  constructor(
    private readonly cutter: Cutter,
    private readonly loop: Loop | null,
    /** The places of inputs, and of what stands outside. */
    private readonly outer: (node: Node) => number,
  ) {
    const { dependence } = cutter;
    this.isChanging = dependence.changing(loop);
    this.outside = new Set(loop === null ? [] : dependence.outsideOf(loop).nodes);
  }

  cut(results: readonly Node[], assignments: readonly Assignment[]): { items: Item[]; placeOf: (node: Node) => number } {
    const values = assignments.map(({ value }) => this.resolve(value));
    const last = [...results, ...values].reduce((level, node) => Math.max(level, this.levelOf(node)), 0);
    for (let level = 0; level <= last; level++) {
      this.needs.push(new Set());
      this.loops.push(new Set());
    }
    for (const node of results) {
      if (node.source instanceof LoopResult) this.takeLoop(node.source.loop);
      else this.needs[this.levelOf(node)]?.add(node);
    }
    const stages: (Stage | null)[] = [];
    for (let level = last; level >= 0; level--) stages[level] = this.stage(level, level === last ? assignments : []);
    const items: Item[] = [];
    stages.forEach((stage, level) => {
      if (stage !== null) items.push(this.leaf(stage));
      for (const loop of this.loops[level] ?? []) items.push(this.item(loop));
    });
    return { items, placeOf: this.placeOf };
  }

  private resolve(node: Node): Node {
    return this.loop?.resolve(node) ?? node;
  }

  private operandsOf(node: Node): readonly Node[] {
    return this.cutter.dependence.operandsOf(node, this.loop);
  }

  private levelOf(node: Node): number {
    const { levels } = this;
    const level = (each: Node) => levels.get(each) ?? 0;
    inOrder([node], (each) => (levels.has(each) || !this.isChanging(each) ? [] : this.operandsOf(each)), (each) => {
      if (levels.has(each) || !this.isChanging(each)) return;
      const below = this.operandsOf(each).reduce((most, operand) => Math.max(most, level(operand)), 0);
      levels.set(each, each.source instanceof LoopResult ? below + 1 : below);
    });
    return level(node);
  }

  private readonly placeOf = (node: Node): number => this.own.get(node) ?? this.outer(node);

  /** Lets a node be memory. */
  private need(node: Node): void {
    if (this.outside.has(node)) return;
    if (node.source instanceof LoopResult && this.isChanging(node)) this.takeLoop(node.source.loop);
    else if (node.op !== 'input') this.needs[this.levelOf(node)]?.add(node);
  }

  private takeLoop(loop: Loop): void {
    if (this.known.has(loop)) return;
    this.known.add(loop);
    const operands = this.cutter.dependence.operandsOfLoop(loop).map((node) => this.resolve(node));
    this.loops[operands.reduce((most, node) => Math.max(most, this.levelOf(node)), 0)]?.add(loop);
    for (const node of operands) this.need(node);
  }

  private stage(level: number, assignments: readonly Assignment[]): Stage | null {
    const results = [...(this.needs[level] as Set<Node>)];
    if (results.length + assignments.length === 0) return null;
    const values = assignments.map(({ value }) => this.resolve(value));
    let reach = this.reach(level, results, values, new Set());
    for (let before = -1; reach.targets.size > before; ) {
      before = reach.targets.size;
      reach = this.reach(level, results, values, reach.targets);
    }
    for (const node of reach.lower) this.need(node);
    for (const loop of reach.loops) this.takeLoop(loop);
    const written = (node: Node) => {
      const found = this.resolve(node);
      return reach.stands.get(found) ?? found;
    };
    return { tape: writeTape(results, assignments, false, written), results };
  }

  /** What a stage is computed from. Nodes that depend on `targets` are not cut off. */
  private reach(level: number, results: readonly Node[], values: readonly Node[], targets: ReadonlySet<Node>): Reach {
    const found: Reach = { stands: new Map(), lower: new Set(), loops: new Set(), targets: new Set(targets) };
    const roots = new Set(results);
    const seen = new Set<Node>();
    const isAbove = this.above(targets);
    const stand = (node: Node) => found.stands.set(node, new Node('input', node.dtype, node.shape, [], [], node));
    const open = [...results, ...values];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (seen.has(node)) continue;
      seen.add(node);
      if (this.outside.has(node)) {
        if (node.op !== 'input') stand(node);
        continue;
      }
      if (node.op === 'input') {
        if (node.source instanceof LoopResult) found.loops.add(node.source.loop);
        continue;
      }
      // Of parts that are written the tensor around them is not left as well.
      if (!roots.has(node) && !isTransparent(node) && node.op !== 'setSlice' && this.levelOf(node) < level && !isAbove(node)) {
        found.lower.add(node);
        stand(node);
        continue;
      }
      const operands = node.operands.map((each) => this.resolve(each));
      // What a derivative of the caller is computed from stands for an adjoint there.
      if (node.op === 'gradient' || node.op === 'customGradient') found.targets.add(operands[1] as Node);
      open.push(...operands);
    }
    return found;
  }

  /** Whether nodes are computed from one of some others, not by loops. */
  private above(targets: ReadonlySet<Node>): (node: Node) => boolean {
    const known = new Map<Node, boolean>();
    const operands = (node: Node) => (this.outside.has(node) ? [] : node.operands.map((each) => this.resolve(each)));
    return (node) => {
      if (targets.size === 0) return false;
      inOrder([node], (each) => (known.has(each) ? [] : operands(each)), (each) => {
        if (!known.has(each)) known.set(each, operands(each).some((operand) => targets.has(operand) || known.get(operand) === true));
      });
      return known.get(node) as boolean;
    };
  }

  private leaf({ tape, results }: Stage): number {
    const slots = tape.inputs.map((input) => this.placeOf(input.source instanceof Node ? input.source : input));
    const places = results.map((node) => {
      const place = this.cutter.place({ kind: 'leaf' });
      this.own.set(node, place);
      return place;
    });
    return this.cutter.leaves.push({ tape, slots, results: places }) - 1;
  }

  private item(loop: Loop): LoopItem {
    const { cutter, own } = this;
    const { dependence } = cutter;
    cutter.noteLoop(loop);
    const within = new Map<Node, number>();
    const assignments: Assignment[] = [];
    const states = loop.carried.map(({ first, held, next }, k): StatePlaces => {
      const bytes = largestBytes(held);
      const [last, spare] = [cutter.place({ kind: 'own', bytes }), cutter.place({ kind: 'own', bytes })];
      const [before, after] = [cutter.place({ kind: 'step' }), cutter.place({ kind: 'step' })];
      const written = new Node('input', held.dtype, held.shape, [], [], {});
      within.set(held, before);
      within.set(written, after);
      own.set(loop.states[k] as Node, last);
      assignments.push({ input: written, value: next });
      return { first: this.placeOf(this.resolve(first)), last, spare, before, after };
    });
    for (const row of dependence.rowsOf(loop)) {
      const { held, place, value } = row;
      const memory = cutter.place({ kind: 'own', bytes: largestBytes(held) });
      within.set(held, memory);
      own.set(loop.stacks[loop.rows.indexOf(row)] as Node, memory);
      const starts = held.shape.map((_, axis) => ({ size: axis === 0 ? place : 0 }));
      assignments.push({ input: held, value: new Node('setSlice', held.dtype, held.shape, [held, value], starts) });
    }
    for (const node of dependence.outsideOf(loop).nodes) within.set(node, this.placeOf(this.resolve(node)));
    const outer = (node: Node) => {
      const place = within.get(node);
      if (place === undefined) throw new ResiduaError('internal', 'loop: a body uses memory that has no place');
      return place;
    };
    const { items } = new Scope(cutter, loop, outer).cut([], assignments);
    return { steps: loop.steps, counters: loop.counters, states, body: items };
  }
}
