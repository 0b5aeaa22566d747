/** What a message of solveMany says of the problems that ended with 'non-finite'. */

import { areFinite } from '../arguments/numeric-arguments.js';
import type { ResidualInstances } from '../problem/residual-block.js';
import type { OwnData } from './problem-data.js';

/** Problems that are named. */
const NAMED = 5;

/** Start values of an array of parameters, problem after problem. */
export type OwnStarts = Pick<OwnData, 'name' | 'length' | 'values'>;

/** Numbers of an input that are not finite: for each problem that has any the place of the first, and the number. */
export interface NonFiniteInput {
  readonly name: string;
  readonly problems: ReadonlyMap<number, readonly [place: number, value: number]>;
}

/** Finds numbers that are not finite in what problems have of their own, but for data of instances with the weight 0. */
export function findNonFinite(blocks: readonly ResidualInstances[], data: readonly OwnData[], starts: readonly OwnStarts[]): NonFiniteInput[] {
  const ofStarts = starts.map((own) => findIn(own, () => true));
  const ofData = data.map((own) => {
    const weight = weightsOf(blocks[own.block] as ResidualInstances, own.block, data);
    const { dim } = own;
    return findIn(own, (problem, place) => dim === null || weight(problem, Math.floor(place / dim)) !== 0);
  });
  return [...ofStarts, ...ofData].filter(({ problems }) => problems.size > 0);
}

function findIn({ name, length, values }: OwnStarts, counts: (problem: number, place: number) => boolean): NonFiniteInput {
  const problems = new Map<number, readonly [number, number]>();
  if (areFinite(values)) return { name, problems };
  for (let at = 0; at < values.length; at++) {
    const value = values[at] as number;
    const [problem, place] = [Math.floor(at / length), at % length];
    if (!Number.isFinite(value) && !problems.has(problem) && counts(problem, place)) problems.set(problem, [place, value]);
  }
  return { name, problems };
}

/** Returns a function that returns the weight of an instance of a problem. */
function weightsOf(block: ResidualInstances, position: number, data: readonly OwnData[]): (problem: number, instance: number) => number {
  const own = data.find((own) => own.block === position && (own.key === null || block.data.get(own.key)?.isWeight));
  if (own !== undefined) return (problem, instance) => (instance < own.length ? (own.values[problem * own.length + instance] as number) : 0);
  const ofTemplate = [...block.data.values()].find(({ isWeight }) => isWeight);
  return (_, instance) => ofTemplate?.values[instance] ?? 1;
}

/** Returns sentences that count the problems that ended with 'non-finite' and name them, and their inputs that are not finite; '' without problems. */
export function sentencesOnNonFinite(problems: readonly number[], count: number, inputs: readonly NonFiniteInput[]): string {
  if (problems.length === 0) return '';
  const more = problems.length > NAMED ? ', …' : '';
  const sentences = [` ${problems.length} of ${count} problems ended with 'non-finite': ${problems.slice(0, NAMED).join(', ')}${more}.`];
  for (const input of inputs) {
    const ended = problems.filter((problem) => input.problems.has(problem));
    const [first] = ended;
    if (first === undefined) continue;
    const [place, value] = input.problems.get(first) as readonly [number, number];
    sentences.push(` ${input.name} is not finite in ${ended.length} of them: number ${place} of problem ${first} is ${value}.`);
  }
  return sentences.join('');
}
