/**
 * Round bodies made of rings of vertices: a capsule (a bar with round ends) and a closed tube along a torus knot. Takes the number of
 * vertices around and along; returns meshes with counterclockwise faces seen from outside.
 */

/**
 * Two triangles for each pair of adjacent rings of `around` vertices. `first` is the first ring's first vertex, and the other ring is
 * `next` vertices further.
 */
function strip(triangles, around, first, second) {
  for (let k = 0; k < around; k++) {
    const l = (k + 1) % around;
    triangles.push(first + k, first + l, second + k, first + l, second + l, second + k);
  }
}

/**
 * A bar along y with hemispherical ends, centred at 0.
 * @param {{ around: number, along: number, radius?: number, length?: number }} shape vertices per ring, rings of the straight part; radius
 *   and total length
 */
export function capsule({ around, along, radius = 0.25, length = 2 }) {
  const half = length / 2 - radius, capRings = Math.max(2, Math.round(around / 4));
  const rings = [];
  for (let k = 1; k <= capRings; k++) {
    const angle = (Math.PI / 2) * (k / capRings);
    rings.push([radius * Math.sin(angle), -half - radius * Math.cos(angle)]);
  }
  for (let k = 1; k < along; k++) rings.push([radius, -half + (2 * half * k) / along]);
  for (let k = capRings; k >= 1; k--) {
    const angle = (Math.PI / 2) * (k / capRings);
    rings.push([radius * Math.sin(angle), half + radius * Math.cos(angle)]);
  }
  const positions = [0, -half - radius, 0];
  rings.forEach(([across, height], ring) => {
    for (let k = 0; k < around; k++) {
      // Every second ring is rotated by half a step, which makes the triangles more equilateral.
      const angle = (2 * Math.PI * (k + (ring % 2) / 2)) / around;
      positions.push(across * Math.sin(angle), height, across * Math.cos(angle));
    }
  });
  positions.push(0, half + radius, 0);
  const triangles = [], top = positions.length / 3 - 1;
  for (let k = 0; k < around; k++) triangles.push(0, 1 + ((k + 1) % around), 1 + k);
  for (let ring = 0; ring + 1 < rings.length; ring++) {
    const first = 1 + ring * around, second = first + around;
    for (let k = 0; k < around; k++) {
      const l = (k + 1) % around;
      if (ring % 2 === 0) triangles.push(first + k, first + l, second + k, first + l, second + l, second + k);
      else triangles.push(first + k, first + l, second + l, first + k, second + l, second + k);
    }
  }
  const last = top - around;
  for (let k = 0; k < around; k++) triangles.push(last + k, last + ((k + 1) % around), top);
  return { positions: Float64Array.from(positions), triangles: Uint32Array.from(triangles) };
}

/**
 * A tube along the (2, 3) torus knot, the trefoil, about as large as the unit sphere.
 * @param {{ around: number, along: number, radius?: number }} shape
 */
export function trefoilTube({ around, along, radius = 0.17 }) {
  const point = (t) => {
    const across = 0.55 + 0.25 * Math.cos(3 * t);
    return [across * Math.cos(2 * t), across * Math.sin(2 * t), 0.32 * Math.sin(3 * t)];
  };
  const positions = [];
  for (let ring = 0; ring < along; ring++) {
    const t = (2 * Math.PI * ring) / along, step = 1e-4;
    const center = point(t), before = point(t - step), after = point(t + step);
    const tangent = unit(after.map((value, d) => value - before[d]));
    // The direction to the torus's axis is never parallel to the knot and is periodic, so the frame has no seam.
    const inward = [-center[0], -center[1], 0];
    const lean = dot(inward, tangent);
    const normal = unit(inward.map((value, d) => value - lean * tangent[d]));
    const binormal = cross(tangent, normal);
    for (let k = 0; k < around; k++) {
      const angle = (2 * Math.PI * k) / around, c = radius * Math.cos(angle), s = radius * Math.sin(angle);
      for (let d = 0; d < 3; d++) positions.push(center[d] + c * normal[d] + s * binormal[d]);
    }
  }
  const triangles = [];
  for (let ring = 0; ring < along; ring++) strip(triangles, around, ring * around, ((ring + 1) % along) * around);
  return { positions: Float64Array.from(positions), triangles: Uint32Array.from(triangles) };
}

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => a.map((value) => value / Math.sqrt(dot(a, a)));
