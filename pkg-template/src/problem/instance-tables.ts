/**
 * The tables of a residual template: the blocks and the data that each of its instances takes. A compile reads them in pieces, so that no
 * table of a large problem exists as a whole.
 */

import type { NamedInputs } from './block-inputs.js';
import { AtInput, DataInput, DataStarInput, offsetsOf, SharedInput, starLength, type StarInput } from './inputs.js';
import type { ResidualTemplate } from './residual-template.js';

/** The instances of a template, as far as tables need them. */
type Instances = Pick<ResidualTemplate, 'count' | 'instances'>;

/** Returns how many numbers of a data input each instance of a template takes. */
function widthOf(input: DataInput | DataStarInput, { instances }: Instances): number {
  const offsets = offsetsOf(input);
  return offsets === null ? input.dim : input.dim * starLength(offsets, instances?.[0] ?? 0);
}

/** Returns the positions, among a data input's numbers, of the numbers of a template's instances, column after column. */
export function dataSources(input: DataInput | DataStarInput, template: Instances): Uint32Array {
  const { count, instances } = template;
  const { dim } = input;
  const offsets = offsetsOf(input);
  const width = widthOf(input, template);
  const sources = new Uint32Array(width * count);
  for (let j = 0; j < count; j++) {
    const instance = instances === null ? j : (instances[j] as number);
    const first = offsets === null ? instance * dim : (offsets[instance] as number) * dim;
    for (let column = 0; column < width; column++) sources[column * count + j] = first + column;
  }
  return sources;
}

/** Returns the numbers of one data input for a template's instances, column after column. */
export function dataColumns(input: DataInput | DataStarInput, values: Float64Array, template: Instances): Float64Array {
  const sources = dataSources(input, template);
  const columns = new Float64Array(sources.length);
  for (let i = 0; i < columns.length; i++) columns[i] = values[sources[i] as number] as number;
  return columns;
}

/** Reads `count` entries of a table's column, from instance `first` on. The result is valid until the next call. */
export type ColumnReader<A> = (column: number, first: number, count: number) => A;

/** Returns a reader of block indices; a column is a slot. */
export function indexReader(inputs: NamedInputs, template: Instances): ColumnReader<Uint32Array> {
  const slots: (readonly [input: AtInput | SharedInput | StarInput, place: number])[] = [];
  for (const input of inputs.values()) {
    if (input instanceof DataInput || input instanceof DataStarInput) continue;
    const width = input instanceof SharedInput ? 1 : input instanceof AtInput ? input.width : starLength(input.offsets, template.instances?.[0] ?? 0);
    for (let place = 0; place < width; place++) slots.push([input, place]);
  }
  let buffer = new Uint32Array(0);
  return (slot, first, count) => {
    if (buffer.length < count) buffer = new Uint32Array(count);
    const [input, place] = slots[slot] as (typeof slots)[number];
    const piece = buffer.subarray(0, count);
    if (input instanceof SharedInput) return piece.fill(input.index);
    return gather(piece, input.indices, [input instanceof AtInput ? input.width : 1, place], offsetsOf(input), first, template.instances);
  };
}

/** Returns a reader of the numbers of all data inputs of a template. */
export function dataReader(
  data: readonly (readonly [input: DataInput | DataStarInput, values: Float64Array, firstColumn: number])[],
  template: Instances,
): ColumnReader<Float64Array> {
  let buffer = new Float64Array(0);
  return (column, first, count) => {
    if (buffer.length < count) buffer = new Float64Array(count);
    const piece = buffer.subarray(0, count);
    for (const [input, values, firstColumn] of data) {
      const place = column - firstColumn;
      if (place < 0 || place >= widthOf(input, template)) continue;
      return gather(piece, values, [input.dim, place], offsetsOf(input), first, template.instances);
    }
    return piece.fill(0);
  };
}

/**
 * Fills a piece of a column from a table of `width` entries per instance; with offsets, of `width` entries for each entry of an instance's
 * star. `place` is the column's position counted from the instance's first entry.
 */
function gather<A extends Uint32Array | Float64Array>(
  piece: A,
  table: A,
  [width, place]: readonly [number, number],
  offsets: Uint32Array | null,
  first: number,
  instances: Uint32Array | null,
): A {
  if (offsets === null && instances === null) {
    for (let j = 0, at = first * width + place; j < piece.length; j++, at += width) piece[j] = table[at] as number;
    return piece;
  }
  for (let j = 0; j < piece.length; j++) {
    const instance = instances === null ? first + j : (instances[first + j] as number);
    piece[j] = table[(offsets === null ? instance : (offsets[instance] as number)) * width + place] as number;
  }
  return piece;
}
