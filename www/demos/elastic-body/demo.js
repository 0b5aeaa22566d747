/**
 * An elastic body that falls, bends and is dragged: a time step of backward Euler is one call of `newton`, whose steps are Newton's with each triangle's Hessian
 * projected. The second derivatives are exact, of energies that are written as expressions; `newton` computes on the CPU whichever engine evaluates.
 */
import { GpuCompiledFunctions, newton } from 'residua';
import { bar, BOX, clearance, elasticBody, GRAVITY, STEP } from './model.js';
import { BodyPicture } from './picture.js';

const SIZES = { '91 vertices': { columns: 12, rows: 6 }, '175 vertices': { columns: 24, rows: 6 }, '637 vertices': { columns: 48, rows: 12 }, '2,425 vertices': { columns: 96, rows: 24 } };
const STANDARD = '175 vertices';
const BODY = { width: 1.2, height: 0.3, x: -0.75, y: 0.95 };
const STIFFNESS = { soft: 1e4, middle: 4e4, stiff: 2e5 };
/** What a time step is solved to: a millionth of the energy moves nothing that is seen. */
const SOLVE = { costTolerance: 1e-6, maxIterations: 40 };
/** The pointer takes the vertices this near to the nearest one, and pulls no further than this ahead of them, in metres. */
const REACH = 0.09, AHEAD = 0.25;
/** Below this speed in m/s for so many steps the body is at rest. */
const AT_REST = { speed: 2e-3, steps: 20 };
/** A step that is later than this does not catch up: the body slows down. */
const LATEST_MS = 100;
const PUSH = { ArrowLeft: [-1.5, 0], ArrowRight: [1.5, 0], ArrowUp: [0, 3], ArrowDown: [0, -1.5] };

/** @param {import('../stage.js').Stage} stage */
export async function open(stage) {
  const wished = stage.wish('size', STANDARD);
  const choices = { size: Object.hasOwn(SIZES, wished) ? wished : STANDARD, stiffness: STIFFNESS.middle, gravity: GRAVITY, triangles: true };
  let mesh = null, body = null, picture = null, functions = null;
  /** What the pointer holds: vertices, their offsets from the pointer, and where it is. */
  let held = null;
  let quiet = 0, due = 0, told = { energy: NaN, iterations: 0, ms: NaN, clearance: NaN, steps: 0 };

  function build() {
    functions?.dispose();
    functions = null;
    held = null;
    mesh = bar({ ...SIZES[choices.size], ...BODY });
    body = elasticBody(mesh, choices.stiffness);
    picture?.dispose();
    picture = new BodyPicture(stage, mesh);
    picture.showTriangles(choices.triangles);
    picture.show(body.places.values(), null);
    told = { energy: NaN, iterations: 0, ms: NaN, clearance: clearance(mesh.positions, mesh.boundary), steps: 0 };
  }

  function wake() {
    quiet = 0;
    stage.wake();
  }

  /** Goals of what is held, not far ahead of where it is. */
  function pull() {
    if (held === null) return;
    const x = body.places.values(), { vertices, offsets, at } = held;
    const [vx, vy] = [x[2 * vertices[0]] + offsets[0][0], x[2 * vertices[0] + 1] + offsets[0][1]];
    const share = Math.min(1, AHEAD / Math.hypot(at[0] - vx, at[1] - vy));
    const [gx, gy] = [vx + share * (at[0] - vx), vy + share * (at[1] - vy)];
    body.hold(vertices, offsets.map(([dx, dy]) => [gx - dx, gy - dy]));
  }

  function letGo() {
    held = null;
    body.hold([], []);
    wake();
  }

  const demo = {
    async compile() {
      const before = functions;
      // A system of so few vertices is factorised before a GPU has answered once.
      functions = await GpuCompiledFunctions.compile(body.problem, { backend: 'cpu', signal: stage.signal });
      before?.dispose();
      due = 0;
      stage.say(`${(mesh.positions.length / 2).toLocaleString('en-US')} vertices, ${(mesh.triangles.length / 3).toLocaleString('en-US')} triangles. Drag the body.`);
    },
    /** Real time, as far as the steps are fast enough. */
    async pace() {
      const now = performance.now();
      if (now - due > LATEST_MS) due = now;
      if (due > now) await new Promise((resolve) => setTimeout(resolve, due - now));
      due += 1000 * STEP;
    },
    async step() {
      if (functions === null) return false;
      pull();
      const end = body.begin(choices.gravity);
      const result = await newton(functions, SOLVE);
      end();
      const x = body.places.values();
      told = { energy: result.finalCost, iterations: result.iterations, ms: result.computationTime, clearance: clearance(x, mesh.boundary), steps: told.steps + 1 };
      stage.plotCost(result.iterations, result.finalCost);
      picture.show(x, held === null ? null : [[x[2 * held.vertices[0]], x[2 * held.vertices[0] + 1]], held.at]);
      stage.say(`Step ${told.steps}: ${told.iterations} iterations of Newton's method in ${told.ms.toPrecision(3)} ms; ${(1000 * told.clearance).toFixed(1)} mm from what is nearest.`);
      const speed = body.velocity.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      quiet = held === null && speed < AT_REST.speed ? quiet + 1 : 0;
      return quiet < AT_REST.steps;
    },
    reset() {
      held = null;
      body.reset();
      told.steps = quiet = 0;
      picture.show(body.places.values(), null);
    },
    pointer: {
      down(_, { ray }) {
        const x = body.places.values(), at = [ray.origin.x, ray.origin.y];
        const distance = (v) => Math.hypot(x[2 * v] - at[0], x[2 * v + 1] - at[1]);
        const all = Array.from({ length: x.length / 2 }, (__, v) => v);
        const nearest = all.reduce((best, v) => (distance(v) < distance(best) ? v : best), 0);
        if (distance(nearest) > REACH) return false;
        const vertices = [nearest, ...all.filter((v) => v !== nearest && Math.hypot(x[2 * v] - x[2 * nearest], x[2 * v + 1] - x[2 * nearest + 1]) < REACH)];
        held = { vertices, at, offsets: vertices.map((v) => [at[0] - x[2 * v], at[1] - x[2 * v + 1]]) };
        wake();
        return true;
      },
      move(_, { ray }) {
        if (held === null) return;
        held.at = [ray.origin.x, ray.origin.y];
        wake();
      },
      up() {
        if (held !== null) letGo();
      },
    },
    keys: 'Drag the body with the pointer. Keys: arrows throw it to a side, upwards or down.',
    key({ key }) {
      if (!(key in PUSH)) return false;
      body.push(...PUSH[key]);
      wake();
      return true;
    },
    state: () => ({ ...told, held: held !== null, vertices: mesh.positions.length / 2, positions: () => body.places.values() }),
    dispose() {
      functions?.dispose();
      picture?.dispose();
    },
  };

  /** Shows the whole box, also in a picture that is higher than wide. */
  function fit() {
    const { clientWidth, clientHeight } = stage.overlay;
    const margin = 0.1, height = Math.max(BOX.height + 2 * margin, (BOX.width + margin) * (clientHeight / Math.max(1, clientWidth)));
    stage.look({ center: [0, height / 2 - margin, 0], radius: 1 });
    stage.flat(height);
  }
  const resized = new ResizeObserver(fit);
  resized.observe(stage.overlay);
  stage.signal.addEventListener('abort', () => resized.disconnect());
  fit();
  build();
  stage.panel.add(choices, 'size', Object.keys(SIZES)).onChange(() =>
    stage.between(async () => {
      build();
      await demo.compile();
    }, { fresh: true }));
  stage.panel.add(choices, 'stiffness', STIFFNESS).onChange((young) => {
    body.setStiffness(young);
    wake();
  });
  stage.panel.add(choices, 'gravity', 0, 20, 0.1).onChange(wake);
  stage.panel.add(choices, 'triangles').onChange((shown) => picture.showTriangles(shown));
  return demo;
}
