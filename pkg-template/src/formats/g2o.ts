/** Pose graphs in the .g2o format (R. Kümmerle et al., "g2o: A General Framework for Graph Optimization", ICRA 2011), and in that of TORO. */

import { describe } from '../arguments/errors.js';
import { replaceByRoot } from '../problem/triangular-root.js';
import {
  appendValue,
  EDGE,
  LANDMARK_EDGE,
  LANDMARK_PAIR,
  LANDMARK_PRIOR,
  OFFSET_EDGE,
  POSITION_PRIOR,
  PRIOR,
  TAGS,
  type Defined,
  type Kind,
  type Tag,
} from './g2o-tags.js';
import { lineError, readLines, type Line } from './lines.js';

/** Measurements of one kind, one after the other. */
export interface Measurements {
  /** What was measured: poses with the numbers of a block, or points of `dim` numbers. */
  readonly measurements: Float64Array;
  /**
   * The square roots of the information matrices, for `sqrtInformation` of a residual block: upper triangles of 6 numbers (poses in the plane), 21 (in
   * space), 3 or 6 (points). Rows and columns are in the order of the format: translation, then rotation.
   */
  readonly sqrtInformation: Float64Array;
}

/**
 * A pose graph. Poses have the numbers of a block of `problem.poses`: angle, x, y in the plane; w, x, y, z, then x, y, z in space. Angles are
 * in radians, lengths in the file's unit. What a file does not have is empty.
 *
 * In the formulas X is a pose in the world, l a landmark, O the pose of a sensor in the frame of the pose that carries it, and Z or z what
 * was measured; the residuals of a pose are its translation, then its rotation.
 */
export interface PoseGraph {
  /** 2 for the plane, 3 for space. */
  readonly dim: 2 | 3;
  /** Pose after pose in the file's order: 3 or 7 numbers each. Quaternions are normalised. */
  readonly poses: Float64Array;
  /** The id of each pose in the file. */
  readonly ids: readonly string[];
  /** Indices of the poses that the file fixes. */
  readonly fixed: Uint32Array;
  /** For each measurement of one pose by another the index of the pose that it is seen from. Residuals: Z⁻¹ X₁⁻¹ X₂. */
  readonly from: Uint32Array;
  /** For each of these measurements the index of the pose that is seen. */
  readonly to: Uint32Array;
  /** The measured relative poses, as `poses`. */
  readonly measurements: Float64Array;
  /** The square roots of their information matrices, as in Measurements: 6 or 21 numbers each. */
  readonly sqrtInformation: Float64Array;
  /** Points in the world: `dim` numbers each, the id of each in the file, and indices of those that the file fixes. */
  readonly landmarks: { readonly points: Float64Array; readonly ids: readonly string[]; readonly fixed: Uint32Array };
  /** Where sensors are in the frame of the pose that carries them: poses as `poses`, and the id of each in the file. */
  readonly offsets: { readonly poses: Float64Array; readonly ids: readonly string[] };
  /**
   * Landmarks as sensors see them: indices of poses and of landmarks, and the pose of each measurement's sensor, the identity where the file
   * names none. Residuals: (X O)⁻¹ l − z.
   */
  readonly landmarkEdges: Measurements & { readonly from: Uint32Array; readonly to: Uint32Array; readonly offsets: Float64Array };
  /** Sensors as other sensors see them: indices of poses, and the pose of each sensor. Residuals: Z⁻¹ (X₁ O₁)⁻¹ (X₂ O₂). */
  readonly offsetEdges: Measurements & {
    readonly from: Uint32Array;
    readonly to: Uint32Array;
    readonly fromOffsets: Float64Array;
    readonly toOffsets: Float64Array;
  };
  /** Poses of sensors in the world: indices of poses, and the pose of each sensor, the identity where the file names none. Residuals: Z⁻¹ X O. */
  readonly priors: Measurements & { readonly poses: Uint32Array; readonly offsets: Float64Array };
  /** Positions of poses in the world: indices of poses. Residuals: translation of X − z. The offset of EDGE_SE3_XYZ_PRIOR has no effect, as in g2o. */
  readonly positionPriors: Measurements & { readonly poses: Uint32Array };
  /** Positions of landmarks in the world: indices of landmarks. Residuals: l − z. */
  readonly landmarkPriors: Measurements & { readonly landmarks: Uint32Array };
  /** Differences of landmarks: indices of landmarks. Residuals: l₂ − l₁ − z. */
  readonly landmarkPairs: Measurements & { readonly from: Uint32Array; readonly to: Uint32Array };
  /** The lines that were not read, because their tag is none of those that the reader knows: number from 1, and tag. */
  readonly skipped: readonly { readonly line: number; readonly tag: string }[];
}

/** Poses, landmarks or offsets. */
class Definitions {
  readonly indices = new Map<string, number>();
  readonly values: number[] = [];
}

/** Measurements of a kind, with ids as the file has them. */
class Records {
  readonly lines: number[] = [];
  readonly tags: string[] = [];
  readonly ends: string[] = [];
  readonly offsets: (string | null)[] = [];
  readonly values: number[] = [];
  readonly information: number[] = [];
}

const NONE = new Records();
/** What shares its ids with poses, landmarks and offsets. */
const OTHERS = { pose: 'landmark', landmark: 'pose', offset: null } as const;
const READER = 'parseG2o';

/**
 * Reads the text of a .g2o file: poses, landmarks and sensors' offsets in the plane or in space, measurements of them, priors, and FIX.
 * PoseGraph has the formulas. Files of TORO are read too: VERTEX2 and EDGE2, or VERTEX3 and EDGE3 with roll, pitch and yaw. Lines may precede
 * those that define what they name. A '#' begins a comment. Lines with other tags are listed in `skipped`.
 *
 * Throws 'invalid-argument' for a line that is not as its tag demands, an id that the file does not define, an information matrix that is not
 * positive semi-definite, and a file without poses or without measurements. The message has the line's number, what it got and what it
 * takes.
 */
export function parseG2o(text: string): PoseGraph {
  return new Reader().read(text);
}

class Reader {
  private readonly defined: Readonly<Record<Defined, Definitions>> = { pose: new Definitions(), landmark: new Definitions(), offset: new Definitions() };
  private readonly records = new Map<Kind, Records>();
  private readonly fixed: (readonly [line: number, id: string])[] = [];
  private readonly skipped: { readonly line: number; readonly tag: string }[] = [];
  /** Ids of vertices whose lines are skipped. */
  private readonly skippedIds = new Set<string>();
  private first: { readonly name: string; readonly dim: 2 | 3; readonly line: number } | null = null;

  read(text: string): PoseGraph {
    const last = readLines(READER, text, (line) => this.readLine(line));
    const hasPoses = this.defined.pose.indices.size > 0;
    if (this.first === null || !hasPoses || this.records.size === 0) {
      const [skip] = this.skipped;
      const beside = skip === undefined ? '' : ` and ${this.skipped.length} lines of unknown tags, the first ${describe(skip.tag)} in line ${skip.line}`;
      throw last.error(`the end of a file with no ${hasPoses ? 'measurement' : 'pose'}${beside}`, 'poses and measurements');
    }
    return this.graph(this.first.dim);
  }

  private readLine(line: Line): void {
    const { words } = line;
    const name = words[0] as string;
    if (name === 'FIX') {
      if (words.length === 1) throw line.error('0 words after FIX', 'ids of poses and landmarks');
      for (const id of words.slice(1)) this.fixed.push([line.number, id]);
      return;
    }
    const tag = TAGS.get(name);
    if (tag === undefined) {
      this.skipped.push({ line: line.number, tag: name });
      if (name.startsWith('VERTEX') && words[1] !== undefined) this.skippedIds.add(words[1]);
      return;
    }
    const { kind, dim, offsets, numbers, information } = tag;
    this.first ??= { name, dim, line: line.number };
    if (dim !== this.first.dim) throw line.error(name, `${this.first.dim} dimensions, as ${this.first.name} in line ${this.first.line} has`);
    const ids = kind.defines === null ? kind.ends.length + offsets : 1;
    const count = ids + numbers + information.length;
    if (words.length !== 1 + count) throw line.error(`${words.length - 1} words after ${name}`, `${count}`);
    if (kind.defines === null) this.measure(line, tag, 1 + ids);
    else this.define(line, tag, kind.defines);
  }

  private define(line: Line, tag: Tag, what: Defined): void {
    const { indices, values } = this.defined[what];
    const id = line.words[1] as string;
    if (indices.has(id)) throw line.error(`${what} ${describe(id)} a second time in ${tag.name}`, `each ${what} once`);
    const other = OTHERS[what];
    if (other !== null && this.defined[other].indices.has(id)) {
      throw line.error(`${what} ${describe(id)} in ${tag.name}, the id of a ${other}`, 'an id for each');
    }
    indices.set(id, indices.size);
    appendValue(values, line, 2, tag);
  }

  private measure(line: Line, tag: Tag, first: number): void {
    const { words } = line;
    const { ends, sensors } = tag.kind;
    if (ends[0] === ends[1] && words[1] === words[2]) throw line.error(`${ends[0]} ${describe(words[1])} relative to itself in ${tag.name}`, `two ${ends[0]}s`);
    const records = this.recordsOf(tag.kind);
    records.lines.push(line.number);
    records.tags.push(tag.name);
    for (let k = 0; k < ends.length; k++) records.ends.push(words[1 + k] as string);
    for (let k = 0; k < sensors; k++) records.offsets.push(k < tag.offsets ? (words[1 + ends.length + k] as string) : null);
    appendValue(records.values, line, first, tag);
    const where = ` in ${tag.name}`;
    for (const place of tag.information) records.information.push(line.finite(first + tag.numbers + place, where));
  }

  private recordsOf(kind: Kind): Records {
    let records = this.records.get(kind);
    if (records === undefined) this.records.set(kind, (records = new Records()));
    return records;
  }

  private graph(dim: 2 | 3): PoseGraph {
    const { pose, landmark, offset } = this.defined;
    const fixed = this.fixedIndices();
    // Offsets that have no effect must exist too.
    this.sensors(POSITION_PRIOR, 0, dim);
    return {
      dim,
      poses: new Float64Array(pose.values),
      ids: [...pose.indices.keys()],
      fixed: fixed.pose,
      from: this.ends(EDGE, 0),
      to: this.ends(EDGE, 1),
      ...this.measurements(EDGE, dim),
      landmarks: { points: new Float64Array(landmark.values), ids: [...landmark.indices.keys()], fixed: fixed.landmark },
      offsets: { poses: new Float64Array(offset.values), ids: [...offset.indices.keys()] },
      landmarkEdges: {
        from: this.ends(LANDMARK_EDGE, 0),
        to: this.ends(LANDMARK_EDGE, 1),
        offsets: this.sensors(LANDMARK_EDGE, 0, dim),
        ...this.measurements(LANDMARK_EDGE, dim),
      },
      offsetEdges: {
        from: this.ends(OFFSET_EDGE, 0),
        to: this.ends(OFFSET_EDGE, 1),
        fromOffsets: this.sensors(OFFSET_EDGE, 0, dim),
        toOffsets: this.sensors(OFFSET_EDGE, 1, dim),
        ...this.measurements(OFFSET_EDGE, dim),
      },
      priors: { poses: this.ends(PRIOR, 0), offsets: this.sensors(PRIOR, 0, dim), ...this.measurements(PRIOR, dim) },
      positionPriors: { poses: this.ends(POSITION_PRIOR, 0), ...this.measurements(POSITION_PRIOR, dim) },
      landmarkPriors: { landmarks: this.ends(LANDMARK_PRIOR, 0), ...this.measurements(LANDMARK_PRIOR, dim) },
      landmarkPairs: { from: this.ends(LANDMARK_PAIR, 0), to: this.ends(LANDMARK_PAIR, 1), ...this.measurements(LANDMARK_PAIR, dim) },
      skipped: this.skipped,
    };
  }

  /** The indices that a column of ids names. */
  private ends(kind: Kind, column: number): Uint32Array {
    const { lines, tags, ends } = this.records.get(kind) ?? NONE;
    const what = kind.ends[column] as Defined;
    return Uint32Array.from(lines, (line, k) => this.indexOf(what, ends[kind.ends.length * k + column] as string, line, tags[k] as string));
  }

  /** The poses of the sensors that a column of ids names. */
  private sensors(kind: Kind, column: number, dim: 2 | 3): Float64Array {
    const { lines, tags, offsets } = this.records.get(kind) ?? NONE;
    const { values } = this.defined.offset;
    const identity = dim === 2 ? [0, 0, 0] : [1, 0, 0, 0, 0, 0, 0];
    const poses = new Float64Array(identity.length * lines.length);
    lines.forEach((line, k) => {
      const id = offsets[kind.sensors * k + column] as string | null;
      const first = id === null ? 0 : identity.length * this.indexOf('offset', id, line, tags[k] as string);
      for (let i = 0; i < identity.length; i++) poses[identity.length * k + i] = (id === null ? identity : values)[first + i] as number;
    });
    return poses;
  }

  private measurements(kind: Kind, dim: 2 | 3): Measurements {
    const { lines, tags, values, information } = this.records.get(kind) ?? NONE;
    const size = kind.value === 'point' ? dim : dim === 2 ? 3 : 6;
    const length = (size * (size + 1)) / 2;
    const roots = new Float64Array(information);
    lines.forEach((line, k) => {
      const negative = replaceByRoot(roots.subarray(length * k, length * (k + 1)), size);
      if (negative === null) return;
      const got = `an information matrix in ${tags[k]} that is not positive semi-definite: its smallest eigenvalue is ${Number(negative.toPrecision(6))}`;
      throw lineError(READER, line, got, 'positive semi-definite matrices');
    });
    return { measurements: new Float64Array(values), sqrtInformation: roots };
  }

  private indexOf(what: Defined, id: string, line: number, tag: string): number {
    const index = this.defined[what].indices.get(id);
    if (index !== undefined) return index;
    const other = OTHERS[what];
    const isOther = other !== null && this.defined[other].indices.has(id);
    const got = isOther ? `${other} ${describe(id)} in ${tag}` : `${what} ${describe(id)} in ${tag}, which the file does not have`;
    throw lineError(READER, line, got, `the id of ${what === 'offset' ? 'an' : 'a'} ${what}`);
  }

  private fixedIndices(): { readonly pose: Uint32Array; readonly landmark: Uint32Array } {
    const indices = { pose: new Set<number>(), landmark: new Set<number>() };
    for (const [line, id] of this.fixed) {
      const what = (['pose', 'landmark'] as const).find((name) => this.defined[name].indices.has(id));
      if (what !== undefined) indices[what].add(this.defined[what].indices.get(id) as number);
      else if (this.skippedIds.has(id)) this.skipped.push({ line, tag: 'FIX' });
      else throw lineError(READER, line, `pose ${describe(id)} in FIX, which the file does not have`, 'the id of a pose or landmark');
    }
    this.skipped.sort((a, b) => a.line - b.line);
    return { pose: Uint32Array.from(indices.pose), landmark: Uint32Array.from(indices.landmark) };
  }
}
