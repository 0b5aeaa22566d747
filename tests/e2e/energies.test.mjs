// Mesh energies: the GPU against the CPU, on an icosphere and on the meshes of the collection.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const collection = `${root}../shared/data/meshes`;

// The package's promise, relative to the largest entry; every entry is a sum of a few tens of terms, each rounded at 6e-8.
const VALUES = 1e-5;
const DERIVATIVES = 1e-4;

let browser, blank, page;
before(async () => {
  browser = await launch();
  blank = await openBlankPage(browser);
  page = blank.page;
  await page.evaluate(defineEnergies);
});
after(() => browser.close());

/** In the page: `window.compare(name, obj)` gives the differences of an energy on a mesh. */
async function defineEnergies() {
  const { GpuCompiledFunctions, Problem, geometry } = window.residua;
  const { icosphere } = await import('/mesh/icosphere.js');
  const { parseObj } = await import('/mesh/obj.js');
  const { perturb } = await import('/mesh/perturb.js');
  const { meshTopology } = await import('/mesh/topology.js');
  const { developableProblem, edgeLengths } = await import('/energies/developable.js');

  const onEdges = (topology, problem, vertices, residual, data = {}) =>
    problem.residuals('edges', { inputs: { ends: vertices.at(topology.edges, 2), ...data }, residual });

  /** The two triangles at each inner edge: ends, then the opposite corners. */
  function hinges(triangles) {
    const opposite = new Map();
    for (let t = 0; t < triangles.length; t += 3) {
      for (let k = 0; k < 3; k++) opposite.set(`${triangles[t + k]},${triangles[t + ((k + 1) % 3)]}`, triangles[t + ((k + 2) % 3)]);
    }
    const indices = [];
    for (const [edge, c] of opposite) {
      const [a, b] = edge.split(',').map(Number);
      const d = opposite.get(`${b},${a}`);
      if (a < b && d !== undefined) indices.push(a, b, c, d);
    }
    return Uint32Array.from(indices);
  }

  const energies = {
    'springs with rest lengths': (mesh, topology, problem, vertices) => {
      const rest = edgeLengths(mesh.positions, topology.edges).map((length) => 0.9 * length);
      onEdges(topology, problem, vertices, ({ ends: [a, b], rest }) => a.distance(b).sub(rest), { rest: problem.data(rest) });
    },
    'as-rigid-as-possible': (mesh, topology, problem, vertices) => {
      const count = mesh.positions.length / 3;
      const turned = Float32Array.from({ length: 4 * count }, (_, i) => (i % 4 === 0 ? 1 : 0.1 * Math.sin(i)));
      const rotations = problem.parameters('rotations', { dim: 4, values: turned });
      const sides = Float64Array.from({ length: (3 * topology.edges.length) / 2 }, (_, i) => {
        const edge = Math.floor(i / 3);
        return mesh.positions[3 * topology.edges[2 * edge] + (i % 3)] - mesh.positions[3 * topology.edges[2 * edge + 1] + (i % 3)];
      });
      onEdges(topology, problem, vertices, ({ ends: [a, b], side, q }) => a.sub(b).sub(q.normalized.rotate(side)), {
        side: problem.data(sides, 3),
        q: rotations.at(topology.edges.filter((_, i) => i % 2 === 0)),
      });
    },
    'bending': (mesh, topology, problem, vertices) => {
      problem.residuals('hinges', {
        inputs: { corners: vertices.at(hinges(mesh.triangles), 4) },
        residual: ({ corners: [a, b, c, d] }) => geometry.dihedralAngle(a, b, c, d),
      });
    },
    'areas and angle defects': (mesh, topology, problem, vertices) => {
      problem.residuals('areas', {
        inputs: { corners: vertices.at(mesh.triangles, 3) },
        residual: ({ corners: [a, b, c] }) => geometry.triangleArea(a, b, c),
      });
      const { interior } = topology;
      problem.residuals('defects', {
        inputs: { center: vertices.at(interior.vertices), star: vertices.star(interior.offsets, interior.indices) },
        // Squared: the plain sum is 2πχ by Gauss and Bonnet, whose gradient is what rounding leaves of nothing.
        residual: ({ center, star }) => geometry.angleDefect(center, star).square(),
      });
    },
  };

  const difference = (got, expected) => {
    let scale = 0, worst = 0;
    for (let i = 0; i < expected.length; i++) {
      scale = Math.max(scale, Math.abs(expected[i]));
      worst = Math.max(worst, Math.abs(got[i] - expected[i]));
      if (Number.isNaN(got[i]) || Number.isNaN(expected[i])) return Infinity;
    }
    return worst / scale;
  };

  window.energyNames = ['developability', ...Object.keys(energies)];
  window.compare = async (name, obj) => {
    const mesh = obj === null ? icosphere(3) : parseObj(obj);
    // Moved a little, so that nothing is flat or symmetric; then rounded, so that both engines see the same numbers.
    const size = edgeLengths(mesh.positions, meshTopology(mesh.positions.length / 3, mesh.triangles).edges).reduce((a, b) => Math.max(a, b));
    const positions = perturb(mesh.positions, 0.02 * size).map(Math.fround);
    const topology = meshTopology(positions.length / 3, mesh.triangles);
    const build = () => {
      if (name === 'developability') return developableProblem({ positions }, topology).problem;
      const problem = new Problem();
      energies[name]({ ...mesh, positions }, topology, problem, problem.parameters('vertices', { dim: 3, values: positions }));
      return problem;
    };
    const [gpu, cpu] = await Promise.all(['gpu', 'cpu'].map((backend) => GpuCompiledFunctions.compile(build(), { backend })));
    try {
      const [values, reference] = [await gpu.evaluate(), await cpu.evaluate()];
      const [onGpu, onCpu] = [await gpu.evaluateCostWithGradient(), await cpu.evaluateCostWithGradient()];
      const [sumGpu, sumCpu] = [await gpu.evaluateSumWithGradient(), await cpu.evaluateSumWithGradient()];
      const [jacobian, expected] = [await gpu.evaluateJacobian(), await cpu.evaluateJacobian()];
      return {
        backends: [gpu.backend, cpu.backend],
        residuals: values.length,
        values: difference(values, reference),
        cost: Math.abs(onGpu.value - onCpu.value) / onCpu.value,
        costGradient: difference(onGpu.gradient, onCpu.gradient),
        sumGradient: difference(sumGpu.gradient, sumCpu.gradient),
        jacobian: difference(jacobian.jacobian.values, expected.jacobian.values),
      };
    } finally {
      gpu.dispose();
      cpu.dispose();
    }
  };
}

const names = ['developability', 'springs with rest lengths', 'as-rigid-as-possible', 'bending', 'areas and angle defects'];

/** Runs one energy on one mesh and holds the differences to the promise. */
async function check(name, obj, where) {
  const { backends, residuals, values, cost, ...derivatives } = await page.evaluate(
    ([name, obj]) => window.compare(name, obj),
    [name, obj],
  );
  const figures = { values, cost, ...derivatives };
  const shown = Object.entries(figures).map(([key, figure]) => `${key} ${figure.toExponential(1)}`).join(', ');
  console.log(`GPU against CPU, ${name} on ${where}, ${residuals} residuals: ${shown}`);
  assert.deepEqual(backends, ['gpu', 'cpu']);
  assert.ok(values < VALUES && cost < VALUES, `${name} on ${where}: ${shown}`);
  for (const [key, figure] of Object.entries(derivatives)) assert.ok(figure < DERIVATIVES, `${key} of ${name} on ${where}: ${figure}`);
}

describe('GPU and CPU agree on the energies of a mesh', () => {
  for (const name of names) {
    test(`${name}, icosphere`, () => check(name, null, 'the icosphere'));
    test(`${name}, collection`, async () => {
      if (!existsSync(collection)) {
        console.log(`data absent: ${name}, collection: ${collection}`);
        return;
      }
      for (const file of readdirSync(collection).filter((file) => file.endsWith('.obj'))) {
        await check(name, readFileSync(`${collection}/${file}`, 'utf8'), file);
      }
    });
  }
  test('no energy is left out', async () => assert.deepEqual(await page.evaluate(() => window.energyNames), names));
});
