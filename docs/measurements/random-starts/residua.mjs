// The curve fits of NIST and the problems of Moré, Garbow and Hillstrom from many starts, by Levenberg-Marquardt on the CPU. Prints for each problem how
// many starts lead to a known minimum, and the sums of iterations; `--starts FILE` writes the starts of NIST for fits.py, `--runs FILE` all runs.
// node residua.mjs DATA [--seed N] [--options JSON] [--starts FILE] [--runs FILE]      (DATA has a folder nist of .dat files)
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { onCpu, residua } from '../../../tests/www/residua.mjs';

const { nistProblem, parseNist } = await import('../../../www/problems/nist.js');
const { problems, testProblem } = await import('../../../www/problems/more-garbow-hillstrom.js');

/** Starts for each data set of NIST: half of them around each of its two. */
const COUNT = 40;
/** A sum of squares is that of a minimum up to this share; where the minimum is 0, up to 1e-12. */
const SHARE = 1e-3, LEAST = 1e-12;

/** Uniform numbers in [0, 1): the generator "mulberry32". */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Each parameter of a start of NIST times 10^u, with u uniform in ±1.5. */
function startsAround({ name, starts }, seed) {
  const uniform = generator([...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) | 0, seed));
  return Array.from({ length: COUNT }, (_, k) => [...starts[k % 2]].map((value) => value * 10 ** (3 * uniform() - 1.5)));
}

const { positionals: [data], values: { seed, options, starts: startsFile, runs: runsFile } } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string', default: '7' }, options: { type: 'string', default: '{}' }, starts: { type: 'string' }, runs: { type: 'string' } },
});
const settings = { maxIterations: 1000, ...JSON.parse(options) };

async function cases() {
  const list = [];
  for (const file of readdirSync(`${data}/nist`).filter((name) => name.endsWith('.dat')).sort()) {
    const dataset = parseNist(readFileSync(`${data}/nist/${file}`, 'utf8'));
    const make = (start) => nistProblem(dataset, Float64Array.from(start)).problem;
    const residuals = await onCpu(make(dataset.certified), (functions) => functions.evaluate());
    list.push({ set: 'NIST', name: dataset.name, make, minima: [residuals.reduce((sum, r) => sum + r * r, 0)], starts: startsAround(dataset, Number(seed)) });
  }
  for (const problem of problems) {
    const starts = [1, 10, 100].map((factor) => problem.start.map((value) => factor * value));
    list.push({ set: 'MGH', name: problem.name, make: (start) => testProblem({ ...problem, start: [...start] }).problem, minima: problem.minima, starts });
  }
  return list;
}

const all = await cases();
const runs = [];
for (const { set, name, make, minima, starts } of all) {
  for (const start of starts) {
    const run = { set, name, start, found: false, iterations: 0 };
    try {
      const solved = await onCpu(make(start), (functions) => residua.levenbergMarquardt(functions, settings));
      const squares = 2 * solved.finalCost;
      const found = minima.some((least) => Math.abs(squares - least) <= (least === 0 ? LEAST : SHARE * least));
      Object.assign(run, { found, squares, iterations: solved.iterations, termination: solved.termination, success: solved.success, x: [...solved.x] });
    } catch (error) {
      // The start is not finite.
      run.termination = error.code;
    }
    runs.push(run);
  }
}
const summary = (some) => {
  const found = some.filter((run) => run.found);
  const sum = (list) => list.reduce((total, { iterations }) => total + iterations, 0);
  return `${found.length} of ${some.length}, ${sum(some)} iterations, ${sum(found)} of those that arrive`;
};
for (const { name } of all) console.log(name.padEnd(30), summary(runs.filter((run) => run.name === name)));
for (const set of ['NIST', 'MGH']) console.log(set.padEnd(30), summary(runs.filter((run) => run.set === set)));
const write = (file, value) => file && writeFileSync(file, JSON.stringify(value));
write(startsFile, all.filter(({ set }) => set === 'NIST').map(({ name, minima, starts }) => ({ name, minima, starts })));
write(runsFile, runs);
