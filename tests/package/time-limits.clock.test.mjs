// maxTimeMs on the CPU where one block has 10,000 parameters: its kernels are made in pieces, and the code of each is several functions, since an engine compiles
// one at its first call (docs/decisions/0007).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onCpu } from '../www/residua.mjs';

const { lbfgs, levenbergMarquardt, Problem, V } = await import('residua');

const LIMIT = 100;
/** By so much a solve may end after its limit: the longest piece, a plan of 10,000 parameters, takes 150 of a processor on a slow machine with two cores. */
const LATE = 100;
/** Calls after which a first solve must know its cost. Each makes a piece at least, of which there are fewer than these with one function a call. */
const CALLS = 60;
/** Another process may stop this one for as long as the limit, so that one attempt of these must keep it. They have different sizes, as engines keep code by its bytes. */
const SIZES = [10_000, 9_990, 9_980, 9_970];

const constant = (i) => 2 + Math.sin(i);
const FORMS = {
  'a residual for each': (x) => x.map((x, i) => V.sub(V.square(x), constant(i))),
  'a chain of products': (x) => x.slice(1).map((y, i) => V.sub(V.mul(y, x[i]), constant(i))),
};

/** The longest of the solves up to the first that knows its cost, in milliseconds. */
async function longest(solver, form, dim) {
  const problem = new Problem();
  const x = problem.parameters('x', { dim, values: Float64Array.from({ length: dim }, (_, i) => 1 + (i % 7) / 10) });
  problem.residuals('r', { inputs: { x: x.shared() }, residual: ({ x }) => form(Array.from({ length: dim }, (_, i) => x.at(i))) });
  return onCpu(problem, async (functions) => {
    let most = 0;
    for (let call = 0; call < CALLS; call++) {
      const began = performance.now();
      const { termination, finalCost } = await solver(functions, { maxTimeMs: LIMIT });
      most = Math.max(most, performance.now() - began);
      if (Number.isFinite(finalCost)) return most;
      assert.equal(termination, 'max-time');
    }
    assert.fail(`no cost after ${CALLS} solves`);
  });
}

for (const solver of [levenbergMarquardt, lbfgs]) {
  for (const [name, form] of Object.entries(FORMS)) {
    test(`${solver.name} keeps its limit of time over one block of 10,000 parameters with ${name}`, async (t) => {
      const times = [];
      for (const size of SIZES) {
        times.push(await longest(solver, form, size));
        if (times.at(-1) <= LIMIT + LATE) break;
      }
      t.diagnostic(`${times.map((time) => time.toFixed(0)).join(', ')} ms`);
      assert.ok(times.at(-1) <= LIMIT + LATE, `${times.join(', ')} ms, at most ${LIMIT + LATE} wanted`);
    });
  }
}
