// The page of benchmarks, as it runs by itself: tiny sizes, every job and contender.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { hearPosts, launch, url } from '../browser.mjs';
import { longTest } from '../tier.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** What the page POSTs to /result. */
async function report(query) {
  const page = await browser.newPage();
  let resolve;
  const reported = new Promise((settle) => void (resolve = settle));
  await hearPosts(page, (path, text) => void (path === '/result' && resolve(JSON.parse(text))));
  await page.goto(new URL(`bench/?auto&${query}`, url).href);
  const figures = await reported;
  const failure = await page.$eval('#failure', ({ hidden, textContent }) => (hidden ? null : textContent));
  const hasPointers = await page.evaluate(() => navigator.gpu.wgslLanguageFeatures.has('unrestricted_pointer_parameters'));
  const plots = (await page.$$('svg.log-log')).length;
  await page.close();
  return { figures, plots, hasPointers, failure };
}

const JOBS = ['spring-gradient', 'spring-gradient-gpu-time', 'gauss-newton', 'rigid-gradient', 'rigid-steps', 'developable', 'lm-solve', 'lbfgs-solve', 'compile', 'fits'];

longTest('every job has a figure or a reason for each contender, values are the plain loop\'s, and the JSON has its shape', { timeout: 600_000 }, async () => {
  const { figures, plots, hasPointers } = await report(`only=${JOBS.join(',')}&sizes=12&reps=1&budget=30000`);
  assert.equal(figures.page, 'bench');
  for (const field of ['date', 'userAgent', 'query']) assert.equal(typeof figures[field], 'string');
  assert.deepEqual(Object.keys(figures.results), JOBS);
  assert.equal(plots, JOBS.length);
  for (const job of JOBS) {
    const { title, unit, contenders, rows, error } = figures.results[job];
    assert.equal(error, undefined, job);
    assert.ok(title.length > 0 && unit.length > 0);
    assert.deepEqual(rows.map((row) => row.contender), contenders);
    assert.deepEqual([contenders[0], rows[0].status, rows[0].difference], ['plain loop', 'measured', 0]);
    for (const row of rows) {
      const which = `${job}, ${row.contender}: ${JSON.stringify(row)}`;
      assert.ok(['measured', 'unable'].includes(row.status), which);
      assert.ok(row.size === 12 && row.residuals > 0 && row.timing.length > 0 && ['f32', 'f64'].includes(row.precision), which);
      if (row.status === 'unable') assert.ok(row.reason.length > 10, which);
      else {
        assert.ok(row['least, ms'] >= 0 && row['median, ms'] >= row['least, ms'] && row['first, ms'] >= 0 && row['prepare, ms'] >= 0, which);
        assert.ok(row.reps >= 1 && Number.isFinite(row.value) && row.difference >= 0, which);
      }
    }
    // The engines of residua (the clock is the GPU's alone), and at least one peer somewhere.
    const engines = job === 'spring-gradient-gpu-time' ? 1 : 3;
    assert.ok(rows.filter((row) => row.contender.startsWith('residua') && row.status === 'measured').length >= engines, job);
  }
  const measured = new Set(Object.values(figures.results).flatMap(({ rows }) => rows.filter((row) => row.status === 'measured').map((row) => row.contender)));
  for (const peer of ['TensorFlow.js', 'ml-levenberg-marquardt']) assert.ok(measured.has(peer), peer);
  assert.equal(measured.has('jax-js'), hasPointers, 'jax-js, where WGSL has pointers to storage as arguments');
});

test('sizes that are none are told on the page, and nothing is run', { timeout: 120_000 }, async () => {
  const { figures, failure, plots } = await report('only=compile&sizes=12,-5');
  assert.match(failure, /^Sizes are whole numbers from 4 .*: "-5" is none\.$/);
  assert.deepEqual([figures.error, figures.results, plots], [failure, {}, 0]);
});

test('a contender that would take longer than its time is skipped, and says how long', { timeout: 120_000 }, async () => {
  const { figures } = await report('only=spring-gradient&sizes=12,100000&reps=1&budget=0.5&contenders=TensorFlow');
  const rows = figures.results['spring-gradient'].rows.filter(({ size, contender }) => size > 12 && contender === 'TensorFlow.js');
  assert.equal(rows.length, 1);
  assert.equal(rows[0].status, 'skipped');
  assert.match(rows[0].reason, /^would take about [\d.]+ (ms|s|min)$/);
});

longTest('modules that measure by themselves tell ratios, choices and scale', { timeout: 240_000 }, async () => {
  const { figures } = await report('only=cpu-engine,auto-choice,scale,springs-lm,many,parametrisation&triangles=50&choices=spring-gradient&problems=springs,peak&sizes=100&reps=1&budget=5000&sides=6&steps=20&cg=4&count=50');
  const { 'cpu-engine': cpu, 'auto-choice': auto, scale, 'springs-lm': steps, many, parametrisation } = figures.results;
  for (const { error } of [cpu, auto, scale, steps, many, parametrisation]) assert.equal(error, undefined);
  assert.deepEqual(cpu.rows.map(({ problem, job }) => `${problem} ${job}`), ['springs', 'peak'].flatMap((problem) => ['sum', 'sum-fresh', 'cost', 'jacobian', 'jacobian-fresh', 'lm'].map((job) => `${problem} ${job}`)));
  // Sums in another order; five steps of Levenberg-Marquardt multiply that.
  for (const row of cpu.rows) assert.ok(row['times as fast, median'] >= 0 && row['residua, median, ms'] > 0 && row['relative difference'] < (row.job === 'lm' ? 1e-6 : 1e-12), JSON.stringify(row));
  assert.deepEqual(auto.rows.map(({ job, size, took }) => [job, size, took]), [['spring-gradient', 100, 'cpu']]);
  assert.ok(['yes', 'no'].includes(auto.rows[0].within));
  assert.deepEqual(scale.rows.map(({ stage }) => stage), ['compile', 'cost with gradient', 'cost with gradient, again', '10 steps', '10 steps, again']);
  for (const row of scale.rows) assert.ok(row.ms > 0 && row['peak GPU bytes a residual'] >= row['live GPU bytes a residual'] && row['live GPU bytes a residual'] > 0);
  const [row] = steps.rows;
  assert.deepEqual([row.backend, row.vertices, row.residuals, row.steps, row.termination], ['gpu', 36, 85, 20, 'max-iterations']);
  assert.ok(row['read-backs'] <= 5, `${row['read-backs']} read-backs`);
  assert.ok(row['final cost'] < row['initial cost']);
  assert.ok(many.rows.length > 0);
  assert.deepEqual(parametrisation.rows.map(({ backend, arithmetic, triangles, termination }) => [backend, arithmetic, triangles, termination]), [['gpu', 'f32', 50, 'cost-tolerance'], ['cpu', 'f64', 50, 'cost-tolerance']]);
  // Both leave a promise of 1e-6, and the sum is rounded in single precision.
  assert.ok(Math.abs(parametrisation.rows[1]['GPU over CPU, minimum']) < 3e-6);
});

for (const [engine, contenders] of [['gpu', ['residua GPU', 'TensorFlow.js', 'jax-js']], ['cpu', ['residua CPU', 'TensorFlow.js wasm']]]) {
  longTest(`the benchmark of tensors has a figure of each work and contender, on the ${engine.toUpperCase()}, and results agree with double precision`, { timeout: 600_000 }, async () => {
    const { figures, hasPointers } = await report(`only=tensors&engine=${engine}&divisor=64&reps=1`);
    const { rows, error } = figures.results.tensors;
    assert.equal(error, undefined);
    const works = [...new Set(rows.map(({ work, size }) => `${work}, ${size}`))];
    assert.ok(works.length >= 12, works.join('; '));
    // jax-js has no Fourier transform, and TensorFlow.js none that long.
    const transforms = works.filter((work) => work.startsWith('Fourier transform'));
    const lacking = { 'jax-js': transforms, 'TensorFlow.js': transforms.slice(1), 'TensorFlow.js wasm': transforms.slice(1) };
    for (const contender of contenders) {
      const done = rows.filter((row) => row.contender === contender).map(({ work, size }) => `${work}, ${size}`);
      assert.deepEqual(done, works.filter((work) => !lacking[contender]?.includes(work)), contender);
    }
    for (const row of rows) {
      assert.ok(contenders.includes(row.contender), row.contender);
      if (row.contender === 'jax-js' && !hasPointers) continue;
      // Complex numbers are not in TensorFlow.js's wasm.
      if (row.contender === 'TensorFlow.js wasm' && transforms.includes(`${row.work}, ${row.size}`)) {
        assert.deepEqual([row.status, /'Complex' not registered/.test(row.reason)], ['unable', true], row.reason);
        continue;
      }
      assert.equal(row.status, 'measured', JSON.stringify(row));
      // The page's clock may not see the shortest runs.
      assert.ok(row['with a read, ms'] >= 0 && row.difference <= 1e-3 && !(row['in a row, ms'] <= 0), JSON.stringify(row));
    }
  });
}

longTest('the benchmarks of language models have a figure for each contender, and embeddings agree', { timeout: 600_000 }, async () => {
  const { figures } = await report('only=encoder,decoder&small&reps=1');
  const { encoder, decoder } = figures.results;
  for (const { error } of [encoder, decoder]) assert.equal(error, undefined);
  assert.deepEqual(encoder.rows.map(({ contender }) => contender), ['residua CPU', 'residua GPU', 'ONNX Runtime Web, WebGPU', 'ONNX Runtime Web, wasm, one thread', 'transformers.js, WebGPU']);
  for (const row of encoder.rows) assert.ok(row.status === 'measured' && row['in a row, ms'] > 0 && row.difference < 1e-3, JSON.stringify(row));
  assert.deepEqual(decoder.rows.map(({ work }) => work), ['prompt of 48 tokens', 'token at position 24']);
  for (const row of decoder.rows) assert.ok(row.status === 'measured' && row['with a read, ms'] > 0, JSON.stringify(row));
});

longTest('products in integers have a figure beside f32, and differ by the rounding of rows', { timeout: 600_000 }, async () => {
  const { figures } = await report('only=integer-products&shape=70,256,96&types=q8_0,q4_K&reps=1');
  const { rows, error } = figures.results['integer-products'];
  assert.equal(error, undefined);
  assert.deepEqual(rows.map(({ weights, contender }) => `${weights} ${contender}`), ['q8_0 f32', 'q8_0 int8', 'q4_K f32', 'q4_K int8']);
  for (const row of rows) assert.ok(row.status === 'measured' && row['in a row, ms'] > 0 && row.difference > 0 === (row.contender === 'int8'), JSON.stringify(row));
});
