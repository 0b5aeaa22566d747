/**
 * A camera's picture is registered to the scene while its frame is dragged: at each step a few iterations of Levenberg-Marquardt from where the last step ended.
 * The solver is told the two pictures alone; the frame of the camera is drawn for comparison.
 */
import { GpuCompiledFunctions } from 'residua';
import { registration } from './model.js';
import { apart, changed, isAllowed, seenFrom } from './picture.js';
import { RegistrationView } from './view.js';

/** The first frames: where the camera looks, and where it is searched. */
const TRUTH = [128, 56, 12, 88, -9, 58], START = [120, 58, 0, 90, 0, 58];
/** A frame that moves less, in pixels, has arrived. */
const ARRIVED = 1e-4;
/** Steps at rest, at most: rounding in f32 may move a frame for ever. */
const MOST_STEPS = 40;
/** Differences of this many grey values have the strongest colour. */
const STRONG = 0.25;
const KEYS = {
  ArrowLeft: { dx: -3 }, ArrowRight: { dx: 3 }, ArrowUp: { dy: -3 }, ArrowDown: { dy: 3 }, '[': { angle: -0.05 }, ']': { angle: 0.05 }, '+': { scale: 1 / 1.05 }, '-': { scale: 1.05 }, ',': { shear: -0.05 }, '.': { shear: 0.05 },
};

/** @param {import('../stage.js').Stage} stage */
export async function open(stage) {
  stage.overlay.append(Object.assign(document.createElement('link'), { rel: 'stylesheet', href: new URL('image-registration.css', import.meta.url).href }));
  const choices = { gain: 1.2, offset: -0.05, noise: 0.02 };
  const view = new RegistrationView(stage.overlay);
  const model = registration(START);
  let truth = [...TRUTH], functions = null, drag = null, steps = 0;
  let told = { cost: NaN, iterations: 0, ms: NaN, apart: NaN, explained: NaN, isLost: false };

  /** Takes a picture from where the camera is now. */
  function look() {
    const seen = seenFrom(truth, choices);
    model.setSeen(seen);
    view.showSeen(truth, seen);
    steps = 0;
    stage.wake();
  }

  /** Moves the camera; what is not allowed leaves it where it is. */
  function move(frame) {
    if (!isAllowed(frame)) return;
    truth = frame;
    look();
  }

  function tell() {
    const [gain, offset] = model.tone.values();
    const { ms, iterations, isLost } = told;
    stage.say(isLost ? 'Lost: nothing in the scene looks like this. The search begins anew.'
      : `Found to ${told.apart.toPrecision(2)} pixels: gain ${gain.toFixed(3)}, offset ${offset.toFixed(3)}; ${(100 * told.explained).toFixed(2)} % of the picture explained, ${iterations} iterations in ${ms.toPrecision(3)} ms.`);
  }

  const demo = {
    async compile(backend) {
      const before = functions;
      functions = await GpuCompiledFunctions.compile(model.problem, { backend, context: stage.context ?? undefined, signal: stage.signal });
      before?.dispose();
      steps = 0;
    },
    async step() {
      if (functions === null) return false;
      const old = model.frame.values(), start = performance.now();
      const result = await model.follow(functions, { signal: stage.interruption() });
      if (result.termination === 'aborted') return true;
      const frame = model.frame.values(), moved = apart(frame, old);
      told = { cost: result.finalCost, iterations: result.iterations, ms: performance.now() - start, apart: apart(frame, truth), explained: result.explained, isLost: result.isLost };
      stage.plotCost(result.iterations, result.finalCost);
      view.showFound(frame, await functions.evaluate(), STRONG);
      tell();
      return moved > ARRIVED && ++steps < MOST_STEPS;
    },
    reset() {
      truth = [...TRUTH];
      model.reset();
      look();
    },
    pointer: {
      down(event) {
        const part = view.partAt(event, truth);
        if (part === null) return false;
        drag = { part, from: view.placeOf(event), before: truth };
        return true;
      },
      move(event) {
        if (drag === null) return;
        const [x, y] = view.placeOf(event);
        move(drag.part === 'frame' ? changed(drag.before, { dx: x - drag.from[0], dy: y - drag.from[1] }) : view.dragged(drag.before, drag.part, [x, y]));
      },
      up() {
        drag = null;
      },
    },
    keys: 'Drag the white frame, or the dots at its sides to turn, stretch and shear it. Keys: arrows move it, [ and ] turn it, + and − zoom, comma and full stop shear it.',
    key({ key }) {
      if (!(key in KEYS)) return false;
      move(changed(truth, KEYS[key]));
      return true;
    },
    state: () => ({ ...told, truth: [...truth], found: [...model.frame.values()], tone: [...model.tone.values()] }),
    dispose: () => functions?.dispose(),
  };

  // The overlay has the picture, and no camera moves it.
  stage.flat(1);
  stage.panel.add(choices, 'gain', 0.5, 1.6, 0.05).name('gain of the camera').onChange(look);
  stage.panel.add(choices, 'offset', -0.3, 0.3, 0.01).name('offset').onChange(look);
  stage.panel.add(choices, 'noise', 0, 0.2, 0.01).onChange(look);
  stage.panel.add({ jump() {
    const from = truth;
    for (let k = 0; k < 100 && truth === from; k++) move(changed(from, { dx: 80 * (Math.random() - 0.5), dy: 60 * (Math.random() - 0.5), angle: Math.random() - 0.5 }));
  } }, 'jump').name('Jump elsewhere');
  look();
  return demo;
}
