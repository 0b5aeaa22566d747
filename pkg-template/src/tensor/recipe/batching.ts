/**
 * Recipes for many examples at once: what was recorded for one example, with an axis of examples in front of all that depends on them. What does not is
 * left as it is, and computed once. A derivative by what is the same for all examples is one for each, so that this gets the axis too. A loop of which
 * anything depends on an example becomes one loop over all examples.
 */

import { invalidGraph } from '../../arguments/errors.js';
import { product, termsOf, times, type Size } from '../size.js';
import { expandTo } from './broadcast.js';
import { apply, where } from './elementwise.js';
import { heldNode, inOrder, isCounter, Loop, LoopResult, nodesOfLoop } from './loop.js';
import { constantNode, Node, type Attribute } from './node.js';
import { reduce, sizeNode } from './reductions.js';
import { LINALG } from '../tape-codes.js';
import { permute, reshaped } from './views.js';

/**
 * Nodes for all examples, with an axis for them in front. Throws 'invalid-graph' for operations that have no rule.
 *
 * @param call its name in messages
 * @param size how many examples there are
 * @param examples for each input of the recipe for one example the tensor of all of them, with the axis in front
 */
export function batched(call: string, roots: readonly Node[], size: Size, examples: ReadonlyMap<Node, Node>): Node[] {
  return new Batch(call, size, examples).of(roots);
}

/** What a node is computed from, through loops too. */
function operandsOf(node: Node): readonly Node[] {
  return node.source instanceof LoopResult ? [...nodesOfLoop(node.source.loop), ...node.source.loop.substitutes.values()] : node.operands;
}

/** Nodes with the axis of examples, and loops of which something has it. */
class Marks {
  readonly nodes: Set<Node>;
  /** States of these loops in their bodies. */
  readonly held = new Set<Node>();
  private readonly loops = new Set<Loop>();

  constructor(
    private readonly order: readonly Node[],
    examples: Iterable<Node>,
  ) {
    this.nodes = new Set(examples);
    // What an operation needs the axis of may stand before it, and so what else depends on that.
    for (let before = -1; this.nodes.size + this.loops.size > before; ) {
      before = this.nodes.size + this.loops.size;
      for (const node of order) this.visit(node);
    }
  }

  /** The nodes in order. */
  get inOrder(): Node[] {
    return this.order.filter((node) => this.nodes.has(node));
  }

  private visit(node: Node): void {
    const { nodes, loops } = this;
    if (node.source instanceof LoopResult) {
      const { loop } = node.source;
      const helds = [...loop.carried.map(({ held }) => held), ...loop.substitutes.keys()];
      if (!loops.has(loop) && [...helds, ...operandsOf(node)].some((each) => nodes.has(each))) {
        loops.add(loop);
        for (const held of helds) {
          nodes.add(held);
          this.held.add(held);
        }
      }
      if (loops.has(loop)) nodes.add(node);
      return;
    }
    if (!node.operands.some((each) => nodes.has(each))) return;
    nodes.add(node);
    if (node.op === 'gradient') nodes.add(node.operands[1] as Node);
    if (node.op === 'customGradient') for (const each of node.operands) nodes.add(each);
  }
}

class Batch {
  private readonly made: Map<Node, Node>;
  private readonly loops = new Map<Loop, { readonly states: readonly Node[]; readonly stacks: readonly Node[] }>();

  constructor(
    private readonly call: string,
    private readonly size: Size,
    examples: ReadonlyMap<Node, Node>,
  ) {
    this.made = new Map(examples);
  }

  of(roots: readonly Node[]): Node[] {
    const { made } = this;
    const order: Node[] = [];
    inOrder(roots, operandsOf, (node) => order.push(node));
    const marks = new Marks(order, made.keys());
    for (const node of marks.held) made.set(node, heldNode({ dtype: node.dtype, shape: [this.size, ...node.shape] }));
    for (const node of marks.inOrder) if (!made.has(node)) made.set(node, this.make(node));
    return roots.map((node) => this.front(node));
  }

  /** A node with the axis, over which one without it is repeated. */
  private front(node: Node): Node {
    return this.made.get(node) ?? this.repeated(node);
  }

  private repeated(node: Node): Node {
    return expandTo(this.call, reshaped(node, [1, ...node.shape]), [this.size, ...node.shape]);
  }

  private has(node: Node): boolean {
    return this.made.has(node);
  }

  /** An operand that broadcasts to a rank, without the axis: where it has the axis, this stands in front of the others. */
  private aligned(node: Node, rank: number): Node {
    const found = this.made.get(node);
    if (found === undefined) return node;
    return reshaped(found, [this.size, ...Array.from({ length: rank - node.shape.length }, () => 1), ...node.shape]);
  }

  /** The same operation on other operands, its result with the axis. */
  private same(node: Node, operands: readonly Node[], attributes: readonly Attribute[] = node.attributes): Node {
    return new Node(node.op, node.dtype, [this.size, ...node.shape], operands, attributes, null, node.bounds);
  }

  /** The same operation on operands that all have the axis. Attributes at some places are axes. */
  private along(node: Node, axes: readonly number[], operands: readonly Node[] = node.operands): Node {
    const attributes = node.attributes.map((each, place) => (axes.includes(place) ? (each as number) + 1 : each));
    return this.same(node, operands.map((each) => this.front(each)), attributes);
  }

  /** Where the list of axes begins among the attributes. */
  private alongFrom(node: Node, first: number): Node {
    return this.along(node, node.attributes.map((_, place) => place).slice(first));
  }

  private make(node: Node): Node {
    const { operands, attributes } = node;
    const rank = node.shape.length;
    if (node.source instanceof LoopResult) return this.resultOf(node.source, node);
    if (!operands.some((each) => this.has(each))) return this.repeated(node);
    const [x] = operands as [Node, ...Node[]];
    switch (node.op) {
      case 'elementwise':
        return this.same(node, operands.map((each) => this.aligned(each, rank)));
      case 'reshape':
        return reshaped(this.front(x), [this.size, ...node.shape]);
      case 'expand':
        return expandTo(this.call, this.aligned(x, rank), [this.size, ...node.shape]);
      case 'permute':
        return permute(this.front(x), [0, ...(attributes as number[]).map((axis) => axis + 1)]);
      case 'slice':
        return this.slice(node, this.front(x));
      case 'setSlice':
        return this.same(node, operands.map((each) => this.front(each)), [{ size: 0 }, ...attributes]);
      case 'pad':
        return operands[1] !== undefined && this.has(operands[1]) ? this.refuse(node) : this.same(node, [this.front(x), ...operands.slice(1)], [attributes[0] as number, { size: 0 }, ...attributes.slice(1)]);
      case 'concat':
      case 'windows':
      case 'gatherElements':
      case 'scatter':
        return this.along(node, [0]);
      case 'fourier':
        return this.along(node, [0, 1]);
      case 'scan':
        return this.along(node, [1]);
      case 'scanBy':
        return this.along(node, [2]);
      case 'reduce':
        return this.alongFrom(node, 1);
      case 'fold':
        return this.alongFrom(node, 2);
      case 'argsort':
      case 'dequantize':
        return this.along(node, []);
      case 'matmul':
        return this.product(node);
      case 'attention':
        return this.same(node, [...operands.slice(0, 3).map((each) => this.front(each)), ...operands.slice(3).map((mask) => this.aligned(mask, rank))]);
      case 'gather':
        return this.gather(node);
      case 'indexPut':
        return this.indexPut(node);
      case 'sparseProduct':
        return this.sparseProduct(node);
      case 'linalg':
        if (node.attributes[0] === LINALG.sparseSolve) return this.sparseSolve(node);
        // The second operand of a pseudoinverse is a number.
        return operands.some((each) => each.shape.length === 0 && this.has(each)) ? this.refuse(node) : this.same(node, operands.map((each) => (each.shape.length === 0 ? each : this.front(each))));
      case 'gradient': {
        // What has no axis does not depend on what it is derived by, which has one.
        if (!this.has(x)) return constantNode(0, node.dtype, [this.size, ...node.shape]);
        const count = this.front(x).shape.map((_, axis) => axis);
        return this.same(node, [reduce('sum', this.front(x), count), this.front(operands[1] as Node)]);
      }
      case 'customGradient':
        return this.same(node, operands.map((each) => this.front(each)));
      default:
        return this.refuse(node);
    }
  }

  private refuse({ op }: Node): never {
    throw invalidGraph(`${this.call}: got a function with the operation ${op} on examples; takes others`);
  }

  /** In the body of a loop, slices stay those of the first axis, along which derivatives find them. */
  private slice(node: Node, x: Node): Node {
    const { attributes, shape } = node;
    const rank = shape.length;
    const starts = attributes.slice(0, rank);
    const steps = attributes.slice(rank);
    const [first] = starts as { readonly size: Size }[];
    if (first === undefined || !termsOf(first.size).some(({ dims }) => dims.some(isCounter))) return this.same(node, [x], [{ size: 0 }, ...starts, 1, ...steps]);
    const order = exchanged(rank + 1);
    const [count, ...rest] = shape as [Size, ...Size[]];
    const [start, ...others] = starts as [Attribute, ...Attribute[]];
    const [step, ...otherSteps] = steps as [Attribute, ...Attribute[]];
    const part = new Node('slice', node.dtype, [count, this.size, ...rest], [permute(x, order)], [start, { size: 0 }, ...others, step, 1, ...otherSteps], null, node.bounds);
    return permute(part, order);
  }

  /** Rows of all examples times one matrix are one product. */
  private product(node: Node): Node {
    const [a, b] = node.operands as [Node, Node];
    const rank = node.shape.length;
    if (this.has(b) || b.shape.length > 2) return this.same(node, [this.aligned(a, rank), this.aligned(b, rank)]);
    const rows = this.front(a);
    const count = product(rows.shape.slice(0, -1));
    const whole = new Node('matmul', node.dtype, [count, node.shape.at(-1) as Size], [reshaped(rows, [count, rows.shape.at(-1) as Size]), b]);
    return reshaped(whole, [this.size, ...node.shape]);
  }

  /** Places along an axis of one example as places along that of all examples: one that is out of range stays so. */
  private places(indices: Node, count: Size): Node {
    const { dtype, shape } = indices;
    const size = sizeNode(count, dtype);
    const place = dtype === 'i32' ? where(apply('lt', [indices, 0]), apply('add', [indices, size]), indices) : indices;
    const isBelow = apply('lt', [place, size]);
    const isInside = dtype === 'i32' ? apply('and', [isBelow, apply('gte', [place, 0])]) : isBelow;
    const example = new Node('iota', dtype, [shape[0] as Size, ...shape.slice(1).map(() => 1)], [], [0]);
    return where(isInside, apply('add', [apply('mul', [example, size]), place]), sizeNode(times(this.size, count), dtype));
  }

  /** An axis of each example in front of its others, one after another of all examples. */
  private merged(x: Node, axis: number): Node {
    const others = x.shape.map((_, k) => k).filter((k) => k !== 0 && k !== axis + 1);
    const moved = permute(x, [0, axis + 1, ...others]);
    return reshaped(moved, [times(this.size, moved.shape[1] as Size), ...moved.shape.slice(2)]);
  }

  private gather(node: Node): Node {
    const [x, indices] = node.operands as [Node, Node];
    const axis = node.attributes[0] as number;
    const chosen = indices.shape.length;
    if (!this.has(indices)) return this.same(node, [this.front(x), indices], [axis + 1]);
    const before = Array.from({ length: axis }, (_, k) => k);
    const after = Array.from({ length: x.shape.length - axis - 1 }, (_, k) => axis + k);
    const own = Array.from({ length: chosen }, (_, k) => k + 1);
    if (!this.has(x)) {
      const indexed = this.front(indices);
      const found = new Node('gather', node.dtype, [...x.shape.slice(0, axis), ...indexed.shape, ...x.shape.slice(axis + 1)], [x, indexed], [axis], null, node.bounds);
      return permute(found, [axis, ...before, ...own.map((k) => k + axis), ...after.map((k) => k + chosen + 1)]);
    }
    const places = this.places(this.front(indices), x.shape[axis] as Size);
    const merged = this.merged(this.front(x), axis);
    const found = new Node('gather', node.dtype, [...places.shape, ...merged.shape.slice(1)], [merged, places], [0], null, node.bounds);
    return permute(found, [0, ...before.map((k) => k + chosen + 1), ...own, ...after.map((k) => k + chosen + 1)]);
  }

  /** The columns of all examples beside one another, and values for each of them. */
  private sparseProduct(node: Node): Node {
    const { operands, shape } = node;
    const [, , values, x] = operands as [Node, Node, Node, Node];
    if (operands.some((each) => each.dtype !== 'f32' && this.has(each))) return this.refuse(node);
    const columns = (of: Node): Node => permute(this.front(of), [1, 0, ...of.shape.slice(1).map((_, k) => k + 2)]);
    const dense = columns(x);
    const rest = dense.shape.slice(1);
    const repeated = (of: Node): Node => expandTo(this.call, reshaped(of, [...of.shape, ...rest.slice(of.shape.length - 1).map(() => 1)]), [of.shape[0] as Size, ...rest]);
    const own = this.has(values) || values.shape.length > 1 ? repeated(columns(values)) : values;
    const given = operands.map((each) => (each === values ? own : each === x ? dense : each));
    const found = new Node('sparseProduct', 'f32', [shape[0] as Size, ...rest], given);
    return permute(found, [1, 0, ...shape.slice(1).map((_, k) => k + 2)]);
  }

  /** The right sides of all examples beside one another. The matrix is the same for all. */
  private sparseSolve(node: Node): Node {
    const [b, ...matrix] = node.operands as [Node, ...Node[]];
    if (matrix.some((each) => this.has(each))) return this.refuse(node);
    const [size, width] = b.shape as [Size, Size];
    const sides = reshaped(permute(this.front(b), [1, 0, 2]), [size, times(this.size, width)]);
    const found = new Node('linalg', 'f32', sides.shape, [sides, ...matrix], node.attributes);
    return permute(reshaped(found, [size, this.size, width]), [1, 0, 2]);
  }

  private indexPut(node: Node): Node {
    const [x, indices, source] = node.operands as [Node, Node, Node];
    const [axis, combine] = node.attributes as [number, number];
    if (!this.has(indices)) return this.same(node, [this.front(x), indices, this.front(source)], [axis + 1, combine]);
    const to = this.merged(this.front(x), axis);
    const places = this.places(this.front(indices), x.shape[axis] as Size);
    const put = new Node('indexPut', node.dtype, to.shape, [to, reshaped(places, [product(places.shape)]), this.merged(this.front(source), axis)], [0, combine]);
    const apart = reshaped(put, [this.size, x.shape[axis] as Size, ...put.shape.slice(1)]);
    const order = node.shape.map((_, k) => (k === axis ? 1 : k < axis ? k + 2 : k + 1));
    return permute(apart, [0, ...order]);
  }

  private resultOf({ loop, kind, position }: LoopResult, node: Node): Node {
    let found = this.loops.get(loop);
    if (found === undefined) this.loops.set(loop, (found = this.loopOf(loop)));
    return (kind === 'state' ? found.states : found.stacks)[position] ?? this.refuse(node);
  }

  private loopOf(loop: Loop): { states: Node[]; stacks: Node[] } {
    const [counter, ...others] = loop.counters as [Loop['counters'][number], ...Loop['counters']];
    const made = new Loop(loop.steps, counter, loop.isOfGradient, new Map([...loop.substitutes].map(([of, by]) => [this.front(of), this.front(by)])));
    made.counters.push(...others);
    const states = loop.carried.map((state) => made.carry({ first: this.front(state.first), held: this.front(state.held), next: this.front(state.next) }));
    // Rows stand along the first axis.
    const stacks = loop.rows.map(({ place, value }, k) => {
      const order = exchanged(value.shape.length + 1);
      return permute(made.stack(permute(this.front(value), order), place, (loop.stacks[k] as Node).shape[0] as Size), order);
    });
    return { states, stacks };
  }
}

/** The axes of a tensor, with the first two exchanged. */
function exchanged(rank: number): number[] {
  return Array.from({ length: rank }, (_, axis) => (axis < 2 ? 1 - axis : axis));
}
