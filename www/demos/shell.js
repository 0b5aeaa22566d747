/**
 * The loops of a demo: one draws at the display's rate, one solves step after step; both pause while the tab is hidden. Takes a stage and a
 * `view` for status texts. Implements the engine switch, pause, reset, and recovery after a lost device. Work that must not overlap with a
 * step waits in the queue of the steps.
 */
import { GpuContext } from 'residua';
import { Stage } from './stage.js';

/** The interval at which numbers are read back from the device during a solve; a lost device loses at most this much. */
const REMEMBER_EVERY_MS = 5000;
/** The upper bound of a frame's time: a pause must not make the demo jump. */
const LONGEST_FRAME_S = 0.1;

/** A software adapter draws and solves on the same cores, so during a solve this time passes between frames. */
const SOFTWARE_FRAME_MS = 250;

/** Yields to the event loop without the delay of a timer, which is at least 4 ms. */
const nextTurn = () =>
  new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(null);
  });

export class Shell {
  stage;
  demo = null;
  paused = false;
  /** Frames drawn and steps run since the page was opened. */
  frames = 0;
  steps = 0;
  losses = 0;
  #view;
  #leaving = new AbortController();
  #interrupter = new AbortController();
  #queue = Promise.resolve();
  #awake = false;
  #woken = false;
  #looping = false;
  #drawable = false;
  #dirty = true;
  #lastFrame = null;
  #remembered = 0;
  #iterationInStep = 0;
  /** The engine that was requested last, which the page shows as selected. */
  #wanted = 'gpu';
  /** The pending or running switch. */
  #switching = null;

  /**
   * @param {{ element: HTMLElement, panel: HTMLElement }} elements the elements of the stage
   * @param {object} view the page: say, fail, engine(context, backend), iterations(backend, count, cost), step(backend, ms, iterations),
   *   frame(ms), clear()
   */
  constructor(elements, view) {
    this.#view = view;
    this.stage = new Stage(elements, this);
    document.addEventListener('visibilitychange', () => this.#visibilityChanged());
    requestAnimationFrame(this.#frame);
  }

  get signal() {
    return this.#leaving.signal;
  }

  get solving() {
    return this.#looping;
  }

  // ---------------------------------------------------------------- the demo

  /** Requests a device, once; without one the CPU computes. */
  async start() {
    await this.#adopt(await this.#openContext());
  }

  /** Leaves the open demo and opens another. */
  async open(module, backend) {
    await this.leave();
    this.#leaving = new AbortController();
    this.stage.backend = this.stage.context === null || backend !== 'gpu' ? 'cpu' : 'gpu';
    this.#wanted = this.stage.backend;
    this.#view.clear();
    await this.#exclusive(async () => {
      this.demo = await module.open(this.stage);
      await this.#compile(this.stage.backend);
    });
    this.wake();
  }

  async leave() {
    this.#leaving.abort();
    this.#interrupter.abort();
    this.#awake = false;
    await this.#exclusive(async () => {
      const { demo } = this;
      this.demo = null;
      this.stage.clear();
      demo?.dispose();
    });
  }

  /**
   * Switches to the other engine with the same numbers. Resolves when the engine that was requested last is in use: of requests that arrive
   * while one compiles, only the last is compiled.
   */
  useBackend(backend) {
    this.#wanted = backend;
    this.#view.engine(this.stage.context, backend);
    this.#switching ??= this.between(() => this.#switch());
    return this.#switching;
  }

  async #switch() {
    try {
      while (this.#wanted !== this.stage.backend) {
        const { backend: before } = this.stage, backend = this.#wanted;
        await this.#remember();
        this.stage.backend = backend;
        try {
          await this.#compile(backend);
        } catch (error) {
          this.stage.backend = before;
          // The failure of a switch that was replaced is not reported.
          if (this.#wanted !== backend) continue;
          this.#wanted = before;
          this.#view.engine(this.stage.context, before);
          throw error;
        }
      }
    } finally {
      this.#switching = null;
    }
  }

  async reset() {
    await this.between(() => this.demo.reset?.(), { fresh: true });
  }

  pause(paused) {
    this.paused = paused;
    if (paused) this.#interrupter.abort();
    else this.wake();
  }

  // ---------------------------------------------------------------- callbacks of the stage

  wake() {
    this.#awake = true;
    this.#woken = true;
    if (!this.#looping) this.#solve();
  }

  redraw() {
    this.#dirty = true;
  }

  interruption() {
    return this.#interrupter.signal;
  }

  async between(work, { fresh = false } = {}) {
    this.#interrupter.abort();
    try {
      await this.#exclusive(async () => {
        if (fresh) this.#view.clear();
        await work();
      });
      this.#view.fail(null);
    } catch (error) {
      this.fail(error);
    }
    this.stage.refresh();
    this.redraw();
    this.wake();
  }

  plotCost(iteration, cost) {
    const count = Math.max(0, iteration - this.#iterationInStep);
    this.#iterationInStep = iteration;
    this.#view.iterations(this.stage.backend, count, cost);
  }

  say(text) {
    this.#view.say(text);
  }

  fail(error) {
    // Errors of an interrupted or lost engine are reported by the interruption or by the loss.
    if (error?.code === 'aborted' || error?.code === 'disposed' || error?.code === 'device-lost') return;
    console.error(error);
    this.#view.fail(error?.message ?? String(error));
  }

  // ---------------------------------------------------------------- solving

  #exclusive(work) {
    const run = this.#queue.then(work);
    this.#queue = run.then(
      () => {},
      () => {},
    );
    return run;
  }

  #mayStep() {
    return this.demo !== null && this.#awake && !this.paused && !document.hidden;
  }

  async #solve() {
    this.#looping = true;
    try {
      while (this.#mayStep()) {
        await this.demo.pace?.();
        await this.#exclusive(() => this.step());
        await nextTurn();
      }
    } finally {
      this.#looping = false;
    }
  }

  /** Runs one step and updates the status. */
  async step() {
    if (!this.#mayStep()) return;
    this.#woken = false;
    this.#interrupter = new AbortController();
    this.#iterationInStep = 0;
    const { backend } = this.stage;
    const start = performance.now();
    let more = false;
    try {
      more = await this.demo.step();
      this.steps++;
      // A step that found nothing to do has no meaningful time.
      if (more || this.#iterationInStep > 0) this.#view.step(backend, performance.now() - start, this.#iterationInStep);
    } catch (error) {
      this.fail(error);
    }
    this.stage.refresh();
    this.redraw();
    if (!more && !this.#woken) this.#awake = false;
    if (!this.#awake || performance.now() - this.#remembered > REMEMBER_EVERY_MS) await this.#remember();
  }

  async #remember() {
    this.#remembered = performance.now();
    try {
      await this.demo?.remember?.();
    } catch (error) {
      this.fail(error);
    }
  }

  #compile(backend) {
    this.#view.engine(this.stage.context, this.#wanted);
    return this.demo.compile(backend);
  }

  // ---------------------------------------------------------------- drawing

  #frame = (now) => {
    requestAnimationFrame(this.#frame);
    if (!this.#drawable || (!this.#dirty && !this.#looping)) {
      this.#lastFrame = null;
      return;
    }
    const sharing = this.#looping && this.stage.backend === 'gpu' && this.stage.context.adapter.isSoftware;
    if (sharing && this.#lastFrame !== null && now - this.#lastFrame < SOFTWARE_FRAME_MS) return;
    const ms = this.#lastFrame === null ? 0 : now - this.#lastFrame;
    if (this.#lastFrame !== null) this.#view.frame(ms);
    this.#lastFrame = now;
    this.draw(ms / 1000);
  };

  /** Draws one frame, this many seconds after the previous one. */
  draw(seconds) {
    this.#dirty = false;
    try {
      this.demo?.frame?.(Math.min(seconds, LONGEST_FRAME_S));
      this.stage.draw();
      this.frames++;
    } catch (error) {
      this.#drawable = false;
      this.fail(error);
    }
  }

  #visibilityChanged() {
    this.#lastFrame = null;
    if (document.hidden) {
      this.#interrupter.abort();
      // A browser may take the device from a hidden page.
      this.#exclusive(() => this.#remember());
    } else if (this.#awake) this.wake();
  }

  // ---------------------------------------------------------------- the device

  async #openContext() {
    try {
      const context = await GpuContext.default();
      this.reason = null;
      return context;
    } catch (error) {
      this.reason = error.message;
      return null;
    }
  }

  /** Draws and solves with this device from now on, or without one. */
  async #adopt(context) {
    this.#drawable = false;
    try {
      await this.stage.useContext(context);
      this.#drawable = true;
    } catch (error) {
      // Shown in place of the picture, because the status line is overwritten by other texts.
      const words = `There is no picture: neither WebGPU nor WebGL2 works here (${error.message ?? error}).`;
      this.stage.overlay.replaceChildren(Object.assign(document.createElement('p'), { className: 'no-picture', textContent: words }));
    }
    this.redraw();
    context?.lost.then((loss) => this.#goOn(context, loss));
  }

  /** After a loss: a new device, the same demo, the last known numbers. */
  async #goOn(lost, { reason, message }) {
    if (this.stage.context !== lost) return;
    this.losses++;
    this.#drawable = false;
    this.#interrupter.abort();
    const told = `The GPU device was lost (${reason}${message ? `: ${message}` : ''}).`;
    this.#view.fail(`${told} Asking for a new one…`);
    await this.#exclusive(async () => {
      const context = await this.#openContext();
      await this.#adopt(context);
      if (context === null) this.stage.backend = this.#wanted = 'cpu';
      const { backend } = this.stage;
      try {
        if (this.demo !== null) await this.#compile(backend);
        this.#view.fail(`${told} It goes on from the last known positions, on ${context === null ? `the CPU: there is no other device (${this.reason})` : 'a new device'}.`);
      } catch (error) {
        this.fail(error);
      }
    });
    this.wake();
  }
}
