/**
 * Differentiable quantities of triangle meshes. Angles are in radians. They are atan2 of a norm and a dot product, which is accurate in f32
 * where acos and asin are not. Degenerate triangles give 0 with gradient 0, not NaN.
 */

import { describe, invalidArgument } from '../arguments/errors.js';
import { angleOf } from './angle.js';
import { sum } from './sums.js';
import { literal, type Value } from './value.js';
import { checkVec3, Vec3 } from './vec3.js';

/** Differentiable triangle-mesh quantities; angles in radians. */
export const geometry = {
  /** The unit normal of the triangle, on the side from which a, b, c are counterclockwise; 0 where the triangle has no area. */
  triangleNormal: (a: Vec3, b: Vec3, c: Vec3): Vec3 => {
    checkVec3('geometry.triangleNormal: a', a);
    checkVec3('geometry.triangleNormal: b', b);
    checkVec3('geometry.triangleNormal: c', c);
    return b.sub(a).cross(c.sub(a)).normalized;
  },

  /** The area of the triangle. */
  triangleArea: (a: Vec3, b: Vec3, c: Vec3): Value => {
    checkVec3('geometry.triangleArea: a', a);
    checkVec3('geometry.triangleArea: b', b);
    checkVec3('geometry.triangleArea: c', c);
    return b.sub(a).cross(c.sub(a)).magnitude.mul(literal(0.5));
  },

  /** The interior angle of the triangle at `at`, in [0, π]. */
  interiorAngle: (at: Vec3, b: Vec3, c: Vec3): Value => {
    checkVec3('geometry.interiorAngle: at', at);
    checkVec3('geometry.interiorAngle: b', b);
    checkVec3('geometry.interiorAngle: c', c);
    return b.sub(at).angleBetween(c.sub(at));
  },

  /**
   * 2π minus the sum of the angles at `center` between consecutive vertices of its closed ring of at least 3. It is 0 where the surface is
   * developable, positive at a tip, negative at a saddle.
   */
  angleDefect: (center: Vec3, ring: readonly Vec3[]): Value => {
    checkVec3('geometry.angleDefect: center', center);
    checkPoints('geometry.angleDefect: ring', ring);
    if (ring.length < 3) throw invalidArgument('geometry.angleDefect: ring', `${ring.length} vertices`, 'at least 3');
    const spokes = ring.map((vertex) => vertex.sub(center));
    const angles = spokes.map((spoke, i) => spoke.angleBetween(spokes[(i + 1) % spokes.length] as Vec3));
    return literal(2 * Math.PI).sub(sum(angles));
  },

  /**
   * The signed angle between the faces at the edge from A to B, in (−π, π]: 0 when flat, positive when convex. Seen from outside with B
   * ahead of A, C is the opposite vertex on the left and D the one on the right, so the faces (A, B, C) and (B, A, D) are counterclockwise.
   */
  dihedralAngle: (edgeA: Vec3, edgeB: Vec3, oppositeC: Vec3, oppositeD: Vec3): Value => {
    checkVec3('geometry.dihedralAngle: edgeA', edgeA);
    checkVec3('geometry.dihedralAngle: edgeB', edgeB);
    checkVec3('geometry.dihedralAngle: oppositeC', oppositeC);
    checkVec3('geometry.dihedralAngle: oppositeD', oppositeD);
    // With the unit edge e and the normals n₁ = e × c, n₂ = d × e: e · (n₁ × n₂) = −d · n₁.
    const e = edgeB.sub(edgeA).normalized;
    const c = oppositeC.sub(edgeA);
    const d = oppositeD.sub(edgeA);
    const n1 = e.cross(c);
    const n2 = d.cross(e);
    return angleOf(d.dot(n1).neg(), n1.dot(n2));
  },

  /** The mean of at least one point. */
  centroid: (points: readonly Vec3[]): Vec3 => {
    checkPoints('geometry.centroid: points', points);
    if (points.length === 0) throw invalidArgument('geometry.centroid: points', 'an empty array', 'at least one point');
    const total = new Vec3(sum(points.map((p) => p.x)), sum(points.map((p) => p.y)), sum(points.map((p) => p.z)));
    return points.length === 1 ? total : total.mul(literal(1 / points.length));
  },

  /** The signed distance of p from the plane through `origin`, positive on the side of `normal`, which may have any length but 0. */
  distanceToPlane: (p: Vec3, origin: Vec3, normal: Vec3): Value => {
    checkVec3('geometry.distanceToPlane: p', p);
    checkVec3('geometry.distanceToPlane: origin', origin);
    checkVec3('geometry.distanceToPlane: normal', normal);
    return p.sub(origin).dot(normal.normalized);
  },

  /** The distance of p from the line through a and b; from a where both are the same point. */
  distanceToLine: (p: Vec3, a: Vec3, b: Vec3): Value => {
    checkVec3('geometry.distanceToLine: p', p);
    checkVec3('geometry.distanceToLine: a', a);
    checkVec3('geometry.distanceToLine: b', b);
    return p.sub(a).reject(b.sub(a)).magnitude;
  },
} as const;

function checkPoints(argument: string, list: unknown): asserts list is readonly Vec3[] {
  if (!Array.isArray(list)) throw invalidArgument(argument, describe(list), 'an array of Vec3');
  for (let i = 0; i < list.length; i++) {
    if (!(list[i] instanceof Vec3)) throw invalidArgument(`${argument}[${i}]`, describe(list[i]), 'a Vec3');
  }
}
