/** Pose graphs as the text of .g2o files. */

import { invalidArgument } from '../arguments/errors.js';
import { checkGraph, type PoseGraphLike } from './check-graph.js';
import type { Measurements, PoseGraph } from './g2o.js';
import { numberText } from './lines.js';

const WRITER = 'writeG2o';

/** By dimension: the tags of lines. */
const NAMES = {
  2: {
    pose: 'VERTEX_SE2', landmark: 'VERTEX_XY', offset: 'PARAMS_SE2OFFSET', edge: 'EDGE_SE2', offsetEdge: 'EDGE_SE2_OFFSET', landmarkEdge: 'EDGE_SE2_POINTXY_OFFSET',
    prior: 'EDGE_PRIOR_SE2', positionPrior: 'EDGE_PRIOR_SE2_XY', landmarkPrior: 'EDGE_PRIOR_XY', landmarkPair: 'EDGE_POINTXY',
  },
  3: {
    pose: 'VERTEX_SE3:QUAT', landmark: 'VERTEX_TRACKXYZ', offset: 'PARAMS_SE3OFFSET', edge: 'EDGE_SE3:QUAT', offsetEdge: 'EDGE_SE3_OFFSET', landmarkEdge: 'EDGE_SE3_TRACKXYZ',
    prior: 'EDGE_SE3_PRIOR', positionPrior: 'EDGE_SE3_XYZ_PRIOR', landmarkPrior: 'EDGE_POINTXYZ_PRIOR', landmarkPair: 'EDGE_POINTXYZ',
  },
} as const;

/**
 * Returns the text of a .g2o file: what parseG2o reads as the same graph. Numbers have as many digits as their bits need; information matrices are ΛᵀΛ of the
 * square roots Λ, so that roots come back but for rounding. Lines that a reader skipped are not written. Poses of sensors that `offsets` lacks get ids of their own.
 *
 * `graph` is what parseG2o returns, or a graph made by hand, of which poses and measurements alone must be there: ids are then positions from 0. Throws
 * 'invalid-argument' where lengths, indices, numbers or ids of it do not fit, and for a prior in the plane with a sensor, which the format does not have.
 */
export function writeG2o(graph: PoseGraphLike): string {
  const checked = checkGraph(`${WRITER}: graph`, graph);
  const writer = new Writer(checked);
  return writer.text();
}

class Writer {
  private readonly lines: string[] = [];
  private readonly offsetLines: string[] = [];
  private readonly offsetIds = new Map<string, string>();
  private readonly usedIds: Set<string>;
  private readonly identity: string;

  constructor(private readonly graph: PoseGraph) {
    const { dim, ids, landmarks, offsets } = graph;
    checkDistinct('ids', [...ids, ...landmarks.ids]);
    checkDistinct('offsets.ids', offsets.ids);
    this.usedIds = new Set(offsets.ids);
    this.identity = this.poseText(dim === 2 ? [0, 0, 0] : [1, 0, 0, 0, 0, 0, 0], 0);
    offsets.ids.forEach((id, k) => this.addOffset(id, this.poseText(offsets.poses, k)));
  }

  text(): string {
    const { dim, poses, ids, fixed, from, to, landmarks, landmarkEdges, offsetEdges, priors, positionPriors, landmarkPriors, landmarkPairs } = this.graph;
    const tags = NAMES[dim];
    const point = (values: Float64Array, k: number): string => text(values.subarray(dim * k, dim * (k + 1)));
    const add = (tag: string, ends: readonly string[], list: Measurements, k: number, isPose: boolean): void => {
      const value = isPose ? this.poseText(list.measurements, k) : point(list.measurements, k);
      this.lines.push(`${tag} ${ends.join(' ')} ${value} ${informationText(list.sqrtInformation, k, isPose ? (dim === 2 ? 3 : 6) : dim)}`);
    };
    const pose = (indices: Uint32Array, k: number): string => ids[indices[k] as number] as string;
    const landmark = (indices: Uint32Array, k: number): string => landmarks.ids[indices[k] as number] as string;
    ids.forEach((id, k) => this.lines.push(`${tags.pose} ${id} ${this.poseText(poses, k)}`));
    landmarks.ids.forEach((id, k) => this.lines.push(`${tags.landmark} ${id} ${point(landmarks.points, k)}`));
    for (const index of fixed) this.lines.push(`FIX ${ids[index]}`);
    for (const index of landmarks.fixed) this.lines.push(`FIX ${landmarks.ids[index]}`);
    from.forEach((_, k) => add(tags.edge, [pose(from, k), pose(to, k)], this.graph, k, true));
    offsetEdges.from.forEach((_, k) => {
      const sensors = [this.offset(offsetEdges.fromOffsets, k), this.offset(offsetEdges.toOffsets, k)];
      add(tags.offsetEdge, [pose(offsetEdges.from, k), pose(offsetEdges.to, k), ...sensors], offsetEdges, k, true);
    });
    landmarkEdges.from.forEach((_, k) => {
      const ends = [pose(landmarkEdges.from, k), landmark(landmarkEdges.to, k)];
      // In the plane a line without a sensor has a tag of its own.
      if (dim === 2 && this.poseText(landmarkEdges.offsets, k) === this.identity) add('EDGE_SE2_XY', ends, landmarkEdges, k, false);
      else add(tags.landmarkEdge, [...ends, this.offset(landmarkEdges.offsets, k)], landmarkEdges, k, false);
    });
    priors.poses.forEach((_, k) => {
      if (dim === 3) return add(tags.prior, [pose(priors.poses, k), this.offset(priors.offsets, k)], priors, k, true);
      const offset = this.poseText(priors.offsets, k);
      if (offset !== this.identity) throw invalidArgument(`${WRITER}: graph.priors.offsets`, `a sensor at position ${k}`, 'the identity in the plane: the format has no other prior there');
      add(tags.prior, [pose(priors.poses, k)], priors, k, true);
    });
    positionPriors.poses.forEach((_, k) => {
      // The format names a sensor that has no effect.
      const sensor = dim === 2 ? [] : [this.offset(Float64Array.of(1, 0, 0, 0, 0, 0, 0), 0)];
      add(tags.positionPrior, [pose(positionPriors.poses, k), ...sensor], positionPriors, k, false);
    });
    landmarkPriors.landmarks.forEach((_, k) => add(tags.landmarkPrior, [landmark(landmarkPriors.landmarks, k)], landmarkPriors, k, false));
    landmarkPairs.from.forEach((_, k) => add(tags.landmarkPair, [landmark(landmarkPairs.from, k), landmark(landmarkPairs.to, k)], landmarkPairs, k, false));
    return `${[...this.offsetLines, ...this.lines].join('\n')}\n`;
  }

  /** The id of a sensor's pose. */
  private offset(values: Float64Array, k: number): string {
    const pose = this.poseText(values, k);
    const known = this.offsetIds.get(pose);
    if (known !== undefined) return known;
    let next = this.usedIds.size;
    while (this.usedIds.has(String(next))) next++;
    this.usedIds.add(String(next));
    this.addOffset(String(next), pose);
    return String(next);
  }

  private addOffset(id: string, pose: string): void {
    this.offsetLines.push(`${NAMES[this.graph.dim].offset} ${id} ${pose}`);
    if (!this.offsetIds.has(pose)) this.offsetIds.set(pose, id);
  }

  /** A pose in the order of the format: x, y, angle, or x, y, z, then the quaternion x, y, z, w. */
  private poseText(values: ArrayLike<number>, k: number): string {
    const order = this.graph.dim === 2 ? [1, 2, 0] : [4, 5, 6, 1, 2, 3, 0];
    return text(order.map((place) => values[order.length * k + place] as number));
  }
}

const text = (numbers: ArrayLike<number>): string => Array.from(numbers, numberText).join(' ');

/** The upper triangle of ΛᵀΛ. */
function informationText(roots: Float64Array, k: number, rows: number): string {
  const length = (rows * (rows + 1)) / 2;
  const at = (row: number, column: number): number => roots[length * k + row * rows - (row * (row + 1)) / 2 + column] as number;
  const upper: number[] = [];
  for (let i = 0; i < rows; i++) {
    for (let j = i; j < rows; j++) {
      let sum = 0;
      for (let l = 0; l <= i; l++) sum += at(l, i) * at(l, j);
      if (!Number.isFinite(sum)) throw invalidArgument(`${WRITER}: graph`, `a square root of information whose square is ${sum}`, 'roots whose squares are finite');
      upper.push(sum);
    }
  }
  return text(upper);
}

function checkDistinct(name: string, ids: readonly string[]): void {
  const seen = new Set<string>();
  for (const id of ids) {
    if (seen.has(id)) throw invalidArgument(`${WRITER}: graph.${name}`, `"${id}" a second time`, 'an id for each pose and landmark');
    seen.add(id);
  }
}
