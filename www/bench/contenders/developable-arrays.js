/**
 * The developable energy (energies/developable.js) over whole arrays, for libraries without residuals: coordinates as separate arrays, all
 * faces of all vertices in one list, vertices grouped by their number of faces. The operations of a library are passed as an array class of
 * the contender with
 *
 *     add sub mul div (array or number), sqrt reciprocal acos cos, atan2(x), clipped(least, most), sign() of −1 and 1, 1 for 0
 *     exceeds(array) → mask, mask.choose(these, those)
 *     stopped() – constant for differentiation, take(indices), reshaped(shape)
 *     perVertex() – [vertices, faces] → [vertices], repeated(faces), sum()
 */
import { faceLists } from '../plain/developable.js';

const dot = (a, b) => a[0].mul(b[0]).add(a[1].mul(b[1])).add(a[2].mul(b[2]));
const minus = (a, b) => a.map((coordinate, d) => coordinate.sub(b[d]));
const cross = (a, b) => [0, 1, 2].map((d) => a[(d + 1) % 3].mul(b[(d + 2) % 3]).sub(a[(d + 2) % 3].mul(b[(d + 1) % 3])));

/** Duff et al. 2017, as in energies/developable.js. */
function frameAlong(axis) {
  const held = axis.map((coordinate) => coordinate.stopped());
  const length = dot(held, held).sqrt();
  const n = held.map((coordinate) => coordinate.div(length));
  const side = n[2].sign();
  const a = side.add(n[2]).reciprocal().mul(-1);
  const b = n[0].mul(n[1]).mul(a);
  return [
    [n[0].mul(n[0]).mul(a).mul(side).add(1), side.mul(b), side.mul(n[0]).mul(-1)],
    [b, n[1].mul(n[1]).mul(a).add(side), n[1].mul(-1)],
    n,
  ].map((vector) => vector.map((coordinate) => coordinate.stopped()));
}

/**
 * The smallest eigenvalue of [[a, b, c], [b, d, e], [c, e, f]]: vᵀAv with the eigenvector v, constant for differentiation. It keeps the
 * digits that the closed form (Smith 1961) loses, and has the derivative v vᵀ. v is the longest cross product of two rows of A − λ; it is
 * computed again with λ = vᵀAv `refinements` times, because acos in shaders has few digits.
 */
function smallestEigenvalue(entries, refinements) {
  const [a, b, c, d, e, f] = entries.map((entry) => entry.stopped());
  const mean = a.add(d).add(f).div(3);
  const [p, q, r] = [a, d, f].map((entry) => entry.sub(mean));
  const squares = p.mul(p).add(q.mul(q)).add(r.mul(r)).add(b.mul(b).add(c.mul(c)).add(e.mul(e)).mul(2));
  const spread = squares.div(6).sqrt();
  const determinant = p.mul(q.mul(r).sub(e.mul(e))).sub(b.mul(b.mul(r).sub(c.mul(e)))).add(c.mul(b.mul(e).sub(c.mul(q))));
  const half = determinant.div(spread.mul(spread).mul(spread).mul(2)).clipped(-1, 1);
  let eigenvalue = mean.add(spread.mul(2).mul(half.acos().div(3).add((2 * Math.PI) / 3).cos()));
  for (let k = 0; k < refinements; k++) eigenvalue = rayleigh([a, b, c, d, e, f], eigenvector([a, b, c, d, e, f], eigenvalue));
  return rayleigh(entries, eigenvector([a, b, c, d, e, f], eigenvalue).map((coordinate) => coordinate.stopped()));
}

const rayleigh = ([a, b, c, d, e, f], v) => dot(v, [dot([a, b, c], v), dot([b, d, e], v), dot([c, e, f], v)]);

/** The longest cross product of two rows of A − λ, normalised. */
function eigenvector([a, b, c, d, e, f], eigenvalue) {
  const rows = [[a.sub(eigenvalue), b, c], [b, d.sub(eigenvalue), e], [c, e, f.sub(eigenvalue)]];
  let [longest, size] = [null, null];
  for (const [i, j] of [[0, 1], [0, 2], [1, 2]]) {
    const product = cross(rows[i], rows[j]);
    const square = dot(product, product);
    if (longest === null) {
      [longest, size] = [product, square];
      continue;
    }
    const longer = square.exceeds(size);
    longest = product.map((coordinate, k) => longer.choose(coordinate, longest[k]));
    size = longer.choose(square, size);
  }
  return longest.map((coordinate) => coordinate.div(size.sqrt()));
}

/** Vertices by their number of faces, because arrays are rectangular: centres and both other corners of all their faces. */
export function facesByNumber(topology) {
  const lists = faceLists(topology);
  const groups = new Map();
  lists.centers.forEach((center, i) => {
    const faces = lists.offsets[i + 1] - lists.offsets[i];
    // The matrix of two normals always has the eigenvalue 0; its derivative in closed form would be 0 · ∞.
    if (faces < 3) return;
    if (!groups.has(faces)) groups.set(faces, { faces, centers: [], first: [], second: [] });
    const group = groups.get(faces);
    for (let face = lists.offsets[i]; face < lists.offsets[i + 1]; face++) {
      group.centers.push(center);
      group.first.push(lists.corners[2 * face]);
      group.second.push(lists.corners[2 * face + 1]);
    }
  });
  return [...groups.values()];
}

/**
 * The energy as an array of one number. `at` are the three coordinates of all vertices, `lengths` the edges' rest lengths, `ends` the
 * indices of their two ends, `groups` the result of facesByNumber with `tables`, the indices of its centres and corners; `refinements` is
 * the number of repetitions of the eigenvalue computation.
 */
export function developableEnergy(at, lengths, ends, groups, refinements) {
  const side = minus(...ends.map((table) => at.map((coordinate) => coordinate.take(table))));
  const strain = dot(side, side).sqrt().div(lengths).sub(1);
  let total = strain.mul(strain).sum();
  for (const { faces, centers, tables } of groups) {
    const [o, b, c] = tables.map((table) => at.map((coordinate) => coordinate.take(table)));
    const [toB, toC] = [minus(b, o), minus(c, o)];
    const u = cross(toB, toC);
    const twiceArea = dot(u, u).sqrt();
    const shape = [centers.length / faces, faces];
    const normal = u.map((coordinate) => coordinate.div(twiceArea));
    const angle = twiceArea.atan2(dot(toB, toC));
    const mean = normal.map((coordinate) => coordinate.mul(angle).reshaped(shape).perVertex());
    const seen = frameAlong(mean).map((axis) => dot(normal, axis.map((coordinate) => coordinate.repeated(faces))));
    const entries = [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]].map(([i, j]) => angle.mul(seen[i]).mul(seen[j]).reshaped(shape).perVertex());
    total = total.add(smallestEigenvalue(entries, refinements).sum());
  }
  return total;
}
