/** The lines of iterations in a report. */

import type { IterationSummary } from '../module/raw.js';
import { scientific } from './scientific.js';

/** The titles of columns that some solvers have. A column is shown if any iteration has a value for it. */
const OPTIONAL = [
  ['step size', ({ stepSize }: IterationSummary) => short(stepSize)],
  ['damping', ({ damping }: IterationSummary) => short(damping)],
  ['gain ratio', ({ gainRatio }: IterationSummary) => short(gainRatio)],
  ['linear its', ({ linearIterations }: IterationSummary) => linearIterations?.toString()],
] as const;

const short = (value: number | undefined): string | undefined => (value === undefined ? undefined : scientific(value, 2));

/** A heading, a line for each iteration, and an empty line; nothing for no iterations. */
export function iterationLines(history: readonly IterationSummary[]): string {
  if (history.length === 0) return '';
  const columns = OPTIONAL.filter(([, textOf]) => history.some((iteration) => textOf(iteration) !== undefined));
  const line = (number: string, cost: string, others: readonly string[], ms: string): string =>
    [number.padStart(5), cost.padStart(14), ...others.map((text) => text.padStart(11)), ms.padStart(10)].join(' ');
  const titles = ['change', '|gradient|', '|step|', ...columns.map(([title]) => title)];
  const lines = history.map((iteration) => {
    const figures = [iteration.costChange, iteration.gradientMaxNorm, iteration.stepNorm].map((value) => scientific(value, 2));
    const others = [...figures, ...columns.map(([, textOf]) => textOf(iteration) ?? '')];
    const numbers = line(String(iteration.iteration), scientific(iteration.cost, 6), others, iteration.elapsedMs.toFixed(2));
    return iteration.accepted ? numbers : `${numbers}  rejected`;
  });
  return `${[line('iter', 'cost', titles, 'ms'), ...lines].join('\n')}\n\n`;
}
