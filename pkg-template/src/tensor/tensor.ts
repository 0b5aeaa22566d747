/** The public tensor: a recipe with methods. */

import { invalidArgument } from '../arguments/errors.js';
import type { DataOf, DType } from './dtype.js';
import { evaluator } from './evaluator.js';
import { nested, type Nested } from './nested.js';
import type { Node } from './recipe/node.js';
import { knownSizes, type Shape } from './size.js';

/**
 * A recipe: an element type, a shape, and what it is computed from. It owns no memory of a device and is garbage-collected. Operations check
 * types and shapes where they are called, throw 'invalid-argument' there, and compute nothing; work begins with a read or a run.
 */
export class Tensor<D extends DType = any> {
  /** Type of its elements. */
  readonly dtype: D;
  /** Sizes of its axes, the outermost first. */
  readonly shape: Shape;
  /** @internal The recipe. */
  readonly node: Node;

  /** Tensors are made by operations and devices. */
  protected constructor(node: Node) {
    this.node = node;
    this.dtype = node.dtype as D;
    this.shape = node.shape;
  }

  /** @internal Returns the tensor of a node. */
  static make<D extends DType>(node: Node): Tensor<D> {
    return new Tensor<D>(node);
  }

  /** Number of axes. */
  get rank(): number {
    return this.shape.length;
  }
  /** The shape as numbers. Throws 'invalid-argument' where it has a Dim. */
  get sizes(): readonly number[] {
    return knownSizes('sizes', this.shape);
  }

  /** Computes the elements, in C order, and reads them into a fresh typed array. */
  async data(): Promise<DataOf[D]> {
    const [data] = await evaluator().read([this.node]);
    return data as DataOf[D];
  }
  /** Computes and reads the number of a tensor with one element. Rejects with 'invalid-argument' for any other. */
  async item(): Promise<number> {
    const data = await this.data();
    if (data.length !== 1) throw invalidArgument('item', `${data.length} elements`, 'a tensor with one element');
    return data[0] as number;
  }
  /** Computes and reads the elements as lists of lists, one level an axis; a scalar is a number. */
  async toArray(): Promise<Nested> {
    const data = await this.data();
    return nested(data, evaluator().sizes(this.node));
  }
}
