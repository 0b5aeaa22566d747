/** Points from the directions in which cameras see them. */

import { invalidArgument } from '../arguments/errors.js';
import { checkFinite, copyIndices, type Indices, type Numbers } from '../arguments/numeric-arguments.js';
import { checkOptions, type OptionNames } from '../arguments/options.js';
import { product, sum, transpose } from '../graphs/pose-numbers.js';
import { dot } from '../problem/vectors.js';
import { angleBetween, checkCount, copyDirections, copyPoses } from './checks.js';
import { eigen, solveBy } from './symmetric.js';

/** Options of triangulate(). */
export interface TriangulateOptions {
  /** The pose from which each direction is seen; by default they are seen from one pose after the other. */
  poseIndices?: Indices;
  /** The point that is seen in each direction; by default all directions see one point. */
  pointIndices?: Indices;
  /** The smallest parallax of a point that is found, in radians; 1e-4 by default. Noise of directions should be far below it. */
  minParallax?: number;
}

const OPTIONS: OptionNames<TriangulateOptions> = { poseIndices: true, pointIndices: true, minParallax: true };

/** A larger index of a point is taken for a mistake. */
const MOST_POINTS = 2 ** 24;

/**
 * What became of a point: 'found'; 'few-views' where fewer than two directions see it; 'no-parallax' where directions are parallel, as of a point at
 * infinity, or seen from one place; 'diverging' where the directions meet behind all cameras, as noise makes of a point that is far away; 'behind' where they
 * meet behind some of them.
 */
export type TriangulationStatus = 'found' | 'few-views' | 'no-parallax' | 'diverging' | 'behind';

/** The points, in their order. */
export interface Triangulation {
  /** 3 numbers each, in the world. Points that are not found are finite too: they lie ahead in the mean direction, so that a solve can start from them. */
  readonly points: Float64Array;
  /** Which points are found. */
  readonly status: TriangulationStatus[];
  /** The angle between two directions' lines, in radians; of more directions twice the root mean square of the angles from their mean. */
  readonly parallax: Float64Array;
  /** Root mean square of the angles between the directions and those in which the point is, in radians. */
  readonly errors: Float64Array;
}

/**
 * Returns the points that cameras see in given directions: those with the least sum of squared distances from the rays, which is a linear problem. `poses`
 * have 7 numbers each, as blocks of `problem.poses`, and take points into the cameras' frames. `directions` have 3 numbers each, in the frames of the
 * cameras and of any length, as `lens.undistort` gives them.
 *
 * Throws 'invalid-argument' for numbers, lengths and indices that do not fit. Points that the directions do not determine are no errors: `status` says what
 * they are.
 */
export function triangulate(poses: Numbers, directions: Numbers, options: TriangulateOptions = {}): Triangulation {
  const motions = copyPoses('triangulate: poses', poses);
  const rays = copyDirections('triangulate: directions', directions);
  checkOptions('triangulate: options', options, OPTIONS);
  const { minParallax = 1e-4 } = options;
  checkFinite('triangulate: minParallax', minParallax, 0);
  const count = rays.length / 3;
  const list = (name: 'poseIndices' | 'pointIndices', limit: number, what: string): Uint32Array => {
    const indices = copyIndices(`triangulate: ${name}`, options[name], limit, what);
    if (indices.length !== count) throw invalidArgument(`triangulate: ${name}`, `${indices.length} indices`, `${count}, as there are directions`);
    return indices;
  };
  if (options.poseIndices === undefined) checkCount('triangulate: directions', rays, 3, motions.length, 'poses');
  const seenBy = options.poseIndices === undefined ? Uint32Array.from({ length: count }, (_, k) => k) : list('poseIndices', motions.length, 'poses');
  const seen = options.pointIndices === undefined ? new Uint32Array(count) : list('pointIndices', MOST_POINTS, 'points that a call finds');
  const cameras = motions.map(({ rotation, translation }) => {
    const back = transpose(3, rotation);
    return { back, centre: product(3, back, translation).map((entry) => -entry) };
  });
  const order = Uint32Array.from(seen, (_, k) => k).sort((a, b) => (seen[a] as number) - (seen[b] as number) || a - b);
  const total = count === 0 ? 0 : (seen[order[count - 1] as number] as number) + 1;
  const [points, status, parallax, errors] = [new Float64Array(3 * total), [] as TriangulationStatus[], new Float64Array(total), new Float64Array(total)];
  for (let point = 0, next = 0; point < total; point++) {
    const views: View[] = [];
    for (let k = order[next]; k !== undefined && seen[k] === point; k = order[++next]) {
      const { back, centre } = cameras[seenBy[k] as number] as (typeof cameras)[number];
      views.push({ centre, direction: product(3, back, rays.subarray(3 * k, 3 * k + 3)) });
    }
    const found = meet(views, minParallax);
    points.set(found.point, 3 * point);
    status.push(found.status);
    parallax[point] = found.parallax;
    errors[point] = found.error;
  }
  return { points, status, parallax, errors };
}

/** A ray in the world. */
interface View {
  readonly centre: readonly number[];
  readonly direction: readonly number[];
}

/** The point that is nearest to rays. */
function meet(views: readonly View[], minParallax: number): { point: number[]; status: TriangulationStatus; parallax: number; error: number } {
  // Distances from the first camera, so that a place far from the origin costs no digits.
  const origin = views[0]?.centre ?? [0, 0, 0];
  const matrix = new Float64Array(9);
  const right = [0, 0, 0];
  const places = views.map(({ centre }) => sum(centre, origin, -1));
  views.forEach(({ direction }, view) => {
    const across = project(direction, places[view] as number[]);
    for (let i = 0; i < 3; i++) {
      (right[i] as number) += across[i] as number;
      for (let j = 0; j < 3; j++) (matrix[3 * i + j] as number) += (i === j ? 1 : 0) - (direction[i] as number) * (direction[j] as number);
    }
  });
  const spread = eigen(matrix, 3);
  const parallax = views.length < 2 ? 0 : 2 * Math.asin(Math.sqrt(Math.min(1, Math.max(0, (spread.values[0] as number) / views.length))));
  const isSeen = views.length >= 2 && parallax > 0 && parallax >= minParallax;
  const nearest = isSeen ? solveBy(spread, right) : null;
  const depths = nearest === null ? [] : views.map(({ direction }, view) => dot(direction, sum(nearest, places[view] as number[], -1)));
  const isAhead = nearest !== null && depths.every((depth) => depth > 0);
  const offset = nearest !== null && isAhead ? nearest : ahead(views, places, Math.max(minParallax, 1e-6));
  const point = sum(offset, origin);
  const squares = views.map(({ direction }, view) => angleBetween(direction, sum(offset, places[view] as number[], -1)) ** 2);
  const status = views.length < 2 ? 'few-views' : !isSeen ? 'no-parallax' : isAhead ? 'found' : depths.every((depth) => depth < 0) ? 'diverging' : 'behind';
  return { point, status, parallax, error: Math.sqrt(squares.reduce((total, square) => total + square, 0) / Math.max(1, views.length)) };
}

/** A point in the mean direction, so far that the cameras see it with the smallest parallax; at distance 1 where they are at one place. */
function ahead(views: readonly View[], places: readonly (readonly number[])[], parallax: number): number[] {
  const mean = (list: readonly (readonly number[])[]): number[] => {
    const total = list.reduce<number[]>((before, entry) => sum(before, entry), [0, 0, 0]);
    return total.map((entry) => entry / Math.max(1, list.length));
  };
  const direction = mean(views.map((view) => view.direction));
  const length = Math.hypot(...direction);
  const centre = mean(places);
  const baseline = Math.max(0, ...places.map((place) => Math.hypot(...sum(place, centre, -1))));
  const distance = baseline > 0 ? baseline / parallax : 1;
  // Opposite directions have no mean.
  const unit = length > 1e-9 ? direction.map((entry) => entry / length) : (views[0]?.direction ?? [0, 0, 1]);
  return centre.map((entry, k) => entry + distance * (unit[k] as number));
}

/** v without its part along a unit vector. */
function project(unit: readonly number[], v: readonly number[]): number[] {
  const along = dot(unit, v);
  return v.map((entry, k) => entry - along * (unit[k] as number));
}
