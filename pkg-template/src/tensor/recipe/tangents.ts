/**
 * Derivatives of recipes in a direction. Without loops they are derivatives of the reverse ones: those of Σ factor · result by what is told, times the
 * direction, are linear in the
 * factors, and their derivatives by the factors are the result's in the direction. A loop has one loop more, whose states are those of the loop and their
 * derivatives in the direction.
 */

import { invalidGraph } from '../../arguments/errors.js';
import type { Size } from '../size.js';
import { apply, cast } from './elementwise.js';
import { contracted, derivedBy, heldLike, isReal } from './loop-gradient.js';
import { Dependence, inOrder, isTransparent, Loop, LoopResult } from './loop.js';
import { constantNode, type Node } from './node.js';
import { gradient } from './sources.js';

/**
 * Derivatives of real nodes in a direction, of their types and shapes. Throws 'invalid-graph' for what has derivatives in the reverse order alone: functions
 * with derivatives of
 * the caller, and loops that are part of derivatives.
 *
 * @param call its name in messages
 * @param direction what belongs to each of the nodes that the derivative is by
 */
export function tangents(call: string, of: readonly Node[], by: readonly Node[], direction: readonly Node[]): Node[] {
  return new Forward(call, of, by, direction).tangents(of);
}

/** Whether there is a loop, or a function with derivatives of the caller, in what a node is computed from. */
export function hasDetours(node: Node): boolean {
  let found = new Dependence([node]).loops.length > 0;
  inOrder([node], ({ operands }) => operands, ({ op }) => { found ||= op === 'customGradient'; });
  return found;
}

class Forward {
  private readonly dependence: Dependence;
  /** What derivatives in the direction are known of. */
  private readonly known: Map<Node, Node>;
  private readonly depends = new Set<Node>();

  constructor(
    private readonly call: string,
    of: readonly Node[],
    by: readonly Node[],
    direction: readonly Node[],
  ) {
    this.dependence = new Dependence(of);
    this.known = new Map(by.map((node, k) => [node, direction[k] as Node]));
    const loops = new Set<Loop>();
    const operandsOf = (node: Node) => (this.known.has(node) ? [] : derivedBy(node, this.dependence.operandsOf(node, null)));
    inOrder(of, operandsOf, (node) => {
      if (!this.known.has(node) && !operandsOf(node).some((each) => this.depends.has(each))) return;
      this.depends.add(node);
      if (this.known.has(node)) return;
      if (node.op === 'customGradient') this.refuse('customGradient()');
      if (node.source instanceof LoopResult) loops.add(node.source.loop);
    });
    for (const loop of loops) this.through(loop);
  }

  /** Derivatives of nodes that are known, or computed from such nodes without further loops. */
  tangents(of: readonly Node[]): Node[] {
    const { known } = this;
    const open = of.filter((node) => !known.has(node));
    const below = new Set<Node>();
    inOrder(open, (node) => (known.has(node) ? [] : node.operands), (node) => {
      if (known.has(node)) below.add(node);
    });
    if (below.size === 0) return of.map((node) => known.get(node) ?? constantNode(0, node.dtype, node.shape));
    // The derivative does not depend on these numbers.
    const factors = open.map(({ shape }) => constantNode(1, 'f32', shape));
    const sum = sumOf(open.map((node, k) => contracted(node, factors[k] as Node)));
    const along = sumOf([...below].map((node) => contracted(gradient(sum, node, 0), known.get(node) as Node)));
    const found = open.map((node, k) => cast(gradient(along, factors[k] as Node, 0), node.dtype));
    return of.map((node) => known.get(node) ?? (found[open.indexOf(node)] as Node));
  }

  private refuse(what: string): never {
    throw invalidGraph(`${this.call}: got a function that goes through ${what}, which has derivatives in the reverse order alone; takes others`);
  }

  /** Makes what a loop gives known. */
  private through(loop: Loop): void {
    const { dependence, known } = this;
    if (loop.isOfGradient || loop.substitutes.size > 0) this.refuse('the derivative of a loop');
    const isChanging = dependence.changing(loop);
    const rows = dependence.rowsOf(loop);
    const shared: Node[] = [];
    inOrder(dependence.resultsOf(loop), (node) => {
      if (!known.has(node) && (isChanging(node) || isTransparent(node))) return dependence.operandsOf(node, loop);
      if (this.depends.has(node) && isReal(node)) shared.push(node);
      return [];
    }, () => {});
    const states = loop.carried.flatMap((state, place) => (isReal(state.held) ? [{ ...state, place, along: heldLike(state.held) }] : []));
    const left = rows.filter(({ value }) => isReal(value));
    const results = [...states.map(({ next }) => next), ...left.map(({ value }) => value)];
    const direction = [...states.map(({ along }) => along), ...this.tangents(shared)];
    const found = tangents(this.call, results, [...states.map(({ held }) => held), ...shared], direction);
    const [counter, ...others] = loop.counters as [Loop['counters'][number], ...Loop['counters']];
    const made = new Loop(loop.steps, counter);
    made.counters.push(...others);
    for (const state of loop.carried) made.carry(state);
    const firsts = this.tangents(states.map(({ first }) => first));
    states.forEach(({ place, along }, k) => {
      known.set(loop.states[place] as Node, made.carry({ first: cast(firsts[k] as Node, 'f32'), held: along, next: cast(found[k] as Node, 'f32') }));
    });
    left.forEach(({ place, held }, k) => {
      const stack = loop.stacks[loop.rows.indexOf(left[k] as (typeof left)[number])] as Node;
      known.set(stack, made.stack(found[states.length + k] as Node, place, held.shape[0] as Size));
    });
  }
}

function sumOf(terms: readonly Node[]): Node {
  return terms.reduce((a, b) => apply('add', [a, b]));
}
