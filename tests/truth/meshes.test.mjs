// Mesh energies on the collection's meshes, 100 iterations on both engines: their costs end within 0.1 % of each other.
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
  const { parseObj } = await import('/mesh/obj.js');
  const { perturb } = await import('/mesh/perturb.js');
  const { meshTopology } = await import('/mesh/topology.js');
  const { endVertices, rigidProblem } = await import('/problems/as-rigid-as-possible.js');
  const { springsProblem } = await import('/problems/springs.js');

  const allIterations = { maxIterations, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0 };
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

  /** The mesh as the demo has it: in the unit sphere, in single precision, so that both engines start from the same numbers. */
  function unitMesh(obj) {
    const { positions, triangles } = parseObj(obj);
    const unit = intoUnitSphere(positions, boundingSphere(positions)).map(Math.fround);
    return { positions: unit, triangles, topology: meshTopology(unit.length / 3, triangles) };
  }

  const builders = {
    /** One end is held, the other turned by a right angle about the mesh's longest axis and moved along it. */
    'as-rigid-as-possible': ({ positions, triangles, topology }) => {
      const spans = [0, 1, 2].map((d) => Math.max(...positions.filter((_, i) => i % 3 === d)) - Math.min(...positions.filter((_, i) => i % 3 === d)));
      const axis = spans.indexOf(Math.max(...spans)), [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
      const { low, high } = endVertices(positions, axis);
      const at = (vertex) => Array.from(positions.subarray(3 * vertex, 3 * vertex + 3));
      const targets = [...low.map(at), ...high.map((vertex) => {
        const turned = at(vertex);
        [turned[u], turned[v]] = [-turned[v], turned[u]];
        turned[axis] += 0.2;
        return turned.map(Math.fround);
      })];
      return rigidProblem({ positions, triangles }, topology, { vertices: [...low, ...high], targets }).problem;
    },
    /** Every spring wants to be of the mean length. */
    'springs with rest lengths': ({ positions, topology }) => springsProblem(positions, topology.edges, Math.fround(mean(edgeLengths(positions, topology.edges)))).problem,
    /** From the start of the demo: a mesh that has no energy is moved a little first. */
    'developability': ({ positions, triangles, topology }, energy) => {
      const restLengths = edgeLengths(positions, topology.edges);
      const moved = energy <= 1e-9 ? perturb(positions, 0.02 * mean(restLengths)) : positions;
      return developableProblem({ positions: moved, triangles }, topology, restLengths).problem;
    },
  };

  window.deform = async (name, method, obj) => {
    const mesh = unitMesh(obj);
    const build = builders[name];
    let energy = Infinity;
    if (name === 'developability') {
      const functions = await GpuCompiledFunctions.compile(build(mesh, energy), { backend: 'cpu' });
      energy = (await functions.evaluateSumWithGradient()).value / functions.numResiduals;
      functions.dispose();
    }
    const runs = {};
    for (const backend of ['cpu', 'gpu']) {
      const functions = await GpuCompiledFunctions.compile(build(mesh, energy), { backend });
      try {
        const run = async () => {
          if (method === 'lm') return levenbergMarquardt(functions, allIterations);
          return lbfgs(functions, { ...allIterations, objective: name === 'developability' ? 'sum' : 'least-squares' });
        };
        const { iterations, initialCost, finalCost, termination, computationTime, x } = await run();
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

const CASES = [
  ['as-rigid-as-possible', 'lm'], ['as-rigid-as-possible', 'lbfgs'], ['springs with rest lengths', 'lm'], ['springs with rest lengths', 'lbfgs'], ['developability', 'lbfgs'],
];

describe('mesh energies end at the same cost on both engines', () => {
  for (const [name, method] of CASES) {
    test(`${name}, ${method}, on the collection`, async (t) => {
      if (!hasData(t, 'meshes')) return;
      const apart = [];
      for (const file of listData('meshes', '.obj')) {
        const { cpu, gpu } = await page.evaluate(([name, method, obj]) => window.deform(name, method, obj), [name, method, readData(`meshes/${file}`)]);
        const difference = Math.abs(gpu.finalCost / cpu.finalCost - 1);
        const run = ({ finalCost, iterations, termination, seconds }) => `${finalCost.toPrecision(8)} (${iterations} it., ${termination}, ${seconds.toFixed(1)} s)`;
        const line = `${name}, ${method}, ${file}, ${cpu.residuals} residuals: from ${cpu.initialCost.toPrecision(6)} to CPU ${run(cpu)}, GPU ${run(gpu)}, apart ${difference.toExponential(1)}`;
        console.log(line);
        assert.deepEqual([cpu.backend, gpu.backend, gpu.single], ['cpu', 'gpu', true], line);
        assert.ok(cpu.finalCost < cpu.initialCost, line);
        if (!(difference < AGREEMENT)) apart.push(line);
      }
      assert.deepEqual(apart, []);
    });
  }
});
