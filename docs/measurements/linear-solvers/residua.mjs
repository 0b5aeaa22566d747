// The problems of problems.mjs, solved by the package in Node and by ceres.cpp in turns, one thread each. Prints a line of JSON for a problem: the
// least time in milliseconds, with compiling, of each, costs and iterations.
// node residua.mjs FOLDER [--only NAME,...] [--turns N] [--ceres PROGRAM] [--options JSON] [--report]
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { argv } from 'node:process';
import { parseArgs } from 'node:util';
import { residua } from '../../../tests/www/residua.mjs';
import { PROBLEMS } from './problems.mjs';

const { GpuCompiledFunctions, levenbergMarquardt, loss, parseBal, Problem, Rotation3, Vec2 } = residua;
const { poseGraphProblem, parseG2o: parseGraph } = await import('../../../www/problems/pose-graph.js');

/** What is read of a file, and the function that makes its problem. */
function read(file) {
  const text = readFileSync(file, 'utf8');
  if (file.endsWith('.g2o')) {
    const graph = parseGraph(text);
    return () => poseGraphProblem(graph).problem;
  }
  return file.endsWith('.bal') ? bundleProblem(parseBal(text)) : netProblem(text, file.endsWith('rigid.net'));
}

const bundleProblem = ({ cameras, points, cameraIndices, pointIndices, observations }) => () => {
  const problem = new Problem();
  const camera = problem.parameters('cameras', { dim: 9, values: cameras });
  const point = problem.parameters('points', { dim: 3, values: points });
  problem.residuals('observations', {
    inputs: { c: camera.at(cameraIndices), p: point.at(pointIndices), seen: problem.data(observations, 2) },
    residual: ({ c, p, seen }) => {
      const [a, b, d, x, y, z, f, k1, k2] = c;
      const at = rotated([a, b, d], p).add(vector(x, y, z));
      const [u, v] = [at.x.div(at.z).neg(), at.y.div(at.z).neg()];
      const r = u.square().add(v.square());
      const scale = k2.mul(r).add(k1).mul(r).add(1).mul(f);
      return new Vec2(scale.mul(u), scale.mul(v)).sub(seen);
    },
    loss: loss.huber(1),
  });
  return problem;
};
const vector = (x, y, z) => new residua.Vec3(x, y, z);
const rotated = ([a, b, c], p) => Rotation3.exp(vector(a, b, c)).act(p);

/** A deformation that is as rigid as possible, or springs. */
function netProblem(text, isRigid) {
  const numbers = text.split(/\s+/).filter(Boolean).map(Number);
  const [vertices, edges, held] = numbers;
  const take = (first, count) => Float64Array.from(numbers.slice(first, first + count));
  const [rest, start] = [take(3, 3 * vertices), take(3 + 3 * vertices, 3 * vertices)];
  const list = take(3 + 6 * vertices, 3 * edges);
  const constant = [...take(3 + 6 * vertices + 3 * edges, held)];
  const pairs = Array.from({ length: edges }, (_, k) => [list[3 * k], list[3 * k + 1], list[3 * k + 2]]);
  return () => {
    const problem = new Problem();
    const at = problem.parameters('vertices', { dim: 3, values: start });
    at.setConstant(constant);
    if (!isRigid) {
      const ends = Uint32Array.from(pairs.flatMap(([a, b]) => [a, b]));
      const length = problem.data(pairs.map(([, , l]) => l));
      problem.residuals('springs', { inputs: { ends: at.at(ends, 2), length }, residual: ({ ends: [a, b], length: l }) => a.distance(b).sub(l) });
      return problem;
    }
    const rotations = problem.parameters('rotations', { dim: 4, values: Float64Array.from({ length: 4 * vertices }, (_, k) => Number(k % 4 === 0)) });
    rotations.setManifold('unit-quaternion');
    const both = pairs.flatMap(([a, b, w]) => [[a, b, w], [b, a, w]]);
    const side = both.flatMap(([a, b]) => [0, 1, 2].map((d) => rest[3 * a + d] - rest[3 * b + d]));
    problem.residuals('rigidity', {
      inputs: {
        ends: at.at(Uint32Array.from(both.flatMap(([a, b]) => [a, b])), 2), turned: rotations.at(Uint32Array.from(both, ([a]) => a)),
        side: problem.data(side, 3), root: problem.data(both.map(([, , w]) => w)),
      },
      residual: ({ ends: [a, b], turned, side: s, root }) => a.sub(b).sub(turned.rotate(s)).mul(root),
    });
    return problem;
  };
}

async function solveOnce(make, options, report) {
  const began = performance.now();
  const functions = await GpuCompiledFunctions.compile(make(), { backend: 'cpu' });
  const compiled = performance.now() - began;
  const result = await levenbergMarquardt(functions, options);
  const ms = performance.now() - began;
  functions.dispose();
  if (report) console.log(result.report());
  return { ms, compiled, cost: result.finalCost, iterations: result.iterations, linearIterations: result.history.reduce((sum, { linearIterations = 0 }) => sum + linearIterations, 0), termination: result.termination, linear: result.report().match(/Linear solver +(.*)/)?.[1] };
}

const { values, positionals: [folder] } = parseArgs({
  args: argv.slice(2), allowPositionals: true,
  options: { only: { type: 'string' }, turns: { type: 'string', default: '5' }, ceres: { type: 'string' }, options: { type: 'string', default: '{}' }, report: { type: 'boolean' } },
});
const options = JSON.parse(values.options);
for (const name of Object.keys(PROBLEMS).filter((key) => values.only?.split(',').some((word) => key.includes(word)) ?? true)) {
  const make = read(`${folder}/${name}`);
  const [ours, ceres] = [[], []];
  for (let turn = 0; turn < Number(values.turns); turn++) {
    ours.push(await solveOnce(make, options, values.report && turn === 0));
    if (values.ceres) ceres.push(JSON.parse(execFileSync(values.ceres, [`${folder}/${name}`], { encoding: 'utf8' })));
  }
  const least = (runs) => runs.reduce((best, run) => (best === undefined || run.ms < best.ms ? run : best), undefined);
  const [a, b] = [least(ours), least(ceres)];
  const rounded = (run) => run && { ...run, ms: Math.round(10 * run.ms) / 10, compiled: run.compiled && Math.round(10 * run.compiled) / 10 };
  console.log(JSON.stringify({ problem: name, residua: rounded(a), ceres: rounded(b), ratio: b && Math.round((100 * a.ms) / b.ms) / 100 }));
}
