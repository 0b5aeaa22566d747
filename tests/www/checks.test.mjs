// The modules of the page of checks: assertions with their numbers, skipping, and the report.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { claims, Disagreement, firstDifference, inWords, relativeDifference } from '../../www/checks/assertions.js';
import { numbered, onCpu, onEach, onGpu } from '../../www/checks/define.js';
import { counts, countsInWords, markdownReport } from '../../www/checks/report.js';

const tolerance = { within: 0.5, because: 'half a unit' };

describe('claims hold, or throw their numbers', () => {
  for (const [name, holds, fails, facts] of [
    ['ok', [true, 'c'], [false, 'c'], { claim: 'c', expected: true, got: false }],
    ['equal', [1, 1, 'c'], [1, 2, 'c'], { claim: 'c', expected: 2, got: 1, error: 1, allowed: 0 }],
    ['equal', [Number.NaN, Number.NaN, 'c'], [0, -0, 'c'], { claim: 'c', expected: -0, got: 0, error: 0, allowed: 0 }],
    ['notEqual', [1, 2, 'c'], [2, 2, 'c'], { claim: 'c', expected: 'not 2', got: 2 }],
    ['same', [Float64Array.of(1, 2), [1, 2], 'c'], [[1, { a: [2, 3] }], [1, { a: [2, 4] }], 'c'], { claim: 'c, at [1].a[1]', expected: 4, got: 3 }],
    ['same', [{ a: null }, { a: null }, 'c'], [{ a: 1 }, {}, 'c'], { claim: 'c, at a', expected: 'nothing', got: 1 }],
    ['match', ['abc', /b/, 'c'], ['abc', /d/, 'c'], { claim: 'c', expected: /d/, got: 'abc' }],
    ['close', [1, 1.5, tolerance, 'c'], [1, 2, tolerance, 'c'], { claim: 'c', expected: 2, got: 1, error: 1, allowed: 0.5, because: 'half a unit' }],
    ['close', [-1, -1, tolerance, 'c'], [Number.NaN, 2, tolerance, 'c'], { claim: 'c', expected: 2, got: Number.NaN, error: Number.NaN, allowed: 0.5, because: 'half a unit' }],
    ['below', [0.4, 0.5, 'b', 'c'], [0.5, 0.5, 'b', 'c'], { claim: 'c', expected: 'less than 0.5', got: 0.5, error: 0.5, allowed: 0.5, because: 'b' }],
    ['below', [-1, 0.5, 'b', 'c'], [Number.NaN, 0.5, 'b', 'c'], { claim: 'c', expected: 'less than 0.5', got: Number.NaN, error: Number.NaN, allowed: 0.5, because: 'b' }],
  ]) {
    test(`${name} fails with ${inWords(facts)}`, () => {
      claims[name](...holds);
      assert.throws(() => claims[name](...fails), (error) => error instanceof Disagreement && (assert.deepEqual(error.facts, facts), true));
    });
  }
});

test('differences are found at every position', () => {
  assert.equal(firstDifference([1, [2, { a: -0 }]], [1, [2, { a: -0 }]]), null);
  assert.deepEqual(firstDifference([1], [1, 2]), { path: '.length', got: 1, expected: 2 });
  assert.deepEqual(firstDifference([1], { 0: 1 }), { path: '', got: [1], expected: { 0: 1 } });
  assert.deepEqual(firstDifference(null, {}), { path: '', got: null, expected: {} });
});

test('the relative difference is that of the largest entry; entries that are not finite must be equal', () => {
  assert.equal(relativeDifference([1, 9], [1, 10]), 0.1);
  assert.equal(relativeDifference([Infinity, 10], [Infinity, 10]), 0);
  for (const [got, expected] of [[[Number.NaN], [1]], [[1], [Number.NaN]], [[Infinity], [-Infinity]], [[1], [1, 2]]]) assert.equal(relativeDifference(got, expected), Infinity);
});

test('a check on each engine is two checks with distinct titles and ids; two checks of one name are refused', () => {
  const checks = numbered({ id: 'g', checks: [...onEach('It’s so', () => undefined), ...onCpu('alone', () => undefined)] });
  assert.deepEqual(checks.map(({ id, title, engine }) => [id, title, engine]), [
    ['g/it-s-so-gpu', 'It’s so, on the GPU', 'gpu'], ['g/it-s-so-cpu', 'It’s so, on the CPU', 'cpu'], ['g/alone', 'alone', 'cpu'],
  ]);
  assert.throws(() => numbered({ id: 'g', checks: [...onGpu('twice', () => undefined), ...onGpu('twice', () => undefined)] }), /g\/twice-gpu/);
});

const OUTCOMES = [
  { id: 'g/a', group: 'g', title: 'a | b', status: 'passed', ms: 12.4, notes: ['1e-7 of\nall'] },
  { id: 'g/b', group: 'g', title: 'b', status: 'skipped', ms: 0, notes: [], reason: 'no WebGPU' },
  { id: 'g/c', group: 'g', title: 'c', status: 'failed', ms: 2345, notes: [], failure: { claim: 'a number', expected: '2', got: '1', error: 1, allowed: 0.5, because: 'half a unit', stack: 'at c' } },
];

test('a skipped check never counts as passed', () => {
  assert.deepEqual(counts(OUTCOMES), { passed: 1, failed: 1, skipped: 1 });
  assert.equal(countsInWords(OUTCOMES, 5), '1 passed, 1 failed, 1 skipped, 2 not run');
  assert.equal(countsInWords([]), '0 passed, 0 failed');
});

test('the report has browser, adapter, limits, every outcome and the numbers of a failure', () => {
  const facts = { limits: [{ name: 'maxBufferSize', here: '1 KiB', needs: '256 MiB', enough: false }], features: [{ name: 'subgroups', here: true }] };
  const text = markdownReport({ date: '2030-01-01', userAgent: 'A Browser', webgpu: ['WebGPU works here, on it.'], facts, groups: [{ id: 'g', title: 'Group' }, { id: 'h', title: 'Other' }] }, OUTCOMES, 5);
  for (const line of [
    '1 passed, 1 failed, 1 skipped, 2 not run, in 2.4 s.', '- Browser: A Browser', '- WebGPU works here, on it.', '| maxBufferSize | 1 KiB (too little) | 256 MiB |', '| subgroups | yes | |',
    '### c', '- expected: 2', '- got: 1', '- difference: 1', '- allowed: 0.5', '- because: half a unit', 'at c', '| a \\| b | passed | 12 ms |', '| b | skipped: no WebGPU |  |', '| c | failed | 2.3 s |', '- a \\| b: 1e-7 of all',
  ]) assert.ok(text.split('\n').includes(line), `${line} is not in\n${text}`);
  assert.ok(!text.includes('Other'), 'a group of which nothing ran is left out');
});
