/** A small problem, compiled by a fake module. */
import { GpuCompiledFunctions, Problem } from '../../pkg-template/dist/index.js';
import { install } from './fake-module.mjs';

export async function compiled(options) {
  const fake = install();
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [1, 2, 3, 4] });
  const block = problem.residuals('r', { inputs: { p: p.at([0, 1]), d: problem.data([5, 6]) }, residual: ({ p, d }) => p.x.mul(p.y).sub(d) });
  const functions = await GpuCompiledFunctions.compile(problem, options);
  return { fake, problem, p, block, functions, raw: fake.compiled.at(-1) };
}
