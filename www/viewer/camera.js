/**
 * A camera that orbits a point, controlled by pointer, wheel, two fingers and keyboard. Takes the sphere to look at; returns the projection
 * to WebGPU's clip space (depth from 0 to 1), column-major.
 */

const FIELD_OF_VIEW = Math.PI / 6;
/** Below the poles, where "up" has no direction. */
const MAX_ELEVATION = Math.PI / 2 - 0.01;

const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const normalized = (a) => {
  const length = Math.hypot(...a);
  return a.map((coordinate) => coordinate / length);
};

export class OrbitCamera {
  #sphere = { center: [0, 0, 0], radius: 1 };
  #azimuth = 0;
  #elevation = 0;
  #zoom = 1;

  constructor() {
    this.reset();
  }

  /** Resets to the initial view, slightly from the right and from above. */
  reset() {
    this.#azimuth = 0.6;
    this.#elevation = 0.35;
    this.#zoom = 1;
  }

  frame(sphere) {
    this.#sphere = sphere;
  }

  /** Rotates by angles in radians. */
  turn(azimuth, elevation) {
    this.#azimuth += azimuth;
    this.#elevation = Math.min(MAX_ELEVATION, Math.max(-MAX_ELEVATION, this.#elevation + elevation));
  }

  /** A factor above 1 moves closer. */
  zoomBy(factor) {
    this.#zoom = Math.min(20, Math.max(0.2, this.#zoom * factor));
  }

  /**
   * The matrices of a picture with this aspect ratio (width over height): `viewProjection` (16 numbers, column-major), the eye, and the
   * world directions right, up and towards the eye.
   */
  view(aspect) {
    const { center, radius } = this.#sphere;
    // The sphere fits the shorter side of the picture.
    const distance = (1.05 * radius) / Math.sin(FIELD_OF_VIEW / 2) / Math.min(1, aspect) / this.#zoom;
    const back = [Math.sin(this.#azimuth) * Math.cos(this.#elevation), Math.sin(this.#elevation), Math.cos(this.#azimuth) * Math.cos(this.#elevation)];
    const eye = center.map((coordinate, d) => coordinate + distance * back[d]);
    const right = normalized(cross([0, 1, 0], back));
    const up = cross(back, right);
    const focal = 1 / Math.tan(FIELD_OF_VIEW / 2);
    const near = Math.max(0.01 * radius, distance - 2 * radius), far = distance + 2 * radius;
    const rows = [
      [...right.map((c) => (c * focal) / aspect), (-dot(right, eye) * focal) / aspect],
      [...up.map((c) => c * focal), -dot(up, eye) * focal],
      // Along −back: distance z from the eye maps to far·(z − near)/(far − near) before the division by z.
      [...back.map((c) => (-c * far) / (far - near)), (far * (dot(back, eye) - near)) / (far - near)],
      [...back.map((c) => -c), dot(back, eye)],
    ];
    const viewProjection = new Float32Array(16);
    for (let row = 0; row < 4; row++) for (let column = 0; column < 4; column++) viewProjection[4 * column + row] = rows[row][column];
    return { viewProjection, eye, right, up, back };
  }

  /**
   * Makes `element` control the camera: drag to rotate, wheel or two fingers to zoom, arrow keys, + and −, 0 to reset. The element must be
   * focusable for the keys. `onChange` is called after each change.
   */
  attach(element, onChange) {
    const pointers = new Map();
    const spread = () => {
      const [a, b] = [...pointers.values()];
      return Math.hypot(a.x - b.x, a.y - b.y);
    };
    element.addEventListener('pointerdown', (event) => {
      element.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    });
    element.addEventListener('pointermove', (event) => {
      const last = pointers.get(event.pointerId);
      if (last === undefined) return;
      const before = pointers.size === 2 ? spread() : 0;
      const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (pointers.size === 1) this.turn(-0.008 * dx, 0.008 * dy);
      else if (pointers.size === 2 && before > 0) this.zoomBy(spread() / before);
      onChange();
    });
    const release = (event) => pointers.delete(event.pointerId);
    element.addEventListener('pointerup', release);
    element.addEventListener('pointercancel', release);
    element.addEventListener('wheel', (event) => {
      event.preventDefault();
      this.zoomBy(Math.exp(-0.001 * event.deltaY));
      onChange();
    }, { passive: false });
    const keys = {
      ArrowLeft: () => this.turn(-0.1, 0), ArrowRight: () => this.turn(0.1, 0), ArrowUp: () => this.turn(0, 0.1), ArrowDown: () => this.turn(0, -0.1),
      '+': () => this.zoomBy(1.1), '=': () => this.zoomBy(1.1), '-': () => this.zoomBy(1 / 1.1), 0: () => this.reset(),
    };
    element.addEventListener('keydown', (event) => {
      if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
      onChange();
    });
  }
}

/**
 * The direction to the light for a camera's view: over the viewer's left shoulder, so that the shading changes when the mesh is rotated.
 */
export function lightDirection({ right, up, back }) {
  return normalized([0, 1, 2].map((d) => -0.45 * right[d] + 0.6 * up[d] + 0.66 * back[d]));
}

export { cross, dot, normalized, subtract };
