// Mesh energies on the collection's meshes, at most 100 iterations on both engines: their costs end within 0.1 % of each other. For developability, whose way is
// chaotic, that is said of what ends are to be expected, and of the way as long as it is one.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';
import { hasData, listData, readData } from '../shared-data.mjs';

const AGREEMENT = 1e-3;

let browser, page, isSoftware;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
  isSoftware = await page.evaluate(define);
});
after(() => browser.close());

/** In the page: `window.minimised` solves an energy of a mesh on a backend, from each of so many starts. */
async function define() {
  const { GpuCompiledFunctions, GpuContext, lbfgs, levenbergMarquardt } = window.residua;
  const { stretched, twisted, undeveloped, unitMesh } = await import('/problems/mesh-energies.js');
  const alone = { gradientTolerance: 0, parameterTolerance: 0, maxIterations: 100 };
  // Conjugate gradients on both engines, since the GPU has nothing else. At the default `linearTolerance` of 0.1 the steps are short: after 100 of them the cost is
  // twice the minimum and falling, and an iteration more or less in each, which rounding decides, leaves 0.5 % between the engines. At 0.01 both are there.
  const descend = (functions) => levenbergMarquardt(functions, { ...alone, linearSolver: 'pcg', linearTolerance: 0.01, maxLinearIterations: 500, costTolerance: 1e-6 });
  // Stopped on its way by the count alone.
  const steps = (objective) => (functions) => lbfgs(functions, { ...alone, objective, costTolerance: 0 });
  const energies = {
    'as-rigid-as-possible': { build: twisted, solve: descend },
    'springs with rest lengths': { build: stretched, solve: steps('least-squares') },
    developability: { build: undeveloped, solve: steps('sum') },
  };
  window.minimised = async (energy, source, backend, members) => {
    const { build, solve } = energies[energy];
    const mesh = unitMesh(source);
    const runs = [];
    for (let member = 0; member < members; member++) {
      const functions = await GpuCompiledFunctions.compile(await build(mesh, member), { backend });
      try {
        const { iterations, finalCost, termination, computationTime, x, history } = await solve(functions);
        runs.push({
          // On the device they have nothing else.
          single: x.every((value) => Math.fround(value) === value), backend: functions.backend, residuals: functions.numResiduals,
          iterations, finalCost, termination, seconds: computationTime / 1000, costs: history.map(({ cost }) => cost),
        });
      } finally {
        functions.dispose();
      }
    }
    return runs;
  };
  return (await GpuContext.default()).adapter.isSoftware;
}

const solved = (energy, source, backend, members = 1) => page.evaluate(([energy, source, backend, members]) => window.minimised(energy, source, backend, members), [energy, source, backend, members]);
const inWords = ({ finalCost, iterations, termination, seconds }) => `${finalCost.toPrecision(8)} (${iterations} it., ${termination}, ${seconds.toFixed(1)} s)`;
/** The demo's own mesh by how often it is subdivided, or a file's text. */
const source = (file) => (typeof file === 'number' ? { subdivisions: file } : readData(`meshes/${file}`));
const named = (file) => (typeof file === 'number' ? `icosphere ${file}` : file);
/** All files, or what a software adapter is given, where a solve of a large mesh takes minutes. */
function meshes(name, software, more = []) {
  if (!isSoftware) return [...more, ...listData('meshes', '.obj')];
  console.log(`${name}: a software adapter, so only ${software.map(named).join(', ')}; cargo xtask test --hardware runs all meshes`);
  return software;
}

describe('mesh energies end at the same cost on both engines', () => {
  for (const { name, method, software } of [
    { name: 'as-rigid-as-possible', method: 'Levenberg-Marquardt', software: [1] },
    { name: 'springs with rest lengths', method: 'L-BFGS', software: ['cloth.obj'] },
  ]) {
    test(`${name}, ${method}, on the collection`, async (t) => {
      if (!hasData(t, 'meshes')) return;
      const apart = [];
      for (const file of meshes(name, software)) {
        const [[cpu], [gpu]] = [await solved(name, source(file), 'cpu'), await solved(name, source(file), 'gpu')];
        const difference = Math.abs(gpu.finalCost / cpu.finalCost - 1);
        const line = `${name}, ${named(file)}, ${cpu.residuals} residuals: from ${cpu.costs[0].toPrecision(6)} to CPU ${inWords(cpu)}, GPU ${inWords(gpu)}, apart ${difference.toExponential(1)}`;
        console.log(line);
        assert.deepEqual([cpu.backend, gpu.backend, gpu.single], ['cpu', 'gpu', true], line);
        assert.ok(cpu.finalCost < cpu.costs[0], line);
        if (!(difference < AGREEMENT)) apart.push(line);
      }
      assert.deepEqual(apart, []);
    });
  }

  /**
   * A vertex folds along one line or another, and the energy has a kink between; L-BFGS comes to many of them. On the bunny's head, moving the start by 1e-13 moves the
   * CPU's cost in double precision by 1e-12 after 3 iterations, 1e-7 after 30 and 3e-4 after 40, and so do 1e-10 and 1e-7: beyond, where a run
   * ends is one draw of many, 0.1 % (the sphere, the bunny's head), 0.3 % (spot) and 8 % (the cloth) around the mean in double precision itself. So an ensemble of
   * starts is solved, each moved by about one rounding of single precision, and three things are asked:
   * as long as the CPU's own costs agree to a tenth of 0.1 %, the GPU's are within 0.1 % of them, iteration by iteration; the means of the
   * ends agree within 0.1 %, or within what the means of so many draws differ by; and no end of the GPU's is one that the CPU would not have come to.
   */
  test('developability, L-BFGS, on the collection and the demo\'s own mesh', async (t) => {
    if (!hasData(t, 'meshes')) return;
    const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const deviation = (values) => Math.sqrt(values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0) / (values.length - 1));
    /** In deviations of a mean: with 3.5, one in a thousand honest comparisons of such ensembles fails, and each comes out the same every time on one device. */
    const SURE = 3.5;
    const failures = [];
    for (const file of meshes('developability', [2], [4])) {
      const [cpus, gpus] = [await solved('developability', source(file), 'cpu', 40), await solved('developability', source(file), 'gpu', isSoftware ? 1 : 40)];
      const ends = [cpus, gpus].map((runs) => runs.map(({ finalCost }) => finalCost));
      const spread = deviation(ends[0]) / mean(ends[0]);
      const difference = mean(ends[1]) / mean(ends[0]) - 1;
      const chance = SURE * spread * Math.sqrt(1 / ends[0].length + 1 / ends[1].length);
      const along = (i) => cpus.map(({ costs }) => costs[i]);
      let together = 0;
      while (together < 100 && deviation(along(together)) < (AGREEMENT / 10) * mean(along(together))) together++;
      const apart = Math.max(...gpus[0].costs.slice(0, together).map((cost, i) => Math.abs(cost / cpus[0].costs[i] - 1)));
      const outlier = Math.max(...ends[1].map((end) => Math.abs(end / mean(ends[0]) - 1)));
      const line = `developability, ${named(file)}, ${cpus[0].residuals} residuals, from ${cpus[0].costs[0].toPrecision(6)}: ends of ${ends[0].length} starts on the CPU ${mean(ends[0]).toPrecision(6)} ± ${(100 * spread).toFixed(2)} %, `
        + `of ${ends[1].length} on the GPU ${(100 * difference).toFixed(3)} % apart (chance makes ${(100 * chance).toFixed(3)} %), none more than ${(100 * outlier).toFixed(2)} % from their mean; ${together} iterations together, apart ${apart.toExponential(1)}`;
      console.log(line);
      assert.ok(cpus.every(({ backend }) => backend === 'cpu') && gpus.every(({ backend, single }) => backend === 'gpu' && single), line);
      assert.ok([...cpus, ...gpus].every(({ finalCost, costs }) => finalCost < costs[0]), line);
      // The cloth is the first to part, after three: its start is a displacement of 1e-3, of which single precision has four digits.
      if (!(together >= 3 && apart < AGREEMENT)) failures.push(`on the way: ${line}`);
      if (!(Math.abs(difference) < Math.max(AGREEMENT, chance))) failures.push(`in the mean: ${line}`);
      // Of 40 draws one is farther than four deviations once in four hundred times.
      if (!(outlier < Math.max(AGREEMENT, 4 * spread))) failures.push(`an outlier: ${line}`);
    }
    assert.deepEqual(failures, []);
  });
});
