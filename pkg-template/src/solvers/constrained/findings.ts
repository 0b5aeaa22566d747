/** What a solve found of its constraints. */

import type { ConstraintKind } from '../../problem/constraint-function.js';
import { scientific } from '../scientific.js';
import { dependentRows } from './dense.js';
import type { Lagrangian, Point } from './lagrangian.js';
import { violationOf } from './optimality.js';
import type { Tolerances } from './sequential.js';

/** The constraints of a block at the end of a solve. Arrays have a number for each constraint: by instance, then by output. */
export interface ConstraintResult {
  /** The name of the block. */
  readonly name: string;
  /** Whether its constraints are = 0 or ≤ 0. */
  readonly kind: ConstraintKind;
  /** Whether it took part; all arrays of a disabled block are 0. */
  readonly enabled: boolean;
  /** The constraints c. */
  readonly values: Float64Array;
  /**
   * The multipliers λ: ∇f + Σ λ ∇c is 0 but for bounds, so that −λ is the change of the objective with that of the constraint's right-hand side. At least
   * 0 of inequalities.
   */
  readonly multipliers: Float64Array;
  /** 1 of each constraint that holds with equality, else 0. */
  readonly active: Uint8Array;
  /** 1 of each active constraint whose gradient depends on those of constraints before it, whose multipliers are then not unique. */
  readonly dependent: Uint8Array;
  /** The largest |c| of equalities, or c of inequalities; 0 where all hold exactly. */
  readonly violation: number;
}

/** The results of all blocks at a point. `sizes`: the terms of each constraint. */
export function constraintResults(problem: Lagrangian, { c }: Point, multipliers: Float64Array, sizes: Float64Array, tolerances: Tolerances): ConstraintResult[] {
  const { session } = problem;
  return session.layout.parts.map(({ block, first }, part) => {
    const end = first + block.numConstraints;
    const enabled = session.domain.enabled[part] === true;
    const active = new Uint8Array(block.numConstraints);
    let violation = 0;
    for (let i = first; i < end; i++) {
      const isTight = (c[i] as number) >= -Math.max(10 * tolerances.violation, 1e-9) * (sizes[i] as number);
      active[i - first] = Number(enabled && (block.kind === 'equality' || (multipliers[i] as number) > 0 || isTight));
      violation = Math.max(violation, violationOf(problem, c, i));
    }
    const of = { values: c.slice(first, end), multipliers: multipliers.slice(first, end), active, dependent: new Uint8Array(active.length) };
    return { name: block.name, kind: block.kind, enabled, ...of, violation };
  });
}

/** Marks active constraints that depend on others, and returns a sentence that names them; empty without any. */
export function findDependent(problem: Lagrangian, { offsets, columns, entries }: Point, results: readonly ConstraintResult[], scales: Float64Array): string {
  const size = problem.free.length;
  const places = new Map<number, number>();
  problem.free.forEach((j, place) => places.set(j, place));
  const active: number[] = [];
  problem.session.layout.parts.forEach(({ first }, part) => results[part]?.active.forEach((isActive, k) => isActive === 1 && active.push(first + k)));
  const matrix = new Float64Array(active.length * size);
  active.forEach((i, row) => {
    for (let k = offsets[i] as number; k < (offsets[i + 1] as number); k++) {
      const place = places.get(columns[k] as number);
      if (place !== undefined) matrix[row * size + place] = (entries[k] as number) * (scales[columns[k] as number] as number);
    }
  });
  const dependent = dependentRows(matrix, size, 1e-9).map((row) => active[row] as number);
  if (dependent.length === 0) return '';
  for (const i of dependent) {
    problem.session.layout.parts.forEach(({ first, block }, part) => {
      if (i >= first && i < first + block.numConstraints) (results[part] as ConstraintResult).dependent[i - first] = 1;
    });
  }
  const names = dependent.slice(0, 4).map((i) => describeConstraint(problem, i, null));
  const more = dependent.length > 4 ? `, and ${dependent.length - 4} more` : '';
  return `To first order ${dependent.length === 1 ? 'a constraint depends' : 'constraints depend'} on others: ${names.join(', ')}${more}.`;
}

/** Names a constraint by block, instance and output, with its value if that is given. */
export function describeConstraint({ session, ofBlocks }: Lagrangian, i: number, value: number | null): string {
  const of = value === null ? '' : `${i < ofBlocks ? '' : ' '} (${scientific(value, 2)})`;
  if (i >= ofBlocks) return `the unit length of a block${of}`;
  const { part, instance, output } = session.layout.find(i);
  const { kind, name, numConstraints, count } = part.block;
  return `${kind} "${name}"[${instance}]${numConstraints > count ? `, output ${output}` : ''}${of}`;
}
