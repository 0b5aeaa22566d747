/**
 * A handle: the vertices near a picked one, which it moves and rotates together. Takes the mesh at rest, the picked vertex, a radius, and
 * the current positions; returns the vertices' goals.
 */
export class Handle {
  /** Vertex numbers. */
  vertices;
  /** The position of the handle. */
  center;
  /** The offsets of its vertices, three numbers each. */
  #arms;

  /**
   * @param {Float64Array} rest positions at rest, which determine the distances
   * @param {Float64Array} now current positions
   */
  constructor(rest, now, vertex, radius) {
    const [x, y, z] = rest.subarray(3 * vertex, 3 * vertex + 3);
    const vertices = [];
    for (let v = 0; v < rest.length / 3; v++) {
      if (v === vertex || Math.hypot(rest[3 * v] - x, rest[3 * v + 1] - y, rest[3 * v + 2] - z) <= radius) vertices.push(v);
    }
    this.vertices = Uint32Array.from(vertices);
    this.center = [...now.subarray(3 * vertex, 3 * vertex + 3)];
    this.#arms = Float64Array.from({ length: 3 * vertices.length }, (_, i) => now[3 * vertices[Math.floor(i / 3)] + (i % 3)] - this.center[i % 3]);
  }

  moveTo(place) {
    this.center = [...place];
  }

  /** Rotates it about a unit axis through its center, by Rodrigues' formula. */
  turn([x, y, z], angle) {
    const c = Math.cos(angle), s = Math.sin(angle), arms = this.#arms;
    for (let i = 0; i < arms.length; i += 3) {
      const [a, b, d] = arms.subarray(i, i + 3);
      const along = (1 - c) * (x * a + y * b + z * d);
      arms[i] = c * a + s * (y * d - z * b) + along * x;
      arms[i + 1] = c * b + s * (z * a - x * d) + along * y;
      arms[i + 2] = c * d + s * (x * b - y * a) + along * z;
    }
  }

  /** The target of its k-th vertex. */
  goal(k) {
    return [0, 1, 2].map((d) => this.center[d] + this.#arms[3 * k + d]);
  }
}
