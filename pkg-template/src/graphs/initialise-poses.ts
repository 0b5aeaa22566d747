/**
 * A start for pose graphs by two linear problems: the chordal relaxation of the rotations (D. Martinec, T. Pajdla, "Robust Rotation and
 * Translation Estimation in Multiview Reconstruction", CVPR 2007; L. Carlone et al., "Initialization Techniques for 3D SLAM", ICRA 2015), then
 * the translations.
 */

import { checkOptions, type OptionNames } from '../arguments/options.js';
import { copyIndices, type Indices } from '../arguments/numeric-arguments.js';
import { checkGraph, type PoseGraphLike } from '../formats/check-graph.js';
import type { PoseGraph } from '../formats/g2o.js';
import { diagonalize } from '../problem/triangular-root.js';
import { BlockLeastSquares } from './block-least-squares.js';
import { Components } from './components.js';
import { measuredOf, type Rigid } from './measured.js';
import { logarithm, nearestRotation, poseSize, product, rotationOf, sum, translationOf, transpose } from './pose-numbers.js';

/** Options of initialisePoses(). */
export interface InitialisePosesOptions {
  /** Indices of poses that stay, besides those that the graph fixes: the ones that a problem holds constant. */
  fixed?: Indices;
}

const OPTIONS: OptionNames<InitialisePosesOptions> = { fixed: true };

/**
 * Returns the graph with poses and landmarks from which a solve finds a good minimum, whatever the graph's own are. Rotations are those whose
 * matrices are nearest to the solution of a linear least-squares problem in their entries, which has every measurement's rotational information as its
 * weight; translations and landmarks then are the minimum of the graph's cost with these rotations.
 *
 * Poses and landmarks that the graph fixes stay, and so do those of `fixed`. In a part of the graph that no fixed pose and no prior holds, the first pose stays.
 * Without a pose prior that is the rotation of the first pose too where position priors hold the part. What the measurements do not determine keeps its value.
 *
 * `graph` is what parseG2o returns, or a graph made by hand, of which poses and measurements alone must be there. Throws 'invalid-argument' where lengths,
 * indices or numbers of it do not fit.
 */
export function initialisePoses(graph: PoseGraphLike, options: InitialisePosesOptions = {}): PoseGraph {
  const argument = 'initialisePoses: graph';
  const checked = checkGraph(argument, graph);
  checkOptions('initialisePoses: options', options, OPTIONS);
  const count = checked.poses.length / poseSize(checked.dim);
  const fixed = new Set([...checked.fixed, ...copyIndices('initialisePoses: fixed', options.fixed ?? [], count, 'poses')]);
  const start = new Start(checked, fixed);
  start.rotate();
  start.translate();
  return { ...checked, poses: start.poses, landmarks: { ...checked.landmarks, points: start.points } };
}

/** A linear residual a x₁ + b x₂ + residual. */
interface Term {
  readonly from: number;
  readonly to: number;
  readonly a: readonly number[];
  readonly b: readonly number[];
  readonly residual: readonly number[];
}

class Start {
  readonly poses: Float64Array;
  readonly points: Float64Array;
  private readonly dim: 2 | 3;
  private readonly size: 3 | 7;
  /** Number of poses. */
  private readonly count: number;
  private readonly rotations: number[][];
  private readonly measured: ReturnType<typeof measuredOf>;

  constructor(
    private readonly graph: PoseGraph,
    private readonly fixed: ReadonlySet<number>,
  ) {
    this.dim = graph.dim;
    this.size = poseSize(graph.dim);
    this.poses = graph.poses.slice();
    this.points = graph.landmarks.points.slice();
    this.count = this.poses.length / this.size;
    this.rotations = Array.from({ length: this.count }, (_, k) => rotationOf(this.dim, this.poses, k * this.size));
    this.measured = measuredOf(graph);
  }

  /**
   * Replaces the rotations by those of the relaxation: Σ ‖(R₁ O₁ Z − R₂ O₂) Wᵀ‖² over matrices R. Rows of the matrices are independent of each other and
   * share the matrix of the normal equations.
   */
  rotate(): void {
    const { dim, count, rotations } = this;
    const area = dim * dim;
    const terms: Term[] = [];
    const components = new Components(count);
    for (const vertex of this.fixed) components.hold(vertex);
    for (const { from, to, fromSensor, toSensor, value, root } of this.measured.poses) {
      const weight = rotationWeight(dim, root);
      if (weight === null) continue;
      components.join(from, to);
      // The unknown is Rᵀ, which the columns of the problem share.
      const a = product(dim, weight, transpose(dim, product(dim, fromSensor.rotation, value.rotation)));
      const b = product(dim, weight, transpose(dim, toSensor.rotation)).map((entry) => -entry);
      const residual = product(dim, b, transpose(dim, rotations[to] as number[]));
      const before = from < 0 ? a : product(dim, a, transpose(dim, rotations[from] as number[]));
      terms.push({ from, to, a, b, residual: sum(residual, before) });
    }
    const held = new Set([...this.fixed, ...components.free()]);
    const unknown = positionsWithout(held, count);
    const problem = new BlockLeastSquares(count - held.size, dim, dim);
    for (const { from, to, a, b, residual } of terms) problem.add(from < 0 ? -1 : (unknown[from] as number), a, unknown[to] as number, b, residual);
    const change = problem.solve();
    for (let k = 0; k < count; k++) {
      const first = (unknown[k] as number) * area;
      if (first < 0 || change.subarray(first, first + area).every((entry) => entry === 0)) continue;
      const matrix = transpose(dim, sum(transpose(dim, rotations[k] as number[]), change.subarray(first, first + area)));
      const nearest = nearestRotation(dim, product(dim, matrix, metric(dim, problem.blockOf(unknown[k] as number))));
      if (nearest === null) continue;
      // Of the two quaternions of a rotation the one that is nearer to the graph's.
      const before = this.poses.subarray(k * this.size, k * this.size + nearest.length);
      const sign = dim === 3 && before.reduce((sum, entry, i) => sum + entry * (nearest[i] as number), 0) < 0 ? -1 : 1;
      before.set(nearest.map((entry) => sign * entry));
      rotations[k] = rotationOf(dim, this.poses, k * this.size);
    }
  }

  /** Replaces positions by those of the least cost with the present rotations. */
  translate(): void {
    const { dim, count } = this;
    const total = count + this.points.length / dim;
    const terms: Term[] = [];
    const components = new Components(total);
    const fixed = new Set([...this.fixed, ...Array.from(this.graph.landmarks.fixed, (k) => count + k)]);
    for (const vertex of fixed) components.hold(vertex);
    const add = (from: number, to: number, b: number[], residual: number[]): void => {
      if (b.every((entry) => entry === 0)) return;
      components.join(from, to);
      terms.push({ from, to, a: b.map((entry) => -entry), b, residual });
    };
    for (const { from, to, fromSensor, toSensor, value, root } of this.measured.poses) {
      const [first, second] = [this.carried(from, fromSensor), this.carried(to, toSensor)];
      const rotation = product(dim, first.rotation, value.rotation);
      const way = sum(second.translation, first.translation, -1);
      const seen = sum(product(dim, transpose(dim, first.rotation), way), value.translation, -1);
      const shift = product(dim, transpose(dim, value.rotation), seen);
      const turn = logarithm(dim, product(dim, transpose(dim, rotation), second.rotation));
      const whiten = upperRows(root, dim, dim + turn.length);
      const residual = whiten.map((row) => row.reduce((sum, entry, k) => sum + entry * ((k < dim ? shift[k] : turn[k - dim]) as number), 0));
      add(from, to, product(dim, whiten.flatMap((row) => row.slice(0, dim)), transpose(dim, rotation)), residual);
    }
    for (const { from, to, sensor, value, root } of this.measured.points) {
      const whiten = upperRows(root, dim, dim).flat();
      const { rotation, translation } = sensor === null ? { rotation: null, translation: this.positionOf(from) } : this.carried(from, sensor);
      const way = sum(this.positionOf(to), translation, -1);
      const seen = rotation === null ? way : product(dim, transpose(dim, rotation), way);
      const b = rotation === null ? whiten : product(dim, whiten, transpose(dim, rotation));
      add(from, to, b, product(dim, whiten, sum(seen, value, -1)));
    }
    const held = new Set([...fixed, ...components.free()]);
    const unknown = positionsWithout(held, total);
    const problem = new BlockLeastSquares(total - held.size, dim, 1);
    for (const { from, to, a, b, residual } of terms) problem.add(from < 0 ? -1 : (unknown[from] as number), a, unknown[to] as number, b, residual);
    const change = problem.solve();
    for (let vertex = 0; vertex < total; vertex++) {
      const first = (unknown[vertex] as number) * dim;
      if (first < 0) continue;
      const position = this.positionOf(vertex);
      for (let k = 0; k < dim; k++) (position[k] as number) += change[first + k] as number;
    }
  }

  /** The present pose of a sensor. */
  private carried(vertex: number, { rotation, translation }: Rigid): Rigid {
    if (vertex < 0) return { rotation, translation };
    const own = this.rotations[vertex] as number[];
    const origin = this.positionOf(vertex);
    return { rotation: product(this.dim, own, rotation), translation: product(this.dim, own, translation).map((entry, k) => entry + (origin[k] as number)) };
  }

  /** The present position of a vertex, to be changed in place. */
  private positionOf(vertex: number): Float64Array {
    const { dim, count } = this;
    if (vertex < 0) return new Float64Array(dim);
    return vertex < count ? translationOf(dim, this.poses, vertex * this.size) : this.points.subarray((vertex - count) * dim, (vertex - count + 1) * dim);
  }
}

/**
 * The metric in which the nearest rotation is taken: what the measurements of a pose know of its rotation, in its own frame. The second term decides
 * where they know nothing.
 */
function metric(dim: 2 | 3, block: Float64Array): number[] {
  let trace = 0;
  for (let k = 0; k < block.length; k += dim + 1) trace += block[k] as number;
  return Array.from(block, (entry, k) => entry / trace + (k % (dim + 1) === 0 ? 1e-6 : 0));
}

/** For each vertex its position among those that are not held; −1 where it is. */
function positionsWithout(held: ReadonlySet<number>, count: number): Int32Array {
  let next = 0;
  return Int32Array.from({ length: count }, (_, vertex) => (held.has(vertex) ? -1 : next++));
}

/** The first rows of an upper triangle of `size` rows, as rows of full length. */
function upperRows(triangle: Float64Array, rows: number, size: number): number[][] {
  let next = 0;
  return Array.from({ length: rows }, (_, row) => Array.from({ length: size }, (_, column) => (column < row ? 0 : (triangle[next++] as number))));
}

/**
 * W such that ‖[ε]ₓ Wᵀ‖² = εᵀ Ω ε for small rotations ε, with the rotational information Ω of which the translation is taken out: WᵀW = ½ tr(Ω) I − Ω
 * in space, and without its negative part where an eigenvalue of Ω is larger than the sum of the others. Null for no information.
 */
function rotationWeight(dim: 2 | 3, root: Float64Array): number[] | null {
  // The rotation is last in the triangle, so that the last rows are the root of its Schur complement.
  if (dim === 2) {
    const weight = root[5] as number;
    return weight === 0 ? null : [weight, 0, 0, weight];
  }
  const rows = upperRows(root.subarray(15), 3, 3);
  const information = new Float64Array(9);
  for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) information[3 * i + j] = rows.reduce((sum, row) => sum + (row[i] as number) * (row[j] as number), 0);
  const trace = (information[0] as number) + (information[4] as number) + (information[8] as number);
  if (!(trace > 0)) return null;
  const matrix = information.map((entry, k) => (k % 4 === 0 ? 0.5 : 0) - entry / trace);
  const vectors = diagonalize(matrix, 3);
  return Array.from(vectors, (entry, k) => entry * Math.sqrt(trace * Math.max(matrix[4 * Math.floor(k / 3)] as number, 0)));
}
