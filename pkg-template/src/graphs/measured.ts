/**
 * The measurements of a pose graph in two forms: a pose by another, and a point by a pose. Vertices are poses, then landmarks; −1 is the world,
 * whose pose is the identity.
 */

import type { Measurements, PoseGraph } from '../formats/g2o.js';
import { poseSize, rotationOf, translationOf } from './pose-numbers.js';

/** A rotation matrix and a translation. */
export interface Rigid {
  readonly rotation: readonly number[];
  readonly translation: ArrayLike<number>;
}

/** A pose as another sees it, each with a sensor in its frame: Z⁻¹ (X₁ O₁)⁻¹ (X₂ O₂). */
export interface MeasuredPose {
  readonly from: number;
  readonly to: number;
  readonly fromSensor: Rigid;
  readonly toSensor: Rigid;
  readonly value: Rigid;
  /** Λ of its residuals: an upper triangle, row after row. */
  readonly root: Float64Array;
}

/** A point as a sensor on a pose sees it, (X O)⁻¹ p − z, or from the world or another point without a rotation: p₂ − p₁ − z. */
export interface MeasuredPoint {
  readonly from: number;
  readonly to: number;
  /** The sensor in the frame of the pose; null where `from` has no rotation. */
  readonly sensor: Rigid | null;
  readonly value: Float64Array;
  readonly root: Float64Array;
}

export function measuredOf(graph: PoseGraph): { readonly poses: readonly MeasuredPose[]; readonly points: readonly MeasuredPoint[] } {
  const { dim, landmarkEdges, offsetEdges, priors, positionPriors, landmarkPriors, landmarkPairs } = graph;
  const size = poseSize(dim);
  const firstLandmark = graph.poses.length / size;
  const identity: Rigid = { rotation: dim === 2 ? [1, 0, 0, 1] : [1, 0, 0, 0, 1, 0, 0, 0, 1], translation: new Float64Array(dim) };
  const rigid = (values: Float64Array, k: number): Rigid => ({ rotation: rotationOf(dim, values, size * k), translation: translationOf(dim, values, size * k) });
  const sensor = (values: Float64Array | null, k: number): Rigid => (values === null ? identity : rigid(values, k));
  const rootOf = ({ sqrtInformation }: Measurements, k: number, rows: number): Float64Array => {
    const length = (rows * (rows + 1)) / 2;
    return sqrtInformation.subarray(length * k, length * (k + 1));
  };
  const poses: MeasuredPose[] = [];
  const addPoses = (list: Measurements, from: Uint32Array | null, to: Uint32Array, fromSensors: Float64Array | null, toSensors: Float64Array | null): void => {
    for (let k = 0; k < to.length; k++) {
      const value = rigid(list.measurements, k);
      const root = rootOf(list, k, dim === 2 ? 3 : 6);
      poses.push({ from: from?.[k] ?? -1, to: to[k] as number, fromSensor: sensor(fromSensors, k), toSensor: sensor(toSensors, k), value, root });
    }
  };
  addPoses(graph, graph.from, graph.to, null, null);
  addPoses(offsetEdges, offsetEdges.from, offsetEdges.to, offsetEdges.fromOffsets, offsetEdges.toOffsets);
  addPoses(priors, null, priors.poses, null, priors.offsets);
  const points: MeasuredPoint[] = [];
  const addPoints = (list: Measurements, vertices: (k: number) => readonly [from: number, to: number], sensors: Float64Array | null): void => {
    for (let k = 0; k < list.measurements.length / dim; k++) {
      const [from, to] = vertices(k);
      const value = list.measurements.subarray(dim * k, dim * (k + 1));
      points.push({ from, to, sensor: sensors === null ? null : rigid(sensors, k), value, root: rootOf(list, k, dim) });
    }
  };
  const landmark = (indices: Uint32Array, k: number): number => firstLandmark + (indices[k] as number);
  addPoints(landmarkEdges, (k) => [landmarkEdges.from[k] as number, landmark(landmarkEdges.to, k)], landmarkEdges.offsets);
  addPoints(positionPriors, (k) => [-1, positionPriors.poses[k] as number], null);
  addPoints(landmarkPriors, (k) => [-1, landmark(landmarkPriors.landmarks, k)], null);
  addPoints(landmarkPairs, (k) => [landmark(landmarkPairs.from, k), landmark(landmarkPairs.to, k)], null);
  return { poses, points };
}
