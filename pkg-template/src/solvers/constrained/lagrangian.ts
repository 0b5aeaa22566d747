/**
 * A problem with constraints at a point, in double precision: the objective f and its gradient, the constraints c and their Jacobian A. Blocks on manifolds
 * have equations as constraints of their own, ½(‖q‖² − 1) = 0, so that what is solved is a problem in plain numbers.
 */

import type { ConstrainedSession } from '../../compile/functions.js';
import { NO_FLOOR } from '../../problem/constraint-function.js';
import { manifoldParts, type PartOfManifold } from '../../problem/manifold.js';

/** What is minimised. */
export type Objective = 'least-squares' | 'sum';

/** The problem at a point. */
export interface Point {
  readonly x: Float64Array;
  readonly f: number;
  /** ∇f, of all parameters. */
  readonly gradient: Float64Array;
  /** c of all constraints, those of manifolds last; 0 of disabled ones. */
  readonly c: Float64Array;
  /** The rows of A: of constraint i the entries offsets[i] .. offsets[i + 1]. */
  readonly offsets: Uint32Array;
  readonly columns: Uint32Array;
  readonly entries: Float64Array;
}

/** A part of a block that has unit length. */
interface UnitPart {
  readonly first: number;
  readonly dim: number;
}

/** Where the entries of the constraints' Jacobian are, and the first of them in the module's, which has residuals before them. */
interface Rows {
  readonly offsets: Uint32Array;
  readonly columns: Uint32Array;
  readonly firstEntry: number;
  /** The rows of residuals and constraints in the module's. */
  readonly allOffsets: Uint32Array;
  readonly allColumns: Uint32Array;
}

/** The problem of a solve. */
export class Lagrangian {
  /** Number of constraints of blocks. */
  readonly ofBlocks: number;
  /** Number of all constraints. */
  readonly count: number;
  /** Whether each is an equality. */
  readonly isEquality: Uint8Array;
  /** Whether each takes part. */
  readonly isEnabled: Uint8Array;
  /** The parameters that may move. */
  readonly free: Uint32Array;
  /** Evaluations so far. */
  evaluations = 0;
  private readonly units: readonly UnitPart[];
  private pattern: Rows | null = null;

  constructor(
    readonly session: ConstrainedSession,
    readonly objective: Objective,
  ) {
    const { layout, domain, arrays, numParams } = session;
    this.units = arrays.flatMap((array) => unitParts(array).filter(({ first }) => domain.constant[first] === 0));
    this.ofBlocks = layout.count;
    this.count = layout.count + this.units.length;
    this.isEquality = new Uint8Array(this.count).fill(1);
    this.isEnabled = new Uint8Array(this.count).fill(1);
    layout.parts.forEach(({ block, first }, part) => {
      this.isEquality.fill(Number(block.kind === 'equality'), first, first + block.numConstraints);
      this.isEnabled.fill(Number(domain.enabled[part] === true), first, first + block.numConstraints);
    });
    const free: number[] = [];
    for (let j = 0; j < numParams; j++) if (domain.constant[j] === 0) free.push(j);
    this.free = Uint32Array.from(free);
  }

  /** Evaluates the problem at a point, or at the current parameters. The constraints' states must be those of a reset. */
  async at(x: Float64Array): Promise<Point> {
    const { session, objective, ofBlocks, count, units, isEnabled } = this;
    this.evaluations++;
    const { value: f, gradient } = await session.call((raw) => {
      const into = raw.returnsArrays === true ? undefined : new Float64Array(session.numParams);
      // The memory of a point is transferred to a worker.
      const at = session.gradientsOnCpu || session.precision !== 'f32' ? x.slice() : Float32Array.from(x);
      return objective === 'sum' ? raw.evaluateSumWithGradient(at, into) : raw.evaluateCostWithGradient(at, into);
    });
    const { values, entries, rowOffsets, colIndices } = await session.call((raw) => raw.evaluateJacobian(x.slice(), this.pattern === null));
    this.pattern ??= this.patternOf(rowOffsets as Uint32Array, colIndices as Uint32Array);
    const { offsets, columns, firstEntry } = this.pattern;
    const c = new Float64Array(count);
    const jacobian = new Float64Array(columns.length);
    const ofModule = offsets[ofBlocks] as number;
    jacobian.set(entries.subarray(firstEntry, firstEntry + ofModule));
    for (let i = 0; i < ofBlocks; i++) {
      if (isEnabled[i] === 1) c[i] = values[session.numResiduals + i] as number;
      else jacobian.fill(0, offsets[i], offsets[i + 1]);
    }
    units.forEach(({ first, dim }, unit) => {
      const block = x.subarray(first, first + dim);
      c[ofBlocks + unit] = 0.5 * (block.reduce((sum, number) => sum + number * number, 0) - 1);
      jacobian.set(block, offsets[ofBlocks + unit]);
    });
    return { x, f, gradient, c, offsets, columns, entries: jacobian };
  }

  /**
   * The pattern of the Hessian of the Lagrangian, among the parameters that may move: 1 where a residual, all residuals of an instance with a robust loss, a
   * constraint or a unit length has both. After the first evaluation.
   */
  couplings(): Uint8Array {
    const { allOffsets, allColumns, offsets, columns } = this.pattern as Rows;
    const size = this.free.length;
    const places = new Int32Array(this.session.numParams).fill(-1);
    this.free.forEach((j, place) => (places[j] = place));
    const pattern = new Uint8Array(size * size);
    const couple = (together: Uint32Array): void => {
      const own = [...new Set(together)].map((column) => places[column] as number).filter((place) => place >= 0);
      for (const a of own) for (const b of own) pattern[a * size + b] = 1;
    };
    for (let row = 0; row < allOffsets.length - 1; row++) couple(allColumns.subarray(allOffsets[row], allOffsets[row + 1]));
    for (let row = this.ofBlocks; row < this.count; row++) couple(columns.subarray(offsets[row], offsets[row + 1]));
    if (this.objective === 'sum') return pattern;
    for (const ends of this.session.domain.joint) {
      for (let i = 0; i < ends.length - 1; i++) couple(allColumns.subarray(allOffsets[ends[i] as number], allOffsets[ends[i + 1] as number]));
    }
    return pattern;
  }

  /** ∇f + Aᵀλ, of all parameters. */
  gradient({ gradient, offsets, columns, entries }: Point, multipliers: Float64Array): Float64Array {
    const sum = gradient.slice();
    for (let i = 0; i < this.count; i++) {
      const multiplier = multipliers[i] as number;
      if (multiplier === 0) continue;
      for (let k = offsets[i] as number; k < (offsets[i + 1] as number); k++) {
        const column = columns[k] as number;
        sum[column] = (sum[column] as number) + multiplier * (entries[k] as number);
      }
    }
    return sum;
  }

  /** Makes what the module minimises the augmented Lagrangian for these multipliers and penalties μ. */
  async augment(multipliers: Float64Array, penalties: Float64Array): Promise<void> {
    const { session, objective, ofBlocks, isEnabled } = this;
    const [shift, scale, half] = [new Float64Array(ofBlocks), new Float64Array(ofBlocks), new Float64Array(ofBlocks)];
    for (let i = 0; i < ofBlocks; i++) {
      const penalty = penalties[i] as number;
      if (isEnabled[i] === 0 || penalty === 0) continue;
      shift[i] = Math.max((multipliers[i] as number) / penalty, NO_FLOOR);
      if (objective === 'sum') half[i] = penalty / 2;
      else scale[i] = Math.sqrt(penalty);
    }
    await session.call((raw) => {
      session.layout.setStates(raw, { shift, scale, half, isCut: true });
      session.layout.setEnabled(raw, (part) => session.domain.enabled[part] === true);
    });
  }

  /** The multipliers of unit lengths that leave no gradient along the blocks, for given ones of the other constraints. */
  withUnits(point: Point, multipliers: Float64Array): Float64Array {
    if (this.units.length === 0) return multipliers;
    const all = multipliers.slice().fill(0, this.ofBlocks);
    const gradient = this.gradient(point, all);
    this.units.forEach(({ first, dim }, unit) => {
      let [along, square] = [0, 0];
      for (let j = first; j < first + dim; j++) {
        along += (gradient[j] as number) * (point.x[j] as number);
        square += (point.x[j] as number) ** 2;
      }
      all[this.ofBlocks + unit] = -along / square;
    });
    return all;
  }

  /** Makes the outputs of constraint blocks the constraints themselves again. */
  async reset(): Promise<void> {
    await this.session.call((raw) => this.session.layout.reset(raw));
  }

  private patternOf(rowOffsets: Uint32Array, colIndices: Uint32Array): Rows {
    const { session, ofBlocks, count, units } = this;
    const firstEntry = rowOffsets[session.numResiduals] as number;
    const offsets = new Uint32Array(count + 1);
    for (let i = 0; i <= ofBlocks; i++) offsets[i] = (rowOffsets[session.numResiduals + i] as number) - firstEntry;
    units.forEach(({ dim }, unit) => (offsets[ofBlocks + unit + 1] = (offsets[ofBlocks + unit] as number) + dim));
    const columns = new Uint32Array(offsets[count] as number);
    columns.set(colIndices.subarray(firstEntry, firstEntry + (offsets[ofBlocks] as number)));
    units.forEach(({ first, dim }, unit) => {
      for (let k = 0; k < dim; k++) columns[(offsets[ofBlocks + unit] as number) + k] = first + k;
    });
    return { offsets, columns, firstEntry, allOffsets: rowOffsets, allColumns: colIndices };
  }
}

/** The parts of an array's blocks that have unit length. */
function unitParts({ manifold, offset, dim, count }: { manifold: string; offset: number; dim: number; count: number }): UnitPart[] {
  const parts = manifoldParts(manifold, dim).filter((part) => part.manifold === 'unit-quaternion' || part.manifold === 'unit-vector');
  return Array.from({ length: parts.length * count }, (_, k) => {
    const part = parts[k % parts.length] as PartOfManifold;
    return { first: offset + Math.floor(k / parts.length) * dim + part.first, dim: part.dim };
  });
}
