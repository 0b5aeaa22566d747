// Small solves by the packed package on the CPU in Node, beside plain JavaScript loops: `cargo xtask pack`, then
// `node docs/measurements/small-solves.mjs [net] [arm] [nist] [fits]`. Prints one row a case: least milliseconds of many turns, residua and the
// plain loop in turns, their ratio, and the costs that both reach. RESIDUA_PACKAGE names the folder of another build of the package.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { register } from 'node:module';
import { pathToFileURL } from 'node:url';

const folder = process.env.RESIDUA_PACKAGE ? pathToFileURL(`${process.env.RESIDUA_PACKAGE}/`) : new URL('../../target/npm/residua/', import.meta.url);
const entry = new URL('dist/index.js', folder).href;
register(`data:text/javascript,${encodeURIComponent(`export const resolve = (name, context, next) => name === 'residua' ? { url: ${JSON.stringify(entry)}, shortCircuit: true } : next(name, context);`)}`);
const { GpuCompiledFunctions, init, levenbergMarquardt } = await import('residua');
await init(readFileSync(new URL('wasm/residua_bg.wasm', folder)));
const { lmSolve } = await import('../../www/bench/jobs/solves.js');
const { fits } = await import('../../www/bench/jobs/fits.js');
const { levenbergMarquardt: plainLevenbergMarquardt, workspace } = await import('../../www/bench/plain/levenberg-marquardt.js');
const { PlainNet } = await import('../../www/bench/plain/net.js');
const { matchingDigits, nistProblem, parseNist } = await import('../../www/problems/nist.js');
const { armProblem, armTargets, PlainArm } = await import('./small-solves-arm.mjs');

const round = (number) => Number(number.toPrecision(3));

/** Least milliseconds of each of some runs, in turns for at least `ms` and `turns`. */
async function leastInTurns(runs, { ms = 1500, turns = 7 } = {}) {
  const least = runs.map(() => Infinity);
  const results = runs.map(() => undefined);
  const until = performance.now() + ms;
  for (let turn = 0; turn < turns || performance.now() < until; turn++) {
    for (const [k, { before, run }] of runs.entries()) {
      await before?.();
      const began = performance.now();
      results[k] = await run();
      least[k] = Math.min(least[k], performance.now() - began);
    }
  }
  return { least, results };
}

function report(name, [ours, plain], extra) {
  console.log(JSON.stringify([name, round(ours), round(plain), round(ours / plain), ...extra]));
}

/** A contender of a job of the suite. */
const contender = (job, name) => job.contenders.find((candidate) => candidate.name === name);

/** Both costs count as one at this relative difference. */
const SAME_COST = 1e-6;

/** The plain loop of the net, with the loosest of some tolerances at which it reaches a cost. */
function plainNet({ edges, restLengths, places, pull, positions }, cost) {
  const net = new PlainNet(edges, restLengths, places, pull), space = workspace(positions.length);
  for (let costTolerance = 1e-6; ; costTolerance /= 4) {
    const run = () => plainLevenbergMarquardt(net, positions, { maxIterations: 200, costTolerance, gradientTolerance: 0, parameterTolerance: 1e-8 }, space);
    const { finalCost } = run();
    if (finalCost <= cost * (1 + SAME_COST) || costTolerance < 1e-15) return { run, after: ({ finalCost, iterations }) => ({ value: finalCost, notes: { iterations, costTolerance } }) };
  }
}

async function netOf(size) {
  const input = lmSolve.input(size);
  const ours = await contender(lmSolve, 'residua CPU').prepare(input);
  ours.before();
  await compare(`net, ${input.size} vertices`, ours, plainNet(input, (await ours.run()).finalCost));
}

async function compare(name, ours, plain) {
  const { least, results } = await leastInTurns([ours, plain]);
  const [a, b] = [ours.after(results[0]), plain.after(results[1])];
  report(name, least, [a.value, b.value, a.notes, b.notes]);
  if (process.env.RESIDUA_REPORT) console.log(results[0].report?.());
  ours.dispose?.();
}

const sizes = process.env.NET_SIZES?.split(',').map(Number) ?? [12, 100, 1024, 10_000];

const cases = {
  async net() {
    for (const size of sizes) await netOf(size);
  },

  async arm() {
    const targets = armTargets(256);
    const { problem, joints, goal } = armProblem(targets[0]);
    const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
    const plain = new PlainArm();
    const ours = {
      async run() {
        joints.set(PlainArm.rest);
        let [cost, iterations] = [0, 0];
        for (const target of targets) {
          goal.setData('target', target);
          const result = await levenbergMarquardt(functions);
          cost += result.finalCost;
          iterations += result.iterations;
        }
        return { cost, iterations };
      },
    };
    const loop = {
      run() {
        const x = PlainArm.rest.slice();
        let [cost, iterations] = [0, 0];
        for (const target of targets) {
          const result = plain.solve(x, target);
          cost += result.cost;
          iterations += result.iterations;
        }
        return { cost, iterations };
      },
    };
    const { least, results: [a, b] } = await leastInTurns([ours, loop]);
    const each = targets.length;
    report('arm of 7 joints, one solve', least.map((ms) => ms / each), [a.cost, b.cost, { iterations: a.iterations / each }, { iterations: b.iterations / each }]);
    functions.dispose();
  },

  async nist() {
    const data = process.env.RESIDUA_DATA ? pathToFileURL(`${process.env.RESIDUA_DATA}/`) : new URL('../../../shared/data/', import.meta.url);
    const nist = [new URL('nist/', data), new URL('../../../../shared/data/nist/', import.meta.url)].find((place) => existsSync(place));
    const least = new Map();
    for (let turn = 0; turn < 15; turn++) {
      for (const file of readdirSync(nist).filter((name) => name.endsWith('.dat'))) {
        const dataset = parseNist(readFileSync(new URL(file, nist), 'utf8'));
        for (const start of [0, 1]) {
          const began = performance.now();
          const { problem } = nistProblem(dataset, dataset.starts[start]);
          const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
          const compiled = performance.now();
          const result = await levenbergMarquardt(functions);
          const solved = performance.now();
          functions.dispose();
          const name = `${dataset.name} ${start + 1}`;
          const known = least.get(name) ?? { compile: Infinity, solve: Infinity };
          const digits = matchingDigits(result.x, dataset.certified);
          least.set(name, { compile: Math.min(known.compile, compiled - began), solve: Math.min(known.solve, solved - compiled), iterations: result.iterations, digits });
        }
      }
    }
    const runs = [...least.values()];
    const mean = (key) => round(runs.reduce((sum, run) => sum + run[key], 0) / runs.length);
    if (process.env.RESIDUA_REPORT) for (const [name, run] of least) console.log(name, run);
    console.log(JSON.stringify(['NIST, mean of a run', { runs: runs.length, compile: mean('compile'), solve: mean('solve'), iterations: mean('iterations'), 'with 4 digits': runs.filter(({ digits }) => digits >= 4).length }]));
  },

  async fits() {
    const input = fits.input(10_000);
    await compare('fits, 10,000', await contender(fits, 'residua CPU').prepare(input), await contender(fits, 'plain loop').prepare(input));
  },
};

const chosen = process.argv.slice(2);
for (const [name, run] of Object.entries(cases)) if (chosen.length === 0 || chosen.includes(name)) await run();
