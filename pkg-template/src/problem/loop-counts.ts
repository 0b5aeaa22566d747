/** The check of data inputs that are counts of loops. It is made wherever numbers are set, so that no loop of a device runs too long. */

import { invalidArgument } from '../arguments/errors.js';
import { MOST_STEPS } from '../expressions/loop.js';
import { DataInput, type DataStarInput } from './inputs.js';
import { dataSources } from './instance-tables.js';
import type { ResidualTemplate } from './residual-template.js';

/** Data inputs by their names. */
type DataInputs = ReadonlyMap<string, { readonly input: DataInput | DataStarInput }>;

/**
 * Throws 'invalid-argument' where a number of an input that is a count of a loop is not whole, or not from 0 to the largest number of steps, and where one of a
 * list is less than the one before. `values` are those of all instances, of one problem or of several.
 */
export function checkCounts(argument: string, templates: readonly ResidualTemplate[], key: string, data: DataInputs, values: Float64Array): void {
  for (const template of templates) {
    const first = template.firstColumns.get(key);
    const input = data.get(key)?.input;
    if (first === undefined || input === undefined || template.counts.length === 0) continue;
    const positions = positionsOf(input, template, values.length);
    for (const columns of template.counts) {
      const places = columns.map((column) => column - first).filter((place) => place >= 0 && place < positions.width);
      for (let instance = 0; instance < positions.instances; instance++) {
        let [before, least] = [-1, 0];
        for (const place of places) {
          const position = positions.of(instance, place);
          const count = values[position] as number;
          if (!(Number.isInteger(count) && count >= 0 && count <= MOST_STEPS)) {
            const takes = `a whole number from 0 to ${MOST_STEPS.toLocaleString('en-US')}, as the number of steps of a loop`;
            throw invalidArgument(`${argument}[${position}]`, String(count), takes);
          }
          if (count < least) {
            throw invalidArgument(`${argument}[${position}]`, String(count), `at least ${least}, the step before it, which is ${argument}[${before}]`);
          }
          [before, least] = [position, count];
        }
      }
    }
  }
}

/** Where the numbers of instances stand in an input's numbers. */
function positionsOf(
  input: DataInput | DataStarInput,
  template: ResidualTemplate,
  length: number,
): { width: number; instances: number; of: (instance: number, place: number) => number } {
  if (input instanceof DataInput) {
    return { width: input.dim, instances: length / input.dim, of: (instance, place) => instance * input.dim + place };
  }
  const { count } = template;
  const sources = dataSources(input, template);
  // Problems have the same stars.
  const of = (instance: number, place: number) => {
    const problem = Math.floor(instance / count);
    return problem * input.values.length + (sources[place * count + (instance % count)] as number);
  };
  const problems = input.values.length === 0 ? 0 : length / input.values.length;
  return { width: sources.length / Math.max(count, 1), instances: problems * count, of };
}
