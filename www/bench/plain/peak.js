/** The fit of a peak in plain JavaScript: residual A exp(−((t − c)/w)²) + o + s t − y, five parameters for all samples. */
export function plainPeak(times, samples) {
  const count = times.length;
  return {
    count,
    entriesPerRow: 5,

    sumWithGradient([A, c, w, o, s], gradient) {
      let [sum, gA, gc, gw, gs] = [0, 0, 0, 0, 0];
      const inverse = 1 / w;
      for (let i = 0; i < count; i++) {
        const t = times[i];
        const z = (t - c) * inverse;
        const e = Math.exp(-z * z);
        sum += A * e + o + s * t - samples[i];
        const slope = 2 * A * e * z * inverse;
        gA += e;
        gc += slope;
        gw += slope * z;
        gs += t;
      }
      gradient[0] = gA;
      gradient[1] = gc;
      gradient[2] = gw;
      gradient[3] = count;
      gradient[4] = gs;
      return sum;
    },

    costWithGradient([A, c, w, o, s], gradient) {
      let [sum, gA, gc, gw, go, gs] = [0, 0, 0, 0, 0, 0];
      const inverse = 1 / w;
      for (let i = 0; i < count; i++) {
        const t = times[i];
        const z = (t - c) * inverse;
        const e = Math.exp(-z * z);
        const r = A * e + o + s * t - samples[i];
        sum += r * r;
        const slope = 2 * A * e * z * inverse * r;
        gA += e * r;
        gc += slope;
        gw += slope * z;
        go += r;
        gs += t * r;
      }
      gradient[0] = gA;
      gradient[1] = gc;
      gradient[2] = gw;
      gradient[3] = go;
      gradient[4] = gs;
      return 0.5 * sum;
    },

    jacobian([A, c, w, o, s], values, entries) {
      const inverse = 1 / w;
      for (let i = 0; i < count; i++) {
        const t = times[i];
        const z = (t - c) * inverse;
        const e = Math.exp(-z * z);
        values[i] = A * e + o + s * t - samples[i];
        const slope = 2 * A * e * z * inverse;
        const at = 5 * i;
        entries[at] = e;
        entries[at + 1] = slope;
        entries[at + 2] = slope * z;
        entries[at + 3] = 1;
        entries[at + 4] = t;
      }
    },

    cost([A, c, w, o, s]) {
      let sum = 0;
      const inverse = 1 / w;
      for (let i = 0; i < count; i++) {
        const t = times[i];
        const z = (t - c) * inverse;
        const r = A * Math.exp(-z * z) + o + s * t - samples[i];
        sum += r * r;
      }
      return 0.5 * sum;
    },

    /** Jᵀr, and the lower half of JᵀJ row after row. */
    normalEquations([A, c, w, o, s], gradient, matrix) {
      let [sum, g0, g1, g2, g3, g4] = [0, 0, 0, 0, 0, 0];
      let [h00, h10, h11, h20, h21, h22, h30, h31, h32] = [0, 0, 0, 0, 0, 0, 0, 0, 0];
      let [h40, h41, h42, h43, h44] = [0, 0, 0, 0, 0];
      const inverse = 1 / w;
      for (let i = 0; i < count; i++) {
        const t = times[i];
        const z = (t - c) * inverse;
        const e = Math.exp(-z * z);
        const r = A * e + o + s * t - samples[i];
        const b = 2 * A * e * z * inverse;
        const d = b * z;
        sum += r * r;
        g0 += e * r;
        g1 += b * r;
        g2 += d * r;
        g3 += r;
        g4 += t * r;
        h00 += e * e;
        h10 += b * e;
        h11 += b * b;
        h20 += d * e;
        h21 += d * b;
        h22 += d * d;
        h30 += e;
        h31 += b;
        h32 += d;
        h40 += t * e;
        h41 += t * b;
        h42 += t * d;
        h43 += t;
        h44 += t * t;
      }
      gradient.set([g0, g1, g2, g3, g4]);
      matrix.set([h00, 0, 0, 0, 0, h10, h11, 0, 0, 0, h20, h21, h22, 0, 0, h30, h31, h32, count, 0, h40, h41, h42, h43, h44]);
      return 0.5 * sum;
    },
  };
}
