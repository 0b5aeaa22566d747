// Every wrong argument rejects or throws a ResiduaError with its code and a message that names what is wrong.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

let browser, blank, page;
before(async () => {
  browser = await launch();
  blank = await openBlankPage(browser);
  page = blank.page;
  await page.evaluate(() => {
    const { Problem, GpuCompiledFunctions } = window.residua;
    /** A problem of three numbers, for a residual to be added. */
    window.three = (values = [1, 2, 3]) => {
      const problem = new Problem();
      return { problem, x: problem.parameters('x', { dim: 1, values }) };
    };
    window.compiled = async (residual, values) => {
      const { problem, x } = window.three(values);
      problem.residuals('block', { inputs: { x: x.at([0, 1, 2]) }, residual });
      return GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
    };
  });
});
after(() => browser.close());

const cases = [
  ['an index out of range', 'invalid-argument', [/x|inputs/, /7/, /3/], () => {
    const { problem, x } = window.three();
    problem.residuals('block', { inputs: { x: x.at([0, 7]) }, residual: ({ x }) => x });
  }],
  ['a negative index', 'invalid-argument', [/-1/], () => {
    const { problem, x } = window.three();
    problem.residuals('block', { inputs: { x: x.at([0, -1]) }, residual: ({ x }) => x });
  }],
  ['inputs that disagree on the number of instances', 'invalid-argument', [/2/, /3/], () => {
    const { problem, x } = window.three();
    problem.residuals('block', { inputs: { x: x.at([0, 1]), y: problem.data([1, 2, 3]) }, residual: ({ x, y }) => x.sub(y) });
  }],
  ['NaN among the values', 'invalid-argument', [/x/, /NaN/], () => window.three([1, Number.NaN, 3])],
  ['NaN among the data', 'invalid-argument', [/NaN/], () => window.three().problem.data([1, Number.NaN])],
  ['a dimension of 0', 'invalid-argument', [/dim/, /0/], () => {
    new window.residua.Problem().parameters('none', { dim: 0, values: [] });
  }],
  ['values that do not fill blocks', 'invalid-argument', [/4|values/, /3|dim/], () => {
    new window.residua.Problem().parameters('points', { dim: 3, values: [1, 2, 3, 4] });
  }],
  ['star offsets that go past their indices', 'invalid-argument', [/offset|star/], () => {
    const { problem, x } = window.three();
    problem.residuals('block', { inputs: { x: x.star([0, 2, 9], [0, 1, 2]) }, residual: ({ x }) => x[0] });
  }],
  ['an empty problem', 'invalid-argument', [/residual|param/], () => {
    return window.residua.GpuCompiledFunctions.compile(new window.residua.Problem(), { backend: 'cpu' });
  }],
  ['a residual function that returns nothing', 'invalid-graph', [/block|residual/], () => window.compiled(() => undefined)],
  ['a residual function that returns a string', 'invalid-graph', [/block|residual/], () => window.compiled(() => 'x')],
  ['a function over params that returns nothing', 'invalid-graph', [/Value|return/], () => {
    return window.residua.GpuCompiledFunctions.compile([window.residua.V.W(1)], () => undefined, { backend: 'cpu' });
  }],
  ['a Value from another recording', 'invalid-graph', [/record|elsewhere|belong|other/], () => {
    let stray;
    const { problem, x } = window.three();
    problem.residuals('first', { inputs: { x: x.at([0, 1, 2]) }, residual: ({ x }) => (stray = x.mul(2)) });
    problem.residuals('second', { inputs: { x: x.at([0, 1, 2]) }, residual: ({ x }) => x.add(stray) });
    return window.residua.GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  }],
  ['a residual that is NaN at the start', 'non-finite', [/block/, /1/], async () => {
    const functions = await window.compiled(({ x }) => x.log(), [1, -2, 3]);
    await window.residua.lbfgs(functions);
  }],
  ['a point of the wrong length', 'invalid-argument', [/2/, /3/], async () => (await window.compiled(({ x }) => x)).evaluate([1, 2])],
  ['an unknown backend', 'invalid-argument', [/backend/, /tpu/], () => {
    return window.residua.GpuCompiledFunctions.compile([window.residua.V.W(1)], ([x]) => x, { backend: 'tpu' });
  }],
  ['a compile whose signal has fired', 'aborted', [/abort/i], () => {
    return window.residua.GpuCompiledFunctions.compile([window.residua.V.W(1)], ([x]) => x, { signal: AbortSignal.abort() });
  }],
];

for (const [name, code, words, attempt] of cases) {
  test(`${name} is '${code}'`, async () => {
    const error = await page.evaluate(`(async () => {
      try { await (${attempt})(); return null; }
      catch (error) { return { code: error.code, message: error.message, ours: error instanceof window.residua.ResiduaError }; }
    })()`);
    assert.ok(error !== null, 'nothing was thrown');
    assert.equal(error.code, code, error.message);
    assert.ok(error.ours, 'a ResiduaError');
    for (const word of words) assert.match(error.message, word);
  });
}

test('an object stays usable after a call that was refused', async () => {
  const values = await page.evaluate(async () => {
    const functions = await window.compiled(({ x }) => x.mul(2));
    await functions.evaluate([1]).catch(() => undefined);
    const values = [...(await functions.evaluate())];
    functions.dispose();
    return values;
  });
  assert.deepEqual(values, [2, 4, 6]);
});

test('nothing of this reached the page as an uncaught error or a panic', () => assert.deepEqual(blank.complaints, []));
