/**
 * Energies of a mesh on the GPU, compared with the CPU. Takes a mesh (from an OBJ file, or the icosphere) and the name of an energy; checks
 * that every kind of call agrees within the tolerances of the package.
 */
import { geometry, Problem } from 'residua';
import { developableProblem, edgeLengths } from '../energies/developable.js';
import { icosphere } from '../mesh/icosphere.js';
import { parseObj } from '../mesh/obj.js';
import { perturb } from '../mesh/perturb.js';
import { meshTopology } from '../mesh/topology.js';
import { relativeDifference } from './assertions.js';

const BECAUSE = 'The package’s promise, relative to the largest entry; every entry is a sum of a few tens of terms, each rounded at 6e-8.';
const VALUES = 1e-5;
const DERIVATIVES = 1e-4;

const onEdges = (topology, problem, vertices, residual, data = {}) =>
  problem.residuals('edges', { inputs: { ends: vertices.at(topology.edges, 2), ...data }, residual });

/** The two triangles at each inner edge: the edge's ends, then the opposite corners. */
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

/** A problem of each energy, by name. */
const ENERGIES = {
  'developability': ({ positions }, topology) => developableProblem({ positions }, topology).problem,
  'springs with rest lengths': withVertices((mesh, topology, problem, vertices) => {
    const rest = edgeLengths(mesh.positions, topology.edges).map((length) => 0.9 * length);
    onEdges(topology, problem, vertices, ({ ends: [a, b], rest }) => a.distance(b).sub(rest), { rest: problem.data(rest) });
  }),
  'as-rigid-as-possible': withVertices((mesh, topology, problem, vertices) => {
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
  }),
  'bending': withVertices((mesh, topology, problem, vertices) => {
    problem.residuals('hinges', {
      inputs: { corners: vertices.at(hinges(mesh.triangles), 4) },
      residual: ({ corners: [a, b, c, d] }) => geometry.dihedralAngle(a, b, c, d),
    });
  }),
  'areas and angle defects': withVertices((mesh, topology, problem, vertices) => {
    problem.residuals('areas', {
      inputs: { corners: vertices.at(mesh.triangles, 3) },
      residual: ({ corners: [a, b, c] }) => geometry.triangleArea(a, b, c),
    });
    const { interior } = topology;
    problem.residuals('defects', {
      inputs: { center: vertices.at(interior.vertices), star: vertices.star(interior.offsets, interior.indices) },
      // Squared: the plain sum is 2πχ by the Gauss-Bonnet theorem, so its gradient is 0 except for rounding.
      residual: ({ center, star }) => geometry.angleDefect(center, star).square(),
    });
  }),
};

function withVertices(fill) {
  return (mesh, topology) => {
    const problem = new Problem();
    fill(mesh, topology, problem, problem.parameters('vertices', { dim: 3, values: mesh.positions }));
    return problem;
  };
}

export const energyNames = Object.keys(ENERGIES);

/** @param {import('./check.js').Check} check @param {string} name one of `energyNames` @param {string | null} obj an OBJ file's text; null for the icosphere */
export async function compareEngines(check, name, obj) {
  const mesh = obj === null ? icosphere(3) : parseObj(obj);
  // Displaced slightly, so that nothing is flat or symmetric; then rounded, so that both engines have the same numbers.
  const size = edgeLengths(mesh.positions, meshTopology(mesh.positions.length / 3, mesh.triangles).edges).reduce((a, b) => Math.max(a, b));
  const positions = perturb(mesh.positions, 0.02 * size).map(Math.fround);
  const topology = meshTopology(positions.length / 3, mesh.triangles);
  const [gpu, cpu] = await Promise.all(['gpu', 'cpu'].map((backend) => check.compile(ENERGIES[name]({ ...mesh, positions }, topology), { backend })));
  check.same([gpu.backend, cpu.backend], ['gpu', 'cpu']);
  const [values, reference] = [await gpu.evaluate(), await cpu.evaluate()];
  const [onGpu, onCpu] = [await gpu.evaluateCostWithGradient(), await cpu.evaluateCostWithGradient()];
  const [sumGpu, sumCpu] = [await gpu.evaluateSumWithGradient(), await cpu.evaluateSumWithGradient()];
  const [jacobian, expected] = [await gpu.evaluateJacobian(), await cpu.evaluateJacobian()];
  const figures = {
    values: [relativeDifference(values, reference), VALUES],
    cost: [Math.abs(onGpu.value - onCpu.value) / onCpu.value, VALUES],
    'cost gradient': [relativeDifference(onGpu.gradient, onCpu.gradient), DERIVATIVES],
    'sum gradient': [relativeDifference(sumGpu.gradient, sumCpu.gradient), DERIVATIVES],
    Jacobian: [relativeDifference(jacobian.jacobian.values, expected.jacobian.values), DERIVATIVES],
  };
  const shown = Object.entries(figures).map(([key, [figure]]) => `${key} ${figure.toExponential(1)}`).join(', ');
  check.note(`GPU against CPU, ${name}, ${values.length} residuals: ${shown}`);
  for (const [key, [figure, limit]] of Object.entries(figures)) check.below(figure, limit, BECAUSE, `${key} of ${name}`);
}
