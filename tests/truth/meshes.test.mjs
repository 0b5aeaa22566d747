// Mesh energies on the collection's meshes, at most 100 iterations on both engines: their costs end within 0.1 % of each other.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch } from '../chromium.mjs';
import { openBlankPage } from '../e2e/blank-page.mjs';
import { hasData, listData, readData } from '../shared-data.mjs';

const AGREEMENT = 1e-3;
const ITERATIONS = 100;

let browser, page;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
  await page.evaluate(define, ITERATIONS);
});
after(() => browser.close());

async function define(maxIterations) {
  const { GpuCompiledFunctions, lbfgs, levenbergMarquardt } = window.residua;
  const { developableProblem, edgeLengths } = await import('/energies/developable.js');
  const { boundingSphere, intoUnitSphere } = await import('/mesh/bounding-sphere.js');
  const { icosphere } = await import('/mesh/icosphere.js');
  const { parseObj } = await import('/mesh/obj.js');
  const { perturb } = await import('/mesh/perturb.js');
  const { meshTopology } = await import('/mesh/topology.js');
  const { endVertices, rigidProblem } = await import('/problems/as-rigid-as-possible.js');
  const { springsProblem } = await import('/problems/springs.js');

  /**
   * The same method on both engines: a factorisation, which the GPU has not, is 0.2 % further after as many iterations than conjugate gradients are.
   * Levenberg-Marquardt may be done before; L-BFGS is stopped on its way by the count alone.
   */
  const methods = {
    lm: (functions) => levenbergMarquardt(functions, { linearSolver: 'pcg', maxIterations, costTolerance: 1e-6, gradientTolerance: 0, parameterTolerance: 0 }),
    lbfgs: (functions, objective) => lbfgs(functions, { objective, maxIterations, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0 }),
  };
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

  /** The mesh as the demo has it, in single precision, so that both engines start from the same numbers: its own icosphere, or a file in the unit sphere. */
  function unitMesh(obj) {
    const { positions, triangles } = obj === null ? icosphere(4) : parseObj(obj);
    const unit = (obj === null ? perturb(positions) : intoUnitSphere(positions, boundingSphere(positions))).map(Math.fround);
    return { positions: unit, triangles, topology: meshTopology(unit.length / 3, triangles) };
  }

  /** The ends of the mesh along its longest axis, where they are. */
  function ends(positions) {
    const coordinates = [0, 1, 2].map((d) => positions.filter((_, i) => i % 3 === d));
    const spans = coordinates.map((along) => along.reduce((a, b) => Math.max(a, b)) - along.reduce((a, b) => Math.min(a, b)));
    const axis = spans.indexOf(Math.max(...spans));
    return { axis, ...endVertices(positions, axis) };
  }

  const energies = {
    /** One end is held, the other turned by an eighth of a circle about the long axis and pulled along it. */
    'as-rigid-as-possible': {
      objective: 'least-squares',
      build: ({ positions, triangles, topology }) => {
        const { axis, low, high } = ends(positions);
        const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
        const at = (vertex) => Array.from(positions.subarray(3 * vertex, 3 * vertex + 3));
        const targets = [...low.map(at), ...high.map((vertex) => {
          const to = at(vertex);
          [to[u], to[v]] = [(to[u] - to[v]) * Math.SQRT1_2, (to[u] + to[v]) * Math.SQRT1_2];
          to[axis] += 0.2;
          return to.map(Math.fround);
        })];
        return rigidProblem({ positions, triangles }, topology, { vertices: [...low, ...high], targets }).problem;
      },
    },
    /** Stretched by half along the long axis and held at both ends, every spring as long as the edge was. Held, since free springs on a mesh can all come to rest. */
    'springs with rest lengths': {
      objective: 'least-squares',
      build: ({ positions, topology }) => {
        const { axis, low, high } = ends(positions);
        const stretched = positions.map((value, i) => Math.fround(i % 3 === axis ? 1.5 * value : value));
        const { problem, vertices } = springsProblem(stretched, topology.edges, edgeLengths(positions, topology.edges).map(Math.fround));
        vertices.setConstant([...low, ...high]);
        return problem;
      },
    },
    /** From the start of the demo: a mesh that has no energy is moved a little first. */
    developability: {
      objective: 'sum',
      build: async ({ positions, triangles, topology }) => {
        const restLengths = edgeLengths(positions, topology.edges);
        const functions = await GpuCompiledFunctions.compile(developableProblem({ positions, triangles }, topology, restLengths).problem, { backend: 'cpu' });
        const { value } = await functions.evaluateSumWithGradient();
        functions.dispose();
        const start = value <= 1e-9 * functions.numResiduals ? perturb(positions, 0.02 * mean(restLengths)).map(Math.fround) : positions;
        return developableProblem({ positions: start, triangles }, topology, restLengths).problem;
      },
    },
  };

  window.deform = async (name, method, obj) => {
    const mesh = unitMesh(obj);
    const { build, objective } = energies[name];
    const runs = {};
    for (const backend of ['cpu', 'gpu']) {
      const functions = await GpuCompiledFunctions.compile(await build(mesh), { backend });
      try {
        const { iterations, initialCost, finalCost, termination, computationTime, x } = await methods[method](functions, objective);
        // On the device they have nothing else.
        const single = x.every((value) => Math.fround(value) === value);
        runs[backend] = { single, backend: functions.backend, residuals: functions.numResiduals, iterations, initialCost, finalCost, termination, seconds: computationTime / 1000 };
      } finally {
        functions.dispose();
      }
    }
    return runs;
  };
}

/**
 * L-BFGS has no manifolds, which rigid rotations need. The demo's own mesh stands for its start. `apart`: where the two engines part ways. These problems have
 * many valleys close to each other, and the way into one is chaotic: moving the start by 1e-7 changes the CPU's own end by 0.1 % and 0.3 %. On a GPU by NVIDIA,
 * the GPU ended 0.28 % and 13 % below the CPU in the first two, and 0.45 % below it in the third. They are told and not judged. `software`: what a software
 * adapter is given, where a solve on the device takes minutes.
 */
const CASES = [
  { name: 'as-rigid-as-possible', method: 'lm', apart: ['spot.obj'], software: [] },
  { name: 'springs with rest lengths', method: 'lbfgs', apart: [], software: ['cloth.obj'] },
  { name: 'developability', method: 'lbfgs', icosphere: true, apart: ['bunnyhead.obj', 'cloth.obj'], software: ['icosphere'] },
];

describe('mesh energies end at the same cost on both engines', () => {
  for (const { name, method, icosphere = false, apart: known, software } of CASES) {
    test(`${name}, ${method}, on the collection`, async (t) => {
      if (!hasData(t, 'meshes')) return;
      const apart = [];
      const isSoftware = await page.evaluate(async () => (await window.residua.GpuContext.default()).adapter.isSoftware);
      if (isSoftware && software.length === 0) return t.skip(`${name}: ten thousand products take many minutes on a software adapter; cargo xtask test --hardware runs this`);
      if (isSoftware) console.log(`${name}: a software adapter, so only ${software.join(', ')}; cargo xtask test --hardware runs all meshes`);
      const files = [...icosphere ? ['icosphere'] : [], ...listData('meshes', '.obj')];
      for (const file of isSoftware ? software : files) {
        const obj = file === 'icosphere' ? null : readData(`meshes/${file}`);
        const { cpu, gpu } = await page.evaluate(([name, method, obj]) => window.deform(name, method, obj), [name, method, obj]);
        const difference = Math.abs(gpu.finalCost / cpu.finalCost - 1);
        const run = ({ finalCost, iterations, termination, seconds }) => `${finalCost.toPrecision(8)} (${iterations} it., ${termination}, ${seconds.toFixed(1)} s)`;
        const line = `${name}, ${method}, ${file}, ${cpu.residuals} residuals: from ${cpu.initialCost.toPrecision(6)} to CPU ${run(cpu)}, GPU ${run(gpu)}, apart ${difference.toExponential(1)}`;
        console.log(known.includes(file) ? `${line} (known to part ways)` : line);
        assert.deepEqual([cpu.backend, gpu.backend, gpu.single], ['cpu', 'gpu', true], line);
        assert.ok(cpu.finalCost < cpu.initialCost && gpu.finalCost < cpu.initialCost, line);
        if (!(difference < AGREEMENT) && !known.includes(file)) apart.push(line);
      }
      assert.deepEqual(apart, []);
    });
  }
});
