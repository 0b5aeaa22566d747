/**
 * The pose graph demonstration: a generated graph or a dropped .g2o file is optimised one step of Levenberg-Marquardt at a time, slowly
 * enough to be watched; the picture is animated between steps.
 */
import { initialised, parseG2o, writeG2o } from '../../problems/pose-graph.js';
import { Arithmetic } from '../arithmetic.js';
import { cityGraph, sphereGraph, torusGraph, withOutliers } from './graphs.js';
import { Legend } from './legend.js';
import { Unfolding } from './model.js';
import { GraphPicture } from './picture.js';
import { statusText } from './status-text.js';

const MADE = { 'a sphere': sphereGraph, 'a torus': torusGraph, 'a city, in the plane': cityGraph };
const FILE = 'the file';
/** Starts: where the graph has its poses, which is dead reckoning where it is generated, or those of the relaxation. */
const AS_GIVEN = 'as given', RELAXED = 'chordal';
const LOSS_NAMES = { 'squared (none)': 'squared', Huber: 'huber', Cauchy: 'cauchy', Tukey: 'tukey' };

/** The start is shown for a moment first. */
const SECONDS_AT_START = 1.2;

const inWords = (count) => count.toLocaleString('en-US');

/** Centre and radius of nearly all positions; a few outliers do not count. */
function extent({ dimension }, positions) {
  const count = positions.length / dimension;
  const center = [0, 1, 2].map((d) => {
    if (d >= dimension) return 0;
    const sorted = Float64Array.from({ length: count }, (_, k) => positions[dimension * k + d]).sort();
    return (sorted[Math.floor(0.02 * count)] + sorted[Math.ceil(0.98 * (count - 1))]) / 2;
  });
  const distances = Float64Array.from({ length: count }, (_, k) => Math.hypot(...center.map((c, d) => (d < dimension ? positions[dimension * k + d] - c : 0)))).sort();
  return { center, radius: 0.92 * distances[Math.ceil(0.97 * (count - 1))] || 1 };
}

/** @param {import('../stage.js').Stage} stage */
export async function open(stage) {
  const choices = { graph: 'a sphere', poses: 2500, 'wrong closures': 0, start: AS_GIVEN, loss: 'squared', 'scale, σ': 3, 'steps a second': 2, 'no waiting': false, vehicles: 0.45, 'the truth': false };
  /** The dropped graph, with its name. */
  let file = null;
  let graph = null, unfolding = null, picture = null;
  /** The options that produced this graph, and its file. */
  let shown = null;
  let counts = [], total = 0, startCost = NaN;
  /** Whether the residuals of the start are known. */
  let begun = false;
  /** Seconds until the next step. */
  let wait = 0;
  /**
   * The start and end of the animation during a step; and the camera's last automatic position, because a view that the reader has chosen
   * is kept.
   */
  let view = { from: null, to: null }, viewed = null;
  /** Whether the device has newer poses than the arrays. */
  let stale = false;
  const legend = new Legend(stage.overlay);

  /** The selected graph, not yet compiled. */
  function chosen() {
    const made = choices.graph === FILE ? file.graph : MADE[choices.graph]({ poses: choices.poses });
    const whole = withOutliers(made, choices['wrong closures']);
    return new Unfolding(choices.start === RELAXED ? initialised(whole) : whole, { loss: choices.loss, scale: choices['scale, σ'] });
  }

  /** From here on this graph is drawn and solved. */
  function take(next, drawn) {
    discard();
    [unfolding, picture] = [next, drawn];
    graph = next.graph;
    const { graph: name, poses, 'wrong closures': wrong, start } = choices;
    shown = { choices: { graph: name, poses, 'wrong closures': wrong, start }, file };
    show();
    begun = false;
  }

  function discard() {
    picture?.dispose();
    unfolding?.dispose();
    [picture, unfolding] = [null, null];
  }

  function show() {
    picture.vehicleSize = choices.vehicles;
    if (picture.truth !== undefined) picture.truth.visible = choices['the truth'];
    stage.redraw();
  }

  /** Follows the graph as it shrinks or grows, unless the reader has moved the camera. */
  function follow(share) {
    if (viewed !== null && !viewed.equals(stage.camera.position)) return;
    const { from, to } = view;
    stage.look({ center: from.center.map((c, d) => c + share * (to.center[d] - c)), radius: from.radius + share * (to.radius - from.radius) });
    if (graph.dimension === 2) {
      // A planar graph is shown from above.
      const { camera, controls } = stage;
      camera.position.set(0, 0, camera.position.distanceTo(controls.target)).add(controls.target);
      controls.update();
    }
    viewed = stage.camera.position.clone();
  }

  function goTo(next, from = view.to) {
    view = { from: from ?? next, to: next };
  }

  /**
   * Loads a new graph, from the panel or a file. The old one is replaced when the new one is compiled; where that fails it stays, with its
   * options.
   */
  const change = () =>
    stage.between(async () => {
      let next = null, drawn = null;
      try {
        next = chosen();
        await compile(next, stage.backend);
        drawn = new GraphPicture(stage, next);
      } catch (error) {
        next?.dispose();
        ({ file } = shown);
        Object.assign(choices, shown.choices);
        for (const controller of panel.controllersRecursive()) controller.updateDisplay();
        throw error;
      }
      take(next, drawn);
      picture.drawFrom(unfolding.functions);
      total = 0;
      stale = false;
      lookAtStart();
    }, { fresh: true });

  function compile(next, backend) {
    const what = `Compiling ${inWords(next.measurements)} measurements`;
    stage.say(`${what}…`);
    return next.compile({
      backend, precision: arithmetic.precision, context: stage.context ?? undefined, signal: stage.signal,
      onProgress: (done, most, name) => stage.say(`${what}: ${name}, ${done} of ${most}.`),
    });
  }

  function lookAtStart() {
    viewed = null;
    view.to = null;
    goTo(extent(graph, graph.positions));
    follow(1);
  }

  async function colour() {
    counts = picture.colour(await unfolding.functions.evaluate());
    legend.show(counts);
  }

  function tell() {
    const { poses, measurements, groups, iteration, cost, freedom, done, termination } = unfolding;
    stage.say(statusText({
      name: choices.graph === FILE ? file.name : null, poses, moves: groups.odometry.length, closures: measurements - groups.odometry.length,
      iteration, startCost, cost, freedom, squared: choices.loss === 'squared', termination: done ? termination : null,
      precision: unfolding.functions.precision,
    }));
  }

  async function begin() {
    const { functions } = unfolding;
    startCost = (await functions.evaluateCostWithGradient()).value;
    await colour();
    begun = true;
    stage.plotCost(0, startCost);
    tell();
    wait = SECONDS_AT_START;
  }

  const demo = {
    async compile(backend) {
      const old = await compile(unfolding, backend);
      // Attributes must be detached from the old buffer before it is destroyed.
      picture.drawFrom(unfolding.functions);
      old?.dispose();
      begun = false;
      total = 0;
    },

    async step() {
      if (!begun) await begin();
      else if (!unfolding.done) {
        picture.keep();
        const { iteration, cost } = await unfolding.step(stage.interruption());
        if (iteration > total) stage.plotCost(iteration - total, cost);
        total = iteration;
        stale = true;
        await colour();
        tell();
        wait = 1 / choices['steps a second'];
      }
      // Without a picture no frames wake the loop.
      if ((choices['no waiting'] || stage.renderer === null) && !unfolding.done) {
        picture.phase = 1;
        return true;
      }
      await demo.remember();
      goTo(extent(graph, unfolding.positions.values()));
      stage.redraw();
      // The frames of the animation wake the loop for the next step.
      return false;
    },

    frame(seconds) {
      if (picture === null || (picture.phase >= 1 && wait <= 0)) return;
      picture.phase += seconds * choices['steps a second'];
      wait -= seconds;
      if (begun) follow(picture.phase);
      if (wait > 0 || picture.phase < 1) stage.redraw();
      else if (begun && !unfolding.done) stage.wake();
    },

    async remember() {
      if (stale && unfolding.functions?.backend === 'gpu') await unfolding.functions.download();
      stale = false;
    },

    async reset() {
      unfolding.restart();
      picture.phase = 1;
      begun = false;
      stale = false;
      total = 0;
      lookAtStart();
    },

    files: {
      accept: '.g2o', label: 'A .g2o file of yours (or drop it on the picture)',
      async read(text, name) {
        // An invalid file changes nothing.
        file = { graph: parseG2o(text), name };
        choices.graph = FILE;
        await change();
        if (file !== null) graphChoice = graphChoice.options([...Object.keys(MADE), FILE]).onChange(change);
      },
    },

    /** The graph with the current poses, as the text of a .g2o file. */
    async text() {
      await demo.remember();
      return writeG2o({ ...graph, positions: unfolding.positions.values(), rotations: unfolding.rotations.values() });
    },

    state: () => ({
      graph: choices.graph, poses: unfolding.poses, measurements: unfolding.measurements, iteration: unfolding.iteration, cost: unfolding.cost, startCost,
      // Brings the poses from the device to the arrays.
      done: unfolding.done && !stale,
      precision: unfolding.functions?.precision ?? null, termination: unfolding.termination, freedom: unfolding.freedom, classes: counts, positions: () => unfolding.positions.values(),
    }),
    dispose: discard,
  };

  const restate = () => stage.between(async () => {
    unfolding.setLoss(choices.loss, choices['scale, σ']);
    total = unfolding.iteration;
  });
  async function save() {
    let text = '';
    await stage.between(async () => (text = await demo.text()));
    const link = Object.assign(document.createElement('a'), { href: URL.createObjectURL(new Blob([text])), download: 'unfolded.g2o' });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }
  const panel = stage.panel;
  let graphChoice = panel.add(choices, 'graph', Object.keys(MADE)).onChange(change);
  panel.add(choices, 'poses', { '500': 500, '1,000': 1000, '2,500': 2500, '5,000': 5000, '10,000': 10000 }).onChange(change);
  panel.add(choices, 'wrong closures', 0, 200, 10).onFinishChange(change);
  panel.add(choices, 'start', [AS_GIVEN, RELAXED]).onChange(change);
  panel.add(choices, 'loss', LOSS_NAMES).onChange(restate);
  panel.add(choices, 'scale, σ', 0.5, 20, 0.5).onFinishChange(restate);
  const arithmetic = new Arithmetic(stage, async () => {
    await demo.remember();
    await demo.compile(stage.backend);
  });
  panel.add(choices, 'steps a second', 0.25, 20, 0.25);
  panel.add(choices, 'no waiting').onChange(() => stage.wake());
  panel.add(choices, 'vehicles', 0, 3, 0.1).onChange(show);
  panel.add(choices, 'the truth').onChange(show);
  panel.add({ save }, 'save').name('Save as .g2o');

  stage.onAppearance((appearance) => {
    legend.appear(appearance);
    picture?.appear(appearance);
  });
  const first = chosen();
  take(first, new GraphPicture(stage, first));
  lookAtStart();
  return demo;
}
