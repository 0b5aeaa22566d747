/** The sizes that a reader has entered, and meshes of about as many vertices: the nearest one of a family. */

/** The sizes of the suite, in vertices. */
export const SIZES = [12, 100, 1_000, 10_000, 100_000, 1_000_000];

/** The valid range: from the smallest grid to more than any device can hold. */
const LEAST = 4, MOST = 10_000_000;
const inWords = (size) => size.toLocaleString('en-US');

/**
 * The sizes in a text, separated by commas, in ascending order; none for an empty text.
 * @throws {RangeError} with the invalid one
 */
export function readSizes(text) {
  if (text.trim() === '') return [];
  const sizes = text.split(',').map((word) => {
    const size = word.trim() === '' ? NaN : Number(word);
    if (Number.isInteger(size) && size >= LEAST && size <= MOST) return size;
    const given = word.trim() === '' ? 'nothing stands between two commas' : `"${word.trim().slice(0, 24)}" is none`;
    throw new RangeError(`Sizes are whole numbers from ${LEAST} to ${inWords(MOST)} with commas between, such as 12,100,1000: ${given}.`);
  });
  return [...new Set(sizes)].toSorted((a, b) => a - b);
}

/** A grid of about `vertices`: the nearest square, or a rectangle where one is nearer by more than a tenth. At least 2 × 2. */
export function gridNearest(vertices) {
  const side = Math.max(2, Math.round(Math.sqrt(vertices)));
  if (Math.abs(side * side - vertices) <= 0.1 * vertices) return { rows: side, columns: side };
  const rows = Math.max(2, Math.floor(Math.sqrt(vertices)));
  return { rows, columns: Math.max(2, Math.round(vertices / rows)) };
}

/**
 * The number of subdivisions of an icosahedron for about `vertices`: 10·4ⁿ + 2 of them, the nearest by ratio. The mesh has at most eight,
 * 655,362 vertices.
 */
export function subdivisionsNearest(vertices) {
  const cuts = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  const distance = (n) => Math.abs(Math.log((10 * 4 ** n + 2) / vertices));
  return cuts.reduce((best, n) => (distance(n) < distance(best) ? n : best));
}
