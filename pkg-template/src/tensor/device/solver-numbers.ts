/** The numbers of compiled functions and residual blocks that tensors share. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import type { GpuCompiledFunctions } from '../../compile/functions.js';
import type { Grid, TableGrid } from '../../problem/grid.js';
import type { ParameterArray, ParameterBlocks } from '../../problem/parameter-array.js';
import type { BlockData, ResidualBlock, ResidualInstances } from '../../problem/residual-block.js';

/** Numbers of a solver: where they lie on a GPU, and how the host reads and sets them. */
export interface SolverNumbers {
  /** What they are, in messages. */
  readonly what: string;
  /** The buffer that has them, from a byte on; null on the CPU. */
  buffer(): { readonly buffer: GPUBuffer; readonly byteOffset: number } | null;
  /** Whether the buffer may be written. */
  readonly isWritable: boolean;
  /** The present numbers. */
  read(): Promise<Float64Array>;
  /** Sets the numbers, from the solver's next call on. */
  write(numbers: Float64Array): void;
}

/** Numbers of a solver, their shape, and what they are now as far as the host knows. */
export interface SharedNumbers {
  readonly numbers: SolverNumbers;
  readonly sizes: readonly number[];
  readonly present: Float64Array | null;
}

/** The parameters of functions, all as a vector or those of an array as [count, dim]. Throws 'invalid-argument'. */
export function parameterNumbers(functions: GpuCompiledFunctions, array: ParameterArray | undefined): SharedNumbers {
  if (!(typeof functions === 'object' && functions !== null && 'parameterBuffer' in functions)) {
    throw invalidArgument('parameters: functions', describe(functions), 'GpuCompiledFunctions');
  }
  const arrays = functions.parameterArrays;
  if (array !== undefined && arrays?.includes(array as ParameterBlocks) !== true) {
    throw invalidArgument('parameters: array', describe(array), 'a parameter array of the problem of the functions');
  }
  const [offset, count] = array === undefined ? [0, functions.numParams] : [array.offset, array.count * array.dim];
  const what = array === undefined ? 'the parameters' : `the parameters '${array.name}'`;
  const numbers: SolverNumbers = {
    what,
    isWritable: false,
    buffer() {
      const buffer = functions.parameterBuffer;
      return buffer === null ? null : { buffer, byteOffset: 4 * offset };
    },
    async read() {
      return (await functions.download()).subarray(offset, offset + count);
    },
    write(values) {
      if (arrays === null) throw invalidArgument('publish', `${what} of functions in the params form`, 'those of a problem, whose arrays take numbers');
      for (const each of array === undefined ? arrays : [array as ParameterBlocks]) {
        const first = each.offset - offset;
        each.set(values.subarray(first, first + each.count * each.dim));
      }
    },
  };
  const present = arrays === null ? null : new Float64Array(count);
  if (present !== null) for (const each of array === undefined ? arrays ?? [] : [array]) present.set(each.values(), each.offset - offset);
  return { numbers, sizes: array === undefined ? [count] : [array.count, array.dim], present };
}

/** A data input of a residual block as [count, dim]. Throws 'invalid-argument'. */
export function dataNumbers(block: ResidualBlock, input: string): SharedNumbers {
  const { data } = block as ResidualInstances;
  if (!(data instanceof Map)) throw invalidArgument('dataInput: block', describe(block), 'a residual block');
  const found = data.get(input) as BlockData | undefined;
  if (found === undefined || found.isPlace) throw invalidArgument('dataInput: input', describe(input), `a data input of ${block.name}`);
  const { dim } = found.input;
  const numbers: SolverNumbers = {
    what: `the data '${input}'`,
    isWritable: true,
    buffer() {
      const buffer = block.dataBuffer(input);
      return buffer === null ? null : { buffer, byteOffset: 0 };
    },
    read: async () => found.values,
    write: (values) => block.setData(input, values),
  };
  return { numbers, sizes: [found.values.length / dim, dim], present: found.values };
}

/** The numbers of a grid, the last axis first, with its channels. Throws 'invalid-argument'. */
export function gridNumbers(grid: Grid): SharedNumbers {
  const { bufferFinders, channels, size, prefilter } = grid as unknown as TableGrid;
  if (!Array.isArray(bufferFinders)) throw invalidArgument('gridValues: grid', describe(grid), 'a grid of a problem, whose numbers are no parameters');
  if (prefilter) throw invalidArgument('gridValues: grid', `"${grid.name}" with prefilter, whose spline the page computes`, "grids without; 'b-spline' takes coefficients");
  const present = () => (grid as unknown as TableGrid).shared().numbers.subarray(0, size.reduce((product, count) => product * count, channels));
  const numbers: SolverNumbers = {
    what: `the grid '${grid.name}'`,
    isWritable: true,
    buffer() {
      const buffer = bufferFinders.length === 1 ? grid.valuesBuffer() : null;
      return buffer === null ? null : { buffer, byteOffset: 0 };
    },
    read: async () => present(),
    write: (values) => grid.setValues(values),
  };
  return { numbers, sizes: [...[...size].reverse(), ...(channels === 1 ? [] : [channels])], present: present() };
}
