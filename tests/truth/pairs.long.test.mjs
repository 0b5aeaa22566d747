// Double-single arithmetic on the GPU against a known answer: the poses of a pose graph as f64 has them.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';
import { hasData, readData } from '../shared-data.mjs';

const GRAPH = 'pose-graphs/sphere2500.g2o';
const POSES = 800;

let browser, page;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
  await page.evaluate(define);
});
after(() => browser.close());

async function define() {
  const { GpuCompiledFunctions, levenbergMarquardt } = window.residua;
  const { parseG2o, poseGraphProblem } = await import('/problems/pose-graph.js');
  /** `window.solvePoses(text, moved, compileOptions)` solves a pose graph whose positions are moved by so much along each axis. */
  window.solvePoses = async (text, moved, compileOptions, options) => {
    const graph = parseG2o(text);
    graph.positions = graph.positions.map((value) => value + moved);
    const began = performance.now();
    const functions = await GpuCompiledFunctions.compile(poseGraphProblem(graph).problem, compileOptions);
    const compiled = performance.now();
    try {
      const { x, termination, message, iterations, finalCost, history } = await levenbergMarquardt(functions, options);
      const linear = history.reduce((sum, entry) => sum + (entry.linearIterations ?? 0), 0);
      const [seconds, compiling] = [performance.now() - compiled, compiled - began].map((ms) => ms / 1000);
      return { x: [...x], positions: graph.positions.length, termination, message, iterations, linear, finalCost, seconds, compiling };
    } finally {
      functions.dispose();
    }
  };
}

/** The first poses of a graph, and the edges between them. */
function firstPoses(text, count) {
  const kept = (line) => {
    const [kind, first, second] = line.split(/\s+/);
    return Number(first) < count && (kind.startsWith('VERTEX') || Number(second) < count);
  };
  return text.split('\n').filter((line) => line !== '' && kept(line)).join('\n');
}

/** The largest distance between the positions of two solutions. */
function farthest(a, b) {
  let most = 0;
  for (let i = 0; i < a.positions; i += 3) most = Math.max(most, Math.hypot(...[0, 1, 2].map((k) => a.x[i + k] - b.x[i + k])));
  return most;
}

describe('a pose graph in double-single arithmetic', () => {
  for (const [moved, within, f32] of [[0, 1e-9, 1e-5], [1e6, 1e-5, 1e-2]]) {
    test(`the first ${POSES} poses of sphere2500, moved by ${moved}, are where f64 has them within ${within}`, async (t) => {
      if (!hasData(t, GRAPH)) return;
      const text = firstPoses(readData(GRAPH), POSES);
      const options = { maxLinearIterations: 1000, linearTolerance: 0.01, costTolerance: 1e-30, gradientTolerance: 1e-30, parameterTolerance: 1e-30, maxIterations: 60 };
      const solve = (compile, options) => page.evaluate(([...args]) => window.solvePoses(...args), [text, moved, compile, options]);
      const expected = await solve({ backend: 'cpu' }, { ...options, linearSolver: 'pcg' });
      const found = await solve({ backend: 'gpu', precision: 'f32x2' }, options);
      const rounded = await solve({ backend: 'gpu' }, { ...options, maxIterations: 25 });
      for (const [name, run] of Object.entries({ f64: expected, f32x2: found, f32: rounded })) {
        console.log(`${name} + ${moved}: ${run.iterations} steps, ${run.linear} linear, cost ${run.finalCost}, off by ${farthest(run, expected).toExponential(1)}, ${run.compiling.toFixed(1)} + ${run.seconds.toFixed(1)} s, ${run.message}`);
      }
      assert.ok(farthest(found, expected) < within, `${farthest(found, expected)}`);
      assert.ok(farthest(rounded, expected) > f32, 'the control in f32');
      assert.ok(found.iterations <= 1.5 * expected.iterations);
    });
  }
});
