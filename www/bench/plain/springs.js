/**
 * Springs in plain JavaScript with derivatives by hand, in double precision: what a page could do without any library. Takes two ends and a rest length a
 * spring; gives sum, cost, gradient, Jacobian, and the model that plain/levenberg-marquardt.js minimises. Arrays are made once and written again at each call.
 *
 * A spring is r = |a − b| − l with ∂r/∂a = n = (a − b)/|a − b| and ∂r/∂b = −n; n is 0 where a = b, as in residua.
 */
export class PlainSprings {
  /**
   * @param {Uint32Array} edges two vertices a spring
   * @param {number} vertexCount
   * @param {number} restLength
   */
  constructor(edges, vertexCount, restLength = 1) {
    this.edges = edges;
    this.count = edges.length / 2;
    this.blocks = vertexCount;
    this.restLength = restLength;
    this.gradient = new Float64Array(3 * vertexCount);
    this.residuals = new Float64Array(this.count);
    this.normals = null;
    this.jacobian = null;
  }

  /** Σ r with its gradient, which is `this.gradient`. */
  sumWithGradient(x) {
    const { edges, count, restLength, gradient } = this;
    gradient.fill(0);
    let sum = 0;
    for (let e = 0; e < count; e++) {
      const a = 3 * edges[2 * e], b = 3 * edges[2 * e + 1];
      const dx = x[a] - x[b], dy = x[a + 1] - x[b + 1], dz = x[a + 2] - x[b + 2];
      const length = Math.sqrt(dx * dx + dy * dy + dz * dz);
      const scale = length > 0 ? 1 / length : 0;
      sum += length - restLength;
      gradient[a] += scale * dx;
      gradient[a + 1] += scale * dy;
      gradient[a + 2] += scale * dz;
      gradient[b] -= scale * dx;
      gradient[b + 1] -= scale * dy;
      gradient[b + 2] -= scale * dz;
    }
    return sum;
  }

  /** ½ Σ r² with its gradient, which is `this.gradient`. */
  costWithGradient(x) {
    const { edges, count, restLength, gradient } = this;
    gradient.fill(0);
    let sum = 0;
    for (let e = 0; e < count; e++) {
      const a = 3 * edges[2 * e], b = 3 * edges[2 * e + 1];
      const dx = x[a] - x[b], dy = x[a + 1] - x[b + 1], dz = x[a + 2] - x[b + 2];
      const length = Math.sqrt(dx * dx + dy * dy + dz * dz);
      const r = length - restLength;
      const scale = length > 0 ? r / length : 0;
      sum += r * r;
      gradient[a] += scale * dx;
      gradient[a + 1] += scale * dy;
      gradient[a + 2] += scale * dz;
      gradient[b] -= scale * dx;
      gradient[b + 1] -= scale * dy;
      gradient[b + 2] -= scale * dz;
    }
    return sum / 2;
  }

  /** Residuals and the Jacobian's entries, rows of six with ascending columns: `this.residuals`, `this.jacobian`. The pattern is made with the first. */
  evaluateJacobian(x) {
    const { edges, count, restLength, residuals } = this;
    this.jacobian ??= this.#pattern();
    const { values } = this.jacobian;
    for (let e = 0; e < count; e++) {
      const first = edges[2 * e], second = edges[2 * e + 1];
      const a = 3 * first, b = 3 * second;
      const dx = x[a] - x[b], dy = x[a + 1] - x[b + 1], dz = x[a + 2] - x[b + 2];
      const length = Math.sqrt(dx * dx + dy * dy + dz * dz);
      const scale = length > 0 ? (first < second ? 1 : -1) / length : 0;
      const at = 6 * e;
      residuals[e] = length - restLength;
      values[at] = scale * dx;
      values[at + 1] = scale * dy;
      values[at + 2] = scale * dz;
      values[at + 3] = -scale * dx;
      values[at + 4] = -scale * dy;
      values[at + 5] = -scale * dz;
    }
    return this.jacobian;
  }

  #pattern() {
    const { edges, count } = this;
    const rowOffsets = Uint32Array.from({ length: count + 1 }, (_, row) => 6 * row);
    const colIndices = new Uint32Array(6 * count);
    for (let e = 0; e < count; e++) {
      const low = 3 * Math.min(edges[2 * e], edges[2 * e + 1]), high = 3 * Math.max(edges[2 * e], edges[2 * e + 1]);
      for (let d = 0; d < 3; d++) {
        colIndices[6 * e + d] = low + d;
        colIndices[6 * e + 3 + d] = high + d;
      }
    }
    return { rowOffsets, colIndices, values: new Float64Array(6 * count) };
  }

  /** ½ Σ r² alone. */
  cost(x) {
    const { edges, count, restLength } = this;
    let sum = 0;
    for (let e = 0; e < count; e++) {
      const a = 3 * edges[2 * e], b = 3 * edges[2 * e + 1];
      const dx = x[a] - x[b], dy = x[a + 1] - x[b + 1], dz = x[a + 2] - x[b + 2];
      const r = Math.sqrt(dx * dx + dy * dy + dz * dz) - restLength;
      sum += r * r;
    }
    return sum / 2;
  }

  /** The cost, with gradient, and the diagonal blocks of JᵀJ (xx, xy, xz, yy, yz, zz) in `diagonal`; keeps n of each spring for the products. */
  linearise(x, gradient, diagonal) {
    const { edges, count, restLength } = this;
    this.normals ??= new Float64Array(3 * count);
    const { normals } = this;
    gradient.fill(0);
    diagonal.fill(0);
    let sum = 0;
    for (let e = 0; e < count; e++) {
      const first = edges[2 * e], second = edges[2 * e + 1];
      const a = 3 * first, b = 3 * second;
      const dx = x[a] - x[b], dy = x[a + 1] - x[b + 1], dz = x[a + 2] - x[b + 2];
      const length = Math.sqrt(dx * dx + dy * dy + dz * dz);
      const scale = length > 0 ? 1 / length : 0;
      const nx = scale * dx, ny = scale * dy, nz = scale * dz;
      const r = length - restLength;
      sum += r * r;
      normals[3 * e] = nx;
      normals[3 * e + 1] = ny;
      normals[3 * e + 2] = nz;
      gradient[a] += r * nx;
      gradient[a + 1] += r * ny;
      gradient[a + 2] += r * nz;
      gradient[b] -= r * nx;
      gradient[b + 1] -= r * ny;
      gradient[b + 2] -= r * nz;
      const xx = nx * nx, xy = nx * ny, xz = nx * nz, yy = ny * ny, yz = ny * nz, zz = nz * nz;
      const p = 6 * first, q = 6 * second;
      diagonal[p] += xx;
      diagonal[p + 1] += xy;
      diagonal[p + 2] += xz;
      diagonal[p + 3] += yy;
      diagonal[p + 4] += yz;
      diagonal[p + 5] += zz;
      diagonal[q] += xx;
      diagonal[q + 1] += xy;
      diagonal[q + 2] += xz;
      diagonal[q + 3] += yy;
      diagonal[q + 4] += yz;
      diagonal[q + 5] += zz;
    }
    return sum / 2;
  }

  /** JᵀJ p into `image`; pᵀJᵀJp. */
  product(p, image) {
    const { edges, count, normals } = this;
    image.fill(0);
    let curvature = 0;
    for (let e = 0; e < count; e++) {
      const a = 3 * edges[2 * e], b = 3 * edges[2 * e + 1];
      const nx = normals[3 * e], ny = normals[3 * e + 1], nz = normals[3 * e + 2];
      const t = nx * (p[a] - p[b]) + ny * (p[a + 1] - p[b + 1]) + nz * (p[a + 2] - p[b + 2]);
      curvature += t * t;
      image[a] += t * nx;
      image[a + 1] += t * ny;
      image[a + 2] += t * nz;
      image[b] -= t * nx;
      image[b + 1] -= t * ny;
      image[b + 2] -= t * nz;
    }
    return curvature;
  }

  retract(x, step, out) {
    for (let i = 0; i < x.length; i++) out[i] = x[i] + step[i];
  }
}
