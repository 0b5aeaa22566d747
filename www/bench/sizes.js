/** Sizes as a reader asks for them, and meshes of about as many vertices: what a family of them has nearest. */

/** The sizes of the suite, in vertices. */
export const SIZES = [12, 100, 1_000, 10_000, 100_000, 1_000_000];

/** What may be asked for: the smallest grid, and more than any device here has room for. */
const LEAST = 4, MOST = 10_000_000;
const inWords = (size) => size.toLocaleString('en-US');

/**
 * The sizes that a reader has written, with commas between, in rising order; none for an empty text.
 * @throws {RangeError} that says which of them is none
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

/** A grid of about `vertices`: the square nearest, or a rectangle of sides that differ, where one is nearer by more than a tenth. At least 2 × 2. */
export function gridNearest(vertices) {
  const side = Math.max(2, Math.round(Math.sqrt(vertices)));
  if (Math.abs(side * side - vertices) <= 0.1 * vertices) return { rows: side, columns: side };
  const rows = Math.max(2, Math.floor(Math.sqrt(vertices)));
  return { rows, columns: Math.max(2, Math.round(vertices / rows)) };
}

/** How often an icosahedron is cut for about `vertices`: 10·4ⁿ + 2 of them, the nearest by ratio. Ours goes to eight, 655,362. */
export function subdivisionsNearest(vertices) {
  const cuts = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  const distance = (n) => Math.abs(Math.log((10 * 4 ** n + 2) / vertices));
  return cuts.reduce((best, n) => (distance(n) < distance(best) ? n : best));
}
