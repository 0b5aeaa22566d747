/**
 * The environment of a demo: three.js's scene, camera and renderer on residua's device, the overlay, the panel, and the callbacks of the
 * shell. Takes the page's elements; gives demos the fields that registry.js describes. The elements remain when the device, the renderer
 * and the canvas are replaced.
 */
import { GUI } from 'lil-gui';
import * as THREE from 'three/webgpu';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import { currentAppearance, onAppearanceChange } from '../viewer/appearance.js';
import { DrawnNumbers } from './drawn-numbers.js';

/** More device pixels per CSS pixel cost time without a visible difference. */
const MAX_PIXEL_RATIO = 2;
const FIRST_DIRECTION = [0.45, 0.35, 1];
/** Free margin around the sphere, relative to its radius. */
const MARGIN = 1.15;

export class Stage {
  three = THREE;
  scene = new THREE.Scene();
  renderer = null;
  canvas = null;
  /** @type {import('residua').GpuContext | null} */
  context = null;
  backend = 'cpu';
  appearance = currentAppearance();
  #element;
  #panelElement;
  #shell;
  #perspective = new THREE.PerspectiveCamera(40, 1, 0.01, 100);
  #orthographic = new THREE.OrthographicCamera(-1, 1, 1, -1, -10, 10);
  #flatHeight = null;
  #view = { center: [0, 0, 0], radius: 1 };
  #drawn = new Map();
  #appearanceListeners = new Set();
  #raycaster = new THREE.Raycaster();

  /**
   * @param {{ element: HTMLElement, panel: HTMLElement }} elements the element that the picture fills; the parent of the panel
   * @param {object} shell the callbacks for demos: plotCost, say, fail, wake, interruption, between, signal
   */
  constructor({ element, panel }, shell) {
    this.#element = element;
    this.#panelElement = panel;
    this.#shell = shell;
    this.camera = this.#perspective;
    this.overlay = Object.assign(document.createElement('div'), { className: 'overlay' });
    element.append(this.overlay);
    this.controls = new OrbitControls(this.camera, element);
    this.controls.enableDamping = false;
    this.controls.addEventListener('change', () => this.redraw());
    this.scene.background = new THREE.Color();
    new ResizeObserver(() => this.#resize()).observe(element);
    onAppearanceChange(() => this.#applyAppearance());
    this.#applyAppearance();
  }

  get signal() {
    return this.#shell.signal;
  }

  /**
   * Creates a renderer on the device of `context`, or on WebGL2 with null, with a new canvas, because the context type of a canvas is
   * fixed. Rejects where neither is available: then there is no picture, and all else works.
   */
  async useContext(context) {
    const old = this.renderer;
    this.context = context;
    this.renderer = null;
    this.canvas?.remove();
    this.canvas = document.createElement('canvas');
    this.canvas.setAttribute('aria-hidden', 'true');
    this.#element.prepend(this.canvas);
    for (const numbers of this.#drawn.values()) numbers.move(null);
    // The old renderer's resources are lost with its device, so its errors are ignored.
    try {
      await old?.dispose();
    } catch {}
    const options = { canvas: this.canvas, antialias: true };
    const renderer = new THREE.WebGPURenderer(context === null ? { ...options, forceWebGL: true } : { ...options, device: context.device });
    renderer.onDeviceLost = () => {};
    renderer.onError = ({ message }) => this.#shell.fail(new Error(`The picture could not be drawn: ${message}`));
    await renderer.init();
    this.renderer = renderer;
    for (const numbers of this.#drawn.values()) numbers.move(renderer);
    this.#resize();
  }

  drawFrom(attribute, functions, parameters) {
    let numbers = this.#drawn.get(attribute);
    if (numbers === undefined) {
      numbers = new DrawnNumbers(attribute, this.renderer);
      this.#drawn.set(attribute, numbers);
    }
    numbers.bind(functions, parameters);
    this.redraw();
  }

  letGo(attribute) {
    this.#drawn.get(attribute)?.release();
    this.#drawn.delete(attribute);
  }

  flat(height) {
    this.#flatHeight = height;
    this.camera = this.#orthographic;
    this.controls.object = this.camera;
    this.controls.enableRotate = false;
    this.controls.screenSpacePanning = true;
    this.controls.mouseButtons = { LEFT: THREE.MOUSE.PAN, MIDDLE: THREE.MOUSE.DOLLY, RIGHT: THREE.MOUSE.PAN };
    this.controls.touches = { ONE: THREE.TOUCH.PAN, TWO: THREE.TOUCH.DOLLY_PAN };
    this.firstView();
    this.#resize();
  }

  look({ center, radius }) {
    this.#view = { center: [...center], radius };
    this.firstView();
  }

  /** Resets the camera. */
  firstView() {
    const { center, radius } = this.#view;
    const direction = new THREE.Vector3(...(this.#flatHeight === null ? FIRST_DIRECTION : [0, 0, 1])).normalize();
    if (this.#flatHeight === null) {
      const halfAngle = (this.camera.fov / 2) * (Math.PI / 180);
      const narrow = Math.atan(Math.tan(halfAngle) * Math.min(1, this.camera.aspect));
      direction.multiplyScalar((MARGIN * radius) / Math.sin(narrow));
      this.camera.near = radius / 100;
      this.camera.far = 100 * radius;
      this.camera.updateProjectionMatrix();
    } else {
      this.camera.zoom = 1;
      this.camera.updateProjectionMatrix();
    }
    this.controls.target.set(...center);
    this.camera.position.set(...center).add(direction);
    this.controls.update();
    this.redraw();
  }

  /** Rotates the camera (in 2-D moves it) and zooms, for keys. */
  moveCamera({ left = 0, up = 0, nearer = 1 }) {
    const offset = this.camera.position.clone().sub(this.controls.target);
    if (this.#flatHeight === null) {
      const spherical = new THREE.Spherical().setFromVector3(offset);
      spherical.theta -= 0.1 * left;
      spherical.phi += 0.1 * -up;
      spherical.radius /= nearer;
      spherical.makeSafe();
      this.camera.position.copy(this.controls.target).add(offset.setFromSpherical(spherical));
    } else {
      const step = (0.05 * this.#flatHeight) / this.camera.zoom;
      const shift = new THREE.Vector3(-left * step, up * step, 0);
      this.camera.zoom *= nearer;
      this.camera.updateProjectionMatrix();
      this.controls.target.add(shift);
      this.camera.position.add(shift);
    }
    this.controls.update();
    this.redraw();
  }

  /** The value of this name in the page's address, or the default: `?subdivisions=5`. */
  wish(name, otherwise) {
    const asked = new URLSearchParams(location.search).get(name);
    if (asked === null) return otherwise;
    return typeof otherwise === 'number' ? Number(asked) : asked;
  }

  onAppearance(callback) {
    this.#appearanceListeners.add(callback);
    callback(this.appearance);
  }

  pick(event) {
    const box = this.#element.getBoundingClientRect();
    const pointer = new THREE.Vector2((2 * (event.clientX - box.left)) / box.width - 1, 1 - (2 * (event.clientY - box.top)) / box.height);
    this.camera.updateMatrixWorld();
    this.#raycaster.setFromCamera(pointer, this.camera);
    return this.#raycaster;
  }

  redraw() {
    this.#shell.redraw();
  }

  plotCost(iteration, cost) {
    this.#shell.plotCost(iteration, cost);
  }

  say(text) {
    this.#shell.say(text);
  }

  fail = (error) => this.#shell.fail(error);

  wake() {
    this.#shell.wake();
  }

  interruption() {
    return this.#shell.interruption();
  }

  between(work, options) {
    return this.#shell.between(work, options);
  }

  /** Whether everything that shows a solver's numbers is drawn from its buffers. */
  get drawsFromDevice() {
    return this.#drawn.size > 0 && [...this.#drawn.values()].every((numbers) => numbers.isOnDevice);
  }

  /** For the shell: draws. */
  draw() {
    for (const numbers of this.#drawn.values()) numbers.beforeFrame();
    this.renderer.render(this.scene, this.camera);
  }

  /** For the shell: after a step, for numbers that were computed on the CPU. */
  refresh() {
    for (const numbers of this.#drawn.values()) numbers.refresh();
  }

  /** For the shell: an empty stage for the next demo. */
  clear() {
    for (const attribute of this.#drawn.keys()) this.letGo(attribute);
    this.panel?.destroy();
    this.panel = new GUI({ container: this.#panelElement, title: 'Choices', autoPlace: false });
    if (this.renderer !== null) this.overlay.replaceChildren();
    this.#appearanceListeners.clear();
    this.scene.traverse((object) => {
      object.geometry?.dispose();
      for (const material of [object.material ?? []].flat()) material.dispose();
    });
    this.scene.clear();
    this.#flatHeight = null;
    this.camera = this.#perspective;
    this.controls.object = this.camera;
    this.controls.enableRotate = true;
    this.controls.mouseButtons = { LEFT: THREE.MOUSE.ROTATE, MIDDLE: THREE.MOUSE.DOLLY, RIGHT: THREE.MOUSE.PAN };
    this.controls.touches = { ONE: THREE.TOUCH.ROTATE, TWO: THREE.TOUCH.DOLLY_PAN };
    this.look({ center: [0, 0, 0], radius: 1 });
  }

  #applyAppearance() {
    this.appearance = currentAppearance();
    this.scene.background.setRGB(...this.appearance.background, THREE.SRGBColorSpace);
    for (const callback of this.#appearanceListeners) callback(this.appearance);
    this.redraw();
  }

  #resize() {
    const width = Math.max(1, this.#element.clientWidth), height = Math.max(1, this.#element.clientHeight);
    this.#perspective.aspect = width / height;
    this.#perspective.updateProjectionMatrix();
    const half = (this.#flatHeight ?? 2) / 2;
    Object.assign(this.#orthographic, { left: (-half * width) / height, right: (half * width) / height, top: half, bottom: -half });
    this.#orthographic.updateProjectionMatrix();
    this.renderer?.setPixelRatio(Math.min(MAX_PIXEL_RATIO, devicePixelRatio));
    this.renderer?.setSize(width, height, false);
    this.redraw();
  }
}
