/** Checks of pose graphs that the caller made or changed: lengths, indices, numbers. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { checkObject, copyIndices, copyNumbers, copyNumbersOfLength } from '../arguments/numeric-arguments.js';
import type { PoseGraph } from './g2o.js';
import { quaternionLength, quaternionScale } from './lines.js';

/** A pose graph of which only poses and their measurements must be there: what is absent is empty, and ids are positions from 0. */
export type PoseGraphLike = Pick<PoseGraph, 'dim' | 'poses' | 'from' | 'to' | 'measurements' | 'sqrtInformation'> & Partial<PoseGraph>;

/** The lists of measurements: what their columns of indices and their poses of sensors are called, and what is measured. */
const LISTS = {
  landmarkEdges: { ends: { from: 'poses', to: 'landmarks' }, sensors: ['offsets'], value: 'point' },
  offsetEdges: { ends: { from: 'poses', to: 'poses' }, sensors: ['fromOffsets', 'toOffsets'], value: 'pose' },
  priors: { ends: { poses: 'poses' }, sensors: ['offsets'], value: 'pose' },
  positionPriors: { ends: { poses: 'poses' }, sensors: [], value: 'point' },
  landmarkPriors: { ends: { landmarks: 'landmarks' }, sensors: [], value: 'point' },
  landmarkPairs: { ends: { from: 'landmarks', to: 'landmarks' }, sensors: [], value: 'point' },
} as const;
type ListSpec = { readonly ends: Readonly<Record<string, 'poses' | 'landmarks'>>; readonly sensors: readonly string[]; readonly value: 'pose' | 'point' };

/** Returns a copy of a graph in which nothing is absent. Throws 'invalid-argument' for lengths, indices, numbers and ids that do not fit. */
export function checkGraph(argument: string, graph: unknown): PoseGraph {
  checkObject(argument, graph);
  const given = graph as Partial<PoseGraph>;
  const { dim } = given;
  if (dim !== 2 && dim !== 3) throw invalidArgument(`${argument}.dim`, describe(dim), '2 for the plane or 3 for space');
  for (const name of ['landmarks', 'offsets'] as const) if (given[name] !== undefined) checkObject(`${argument}.${name}`, given[name]);
  const checker = new Checker(argument, dim);
  const poses = checker.poses('poses', given.poses);
  const points = checker.numbers('landmarks.points', given.landmarks?.points ?? [], dim);
  const count = { poses: poses.length / checker.size, landmarks: points.length / dim };
  const edges = checker.list('', given, { ends: { from: 'poses', to: 'poses' }, sensors: [], value: 'pose' }, count);
  const lists = Object.entries(LISTS).map(([name, spec]) => {
    const list: unknown = given[name as keyof typeof LISTS];
    if (list !== undefined) checkObject(`${argument}.${name}`, list);
    return [name, checker.list(`${name}.`, (list ?? {}) as object, spec, count, list === undefined)] as const;
  });
  return {
    dim,
    poses,
    ids: checker.ids('ids', given.ids, count.poses, 0),
    fixed: checker.indices('fixed', given.fixed ?? [], count.poses, 'poses'),
    ...edges,
    landmarks: {
      points,
      ids: checker.ids('landmarks.ids', given.landmarks?.ids, count.landmarks, count.poses),
      fixed: checker.indices('landmarks.fixed', given.landmarks?.fixed ?? [], count.landmarks, 'landmarks'),
    },
    offsets: checker.offsets(given.offsets),
    ...Object.fromEntries(lists),
    skipped: given.skipped ?? [],
  } as PoseGraph;
}

class Checker {
  /** Numbers of a pose. */
  readonly size: 3 | 7;

  constructor(
    private readonly argument: string,
    private readonly dim: 2 | 3,
  ) {
    this.size = dim === 2 ? 3 : 7;
  }

  numbers(name: string, values: unknown, width: number): Float64Array {
    const copy = copyNumbers(`${this.argument}.${name}`, values);
    if (copy.length % width !== 0) throw invalidArgument(`${this.argument}.${name}`, `${copy.length} numbers`, `a multiple of ${width}`);
    return copy;
  }

  /** Poses with quaternions of length 1. */
  poses(name: string, values: unknown): Float64Array {
    const copy = this.numbers(name, values, this.size);
    if (this.dim === 2) return copy;
    for (let first = 0; first < copy.length; first += 7) {
      const quaternion = copy.subarray(first, first + 4);
      const scale = quaternionScale(quaternionLength(`${this.argument}.${name}`, copy, first / 7));
      quaternion.forEach((entry, k) => (quaternion[k] = entry / scale));
    }
    return copy;
  }

  indices(name: string, values: unknown, count: number, what: string): Uint32Array {
    return copyIndices(`${this.argument}.${name}`, values, count, what);
  }

  ids(name: string, values: unknown, count: number, first: number): readonly string[] {
    if (values === undefined) return Array.from({ length: count }, (_, k) => String(first + k));
    if (!Array.isArray(values) || values.length !== count) {
      throw invalidArgument(`${this.argument}.${name}`, describe(values), `an array of ${count} ids`);
    }
    const wrong = values.findIndex((id) => typeof id !== 'string' || !/^[^\s#]\S*$/.test(id));
    if (wrong >= 0) throw invalidArgument(`${this.argument}.${name}[${wrong}]`, describe(values[wrong]), "a word that does not begin with '#'");
    return [...(values as string[])];
  }

  offsets(offsets: Partial<PoseGraph['offsets']> | undefined): PoseGraph['offsets'] {
    const poses = this.poses('offsets.poses', offsets?.poses ?? []);
    return { poses, ids: this.ids('offsets.ids', offsets?.ids, poses.length / this.size, 0) };
  }

  /** A list of measurements: its indices, poses of sensors, measurements and square roots. */
  list(prefix: string, list: object, { ends, sensors, value }: ListSpec, count: { poses: number; landmarks: number }, isAbsent = false): object {
    const given = list as Record<string, unknown>;
    const take = (name: string): unknown => (isAbsent ? [] : given[name]);
    const width = value === 'pose' ? this.size : this.dim;
    const measurements = value === 'pose' ? this.poses(`${prefix}measurements`, take('measurements')) : this.numbers(`${prefix}measurements`, take('measurements'), width);
    const length = measurements.length / width;
    const rows = value === 'pose' ? (this.dim === 2 ? 3 : 6) : this.dim;
    const columns = Object.entries(ends).map(([name, what]) => {
      const indices = this.indices(prefix + name, take(name), count[what], what);
      if (indices.length !== length) throw invalidArgument(`${this.argument}.${prefix}${name}`, `${indices.length} indices`, `${length}, as there are measurements`);
      return [name, indices] as const;
    });
    const [first, second] = columns;
    const [one, other] = Object.values(ends);
    if (first !== undefined && second !== undefined && one === other) {
      const own = first[1].findIndex((index, k) => index === second[1][k]);
      if (own >= 0) throw invalidArgument(`${this.argument}.${prefix}${second[0]}[${own}]`, `${second[1][own]}, relative to itself`, `two ${one}`);
    }
    const poses = sensors.map((name) => {
      const values = this.poses(prefix + name, take(name));
      if (values.length !== this.size * length) throw invalidArgument(`${this.argument}.${prefix}${name}`, `${values.length} numbers`, `${this.size} for each of the ${length} measurements`);
      return [name, values] as const;
    });
    const triangle = (rows * (rows + 1)) / 2;
    const meaning = `${triangle} for each of the ${length} measurements`;
    const sqrtInformation = copyNumbersOfLength(`${this.argument}.${prefix}sqrtInformation`, take('sqrtInformation'), triangle * length, meaning);
    return { ...Object.fromEntries(columns), ...Object.fromEntries(poses), measurements, sqrtInformation };
  }
}
