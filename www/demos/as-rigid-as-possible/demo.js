/**
 * As-rigid-as-possible dragging: a few iterations of Levenberg-Marquardt per step, from the result of the last step, while handles are
 * moved. On the GPU a drag writes the goals of the handle's vertices to the device, and only the cost is read back.
 */
import { GpuCompiledFunctions, levenbergMarquardt } from 'residua';
import { boundingSphere, intoUnitSphere } from '../../mesh/bounding-sphere.js';
import { icosphere } from '../../mesh/icosphere.js';
import { parseObj } from '../../mesh/obj.js';
import { capsule, trefoilTube } from '../../mesh/tube.js';
import { Handles, inViewPlane } from '../handles.js';
import { surface } from '../surface.js';
import { Handle } from './handle.js';
import { GOAL, rigidModel } from './model.js';

const MESHES = {
  'bar, 74 vertices': () => capsule({ around: 8, along: 6 }),
  'bar, 1,226 vertices': () => capsule({ around: 24, along: 40 }),
  'bar, 10,742': () => capsule({ around: 60, along: 150 }),
  'bar, 101,102': () => capsule({ around: 180, along: 472 }),
  'knot, 4,800': () => trefoilTube({ around: 24, along: 200 }),
  'knot, 100,000': () => trefoilTube({ around: 100, along: 1000 }),
  'sphere, 2,562': () => icosphere(4),
};
const STANDARD = 'bar, 1,226 vertices';

/** Two iterations, because the linear system of a solve's first iteration is solved inexactly. */
const STEP = { maxIterations: 2, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0 };
/**
 * Iterations of conjugate gradients per iteration of Levenberg-Marquardt. During a drag they are few, so that the surface moves in every
 * frame if the least number permits. Fewer iterations bring the surface less close to rest; it converges when the pointer stops.
 */
const LINEAR = { least: 25, usual: 100, most: 400, aimMs: 14, dragMs: 300 };
const DAMPING = { first: 1e-4, least: 1e-6, most: 1e3 };
/**
 * A step with a smaller relative decrease of the cost has no visible effect. After this many in a row the solver rests; a single one may be
 * a rejected step.
 */
const HARDLY = 1e-4, ENOUGH_OF_THEM = 6;
/** A cost of rounding alone: the mesh is at rest. */
const NOTHING = 1e-9;
/** The distance by which an arrow key moves the selected handle, and the angle by which a bracket key rotates it. */
const KEY_STEP = 0.03, KEY_ANGLE = Math.PI / 24;

/** @param {import('../stage.js').Stage} stage */
export async function open(stage) {
  const wished = stage.wish('mesh', STANDARD);
  const choices = { mesh: Object.hasOwn(MESHES, wished) ? wished : STANDARD, 'handle radius': 0.08, 'linear iterations': Math.min(LINEAR.most, Math.max(1, Math.round(stage.wish('linear', LINEAR.usual)) || LINEAR.usual)), wireframe: false };
  const markers = new Handles(stage);
  let rest = null, model = null, surfaceMesh = null, functions = null, goalBuffer = null;
  let handles = [], chosen = -1;
  let linear = LINEAR.usual, changedAt = 0;
  let damping = DAMPING.first, quiet = 0, cost = NaN, iterations = 0;
  /** Whether nothing has pulled the mesh yet, or since the start. */
  let untouched = true;
  /** The current drag: the handle, and its start and target. */
  let drag = null;

  // ---------------------------------------------------------------- meshes

  function build(mesh) {
    const positions = intoUnitSphere(mesh.positions, boundingSphere(mesh.positions));
    rest = { positions, triangles: mesh.triangles };
    const next = rigidModel(rest);
    if (surfaceMesh !== null) {
      stage.letGo(surfaceMesh.geometry.attributes.position);
      surfaceMesh.removeFromParent();
      surfaceMesh.geometry.dispose();
      surfaceMesh.material.dispose();
    }
    functions?.dispose();
    functions = null;
    goalBuffer = null;
    model = next;
    surfaceMesh = surface(stage, rest);
    surfaceMesh.material.wireframe = choices.wireframe;
    handles = [];
    chosen = -1;
    iterations = 0;
    cost = NaN;
    untouched = true;
  }

  /** One end is held, the other is a handle for dragging. */
  function firstHandles() {
    const { positions } = rest;
    const last = (sign) => {
      let best = 0;
      for (let v = 1; v < positions.length / 3; v++) if (sign * (positions[3 * v + 1] - positions[3 * best + 1]) > 1e-9) best = v;
      return best;
    };
    for (const vertex of [last(-1), last(1)]) addHandle(vertex, positions);
    chosen = 1;
    markers.show(handles.map(({ center }) => center), chosen);
  }

  const counted = (count) => count.toLocaleString('en-US');

  // ---------------------------------------------------------------- handles

  function show() {
    markers.show(handles.map(({ center }) => center), chosen);
  }

  /** Updates the model, and on the device only the changed goals. */
  function setGoals(handle, held = true) {
    handle.vertices.forEach((vertex, k) => {
      model.setGoal(vertex, held ? handle.goal(k) : null);
      if (goalBuffer !== null) stage.context.device.queue.writeBuffer(goalBuffer, 4 * GOAL * vertex, Float32Array.from(model.goals.subarray(GOAL * vertex, GOAL * (vertex + 1))));
    });
    if (goalBuffer === null) model.handles.setData('goal', model.goals);
    quiet = 0;
    changedAt = performance.now();
    show();
    stage.wake();
  }

  function addHandle(vertex, now) {
    handles.push(new Handle(rest.positions, now, vertex, choices['handle radius']));
    chosen = handles.length - 1;
    setGoals(handles[chosen]);
    return chosen;
  }

  function removeHandle(index) {
    const [gone] = handles.splice(index, 1);
    untouched = false;
    chosen = handles.length > 0 ? Math.min(index, handles.length - 1) : -1;
    setGoals(gone, false);
    // A vertex may also belong to another handle.
    for (const handle of handles) setGoals(handle);
  }

  function moveHandle(index, place) {
    untouched = false;
    handles[index].moveTo(place);
    setGoals(handles[index]);
  }

  /** The vertex at a ray, by the current positions; only this reads them from the device. */
  async function vertexUnder(raycaster) {
    await functions.download();
    const { geometry } = surfaceMesh, now = model.vertices.values();
    geometry.attributes.position.array.set(now);
    geometry.computeBoundingSphere();
    const [hit] = raycaster.intersectObject(surfaceMesh, false);
    if (hit === undefined) return { vertex: -1, now };
    const point = hit.point.toArray(), { a, b, c } = hit.face;
    const away = (vertex) => Math.hypot(...[0, 1, 2].map((d) => now[3 * vertex + d] - point[d]));
    return { vertex: [a, b, c].reduce((best, vertex) => (away(vertex) < away(best) ? vertex : best)), now };
  }

  async function pickNewHandle(raycaster) {
    const { vertex, now } = await vertexUnder(raycaster);
    return vertex < 0 ? -1 : addHandle(vertex, now);
  }

  function startDrag(index, event) {
    chosen = index;
    show();
    const from = inViewPlane(stage, stage.pick(event), handles[index].center);
    drag = { index, from, center: [...handles[index].center] };
  }

  const directions = () => {
    const { camera, three } = stage;
    const [right, up, back] = [0, 1, 2].map((column) => new three.Vector3().setFromMatrixColumn(camera.matrixWorld, column));
    return { right, up, back };
  };

  const KEYS = {
    h: () => {
      const box = stage.canvas.getBoundingClientRect();
      pickNewHandle(stage.pick({ clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 })).then((index) => {
        if (index < 0) stage.say('There is no surface in the middle of the picture.');
      }, stage.fail);
    },
    n: () => {
      chosen = (chosen + 1) % handles.length;
      show();
    },
    Escape: () => {
      chosen = -1;
      show();
    },
  };
  const CHOSEN_KEYS = {
    ArrowLeft: () => nudge('right', -1), ArrowRight: () => nudge('right', 1), ArrowUp: () => nudge('up', 1), ArrowDown: () => nudge('up', -1),
    PageUp: () => nudge('back', 1), PageDown: () => nudge('back', -1), '[': () => twist(1), ']': () => twist(-1),
    Delete: () => removeHandle(chosen), Backspace: () => removeHandle(chosen),
  };

  function nudge(direction, sign) {
    const step = directions()[direction].multiplyScalar(sign * KEY_STEP).toArray();
    moveHandle(chosen, handles[chosen].center.map((value, d) => value + step[d]));
  }

  function twist(sign) {
    untouched = false;
    handles[chosen].turn(directions().back.toArray(), sign * KEY_ANGLE);
    setGoals(handles[chosen]);
  }

  // ---------------------------------------------------------------- the demo

  const demo = {
    keys: 'Drag a ball to move it; click the surface for a new one, a ball to remove it; Shift and drag pulls the surface anywhere. Keys: H sets a handle in the middle, N takes the next one, arrows and Page Up and Down move it, [ and ] turn it, Delete removes it, Escape lets it go.',
    async compile(backend) {
      const old = functions;
      const count = counted(rest.positions.length / 3);
      stage.say(`Compiling the energy of ${count} vertices…`);
      model.handles.setData('goal', model.goals);
      functions = await GpuCompiledFunctions.compile(model.problem, { backend, context: stage.context ?? undefined, signal: stage.signal });
      goalBuffer = model.handles.dataBuffer('goal');
      stage.drawFrom(surfaceMesh.geometry.attributes.position, functions, model.vertices);
      old?.dispose();
      damping = DAMPING.first;
      quiet = 0;
      stage.say(`${count} vertices, ${counted(rest.triangles.length / 3)} triangles, ${counted(functions.numParams)} unknowns, ${counted(functions.numResiduals)} residuals.`);
    },
    async step() {
      if (untouched) return false;
      const dragging = performance.now() - changedAt < LINEAR.dragMs;
      const most = choices['linear iterations'];
      const result = await levenbergMarquardt(functions, {
        ...STEP, maxLinearIterations: dragging ? Math.min(most, Math.round(linear)) : most, initialDamping: damping, linearSolver: 'pcg', readBack: functions.backend === 'cpu', signal: stage.interruption(),
      });
      stage.plotCost(result.iterations, result.finalCost);
      if (dragging && result.iterations > 0) {
        const asAimed = (linear * LINEAR.aimMs * result.iterations) / result.computationTime;
        linear = Math.min(most, Math.max(LINEAR.least, Math.sqrt(linear * asAimed)));
      }
      // The next step continues with the damping of this one.
      damping = Math.min(DAMPING.most, Math.max(DAMPING.least, result.history.at(-1)?.damping ?? damping));
      iterations += result.iterations;
      cost = result.finalCost;
      quiet = result.initialCost - result.finalCost > HARDLY * result.finalCost ? 0 : quiet + 1;
      return quiet < ENOUGH_OF_THEM && cost > NOTHING;
    },
    async remember() {
      await functions.download();
    },
    async reset() {
      model.reset();
      goalBuffer = model.handles.dataBuffer('goal');
      handles = [];
      firstHandles();
      iterations = 0;
      untouched = true;
    },
    frame: () => markers.frame(),
    pointer: {
      down(event) {
        const index = markers.under(event);
        if (index >= 0) {
          startDrag(index, event);
          return true;
        }
        if (!event.shiftKey) return false;
        return pickNewHandle(stage.pick(event)).then((added) => {
          if (added < 0) return false;
          startDrag(added, event);
          return true;
        });
      },
      move(event, raycaster) {
        if (drag === null) return;
        const to = inViewPlane(stage, raycaster, drag.center);
        if (to !== null) moveHandle(drag.index, drag.center.map((value, d) => value + to[d] - drag.from[d]));
      },
      up() {
        drag = null;
      },
      click(event, raycaster) {
        const index = markers.under(event);
        if (index >= 0) removeHandle(index);
        else pickNewHandle(raycaster).catch(stage.fail);
      },
    },
    key(event) {
      const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      const action = (chosen >= 0 ? CHOSEN_KEYS[name] : undefined) ?? (name === 'n' && handles.length === 0 ? undefined : KEYS[name]);
      action?.();
      return action !== undefined;
    },
    files: {
      accept: '.obj', label: 'A mesh of yours (OBJ; or drop it on the picture)',
      async read(text, name) {
        const mesh = parseObj(text);
        await stage.between(async () => {
          build(mesh);
          firstHandles();
          stage.look({ center: [0, 0, 0], radius: 1 });
          await demo.compile(stage.backend);
          stage.say([`${name}: ${counted(mesh.positions.length / 3)} vertices.`, ...mesh.notes].join(' '));
        }, { fresh: true });
      },
    },
    state: () => ({
      vertices: rest.positions.length / 3, handles: handles.map(({ center, vertices }) => ({ center: [...center], vertices: [...vertices] })), chosen, cost, iterations,
      positions: () => model.vertices.values(),
    }),
    dispose: () => functions?.dispose(),
  };

  build(MESHES[choices.mesh]());
  firstHandles();
  stage.look({ center: [0, 0, 0], radius: 1 });
  stage.panel.add(choices, 'mesh', Object.keys(MESHES)).onChange((name) =>
    stage.between(async () => {
      build(MESHES[name]());
      firstHandles();
      await demo.compile(stage.backend);
    }, { fresh: true }));
  stage.panel.add(choices, 'handle radius', 0.02, 0.4, 0.01);
  stage.panel.add(choices, 'linear iterations', 5, LINEAR.most, 5);
  stage.panel.add(choices, 'wireframe').onChange((wireframe) => {
    surfaceMesh.material.wireframe = wireframe;
    stage.redraw();
  });
  return demo;
}
