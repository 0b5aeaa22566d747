/**
 * Composition and relative poses in numbers, in space (position and quaternion w, x, y, z) and in the plane (position and heading). The
 * generator of graphs uses it; the residuals have their own expressions.
 */

/** The Hamilton product. */
export function quaternionTimes([aw, ax, ay, az], [bw, bx, by, bz]) {
  return [
    aw * bw - ax * bx - ay * by - az * bz,
    aw * bx + ax * bw + ay * bz - az * by,
    aw * by - ax * bz + ay * bw + az * bx,
    aw * bz + ax * by - ay * bx + az * bw,
  ];
}

const conjugate = ([w, x, y, z]) => [w, -x, -y, -z];

const rotate = (q, v) => quaternionTimes(quaternionTimes(q, [0, ...v]), conjugate(q)).slice(1);

const unit = (v) => {
  const length = Math.hypot(...v);
  return v.map((component) => component / length);
};

/** The quaternion of the frame with the given first and third axes, unit and orthogonal; the second is their product. */
export function quaternionOfFrame(forward, up) {
  const left = [up[1] * forward[2] - up[2] * forward[1], up[2] * forward[0] - up[0] * forward[2], up[0] * forward[1] - up[1] * forward[0]];
  const [xx, yx, zx] = forward, [xy, yy, zy] = left, [xz, yz, zz] = up;
  // Four times the squares of the components. The largest one is the divisor (S. W. Shepperd, "Quaternion from Rotation Matrix", 1978).
  const squares = [1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz];
  const largest = squares.indexOf(Math.max(...squares));
  const rows = [
    [squares[0], zy - yz, xz - zx, yx - xy],
    [zy - yz, squares[1], yx + xy, xz + zx],
    [xz - zx, yx + xy, squares[2], zy + yz],
    [yx - xy, xz + zx, zy + yz, squares[3]],
  ];
  return unit(rows[largest]);
}

/** A pose: `position`, and as `rotation` a quaternion or, in the plane, [heading]. */
export const motions = {
  3: {
    compose: (a, b) => ({
      position: rotate(a.rotation, b.position).map((component, d) => component + a.position[d]),
      rotation: unit(quaternionTimes(a.rotation, b.rotation)),
    }),
    /** b relative to a. */
    between: (a, b) => ({
      position: rotate(conjugate(a.rotation), b.position.map((component, d) => component - a.position[d])),
      rotation: quaternionTimes(conjugate(a.rotation), b.rotation),
    }),
    /** The pose rotated by a small rotation vector. */
    turned: (rotation, vector) => unit(quaternionTimes(rotation, [1, ...vector.map((component) => component / 2)])),
    turns: 3,
  },
  2: {
    compose: (a, b) => {
      const [c, s] = [Math.cos(a.rotation[0]), Math.sin(a.rotation[0])];
      return { position: [a.position[0] + c * b.position[0] - s * b.position[1], a.position[1] + s * b.position[0] + c * b.position[1]], rotation: [a.rotation[0] + b.rotation[0]] };
    },
    between: (a, b) => {
      const [c, s] = [Math.cos(a.rotation[0]), Math.sin(a.rotation[0])];
      const [x, y] = b.position.map((component, d) => component - a.position[d]);
      return { position: [c * x + s * y, c * y - s * x], rotation: [b.rotation[0] - a.rotation[0]] };
    },
    turned: (rotation, vector) => [rotation[0] + vector[0]],
    turns: 1,
  },
};
