// The claimed output of code in the documentation, and its comparison with the actual output.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blocksOf, holds, programsOf, withClaims } from '../../xtask/docs/programs.mjs';

for (const [claim, printed, expected] of [
  ['3', '3', true],
  ['3', '3.0000001', false],
  ['3.00', '2.9999999', true],
  ['3.00', '3.0051', false],
  ['0.70', '0.6951', true],
  ['0.70', '0.6949', false],
  ['-0.5', '0.5', false],
  ['1.2e-7', '1.19e-7', true],
  ['1.2e-7', '1.3e-7', false],
  ['1e-7', '1.4e-7', true],
  ['1e-7', '1.6e-7', false],
  ['3.00, 0.70', '2.9999, 0.7', true],
  ['3.00, 0.70', '2.9999', false],
  ['cost-tolerance 5 true', 'cost-tolerance 5 true', true],
  ['cost-tolerance', 'gradient-tolerance', false],
  ['… took the index 2 …', 'block 7: took the index 2, of 2', true],
  ['… took the index 2 …', 'block 7: took the index 3, of 2', false],
  ['… 2', '1, 2', true],
  ['…', '', true],
  ['f32', 'f32', true],
  ['NaN', '0', false],
]) {
  test(`the claim "${claim}" ${expected ? 'holds' : 'does not hold'} for "${printed}"`, () => assert.equal(holds(claim, printed), expected));
}

const page = [
  'Words.', '', '```ts', "import { V } from 'residua';", 'const x = V.W(1);', '```', '', 'More.', '', '```ts', 'console.log(x.data); // → 1', '```', '',
  '```sh', 'npm install residua', '```', '', '```js', "import { V } from 'residua';", '```', '',
].join('\n');

test('a block that imports begins a program, and one that does not continues it', () => {
  const programs = programsOf(page);
  assert.deepEqual(programs.map(({ language, line }) => [language, line]), [['ts', 4], ['js', 19]]);
  assert.deepEqual(programs[0].source.split('\n').flatMap((line, at) => (line === '' ? [] : [at + 1])), [4, 5, 11]);
});

test('a claim is the output of its line, at its line in the page', () => {
  const [{ source, claims }] = programsOf(page);
  assert.deepEqual(claims, [{ line: 11, words: '1' }]);
  assert.match(withClaims(source), /^claim\(11, x\.data\);$/m);
});

test('a claim that cannot be checked is refused', () => {
  assert.throws(() => programsOf("```ts\nimport 'residua';\nx.data; // → 1\n```"), /line 3/);
});

test('a block of unknown kind, a block that is not closed and a program without an import are refused', () => {
  assert.throws(() => programsOf('```python\nx\n```'), /python/);
  assert.throws(() => blocksOf('```ts\nx'), /not closed/);
  assert.throws(() => programsOf('```ts\nconst x = 1;\n```'), /imports nothing/);
});

test('a claim may be the block of text below it, and every such block is a claim', () => {
  const program = "```ts\nimport 'residua';\nconsole.log(x); // → below\n```\n";
  assert.deepEqual(programsOf(`${program}\n\`\`\`text\na\nb\n\`\`\``)[0].claims, [{ line: 3, words: 'a\nb' }]);
  assert.throws(() => programsOf(program), /no block of text below/);
  assert.throws(() => programsOf('```text\na\n```'), /no claim above/);
});
