/**
 * The registry of demos, in the order of the page, and the interface of a demo.
 *
 * A demo is a folder `www/demos/ID/` with two modules. `model.js` builds the residua Problem; it does not use the page and is tested in Node.
 * `demo.js` exports `async function open(stage)`. `demos/?demo=ID` selects a demo, and `&backend=gpu|cpu` its engine. Modules that several
 * demos use are in this folder (surface.js draws a mesh, handles.js points) or in www/mesh, www/problems, www/energies.
 *
 * **The argument of open()** (`stage`, the class Stage of stage.js; fields may be read at any time, and some change after a device loss):
 *
 * - `three`: the module three/webgpu (a demo may import 'three/webgpu' and 'three/tsl' itself); `scene`, `camera`, `controls` (OrbitControls),
 *   `renderer` (WebGPURenderer on the device of `context`, or three's WebGL2 fallback where there is none). `renderer` and `canvas` are new
 *   after a device loss, the scene stays.
 * - `context`: the GpuContext, null without WebGPU. `backend`: 'gpu' or 'cpu', the current engine.
 * - `panel`: a lil-gui of the demo. Controllers are added in open(); it is emptied when the demo is left.
 * - `drawFrom(attribute, functions, parameters)`: from now on the three BufferAttribute (Float32Array) shows the numbers of that ParameterArray
 *   in `functions.parameterBuffer`, on the GPU, without read-back; a later call with other functions replaces it. With functions on the CPU
 *   they are copied from `parameters.values()` after each step. It must be called before the functions of the previous call are disposed.
 *   `attribute.array` is not kept up to date on the GPU.
 * - `letGo(attribute)`: three draws from its own buffer again (with the numbers of attribute.array). It must be called before a geometry is
 *   disposed, and before functions are disposed without a replacement.
 * - `flat(height)`: a 2-D demo; an orthographic camera over the x-y plane that shows `height` units, without rotation. `overlay`: an element of
 *   the canvas's size above it, transparent to the pointer, for SVG or text. `look({ center, radius })`: sets the camera so that a sphere is
 *   completely visible (also the action of key 0).
 * - `appearance`: the colours of www/viewer/appearance.js for the page's theme; `onAppearance(callback)`: called at once and on changes.
 * - `wish(name, otherwise)`: the value of `?name=…` in the page's address, or `otherwise`; a number where `otherwise` is one. It is unchecked.
 * - `redraw()`: draws one frame. While steps are running every frame is drawn; else only after this call, or when the camera moves.
 * - `pick(event)`: a three Raycaster through the pointer.
 * - `plotCost(iteration, cost)`: `iteration` counts within the current step's solve; the shell adds the earlier ones. It can be passed to a
 *   solver as onIteration, or called once per step with the result: `plotCost(result.iterations, result.finalCost)`. Without it the page shows
 *   no cost and no time per iteration.
 * - `say(text)`: sets the line under the picture. `fail(error)`: shows an error; the demo continues.
 * - `wake()`: starts the steps again (for example after a drag). It is cheap and can be called at every event.
 * - `interruption()`: an AbortSignal for the running step, which fires when the shell needs the engine (switch, reset, leaving, pause). A step of
 *   more than about 100 ms passes it to its solver as `signal`; a result with termination 'aborted' is then normal.
 * - `between(work, { fresh })`: runs an async function while no step runs (the running step is interrupted first), shows its error, and wakes;
 *   for work that recompiles or resets, such as a control of the panel that changes the mesh. `fresh: true` for another problem: plots and
 *   statistics start anew.
 * - `signal`: fires when the demo is left.
 *
 * **The result of open()**: an object with
 *
 * - `async compile(backend)`: compiles the functions for this engine, from the last known numbers, and calls drawFrom. Also called after a
 *   device loss, when the previous functions are unusable (disposing them is safe).
 * - `async step()`: one slice of solving; resolves with true while there is more to do, and with false to rest until wake(). With
 *   `readBack: false` on the GPU. A step takes about a frame, or longer if it uses `interruption()` and the picture moves meanwhile.
 * - `async pace?()`: awaited before each step and not timed: for a demo that follows real time.
 * - `async remember?()`: reads the numbers from the device to the arrays (`functions.download()`), so that values() are up to date. The shell
 *   calls it between steps: at intervals, when solving rests, before the engine changes, when the tab is hidden.
 * - `async reset?()`: returns to the start; no step runs meanwhile.
 * - `frame?(seconds)`: called before each drawn frame.
 * - `pointer?: { down(event, ray), move(event, ray), up(event, ray), click(event, ray) }`: `down` returns true (or a promise of it) to capture the
 *   pointer, and then gets `move` and `up`, while the camera does not move. `click`: pressed and released at one place, captured or not (after
 *   `up`). `ray` is the result of pick().
 * - `key?(event)`: returns true for a key that it handles, which then does not move the camera. `keys?`: a sentence on keys and pointer.
 * - `files?: { accept, label, largest?, read(text, name) }`: dropped or selected files as text; files above `largest` bytes (64 MB by default)
 *   are refused unread.
 * - `state()`: a plain object for tests: `await residuaDemos.state()` has it as `demo`.
 * - `dispose()`: frees everything, after letGo of all attributes (the shell calls it).
 *
 * The shell draws and solves in two loops, which pause while the tab is hidden. It switches engines and shows their ratio, plots, shows errors,
 * and requests a new device after a loss. `window.residuaDemos` offers the same to programs: see demos.js.
 */

/** `engine`: the initial engine, where the address does not name one. */
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
    id: 'elastic-body',
    title: 'Elastic body',
    summary: 'A bar of a neo-Hookean material falls over an obstacle, and bends where you drag it. A time step of backward Euler is one minimisation by projected Newton, with exact second derivatives of the energy of each triangle; barriers as in incremental potential contact (Li et al. 2020) keep all vertices outside of floor, walls and obstacle. Parts of the body do not touch one another. Newton’s method for so few vertices computes on the CPU, whichever engine is chosen.',
    source: ['elastic-body/demo.js', 'elastic-body/model.js', 'elastic-body/picture.js'],
    engine: 'cpu',
    load: () => import('./elastic-body/demo.js'),
  },
  {
    id: 'sketch',
    title: '2-D sketch',
    summary: 'Points, lines, circles and arcs with constraints that are solved while you drag: coincident, horizontal, vertical, parallel, perpendicular, equal, tangent, midpoint, fixed, distances, radii and angles. What can still move is blue, what is determined no longer: it is the null space of the Jacobian that tells. Constraints that say nothing new, or contradict others, are named.',
    source: ['sketch/demo.js', 'sketch/model.js', 'sketch/diagnosis.js', 'sketch/sketch.js', 'sketch/tools.js', 'sketch/view.js', 'sketch/annotations.js', 'sketch/bars.js', 'sketch/examples.js', 'arithmetic.js'],
    engine: 'cpu',
    load: () => import('./sketch/demo.js'),
  },
  {
    id: 'pose-graph',
    title: 'Pose graph',
    summary: 'A vehicle drove, and measured each move and the places that it came by again; its own reckoning has drifted. Levenberg-Marquardt finds the path that agrees best with all measurements, weighted by their information matrices, and the tangle unfolds. Drop a .g2o file, in space or in the plane, or add wrong loop closures and see what a robust loss is good for.',
    source: ['pose-graph/demo.js', 'pose-graph/model.js', '../problems/pose-graph.js', '../problems/g2o.js', 'pose-graph/graphs.js', 'pose-graph/picture.js', 'arithmetic.js'],
    load: () => import('./pose-graph/demo.js'),
  },
  {
    id: 'image-registration',
    title: 'Registration of a picture',
    summary: 'Drag, turn and stretch the white frame through which a camera sees the scene: Levenberg-Marquardt follows by the pictures alone. Eight parameters, an affine map with gain and offset, and a residual for each of 6,912 pixels, which reads the scene between its pixels by a cubic spline. Where it loses the place, blurred pictures bring it back; they replace the sharp ones without a compile.',
    source: ['image-registration/demo.js', 'image-registration/model.js', 'image-registration/picture.js', 'image-registration/view.js'],
    load: () => import('./image-registration/demo.js'),
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
 * The demo and engine of an address, `?demo=…&backend=…`: undefined where it does not name them, or names unknown ones, which `wrong`
 * reports.
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
