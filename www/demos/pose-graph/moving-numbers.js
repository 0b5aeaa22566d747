/**
 * Animates numbers of a solver in the picture, from their values before a step to those after it. Takes a parameter array; returns two
 * three.js attributes of the same shape: `now`, drawn directly from the solver's buffer, and `before`, a copy that is made on the device.
 */

export class MovingNumbers {
  #stage;
  #functions = null;
  #parameters = null;

  /**
   * @param {import('../stage.js').Stage} stage
   * @param {typeof import('three/webgpu').BufferAttribute} Attribute by vertex or by instance
   * @param {ArrayLike<number>} values the start
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

  /** Copies `now` to `before`. */
  keep() {
    const { backend } = this.#stage.renderer;
    const source = this.#functions.parameterBuffer;
    const target = backend.isWebGPUBackend === true ? backend.get(this.before).buffer : undefined;
    if (source === null || target === undefined) {
      // The arrays are up to date only on the CPU. On the GPU, a picture that was never drawn needs no animation.
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
