/**
 * Spheres of nearly equal triangles: an icosahedron whose faces are subdivided repeatedly, with every vertex on the unit sphere. Takes the
 * number of subdivisions; returns a mesh, which in these pages is `{ positions: Float64Array, triangles: Uint32Array }`: three numbers per
 * vertex and three vertex numbers per face, counterclockwise seen from outside.
 */

const GOLDEN_RATIO = (1 + Math.sqrt(5)) / 2;

/** The corners of three golden rectangles, one in each coordinate plane. */
const ICOSAHEDRON_POSITIONS = [
  [-1, GOLDEN_RATIO, 0], [1, GOLDEN_RATIO, 0], [-1, -GOLDEN_RATIO, 0], [1, -GOLDEN_RATIO, 0],
  [0, -1, GOLDEN_RATIO], [0, 1, GOLDEN_RATIO], [0, -1, -GOLDEN_RATIO], [0, 1, -GOLDEN_RATIO],
  [GOLDEN_RATIO, 0, -1], [GOLDEN_RATIO, 0, 1], [-GOLDEN_RATIO, 0, -1], [-GOLDEN_RATIO, 0, 1],
];

const ICOSAHEDRON_TRIANGLES = [
  [0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11],
  [1, 5, 9], [5, 11, 4], [11, 10, 2], [10, 7, 6], [7, 1, 8],
  [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9],
  [4, 9, 5], [2, 4, 11], [6, 2, 10], [8, 6, 7], [9, 8, 1],
];

/** The largest mesh that a page can draw and solve: 8 subdivisions are 655,362 vertices. */
const MAX_SUBDIVISIONS = 8;

/**
 * The unit icosphere of 10·4ⁿ + 2 vertices; n = 4 has 2,562. It uses only sums, products and square roots, so every browser computes the
 * same bits.
 * @param {number} subdivisions a whole number from 0 to 8; anything else throws a RangeError
 */
export function icosphere(subdivisions) {
  if (!Number.isInteger(subdivisions) || subdivisions < 0 || subdivisions > MAX_SUBDIVISIONS) {
    throw new RangeError(`icosphere: subdivisions is ${subdivisions}; it takes a whole number from 0 to ${MAX_SUBDIVISIONS}`);
  }
  const vertexCount = 10 * 4 ** subdivisions + 2;
  const positions = new Float64Array(3 * vertexCount);
  let filled = 0;
  const addOnSphere = (x, y, z) => {
    const scale = 1 / Math.sqrt(x * x + y * y + z * z);
    positions.set([x * scale, y * scale, z * scale], 3 * filled);
    return filled++;
  };
  for (const [x, y, z] of ICOSAHEDRON_POSITIONS) addOnSphere(x, y, z);

  let triangles = Uint32Array.from(ICOSAHEDRON_TRIANGLES.flat());
  for (let level = 0; level < subdivisions; level++) {
    const midpoints = new Map();
    // vertexCount² is below 2⁵³, so the key of an edge is unique.
    const midpoint = (a, b) => {
      const edge = a < b ? a * vertexCount + b : b * vertexCount + a;
      let middle = midpoints.get(edge);
      if (middle === undefined) {
        middle = addOnSphere(positions[3 * a] + positions[3 * b], positions[3 * a + 1] + positions[3 * b + 1], positions[3 * a + 2] + positions[3 * b + 2]);
        midpoints.set(edge, middle);
      }
      return middle;
    };
    const finer = new Uint32Array(4 * triangles.length);
    for (let t = 0; t < triangles.length; t += 3) {
      const a = triangles[t], b = triangles[t + 1], c = triangles[t + 2];
      const ab = midpoint(a, b), bc = midpoint(b, c), ca = midpoint(c, a);
      finer.set([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], 4 * t);
    }
    triangles = finer;
  }
  return { positions, triangles };
}
