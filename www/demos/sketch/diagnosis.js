/**
 * The diagnosis of a sketch: its degrees of freedom and the points that can move, redundant constraints, and contradictory ones. Takes
 * compiled functions of sketchProblem at a solved position; returns ids.
 *
 * The possible motions are the null space of the Jacobian: the package's rank(). A redundant constraint is a row that is a combination of
 * earlier rows, which are named with it; if not all of them hold, they contradict each other. At a least-squares solution with r ≠ 0, Jᵀr =
 * 0 is such a combination, so there always is one.
 */
import { rank } from 'residua';
import { setPulls } from './model.js';

/**
 * Relative to a row's norm: a smaller distance from the span of others counts as 0. Solved positions are accurate to about 1e-8 of the
 * sketch's size.
 */
const DEPENDENT = 1e-6;
/** Millimetres: a constraint with a larger residual does not hold. In single precision a sketch of 100 mm is solved to about 1e-4. */
export const HOLDS = 1e-3;

/**
 * The rows of a matrix that are combinations of earlier rows, by Gram-Schmidt, repeated once for rounding (Giraud et al. 2005).
 * @param {Float64Array[]} rows
 * @returns {{ row: number, of: number[] }[]} a dependent row, and the rows of its combination
 */
export function dependentRows(rows, tolerance = DEPENDENT) {
  // Orthonormal directions, each with its combination of rows.
  const basis = [];
  const found = [];
  rows.forEach((row, index) => {
    const length = Math.hypot(...row);
    const rest = row.slice(), recipe = new Map([[index, 1]]);
    for (let pass = 0; pass < 2; pass++) {
      for (const { direction, makes } of basis) {
        let along = 0;
        for (let k = 0; k < rest.length; k++) along += rest[k] * direction[k];
        if (along === 0) continue;
        for (let k = 0; k < rest.length; k++) rest[k] -= along * direction[k];
        for (const [other, factor] of makes) recipe.set(other, (recipe.get(other) ?? 0) - along * factor);
      }
    }
    const left = Math.hypot(...rest);
    if (left <= tolerance * length || length === 0) {
      // A row counts by the norm of its contribution.
      const of = [...recipe].filter(([other, factor]) => other !== index && Math.abs(factor) * Math.hypot(...rows[other]) > 1e-4 * length).map(([other]) => other);
      found.push({ row: index, of });
      return;
    }
    basis.push({ direction: rest.map((value) => value / left), makes: new Map([...recipe].map(([other, factor]) => [other, factor / left])) });
  });
  return found;
}

/**
 * @param {import('residua').GpuCompiledFunctions} functions
 * @param {ReturnType<typeof import('./model.js').sketchProblem>} model the source of the functions; its pulls are left at rest
 * @returns {Promise<{ degreesOfFreedom: number, moving: Set<number>, redundant: { constraint: number, with: number[] }[], conflicting:
 *   Set<number>, broken: Set<number> }>}
 *   ids: `moving` has points and round curves whose radius may change; `with` constraints and curves; `broken` the constraints that do not
 *   hold
 */
export async function diagnose(functions, model) {
  setPulls(model, null);
  const { owners, points, radii, pointAt, radiusAt } = model;
  const [{ rank: determined, degreesOfFreedom, free }, { values, jacobian }] = await Promise.all([rank(functions), functions.evaluateJacobian()]);
  const byPlace = new Map([[points.name, [...pointAt.keys()]], [radii?.name, [...radiusAt.keys()]]]);
  const moving = new Set(free.flat().filter(({ value }) => Math.abs(value) > 1e-6).map(({ array, block }) => byPlace.get(array)[block]));

  // The defining residuals of arcs first, then constraints by age: of two equivalent ones the newer is redundant.
  const ordered = [...owners].sort((a, b) => (a.constraint ?? -1) - (b.constraint ?? -1));
  const dense = jacobian.toDense();
  const rows = ordered.flatMap(({ row, rows: count }, owner) => Array.from({ length: count }, (_, k) => ({ owner, row: row + k })));
  const dependent = dependentRows(rows.map(({ row }) => dense.subarray(row * jacobian.cols, (row + 1) * jacobian.cols)));
  const off = ordered.map(({ row, rows: count }) => Math.max(...values.slice(row, row + count).map(Math.abs)));
  const idOf = ({ constraint, curve }) => constraint ?? curve;

  const redundant = new Map(), conflicting = new Set();
  for (const { row, of } of dependent) {
    const { owner } = rows[row];
    const others = [...new Set(of.map((other) => rows[other].owner))].filter((other) => other !== owner);
    const all = [owner, ...others];
    if (all.some((member) => off[member] > HOLDS)) {
      for (const member of all) if (ordered[member].constraint !== null) conflicting.add(ordered[member].constraint);
    } else if (ordered[owner].constraint !== null) {
      const known = redundant.get(ordered[owner].constraint) ?? [];
      redundant.set(ordered[owner].constraint, [...new Set([...known, ...others.map((other) => idOf(ordered[other]))])]);
    }
  }
  for (const id of conflicting) redundant.delete(id);
  return {
    degreesOfFreedom: degreesOfFreedom - determined, moving,
    redundant: [...redundant].map(([constraint, others]) => ({ constraint, with: others })),
    conflicting,
    broken: new Set(ordered.filter(({ constraint }, k) => constraint !== null && off[k] > HOLDS).map(({ constraint }) => constraint)),
  };
}
