/** Compiles the body of a program: records it, plans it, and compiles its kernels. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { checkName, checkObject } from '../../arguments/numeric-arguments.js';
import { checkOptions, type OptionNames } from '../../arguments/options.js';
import { checkSignal } from '../../module/cancellation.js';
import { checkDType } from '../dtype.js';
import { Abortion } from '../engine/pending.js';
import { inputNode, type Node } from '../recipe/node.js';
import { checkShape, largest, termsOf, type Dim } from '../size.js';
import { Tensor } from '../tensor.js';
import { Body } from './body.js';
import { Cell, checkAliases, ProgramInput } from './cell.js';
import { checksOf } from './checks.js';
import type { Written } from './compiled.js';
import type { DeviceCore } from './core.js';
import { ProgramCore } from './program-core.js';
import { isRandomSource } from './random-key.js';
import { writeRecipe } from './written.js';

/** Options of `Device.compile`. */
export interface ProgramOptions {
  /** Its name in messages. Default 'program'. */
  name?: string;
  /** Called with the number of kernels that are compiled, the number of all, and the stage, 'kernels'. */
  onProgress?: (done: number, total: number, stage: string) => void;
  /** Ends the compile with 'aborted'. */
  signal?: AbortSignal;
}

const PROGRAM_OPTIONS: OptionNames<ProgramOptions> = { name: true, onProgress: true, signal: true };

/** A program, and what its results look like. */
export interface CompiledProgram {
  readonly core: ProgramCore;
  readonly inputs: readonly ProgramInput[];
  /** What the body returned. */
  readonly results: unknown;
  readonly resultNodes: readonly Node[];
  /** The stored tensors that the body assigns to. */
  readonly assigned: readonly Cell[];
}

/** Compiles a program. Rejects with 'invalid-argument', 'invalid-graph', 'aborted', 'out-of-memory' and 'limit-exceeded'. */
export async function compileProgram(core: DeviceCore, specs: unknown, body: unknown, options: ProgramOptions = {}): Promise<CompiledProgram> {
  checkOptions('compile: options', options, PROGRAM_OPTIONS);
  const { name = 'program', onProgress, signal } = options;
  checkName('compile: name', name);
  checkSignal('compile: signal', signal);
  if (onProgress !== undefined && typeof onProgress !== 'function') throw invalidArgument('compile: onProgress', describe(onProgress), 'a function');
  if (typeof body !== 'function') throw invalidArgument('compile: body', describe(body), 'a function');
  core.check();
  const inputs = programInputs(specs);
  const given = Object.fromEntries(inputs.map((input) => [input.name, Tensor.make(inputNode(input.dtype, input.shape, input))]));
  const recorded = Body.record(core, () => (body as (inputs: object) => unknown)(given));
  const { result, nodes: resultNodes } = recorded;
  const assignments = checksOf(core)?.with(name, resultNodes, recorded.assignments) ?? recorded.assignments;
  const tape = writeRecipe(resultNodes, assignments);
  checkSources(core, tape, inputs);
  checkAliases('compile', tape.inputs, assignments);
  const abortion = new Abortion('compile', signal);
  const work = tape.compile(core, Uint32Array.from(tape.dims, largest), (done, total) => onProgress?.(done, total, 'kernels'), abortion);
  let made: ProgramCore | null = null;
  try {
    const compiled = await abortion.wait(work);
    core.check();
    made = new ProgramCore(core, name, tape, compiled, dimsOf(tape, inputs), resultNodes, assignments);
    // Stored tensors that were made just before may have been refused their memory, too.
    const stored = tape.inputs.flatMap(({ source }) => (source instanceof Cell ? [source.memory] : []));
    await core.checkAllocated([...made.memories, ...stored]);
  } catch (error) {
    if (made !== null) made.dispose();
    // A plan that is finished after an abort is freed as well.
    else work.then((compiled) => compiled.free()).catch(() => {});
    throw error;
  } finally {
    abortion.end();
  }
  const assigned = recorded.assignments.flatMap(({ input: { source } }) => (source instanceof Cell ? [source] : []));
  return { core: made, inputs, results: result, resultNodes, assigned };
}

function programInputs(specs: unknown): ProgramInput[] {
  checkObject('compile: inputs', specs);
  return Object.entries(specs as Record<string, unknown>).map(([name, spec]) => {
    const argument = `compile: inputs.${name}`;
    checkObject(argument, spec);
    const { dtype, shape } = spec as Record<string, unknown>;
    checkDType(`${argument}.dtype`, dtype);
    return new ProgramInput(name, dtype, checkShape(`${argument}.shape`, shape));
  });
}

function checkSources(core: DeviceCore, tape: Written, inputs: readonly ProgramInput[]): void {
  for (const { source } of tape.inputs) {
    if (source instanceof Cell) {
      if (source.core !== core) throw new ResiduaError('invalid-graph', 'compile: the body uses a stored tensor of another device; takes those of one');
      source.check('compile');
    } else if (source instanceof ProgramInput) {
      if (!inputs.includes(source)) throw new ResiduaError('invalid-graph', `compile: the body uses the input '${source.name}' of another program`);
    } else if (!isRandomSource(source)) {
      throw new ResiduaError('invalid-graph', 'compile: the body uses a tensor of the body of a loop or of vmap(), which has numbers there alone');
    }
  }
}

/** The dims of a program: those of its tape, then those of inputs that it does not use. */
function dimsOf(tape: Written, inputs: readonly ProgramInput[]): readonly Dim[] {
  const dims = [...tape.dims];
  for (const size of inputs.flatMap(({ shape }) => shape)) {
    for (const dim of termsOf(size).flatMap((term) => term.dims)) {
      if (dims.every(({ name }) => name !== dim.name)) dims.push(dim);
    }
  }
  return dims;
}
