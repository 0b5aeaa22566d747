/**
 * The loops that a demo runs in: one draws at the display's rate, one solves step after step; both rest while the tab is hidden. Takes a stage and what is to be
 * told on the page (the `view`); gives the engine switch, pause, reset, and goes on after the device is lost. Whatever must not meet a step waits in the same
 * queue as steps do.
 */
import { GpuContext } from 'residua';
import { Stage } from './stage.js';

/** So often, while it solves, the numbers are brought from the device: what a lost device costs at most. */
const REMEMBER_EVERY_MS = 5000;
/** A demo's clock: a frame after a pause is no leap. */
const LONGEST_FRAME_S = 0.1;

/** A software adapter draws with what it solves with: while it solves, so much time passes between frames. */
const SOFTWARE_FRAME_MS = 250;

/** Lets the page handle events, without the 4 ms that timers take at least. */
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
  /** Frames drawn and steps done since the page was opened. */
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
  /** The engine that was asked for last; what the page shows as chosen. */
  #wanted = 'gpu';
  /** The switch that waits or is under way. */
  #switching = null;

  /**
   * @param {{ element: HTMLElement, panel: HTMLElement }} elements the stage's
   * @param {object} view what the page shows: say, fail, engine(context, backend), iterations(backend, count, cost), step(backend, ms, iterations), frame(ms), clear()
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

  /** Finds a device, once; without one the CPU computes. */
  async start() {
    await this.#adopt(await this.#openContext());
  }

  /** Leaves the demo that is open and opens another. */
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

  /** The other engine, from the same numbers. Resolves when the engine asked for last is in use: of choices that come while one compiles, only the last is compiled. */
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
          // A failure of what nobody wants any more is nobody's.
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

  // ---------------------------------------------------------------- what the stage hands on

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
    // What an interrupted or a dead engine says is told by whoever interrupted it, or by the loss.
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

  /** One step, and what the page tells of it. */
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
      // Finding that there is nothing to do is not a step whose time says anything.
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

  /** One frame, as after so many seconds. */
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
      // A device may be taken away from a page that nobody sees.
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
      // Told where the picture would be: other words may take the place of a failure's.
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
