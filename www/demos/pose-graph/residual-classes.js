/**
 * Classes of loop closures by their residuals, for colouring. Takes raw residuals, whitened by the information matrices, so that ‖r‖² over
 * the number of its entries is about 1 where only noise remains. Returns the closures sorted by class, ready for an index buffer that draws
 * one class at a time.
 */

/** Upper bounds of the classes, in ‖r‖² over the number of entries of a residual; a last class is above them. */
export const LIMITS = [3, 30, 300, 3000];

/** The class of a mean square. */
export function classOf(meanSquare) {
  const found = LIMITS.findIndex((limit) => meanSquare < limit);
  return found < 0 ? LIMITS.length : found;
}

/**
 * A counting sort of edges by class.
 * @param {Float64Array} residuals of all residual blocks
 * @param {{ offset: number, numResiduals: number, count: number } | undefined} block the edges' residual block; undefined when there are
 *   none
 * @param {Uint32Array} ends 2 pose numbers per edge, in the order of the block's instances
 * @param {Uint32Array} index filled with the ends, class after class
 * @returns {number[]} edges in each class
 */
export function sortByClass(residuals, block, ends, index) {
  const counts = Array.from({ length: LIMITS.length + 1 }, () => 0);
  if (block === undefined) return counts;
  const width = block.numResiduals / block.count;
  const classes = Uint8Array.from({ length: block.count }, (_, edge) => {
    let sum = 0;
    for (let k = 0; k < width; k++) sum += residuals[block.offset + width * edge + k] ** 2;
    return classOf(sum / width);
  });
  for (const found of classes) counts[found]++;
  let start = 0;
  const next = counts.map((count) => (start += count) - count);
  classes.forEach((found, edge) => {
    const to = 2 * next[found]++;
    index[to] = ends[2 * edge];
    index[to + 1] = ends[2 * edge + 1];
  });
  return counts;
}
