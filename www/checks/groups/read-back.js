/** Numbers to the engine and back: they arrive unchanged, and the time is measured. */
import { Problem } from 'residua';
import { onEach } from '../define.js';

/** As many residuals as parameters, each equal to its parameter. */
function identity(values) {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 1, values });
  problem.residuals('same', { inputs: { x: x.at(Uint32Array.from({ length: values.length }, (_, i) => i)) }, residual: ({ x }) => x });
  return { problem, x };
}

export const group = {
  id: 'read-back',
  title: 'Upload and read-back',
  about: 'Numbers that single precision holds are returned to the last bit, set or passed; and the time of a small round trip.',
  checks: [
    ...onEach('100,003 numbers of all magnitudes are returned to the last bit, set or passed', async (check) => {
      const count = 100_003; // not a multiple of the workgroup size
      const numbers = (seed) => Float64Array.from({ length: count }, (_, i) => Math.fround(Math.sin(i + seed) * 2 ** ((i % 200) - 100)));
      const { problem, x } = identity(numbers(1));
      const functions = await check.compile(problem);
      check.same(await functions.evaluate(), numbers(1), 'the first ones');
      x.set(numbers(2));
      check.same(await functions.evaluate(), numbers(2), 'after set()');
      check.same(await functions.evaluate(numbers(3)), numbers(3), 'passed');
      check.same(await functions.evaluate(), numbers(2), 'passing changes nothing');
      x.setAt(count - 1, [0.5]);
      check.equal((await functions.evaluate())[count - 1], 0.5, 'after setAt()');
    }),

    ...onEach('a small round trip is timed', async (check) => {
      const { problem } = identity(new Float64Array(100).fill(1));
      const functions = await check.compile(problem);
      const times = [];
      for (let i = 0; i < 40; i++) {
        const began = performance.now();
        await functions.evaluate();
        times.push(performance.now() - began);
      }
      const sorted = times.toSorted((a, b) => a - b);
      check.note(`median ${sorted[20].toFixed(2)} ms, least ${sorted[0].toFixed(2)} ms`);
      check.below(sorted[20], 50, 'browsers look for finished work every 3 ms (Chromium) or 100 ms (Firefox), and residua does not wait for that; with room for a busy machine', 'the median, in ms');
    }, { long: true }),
  ],
};
