/**
 * Plain functions: residuals that are computed by JavaScript, not recorded. A template of one is the affine function r + J (p - p̄) of the
 * parameters p, where p̄ is p without a derivative. At each point its r and J are filled with what the function returns there.
 */

import { describe, invalidArgument, ResiduaError } from '../arguments/errors.js';
import { checkWholeNumber } from '../arguments/numeric-arguments.js';
import { Op } from '../expressions/op-codes.js';
import { Recording } from '../expressions/tape.js';
import type { Tape } from '../module/raw.js';
import type { NamedInputs } from './block-inputs.js';
import { AtInput, DataInput, DataStarInput, SharedInput, starLength } from './inputs.js';
import type { PlainEvaluation, PlainFunction, PlainInstances } from './plain-instances.js';
import { groupByLengths, type ResidualTemplate } from './residual-template.js';
import { WEIGHTS } from './weights.js';

/**
 * A kernel has an operation for each derivative of an instance. An instance with more of them has one template instance for each residual, which a
 * robust loss cannot take as a whole.
 */
const MOST_DERIVATIVES = 256;

/** Checks the function of the block called `name`. Throws 'invalid-argument'. */
export function checkPlainFunction(name: string, spec: { outputs: unknown; evaluate: unknown; jacobian?: unknown; differences?: unknown }): PlainFunction {
  const argument = `residuals "${name}"`;
  const { outputs, evaluate, jacobian, differences = 'central' } = spec;
  checkWholeNumber(`${argument}: outputs`, outputs, 1);
  if (typeof evaluate !== 'function') throw invalidArgument(`${argument}: evaluate`, describe(evaluate), 'a function');
  if (jacobian !== undefined && typeof jacobian !== 'function') throw invalidArgument(`${argument}: jacobian`, describe(jacobian), 'a function');
  if (differences !== 'central' && differences !== 'forward' && differences !== 'ridders') {
    throw invalidArgument(`${argument}: differences`, describe(differences), "'central', 'forward' or 'ridders'");
  }
  return { outputs, evaluate: evaluate as PlainEvaluation, jacobian: (jacobian as PlainEvaluation | undefined) ?? null, differences, perResidual: false };
}

/** Returns the templates of a plain function, one for each combination of star lengths. Throws 'invalid-argument' for inputs without parameters. */
export function plainTemplates(name: string, inputs: NamedInputs, count: number, plain: PlainFunction, isWeighted: boolean): ResidualTemplate[] {
  if (![...inputs.values()].some((input) => !(input instanceof DataInput || input instanceof DataStarInput))) {
    throw invalidArgument(`residuals "${name}": inputs`, 'data alone', 'at least one block of parameters');
  }
  if (plain.perResidual) return [plainTemplate(inputs, { function: plain, count: 1, instances: null, isSplit: true }, isWeighted)];
  return groupByLengths(inputs, count).map((instances) => {
    const ofGroup = instances?.length ?? count;
    const isSplit = plain.outputs > 1 && plain.outputs * numbersOf(slotsOf(inputs, instances?.[0] ?? 0)) > MOST_DERIVATIVES;
    return plainTemplate(inputs, { function: plain, count: ofGroup, instances, isSplit }, isWeighted);
  });
}

/** Throws 'limit-exceeded' if a robust loss is set for instances that a kernel does not take as a whole. */
export function checkPlainLoss(name: string, templates: readonly ResidualTemplate[], isSquared: boolean): void {
  const split = templates.find(({ plain }) => plain !== null && plain.isSplit && !plain.function.perResidual);
  if (isSquared || split === undefined) return;
  throw new ResiduaError(
    'limit-exceeded',
    `the instances of residual block '${name}' have more than ${MOST_DERIVATIVES} derivatives each; a robust loss, which weighs an instance as a whole, takes as many. ` +
      'Make more instances with fewer outputs each',
  );
}

function plainTemplate(inputs: NamedInputs, plain: PlainInstances, isWeighted: boolean): ResidualTemplate {
  const { count, instances, isSplit } = plain;
  const { outputs, perResidual } = plain.function;
  const slotArrays = slotsOf(inputs, instances?.[0] ?? 0);
  const parameters = numbersOf(slotArrays);
  const weights = isWeighted ? 1 : 0;
  const ofInstance = isSplit ? 1 : outputs;
  const places = isSplit ? count * outputs : count;
  const instanceOf = (place: number): number => {
    const position = isSplit ? Math.floor(place / outputs) : place;
    return instances?.[position] ?? position;
  };
  const rowOf = (place: number): number => instanceOf(place) * outputs + (isSplit ? place % outputs : 0);
  return {
    count: places,
    instances: perResidual || (!isSplit && instances === null) ? null : Uint32Array.from({ length: places }, (_, place) => instanceOf(place)),
    rows: instances === null ? null : Uint32Array.from({ length: places }, (_, place) => rowOf(place)),
    slotArrays,
    firstColumns: new Map(isWeighted ? [[WEIGHTS, 0]] : []),
    dataColumns: weights + ofInstance * (1 + parameters),
    weightColumn: isWeighted ? 0 : null,
    stateColumn: null,
    counts: [],
    tape: affineTape(ofInstance, parameters, weights),
    plain,
  };
}

/** Returns the array of each block that an instance takes. */
function slotsOf(inputs: NamedInputs, instance: number): { readonly dim: number }[] {
  return [...inputs.values()].flatMap((input) => {
    if (input instanceof DataInput || input instanceof DataStarInput) return [];
    const blocks = input instanceof SharedInput ? 1 : input instanceof AtInput ? input.width : starLength(input.offsets, instance);
    return Array.from({ length: blocks }, () => input.array);
  });
}

function numbersOf(slots: readonly { readonly dim: number }[]): number {
  return slots.reduce((sum, { dim }) => sum + dim, 0);
}

/** Returns r + J (p − p̄). The columns from `first` on are r, then J by parameters. A derivative that is not finite does not spoil r, since p − p̄ is 0. */
function affineTape(outputs: number, parameters: number, first: number): Tape {
  const recording = new Recording('residual');
  const sums = Uint32Array.from({ length: outputs }, (_, output) => recording.push(Op.data, first + output, 0, 0));
  for (let number = 0; number < parameters; number++) {
    const parameter = recording.push(Op.parameter, number, 0, 0);
    const stopped = recording.push(Op.stopGradient, parameter, 0, 0);
    const zero = recording.push(Op.sub, parameter, stopped, 0);
    for (let output = 0; output < outputs; output++) {
      const derivative = recording.push(Op.data, first + outputs * (1 + number) + output, 0, 0);
      const product = recording.push(Op.guardedMul, zero, derivative, 0);
      sums[output] = recording.push(Op.add, sums[output] as number, product, 0);
    }
  }
  return recording.finish(sums);
}
