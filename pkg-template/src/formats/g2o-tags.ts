/** The lines of .g2o files: their tags, what stands in a line of each, and the numbers of poses and points. */

import { quaternionScale, type Line } from './lines.js';

/** What lines define. Poses and landmarks share their ids; offsets, the poses of sensors in the frame of the pose that carries them, have their own. */
export type Defined = 'pose' | 'landmark' | 'offset';

/** What a line defines or measures. */
export interface Kind {
  /** What it defines; null for a measurement. */
  readonly defines: Defined | null;
  /** The poses and landmarks that it measures. */
  readonly ends: readonly ('pose' | 'landmark')[];
  /** How many sensors its measurements have. A line may name fewer: the offsets of the others are the identity. */
  readonly sensors: 0 | 1 | 2;
  /** What its numbers are. */
  readonly value: 'pose' | 'point';
}

const definition = (defines: Defined, value: Kind['value']): Kind => ({ defines, ends: [], sensors: 0, value });
const measurement = (ends: Kind['ends'], value: Kind['value'], sensors: Kind['sensors'] = 0): Kind => ({ defines: null, ends, sensors, value });

const POSE = definition('pose', 'pose');
const LANDMARK = definition('landmark', 'point');
const OFFSET = definition('offset', 'pose');
export const EDGE: Kind = measurement(['pose', 'pose'], 'pose');
export const OFFSET_EDGE: Kind = measurement(['pose', 'pose'], 'pose', 2);
export const LANDMARK_EDGE: Kind = measurement(['pose', 'landmark'], 'point', 1);
export const LANDMARK_PAIR: Kind = measurement(['landmark', 'landmark'], 'point');
export const PRIOR: Kind = measurement(['pose'], 'pose', 1);
export const POSITION_PRIOR: Kind = measurement(['pose'], 'point', 1);
export const LANDMARK_PRIOR: Kind = measurement(['landmark'], 'point');

/** How a line with a tag is written. */
export interface Tag {
  readonly name: string;
  readonly kind: Kind;
  readonly dim: 2 | 3;
  /** How many ids of offsets stand after the other ids. */
  readonly offsets: number;
  /** How many numbers its pose or point has. */
  readonly numbers: number;
  /** Where each entry of the upper triangle of the information matrix stands, row after row; empty for a definition. */
  readonly information: readonly number[];
}

/** TORO has the entries 11, 12, 22, 33, 13, 23. */
const TORO_ORDER = [0, 1, 4, 2, 5, 3];

function tag(name: string, kind: Kind, dim: 2 | 3, offsets = 0, style: 'g2o' | 'toro' = 'g2o'): [string, Tag] {
  const freedom = kind.value === 'point' ? dim : dim === 2 ? 3 : 6;
  const numbers = kind.value === 'pose' && dim === 3 && style === 'g2o' ? 7 : freedom;
  const order = style === 'toro' && dim === 2 ? TORO_ORDER : Array.from({ length: (freedom * (freedom + 1)) / 2 }, (_, k) => k);
  return [name, { name, kind, dim, offsets, numbers, information: kind.defines === null ? order : [] }];
}

/** The names under which g2o registers its types (types_slam2d.cpp, types_slam3d.cpp), other spellings of them, and those of TORO. */
export const TAGS: ReadonlyMap<string, Tag> = new Map([
  tag('VERTEX_SE2', POSE, 2),
  tag('VERTEX_XY', LANDMARK, 2),
  tag('PARAMS_SE2OFFSET', OFFSET, 2),
  tag('EDGE_SE2', EDGE, 2),
  tag('EDGE_SE2_OFFSET', OFFSET_EDGE, 2, 2),
  tag('EDGE_SE2_XY', LANDMARK_EDGE, 2),
  tag('EDGE_SE2_POINTXY_OFFSET', LANDMARK_EDGE, 2, 1),
  tag('EDGE_POINTXY', LANDMARK_PAIR, 2),
  tag('EDGE_PRIOR_SE2', PRIOR, 2),
  tag('EDGE_SE2_PRIOR', PRIOR, 2),
  tag('EDGE_PRIOR_SE2_XY', POSITION_PRIOR, 2),
  tag('EDGE_SE2_XY_PRIOR', POSITION_PRIOR, 2),
  tag('EDGE_SE2_XYPRIOR', POSITION_PRIOR, 2),
  tag('EDGE_PRIOR_XY', LANDMARK_PRIOR, 2),
  tag('EDGE_XY_PRIOR', LANDMARK_PRIOR, 2),
  tag('VERTEX_SE3:QUAT', POSE, 3),
  tag('VERTEX_TRACKXYZ', LANDMARK, 3),
  tag('PARAMS_SE3OFFSET', OFFSET, 3),
  tag('EDGE_SE3:QUAT', EDGE, 3),
  tag('EDGE_SE3_OFFSET', OFFSET_EDGE, 3, 2),
  tag('EDGE_SE3_TRACKXYZ', LANDMARK_EDGE, 3, 1),
  tag('EDGE_POINTXYZ', LANDMARK_PAIR, 3),
  tag('EDGE_SE3_PRIOR', PRIOR, 3, 1),
  tag('EDGE_SE3_XYZ_PRIOR', POSITION_PRIOR, 3, 1),
  tag('EDGE_POINTXYZ_PRIOR', LANDMARK_PRIOR, 3),
  tag('VERTEX', POSE, 2, 0, 'toro'),
  tag('VERTEX2', POSE, 2, 0, 'toro'),
  tag('EDGE', EDGE, 2, 0, 'toro'),
  tag('EDGE2', EDGE, 2, 0, 'toro'),
  tag('VERTEX3', POSE, 3, 0, 'toro'),
  tag('EDGE3', EDGE, 3, 0, 'toro'),
]);

/** Appends the pose or point of a line, whose numbers begin at a position, in the order of a block. */
export function appendValue(values: number[], line: Line, first: number, { name, kind, dim, numbers }: Tag): void {
  const where = ` in ${name}`;
  const at = (k: number) => line.finite(first + k, where);
  if (kind.value === 'point') {
    for (let k = 0; k < dim; k++) values.push(at(k));
  } else if (dim === 2) {
    values.push(at(2), at(0), at(1));
  } else if (numbers === 6) {
    values.push(...quaternion(at(3), at(4), at(5)), at(0), at(1), at(2));
  } else {
    // Files round to six digits or so, so the length of a quaternion is not exactly 1.
    const [x, y, z, w] = [at(3), at(4), at(5), at(6)];
    const length = Math.hypot(w, x, y, z);
    if (!(length > 0 && length < Infinity)) throw line.error(`a quaternion of length ${length} in ${name}`, 'one that has a direction');
    const scale = quaternionScale(length);
    values.push(w / scale, x / scale, y / scale, z / scale, at(0), at(1), at(2));
  }
}

/** The quaternion w, x, y, z of turns in radians about x, then y, then z of the fixed frame. */
function quaternion(roll: number, pitch: number, yaw: number): [number, number, number, number] {
  const [r, p, y] = [roll / 2, pitch / 2, yaw / 2];
  const [cr, sr, cp, sp, cy, sy] = [Math.cos(r), Math.sin(r), Math.cos(p), Math.sin(p), Math.cos(y), Math.sin(y)];
  return [cr * cp * cy + sr * sp * sy, sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy];
}
