/**
 * The bounding sphere of a mesh. A camera is aimed at it, and positions are taken relative to it before they are rounded to f32, in which a
 * small mesh far from the origin would lose its shape.
 */

/** The centre of the positions' bounding box, and the largest distance from it (1 for a single point). */
export function boundingSphere(positions) {
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < positions.length; i++) {
    low[i % 3] = Math.min(low[i % 3], positions[i]);
    high[i % 3] = Math.max(high[i % 3], positions[i]);
  }
  const center = low.map((value, d) => value / 2 + high[d] / 2);
  let radius = 0;
  for (let i = 0; i < positions.length; i += 3) radius = Math.max(radius, Math.hypot(positions[i] - center[0], positions[i + 1] - center[1], positions[i + 2] - center[2]));
  return { center, radius: radius > 0 ? radius : 1 };
}

/** Positions relative to a sphere: its centre is 0, its radius 1. */
export function intoUnitSphere(positions, { center, radius }) {
  return positions.map((coordinate, i) => (coordinate - center[i % 3]) / radius);
}

/** The inverse. */
export function outOfUnitSphere(positions, { center, radius }) {
  return positions.map((coordinate, i) => center[i % 3] + radius * coordinate);
}
