/**
 * Square roots Λ of information matrices Ω = ΛᵀΛ, the inverses of covariances: residuals r become Λr, whose squared norm is rᵀΩr.
 */

import { describe, invalidArgument } from '../arguments/errors.js';
import { checkWholeNumber, copyNumbers, type Numbers } from '../arguments/numeric-arguments.js';
import { asValue, literal, type Scalar, type Value } from '../expressions/value.js';
import { DataInput } from './inputs.js';
import { replaceByRoot } from './triangular-root.js';

/** The name of the data input that holds the matrices of instances. */
export const SQRT_INFORMATION = 'sqrtInformation';

/** Applies the matrices of one residual block while its residual function is recorded. */
export class SqrtInformation {
  /** The data input of the matrices; null before the first recording, and where all instances have one matrix. */
  input: DataInput | null = null;
  private readonly values: Float64Array;
  private outputs: number | null = null;
  private isTriangle = false;

  constructor(
    private readonly argument: string,
    private readonly owner: object,
    values: unknown,
    private readonly count: number,
  ) {
    this.values = copyNumbers(argument, values);
  }

  /** Decides by the number of outputs what the numbers are. Throws 'invalid-argument' where they do not fit. */
  prepare(outputs: number): void {
    if (this.outputs !== null) {
      if (outputs === this.outputs) return;
      throw invalidArgument(this.argument, `residuals of ${this.outputs} and of ${outputs} numbers`, 'as many for every length of the stars');
    }
    this.outputs = outputs;
    const { length } = this.values;
    const [full, triangle] = [outputs * outputs, (outputs * (outputs + 1)) / 2];
    this.isTriangle = length === triangle || length === triangle * this.count;
    if (length === full || length === triangle) return;
    if (this.count === 0 && length === 0) {
      // Those of the instances that will come.
      this.input = new DataInput(this.owner, triangle, this.values);
      return;
    }
    if (length !== full * this.count && length !== triangle * this.count) {
      const sizes = full === triangle ? '1 number' : `${full} numbers, row after row, or ${triangle}, the upper triangle`;
      throw invalidArgument(this.argument, `${length} numbers`, `${sizes}, for all instances or for each of the ${this.count}`);
    }
    this.input = new DataInput(this.owner, length / this.count, this.values);
  }

  /** Returns Λr. */
  apply(residuals: readonly Scalar[], nextDatum: () => Value): Scalar[] {
    const r = residuals.map(asValue);
    const { input, isTriangle, values } = this;
    let place = 0;
    const entry = (): Scalar => (input === null ? (values[place++] as number) : nextDatum());
    return r.map((_, row) => {
      let sum: Value | null = null;
      for (let column = isTriangle ? row : 0; column < r.length; column++) {
        const factor = entry();
        if (factor === 0) continue;
        const term = factor === 1 ? (r[column] as Value) : (r[column] as Value).mul(factor);
        sum = sum === null ? term : sum.add(term);
      }
      return sum ?? literal(0);
    });
  }
}

/**
 * Returns the square roots of information matrices, for `sqrtInformation` of Problem.residuals: of each `dim` × `dim` matrix Ω the upper
 * triangle, row after row, of the upper triangular Λ with ΛᵀΛ = Ω. `information` has matrix after matrix: with the layout 'upper' (default)
 * their upper triangles row after row, as in .g2o files, with 'full' all their numbers. A singular matrix, that of a measurement that says
 * nothing of a direction, has a singular root.
 *
 * Throws 'invalid-argument' for a matrix that is not positive semi-definite by more than rounding to six digits does, or with 'full' not
 * symmetric, with its index.
 */
export function sqrtInformation(information: Numbers, dim: number, layout: 'upper' | 'full' = 'upper'): Float64Array {
  checkWholeNumber('sqrtInformation: dim', dim, 1);
  if (layout !== 'upper' && layout !== 'full') throw invalidArgument('sqrtInformation: layout', describe(layout), "'upper' or 'full'");
  const numbers = copyNumbers('sqrtInformation: information', information);
  const triangle = (dim * (dim + 1)) / 2;
  const size = layout === 'upper' ? triangle : dim * dim;
  if (numbers.length % size !== 0) {
    throw invalidArgument('sqrtInformation: information', `${numbers.length} numbers`, `a multiple of ${size}, the numbers of a matrix`);
  }
  const count = numbers.length / size;
  const roots = new Float64Array(count * triangle);
  for (let index = 0; index < count; index++) {
    const matrix = upperTriangle(numbers.subarray(index * size, (index + 1) * size), dim, layout, index);
    const negative = replaceByRoot(matrix, dim);
    if (negative !== null) {
      const got = `a matrix that is not positive semi-definite at index ${index}: its smallest eigenvalue is ${Number(negative.toPrecision(6))}`;
      throw invalidArgument('sqrtInformation: information', got, 'positive semi-definite matrices');
    }
    roots.set(matrix, index * triangle);
  }
  return roots;
}

function upperTriangle(numbers: Float64Array, dim: number, layout: 'upper' | 'full', index: number): Float64Array {
  if (layout === 'upper') return numbers.slice();
  const triangle = new Float64Array((dim * (dim + 1)) / 2);
  let place = 0;
  for (let row = 0; row < dim; row++) {
    for (let column = row; column < dim; column++) {
      const [above, below] = [numbers[row * dim + column] as number, numbers[column * dim + row] as number];
      // Texts with ten digits round both entries in the same way, so symmetric matrices agree to more than that.
      if (Math.abs(above - below) > 1e-9 * Math.max(Math.abs(above), Math.abs(below))) {
        const got = `${above} at row ${row}, column ${column} and ${below} at row ${column}, column ${row} in matrix ${index}`;
        throw invalidArgument('sqrtInformation: information', got, 'symmetric matrices');
      }
      triangle[place++] = above;
    }
  }
  return triangle;
}
