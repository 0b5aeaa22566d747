/** The report of a solve, in the layout of Ceres Solver: solver and problem, one line per iteration, times, and the termination. */

import { htmlTable } from '../arguments/notebook.js';
import type { ProblemSizes, SolveRecord } from '../module/solve-record.js';
import type { ConstraintResult } from './constrained/findings.js';
import { scientific } from './scientific.js';

const line = (title: string, words: string): string => `  ${title.padEnd(16)} ${words}\n`;

const row = (title: string, ...cells: (string | number)[]): string => `  ${[title.padEnd(20), ...cells.map((cell) => String(cell).padStart(11))].join(' ')}\n`;

const ROWS: readonly (readonly [title: string, key: keyof ProblemSizes])[] = [
  ['Parameter blocks', 'parameterBlocks'],
  ['Parameters', 'parameters'],
  ['Effective parameters', 'effectiveParameters'],
  ['Residual blocks', 'residualBlocks'],
  ['Residuals', 'residuals'],
];

/** The rows of a problem: effective parameters where they are others than the parameters. */
const rowsOf = ({ parameters, effectiveParameters }: ProblemSizes) => ROWS.filter(([, key]) => effectiveParameters !== parameters || key !== 'effectiveParameters');

/** Findings that stand under the sizes, by their kinds. */
const SHOWN: Readonly<Record<string, string>> = { untouched: 'Under-determined', rank: 'Rank-deficient' };

/** Active constraints that a line names at most. */
const NAMED = 6;

function constraintLine({ name, kind, enabled, active, violation, multipliers }: ConstraintResult): string {
  if (!enabled) return line('Constraints', `${kind} "${name}", disabled`);
  const places = [...active.keys()].filter((k) => active[k] === 1);
  const named = kind === 'equality' || places.length === 0 ? '' : ` (${places.slice(0, NAMED).join(', ')}${places.length > NAMED ? ', …' : ''})`;
  const most = multipliers.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  return line('Constraints', `${kind} "${name}", ${places.length} of ${active.length} active${named}, violation ${scientific(violation, 2)}, multipliers up to ${scientific(most, 2)}`);
}

/**
 * The text. `kernels`: how many the residuals share; `compileTimes`: milliseconds by stage; `iterations`: the lines of the iterations; `additions`:
 * sentences for the end.
 */
export function reportText(record: SolveRecord & { constraints?: readonly ConstraintResult[] }, kernels: number, compileTimes: Readonly<Record<string, number>>, iterations: string, additions: string): string {
  const { whole, reduced, initialCost, finalCost, functionEvaluations, computationTime } = record;
  const [cost, gradient, parameter] = record.tolerances.map((tolerance) => (tolerance === 0 ? 'off' : scientific(tolerance)));
  const times = [...Object.entries(compileTimes), ...record.times, ['solve', computationTime] as const];
  if (functionEvaluations > 0) times.push(['per evaluation', computationTime / functionEvaluations]);
  return [
    'residua solver report\n\n',
    line('Solver', record.solver),
    line('Backend', record.engine),
    record.linearSolver === '' ? '' : line('Linear solver', record.linearSolver),
    line('Tolerances', `cost ${cost}, gradient ${gradient}, parameter ${parameter}`),
    `\n${row('', 'Original', 'Reduced')}`,
    ...rowsOf(whole).map(([title, key]) => row(title, whole[key], reduced[key])),
    ...record.findings.map(({ kind, message }) => (kind in SHOWN ? `  ${SHOWN[kind]}: ${message}\n` : '')),
    `\n${row('Kernels', kernels)}`,
    `${row('Blocks a kernel', (whole.residualBlocks / Math.max(kernels, 1)).toFixed(1))}\n`,
    iterations,
    line('Initial cost', scientific(initialCost, 6)),
    line('Final cost', scientific(finalCost, 6)),
    line('Change', scientific(initialCost - finalCost, 6)),
    Number.isNaN(record.promise) ? '' : line('Promise', `${scientific(record.promise, 2)} of the residuals' variance`),
    ...(record.constraints ?? []).map(constraintLine),
    line('Iterations', String(record.iterations)),
    line('Evaluations', String(functionEvaluations)),
    '\nTime in milliseconds\n',
    ...times.map(([stage, ms]) => line(stage, ms.toFixed(3))),
    `\n${line('Termination', `${record.success ? 'CONVERGENCE' : 'NO CONVERGENCE'} (${record.termination})`)}`,
    `${record.message}\n`,
    additions === '' ? '' : `${additions}\n`,
  ].join('');
}

/** The figures of the report as rows for tables: sizes of the whole problem, times in milliseconds. */
export function reportRows(record: SolveRecord & { constraints?: readonly ConstraintResult[] }, kernels: number, compileTimes: Readonly<Record<string, number>>): { title: string; value: number | string }[] {
  const { whole, initialCost, finalCost, promise, iterations, functionEvaluations, computationTime } = record;
  const rows: [title: string, value: number | string][] = [
    ['Solver', record.solver],
    ['Backend', record.engine],
    ['Linear solver', record.linearSolver],
    ...rowsOf(whole).map(([title, key]): [string, number] => [title, whole[key]]),
    ['Kernels', kernels],
    ['Initial cost', initialCost],
    ['Final cost', finalCost],
    ['Promise', promise],
    ...(record.constraints ?? []).map(({ name, violation }): [string, number] => [`Violation of "${name}"`, violation]),
    ['Iterations', iterations],
    ['Evaluations', functionEvaluations],
    ...[...Object.entries(compileTimes), ...record.times, ['solve', computationTime] as const].map(([stage, ms]): [string, number] => [`Time of ${stage}`, ms]),
    ['Termination', record.termination],
  ];
  // What a solver does not have is empty, and its promise NaN.
  return rows.filter(([title, value]) => value !== '' && !(title === 'Promise' && Number.isNaN(value))).map(([title, value]) => ({ title, value }));
}

/** The rows as a table of HTML, with how the solve ended. */
export function reportHtml(rows: readonly { readonly title: string; readonly value: number | string }[], message: string): string {
  return htmlTable(`residua solver report: ${message}`, [], rows.map(({ title, value }) => [title, value]));
}
