/**
 * A cloth that hangs, swings and flutters: each time step is a few steps of Levenberg-Marquardt. On the GPU the targets of a step are
 * written to the problem's data, and positions and normals are drawn, without leaving the device. Steps follow real time.
 */
import { GpuCompiledFunctions, levenbergMarquardt } from 'residua';
import { fabric } from './fabric.js';
import { clothGrid, clothProblem, grips, PINNINGS, setStuff, spreadOut, stepOptions, STUFF, suited } from './model.js';
import { NormalsOnDevice, writeNormals } from './normals.js';
import { AIR, CALM, FREE, PIN_HERE, predict } from './prediction.js';
import { nearestVertex, PredictionOnDevice } from './prediction-on-device.js';

const SIZES = Object.fromEntries([24, 32, 48, 64, 100, 144, 200, 316, 500, 700, 1000].map((side) => [`${side} × ${side}: ${(side * side).toLocaleString('en-US')}`, side]));
const FIRST_SIDE = { gpu: 100, cpu: 32 };
/**
 * Iterations of a step. Conjugate gradients propagate a force by one vertex per iteration, so a fine cloth gets more, within a frame's
 * time.
 */
const LINEAR_ITERATIONS = { least: 40, most: 60 };
/** The cloth is at rest when no vertex has moved by more than this in a step, in metres, for this many steps. */
const AT_REST = { metres: 2e-6, steps: 60 };
/** When the simulation is behind by more than this, its clock is reset. */
const LATEST_MS = 100;
/** Milliseconds that a step may run without interruption. */
const LONG_MS = 200;
/** A press that moved by less, in pixels, is a click. */
const CLICK = 5;

/** @param {import('../stage.js').Stage} stage */
export async function open(stage) {
  const query = new URLSearchParams(location.search);
  const side = Number(query.get('side'));
  const choices = {
    side: side >= 2 && side <= 1000 ? Math.round(side) : FIRST_SIDE[stage.backend], pins: 'two corners',
    wind: 0, direction: 60, gusts: 0.6,
    'step, ms': 0, iterations: 0, 'stretch, N/m': 0, 'bending, µN m': 0, 'mass, g/m²': 1000 * STUFF.density,
  };
  let grid, cloth, drawn, previous, target, grip;
  /** The state of each vertex; and the pins with their positions, for display. */
  let asked, pins = [];
  /** The functions, and on the device the kernels of prediction and normals; all null where nothing is compiled. */
  let functions = null, onDevice = null, normals = null;
  let lastStep, lastMs = 0, time = 0, due = 0, steps = 0, cost = NaN, quiet = 0;
  /** The dragged vertex: { vertex, at, pin (to which it belonged), moved, plane }. */
  let held = null;

  const stuff = () => ({ ...STUFF, stretch: choices['stretch, N/m'], shear: 0.2 * choices['stretch, N/m'], bending: 1e-6 * choices['bending, µN m'], density: choices['mass, g/m²'] / 1000 });
  const step = () => choices['step, ms'] / 1000;
  const applyStuff = () => setStuff(cloth, grid, stuff(), step());

  /** Material and time step for this many vertices. */
  function suit() {
    const { stretch, bending, step: seconds, iterations } = suited(choices.side);
    Object.assign(choices, { 'step, ms': 1000 * seconds, iterations, 'stretch, N/m': stretch, 'bending, µN m': 1e6 * bending });
    for (const controller of stage.panel.controllersRecursive()) controller.updateDisplay();
  }

  function build() {
    if (drawn !== undefined) {
      for (const attribute of [drawn.positions, drawn.normals]) stage.letGo(attribute);
      drawn.dispose();
    }
    releaseEngine();
    grid = clothGrid(choices.side);
    const start = spreadOut(grid);
    previous = start;
    target = start.slice();
    grip = new Float64Array(grid.count);
    asked = new Uint32Array(grid.count);
    cloth = clothProblem(grid, start);
    lastStep = step();
    applyStuff();
    drawn = fabric(stage, grid, start);
    held = null;
    pinAs(choices.pins, start);
  }

  function releaseEngine() {
    for (const part of [functions, onDevice, normals]) part?.dispose();
    functions = onDevice = normals = null;
  }

  /** Compiles functions for an engine, with the kernels on the device; a failure frees everything. */
  async function makeEngine(backend) {
    const count = grid.count.toLocaleString('en-US');
    stage.say(`Compiling the springs of ${count} vertices…`);
    const made = await GpuCompiledFunctions.compile(cloth.problem, {
      backend, context: stage.context ?? undefined, signal: stage.signal,
      onProgress: (done, total, what) => stage.say(`Compiling the springs of ${count} vertices: ${what}, ${done} of ${total}.`),
    });
    if (made.parameterBuffer === null) return [made, null, null];
    const { device } = stage.context;
    const buffers = { positions: made.parameterBuffer, target: cloth.inertia.dataBuffer('target'), grip: cloth.inertia.dataBuffer('grip') };
    try {
      return [made, ...(await Promise.all([PredictionOnDevice.create(device, grid, buffers, previous, asked), NormalsOnDevice.create(device, grid, buffers.positions)]))];
    } catch (error) {
      made.dispose();
      throw error;
    }
  }

  // -------------------------------------------------------------- pins

  function pinAs(pinning, x) {
    asked.forEach((was, vertex) => was !== FREE && ask([vertex], FREE));
    pins = [];
    for (const vertex of PINNINGS[pinning](grid)) {
      const neighbour = pins.find(({ vertices: [first] }) => inPatch(first, vertex));
      if (neighbour === undefined) pins.push({ vertices: [vertex], at: Array.from(x.slice(3 * vertex, 3 * vertex + 3)) });
      else neighbour.vertices.push(vertex);
    }
    ask(pins.flatMap(({ vertices }) => vertices), PIN_HERE);
    showPins();
  }

  function ask(vertices, pin) {
    for (const vertex of vertices) asked[vertex] = pin;
    onDevice?.setPins(vertices, pin);
  }

  const showPins = () => drawn.showPins(pins.map(({ at }) => at));

  /** Vertices within a twentieth of the cloth share a mark. */
  function inPatch(a, b) {
    const reach = 0.05 * (Math.max(grid.rows, grid.columns) - 1);
    return Math.abs(Math.floor(a / grid.columns) - Math.floor(b / grid.columns)) <= reach && Math.abs((a % grid.columns) - (b % grid.columns)) <= reach;
  }

  /** The vertices around one that a pin holds: 2 % of the cloth. */
  function patch(vertex) {
    const reach = Math.round((0.01 * grid.width) / grid.spacing);
    const [row, column] = [Math.floor(vertex / grid.columns), vertex % grid.columns];
    const found = [];
    for (let r = Math.max(0, row - reach); r <= Math.min(grid.rows - 1, row + reach); r++) {
      for (let c = Math.max(0, column - reach); c <= Math.min(grid.columns - 1, column + reach); c++) found.push(r * grid.columns + c);
    }
    return found;
  }

  /** Removes the pins near a vertex and returns them. */
  function unpin(vertex) {
    const around = new Set(patch(vertex));
    const out = pins.filter(({ vertices }) => vertices.some((other) => around.has(other)));
    if (out.length === 0) return out;
    ask(out.flatMap(({ vertices }) => vertices), FREE);
    pins = pins.filter((other) => !out.includes(other));
    showPins();
    return out;
  }

  function pin(vertex, at) {
    const vertices = patch(vertex).filter((other) => asked[other] === FREE);
    ask(vertices, PIN_HERE);
    pins.push({ vertices, at: [...at] });
    showPins();
  }

  // -------------------------------------------------------------- steps

  function conditions() {
    const angle = (choices.direction * Math.PI) / 180;
    return {
      ...CALM, step: step(), lastStep, density: stuff().density, gravity: STUFF.gravity, air: AIR,
      wind: [choices.wind * Math.cos(angle), 0, choices.wind * Math.sin(angle)], gusts: choices.gusts, time,
      held: held?.moved ? held.vertex : -1, heldAt: held?.at ?? [0, 0, 0], ...grips(grid, stuff(), step()),
    };
  }

  function predictOnCpu(now) {
    predict(grid, { x: cloth.vertices.values(), previous, target, grip, pins: asked }, now);
    cloth.inertia.setData('target', target);
    cloth.inertia.setData('grip', grip);
  }

  const demo = {
    async compile(backend) {
      // The targets of pins are on the other engine; here they are the current positions.
      asked.forEach((pin, vertex) => (asked[vertex] = pin === FREE ? FREE : PIN_HERE));
      const made = await makeEngine(backend);
      const before = [functions, onDevice, normals];
      [functions, onDevice, normals] = made;
      stage.drawFrom(drawn.positions, functions, cloth.vertices);
      const written = new Float32Array(3 * grid.count);
      stage.drawFrom(drawn.normals, { parameterBuffer: normals?.buffer ?? null }, {
        name: 'normals', count: grid.count, dim: 3, offset: 0,
        values() {
          writeNormals(grid, cloth.vertices.values(), written);
          return written;
        },
      });
      // Until here the picture was drawn from these buffers.
      for (const part of before) part?.dispose();
      due = 0;
      stage.say(`${grid.count.toLocaleString('en-US')} vertices, ${functions.numResiduals.toLocaleString('en-US')} residuals in ${functions.kernelCount} kernels. Drag the cloth; a click pins it or lets it go.`);
    },
    /** Real time: one step every `step` seconds, none earlier. */
    async pace() {
      const now = performance.now();
      if (now - due > LATEST_MS) due = now;
      if (due > now) await new Promise((resolve) => setTimeout(resolve, due - now));
      due += 1000 * step();
    },
    async step() {
      // A size that cannot be compiled; the error has been shown.
      if (functions === null) return false;
      const now = conditions();
      if (onDevice === null) predictOnCpu(now);
      else onDevice.run(now);
      const { least, most } = LINEAR_ITERATIONS;
      const result = await levenbergMarquardt(functions, {
        ...stepOptions(grid, stuff(), now.step, { iterations: choices.iterations, linearIterations: Math.round(Math.min(most, Math.max(least, 0.6 * choices.side))) }),
        readBack: functions.backend === 'cpu', linearSolver: 'pcg',
        // An interrupted step loses its speed, so short steps are not interrupted.
        ...(lastMs > LONG_MS ? { signal: stage.interruption() } : {}),
      });
      lastMs = result.computationTime;
      lastStep = now.step;
      time += now.step;
      steps++;
      cost = result.finalCost;
      stage.plotCost(result.iterations, cost);
      const moved = Math.hypot(...result.history.map(({ stepNorm }) => stepNorm)) / Math.sqrt(grid.count);
      quiet = moved < AT_REST.metres && choices.wind === 0 && held === null ? quiet + 1 : 0;
      return quiet < AT_REST.steps;
    },
    async remember() {
      const [was] = await Promise.all([onDevice?.previous(), functions?.download()]);
      if (was !== undefined) previous = was;
    },
    reset() {
      const start = spreadOut(grid);
      cloth.vertices.set(start);
      previous = start.slice();
      onDevice?.setPrevious(previous);
      held = null;
      time = quiet = 0;
      pinAs(choices.pins, start);
    },
    frame() {
      normals?.run();
    },
    pointer: {
      async down(event, { ray }) {
        const line = { origin: ray.origin.toArray(), direction: ray.direction.toArray() };
        held = { vertex: -1, at: null, pin: null, moved: false, plane: null, up: false, from: [event.clientX, event.clientY] };
        const mine = held;
        const vertex = onDevice === null ? nearestVertex(cloth.vertices.values(), line) : await onDevice.pick(line);
        const at = vertex < 0 ? null : onDevice === null ? Array.from(cloth.vertices.values().slice(3 * vertex, 3 * vertex + 3)) : await onDevice.positionOf(vertex);
        if (at === null || ray.distanceToPoint(new stage.three.Vector3(...at)) > 0.5 * grid.spacing + 0.03) {
          if (held === mine) held = null;
          return false;
        }
        const normal = stage.camera.getWorldDirection(new stage.three.Vector3());
        Object.assign(mine, { vertex, at, plane: new stage.three.Plane().setFromNormalAndCoplanarPoint(normal, new stage.three.Vector3(...at)) });
        if (mine.up) demo.pointer.up();
        return true;
      },
      move(event, { ray }) {
        if (held === null || held.plane === null) return;
        if (!held.moved && Math.hypot(event.clientX - held.from[0], event.clientY - held.from[1]) < CLICK) return;
        if (!held.moved) held.pin = unpin(held.vertex);
        held.moved = true;
        const place = ray.intersectPlane(held.plane, new stage.three.Vector3());
        if (place !== null) held.at = place.toArray();
        quiet = 0;
        stage.wake();
      },
      up() {
        if (held === null) return;
        if (held.plane === null) {
          // The pointer was released before the picked vertex was known.
          held.up = true;
          return;
        }
        const { vertex, at, moved, pin: was } = held;
        held = null;
        quiet = 0;
        if (moved ? was.length > 0 : unpin(vertex).length === 0) pin(vertex, at);
        stage.wake();
      },
    },
    keys: 'Drag the cloth to pull it; a pinned place stays pinned where you leave it. Click it to pin it there, click a pin to let go. Keys: W wind, P next pins.',
    key({ key }) {
      if (key === 'w' || key === 'W') wind.setValue(choices.wind > 0 ? 0 : 6);
      else if (key === 'p' || key === 'P') {
        const names = Object.keys(PINNINGS);
        pinning.setValue(names[(names.indexOf(choices.pins) + 1) % names.length]);
      } else return false;
      return true;
    },
    state: () => ({ side: choices.side, vertices: grid.count, steps, time, cost, pins: pins.length, held: held?.moved ?? false, taken: held !== null && held.plane !== null, quiet, choices: { ...choices }, positions: () => cloth.vertices.values(), grid }),
    dispose() {
      releaseEngine();
      drawn.dispose();
    },
  };

  const { panel } = stage;
  panel.add(choices, 'side', SIZES).name('vertices').onChange(() => stage.between(async () => {
    suit();
    build();
    await demo.compile(stage.backend);
  }, { fresh: true }));
  const pinning = panel.add(choices, 'pins', Object.keys(PINNINGS)).onChange(() => stage.between(async () => {
    await functions?.download();
    pinAs(choices.pins, cloth.vertices.values());
  }));
  const woken = () => {
    quiet = 0;
    stage.wake();
  };
  const wind = panel.add(choices, 'wind', 0, 20, 0.5).name('wind, m/s').onChange(woken);
  panel.add(choices, 'direction', 0, 360, 5).name('from, °').onChange(woken);
  panel.add(choices, 'gusts', 0, 1, 0.05).onChange(woken);
  const more = panel.addFolder('Step and stuff').close();
  const stuffChanged = () => {
    applyStuff();
    woken();
  };
  more.add(choices, 'step, ms', 4, 100, 1).onChange(stuffChanged);
  more.add(choices, 'iterations', 1, 6, 1);
  more.add(choices, 'stretch, N/m', 20, 1000, 10).onChange(stuffChanged);
  more.add(choices, 'bending, µN m', 0, 400, 1).onChange(stuffChanged);
  more.add(choices, 'mass, g/m²', 50, 800, 10).onChange(stuffChanged);

  suit();
  build();
  stage.look({ center: [0, -0.85, -0.3], radius: 1.3 });
  return demo;
}
