/**
 * All demos, in the order in which they are offered, and what a demo is.
 *
 * A demo is a folder `www/demos/ID/` with two modules: `model.js`, the residua Problem, which knows neither page nor picture and is tested in
 * Node; and `demo.js`, which exports `async function open(stage)`. It may be chosen by `demos/?demo=ID`, and its engine by `&backend=gpu|cpu`.
 * Files that several demos use stand beside this one (surface.js draws a mesh, handles.js points) or in www/mesh, www/problems, www/energies.
 *
 * **What a demo gets** (`stage`, the class Stage of stage.js; all fields may be read at any time, and some change after a device loss):
 *
 * - `three`: the module three/webgpu (a demo may import 'three/webgpu' and 'three/tsl' itself); `scene`, `camera`, `controls` (OrbitControls), `renderer` (WebGPURenderer on the device of `context`, or three's
 *   WebGL2 fallback where there is none; it and `canvas` are new after a device loss, the scene stays).
 * - `context`: the GpuContext, null without WebGPU. `backend`: 'gpu' or 'cpu', the engine in use.
 * - `panel`: a lil-gui of the demo's own. Add controllers in open(); it is emptied when the demo is left.
 * - `drawFrom(attribute, functions, parameters)`: from now on the three BufferAttribute (Float32Array) shows the numbers of that ParameterArray as they are
 *   in `functions.parameterBuffer`, on the GPU, without a read-back; a later call with other functions takes its place. With functions on the CPU they are
 *   copied from `parameters.values()` after each step. Call it before disposing the functions that it was called with before. `attribute.array` is not
 *   kept up to date on the GPU.
 * - `letGo(attribute)`: three draws from its own buffer again (with the numbers of attribute.array). Before a geometry is disposed, and before functions are
 *   disposed without others in their place.
 * - `flat(height)`: a 2-D demo; an orthographic camera over the x-y plane that shows `height` units, turning off. `overlay`: an element above the
 *   canvas, as large, that lets pointers through, for SVG or text. `look({ center, radius })`: stands the camera so that a sphere is seen whole (also what key 0 gives).
 * - `appearance`: the colours of www/viewer/appearance.js for the page's theme; `onAppearance(callback)`: called at once and when they change.
 * - `wish(name, otherwise)`: what the page's address asks for, `?name=…`, for first choices; a number where `otherwise` is one. Check it.
 * - `redraw()`: draw once more. While steps are under way, every frame is drawn; else only after this, or when the camera moves.
 * - `pick(event)`: a three Raycaster through the pointer.
 * - `plotCost(iteration, cost)`: `iteration` counts within the present step's solve, the shell counts on. So a solver's onIteration can be handed through,
 *   or it is called once a step with the result's figures: `plotCost(result.iterations, result.finalCost)`. Without it, no cost and no ms an iteration are told.
 * - `say(text)`: the line under the picture. `fail(error)`: what could not be done; the demo goes on.
 * - `wake()`: there is something to solve again (a handle was dragged). Cheap; call it at every event.
 * - `interruption()`: an AbortSignal for the step under way: it fires when the shell wants the engine back soon (switch, reset, leaving, pause). A step of more than
 *   some 100 ms hands it to its solver as `signal`; a result with termination 'aborted' is then nothing special.
 * - `between(work, { fresh })`: runs an async function while no step runs (the step under way is interrupted first), tells its error, and wakes; for whatever
 *   recompiles or resets, such as a control of the panel that changes the mesh. `fresh: true` when it is another problem: plots and figures start anew.
 * - `signal`: fires when the demo is left.
 *
 * **What it gives back**: an object with
 *
 * - `async compile(backend)`: makes (again) the compiled functions for this engine, from the last known numbers, and calls drawFrom. Also called after
 *   a device loss, when the functions from before are dead (disposing them is harmless).
 * - `async step()`: one slice of solving; resolves with true while there is more to do, false to rest until wake(). With `readBack: false` on the GPU. One
 *   step takes about a frame, or longer if it hands on `interruption()` and the picture moves meanwhile.
 * - `async pace?()`: awaited before each step and not part of what is timed: for a demo that keeps time with the clock on the wall.
 * - `async remember?()`: brings the numbers from the device to the arrays (`functions.download()`), so that values() are the last known ones. The
 *   shell calls it between steps: now and then, when solving rests, before the engine changes, when the tab is hidden.
 * - `async reset?()`: back to the start; no step runs meanwhile.
 * - `frame?(seconds)`: before each drawn frame.
 * - `pointer?: { down(event, ray), move(event, ray), up(event, ray), click(event, ray) }`: `down` returns true (or a promise of it) when it takes the pointer, and
 *   then gets `move` and `up`, and the camera stands still. `click`: pressed and released in one place, whether taken or not (after `up`). `ray` is what pick() gives.
 * - `key?(event)`: true when it takes the key, which then does not move the camera. `keys?`: a sentence on keys and pointer for the reader.
 * - `files?: { accept, label, largest?, read(text, name) }`: dropped or chosen files as text; over `largest` bytes (64 MB by default) they are refused unread.
 * - `state()`: a plain object of figures, for tests: `await residuaDemos.state()` holds it as `demo`.
 * - `dispose()`: after letGo of everything (the shell does that).
 *
 * The shell draws and solves in two loops, which rest while the tab is hidden; switches engines and tells the difference; plots; tells errors; asks for
 * a new device after a loss. `window.residuaDemos` is the same for programs: see demos.js.
 */

/** `engine`: the one that it begins with, where the address does not say. */
/** @type {{ id: string, title: string, summary: string, source: string[], engine?: 'gpu' | 'cpu', load: () => Promise<{ open: (stage: import('./stage.js').Stage) => Promise<object> }> }[]} */
export const DEMOS = [
  {
    id: 'as-rigid-as-possible',
    title: 'As rigid as possible',
    summary: 'Take hold of a surface and pull: every vertex with its edges moves and turns as if it were rigid, as well as all of them can (Sorkine and Alexa 2007). Positions and rotations are unknowns of one least-squares problem; Levenberg-Marquardt takes a few iterations while you drag, from where the last ones ended.',
    source: ['as-rigid-as-possible/demo.js', 'as-rigid-as-possible/model.js', 'as-rigid-as-possible/handle.js', '../problems/as-rigid-as-possible.js'],
    load: () => import('./as-rigid-as-possible/demo.js'),
  },
  {
    id: 'developable',
    title: 'Developable icosphere',
    summary: 'A sphere can’t be unrolled flat. Minimising how far the normals around each vertex are from lying on one great circle (Stein, Grinspun and Crane 2018) makes it crease into pieces that can, while edges keep their lengths as well as they may. L-BFGS; the picture is drawn from the solver’s own buffer.',
    source: ['developable/demo.js', 'developable/model.js', '../energies/developable.js'],
    load: () => import('./developable/demo.js'),
  },
  {
    id: 'cloth',
    title: 'Cloth',
    summary: 'A hanging cloth of up to a million vertices. Each time step of backward Euler is a least-squares problem, solved by a step or two of Levenberg-Marquardt: inertia pulls each vertex to where it would go by itself, springs pull it back. Targets, wind and normals are computed on the device, and the picture is drawn from the solver’s own buffer.',
    source: ['cloth/demo.js', 'cloth/model.js', 'cloth/prediction.js', 'cloth/prediction-on-device.js', 'cloth/normals.js', 'cloth/fabric.js'],
    load: () => import('./cloth/demo.js'),
  },
  {
    id: 'sketch',
    title: '2-D sketch',
    summary: 'Points, lines, circles and arcs with constraints that are solved while you drag: coincident, horizontal, vertical, parallel, perpendicular, equal, tangent, midpoint, fixed, distances, radii and angles. What can still move is blue, what is determined no longer: it is the null space of the Jacobian that tells. Constraints that say nothing new, or contradict others, are named.',
    source: ['sketch/demo.js', 'sketch/model.js', 'sketch/diagnosis.js', 'sketch/sketch.js', 'sketch/tools.js', 'sketch/view.js', 'sketch/annotations.js', 'sketch/bars.js', 'sketch/examples.js'],
    engine: 'cpu',
    load: () => import('./sketch/demo.js'),
  },
  {
    id: 'pose-graph',
    title: 'Pose graph',
    summary: 'A vehicle drove, and measured each move and the places that it came by again; its own reckoning has drifted. Levenberg-Marquardt finds the path that agrees best with all measurements, weighted by their information matrices, and the tangle unfolds. Drop a .g2o file, in space or in the plane, or add wrong loop closures and see what a robust loss is good for.',
    source: ['pose-graph/demo.js', 'pose-graph/model.js', '../problems/pose-graph.js', '../problems/g2o.js', 'pose-graph/graphs.js', 'pose-graph/picture.js'],
    load: () => import('./pose-graph/demo.js'),
  },
  {
    id: 'curve-fitting',
    title: 'Curve fitting',
    summary: 'Click to add points, drag them, and choose a model or type one; the curve follows, with its residuals and the standard errors of its parameters. Then the same for a hundred thousand pixels at once: fluorescence lifetimes of an image, a fit of three parameters a pixel.',
    source: ['curve-fitting/demo.js', 'curve-fitting/model.js', 'curve-fitting/expression.js', 'curve-fitting/models.js', 'curve-fitting/lifetimes.js'],
    load: () => import('./curve-fitting/demo.js'),
  },
];

const ENGINES = ['gpu', 'cpu'];

/**
 * What an address asks for by `?demo=…&backend=…`: both undefined where it does not say, or asks for what there is none of, which `wrong` then tells.
 * @param {URLSearchParams} query
 */
export function askedFor(query) {
  const wrong = [];
  const known = (name, what, ids) => {
    const asked = query.get(name) ?? undefined;
    if (asked === undefined || ids.includes(asked)) return asked;
    wrong.push(`The address asks for the ${what} "${asked.length > 24 ? `${asked.slice(0, 24)}…` : asked}", and there is none; it may be ${ids.join(', ')}.`);
    return undefined;
  };
  const id = known('demo', 'demo', DEMOS.map((demo) => demo.id));
  return { id, backend: known('backend', 'engine', ENGINES), wrong: wrong.length === 0 ? null : wrong.join(' ') };
}
