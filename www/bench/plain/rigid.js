/**
 * As-rigid-as-possible deformation in plain JavaScript with hand-written derivatives, in double precision: the residuals of
 * problems/as-rigid-as-possible.js, w ((a − b) − R s) for each edge from both of its ends, R the rotation of the first end's quaternion.
 * Takes the same arrays; returns cost and gradient, and the model that plain/levenberg-marquardt.js minimises, whose blocks are the
 * vertices and then the rotations.
 *
 * Numbers are 3 for each vertex, then 4 (w, x, y, z) for each rotation.
 */
export class PlainRigid {
  /**
   * @param {{ ends: Uint32Array, sides: Float64Array, rootWeights: Float64Array }} instances two vertices, three numbers and one of each
   * @param {number} vertexCount
   * @param {readonly number[]} held constant vertices
   */
  constructor({ ends, sides, rootWeights }, vertexCount, held = []) {
    this.ends = ends;
    this.sides = sides;
    this.rootWeights = rootWeights;
    this.count = ends.length / 2;
    this.vertexCount = vertexCount;
    this.blocks = 2 * vertexCount;
    this.held = held;
    this.gradient = new Float64Array(7 * vertexCount);
    this.frozen = new Uint8Array(3 * this.blocks);
    for (const vertex of held) this.frozen.fill(1, 3 * vertex, 3 * vertex + 3);
    this.turned = null;
  }

  /** ½ Σ r² with its gradient by all seven numbers per vertex, 0 for constant ones: `this.gradient`. */
  costWithGradient(x) {
    const { ends, sides, rootWeights, count, vertexCount, gradient, held } = this;
    gradient.fill(0);
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const a = 3 * ends[2 * i], b = 3 * ends[2 * i + 1], k = 3 * vertexCount + 4 * ends[2 * i];
      const weight = rootWeights[i];
      const sx = sides[3 * i], sy = sides[3 * i + 1], sz = sides[3 * i + 2];
      const w = x[k], qx = x[k + 1], qy = x[k + 2], qz = x[k + 3];
      // R s = s + 2 (w t + q × t) with t = q × s.
      const tx = qy * sz - qz * sy, ty = qz * sx - qx * sz, tz = qx * sy - qy * sx;
      const rx = weight * (x[a] - x[b] - sx - 2 * (w * tx + qy * tz - qz * ty));
      const ry = weight * (x[a + 1] - x[b + 1] - sy - 2 * (w * ty + qz * tx - qx * tz));
      const rz = weight * (x[a + 2] - x[b + 2] - sz - 2 * (w * tz + qx * ty - qy * tx));
      sum += rx * rx + ry * ry + rz * rz;
      const ux = weight * rx, uy = weight * ry, uz = weight * rz;
      gradient[a] += ux;
      gradient[a + 1] += uy;
      gradient[a + 2] += uz;
      gradient[b] -= ux;
      gradient[b + 1] -= uy;
      gradient[b + 2] -= uz;
      // −u · ∂(R s): by w, 2 u·t; by q, 2 (w s × u + u (q·s) + s (u·q) − 2 q (u·s)).
      const ut = ux * tx + uy * ty + uz * tz;
      const uq = ux * qx + uy * qy + uz * qz, us = ux * sx + uy * sy + uz * sz, qs = qx * sx + qy * sy + qz * sz;
      gradient[k] -= 2 * ut;
      gradient[k + 1] -= 2 * (w * (sy * uz - sz * uy) + ux * qs + sx * uq - 2 * qx * us);
      gradient[k + 2] -= 2 * (w * (sz * ux - sx * uz) + uy * qs + sy * uq - 2 * qy * us);
      gradient[k + 3] -= 2 * (w * (sx * uy - sy * ux) + uz * qs + sz * uq - 2 * qz * us);
    }
    for (const vertex of held) gradient.fill(0, 3 * vertex, 3 * vertex + 3);
    return sum / 2;
  }

  /** ½ Σ r² alone. */
  cost(x) {
    const { ends, sides, rootWeights, count, vertexCount } = this;
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const a = 3 * ends[2 * i], b = 3 * ends[2 * i + 1], k = 3 * vertexCount + 4 * ends[2 * i];
      const sx = sides[3 * i], sy = sides[3 * i + 1], sz = sides[3 * i + 2];
      const w = x[k], qx = x[k + 1], qy = x[k + 2], qz = x[k + 3];
      const tx = qy * sz - qz * sy, ty = qz * sx - qx * sz, tz = qx * sy - qy * sx;
      const rx = x[a] - x[b] - sx - 2 * (w * tx + qy * tz - qz * ty);
      const ry = x[a + 1] - x[b + 1] - sy - 2 * (w * ty + qz * tx - qx * tz);
      const rz = x[a + 2] - x[b + 2] - sz - 2 * (w * tz + qx * ty - qy * tx);
      sum += rootWeights[i] * rootWeights[i] * (rx * rx + ry * ry + rz * rz);
    }
    return sum / 2;
  }

  /** The cost; adds Jᵀr and the lower halves of the diagonal blocks of JᵀJ, by vertices and by left rotation vectors; stores R s. */
  linearise(x, gradient, diagonal) {
    const { ends, sides, rootWeights, count, vertexCount } = this;
    this.turned ??= new Float64Array(3 * count);
    const { turned } = this;
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const first = ends[2 * i], second = ends[2 * i + 1];
      const a = 3 * first, b = 3 * second, k = 3 * vertexCount + 4 * first, v = 3 * vertexCount + 3 * first;
      const square = rootWeights[i] * rootWeights[i];
      const sx = sides[3 * i], sy = sides[3 * i + 1], sz = sides[3 * i + 2];
      const w = x[k], qx = x[k + 1], qy = x[k + 2], qz = x[k + 3];
      const tx = qy * sz - qz * sy, ty = qz * sx - qx * sz, tz = qx * sy - qy * sx;
      const px = sx + 2 * (w * tx + qy * tz - qz * ty), py = sy + 2 * (w * ty + qz * tx - qx * tz), pz = sz + 2 * (w * tz + qx * ty - qy * tx);
      turned[3 * i] = px;
      turned[3 * i + 1] = py;
      turned[3 * i + 2] = pz;
      const rx = x[a] - x[b] - px, ry = x[a + 1] - x[b + 1] - py, rz = x[a + 2] - x[b + 2] - pz;
      sum += square * (rx * rx + ry * ry + rz * rz);
      const ux = square * rx, uy = square * ry, uz = square * rz;
      gradient[a] += ux;
      gradient[a + 1] += uy;
      gradient[a + 2] += uz;
      gradient[b] -= ux;
      gradient[b + 1] -= uy;
      gradient[b + 2] -= uz;
      // ∂r/∂δ · e = −(e × R s), so its transpose takes u to u × R s.
      gradient[v] += uy * pz - uz * py;
      gradient[v + 1] += uz * px - ux * pz;
      gradient[v + 2] += ux * py - uy * px;
      const p = 6 * first, q = 6 * second, r = 6 * (vertexCount + first);
      diagonal[p] += square;
      diagonal[p + 2] += square;
      diagonal[p + 5] += square;
      diagonal[q] += square;
      diagonal[q + 2] += square;
      diagonal[q + 5] += square;
      diagonal[r] += square * (py * py + pz * pz);
      diagonal[r + 1] -= square * px * py;
      diagonal[r + 2] += square * (px * px + pz * pz);
      diagonal[r + 3] -= square * px * pz;
      diagonal[r + 4] -= square * py * pz;
      diagonal[r + 5] += square * (px * px + py * py);
    }
    return sum / 2;
  }

  /** Adds JᵀJp to `jtjp`; returns ‖Jp‖². */
  product(p, jtjp) {
    const { ends, rootWeights, count, vertexCount, turned } = this;
    let curvature = 0;
    for (let i = 0; i < count; i++) {
      const a = 3 * ends[2 * i], b = 3 * ends[2 * i + 1], v = 3 * vertexCount + 3 * ends[2 * i];
      const square = rootWeights[i] * rootWeights[i];
      const px = turned[3 * i], py = turned[3 * i + 1], pz = turned[3 * i + 2];
      const dx = p[v], dy = p[v + 1], dz = p[v + 2];
      const ux = p[a] - p[b] - (dy * pz - dz * py), uy = p[a + 1] - p[b + 1] - (dz * px - dx * pz), uz = p[a + 2] - p[b + 2] - (dx * py - dy * px);
      curvature += square * (ux * ux + uy * uy + uz * uz);
      jtjp[a] += square * ux;
      jtjp[a + 1] += square * uy;
      jtjp[a + 2] += square * uz;
      jtjp[b] -= square * ux;
      jtjp[b + 1] -= square * uy;
      jtjp[b + 2] -= square * uz;
      jtjp[v] += square * (uy * pz - uz * py);
      jtjp[v + 1] += square * (uz * px - ux * pz);
      jtjp[v + 2] += square * (ux * py - uy * px);
    }
    return curvature;
  }

  /** Steps are added to vertices; quaternions are multiplied from the left by the step's rotation. */
  retract(x, step, out) {
    const vectors = 3 * this.vertexCount;
    for (let i = 0; i < vectors; i++) out[i] = x[i] + step[i];
    for (let vertex = 0; vertex < this.vertexCount; vertex++) {
      const v = vectors + 3 * vertex, k = vectors + 4 * vertex;
      const angle = Math.sqrt(step[v] * step[v] + step[v + 1] * step[v + 1] + step[v + 2] * step[v + 2]) / 2;
      const scale = angle > 0 ? Math.sin(angle) / (2 * angle) : 1 / 2;
      const w = Math.cos(angle), i = scale * step[v], j = scale * step[v + 1], l = scale * step[v + 2];
      const [qw, qx, qy, qz] = [x[k], x[k + 1], x[k + 2], x[k + 3]];
      out[k] = w * qw - i * qx - j * qy - l * qz;
      out[k + 1] = w * qx + i * qw + j * qz - l * qy;
      out[k + 2] = w * qy - i * qz + j * qw + l * qx;
      out[k + 3] = w * qz + i * qy - j * qx + l * qw;
    }
  }
}
