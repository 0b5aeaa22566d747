// Drives www/bench/ for `cargo xtask bench`: opens the page with ?auto, tells its progress, prints its tables, and saves its figures as JSON.
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { hearPosts, launch } from '../tests/browser.mjs';
import { ROW } from '../www/bench/runner.js';
import { columnsOf, inWords } from '../www/bench/table.js';

/** What a table of a terminal has no room for. */
const LEFT_OUT = new Set(['precision', 'gradient difference', 'notes']);

const { values: options } = parseArgs({ options: { url: { type: 'string' }, set: { type: 'string', multiple: true, default: [] }, save: { type: 'string' } } });
const address = new URL('bench/', options.url);
address.searchParams.set('auto', '');
for (const pair of options.set) address.searchParams.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));

const browser = await launch();
try {
  const page = await browser.newPage();
  page.on('pageerror', (error) => console.error(`page: ${error.message}`));
  let resolve;
  const report = new Promise((settle) => void (resolve = settle));
  await hearPosts(page, (path, text) => {
    if (path === '/result') resolve(JSON.parse(text));
    // Rows come again in the tables.
    else if (!text.includes('{')) console.error(`    ${text}`);
  });
  await page.goto(address.href);
  const figures = await report;
  for (const words of figures.webgpu) console.log(words);
  for (const { title, rows, error } of Object.values(figures.results)) {
    console.log(`\n${title}\n${table(rows)}`);
    if (error !== undefined) {
      console.log(`error: ${error}`);
      process.exitCode = 1;
    }
    if (rows.some((row) => row.status === 'wrong' || row.status === 'failed')) process.exitCode = 1;
  }
  if (options.save !== undefined) await writeFile(options.save, `${JSON.stringify(figures, null, 2)}\n`);
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
} finally {
  await browser.close();
}

function table(rows) {
  const columns = columnsOf(rows, ROW).filter((column) => !LEFT_OUT.has(column));
  const cells = [columns, ...rows.map((row) => columns.map((column) => inWords(row[column])))];
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => line[i].length)));
  const figure = (text) => /^[-\d.,e+]*$/.test(text);
  return cells.map((line) => line.map((text, i) => (figure(text) ? text.padStart(widths[i]) : text.padEnd(widths[i]))).join('  ').trimEnd()).join('\n');
}
