/** The picture of the body: its triangles, coloured by how much their shape has changed, in the box with the obstacle. */
import * as THREE from 'three/webgpu';
import { doubleArea, BOX, OBSTACLE } from './model.js';

/** Segments of the obstacle's circle. */
const ROUND = 96;
/** Sum of squares of the stretches, over twice the area's ratio, above 1: a triangle of this shape has the strongest colour. */
const STRONG = 0.25;

export class BodyPicture {
  #stage;
  #mesh;
  #body;
  #edges;
  #string;
  #parts;
  #colours = { rest: new THREE.Color(), strained: new THREE.Color() };
  #shapes;
  #last = null;

  /** @param {import('../stage.js').Stage} stage @param {ReturnType<typeof import('./model.js').bar>} mesh */
  constructor(stage, mesh) {
    this.#stage = stage;
    this.#mesh = mesh;
    const { positions, triangles } = mesh;
    const numbers = (count) => new THREE.BufferAttribute(new Float32Array(3 * count), 3);
    const geometry = (count) => new THREE.BufferGeometry().setAttribute('position', numbers(count));
    this.#body = new THREE.Mesh(geometry(triangles.length).setAttribute('color', numbers(triangles.length)), new THREE.MeshBasicNodeMaterial({ vertexColors: true, side: THREE.DoubleSide }));
    this.#edges = new THREE.LineSegments(geometry(2 * triangles.length), new THREE.LineBasicNodeMaterial({ transparent: true, opacity: 0.35 }));
    this.#string = new THREE.LineSegments(geometry(2), new THREE.LineBasicNodeMaterial());
    const obstacle = new THREE.Mesh(new THREE.CircleGeometry(OBSTACLE.radius, ROUND).translate(OBSTACLE.x, OBSTACLE.y, -0.1), new THREE.MeshBasicNodeMaterial());
    const [w, h] = [BOX.width / 2, BOX.height];
    const walls = new THREE.LineSegments(new THREE.BufferGeometry().setAttribute('position', new THREE.BufferAttribute(Float32Array.of(-w, 0, 0, w, 0, 0, -w, 0, 0, -w, h, 0, w, 0, 0, w, h, 0), 3)), new THREE.LineBasicNodeMaterial());
    this.#edges.position.z = 0.01;
    this.#string.position.z = 0.02;
    this.#parts = [this.#body, this.#edges, this.#string, obstacle, walls];
    for (const part of this.#parts) {
      part.frustumCulled = false;
      stage.scene.add(part);
    }
    const inverse = ([a, b, c]) => {
      const area = doubleArea(positions, [a, b, c]);
      return [positions[2 * c + 1] - positions[2 * a + 1], positions[2 * a + 1] - positions[2 * b + 1], positions[2 * a] - positions[2 * c], positions[2 * b] - positions[2 * a]].map((value) => value / area);
    };
    this.#shapes = Array.from({ length: triangles.length / 3 }, (_, t) => inverse(triangles.subarray(3 * t, 3 * t + 3)));
    const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    stage.onAppearance(({ surface }) => {
      this.#colours.rest.setRGB(...surface, THREE.SRGBColorSpace);
      this.#colours.strained.set(style('--cpu'));
      this.#edges.material.color.set(style('--page'));
      this.#string.material.color.set(style('--text'));
      obstacle.material.color.set(style('--quiet'));
      walls.material.color.set(style('--quiet'));
      if (this.#last !== null) this.show(...this.#last);
    });
  }

  showTriangles(shown) {
    this.#edges.visible = shown;
    this.#stage.redraw();
  }

  /** Draws the places of all vertices, and a string from the place that is held to the pointer where there are two. @param {number[][] | null} string */
  show(x, string) {
    this.#last = [x, string];
    const { triangles } = this.#mesh;
    const [position, colour] = [this.#body.geometry.attributes.position, this.#body.geometry.attributes.color];
    const edges = this.#edges.geometry.attributes.position;
    const mixed = new THREE.Color();
    for (let t = 0; t < triangles.length / 3; t++) {
      const corners = triangles.subarray(3 * t, 3 * t + 3), [a, b, c] = corners, [r0, r1, r2, r3] = this.#shapes[t];
      const edge = (to, axis) => x[2 * to + axis] - x[2 * a + axis];
      const [f0, f1, f2, f3] = [edge(b, 0) * r0 + edge(c, 0) * r1, edge(b, 1) * r0 + edge(c, 1) * r1, edge(b, 0) * r2 + edge(c, 0) * r3, edge(b, 1) * r2 + edge(c, 1) * r3];
      const strain = Math.sqrt(Math.max(0, (f0 * f0 + f1 * f1 + f2 * f2 + f3 * f3) / (2 * Math.abs(f0 * f3 - f1 * f2)) - 1) / STRONG);
      mixed.copy(this.#colours.rest).lerp(this.#colours.strained, Math.min(1, strain));
      corners.forEach((vertex, k) => {
        position.setXYZ(3 * t + k, x[2 * vertex], x[2 * vertex + 1], 0);
        colour.setXYZ(3 * t + k, mixed.r, mixed.g, mixed.b);
        const next = corners[(k + 1) % 3];
        edges.setXYZ(6 * t + 2 * k, x[2 * vertex], x[2 * vertex + 1], 0);
        edges.setXYZ(6 * t + 2 * k + 1, x[2 * next], x[2 * next + 1], 0);
      });
    }
    for (const attribute of [position, colour, edges]) attribute.needsUpdate = true;
    this.#string.visible = string !== null;
    const ends = this.#string.geometry.attributes.position;
    string?.forEach(([px, py], k) => ends.setXYZ(k, px, py, 0));
    ends.needsUpdate = true;
    this.#stage.redraw();
  }

  dispose() {
    for (const part of this.#parts) {
      part.removeFromParent();
      part.geometry.dispose();
      part.material.dispose();
    }
  }
}
