/**
 * A three.js vertex attribute whose numbers are a solver's. On the GPU three binds the solver's own parameterBuffer in place of a buffer that it
 * would make: what it draws with stands in `renderer.backend.get(attribute).buffer`, read at every draw. Where the array does not begin at the buffer's first
 * byte, which three can't express, it is copied on the device before each frame. On the CPU, or without WebGPU, values() are uploaded after steps.
 *
 * Three would destroy whatever buffer it finds when the attribute goes, so it must be given one of its own before that: `release()`.
 */
export class DrawnNumbers {
  #attribute;
  #renderer;
  /** What is shown; null when it is the attribute's own numbers. */
  #parameters = null;
  /** The solver's buffer that holds them; null on the CPU, and where three draws without WebGPU. */
  #source = null;
  /** The buffer that three may destroy, of the present device; null until it is needed, and on WebGL. */
  #own = null;

  constructor(attribute, renderer) {
    this.#attribute = attribute;
    this.#renderer = renderer;
  }

  get isOnDevice() {
    return this.#source !== null;
  }

  /** From now on shows these parameters of these functions. */
  bind(functions, parameters) {
    if (parameters.count * parameters.dim !== this.#attribute.array.length) {
      throw new RangeError(`drawFrom: the attribute has ${this.#attribute.array.length} numbers, "${parameters.name}" has ${parameters.count * parameters.dim}`);
    }
    this.#parameters = parameters;
    this.#source = this.#onWebGpu ? functions.parameterBuffer : null;
    if (this.#source !== null && parameters.offset === 0) {
      this.#renderer.backend.get(this.#attribute).buffer = this.#source;
      return;
    }
    this.#attribute.array.set(parameters.values());
    this.#upload();
  }

  /** Another renderer, of a new device or none: nothing of the old one may be touched. */
  move(renderer) {
    this.#renderer = renderer;
    this.#parameters = null;
    this.#source = null;
    this.#own = null;
  }

  /** After steps: uploads what the CPU has found. */
  refresh() {
    if (this.#parameters === null || this.#source !== null) return;
    this.#attribute.array.set(this.#parameters.values());
    this.#upload();
  }

  /** Before a frame: copies on the device, where the buffer itself can't be bound. */
  beforeFrame() {
    if (this.#source === null || this.#parameters.offset === 0) return;
    const { device } = this.#renderer.backend;
    const encoder = device.createCommandEncoder({ label: 'drawn numbers' });
    encoder.copyBufferToBuffer(this.#source, 4 * this.#parameters.offset, this.#own, 0, this.#attribute.array.byteLength);
    device.queue.submit([encoder.finish()]);
  }

  /** Three draws the attribute's own numbers, from a buffer that is its own. */
  release() {
    if (this.#parameters === null) return;
    this.#parameters = null;
    this.#source = null;
    this.#upload();
  }

  get #onWebGpu() {
    return this.#renderer?.backend.isWebGPUBackend === true;
  }

  #upload() {
    if (!this.#onWebGpu) {
      this.#attribute.needsUpdate = true;
      return;
    }
    const { backend } = this.#renderer;
    this.#own ??= backend.device.createBuffer({
      label: 'drawn numbers', size: this.#attribute.array.byteLength, usage: GPUBufferUsage.VERTEX | GPUBufferUsage.COPY_DST,
    });
    backend.device.queue.writeBuffer(this.#own, 0, this.#attribute.array);
    backend.get(this.#attribute).buffer = this.#own;
  }
}
