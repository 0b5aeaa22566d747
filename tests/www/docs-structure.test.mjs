// The project's own documents: their length, the form of decision records and of measurements, and that links and paths lead to files.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (name) => readFile(join(root, name), 'utf8');
const lineCount = (text) => text.trimEnd().split('\n').length;

/** Documents that a reader takes in at once, and the most lines that each may have. */
const MOST_LINES = [
  ['ARCHITECTURE.md', 150],
  ['CHANGELOG.md', 120],
  ['docs/performance.md', 150],
];
for (const [name, most] of MOST_LINES) {
  test(`${name} has at most ${most} lines`, async () => {
    const lines = lineCount(await read(name));
    assert.ok(lines <= most, `${lines} lines`);
  });
}

const documents = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'pkg-template/README.md', 'tests/README.md'];
for (const folder of ['docs', 'docs/decisions', 'docs/measurements', 'docs/site']) documents.push(...(await readdir(join(root, folder))).filter((name) => name.endsWith('.md')).map((name) => `${folder}/${name}`));

const LONGEST_LINE = 160;
test(`no line of a document has more than ${LONGEST_LINE} characters, but in blocks of code`, async () => {
  const isLong = (line) => [...line].length > LONGEST_LINE;
  const long = [];
  for (const name of documents) for (const line of (await read(name)).replace(/^```[^]*?^```$/gm, '').split('\n').filter(isLong)) long.push(`${name}: ${line}`);
  assert.deepEqual(long, []);
});

const SECTIONS = ['Context', 'Decision', 'Evidence', 'Consequence'];
const [MOST_RECORDS, MOST_WORDS] = [40, 300];
const records = (await readdir(join(root, 'docs/decisions'))).filter((name) => name !== 'README.md').sort();

test('decision records are few, and numbered without gaps', () => {
  assert.ok(records.length > 0 && records.length <= MOST_RECORDS, `${records.length} records`);
  assert.deepEqual(records.map((name) => name.slice(0, 4)), records.map((_, i) => String(i + 1).padStart(4, '0')));
});

for (const name of records) {
  test(`the decision record ${name} is short, and has its four sections and a line of the index`, async () => {
    const [text, index] = [await read(`docs/decisions/${name}`), await read('docs/decisions/README.md')];
    const [, number, title] = /^# (\d{4})\. (.+)\n/.exec(text) ?? assert.fail('it does not begin with "# NNNN. Title"');
    assert.equal(number, name.slice(0, 4));
    const words = text.trim().split(/\s+/).length;
    assert.ok(words <= MOST_WORDS, `${words} words`);
    assert.deepEqual([...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading), SECTIONS);
    assert.ok(index.replace(/\s+/g, ' ').includes(` [${number}](${name}) ${title}: `), 'the index lacks it, or has another title');
  });
}

test('the index of decisions lists nothing else', async () => {
  const listed = [...(await read('docs/decisions/README.md')).matchAll(/^- \[\d{4}\]\(([^)]+)\)/gm)].map(([, name]) => name).sort(); // grouped by topic
  assert.deepEqual(listed, records);
});

const isFigure = (cell) => cell === null || typeof cell === 'number' || typeof cell === 'string'
  || (Array.isArray(cell) ? cell.every(isFigure) : typeof cell === 'object' && Object.values(cell).every(isFigure));

const measurements = (await readdir(join(root, 'docs/measurements'))).filter((name) => name.endsWith('.json') && name !== 'engines.json');
for (const name of measurements) {
  test(`the measurements ${name} have a topic, a machine and tables with a figure for each column`, async () => {
    const { topic, machine, tables } = JSON.parse(await read(`docs/measurements/${name}`));
    for (const words of [topic, machine]) assert.ok(typeof words === 'string' && words !== '');
    assert.ok(tables.length > 0);
    for (const { title, columns, rows } of tables) {
      assert.ok(title !== '' && columns.length > 1 && rows.length > 0, title);
      for (const row of rows) assert.ok(row.length === columns.length && row.every(isFigure), `${title}: ${JSON.stringify(row)}`);
    }
  });
}

/** What a pattern with one group finds in the documents: `[document, text]`. */
async function mentions(pattern) {
  const found = [];
  for (const file of documents) for (const [, text] of (await read(file)).matchAll(pattern)) found.push([file, text]);
  return found;
}

test('links between documents lead to files', async () => {
  // Pages of the site link to pages that are generated: tests/e2e/docs-site.test.mjs follows those.
  const links = (await mentions(/\]\(([^)\s#]+)[^)]*\)/g)).filter(([file, href]) => !/^[a-z]+:/.test(href) && !file.startsWith('docs/site/'));
  assert.ok(links.length > records.length, `${links.length} links were found`);
  assert.deepEqual(links.filter(([file, href]) => !existsSync(join(root, dirname(file), href))), []);
});

test('paths that documents name exist', async () => {
  const paths = await mentions(/`((?:crates|docs|pkg-template|shaders|src|tests|www|xtask)\/[\w./-]+)`/g);
  assert.ok(paths.length > 100, `${paths.length} paths were found`);
  // A module may be named without the ending of its file.
  assert.deepEqual(paths.filter(([, path]) => !['', '.rs', '.ts'].some((ending) => existsSync(join(root, path.replace(/\/$/, '') + ending)))), []);
});
