/**
 * The jobs of the soak. `open(backend)` gives `{ step(k), bytes(), dispose() }`: a step does one piece of work and returns a number that must be the same at every
 * step of a job that repeats (`repeats`); `bytes()` is the memory on the device.
 */
import { GpuCompiledFunctions, GpuContext, levenbergMarquardt, Problem } from 'residua';
import { Device, spec } from 'residua/tensor';
import { seededNoise } from '../problems/seeded-noise.js';

const SAMPLES = 200;

/** A decay through noisy measurements. */
function decay() {
  const { normal } = seededNoise(5);
  const times = Array.from({ length: SAMPLES }, (_, i) => i / 50);
  const problem = new Problem();
  const curve = problem.parameters('curve', { dim: 3, values: [1, 1, 0] });
  problem.residuals('decay', {
    inputs: { c: curve.shared(), t: problem.data(times), y: problem.data(times.map((t) => 3 * Math.exp(-0.7 * t) + 0.5 + 0.05 * normal())) },
    residual: ({ c, t, y }) => c.x.mul(c.y.mul(t).neg().exp()).add(c.z).sub(y),
  });
  return { problem, curve };
}

const contextOf = async (backend) => (backend === 'gpu' ? GpuContext.default() : null);
const bytesOf = (context) => context?.stats().bufferBytes ?? 0;
const compiled = (problem, backend, context) => GpuCompiledFunctions.compile(problem, { backend, context: context ?? undefined });

async function solves(backend) {
  const context = await contextOf(backend);
  const { problem, curve } = decay();
  const functions = await compiled(problem, backend, context);
  return {
    async step() {
      curve.set([1, 1, 0]);
      return (await levenbergMarquardt(functions)).finalCost;
    },
    bytes: () => bytesOf(context),
    dispose: () => functions.dispose(),
  };
}

/** Units of the recurrent net, and its tokens. */
const [UNITS, TOKENS] = [64, 96];

/** A recurrent net with made weights: each token is the likeliest one after the state, and goes into the next. */
async function tokens(backend) {
  const device = await Device.create({ backend });
  const { normal } = seededNoise(9);
  const made = (rows, columns, scale) => device.tensor(Float32Array.from({ length: rows * columns }, () => scale * normal()), [rows, columns]);
  const [recurrent, table, output] = [made(UNITS, UNITS, 1 / Math.sqrt(UNITS)), made(TOKENS, UNITS, 1), made(UNITS, TOKENS, 1)];
  const state = device.zeros([1, UNITS]);
  const program = await device.compile({ token: spec('i32', [1]) }, ({ token }) => {
    const next = state.matmul(recurrent).add(table.indexSelect(token)).tanh();
    return { state: next, token: next.matmul(output).argmax(1) };
  });
  let token = 1, before = null;
  return {
    async step() {
      const { state: next, token: found } = await program.run({ token: [token] });
      const [numbers, [likeliest]] = await device.read(next, found);
      // The net's own memory: what was computed is what the next step begins with.
      state.set(numbers);
      before = token;
      token = likeliest;
      if (!(token >= 0 && token < TOKENS)) throw new Error(`token ${token} after ${before} is none`);
      return token;
    },
    bytes() {
      const { tensorBytes, programBytes, pooledBytes } = device.stats();
      return tensorBytes + programBytes + pooledBytes;
    },
    dispose: () => device.dispose(),
  };
}

const POINTS = 60;

/** A chain that waves: the directions of its links are set at each frame, and its places are solved for and drawn. */
async function frames(backend, { canvas, nextFrame }) {
  const context = await contextOf(backend);
  const problem = new Problem();
  const chain = problem.parameters('chain', { dim: 2, values: new Float64Array(2 * POINTS).fill(0.5) });
  chain.setConstant([0]);
  const links = problem.residuals('links', {
    inputs: { ends: chain.at(Array.from({ length: POINTS - 1 }, (_, i) => [i, i + 1]).flat(), 2), angle: problem.data(new Float64Array(POINTS - 1)) },
    residual: ({ ends: [a, b], angle }) => [b.x.sub(a.x).mul(POINTS).sub(angle.cos().mul(0.5)), b.y.sub(a.y).mul(POINTS).sub(angle.sin().mul(0.5))],
  });
  const functions = await compiled(problem, backend, context);
  const paper = canvas.getContext('2d');
  return {
    async step(k) {
      links.setData('angle', Array.from({ length: POINTS - 1 }, (_, i) => 2 * Math.sin(k / 20 + i / 9)));
      const { finalCost } = await levenbergMarquardt(functions);
      const places = chain.values(), { width, height } = canvas;
      paper.clearRect(0, 0, width, height);
      paper.strokeStyle = getComputedStyle(canvas).color;
      paper.beginPath();
      for (let i = 0; i < POINTS; i++) paper.lineTo(places[2 * i] * width, (1 - places[2 * i + 1]) * height);
      paper.stroke();
      await nextFrame();
      return finalCost;
    },
    bytes: () => bytesOf(context),
    dispose: () => functions.dispose(),
  };
}

/** A problem is compiled, solved and disposed, then a program of tensors. */
async function compiles(backend) {
  const context = await contextOf(backend);
  const device = await Device.create({ backend });
  return {
    async step() {
      const { problem } = decay();
      const functions = await compiled(problem, backend, context);
      const { finalCost } = await levenbergMarquardt(functions);
      functions.dispose();
      const program = await device.compile({ x: spec('f32', [8, 8]) }, ({ x }) => x.matmul(x).exp().sum());
      const sum = await (await program.run({ x: new Float32Array(64).fill(0.1) })).data();
      program.dispose();
      return finalCost + sum[0];
    },
    bytes() {
      const { tensorBytes, programBytes, pooledBytes } = device.stats();
      return bytesOf(context) + tensorBytes + programBytes + pooledBytes;
    },
    dispose: () => device.dispose(),
  };
}

/**
 * Of what a compile makes in WebAssembly, one or two kilobytes are freed when the browser's collector has run, not by dispose(): at most so many wait. They would be
 * some 15 MB after 10,000 compiles if they were never freed.
 */
const AWAITS_COLLECTION = 2 ** 22;

/** Jobs in their order, with how often each is done. `slack`: how much WebAssembly's memory may grow in the second half. */
export const JOBS = [
  { id: 'solves', title: 'Solves of a curve', count: 10_000, repeats: true, open: solves },
  { id: 'tokens', title: 'Tokens of a recurrent net', count: 10_000, repeats: false, open: tokens },
  { id: 'frames', title: 'Frames of a chain', count: 10_000, repeats: false, open: frames },
  { id: 'compiles', title: 'Compile, solve, dispose', count: 10_000, repeats: true, slack: AWAITS_COLLECTION, open: compiles },
];

/** How often each job is done by an address, `?solves=100`; a number that is none is told in `wrong`. */
export function countsOf(query) {
  const wrong = [];
  const counts = Object.fromEntries(JOBS.map(({ id, count }) => {
    const asked = query.get(id);
    if (asked === null) return [id, count];
    const value = Number(asked);
    if (Number.isInteger(value) && value >= 0 && value <= 1e7 && asked !== '') return [id, value];
    wrong.push(`The address asks for ${id}=${asked.slice(0, 24)}; it takes a whole number from 0 to 10,000,000.`);
    return [id, count];
  }));
  return { counts, wrong };
}
