/** The status text of a pose graph during optimisation, one or two sentences. Takes counts and numbers; returns text. */

const inWords = (count) => count.toLocaleString('en-US');
const counted = (count, one, many) => `${inWords(count)} ${count === 1 ? one : many}`;

/** Exactly as many edges as poses need, so there is no redundancy. */
const NOTHING_LEFT = 'no measurement more than it takes';

function ending({ squared, freedom, termination }) {
  if (!termination.endsWith('-tolerance')) return `No further: ${termination}.`;
  if (!squared) return 'Unfolded, as far as this loss sees.';
  return freedom > 0 ? 'Unfolded; 1 would be noise alone.' : `Unfolded: there is ${NOTHING_LEFT}, so all of them hold.`;
}

/**
 * @param {{
 *   name: string | null, poses: number, moves: number, closures: number, iteration: number, startCost: number, cost: number | null,
 *   freedom: number, squared: boolean, termination: string | null, precision: 'f32' | 'f32x2' | 'f64', }} figures `name` of a file; `freedom`
 *   degrees of freedom, possibly 0; `squared`: without a robust loss; `termination` at the end; `precision` of the compiled functions
 */
export function statusText(figures) {
  const { name, poses, moves, closures, iteration, startCost, cost, freedom, squared, termination, precision } = figures;
  const what = `${name === null ? '' : `${name}: `}${counted(poses, 'pose', 'poses')}, ${counted(moves, 'move', 'moves')}, ${counted(closures, 'loop closure', 'loop closures')}.`;
  const end = termination === null ? '' : ` ${ending(figures)}`;
  if (iteration === 0) return `${what} ${Number.isFinite(startCost) ? `Dead reckoning costs ${startCost.toPrecision(4)}` : 'What dead reckoning costs is larger than numbers go'}, in ${precision}.${end}`;
  if (!Number.isFinite(cost)) return `${what} Step ${iteration} in ${precision}: the cost is larger than numbers go.${end}`;
  const reduced = squared && freedom > 0 ? `, χ² a degree of freedom ${((2 * cost) / freedom).toPrecision(3)}` : '';
  return `${what} Step ${iteration} in ${precision}: cost ${cost.toPrecision(6)}${reduced}.${end}`;
}
