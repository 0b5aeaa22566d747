/**
 * Springs in plain JavaScript: residual |a − b| − L, hand-written derivatives, loops over typed arrays without allocation.
 *
 * J has one unit vector per spring: the columns of b are the negatives of those of a.
 */
export function plainSprings(edges, restLength) {
  const count = edges.length / 2;
  // Offsets of the ends' first coordinates, so that no loop multiplies.
  const ends = edges.map((vertex) => 3 * vertex);
  const directions = new Float64Array(3 * count);
  const residuals = new Float64Array(count);
  return {
    count,
    entriesPerRow: 6,
    residuals,

    sumWithGradient(x, gradient) {
      gradient.fill(0);
      let sum = 0;
      for (let i = 0; i < count; i++) {
        const a = ends[2 * i];
        const b = ends[2 * i + 1];
        const dx = x[a] - x[b];
        const dy = x[a + 1] - x[b + 1];
        const dz = x[a + 2] - x[b + 2];
        const length = Math.sqrt(dx * dx + dy * dy + dz * dz);
        sum += length - restLength;
        const scale = 1 / length;
        gradient[a] += scale * dx;
        gradient[a + 1] += scale * dy;
        gradient[a + 2] += scale * dz;
        gradient[b] -= scale * dx;
        gradient[b + 1] -= scale * dy;
        gradient[b + 2] -= scale * dz;
      }
      return sum;
    },

    costWithGradient(x, gradient) {
      gradient.fill(0);
      let sum = 0;
      for (let i = 0; i < count; i++) {
        const a = ends[2 * i];
        const b = ends[2 * i + 1];
        const dx = x[a] - x[b];
        const dy = x[a + 1] - x[b + 1];
        const dz = x[a + 2] - x[b + 2];
        const length = Math.sqrt(dx * dx + dy * dy + dz * dz);
        const r = length - restLength;
        sum += r * r;
        const scale = r / length;
        gradient[a] += scale * dx;
        gradient[a + 1] += scale * dy;
        gradient[a + 2] += scale * dz;
        gradient[b] -= scale * dx;
        gradient[b + 1] -= scale * dy;
        gradient[b + 2] -= scale * dz;
      }
      return 0.5 * sum;
    },

    /** Entries in compressed rows; the first end is the lower one. */
    jacobian(x, values, entries) {
      for (let i = 0; i < count; i++) {
        const a = ends[2 * i];
        const b = ends[2 * i + 1];
        const dx = x[a] - x[b];
        const dy = x[a + 1] - x[b + 1];
        const dz = x[a + 2] - x[b + 2];
        const length = Math.sqrt(dx * dx + dy * dy + dz * dz);
        values[i] = length - restLength;
        const scale = 1 / length;
        const at = 6 * i;
        entries[at] = scale * dx;
        entries[at + 1] = scale * dy;
        entries[at + 2] = scale * dz;
        entries[at + 3] = -scale * dx;
        entries[at + 4] = -scale * dy;
        entries[at + 5] = -scale * dz;
      }
    },

    cost(x) {
      let sum = 0;
      for (let i = 0; i < count; i++) {
        const a = ends[2 * i];
        const b = ends[2 * i + 1];
        const dx = x[a] - x[b];
        const dy = x[a + 1] - x[b + 1];
        const dz = x[a + 2] - x[b + 2];
        const r = Math.sqrt(dx * dx + dy * dy + dz * dz) - restLength;
        sum += r * r;
      }
      return 0.5 * sum;
    },

    /** Stores the directions, adds Jᵀr to `gradient` and the lower halves of the diagonal blocks of JᵀJ, six numbers each, to `blocks`. */
    linearise(x, gradient, blocks) {
      let sum = 0;
      for (let i = 0; i < count; i++) {
        const a = ends[2 * i];
        const b = ends[2 * i + 1];
        const dx = x[a] - x[b];
        const dy = x[a + 1] - x[b + 1];
        const dz = x[a + 2] - x[b + 2];
        const length = Math.sqrt(dx * dx + dy * dy + dz * dz);
        const r = length - restLength;
        sum += r * r;
        const scale = 1 / length;
        const jx = scale * dx;
        const jy = scale * dy;
        const jz = scale * dz;
        directions[3 * i] = jx;
        directions[3 * i + 1] = jy;
        directions[3 * i + 2] = jz;
        gradient[a] += r * jx;
        gradient[a + 1] += r * jy;
        gradient[a + 2] += r * jz;
        gradient[b] -= r * jx;
        gradient[b + 1] -= r * jy;
        gradient[b + 2] -= r * jz;
        const p = 2 * a;
        blocks[p] += jx * jx;
        blocks[p + 1] += jy * jx;
        blocks[p + 2] += jy * jy;
        blocks[p + 3] += jz * jx;
        blocks[p + 4] += jz * jy;
        blocks[p + 5] += jz * jz;
        const q = 2 * b;
        blocks[q] += jx * jx;
        blocks[q + 1] += jy * jx;
        blocks[q + 2] += jy * jy;
        blocks[q + 3] += jz * jx;
        blocks[q + 4] += jz * jy;
        blocks[q + 5] += jz * jz;
      }
      return 0.5 * sum;
    },

    /** Adds JᵀJp to `jtjp`; returns ‖Jp‖². */
    product(p, jtjp) {
      let square = 0;
      for (let i = 0; i < count; i++) {
        const a = ends[2 * i];
        const b = ends[2 * i + 1];
        const jx = directions[3 * i];
        const jy = directions[3 * i + 1];
        const jz = directions[3 * i + 2];
        const along = jx * (p[a] - p[b]) + jy * (p[a + 1] - p[b + 1]) + jz * (p[a + 2] - p[b + 2]);
        square += along * along;
        jtjp[a] += along * jx;
        jtjp[a + 1] += along * jy;
        jtjp[a + 2] += along * jz;
        jtjp[b] -= along * jx;
        jtjp[b + 1] -= along * jy;
        jtjp[b + 2] -= along * jz;
      }
      return square;
    },
  };
}
