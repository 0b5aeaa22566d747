/** Stored tensors in lists and records, as models have them, and their names. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import type { Device } from '../device/device.js';
import { StoredTensor } from '../device/stored-tensor.js';
import type { DType } from '../dtype.js';
import { shapeText } from '../size.js';

/** Stored tensors in lists and records, which may contain each other. */
export type StoredTree<D extends DType = any> = readonly StoredBranch<D>[] | { readonly [name: string]: StoredBranch<D> };

/** A stored tensor, or a list or a record of them. */
export type StoredBranch<D extends DType = any> = StoredTensor<D> | StoredTree<D>;

/** Returns stored tensors with their names: the keys and positions on the way to each, joined by dots. Throws 'invalid-argument' for anything else, for a tensor that is there twice, and for one name of two. */
export function namedTensors(argument: string, tree: unknown): Map<string, StoredTensor> {
  const found = new Map<string, StoredTensor>();
  if (tree instanceof StoredTensor) throw invalidArgument(argument, 'one stored tensor', 'a list or a record of stored tensors');
  visit(argument, '', tree, found);
  const tensors = [...found.values()];
  const twice = tensors.findIndex((tensor, k) => tensors.some((other, j) => j < k && other.cell === tensor.cell));
  if (twice >= 0) throw invalidArgument(argument, `the stored tensor '${[...found.keys()][twice]}' twice`, 'each once');
  return found;
}

function visit(argument: string, path: string, part: unknown, found: Map<string, StoredTensor>): void {
  const place = path === '' ? argument : `${argument}: ${path}`;
  if (part instanceof StoredTensor) {
    part.cell.check(place);
    if (found.has(path)) throw invalidArgument(argument, `two stored tensors of the name '${path}'`, 'names that differ');
    found.set(path, part);
    return;
  }
  const isRecord = typeof part === 'object' && part !== null && (Array.isArray(part) || Object.getPrototypeOf(part) === Object.prototype);
  if (!isRecord) throw invalidArgument(place, describe(part), 'stored tensors in lists and records');
  for (const [key, inner] of Object.entries(part)) visit(argument, path === '' ? key : `${path}.${key}`, inner, found);
}

/** Returns the weights among stored tensors, by name: at least one, of f32, on one device. Throws 'invalid-argument' for anything else. */
export function namedWeights(argument: string, tree: unknown): { names: readonly string[]; tensors: readonly StoredTensor<'f32'>[]; device: Device } {
  const found = namedTensors(argument, tree);
  const [first] = found.values();
  if (first === undefined) throw invalidArgument(argument, 'no stored tensor', 'one or more');
  for (const [name, { dtype, shape, device, cell }] of found) {
    if (dtype !== 'f32') throw invalidArgument(`${argument}: ${name}`, `${dtype} ${shapeText(shape)}`, 'weights of type f32');
    if (device !== first.device) throw invalidArgument(`${argument}: ${name}`, 'a stored tensor of another device', 'those of one device');
    if (cell.owner === 'program') throw invalidArgument(`${argument}: ${name}`, 'an output of a program', 'a stored tensor with memory of its own');
  }
  return { names: [...found.keys()], tensors: [...found.values()], device: first.device };
}

/** Other tensors in the form of a tree, in the order of its names. */
export function inFormOfTree<T>(tree: T, tensors: readonly StoredTensor[]): T {
  let next = 0;
  const form = (part: unknown): unknown => {
    if (part instanceof StoredTensor) return tensors[next++];
    if (Array.isArray(part)) return part.map(form);
    return Object.fromEntries(Object.entries(part as object).map(([key, inner]) => [key, form(inner)]));
  };
  return form(tree) as T;
}
