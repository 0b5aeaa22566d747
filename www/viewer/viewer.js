/**
 * A mesh in a page: creates the canvas inside an element, maintains its size, its colours and the camera, and draws after changes. With a
 * device it draws by WebGPU, directly from a GPUBuffer where one is given; without a device, on the 2-D canvas.
 */
import { boundingSphere } from '../mesh/bounding-sphere.js';
import { APPEARANCES, currentAppearance, onAppearanceChange } from './appearance.js';
import { OrbitCamera } from './camera.js';
import { MeshPainter } from './mesh-painter.js';
import { MeshRenderer } from './mesh-renderer.js';

/** More than two device pixels per CSS pixel cost time without a visible difference. */
const MAX_PIXEL_RATIO = 2;

export class Viewer {
  #element;
  #label;
  #onError;
  #camera = new OrbitCamera();
  #canvas = null;
  #context = null;
  #drawing = null;
  #mesh = null;
  #source = null;
  #scheduled = false;

  /**
   * @param {HTMLElement} element the element that the canvas fills
   * @param {{ label: string, onError: (message: string) => void }} options the canvas's name for assistive technology; a callback for
   *   drawing failures
   */
  constructor(element, { label, onError }) {
    this.#element = element;
    this.#label = label;
    this.#onError = onError;
    new ResizeObserver(() => this.requestDraw()).observe(element);
    onAppearanceChange(() => this.requestDraw());
  }

  /**
   * Draws with this device from now on, or on the 2-D canvas with null. The context type of a canvas is fixed, so a new canvas is created.
   */
  useDevice(device) {
    this.#drawing?.dispose();
    this.#canvas?.remove();
    this.#source = null;
    this.#canvas = document.createElement('canvas');
    this.#canvas.tabIndex = 0;
    this.#canvas.setAttribute('role', 'img');
    this.#canvas.setAttribute('aria-label', this.#label);
    this.#element.append(this.#canvas);
    this.#camera.attach(this.#canvas, () => this.requestDraw());
    if (device === null) {
      this.#drawing = new MeshPainter();
      this.#context = this.#canvas.getContext('2d');
    } else {
      device.pushErrorScope('validation');
      this.#drawing = new MeshRenderer(device);
      this.#context = this.#canvas.getContext('webgpu');
      this.#context.configure({ device, format: navigator.gpu.getPreferredCanvasFormat(), alphaMode: 'opaque' });
      device.popErrorScope().then((error) => error && this.#onError(error.message), () => {});
      device.addEventListener('uncapturederror', (event) => this.#onError(event.error.message));
    }
    if (this.#mesh !== null) this.#drawing.setMesh(this.#mesh);
    this.requestDraw();
  }

  /** Shows another mesh, centred and complete. */
  setMesh(mesh) {
    this.#mesh = mesh;
    this.#source = null;
    this.#camera.frame(boundingSphere(mesh.positions));
    this.#drawing.setMesh(mesh);
    this.requestDraw();
  }

  /** Sets other positions of the same faces; the camera stays. */
  setPositions(positions) {
    this.#mesh = { positions, triangles: this.#mesh.triangles };
    this.#source = null;
    this.#drawing.setPositions(positions);
    this.requestDraw();
  }

  /** Draws from a buffer of this viewer's device, as of each drawing, until other positions are set. */
  drawFrom(buffer) {
    this.#source = buffer;
    this.requestDraw();
  }

  /** Draws once in the next frame, however often it is called before. */
  requestDraw() {
    if (this.#scheduled || this.#drawing === null) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      try {
        this.#draw();
      } catch (error) {
        this.#onError(error.message);
      }
    });
  }

  /**
   * A picture of a mesh from the initial camera, in light colours on every page, as a PNG data URL. `frame` is the mesh that the camera
   * looks at, so that pictures of a mesh before and after are comparable.
   */
  async toPng(mesh, { frame = mesh, width = 960, height = 720 } = {}) {
    const camera = new OrbitCamera();
    camera.frame(boundingSphere(frame.positions));
    const drawing = this.#drawing instanceof MeshRenderer ? new MeshRenderer(this.#drawing.device) : new MeshPainter();
    try {
      drawing.setMesh(mesh);
      return await drawing.toPng(width, height, camera, APPEARANCES.light);
    } finally {
      drawing.dispose();
    }
  }

  #draw() {
    const ratio = Math.min(MAX_PIXEL_RATIO, devicePixelRatio);
    const width = Math.max(1, Math.round(this.#element.clientWidth * ratio)), height = Math.max(1, Math.round(this.#element.clientHeight * ratio));
    if (this.#canvas.width !== width || this.#canvas.height !== height) Object.assign(this.#canvas, { width, height });
    if (this.#mesh === null) return;
    if (this.#drawing instanceof MeshRenderer) this.#drawing.draw(this.#context.getCurrentTexture(), this.#camera, currentAppearance(), this.#source);
    else this.#drawing.draw(this.#context, this.#camera, currentAppearance());
  }
}
