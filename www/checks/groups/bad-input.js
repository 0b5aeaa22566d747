/** Every wrong argument throws or rejects with a ResiduaError with its code and a message that names the argument. */
import { GpuCompiledFunctions, lbfgs, Problem, ResiduaError, V } from 'residua';
import { anywhere, onCpu } from '../define.js';

/** A problem of three numbers, to which a residual is added. */
const three = (values = [1, 2, 3]) => {
  const problem = new Problem();
  return { problem, x: problem.parameters('x', { dim: 1, values }) };
};

const compiled = (check, residual, values) => {
  const { problem, x } = three(values);
  problem.residuals('block', { inputs: { x: x.at([0, 1, 2]) }, residual });
  return check.compile(problem, { backend: 'cpu' });
};

/** The action, its error code, and the message. */
const REFUSALS = [
  ['an index out of range', 'invalid-argument', [/x|inputs/, /7/, /3/], () => {
    const { problem, x } = three();
    problem.residuals('block', { inputs: { x: x.at([0, 7]) }, residual: ({ x }) => x });
  }],
  ['a negative index', 'invalid-argument', [/-1/], () => {
    const { problem, x } = three();
    problem.residuals('block', { inputs: { x: x.at([0, -1]) }, residual: ({ x }) => x });
  }],
  ['inputs that disagree on the number of instances', 'invalid-argument', [/2/, /3/], () => {
    const { problem, x } = three();
    problem.residuals('block', { inputs: { x: x.at([0, 1]), y: problem.data([1, 2, 3]) }, residual: ({ x, y }) => x.sub(y) });
  }],
  ['NaN among the values', 'invalid-argument', [/x/, /NaN/], () => three([1, Number.NaN, 3])],
  ['NaN among the data', 'invalid-argument', [/NaN/], () => three().problem.data([1, Number.NaN])],
  ['a dimension of 0', 'invalid-argument', [/dim/, /0/], () => {
    new Problem().parameters('none', { dim: 0, values: [] });
  }],
  ['values that do not fill blocks', 'invalid-argument', [/4|values/, /3|dim/], () => {
    new Problem().parameters('points', { dim: 3, values: [1, 2, 3, 4] });
  }],
  ['star offsets that go past their indices', 'invalid-argument', [/offset|star/], () => {
    const { problem, x } = three();
    problem.residuals('block', { inputs: { x: x.star([0, 2, 9], [0, 1, 2]) }, residual: ({ x }) => x[0] });
  }],
  ['an empty problem', 'invalid-argument', [/residual|param/], () => GpuCompiledFunctions.compile(new Problem(), { backend: 'cpu' })],
  ['a residual function that returns nothing', 'invalid-graph', [/block|residual/], (check) => compiled(check, () => undefined)],
  ['a residual function that returns a string', 'invalid-graph', [/block|residual/], (check) => compiled(check, () => 'x')],
  ['a function over params that returns nothing', 'invalid-graph', [/Value|return/], () => GpuCompiledFunctions.compile([V.W(1)], () => undefined, { backend: 'cpu' })],
  ['a Value from another recording', 'invalid-graph', [/record|elsewhere|belong|other/], () => {
    let stray;
    const { problem, x } = three();
    problem.residuals('first', { inputs: { x: x.at([0, 1, 2]) }, residual: ({ x }) => (stray = x.mul(2)) });
    problem.residuals('second', { inputs: { x: x.at([0, 1, 2]) }, residual: ({ x }) => x.add(stray) });
    return GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  }],
  ['a residual that is NaN at the start', 'non-finite', [/block/, /1/], async (check) => {
    const functions = await compiled(check, ({ x }) => x.log(), [1, -2, 3]);
    await lbfgs(functions);
  }],
  ['a point of the wrong length', 'invalid-argument', [/2/, /3/], async (check) => (await compiled(check, ({ x }) => x)).evaluate([1, 2])],
  ['an unknown backend', 'invalid-argument', [/backend/, /tpu/], () => GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { backend: 'tpu' })],
  ['a compile whose signal has fired', 'aborted', [/abort/i], () => GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { signal: AbortSignal.abort() })],
];

export const group = {
  id: 'bad-input',
  title: 'Wrong arguments',
  about: 'Each is refused with a code and a message with the argument, what it got and what it takes.',
  checks: [
    ...REFUSALS.flatMap(([name, code, words, attempt]) =>
      anywhere(`${name} is '${code}'`, async (check) => {
        const error = await check.failure(() => attempt(check));
        check.ok(error !== null, 'something is thrown');
        check.equal(error.code, code, error.message);
        check.ok(error instanceof ResiduaError, 'a ResiduaError');
        for (const word of words) check.match(error.message, word);
      })),

    ...onCpu('an object stays usable after a refused call', async (check) => {
      const functions = await compiled(check, ({ x }) => x.mul(2));
      await functions.evaluate([1]).catch(() => undefined);
      check.same(await functions.evaluate(), [2, 4, 6]);
    }),
  ],
};
