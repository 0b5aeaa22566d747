/**
 * The curve fitting demonstration: points that are clicked and dragged, a model that is selected or typed, and its fit; and a hundred
 * thousand fits at once, one per pixel. The plot is in the overlay, as text and SVG; the problems are in model.js and lifetimes.js.
 */
import { parseExpression } from './expression.js';
import { ModelForm } from './form.js';
import { LifetimeMap } from './lifetime-map.js';
import { compareWithTruth, fitStack, makeStack, SIZES } from './lifetimes.js';
import { CurveFit, searchStarts } from './model.js';
import { examplePoints, MODELS } from './models.js';
import { CurvePlot } from './plot.js';

const TYPED = 'typed';
const LOSS_NAMES = { 'squared (none)': 'squared', Huber: 'huber', 'soft L1': 'softL1', Cauchy: 'cauchy', Tukey: 'tukey' };
const VIEWS = { 'the curve': 'curve', 'lifetimes as fitted': 'found', 'true lifetimes': 'true', photons: 'photons' };
/** A point that is released this far outside the axes is removed. */
const THROWN_AWAY = 0.06;

const inWords = (value) => value.toLocaleString('en-US', { maximumFractionDigits: 0 });
const pageDrawn = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

/** @param {import('../stage.js').Stage} stage */
export async function open(stage) {
  const choices = { show: 'curve', model: 'decay', loss: 'squared', 'scale, in y': 0.5, pixels: '100,000' };
  stage.overlay.append(Object.assign(document.createElement('link'), { rel: 'stylesheet', href: new URL('curve-fitting.css', import.meta.url).href }));
  const plot = new CurvePlot(stage.overlay), map = new LifetimeMap(stage.overlay);

  let expression = null, points = [], starts = [];
  /** @type {CurveFit | null} */
  let fit = null;
  let estimates = null, batch = null, stack = null;
  let selected = -1, dragging = false;
  /** Whether the points are the reader's own, which no example may replace. */
  let own = false;
  /** A fit that waits to be compiled; a newer one replaces it. */
  let wanted = null;

  // ---------------------------------------------------------------- the model and its points

  function take(model) {
    expression = parseExpression(model.text);
    if (!own) points = examplePoints(model, expression);
    starts = points.length > 1 ? model.start(points) : model.truth;
    form.showModel(expression, starts);
  }

  /** Compiles the current model for the current points, from these parameters. */
  function rebuild({ parameters = starts, search = false, fresh = true } = {}) {
    const waiting = wanted !== null;
    wanted = { model: expression, parameters, search };
    if (waiting) return;
    stage.between(async () => {
      const { model, parameters: from, search: searched } = wanted;
      wanted = null;
      if (points.length === 0) return;
      if (searched) {
        const found = await searchStarts(model, points, [from]);
        // Another model may have been typed in the meantime; it waits in the queue.
        if (model !== expression) return;
        if (found !== null) starts = found.parameters;
        form.showStarts(starts);
      }
      make(searched ? starts : from);
      await compile(stage.backend);
    }, { fresh });
  }

  function make(parameters) {
    fit?.dispose();
    fit = new CurveFit(expression, points, parameters, { loss: choices.loss, scale: choices['scale, in y'] });
    show();
  }

  async function compile(backend) {
    if (fit === null) return;
    await fit.compile({ backend, context: stage.context ?? undefined, signal: stage.signal });
  }

  /** Updates the fit after points were moved, added or removed. */
  function pointsChanged({ framed = false } = {}) {
    own = true;
    // The residuals are those of other points until the next step.
    show();
    if (framed) plot.frame();
    if (points.length === 0) {
      stage.say('No points: click into the axes to add some.');
      return;
    }
    if (fit !== null && wanted === null && fit.holds(points)) {
      fit.setPoints(points);
      stage.wake();
    } else rebuild({ parameters: fit?.model === expression ? fit.parameters : starts, fresh: false });
  }

  function show() {
    const values = fit?.parameters;
    const current = fit !== null && fit.model === expression;
    plot.show({
      points, selected, curve: current ? (x) => expression.evaluate(x, values) : null,
      residuals: current ? points.map(({ x, y }) => y - expression.evaluate(x, values)) : [],
    });
  }

  function tell(result) {
    const { deviation, reason } = estimates;
    const ended = result.success ? 'converged' : result.message;
    stage.say(`${points.length} points, ${expression.parameters.length} parameters: cost ${result.finalCost.toPrecision(5)}${deviation === null ? '' : `, points scatter by ${deviation.toPrecision(3)} around the curve`}; ` +
      `${ended} after ${result.iterations} iterations.${reason === null ? '' : ` No standard errors: ${reason}.`}`);
  }

  function select(index) {
    selected = points.length === 0 ? -1 : (index + points.length) % points.length;
    show();
  }

  function removeSelected() {
    if (selected < 0) return;
    points = points.filter((_, k) => k !== selected);
    selected = -1;
    pointsChanged();
  }

  // ---------------------------------------------------------------- a hundred thousand pixels

  async function fitPixels() {
    await stage.between(async () => {
      const size = SIZES[choices.pixels];
      if (stack?.width !== size.width) {
        stage.say('Making the images: cells, decays and their photon noise…');
        await pageDrawn();
        stack = makeStack(size);
        batch = null;
      }
      const count = size.width * size.height;
      stage.say(`Fitting ${inWords(count)} decays on the ${stage.backend.toUpperCase()}…`);
      await pageDrawn();
      batch = await fitStack(stack, {
        backend: stage.backend, signal: stage.signal, ...(stage.backend === 'gpu' ? { context: stage.context } : {}),
        onProgress: (done) => stage.say(`Fitting ${inWords(count)} decays on the ${stage.backend.toUpperCase()}: ${inWords(done)} done.`),
      });
      batch.errors = compareWithTruth(stack, batch.lifetimes);
      map.tell(batch, batch.errors);
      view(choices.show === 'curve' ? 'found' : choices.show);
      const { milliseconds, fitsPerSecond, converged, errors, iterations } = batch;
      stage.say(`${inWords(count)} decays of ${stack.times.length} samples, three parameters each, on the ${batch.backend.toUpperCase()} in ${inWords(milliseconds)} ms: ${inWords(Number(fitsPerSecond.toPrecision(3)))} fits a second, ` +
        `${iterations.toFixed(1)} iterations each, ${inWords(converged)} converged. Lifetimes are off by ${(100 * errors.median).toFixed(1)} % in the middle; errors are ${errors.deviations.toFixed(3)} times what photon noise allows at best.`);
    });
  }

  function view(what) {
    choices.show = what;
    viewChoice.updateDisplay();
    const mapped = what !== 'curve' && stack !== null && (batch !== null || what !== 'found');
    map.hidden = !mapped;
    plot.hidden = mapped;
    if (mapped) map.paint(what, stack, batch);
    else if (what === 'curve') stage.wake();
    else fitPixels();
  }

  /** The decay of a pixel as points. */
  function showDecay(pixel) {
    const samples = stack.times.length;
    points = Array.from(stack.times, (x, i) => ({ x, y: stack.counts[samples * pixel + i] }));
    [own, selected] = [true, -1];
    choices.model = 'decay';
    modelChoice.updateDisplay();
    take(MODELS.find(({ id }) => id === 'decay'));
    view('curve');
    plot.show({ points, selected });
    plot.frame();
    rebuild();
  }

  // ---------------------------------------------------------------- interface of the shell

  const demo = {
    compile,

    async step() {
      // The status of the image stays while it is shown.
      if (fit?.functions == null || points.length === 0 || !map.hidden) return false;
      let result = null;
      try {
        result = await fit.solve({ signal: stage.interruption() });
      } catch (error) {
        if (error.code !== 'non-finite') throw error;
        stage.say('At the start the model has no value at one of the points: change the starts, the model or the point.');
        return false;
      }
      if (result.termination === 'aborted') return true;
      for (const { iteration, cost } of result.history) stage.plotCost(iteration, cost);
      estimates = await fit.estimates();
      if (fit.model === expression) form.showEstimates(estimates);
      show();
      tell(result);
      return false;
    },

    async reset() {
      own = false;
      selected = -1;
      const model = MODELS.find(({ id }) => id === choices.model) ?? MODELS[0];
      choices.model = model.id;
      modelChoice.updateDisplay();
      take(model);
      make(starts);
      plot.frame();
      view('curve');
      await compile(stage.backend);
    },

    pointer: {
      down(event) {
        if (!map.hidden) {
          const pixel = map.pixelAt(event);
          if (pixel >= 0) showDecay(pixel);
          return true;
        }
        const { x, y, inside } = plot.place(event);
        const hit = plot.hit(event);
        if (hit < 0 && !inside) return true;
        if (hit < 0) {
          points = [...points, { x, y }];
          selected = points.length - 1;
          dragging = true;
          pointsChanged();
        } else if (event.shiftKey) {
          selected = hit;
          removeSelected();
        } else {
          dragging = true;
          select(hit);
        }
        return true;
      },
      move(event) {
        if (!dragging || selected < 0) return;
        const { x, y } = plot.place(event);
        points = points.map((point, k) => (k === selected ? { x, y } : point));
        pointsChanged();
      },
      up(event) {
        if (!dragging) return;
        dragging = false;
        const { x, y } = plot.place(event), { x: [x0, x1], y: [y0, y1] } = plot.view;
        const outside = Math.max(x0 - x, x - x1) > THROWN_AWAY * (x1 - x0) || Math.max(y0 - y, y - y1) > THROWN_AWAY * (y1 - y0);
        if (outside && points.length > 1) removeSelected();
        else plot.frame();
      },
    },

    keys: 'Click to add a point, drag to move it; drag it out of the axes, or press with Shift, to take it away. Keys: N and P choose a point, arrows move it (with Shift farther), Delete takes it away, A adds one, Escape lets go.',
    key({ key, shiftKey }) {
      if (!map.hidden) {
        if (key !== 'Escape') return false;
        view('curve');
        return true;
      }
      const { x: [x0, x1], y: [y0, y1] } = plot.view;
      const step = shiftKey ? 0.05 : 0.01;
      const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
      if (key === 'n' || key === 'N') select(selected + 1);
      else if (key === 'p' || key === 'P') select(selected < 0 ? -1 : selected - 1);
      else if (key === 'a' || key === 'A' || key === 'Insert') {
        points = [...points, { x: (x0 + x1) / 2, y: (y0 + y1) / 2 }];
        selected = points.length - 1;
        pointsChanged();
      } else if ((key === 'Delete' || key === 'Backspace') && selected >= 0) removeSelected();
      else if (key === 'Escape') {
        selected = -1;
        show();
      } else if (key in moves && selected >= 0) {
        const [dx, dy] = moves[key];
        points = points.map((point, k) => (k === selected ? { x: point.x + dx * (x1 - x0), y: point.y + dy * (y1 - y0) } : point));
        pointsChanged({ framed: true });
      } else return key in moves;
      return true;
    },

    state: () => ({
      model: choices.model, text: expression.text, message: form.message, points, selected, show: choices.show, starts: [...starts], capacity: fit?.capacity ?? 0,
      parameters: Object.fromEntries((estimates?.rows ?? []).map(({ name, value, error }) => [name, { value, error }])), reason: estimates?.reason ?? null,
      cost: fit?.result?.finalCost ?? null, deviation: estimates?.deviation ?? null, clientPlace: (point) => plot.clientPlace(point),
      batch: batch === null ? null : { pixels: batch.lifetimes.length, backend: batch.backend, milliseconds: batch.milliseconds, converged: batch.converged, ...batch.errors },
    }),
    dispose() {
      fit?.dispose();
      plot.dispose();
    },
  };

  // ---------------------------------------------------------------- choices

  const { panel } = stage;
  const titles = Object.fromEntries(MODELS.map(({ id, title }) => [title, id]));
  const modelChoice = panel.add(choices, 'model', { ...titles, 'typed below': TYPED }).onChange((id) => {
    if (id === TYPED) return;
    take(MODELS.find((model) => model.id === id));
    view('curve');
    plot.show({ points, selected: (selected = -1) });
    plot.frame();
    rebuild();
  });
  const form = new ModelForm(panel.$children, {
    model(next) {
      // A parameter of the same name keeps its number.
      const known = new Map(expression.parameters.map((name, k) => [name, fit?.model === expression ? fit.parameters[k] : starts[k]]));
      expression = next;
      starts = next.parameters.map((name) => known.get(name) ?? 1);
      choices.model = TYPED;
      modelChoice.updateDisplay();
      form.showModel(next, starts);
      view('curve');
      rebuild({ search: true });
    },
    start(index, value) {
      starts[index] = value;
      if (fit === null || fit.model !== expression) return;
      fit.parameters = starts;
      stage.wake();
    },
    hold(index, held) {
      if (fit === null || fit.model !== expression) return;
      const values = fit.parameters;
      if (held) values[index] = starts[index];
      fit.parameters = values;
      fit.hold(index, held);
      stage.wake();
    },
  });
  const lossChanged = () => {
    fit?.setLoss(choices.loss, choices['scale, in y']);
    stage.wake();
  };
  panel.add(choices, 'loss', LOSS_NAMES).onChange(lossChanged);
  panel.add(choices, 'scale, in y', 0.05, 5, 0.05).onChange(lossChanged);
  panel.add({ search: () => rebuild({ search: true }) }, 'search').name('Search 400 starts for the best fit');
  panel.add({ spoil() {
    const { y: [y0, y1] } = plot.view;
    const step = Math.max(1, Math.floor(points.length / 4));
    points = points.map((point, k) => (k % step === step - 1 && k < 3 * step ? { x: point.x, y: point.y + (point.y > (y0 + y1) / 2 ? -0.45 : 0.45) * (y1 - y0) } : point));
    pointsChanged({ framed: true });
  } }, 'spoil').name('Spoil three points');
  panel.add({ remove: removeSelected }, 'remove').name('Take the chosen point away');
  const pixels = panel.addFolder('An image of decays');
  pixels.add(choices, 'pixels', Object.keys(SIZES));
  pixels.add({ fitPixels }, 'fitPixels').name('Fit every pixel');
  const viewChoice = pixels.add(choices, 'show', VIEWS).onChange(view);

  take(MODELS.find(({ id }) => id === choices.model));
  make(starts);
  plot.frame();
  return demo;
}
