/**
 * Derivatives of recipes with loops. The module differentiates what is between loops; this adds what goes through them.
 *
 * For the last loop the derivatives by its results are those of the scalar, where results are inputs like any other. A loop in the reverse order
 * gives those by what it takes: a step has the derivatives λ by the states after it, and finds by one gradient of Σ λ · states + Σ ȳ · rows those by the
 * states before it, by slices of scanned tensors, whose rows it leaves, and by all else, which it adds up. With them the loop before is the last one.
 *
 * A step needs its states. Every ⌈√n⌉ steps the loop leaves them, and the reverse loop goes from part to part: it runs the steps of a part once more, with
 * all their states as rows, and then back. So n steps need memory for 2 √n states and one forward pass more. (Griewank, Walther: Evaluating Derivatives,
 * 2008, section 12.)
 */

import { invalidGraph } from '../../arguments/errors.js';
import { minus, plus, sameSize, times, type Size } from '../size.js';
import { expandTo } from './broadcast.js';
import { apply, cast } from './elementwise.js';
import { Dependence, heldNode, inOrder, isTransparent, Loop, LoopResult, newCounter, type Row, type Steps } from './loop.js';
import { constantNode, Node } from './node.js';
import { REALS } from './operands.js';
import { reduce } from './reductions.js';
import { concat, flip } from './slices.js';
import { gradient } from './sources.js';
import { reshaped } from './views.js';

/** A term of the scalar that is differentiated: Σ factor · of, where the factor is a constant; null for the scalar itself. */
interface Term {
  readonly of: Node;
  readonly factor: Node | null;
}

/**
 * Derivatives of a scalar by tensors, each of one or more real parts, those that go through loops among them. Throws 'invalid-argument' as `gradient` does, and
 * 'invalid-graph' for derivatives of derivatives through a loop.
 */
export function gradients(scalar: Node, wrt: readonly (readonly Node[])[]): Node[][] {
  const direct = wrt.map((parts, place) => parts.map((part) => gradient(scalar, part, place)));
  const found = throughLoops(scalar, wrt.flat(), null);
  return found === null ? direct : wrt.map((parts) => found.splice(0, parts.length));
}

/**
 * Derivatives of a scalar that depends on loops; null for others.
 *
 * @param within the loop in whose body the scalar is computed: what stands outside of it is constant, unless it is derived by
 */
function throughLoops(scalar: Node, wrt: readonly Node[], within: Loop | null): Node[] | null {
  const dependence = new Dependence([scalar]);
  return dependence.loops.length === 0 ? null : new Sweep(dependence, scalar, wrt, within).derivatives();
}

class Sweep {
  private readonly terms: Term[];
  private readonly asked = new Map<Node, boolean>();
  private readonly taken = new Map<Loop, readonly Node[]>();
  /** For each node those that it is computed from without loops. */
  private readonly below = new Map<Node, Set<Node>>();
  private readonly isConstant: (node: Node) => boolean;

  constructor(
    private readonly dependence: Dependence,
    private readonly scalar: Node,
    private readonly wrt: readonly Node[],
    within: Loop | null,
  ) {
    this.terms = [{ of: scalar, factor: null }];
    const isChanging = dependence.changing(within);
    this.isConstant = (node) => !isTransparent(node) && !isChanging(node);
  }

  derivatives(): Node[] {
    const loops = new Set<Loop>();
    inOrder([this.scalar], this.operandsOf, (node) => {
      if (node.source instanceof LoopResult && !this.isConstant(node)) loops.add(node.source.loop);
    });
    for (const loop of [...loops].reverse()) if (this.takes(loop).some((node) => this.isAsked(node))) this.through(loop);
    return this.wrt.map((by) => this.by(by) ?? constantNode(0, by.dtype, by.shape));
  }

  private readonly operandsOf = (node: Node): readonly Node[] => (this.isConstant(node) ? [] : derivedBy(node, this.operandsWithin(node, null)));

  private operandsWithin(node: Node, within: Loop | null): readonly Node[] {
    return node.source instanceof LoopResult ? this.takes(node.source.loop) : this.dependence.operandsOf(node, within);
  }

  /** What a loop takes from the recipe around it, and the views that derivatives are by, which bodies have themselves. */
  private takes(loop: Loop): readonly Node[] {
    let found = this.taken.get(loop);
    if (found === undefined) {
      const { dependence } = this;
      const views = this.wrt.filter(isTransparent);
      const inside = new Set<Node>();
      if (views.length > 0) inOrder(dependence.resultsOf(loop), (node) => this.operandsWithin(node, loop), () => {}, inside);
      this.taken.set(loop, (found = [...dependence.operandsOfLoop(loop), ...views.filter((node) => inside.has(node))]));
    }
    return found;
  }

  /** Whether a node depends on what is asked for. */
  private isAsked(node: Node): boolean {
    const { asked, wrt, operandsOf } = this;
    inOrder([node], (each) => (asked.has(each) || wrt.includes(each) ? [] : operandsOf(each)), (each) => {
      if (!asked.has(each)) asked.set(each, wrt.includes(each) || operandsOf(each).some((operand) => asked.get(operand) === true));
    });
    return asked.get(node) as boolean;
  }

  /** The derivative of all terms so far; null where none depends on the node but through loops. */
  private by(node: Node): Node | null {
    const parts = this.terms.flatMap(({ of, factor }) => {
      if (of === node && factor !== null) return [cast(factor, node.dtype)];
      if (!this.isBelow(node, of)) return [];
      return [gradient(factor === null ? of : contracted(of, factor), node, 0)];
    });
    return parts.length === 0 ? null : parts.reduce((a, b) => apply('add', [a, b]));
  }

  /** Whether a node is among those that another one is computed from without loops. */
  private isBelow(node: Node, of: Node): boolean {
    let found = this.below.get(of);
    if (found === undefined) {
      found = new Set();
      inOrder([of], (each) => (this.isConstant(each) ? [] : derivedBy(each, each.operands)), () => {}, found);
      this.below.set(of, found);
    }
    return found.has(node);
  }

  /** Adds the terms of what a loop takes. */
  private through(loop: Loop): void {
    const { dependence } = this;
    const adjoints = loop.states.map((node) => (isReal(node) ? this.by(node) : null));
    const rows = dependence.rowsOf(loop).flatMap((row): RowAdjoint[] => {
      const result = loop.stacks[loop.rows.indexOf(row)] as Node;
      const adjoint = isReal(result) ? this.by(result) : null;
      return adjoint === null ? [] : [{ row, adjoint }];
    });
    if (rows.length === 0 && adjoints.every((each) => each === null)) return;
    if (loop.isOfGradient) throw invalidGraph('grad: got a derivative that goes through a loop as the scalar; takes derivatives of derivatives without loops');
    const { slices, shared } = this.takenBy(loop);
    const found = reversed(loop, adjoints, rows, slices, shared);
    loop.carried.forEach(({ first }, k) => this.add(first, found.firsts[k] ?? null));
    slices.forEach(({ of }, k) => this.add(of, found.slices[k] as Node));
    shared.forEach((node, k) => this.add(node, found.shared[k] as Node));
  }

  /** The slices of scanned tensors that a loop's steps take, and other tensors, as far as they depend on what is asked for. */
  private takenBy(loop: Loop): { slices: Slice[]; shared: Node[] } {
    const { dependence } = this;
    const isChanging = dependence.changing(loop);
    const isWanted = (node: Node) => isReal(node) && this.isAsked(node);
    const isShared = (node: Node) => !isChanging(node) && (!isTransparent(node) || this.wrt.includes(node));
    const slices: Slice[] = [];
    const shared: Node[] = [];
    inOrder(dependence.resultsOf(loop), (node) => {
      const slice = isChanging(node) ? sliceOf(node, loop, isChanging) : null;
      if (slice !== null) return isWanted(slice.of) ? (slices.push(slice), []) : [];
      if (!isShared(node)) return this.operandsWithin(node, loop);
      if (isWanted(node)) shared.push(node);
      return [];
    }, () => {});
    // The derivative by a tensor has that by its slices.
    const isOfShared = (node: Node): boolean => shared.includes(node) || (!isShared(node) && node.operands.some(isOfShared));
    return { slices: slices.filter(({ of }) => !isOfShared(of)), shared };
  }

  private add(of: Node, factor: Node | null): void {
    if (factor !== null) this.terms.push({ of, factor });
  }
}

/** What a derivative passes to of a node's operands: of a result with derivatives of the caller to what these are by. */
export function derivedBy({ op }: Node, operands: readonly Node[]): readonly Node[] {
  return op === 'customGradient' ? operands.filter((_, place) => place >= 2 && place % 2 === 0) : operands;
}

export function isReal({ dtype }: Node): boolean {
  return REALS.includes(dtype);
}

/** Σ a · b, in single precision. */
export function contracted(a: Node, b: Node): Node {
  const product = apply('mul', [cast(a, 'f32'), cast(b, 'f32')]);
  return reduce('sum', product, a.shape.map((_, axis) => axis));
}

/** One place of the first axis of a scanned tensor, which a step reads. */
interface Slice {
  readonly node: Node;
  readonly of: Node;
  /** Whether the first step reads the last place. */
  readonly isReversed: boolean;
}

/** What a step takes of a scanned tensor, if a node is that. */
function sliceOf(node: Node, { steps, counter }: Loop, isChanging: (node: Node) => boolean): Slice | null {
  const [of] = node.operands;
  const limit = steps.ends[0]?.limit as Size;
  if (node.op !== 'slice' || of === undefined || isChanging(of) || !sameSize(of.shape[0] as Size, limit) || node.shape[0] !== 1) return null;
  const [first, ...others] = node.attributes.slice(0, node.shape.length).map((each) => (each as { readonly size: Size }).size);
  const isWhole = others.every((start, k) => start === 0 && sameSize(node.shape[k + 1] as Size, of.shape[k + 1] as Size));
  if (!isWhole || node.attributes.slice(node.shape.length).some((step) => step !== 1)) return null;
  if (sameSize(first as Size, counter)) return { node, of, isReversed: false };
  return sameSize(first as Size, minus(minus(limit, 1), counter)) ? { node, of, isReversed: true } : null;
}

interface RowAdjoint {
  readonly row: Row;
  readonly adjoint: Node;
}

/** What the reverse loop gives: derivatives by the first states, null for those that have none, by scanned tensors, and by what all steps take. */
interface Reversed {
  readonly firsts: readonly (Node | null)[];
  readonly slices: readonly Node[];
  readonly shared: readonly Node[];
}

/** A part of a tensor along its first axis, where it may depend on counters. */
export function rowsAt(x: Node, place: Size, count: Size): Node {
  const starts = x.shape.map((_, axis) => ({ size: axis === 0 ? place : 0 }));
  return new Node('slice', x.dtype, [count, ...x.shape.slice(1)], [x], [...starts, ...x.shape.map(() => 1)]);
}

/** One place of the first axis, which goes. */
export function rowAt(x: Node, place: Size): Node {
  return reshaped(rowsAt(x, place, 1), x.shape.slice(1));
}

/** A tensor as a row. */
export function asRow(x: Node): Node {
  return reshaped(x, [1, ...x.shape]);
}

/** Lets a loop leave the states that its parts begin with. */
function checkpointsOf(loop: Loop, length: number, parts: number): readonly Node[] {
  if (loop.checkpoints === null) {
    const part = newCounter(parts, length);
    loop.counters.push(part);
    // The last step of a part leaves what the next part begins with; those before it are written over.
    loop.checkpoints = loop.carried.map(({ first, next }) => concat([asRow(first), loop.stack(asRow(next), part.dim, parts)], 0));
  }
  return loop.checkpoints;
}

function reversed(loop: Loop, adjoints: readonly (Node | null)[], rows: readonly RowAdjoint[], slices: readonly Slice[], shared: readonly Node[]): Reversed {
  const most = Math.max(1, loop.mostSteps);
  const length = Math.ceil(Math.sqrt(most));
  const count = Math.ceil(most / length);
  const starts = checkpointsOf(loop, length, count);
  const limit = loop.steps.ends[0]?.limit as Size;
  const counter = { dim: loop.counter, per: 1 };
  const part = newCounter(count - 1);
  const parts = new Loop({ first: 0, ends: [{ limit, per: length }], isReversed: true }, part, true);
  const begin = times(part.dim, length);
  const steps: Steps = { first: begin, ends: [{ limit, per: 1 }, { limit: plus(begin, length), per: 1 }], isReversed: false };
  const place = minus(loop.counter, begin);

  // The steps of a part once more.
  const again = new Loop(steps, counter, true);
  loop.carried.forEach(({ held, next }, k) => again.carry({ first: rowAt(starts[k] as Node, part.dim), held, next }));
  const before = loop.carried.map(({ held }) => again.stack(asRow(held), place, length));

  // Back through them.
  const back = new Loop({ ...steps, isReversed: true }, counter, true, new Map(loop.carried.map(({ held }, k) => [held, rowAt(before[k] as Node, place)])));
  const states = loop.carried.flatMap(({ held, next }, k) => (isReal(held) ? [{ k, held, next, ofStep: heldLike(held), ofPart: heldLike(held), first: adjoints[k] ?? null }] : []));
  const sums = shared.map((node) => ({ node, ofStep: heldLike(node), ofPart: heldLike(node) }));
  const terms = [
    ...states.map(({ next, ofStep }) => contracted(next, ofStep)),
    ...rows.map(({ row, adjoint }) => contracted(row.value, rowsAt(adjoint, row.place, row.value.shape[0] as Size))),
  ];
  const scalar = terms.reduce((a, b) => apply('add', [a, b]));
  const targets = [...states.map(({ held }) => held), ...slices.map(({ node }) => node), ...shared];
  const derivatives = throughLoops(scalar, targets, loop) ?? targets.map((node) => gradient(scalar, node, 0));
  const found = derivatives.map((node, k) => expandTo('grad', cast(node, 'f32'), (targets[k] as Node).shape));
  const next = (k: number) => found[k] as Node;
  const ofStates = states.map(({ ofStep, ofPart }, k) => back.carry({ first: ofPart, held: ofStep, next: next(k) }));
  const left = slices.map((_, k) => back.stack(next(states.length + k), place, length));
  const ofShared = sums.map(({ ofStep, ofPart }, k) => back.carry({ first: ofPart, held: ofStep, next: apply('add', [ofStep, next(states.length + slices.length + k)]) }));

  // From part to part.
  const firsts: (Node | null)[] = loop.carried.map(() => null);
  states.forEach(({ k, first, ofPart }, at) => {
    firsts[k] = parts.carry({ first: first === null ? zerosLike(ofPart) : cast(first, 'f32'), held: ofPart, next: ofStates[at] as Node });
  });
  const sumsOfParts = sums.map(({ ofPart }, k) => parts.carry({ first: zerosLike(ofPart), held: ofPart, next: ofShared[k] as Node }));
  const ofSlices = left.map((each, k) => {
    const whole = rowsAt(parts.stack(each, begin, count * length), 0, limit);
    return (slices[k] as Slice).isReversed ? flip(whole, 0) : whole;
  });
  return { firsts, slices: ofSlices, shared: sumsOfParts };
}

/** A derivative that a loop carries. */
export function heldLike({ shape }: Node): Node {
  return heldNode({ dtype: 'f32', shape });
}

function zerosLike({ shape }: Node): Node {
  return constantNode(0, 'f32', shape);
}
