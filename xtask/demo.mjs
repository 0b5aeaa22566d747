// Drives www/demo/ for `cargo xtask demo`: one run on the GPU and one on the CPU, pictures and the resulting mesh into
// target/demo/, a table (and with --json a line of JSON) on standard output.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { launch } from '../tests/browser.mjs';

/** On the icosphere the two backends' final costs may differ by this much of the CPU's. */
const AGREEMENT = 0.01;

const rows = [
  ['backend', (f) => f.backend],
  ['adapter', (f) => f.adapter],
  ['vertices', (f) => f.vertices.toLocaleString('en')],
  ['residuals', (f) => f.residuals.toLocaleString('en')],
  ['kernels', (f) => f.kernels],
  ['compile ms', (f) => f.compileMs.toFixed(1)],
  ['iterations', (f) => f.iterations],
  ['cost before', (f) => f.initialCost.toPrecision(8)],
  ['cost after', (f) => f.finalCost.toPrecision(8)],
  ['ms', (f) => f.totalMs.toFixed(1)],
  ['ms per evaluation', (f) => f.evaluationMs.toFixed(3)],
];
const keys = [
  'backend', 'adapter', 'vertices', 'residuals', 'kernels', 'compileMs', 'iterations', 'initialCost', 'finalCost',
  'totalMs', 'evaluationMs',
];

const { values: options } = parseArgs({
  options: {
    url: { type: 'string' },
    mesh: { type: 'string' },
    iterations: { type: 'string', default: '200' },
    form: { type: 'string', default: 'problem' },
    json: { type: 'boolean', default: false },
  },
});
const obj = options.mesh === undefined ? null : await readFile(options.mesh, 'utf8');
const output = new URL('../target/demo/', import.meta.url);
await mkdir(output, { recursive: true });

const browser = await launch();
try {
  const page = await browser.newPage();
  page.on('pageerror', (error) => console.error(`page: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warn') console.error(`page: ${message.text()}`);
  });
  await page.exposeFunction('reportProgress', (words) => console.error(`    ${words}`));
  await page.goto(new URL('demo/', options.url).href);
  await page.waitForFunction(() => window.residuaDemo !== undefined, { timeout: 30_000 });

  const gpu = await run(page, 'gpu');
  for (const which of ['before', 'after']) await writePicture(page, which);
  await writeFile(new URL('result.obj', output), gpu.obj);
  const cpu = await run(page, 'cpu');

  console.log(table([gpu.figures, cpu.figures]));
  const verdict = judge(gpu.figures, cpu.figures, obj === null);
  console.log(verdict.words);
  if (options.json) {
    const chosen = (figures) => Object.fromEntries(keys.map((key) => [key, figures[key]]));
    console.log(JSON.stringify({ gpu: chosen(gpu.figures), cpu: chosen(cpu.figures) }));
  }
  process.exitCode = verdict.good ? 0 : 1;
} catch (error) {
  console.error(`error: ${located(error)}`);
  process.exitCode = 1;
} finally {
  await browser.close();
}

async function run(page, backend) {
  console.error(`    ${backend}: ${options.mesh ?? 'icosphere'}, ${options.iterations} iterations`);
  const result = await page.evaluate(
    async ({ obj, backend, form, iterations }) => {
      let last = performance.now();
      const onProgress = (progress) => {
        if (performance.now() - last < 1000) return;
        last = performance.now();
        const { iteration, cost } = progress ?? {};
        window.reportProgress(iteration === undefined ? `${backend}: ${progress}` : `${backend}: iteration ${iteration}, cost ${cost}`);
      };
      try {
        return await window.residuaDemo.run({ obj, backend, form, iterations, onProgress });
      } catch (error) {
        return { error: { message: error?.message ?? String(error), code: error?.code, wgsl: error?.wgsl } };
      }
    },
    { obj, backend, form: options.form, iterations: Number(options.iterations) },
  );
  if (result.error !== undefined) throw Object.assign(new Error(result.error.message), result.error);
  for (const note of result.notes ?? []) console.error(`    ${backend}: ${note}`);
  return result;
}

async function writePicture(page, which) {
  const data = await page.evaluate((which) => window.residuaDemo.render(which), which);
  const prefix = 'data:image/png;base64,';
  if (!data.startsWith(prefix)) throw new Error(`the page's picture '${which}' is no PNG`);
  await writeFile(new URL(`${which}.png`, output), Buffer.from(data.slice(prefix.length), 'base64'));
}

function judge(gpu, cpu, isIcosphere) {
  const reduced = [gpu, cpu].every((figures) => figures.finalCost < figures.initialCost);
  const difference = Math.abs(gpu.finalCost - cpu.finalCost) / Math.abs(cpu.finalCost);
  const agree = difference <= AGREEMENT;
  const words = [`The final costs differ by ${(100 * difference).toFixed(4)} %.`];
  if (!reduced) words.push('A run did not reduce its cost.');
  if (isIcosphere && !agree) words.push('That is more than the 1 % allowed.');
  return { good: reduced && (agree || !isIcosphere), words: words.join(' ') };
}

function table(runs) {
  const cells = rows.map(([name, format]) => [name, ...runs.map((figures) => String(format(figures)))]);
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  return cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column])).join('  ').trimEnd()).join('\n');
}

/** An error's words, the mesh's file before them when they are about the mesh. */
function located(error) {
  return options.mesh !== undefined && /\bline \d+/.test(error.message) ? `${options.mesh}: ${error.message}` : error.message;
}
