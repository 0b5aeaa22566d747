/**
 * A sketch with constraints that are solved during a drag. A drag has two solves: in the first the pointer attracts the point weakly and
 * all else is weakly attracted to its position; in the second the constraints are solved to the last digit, and what they leave free stays. At
 * rest the sketch is diagnosed. An edit compiles again, which takes some milliseconds.
 */
import { GpuCompiledFunctions, levenbergMarquardt } from 'residua';
import { Arithmetic } from '../arithmetic.js';
import { Bars, freedomOf, TOOLS } from './bars.js';
import { diagnose } from './diagnosis.js';
import { EXAMPLES } from './examples.js';
import { setPulls, settle, sketchProblem, SOLVES, takeOver } from './model.js';
import { addConstraint, constraintOf, constraintsFor, CONSTRAINTS, copyOf, curveOf, kindOf, LARGEST, nameOf, pointOf, pointsOf, readSketch, remove, writeSketch } from './sketch.js';
import { makeTool } from './tools.js';
import { canBeDragged, SheetView } from './view.js';

/** Iterations of a drag's first solve; the next one continues from its result. */
const PULL_ITERATIONS = { cpu: 15, gpu: 4 };
/** Millimetres: a sketch that moves less in a step has converged. */
const ARRIVED = 1e-3;
/** Pixels around the sketch: for tools, dimensions and status. */
const TAKEN = { left: 105, right: 60, top: 110, bottom: 90 };
/** The same on a phone, where signs need more space relative to the sketch. */
const TAKEN_OF_NARROW = { left: 84, right: 44, top: 110, bottom: 70 }, NARROW = 480;
/** A press that moves less, in pixels, is a click. */
const CLICK = 4;

/** @param {import('../stage.js').Stage} stage */
export async function open(stage) {
  const sheetElement = stage.overlay;
  sheetElement.append(Object.assign(document.createElement('link'), { rel: 'stylesheet', href: new URL('sketch.css', import.meta.url).href }));
  const choices = { example: Object.keys(EXAMPLES)[0] };
  let sketch = EXAMPLES[choices.example]();
  let past = [], future = [];
  let model = null, functions = null, diagnosis = null;
  /** An edit that is not compiled yet; until then solves are of the previous sketch. */
  let stale = false, edits = 0;
  let selection = new Set(), hovered = null, toolName = 'select', tool = null;
  /** The drag: { id, from, before (the sketch then), to, moved }. */
  let drag = null;
  let solveMs = NaN, compileMs = NaN, diagnoseMs = NaN, shown = false;

  const view = new SheetView(sheetElement);
  stage.panel.add(choices, 'example', Object.keys(EXAMPLES)).onChange(() => show(EXAMPLES[choices.example]()));
  const arithmetic = new Arithmetic(stage, () => demo.compile(stage.backend));
  stage.panel.add({ save }, 'save').name('Save as a file');
  function save() {
    const link = Object.assign(document.createElement('a'), { href: URL.createObjectURL(new Blob([writeSketch(sketch)], { type: 'application/json' })), download: 'sketch.json' });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const bars = new Bars(sheetElement, stage.panel.$children, {
    tool: useTool, action: act, constrain, value: setValue,
    select(id) {
      selection = selection.has(id) ? new Set() : new Set([id]);
      changed();
    },
    remove: (id) => edit((changing) => remove(changing, [id])),
  });

  function changed() {
    shown = false;
    stage.redraw();
  }

  // -------------------------------------------------------------- edits

  /** Changes the sketch and compiles it. */
  function edit(change) {
    past.push(copyOf(sketch));
    future = [];
    change(sketch);
    renew();
  }

  function renew() {
    stale = true;
    edits++;
    drag = null;
    const there = new Set([...sketch.points, ...sketch.curves, ...sketch.constraints].map(({ id }) => id));
    selection = new Set([...selection].filter((id) => there.has(id)));
    hovered = null;
    changed();
    stage.between(() => demo.compile(stage.backend));
  }

  function show(next) {
    sketch = next;
    past = [];
    future = [];
    selection = new Set();
    useTool('select');
    fit();
    renew();
  }

  function act(name) {
    if (name === 'remove' && selection.size > 0) edit((changing) => remove(changing, selection));
    const [from, to] = name === 'undo' ? [past, future] : [future, past];
    if (name !== 'remove' && from.length > 0) {
      to.push(copyOf(sketch));
      sketch = from.pop();
      renew();
    }
  }

  function constrain(kind) {
    const lists = constraintsFor(sketch, kind, [...selection]);
    if (lists.length === 0) return;
    let made;
    edit((changing) => lists.forEach((of) => (made = addConstraint(changing, kind, of))));
    selection = CONSTRAINTS[kind].unit === undefined ? new Set() : new Set([made]);
    changed();
    if (CONSTRAINTS[kind].unit !== undefined && lists.length === 1) askValue(made);
  }

  /** Sets a dimension from a text; an invalid text changes nothing. */
  function setValue(id, text) {
    const value = Number(String(text).trim().replace(',', '.'));
    const constraint = constraintOf(sketch, id);
    const takes = String(text).trim() !== '' && (constraint.kind === 'angle' ? Math.abs(value) <= 360 : value > 0 && value <= LARGEST);
    if (takes && value !== constraint.value) {
      past.push(copyOf(sketch));
      future = [];
      constraint.value = value;
      if (!stale) model.setValues(sketch);
      stage.wake();
    }
    changed();
  }

  /** An input at the position of the dimension. */
  function askValue(id) {
    drawSheet();
    const at = view.labelOf(id);
    if (at === null) return;
    const input = Object.assign(document.createElement('input'), { className: 'sketch-value', type: 'text', inputMode: 'decimal', value: Number(constraintOf(sketch, id).value.toFixed(2)) });
    input.setAttribute('aria-label', nameOf(sketch, id));
    Object.assign(input.style, { left: `${Math.min(view.width - 50, Math.max(50, at[0]))}px`, top: `${Math.min(view.height - 20, Math.max(20, at[1]))}px` });
    let done = false;
    const end = (take) => {
      if (done) return;
      done = true;
      if (take && constraintOf(sketch, id) !== undefined) setValue(id, input.value);
      input.remove();
      sheetElement.parentElement.focus({ preventScroll: true });
    };
    input.addEventListener('keydown', (event) => {
      event.stopPropagation();
      if (event.key === 'Enter' || event.key === 'Escape') end(event.key === 'Enter');
    });
    input.addEventListener('pointerdown', (event) => event.stopPropagation());
    input.addEventListener('blur', () => end(true));
    sheetElement.append(input);
    // The press that opened the input takes the focus afterwards.
    setTimeout(() => input.select());
  }

  // -------------------------------------------------------------- tools, pointer and keys

  const sheet = {
    get sketch() {
      return sketch;
    },
    get scale() {
      return view.scale;
    },
    edit,
  };

  function useTool(name) {
    toolName = name;
    tool = name === 'select' ? null : makeTool(name, sheet);
    if (name !== 'select') selection = new Set();
    hovered = null;
    changed();
  }

  /** The position of an event in pixels and millimetres, and the object there. */
  function where(event, { ray }, options = {}) {
    const box = sheetElement.getBoundingClientRect();
    const at = [event.clientX - box.left, event.clientY - box.top];
    const only = tool === null ? undefined : (id) => kindOf(sketch, id) !== 'constraint';
    return { at, place: { x: ray.origin.x, y: ray.origin.y }, hit: view.find(sketch, at, { touch: event.pointerType === 'touch', only, ...options }) };
  }

  /** The pulls of a drag. */
  function wanted({ id, before, from, to }) {
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const curve = curveOf(sketch, id);
    if (curve !== undefined && curve.kind !== 'line') {
      const center = pointOf(sketch, curve.center);
      return { radii: new Map([[id, Math.hypot(to.x - center.x, to.y - center.y)]]) };
    }
    return { points: new Map(pointsOf(sketch, id).map((point) => [point, [pointOf(before, point).x + dx, pointOf(before, point).y + dy]])) };
  }

  function click(id) {
    if (id === null) selection = new Set();
    else if (kindOf(sketch, id) === 'constraint') selection = selection.has(id) ? new Set() : new Set([id]);
    else {
      selection = new Set([...selection].filter((other) => kindOf(sketch, other) !== 'constraint'));
      if (!selection.delete(id)) selection.add(id);
    }
    changed();
  }

  /** Moves the selection by the keys, with one undo per press. */
  function nudge(dx, dy) {
    const ids = new Set([...selection].filter((id) => canBeDragged(sketch, id)).flatMap((id) => pointsOf(sketch, id)));
    if (ids.size === 0 || stale) return false;
    past.push(copyOf(sketch));
    future = [];
    nudged = { points: new Map([...ids].map((id) => [id, [pointOf(sketch, id).x + dx, pointOf(sketch, id).y + dy]])) };
    stage.wake();
    return true;
  }
  let nudged = null;

  function next(way) {
    const all = [...sketch.points, ...sketch.curves, ...sketch.constraints].map(({ id }) => id);
    if (all.length === 0) return;
    const at = all.indexOf([...selection].at(-1));
    selection = new Set([all[(at + way + all.length) % all.length]]);
    stage.say(`${nameOf(sketch, [...selection][0])} is selected.`);
    changed();
  }

  const demo = {
    async compile(backend) {
      const before = functions;
      const start = performance.now();
      const compiling = edits;
      if (sketch.points.length === 0) [model, functions, diagnosis] = [null, null, null];
      else {
        const made = sketchProblem(sketch);
        const compiled = await GpuCompiledFunctions.compile(made.problem, { backend, precision: arithmetic.precision, context: stage.context ?? undefined, signal: stage.signal });
        [model, functions] = [made, compiled];
      }
      // A later edit compiles again.
      if (compiling === edits) stale = false;
      before?.dispose();
      compileMs = performance.now() - start;
      changed();
    },
    async step() {
      if (stale || model === null) return false;
      const [solving, edited, start] = [model, sketch, performance.now()];
      const options = { ...SOLVES[functions.precision], signal: stage.interruption() };
      // Without a drag everything is attracted to its position: a new constraint moves as little as possible.
      const pulled = drag?.moved === true ? wanted(drag) : nudged ?? {};
      nudged = null;
      const old = solving.points.values();
      setPulls(solving, pulled);
      const first = await levenbergMarquardt(functions, { ...options, maxIterations: PULL_ITERATIONS[functions.backend] });
      const result = await levenbergMarquardt(functions, { ...settle(solving, functions.precision), signal: options.signal });
      if (stale || solving !== model || edited !== sketch) return true;
      takeOver(sketch, solving);
      solveMs = performance.now() - start;
      stage.plotCost(first.iterations + result.iterations, first.finalCost);
      changed();
      const moved = Math.max(...solving.points.values().map((value, k) => Math.abs(value - old[k])));
      if (drag === null || !drag.moved) {
        const begun = performance.now();
        const found = await diagnose(functions, solving);
        if (stale || solving !== model) return true;
        diagnosis = found;
        diagnoseMs = performance.now() - begun;
        changed();
        tell();
        return false;
      }
      return moved > ARRIVED;
    },
    reset() {
      show(EXAMPLES[choices.example]());
    },
    frame() {
      drawSheet();
    },
    pointer: {
      down(event, ray) {
        if (event.target.closest?.('.sketch-tools, .sketch-value') != null) return false;
        const here = where(event, ray);
        if (tool !== null) {
          tool.click(here);
          tool.move(here);
          changed();
          return true;
        }
        // A press on empty space pans the sheet.
        if (here.hit === null) return false;
        drag = { id: here.hit, from: here.place, to: here.place, at: here.at, before: copyOf(sketch), moved: false, pressed: performance.now() };
        return true;
      },
      move(event, ray) {
        const here = where(event, ray, { except: new Set() });
        if (tool !== null) {
          tool.move(here);
          changed();
        } else if (drag !== null && !stale) {
          if (!canBeDragged(sketch, drag.id) || (!drag.moved && Math.hypot(here.at[0] - drag.at[0], here.at[1] - drag.at[1]) < CLICK)) return;
          if (!drag.moved) {
            past.push(drag.before);
            future = [];
          }
          drag.moved = true;
          drag.to = here.place;
          stage.wake();
        }
      },
      up(event, ray) {
        if (tool !== null) {
          tool.release(where(event, ray));
          changed();
          return;
        }
        const ended = drag;
        drag = null;
        if (ended?.moved === true) stage.wake();
      },
      click(event, ray) {
        if (tool === null && event.target.closest?.('.sketch-tools, .sketch-value') == null) click(where(event, ray).hit);
      },
    },
    keys: 'Click to select, drag to move. Keys: 1 to 5 tools, a letter for each constraint (hold the pointer over its button), N and B next and previous thing, arrows move it, Enter its value, Delete, Z undo, Y redo, Escape.',
    key({ key, shiftKey }) {
      const named = Object.entries(TOOLS).find(([, entry]) => entry.key === key);
      const kind = Object.keys(CONSTRAINTS).find((name) => CONSTRAINTS[name].key === key.toLowerCase());
      const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key];
      if (named !== undefined) useTool(named[0]);
      else if (kind !== undefined) constrain(kind);
      else if (arrow !== undefined) return nudge(...arrow.map((value) => value * (shiftKey ? 10 : 1)));
      else if (key === 'Escape') {
        if (tool === null || tool.idle) useTool('select');
        else useTool(toolName);
        if (toolName === 'select') selection = new Set();
      } else if (key === 'Delete' || key === 'Backspace') act('remove');
      else if (key === 'z' || key === 'Z') act(shiftKey ? 'redo' : 'undo');
      else if (key === 'y' || key === 'Y') act('redo');
      else if (key === 'n' || key === 'N') next(1);
      else if (key === 'b' || key === 'B') next(-1);
      else if (key === 'Enter') {
        const dimension = [...selection].find((id) => CONSTRAINTS[constraintOf(sketch, id)?.kind]?.unit !== undefined);
        if (dimension === undefined) return false;
        askValue(dimension);
      } else return false;
      return true;
    },
    files: {
      accept: '.json,application/json', label: 'A sketch of yours', largest: 2 ** 21,
      read(text) {
        show(readSketch(text));
      },
    },
    state: () => ({
      sketch: copyOf(sketch), selection: [...selection], tool: toolName, stale, dragging: drag?.moved === true, solveMs, compileMs, diagnoseMs, precision: functions?.precision ?? null,
      freedom: diagnosis?.degreesOfFreedom ?? null, redundant: diagnosis?.redundant ?? [], conflicting: [...(diagnosis?.conflicting ?? [])], moving: [...(diagnosis?.moving ?? [])],
      told: freedomOf(sketch, diagnosis).text, canUndo: past.length > 0, pixels: (id) => view.toPixels(pointOf(sketch, id)),
    }),
    dispose: () => functions?.dispose(),
  };

  /** The over- or under-constrained state in a sentence. */
  function tell() {
    const { redundant, conflicting, degreesOfFreedom } = diagnosis;
    const names = (ids) => [...ids].map((id) => nameOf(sketch, id)).join('; ');
    const times = `Solved in ${functions.precision} in ${solveMs.toFixed(1)} ms, compiled in ${compileMs.toFixed(0)} ms.`;
    if (conflicting.size > 0) stage.say(`These contradict each other: ${names(conflicting)}. Delete or change one of them. ${times}`);
    else if (redundant.length > 0) stage.say(`${redundant.map(({ constraint, with: others }) => `${nameOf(sketch, constraint)} follows from ${names(others) || 'nothing at all'}`).join('. ')}. ${times}`);
    else stage.say(`${degreesOfFreedom === 0 ? 'Nothing can move' : 'What is blue can still move'}. ${times}`);
  }

  function drawSheet() {
    view.follow(stage.camera, sheetElement);
    view.draw({ sketch, diagnosis: stale ? null : diagnosis, selection, hovered, preview: tool?.preview() ?? null });
    if (!shown) bars.show({ sketch, selection, tool: toolName, diagnosis, canUndo: past.length > 0, canRedo: future.length > 0 });
    shown = true;
  }

  /** Zooms so that the whole sketch is visible beside the tools. */
  function fit() {
    const places = [...sketch.points.map(({ x, y }) => [x, y, 0]), ...sketch.curves.filter(({ kind }) => kind !== 'line').map(({ center, radius }) => [pointOf(sketch, center).x, pointOf(sketch, center).y, radius])];
    const [left, low, right, high] = places.length === 0 ? [-60, -40, 60, 40] : [
      Math.min(...places.map(([x, , r]) => x - r)), Math.min(...places.map(([, y, r]) => y - r)), Math.max(...places.map(([x, , r]) => x + r)), Math.max(...places.map(([, y, r]) => y + r)),
    ];
    const [width, height] = [Math.max(1, sheetElement.clientWidth), Math.max(1, sheetElement.clientHeight)];
    const taken = width < NARROW ? TAKEN_OF_NARROW : TAKEN;
    const scale = Math.min(Math.max(80, width - taken.left - taken.right) / Math.max(20, right - left), Math.max(80, height - taken.top - taken.bottom) / Math.max(20, high - low));
    stage.look({ center: [(left + right) / 2 - (taken.left - taken.right) / 2 / scale, (low + high) / 2 + (taken.top - taken.bottom) / 2 / scale, 0], radius: 1 });
    stage.flat(height / scale);
  }

  const page = sheetElement.parentElement;
  page.addEventListener('pointermove', (event) => {
    if (event.buttons !== 0 || model === null) return;
    const here = where(event, stage.pick(event));
    if (tool !== null) {
      tool.move(here);
      changed();
    } else if (here.hit !== hovered) {
      hovered = here.hit;
      page.style.cursor = hovered === null ? '' : 'pointer';
      stage.redraw();
    }
  }, { signal: stage.signal });
  page.addEventListener('dblclick', (event) => {
    if (event.target.closest?.('.sketch-tools') != null || tool !== null) return;
    const { hit } = where(event, stage.pick(event));
    if (hit !== null && CONSTRAINTS[constraintOf(sketch, hit)?.kind]?.unit !== undefined) {
      selection = new Set([hit]);
      askValue(hit);
    }
  }, { signal: stage.signal });
  page.addEventListener('keydown', (event) => {
    if (!(event.ctrlKey || event.metaKey) || !['z', 'y'].includes(event.key.toLowerCase())) return;
    event.preventDefault();
    act(event.key.toLowerCase() === 'y' || event.shiftKey ? 'redo' : 'undo');
  }, { signal: stage.signal });
  stage.signal.addEventListener('abort', () => (page.style.cursor = ''));

  fit();
  return demo;
}
