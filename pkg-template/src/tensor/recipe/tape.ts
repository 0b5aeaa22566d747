/**
 * The tape: how recipes are handed to the module. Its format is documented in crates/tensor/src/tape.rs. Each node is written once, after its
 * operands, without recursion: a recipe may be as deep as a loop has recorded it.
 */

import { ResiduaError } from '../../arguments/errors.js';
import type { RealDType } from '../dtype.js';
import { Extent, termsOf, type Dim, type Size } from '../size.js';
import { DTYPE_CODE, OP } from '../tape-codes.js';
import { inMemory, NumberNode, type Attribute, type Node, type Rule, type TapeOp } from './node.js';

const VERSION = 1;

/** A new content of an input. */
export interface Assignment {
  /** The input that is written. */
  readonly input: Node;
  /** What it holds from then on. */
  readonly value: Node;
}

/** A recipe for the module. */
export interface Tape {
  /** The numbers of the tape. */
  readonly tape: Float64Array;
  /** The dims of its sizes, by their positions. */
  readonly dims: readonly Dim[];
  /** The inputs, by their slots. Their `source` tells what memory they stand for. */
  readonly inputs: readonly Node[];
  /** Sizes that are negative for some dims and then make a run impossible: those of axes, and distances of places from the ends of theirs. */
  readonly bounds: readonly Dim[];
  /** Bits of numbers that the tape does not have, by the positions of its dims: recipes that differ in them have the same tape. 0 for others. */
  readonly numbers: Uint32Array<ArrayBuffer>;
}

/**
 * Writes the recipes of results and of assignments, as they lie in memory. Throws 'invalid-argument' where two dims have one name and different largest sizes.
 *
 * @param takesNumbers whether numbers of the caller are dims of the tape, whose values are `numbers`
 * @param written what is written in place of a node
 */
export function writeTape(results: readonly Node[], assignments: readonly Assignment[] = [], takesNumbers = false, written: (node: Node) => Node = (node) => node): Tape {
  return new TapeWriter(takesNumbers, written).write(results, assignments);
}

/** The largest size that a tape takes. Bits of a number may be one more: no memory is laid out for them. */
const MOST_BITS = 2 ** 32 - 2;

class TapeWriter {
  private readonly dims: Extent[] = [];
  private readonly dimPositions = new Map<string, number>();
  private readonly sizes: number[] = [];
  private readonly sizePositions = new Map<string | number, number>();
  private readonly rules: number[] = [];
  private readonly rulePositions = new Map<Rule, number>();
  private readonly nodes: number[] = [];
  private readonly positions = new Map<Node, number>();
  private readonly inputs: Node[] = [];
  private readonly bounds = new Map<string, Extent>();
  private readonly slots = new Map<Node, number>();
  /** Bits of numbers, by the positions of their dims. */
  private readonly numbers = new Map<number, number>();

  constructor(
    private readonly takesNumbers: boolean,
    private readonly written: (node: Node) => Node,
  ) {}

  write(results: readonly Node[], assignments: readonly Assignment[]): Tape {
    const resultPositions = results.map((node) => this.position(inMemory(node)));
    const pairs = assignments.flatMap(({ input, value }) => [this.slot(inMemory(input)), this.position(inMemory(value))]);
    const sections: readonly (readonly number[])[] = [
      [VERSION, this.dims.length, ...this.dims.map((dim) => dim.max)],
      [this.sizePositions.size],
      this.sizes,
      [this.rulePositions.size],
      this.rules,
      [this.positions.size],
      this.nodes,
      [results.length],
      resultPositions,
      [assignments.length],
      pairs,
    ];
    const tape = new Float64Array(sections.reduce((length, section) => length + section.length, 0));
    let end = 0;
    for (const section of sections) {
      tape.set(section, end);
      end += section.length;
    }
    const { dims, numbers } = this;
    return {
      tape,
      dims: dims.filter((_, position) => !numbers.has(position)),
      inputs: this.inputs,
      bounds: [...this.bounds.values()],
      numbers: Uint32Array.from(dims, (_, position) => numbers.get(position) ?? 0),
    };
  }

  /** The position of a node, which is written with what it depends on unless it was. */
  private position(given: Node): number {
    const root = this.written(given);
    const pending: Node[] = [root];
    for (let node = pending.at(-1); node !== undefined; node = pending.at(-1)) {
      const before = pending.length;
      // The last operand is pushed first, so that operands are written in their order.
      if (!this.positions.has(node)) {
        for (let k = node.operands.length - 1; k >= 0; k--) {
          const operand = this.written(node.operands[k] as Node);
          if (!this.positions.has(operand)) pending.push(operand);
        }
      }
      if (pending.length > before) continue;
      pending.pop();
      if (!this.positions.has(node)) this.append(node);
    }
    return this.positions.get(root) as number;
  }

  private append(node: Node): void {
    const { nodes } = this;
    for (const size of [...node.shape, ...node.bounds]) if (size instanceof Extent && size.min < 0) this.bound(size);
    // Complex numbers are no operands, and as results they are pairs of f32.
    const bits = this.takesNumbers && node instanceof NumberNode ? node.bits : null;
    nodes.push(bits === null ? OP[node.op as TapeOp] : OP.number, DTYPE_CODE[node.dtype as RealDType], node.shape.length);
    for (const size of node.shape) nodes.push(this.size(size));
    nodes.push(node.operands.length);
    for (const operand of node.operands) nodes.push(this.positions.get(this.written(operand)) as number);
    if (node.op === 'input') nodes.push(1, this.slot(node));
    else if (bits !== null) nodes.push(1, this.number(bits));
    else {
      nodes.push(node.attributes.length);
      for (const attribute of node.attributes) nodes.push(this.attribute(attribute));
    }
    this.positions.set(node, this.positions.size);
  }

  /** Keeps a size that no run may make negative. Its dims may stand in no other size of the tape. */
  private bound(size: Extent): void {
    this.bounds.set(size.key, size);
    for (const { dims } of size.terms) for (const each of dims) this.dim(each);
  }

  private attribute(attribute: Attribute): number {
    if (typeof attribute === 'number') return attribute;
    return 'size' in attribute ? this.size(attribute.size) : this.rule(attribute.rule);
  }

  private slot(input: Node): number {
    let slot = this.slots.get(input);
    if (slot === undefined) {
      slot = this.inputs.push(input) - 1;
      this.slots.set(input, slot);
    }
    return slot;
  }

  private size(size: Size): number {
    const key = size instanceof Extent ? size.key : (size as number);
    // Also of a known size: its dims may have other largest sizes.
    const terms = termsOf(size).map(({ coefficient, dims }) => [coefficient, dims.length, ...dims.map((each) => this.dim(each as Extent))]);
    const known = this.sizePositions.get(key);
    if (known !== undefined) return known;
    this.sizes.push(terms.length, ...terms.flat());
    const position = this.sizePositions.size;
    this.sizePositions.set(key, position);
    return position;
  }

  /** The size that a number's bits are: a dim of its own, with a name that no dim of the caller has. */
  private number(bits: number): number {
    const size = this.size(Extent.named(`\0${this.numbers.size}`, MOST_BITS));
    this.numbers.set(this.dims.length - 1, bits);
    return size;
  }

  private dim(dim: Extent): number {
    const known = this.dimPositions.get(dim.name);
    if (known === undefined) {
      const position = this.dims.push(dim) - 1;
      this.dimPositions.set(dim.name, position);
      return position;
    }
    const other = this.dims[known] as Extent;
    if (other.max !== dim.max) {
      throw new ResiduaError('invalid-argument', `dim: got two Dims named ${dim.name}, up to ${other.max} and up to ${dim.max}; takes one largest size for one name`);
    }
    return known;
  }

  private rule(rule: Rule): number {
    const known = this.rulePositions.get(rule);
    if (known !== undefined) return known;
    this.rules.push(rule.identity.length, ...rule.identity, rule.count, ...rule.scalars, ...rule.results);
    const position = this.rulePositions.size;
    this.rulePositions.set(rule, position);
    return position;
  }
}
