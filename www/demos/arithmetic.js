/**
 * The choice of the arithmetic on the GPU, f32 or pairs of f32, as a control of a demo's panel. On the CPU it changes nothing, because the
 * CPU computes in f64 whichever is chosen; the next switch to the GPU takes it. A choice that the device cannot compile is taken back.
 */

const ARITHMETICS = { 'f32': 'f32', 'f32x2 (pairs of f32)': 'f32x2' };

export class Arithmetic {
  /** The compile option. */
  precision = 'f32';
  #stage;
  #controller;
  #previous = 'f32';

  /**
   * @param {import('./stage.js').Stage} stage
   * @param {() => Promise<void>} compile compiles again with `precision`; called on the GPU alone, while no step runs
   */
  constructor(stage, compile) {
    this.#stage = stage;
    this.#controller = stage.panel.add(this, 'precision', ARITHMETICS).name('GPU arithmetic').onChange(() => this.#change(compile));
  }

  #change(compile) {
    if (this.#stage.backend === 'cpu') {
      this.#previous = this.precision;
      return;
    }
    // Times in one arithmetic are not averaged with those in the other.
    this.#stage.between(async () => {
      const { precision } = this;
      try {
        await compile();
        this.#previous = precision;
      } catch (error) {
        this.precision = this.#previous;
        this.#controller.updateDisplay();
        throw error;
      }
    }, { fresh: true });
  }
}
