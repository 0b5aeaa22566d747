/**
 * Lenses: where a camera sees a point, as expressions and in numbers, and from which direction a pixel comes.
 *
 * A lens takes a point to a plane, in perspective to (x/z, y/z), a fisheye to (x, y)·θ/√(x² + y²) with the angle θ from the optical axis, and distorts the
 * plane (`distortion.ts`). Names and order of the coefficients are those of OpenCV.
 */

import { invalidArgument } from '../arguments/errors.js';
import { copyNumbers, type Numbers } from '../arguments/numeric-arguments.js';
import { Op } from '../expressions/op-codes.js';
import { angleRatio } from '../expressions/series.js';
import { inverseNorm, squaredNorm } from '../expressions/sums.js';
import { binary, checkScalarList, literal, select, toValue, unary, type Scalar, type Value } from '../expressions/value.js';
import { Vec2 } from '../expressions/vec2.js';
import { checkVec3, Vec3 } from '../expressions/vec3.js';
import { distorted, Distortion, type Coefficients } from './distortion.js';

/** What distinguishes lenses. */
interface Model {
  readonly name: string;
  readonly isFisheye: boolean;
  /** The coefficients in their order, and how many of the last may be absent. */
  readonly order: readonly string[];
  readonly optional: number;
  /** Which are the factors of r², r⁴, … in the numerator and in the denominator, and of the tangential terms. */
  readonly numerator: readonly string[];
  readonly denominator: readonly string[];
  readonly tangential: readonly string[];
}

/** From where pixels come. */
export interface Undistorted {
  /** Directions in the camera's frame, of length 1: 3 numbers for each pixel. Those of `failed` are the nearest that were found. */
  readonly directions: Float64Array;
  /** The positions of pixels that lie where the lens sees nothing, or for which no direction was found. */
  readonly failed: Uint32Array;
}

/**
 * A lens. Cameras look along z, with x to the right and y down in the image. Parameters are one list: the focal lengths fx and fy and the principal point
 * cx, cy in pixels, then the coefficients of the distortion. A residual function takes them from a block, from numbers, or from both.
 */
export class Lens {
  /** Its name in `lenses`. */
  readonly name: string;
  /** The names of the parameters, in their order. */
  readonly parameters: readonly string[];
  /** @internal */
  private readonly model: Model;

  /** @internal */
  constructor(model: Model) {
    this.name = model.name;
    this.parameters = ['fx', 'fy', 'cx', 'cy', ...model.order];
    this.model = model;
  }

  /**
   * The pixel where the camera sees a point of its frame, as an expression with derivatives by the point and by all parameters, on the optical axis too. At
   * depth 0, where a perspective lens has no image, z counts as 1, so that residuals stay finite. Points behind a perspective lens have the image of their
   * mirror image; a fisheye sees them.
   */
  project(point: Vec3, parameters: Iterable<Scalar>): Vec2 {
    const argument = `lenses.${this.name}.project`;
    checkVec3(`${argument}: point`, point);
    const isIterable = typeof parameters === 'object' && parameters !== null && Symbol.iterator in parameters;
    const given = isIterable ? [...parameters] : parameters;
    const length = isIterable ? (given as unknown[]).length : Number.NaN;
    const scalars = checkScalarList(`${argument}: parameters`, given, this.takes(length) ? length : this.parameters.length);
    const [fx, fy, cx, cy, ...rest] = scalars.map((scalar) => toValue(argument, scalar)) as [Value, Value, Value, Value, ...Value[]];
    const plane = distorted(this.coefficients(rest), this.model.isFisheye ? fisheyePlane(point) : perspectivePlane(point));
    return new Vec2(plane.x.mul(fx).add(cx), plane.y.mul(fy).add(cy));
  }

  /**
   * The pixels where a camera sees points of its frame: `project` in numbers, 2 for each 3. Throws 'invalid-argument' for a wrong number of numbers and for
   * points whose pixels are not finite.
   */
  distort(points: Numbers, parameters: Numbers): Float64Array {
    const argument = `lenses.${this.name}.distort`;
    const { fx, fy, cx, cy, distortion } = this.numbers(argument, parameters);
    const values = copyNumbers(`${argument}: points`, points);
    if (values.length % 3 !== 0) throw invalidArgument(`${argument}: points`, `${values.length} numbers`, 'a multiple of 3');
    const pixels = new Float64Array((values.length / 3) * 2);
    for (let k = 0; 3 * k < values.length; k++) {
      const [x, y, z] = [values[3 * k] as number, values[3 * k + 1] as number, values[3 * k + 2] as number];
      let scale = 1 / (z === 0 ? 1 : z);
      if (this.model.isFisheye) {
        const length = Math.hypot(x, y);
        scale = length === 0 ? 0 : Math.atan2(length, z) / length;
      }
      distortion.evaluate(x * scale, y * scale);
      const pixel = [fx * distortion.u + cx, fy * distortion.v + cy];
      pixels.set(pixel, 2 * k);
      if (!pixel.every(Number.isFinite)) {
        throw invalidArgument(`${argument}: points`, `a point without a finite pixel at position ${k}`, 'points that the lens takes to pixels');
      }
    }
    return pixels;
  }

  /**
   * The directions from which pixels come, by Newton's method along the way from the principal point. A distortion that folds the image beyond some radius
   * is inverted up to the fold: `failed` lists the pixels beyond it, and those that no direction reaches. Throws 'invalid-argument' for a wrong number of
   * numbers and for a focal length of 0.
   */
  undistort(pixels: Numbers, parameters: Numbers): Undistorted {
    const argument = `lenses.${this.name}.undistort`;
    const { fx, fy, cx, cy, distortion } = this.numbers(argument, parameters);
    for (const [name, length] of Object.entries({ fx, fy })) {
      if (length === 0) throw invalidArgument(`${argument}: parameters`, `${name} = 0`, 'focal lengths other than 0');
    }
    const values = copyNumbers(`${argument}: pixels`, pixels);
    if (values.length % 2 !== 0) throw invalidArgument(`${argument}: pixels`, `${values.length} numbers`, 'an even number');
    const directions = new Float64Array((values.length / 2) * 3);
    const failed: number[] = [];
    for (let k = 0; 2 * k < values.length; k++) {
      const { x, y, isFound } = distortion.inverse(((values[2 * k] as number) - cx) / fx, ((values[2 * k + 1] as number) - cy) / fy);
      const radius = Math.hypot(x, y);
      const angle = this.model.isFisheye ? Math.min(radius, Math.PI) : Math.atan(radius);
      const across = radius === 0 ? 0 : Math.sin(angle) / radius;
      directions.set([x * across, y * across, Math.cos(angle)], 3 * k);
      if (!isFound || (this.model.isFisheye && radius > Math.PI)) failed.push(k);
    }
    return { directions, failed: Uint32Array.from(failed) };
  }

  private takes(length: number): boolean {
    return length <= this.parameters.length && length >= this.parameters.length - this.model.optional;
  }

  private numbers(argument: string, parameters: unknown): { fx: number; fy: number; cx: number; cy: number; distortion: Distortion } {
    const values = [...copyNumbers(`${argument}: parameters`, parameters)];
    if (!this.takes(values.length)) {
      const fewer = this.model.optional === 0 ? '' : `, of which the last may be absent`;
      throw invalidArgument(`${argument}: parameters`, `${values.length} numbers`, `${this.parameters.length}: ${this.parameters.join(', ')}${fewer}`);
    }
    const [fx, fy, cx, cy, ...rest] = values as [number, number, number, number, ...number[]];
    return { fx, fy, cx, cy, distortion: new Distortion(this.coefficients(rest)) };
  }

  /** The coefficients by their place in the formula. */
  private coefficients<T>(rest: readonly T[]): Coefficients<T> {
    const { order, numerator, denominator, tangential } = this.model;
    const named = (names: readonly string[]): T[] => names.map((name) => rest[order.indexOf(name)]).filter((value) => value !== undefined);
    const [p1, p2] = named(tangential);
    return { numerator: named(numerator), denominator: named(denominator), tangential: p1 === undefined || p2 === undefined ? null : [p1, p2] };
  }
}

function perspectivePlane(point: Vec3): Vec2 {
  const depth = select(point.z.eq(literal(0)), literal(1), point.z);
  return new Vec2(point.x.div(depth), point.y.div(depth));
}

function fisheyePlane({ x, y, z }: Vec3): Vec2 {
  const squared = squaredNorm([x, y]);
  // angleRatio is smooth at the axis ahead. Behind, the axis has no image; it gets that of the axis ahead.
  const behind = binary(Op.atan2, unary(Op.norm, squared), z).mul(inverseNorm(squared));
  const ratio = select(z.gt(literal(0)), angleRatio(z, squared).mul(literal(0.5)), behind);
  return new Vec2(x.mul(ratio), y.mul(ratio));
}

const BROWN = { isFisheye: false, optional: 0, numerator: ['k1', 'k2', 'k3'], denominator: [], tangential: ['p1', 'p2'] } as const;
const ANGLES = ['k1', 'k2', 'k3', 'k4'] as const;

/** The usual lenses, with the coefficients of OpenCV in their order. */
export const lenses = {
  /** No distortion: fx, fy, cx, cy. */
  pinhole: new Lens({ ...BROWN, name: 'pinhole', order: [], numerator: [], tangential: [] }) as Lens,
  /** Radial and tangential distortion (D. C. Brown, "Close-Range Camera Calibration", 1971): fx, fy, cx, cy, k1, k2, p1, p2, and k3, which may be absent. */
  radialTangential: new Lens({ ...BROWN, name: 'radialTangential', order: ['k1', 'k2', 'p1', 'p2', 'k3'], optional: 1 }) as Lens,
  /** The same with a quotient of polynomials: fx, fy, cx, cy, k1, k2, p1, p2, k3, k4, k5, k6. */
  rational: new Lens({ ...BROWN, name: 'rational', order: ['k1', 'k2', 'p1', 'p2', 'k3', 'k4', 'k5', 'k6'], denominator: ['k4', 'k5', 'k6'] }) as Lens,
  /**
   * A fisheye, by a polynomial of the angle θ from the optical axis, up to 180° (J. Kannala, S. S. Brandt, "A Generic Camera Model and Calibration Method
   * for Conventional, Wide-Angle, and Fish-Eye Lenses", 2006): fx, fy, cx, cy, k1, k2, k3, k4.
   */
  fisheye: new Lens({ ...BROWN, name: 'fisheye', isFisheye: true, order: ANGLES, numerator: ANGLES, tangential: [] }) as Lens,
} as const;
