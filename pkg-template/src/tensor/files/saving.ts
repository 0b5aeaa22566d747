/** Tensors as bytes of files. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import type { RealDType } from '../dtype.js';
import { REAL_NUMBERS } from '../recipe/node.js';
import { nodeText } from '../recipe/operands.js';
import { encode } from '../memory/numbers.js';
import { Tensor } from '../tensor.js';

/** A tensor's numbers in C order, little-endian, and its shape. */
export interface EncodedTensor {
  readonly body: Blob;
  readonly sizes: readonly number[];
}

/** Returns the tensors of a record with their names. Throws 'invalid-argument' for anything else. */
export function namedTensors(call: string, tensors: unknown): [string, Tensor<RealDType>][] {
  if (typeof tensors !== 'object' || tensors === null || Array.isArray(tensors) || tensors instanceof Tensor) throw invalidArgument(`${call}: tensors`, describe(tensors), 'an object of tensors');
  const entries = Object.entries(tensors);
  for (const [name, tensor] of entries) {
    checkTensor(`${call}: tensors[${describe(name)}]`, tensor);
    if (/\p{Surrogate}/u.test(name)) throw invalidArgument(`${call}: tensors`, `the name ${describe(name)} with half of a surrogate pair`, 'text');
  }
  return entries as [string, Tensor<RealDType>][];
}

/** Throws 'invalid-argument' unless `value` is a Tensor of real numbers. */
export function checkTensor(argument: string, value: unknown): asserts value is Tensor<RealDType> {
  if (!(value instanceof Tensor)) throw invalidArgument(argument, describe(value), 'a Tensor');
  if (value.dtype === 'c64') throw invalidArgument(argument, nodeText(value.node), `a tensor of ${REAL_NUMBERS}`);
}

/** Computes and reads a tensor with what it holds at the call. Its bytes are in a Blob, so that those of many need not be in memory at once. */
export async function encodeTensor(tensor: Tensor<RealDType>): Promise<EncodedTensor> {
  const { sizes, dtype } = tensor;
  const data = await tensor.data();
  return { body: new Blob([encode('data', dtype, data)]), sizes };
}
