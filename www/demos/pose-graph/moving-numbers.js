/**
 * Numbers of a solver that glide in the picture from where they were before a step to where they are after it. Takes a parameter array; gives two
 * three.js attributes of the same shape: `now`, drawn straight from the solver's buffer, and `before`, a copy of it that was made on the device.
 */

export class MovingNumbers {
  #stage;
  #functions = null;
  #parameters = null;

  /**
   * @param {import('../stage.js').Stage} stage
   * @param {typeof import('three/webgpu').BufferAttribute} Attribute by vertex or by instance
   * @param {ArrayLike<number>} values where they start
   */
  constructor(stage, Attribute, values, dim) {
    this.#stage = stage;
    this.now = new Attribute(Float32Array.from(values), dim);
    this.before = new Attribute(Float32Array.from(values), dim);
  }

  drawFrom(functions, parameters) {
    this.#functions = functions;
    this.#parameters = parameters;
    this.#stage.drawFrom(this.now, functions, parameters);
  }

  /** `before` becomes what `now` is. */
  keep() {
    const { backend } = this.#stage.renderer;
    const source = this.#functions.parameterBuffer;
    const target = backend.isWebGPUBackend === true ? backend.get(this.before).buffer : undefined;
    if (source === null || target === undefined) {
      // The arrays are up to date only on the CPU; on the GPU a picture that was never drawn has nothing to glide from.
      this.before.array.set(this.#parameters.values());
      this.before.needsUpdate = true;
      return;
    }
    const encoder = backend.device.createCommandEncoder({ label: 'poses before a step' });
    encoder.copyBufferToBuffer(source, 4 * this.#parameters.offset, target, 0, this.before.array.byteLength);
    backend.device.queue.submit([encoder.finish()]);
  }

  letGo() {
    this.#stage.letGo(this.now);
  }
}
