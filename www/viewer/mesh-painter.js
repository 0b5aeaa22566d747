/**
 * Draws a triangle mesh on a 2-D canvas, for browsers without WebGPU: faces from the farthest to the nearest, with the view and shades of
 * MeshRenderer. Suitable for tens of thousands of faces, drawn on request.
 */
import { cross, dot, lightDirection, normalized, subtract } from './camera.js';
import { pngDataUrl } from './mesh-renderer.js';

const css = (colour, brightness = 1) => `rgb(${colour.map((part) => Math.round(255 * part * brightness)).join(' ')})`;

export class MeshPainter {
  #positions = new Float64Array(0);
  #triangles = new Uint32Array(0);

  setMesh({ positions, triangles }) {
    this.#positions = positions;
    this.#triangles = triangles;
  }

  setPositions(positions) {
    this.#positions = positions;
  }

  /** @param {CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D} context */
  draw(context, camera, appearance) {
    const { width, height } = context.canvas;
    const view = camera.view(width / height);
    const light = lightDirection(view);
    const { x, y, depth } = this.#project(view.viewProjection, width, height);
    const faces = Uint32Array.from({ length: this.#triangles.length / 3 }, (_, f) => 3 * f);
    const faceDepth = (f) => depth[this.#triangles[f]] + depth[this.#triangles[f + 1]] + depth[this.#triangles[f + 2]];
    faces.sort((f, g) => faceDepth(g) - faceDepth(f));

    context.fillStyle = css(appearance.background);
    context.fillRect(0, 0, width, height);
    context.lineJoin = 'round';
    for (const f of faces) {
      const [a, b, c] = this.#triangles.subarray(f, f + 3);
      const [pa, pb, pc] = [a, b, c].map((vertex) => this.#positions.subarray(3 * vertex, 3 * vertex + 3));
      const across = cross(subtract(pb, pa), subtract(pc, pa));
      if (dot(across, across) === 0) continue;
      const outside = dot(across, subtract(view.eye, pa)) > 0;
      const normal = normalized(outside ? across : across.map((part) => -part));
      const facing = 0.5 + 0.5 * dot(normal, light);
      const brightness = appearance.ambient + (1 - appearance.ambient) * facing * facing;
      context.fillStyle = context.strokeStyle = css(outside ? appearance.surface : appearance.inside, brightness);
      context.beginPath();
      context.moveTo(x[a], y[a]);
      context.lineTo(x[b], y[b]);
      context.lineTo(x[c], y[c]);
      context.closePath();
      context.fill();
      // Antialiased fills leave a seam between adjacent faces; a stroke of the same shade covers it.
      context.stroke();
    }
  }

  async toPng(width, height, camera, appearance) {
    const canvas = new OffscreenCanvas(width, height);
    this.draw(canvas.getContext('2d'), camera, appearance);
    return pngDataUrl(canvas);
  }

  dispose() {}

  #project(matrix, width, height) {
    const count = this.#positions.length / 3;
    const x = new Float32Array(count), y = new Float32Array(count), depth = new Float32Array(count);
    for (let v = 0; v < count; v++) {
      const p = this.#positions.subarray(3 * v, 3 * v + 3);
      const row = (r) => matrix[r] * p[0] + matrix[4 + r] * p[1] + matrix[8 + r] * p[2] + matrix[12 + r];
      depth[v] = row(3);
      x[v] = (0.5 + (0.5 * row(0)) / depth[v]) * width;
      y[v] = (0.5 - (0.5 * row(1)) / depth[v]) * height;
    }
    return { x, y, depth };
  }
}
