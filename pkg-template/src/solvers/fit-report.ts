/** The report of a fit. */

import { htmlTable } from '../arguments/notebook.js';
import { scientific } from './scientific.js';

/** Figures of a fit. */
export interface FitFigures {
  readonly samples: number;
  readonly squares: number;
  readonly rSquared: number;
  /** Why there are no standard errors; empty where there are. */
  readonly reason: string;
}

/** Returns parameters with their standard errors, above the report of the solver. */
export function fitReport(names: readonly string[], values: ArrayLike<number>, errors: ArrayLike<number>, figures: FitFigures, solver: string): string {
  const width = Math.max(9, ...names.map(({ length }) => length));
  const row = (name: string, value: string, error: string): string => `  ${name.padEnd(width)} ${value.padStart(16)} ${error.padStart(16)}\n`;
  const { samples, squares, rSquared, reason } = figures;
  return [
    'residua fit\n\n',
    row('Parameter', 'Value', 'Standard error'),
    ...names.map((name, k) => row(name, scientific(values[k] as number, 8), reason === '' ? scientific(errors[k] as number, 2) : '-')),
    `\n  Samples          ${samples}\n`,
    `  Sum of squares   ${scientific(squares, 6)}\n`,
    `  R²               ${rSquared.toFixed(6)}\n`,
    reason === '' ? '' : `  No standard errors: ${reason}\n`,
    `\n${solver}`,
  ].join('');
}

/** The parameters with their standard errors as a table of HTML. */
export function fitHtml(rows: readonly { readonly parameter: string; readonly value: number; readonly standardError: number }[], message: string): string {
  return htmlTable(`residua fit: ${message}`, ['Parameter', 'Value', 'Standard error'], rows.map(({ parameter, value, standardError }) => [parameter, value, standardError]));
}
