/**
 * The developable energy of energies/developable.js in plain JavaScript with hand-written derivatives, in double precision. For a vertex
 * with faces (center, b, c), p = b − center, q = c − center, u = p × q, N = u/|u|, θ = atan2(|u|, p·q): λ, the smallest eigenvalue of Σ θ N
 * Nᵀ, has the derivative vᵀ d(Σ θ N Nᵀ) v with v its unit eigenvector. For an edge (l/l₀ − 1)².
 */
export class PlainDevelopable {
  /**
   * @param {{ interior: object, boundary: object, irregular: object, edges: Uint32Array }} topology of mesh/topology.js
   * @param {Float64Array} restLengths
   * @param {number} vertexCount
   */
  constructor(topology, restLengths, vertexCount) {
    const { centers, offsets, corners } = faceLists(topology);
    Object.assign(this, { centers, offsets, corners, edges: topology.edges, restLengths });
    this.gradient = new Float64Array(3 * vertexCount);
    const most = offsets.reduce((most, offset, i) => (i === 0 ? 0 : Math.max(most, offset - offsets[i - 1])), 0);
    // For the faces of the current vertex: u, N, then |u| and p·q, and θ.
    this.scratch = new Float64Array(9 * most);
    this.eigen = new Float64Array(4);
  }

  /** Σ of all terms, with its gradient: `this.gradient`. */
  sumWithGradient(x) {
    const { centers, gradient } = this;
    gradient.fill(0);
    let sum = 0;
    for (let i = 0; i < centers.length; i++) sum += this.#vertex(x, i);
    return sum + this.#edges(x);
  }

  #vertex(x, index) {
    const { centers, offsets, corners, gradient, scratch, eigen } = this;
    const o = 3 * centers[index];
    const from = offsets[index], to = offsets[index + 1];
    const ox = x[o], oy = x[o + 1], oz = x[o + 2];
    let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0;
    for (let face = from, s = 0; face < to; face++, s += 9) {
      const i = 3 * corners[2 * face], j = 3 * corners[2 * face + 1];
      const px = x[i] - ox, py = x[i + 1] - oy, pz = x[i + 2] - oz;
      const qx = x[j] - ox, qy = x[j + 1] - oy, qz = x[j + 2] - oz;
      const ux = py * qz - pz * qy, uy = pz * qx - px * qz, uz = px * qy - py * qx;
      const size = Math.sqrt(ux * ux + uy * uy + uz * uz);
      const inner = px * qx + py * qy + pz * qz;
      const scale = size > 0 ? 1 / size : 0;
      const nx = ux * scale, ny = uy * scale, nz = uz * scale;
      const angle = Math.atan2(size, inner);
      scratch[s] = nx;
      scratch[s + 1] = ny;
      scratch[s + 2] = nz;
      scratch[s + 3] = size;
      scratch[s + 4] = inner;
      scratch[s + 5] = angle;
      a += angle * nx * nx;
      b += angle * nx * ny;
      c += angle * nx * nz;
      d += angle * ny * ny;
      e += angle * ny * nz;
      f += angle * nz * nz;
    }
    smallestEigenpair(a, b, c, d, e, f, eigen);
    const vx = eigen[1], vy = eigen[2], vz = eigen[3];
    for (let face = from, s = 0; face < to; face++, s += 9) {
      const i = 3 * corners[2 * face], j = 3 * corners[2 * face + 1];
      const nx = scratch[s], ny = scratch[s + 1], nz = scratch[s + 2], size = scratch[s + 3], inner = scratch[s + 4], angle = scratch[s + 5];
      const along = vx * nx + vy * ny + vz * nz;
      const square = size * size + inner * inner;
      const byAngle = square > 0 ? (along * along) / square : 0;
      // By N: 2 θ (v·N) v without its component along N, over |u|; by |u| through θ: (p·q)/(|u|² + (p·q)²), along N.
      const by = size > 0 ? (2 * angle * along) / size : 0, normal = byAngle * inner - by * along;
      const gx = by * vx + normal * nx, gy = by * vy + normal * ny, gz = by * vz + normal * nz;
      const byInner = -byAngle * size;
      const px = x[i] - ox, py = x[i + 1] - oy, pz = x[i + 2] - oz;
      const qx = x[j] - ox, qy = x[j + 1] - oy, qz = x[j + 2] - oz;
      // ∂/∂p = q × g + byInner q, ∂/∂q = g × p + byInner p.
      const bx = qy * gz - qz * gy + byInner * qx, bY = qz * gx - qx * gz + byInner * qy, bz = qx * gy - qy * gx + byInner * qz;
      const cx = gy * pz - gz * py + byInner * px, cy = gz * px - gx * pz + byInner * py, cz = gx * py - gy * px + byInner * pz;
      gradient[i] += bx;
      gradient[i + 1] += bY;
      gradient[i + 2] += bz;
      gradient[j] += cx;
      gradient[j + 1] += cy;
      gradient[j + 2] += cz;
      gradient[o] -= bx + cx;
      gradient[o + 1] -= bY + cy;
      gradient[o + 2] -= bz + cz;
    }
    return eigen[0];
  }

  #edges(x) {
    const { edges, restLengths, gradient } = this;
    let sum = 0;
    for (let e = 0; e < restLengths.length; e++) {
      const a = 3 * edges[2 * e], b = 3 * edges[2 * e + 1];
      const dx = x[a] - x[b], dy = x[a + 1] - x[b + 1], dz = x[a + 2] - x[b + 2];
      const length = Math.sqrt(dx * dx + dy * dy + dz * dz);
      const strain = length / restLengths[e] - 1;
      const scale = length > 0 ? (2 * strain) / (restLengths[e] * length) : 0;
      sum += strain * strain;
      gradient[a] += scale * dx;
      gradient[a + 1] += scale * dy;
      gradient[a + 2] += scale * dz;
      gradient[b] -= scale * dx;
      gradient[b + 1] -= scale * dy;
      gradient[b + 2] -= scale * dz;
    }
    return sum;
  }
}

/** The faces of every vertex as pairs of neighbours, in one list: face f of vertex i is (centers[i], corners[2f], corners[2f + 1]). */
export function faceLists({ interior, boundary, irregular }) {
  const count = interior.vertices.length + boundary.vertices.length + irregular.vertices.length;
  const faceCount = interior.indices.length + (boundary.indices.length - boundary.vertices.length) + irregular.indices.length / 2;
  const centers = new Uint32Array(count), offsets = new Uint32Array(count + 1), corners = new Uint32Array(2 * faceCount);
  let vertex = 0, filled = 0;
  const begin = (center) => {
    centers[vertex] = center;
    offsets[vertex++] = filled / 2;
  };
  const add = (b, c) => {
    corners[filled++] = b;
    corners[filled++] = c;
  };
  for (const [stars, closed] of [[interior, true], [boundary, false]]) {
    for (let i = 0; i < stars.vertices.length; i++) {
      const from = stars.offsets[i], to = stars.offsets[i + 1];
      begin(stars.vertices[i]);
      for (let k = from; k + 1 < to; k++) add(stars.indices[k], stars.indices[k + 1]);
      if (closed) add(stars.indices[to - 1], stars.indices[from]);
    }
  }
  for (let i = 0; i < irregular.vertices.length; i++) {
    begin(irregular.vertices[i]);
    for (let k = irregular.offsets[i]; k < irregular.offsets[i + 1]; k += 2) add(irregular.indices[k], irregular.indices[k + 1]);
  }
  offsets[vertex] = filled / 2;
  return { centers, offsets, corners };
}

/**
 * The smallest eigenvalue of [[a, b, c], [b, d, e], [c, e, f]] and its unit eigenvector, written to `out` (λ, then v). O. K. Smith,
 * "Eigenvalues of a symmetric 3 × 3 matrix" (Communications of the ACM 4(4), 1961); v is the longest cross product of two rows of A − λ,
 * and λ = vᵀAv, which keeps more digits. Where the eigenvalue is repeated v is 0.
 */
export function smallestEigenpair(a, b, c, d, e, f, out) {
  const mean = (a + d + f) / 3;
  const [p, q, r] = [a - mean, d - mean, f - mean];
  const spread = Math.sqrt((p * p + q * q + r * r + 2 * (b * b + c * c + e * e)) / 6);
  out[1] = out[2] = out[3] = 0;
  out[0] = mean;
  if (!(spread > 0)) return;
  const half = (p * (q * r - e * e) - b * (b * r - c * e) + c * (b * e - c * q)) / (2 * spread * spread * spread);
  const angle = Math.acos(Math.min(1, Math.max(-1, half))) / 3;
  const least = mean + 2 * spread * Math.cos(angle + (2 * Math.PI) / 3);
  const A = a - least, D = d - least, F = f - least;
  // Cross products of rows 1 and 2, 1 and 3, 2 and 3.
  const x1 = b * e - c * D, y1 = c * b - A * e, z1 = A * D - b * b;
  const x2 = b * F - c * e, y2 = c * c - A * F, z2 = A * e - b * c;
  const x3 = D * F - e * e, y3 = e * c - b * F, z3 = b * e - D * c;
  const s1 = x1 * x1 + y1 * y1 + z1 * z1, s2 = x2 * x2 + y2 * y2 + z2 * z2, s3 = x3 * x3 + y3 * y3 + z3 * z3;
  const longest = Math.max(s1, s2, s3);
  // The products are proportional to the gap to the next eigenvalue, and near a double one acos keeps half of the digits: below this they
  // are only rounding.
  if (!(longest > 1e-14 * spread ** 4)) {
    // Half of the trace minus the largest one.
    out[0] = mean - spread * Math.cos(angle);
    return;
  }
  const scale = 1 / Math.sqrt(longest);
  const [vx, vy, vz] = s1 === longest ? [x1 * scale, y1 * scale, z1 * scale] : s2 === longest ? [x2 * scale, y2 * scale, z2 * scale] : [x3 * scale, y3 * scale, z3 * scale];
  out[1] = vx;
  out[2] = vy;
  out[3] = vz;
  out[0] = vx * (a * vx + 2 * (b * vy + c * vz)) + vy * (d * vy + 2 * e * vz) + f * vz * vz;
}
