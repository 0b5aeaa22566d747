/**
 * Handles: small balls of a constant size in the picture, one of which may be selected. Takes positions; draws them, and finds the one at
 * the pointer.
 */
import * as THREE from 'three/webgpu';

/** The radius relative to the picture's height. */
const SIZE = 0.011;
/** The radius of hit testing in CSS pixels: a fingertip. */
const REACH = 18;

export class Handles {
  #stage;
  #geometry = new THREE.IcosahedronGeometry(1, 3);
  // Drawn above everything, so that a handle inside a fold can be picked.
  #plain = new THREE.MeshBasicNodeMaterial({ depthTest: false, transparent: true, opacity: 0.9 });
  #chosen = new THREE.MeshBasicNodeMaterial({ depthTest: false, transparent: true, opacity: 0.9 });
  #balls = [];
  #places = [];

  /** @param {import('./stage.js').Stage} stage */
  constructor(stage) {
    this.#stage = stage;
    const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    stage.onAppearance(() => {
      this.#plain.color.set(style('--cpu'));
      this.#chosen.color.set(style('--good'));
    });
  }

  /** @param {readonly (readonly [number, number, number])[]} places; `chosen`, the index of the selected one, or −1 */
  show(places, chosen) {
    this.#places = places;
    while (this.#balls.length < places.length) {
      const ball = new THREE.Mesh(this.#geometry, this.#plain);
      ball.renderOrder = 1;
      this.#balls.push(ball);
      this.#stage.scene.add(ball);
    }
    this.#balls.forEach((ball, k) => {
      ball.visible = k < places.length;
      if (!ball.visible) return;
      ball.position.set(...places[k]);
      ball.material = k === chosen ? this.#chosen : this.#plain;
    });
    this.#stage.redraw();
  }

  /** Before a frame: keeps their size in the picture. */
  frame() {
    const { camera } = this.#stage;
    const height = camera.isPerspectiveCamera ? 2 * Math.tan((camera.fov * Math.PI) / 360) : (camera.top - camera.bottom) / camera.zoom;
    for (const ball of this.#balls) ball.scale.setScalar(SIZE * height * (camera.isPerspectiveCamera ? ball.position.distanceTo(camera.position) : 1));
  }

  /** The index of the handle at the pointer, the nearest to the eye, or −1. */
  under(event) {
    const { camera, canvas } = this.#stage;
    const box = canvas.getBoundingClientRect();
    let found = -1, nearest = Infinity;
    this.#places.forEach((place, k) => {
      const seen = new THREE.Vector3(...place).project(camera);
      const x = box.left + ((seen.x + 1) / 2) * box.width, y = box.top + ((1 - seen.y) / 2) * box.height;
      if (Math.hypot(event.clientX - x, event.clientY - y) <= REACH && seen.z < nearest) {
        found = k;
        nearest = seen.z;
      }
    });
    return found;
  }
}

/** The intersection of a ray with the plane through a point that faces the camera; a dragged point moves in that plane. */
export function inViewPlane(stage, raycaster, point) {
  const normal = stage.camera.getWorldDirection(new THREE.Vector3());
  const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(normal, new THREE.Vector3(...point));
  return raycaster.ray.intersectPlane(plane, new THREE.Vector3())?.toArray() ?? null;
}
