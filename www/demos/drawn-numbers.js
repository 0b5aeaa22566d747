/**
 * A three.js vertex attribute with a solver's numbers. On the GPU three binds the solver's parameterBuffer instead of a buffer of its own:
 * the buffer that it draws from is `renderer.backend.get(attribute).buffer`, read at every draw. Where the array does not begin at the
 * buffer's first byte, which three cannot express, it is copied on the device before each frame. On the CPU, or without WebGPU, values()
 * are uploaded after steps.
 *
 * Three destroys the attribute's buffer with the attribute, so `release()` must replace it by one of three's own before that.
 */
export class DrawnNumbers {
  #attribute;
  #renderer;
  /** The source; null for the attribute's own numbers. */
  #parameters = null;
  /** The solver's buffer with the numbers; null on the CPU, and where three draws without WebGPU. */
  #source = null;
  /** The buffer that three may destroy, of the current device; null until it is needed, and on WebGL. */
  #own = null;

  constructor(attribute, renderer) {
    this.#attribute = attribute;
    this.#renderer = renderer;
  }

  get isOnDevice() {
    return this.#source !== null;
  }

  /** Shows these parameters of these functions from now on. */
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

  /** Sets another renderer, of a new device or none; resources of the old one are not touched. */
  move(renderer) {
    this.#renderer = renderer;
    this.#parameters = null;
    this.#source = null;
    this.#own = null;
  }

  /** After steps: uploads the CPU's results. */
  refresh() {
    if (this.#parameters === null || this.#source !== null) return;
    this.#attribute.array.set(this.#parameters.values());
    this.#upload();
  }

  /** Before a frame: copies on the device, where the buffer itself cannot be bound. */
  beforeFrame() {
    if (this.#source === null || this.#parameters.offset === 0) return;
    const { device } = this.#renderer.backend;
    const encoder = device.createCommandEncoder({ label: 'drawn numbers' });
    encoder.copyBufferToBuffer(this.#source, 4 * this.#parameters.offset, this.#own, 0, this.#attribute.array.byteLength);
    device.queue.submit([encoder.finish()]);
  }

  /** Three draws the attribute's own numbers, from its own buffer. */
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
