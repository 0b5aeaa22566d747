/**
 * Bending in plain JavaScript: residual 1 − n̂₁·n̂₂ of the two triangles (a, b, c) and (b, a, d) at an edge, its derivatives by the reverse
 * chain rule.
 */
export function plainBending(hinges) {
  const count = hinges.length / 4;
  const corners = hinges.map((vertex) => 3 * vertex);
  // Columns ascend within a row: the position of each corner among the row's four blocks of entries.
  const slots = new Uint8Array(4 * count);
  for (let i = 0; i < count; i++) {
    for (let k = 0; k < 4; k++) {
      for (let other = 0; other < 4; other++) if (corners[4 * i + other] < corners[4 * i + k]) slots[4 * i + k] += 3;
    }
  }
  const rows = new Float64Array(12 * count);
  // ∂r/∂(a, b, c, d) of one hinge.
  const d = new Float64Array(12);

  function hinge(x, i) {
    const a = corners[4 * i];
    const b = corners[4 * i + 1];
    const c = corners[4 * i + 2];
    const e = corners[4 * i + 3];
    const ax = x[a];
    const ay = x[a + 1];
    const az = x[a + 2];
    const ux = x[b] - ax;
    const uy = x[b + 1] - ay;
    const uz = x[b + 2] - az;
    const vx = x[c] - ax;
    const vy = x[c + 1] - ay;
    const vz = x[c + 2] - az;
    const wx = x[e] - ax;
    const wy = x[e + 1] - ay;
    const wz = x[e + 2] - az;
    // m = u × v, n = w × u.
    const mx = uy * vz - uz * vy;
    const my = uz * vx - ux * vz;
    const mz = ux * vy - uy * vx;
    const nx = wy * uz - wz * uy;
    const ny = wz * ux - wx * uz;
    const nz = wx * uy - wy * ux;
    const m = 1 / Math.sqrt(mx * mx + my * my + mz * mz);
    const n = 1 / Math.sqrt(nx * nx + ny * ny + nz * nz);
    const px = m * mx;
    const py = m * my;
    const pz = m * mz;
    const qx = n * nx;
    const qy = n * ny;
    const qz = n * nz;
    const cosine = px * qx + py * qy + pz * qz;
    // ∂r/∂m = −(q − cos p)/|m|, ∂r/∂n alike.
    const fx = m * (cosine * px - qx);
    const fy = m * (cosine * py - qy);
    const fz = m * (cosine * pz - qz);
    const gx = n * (cosine * qx - px);
    const gy = n * (cosine * qy - py);
    const gz = n * (cosine * qz - pz);
    // m = u × v: ∂u = v × f, ∂v = f × u; n = w × u: ∂w = u × g, ∂u = g × w.
    const bx = vy * fz - vz * fy + gy * wz - gz * wy;
    const by = vz * fx - vx * fz + gz * wx - gx * wz;
    const bz = vx * fy - vy * fx + gx * wy - gy * wx;
    const cx = fy * uz - fz * uy;
    const cy = fz * ux - fx * uz;
    const cz = fx * uy - fy * ux;
    const ex = uy * gz - uz * gy;
    const ey = uz * gx - ux * gz;
    const ez = ux * gy - uy * gx;
    d[0] = -bx - cx - ex;
    d[1] = -by - cy - ey;
    d[2] = -bz - cz - ez;
    d[3] = bx;
    d[4] = by;
    d[5] = bz;
    d[6] = cx;
    d[7] = cy;
    d[8] = cz;
    d[9] = ex;
    d[10] = ey;
    d[11] = ez;
    return 1 - cosine;
  }

  function add(gradient, i, scale) {
    for (let k = 0; k < 4; k++) {
      const at = corners[4 * i + k];
      gradient[at] += scale * d[3 * k];
      gradient[at + 1] += scale * d[3 * k + 1];
      gradient[at + 2] += scale * d[3 * k + 2];
    }
  }

  return {
    count,
    entriesPerRow: 12,

    sumWithGradient(x, gradient) {
      gradient.fill(0);
      let sum = 0;
      for (let i = 0; i < count; i++) {
        sum += hinge(x, i);
        add(gradient, i, 1);
      }
      return sum;
    },

    costWithGradient(x, gradient) {
      gradient.fill(0);
      let sum = 0;
      for (let i = 0; i < count; i++) {
        const r = hinge(x, i);
        sum += r * r;
        add(gradient, i, r);
      }
      return 0.5 * sum;
    },

    jacobian(x, values, entries) {
      for (let i = 0; i < count; i++) {
        values[i] = hinge(x, i);
        for (let k = 0; k < 4; k++) {
          const at = 12 * i + slots[4 * i + k];
          entries[at] = d[3 * k];
          entries[at + 1] = d[3 * k + 1];
          entries[at + 2] = d[3 * k + 2];
        }
      }
    },

    cost(x) {
      let sum = 0;
      for (let i = 0; i < count; i++) {
        const a = corners[4 * i];
        const b = corners[4 * i + 1];
        const c = corners[4 * i + 2];
        const e = corners[4 * i + 3];
        const ax = x[a];
        const ay = x[a + 1];
        const az = x[a + 2];
        const ux = x[b] - ax;
        const uy = x[b + 1] - ay;
        const uz = x[b + 2] - az;
        const vx = x[c] - ax;
        const vy = x[c + 1] - ay;
        const vz = x[c + 2] - az;
        const wx = x[e] - ax;
        const wy = x[e + 1] - ay;
        const wz = x[e + 2] - az;
        const mx = uy * vz - uz * vy;
        const my = uz * vx - ux * vz;
        const mz = ux * vy - uy * vx;
        const nx = wy * uz - wz * uy;
        const ny = wz * ux - wx * uz;
        const nz = wx * uy - wy * ux;
        const squares = (mx * mx + my * my + mz * mz) * (nx * nx + ny * ny + nz * nz);
        const r = 1 - (mx * nx + my * ny + mz * nz) / Math.sqrt(squares);
        sum += r * r;
      }
      return 0.5 * sum;
    },

    linearise(x, gradient, blocks) {
      let sum = 0;
      for (let i = 0; i < count; i++) {
        const r = hinge(x, i);
        sum += r * r;
        rows.set(d, 12 * i);
        add(gradient, i, r);
        for (let k = 0; k < 4; k++) {
          const p = 2 * corners[4 * i + k];
          const jx = d[3 * k];
          const jy = d[3 * k + 1];
          const jz = d[3 * k + 2];
          blocks[p] += jx * jx;
          blocks[p + 1] += jy * jx;
          blocks[p + 2] += jy * jy;
          blocks[p + 3] += jz * jx;
          blocks[p + 4] += jz * jy;
          blocks[p + 5] += jz * jz;
        }
      }
      return 0.5 * sum;
    },

    product(p, image) {
      let square = 0;
      for (let i = 0; i < count; i++) {
        const a = corners[4 * i];
        const b = corners[4 * i + 1];
        const c = corners[4 * i + 2];
        const e = corners[4 * i + 3];
        const j = 12 * i;
        const along =
          rows[j] * p[a] + rows[j + 1] * p[a + 1] + rows[j + 2] * p[a + 2] +
          rows[j + 3] * p[b] + rows[j + 4] * p[b + 1] + rows[j + 5] * p[b + 2] +
          rows[j + 6] * p[c] + rows[j + 7] * p[c + 1] + rows[j + 8] * p[c + 2] +
          rows[j + 9] * p[e] + rows[j + 10] * p[e + 1] + rows[j + 11] * p[e + 2];
        square += along * along;
        image[a] += along * rows[j];
        image[a + 1] += along * rows[j + 1];
        image[a + 2] += along * rows[j + 2];
        image[b] += along * rows[j + 3];
        image[b + 1] += along * rows[j + 4];
        image[b + 2] += along * rows[j + 5];
        image[c] += along * rows[j + 6];
        image[c + 1] += along * rows[j + 7];
        image[c + 2] += along * rows[j + 8];
        image[e] += along * rows[j + 9];
        image[e + 1] += along * rows[j + 10];
        image[e + 2] += along * rows[j + 11];
      }
      return square;
    },
  };
}
