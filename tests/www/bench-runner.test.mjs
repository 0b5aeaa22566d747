// The runner of the benchmarks with artificial contenders: the rows that they get.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge, runJob } from '../../www/bench/runner.js';
import { excess } from '../../www/bench/statistics.js';

/** A clock that advances with work, and slightly with each read, so that samples end. */
let time = 0;
const now = () => (time += 1e-3);
const work = (ms) => {
  time += ms;
};
const contender = (name, run, more = {}) => ({ name, timing: 'wall', precision: 'f64', known: true, prepare: () => ({ run }), ...more });
const job = (contenders, more = {}) => ({
  name: 'made-up', title: 'Made up', unit: 'things', sizes: [1_000, 10_000], tolerance: { f32: { value: 1e-3, gradient: 1e-3 }, f64: { value: 1e-9, gradient: 1e-9 } },
  input: (size) => ({ size, residuals: 2 * size }), contenders, ...more,
});
const settings = { sizes: [1_000, 10_000], reps: 3, budgetMs: 60, now };
async function rowsOf(contenders, more = {}) {
  const rows = [];
  await runJob(job(contenders), { ...settings, ...more }, (row) => rows.push(row));
  return rows;
}

test('each contender has one row for each size, in order, with its time and the check of its value', async () => {
  const rows = await rowsOf([
    contender('reference', () => ({ value: 2, gradient: Float64Array.of(1, 2) })),
    contender('agrees', async () => ({ value: 2.0001, gradient: Float32Array.of(1, 2.001) }), { precision: 'f32' }),
    contender('wrong value', () => 2.1),
    contender('wrong gradient', () => ({ value: 2, gradient: Float64Array.of(1, 3) })),
    contender('not a number', () => NaN),
    contender('absent', () => 2, { absent: () => Promise.reject(new Error('not installed')) }),
    contender('cannot', () => 2, { cannot: ({ size }) => (size > 1_000 ? 'too large for it' : undefined) }),
    contender('throws', () => {
      throw new Error('out of luck');
    }),
  ]);
  const told = rows.map(({ contender, size, status, reason }) => [contender, size, status, reason]);
  const wrong = 'differs from the reference by more than rounding';
  assert.deepEqual(told, [1_000, 10_000].flatMap((size) => [
    ['reference', size, 'measured', undefined], ['agrees', size, 'measured', undefined], ['wrong value', size, 'wrong', wrong], ['wrong gradient', size, 'wrong', wrong],
    ['not a number', size, 'wrong', wrong], ['absent', size, 'unable', 'not installed'],
    size > 1_000 ? ['cannot', size, 'unable', 'too large for it'] : ['cannot', size, 'measured', undefined], ['throws', size, 'failed', 'out of luck'],
  ]));
  for (const row of rows.filter(({ status }) => status === 'measured')) {
    assert.ok(row['least, ms'] <= row['median, ms'] && row.reps >= 1 && row.residuals === 2 * row.size && row.timing === 'wall');
  }
});

test('a contender that would exceed the budget is skipped, also where no smaller size was requested; the reference has eight times the budget', async () => {
  // A millisecond for a thousand: 10 ms at ten thousand.
  const linear = (name, more) => contender(name, () => 1, { prepare: ({ size }) => ({ run: () => (work(size / 1_000), 1) }), ...more });
  const status = (rows, name, size) => rows.find((row) => row.contender === name && row.size === size)?.status;
  const ladder = await rowsOf([linear('reference'), linear('same')], { budgetMs: 8 });
  assert.deepEqual([status(ladder, 'same', 1_000), status(ladder, 'same', 10_000), status(ladder, 'reference', 10_000)], ['measured', 'skipped', 'measured']);
  const alone = await rowsOf([contender('reference', () => 1), linear('unknown', { known: false })], { budgetMs: 8, sizes: [10_000] });
  assert.equal(status(alone, 'unknown', 10_000), 'skipped');
  assert.match(alone[1].reason, /^would take about \d+ ms$/);
});

test('the excess of the first preparation does not count as growing; the time of each later one does', async () => {
  let prepared = 0;
  const compiling = contender('compiles once', () => 1, { prepare: () => (work(prepared++ === 0 ? 50 : 1), { run: () => 1 }) });
  const tabulating = contender('makes tables', () => 1, { prepare: ({ size }) => (work(size / 50), { run: () => 1 }) });
  const rows = await rowsOf([contender('reference', () => 1), compiling, tabulating]);
  const told = rows.map(({ contender, size, status }) => `${contender}, ${size}: ${status}`).slice(4);
  assert.deepEqual(told, ['compiles once, 10000: measured', 'makes tables, 10000: skipped']);
});

test("a run's time is divided by its units, work outside of it is not timed, and its own time replaces the clock's", async () => {
  let disposed = 0;
  const prepare = () => ({ units: 10, before: () => work(5), run: () => (work(1), 7), after: (made) => (work(5), { value: made - 6 }), dispose: () => disposed++ });
  const rows = await rowsOf([contender('reference', () => 1), contender('ten', null, { prepare }), contender('own', null, { prepare: () => ({ ownTime: true, units: 2, run: () => ({ value: 1, ms: 3 }) }) })], { sizes: [1_000] });
  const [, ten, own] = rows;
  assert.deepEqual([ten.status, ten.value, own['least, ms'], own['median, ms']], ['measured', 1, 1.5, 1.5]);
  assert.ok(Math.abs(ten['least, ms'] - 0.1) < 0.001, `${ten['least, ms']} ms`);
  assert.equal(disposed, 1);
});

test('without a reference no value counts as agreeing; a value may be compared with another number of the reference', () => {
  const limit = { value: 1e-9, gradient: 1e-9 };
  assert.equal(judge({ value: 1 }, null, limit).status, 'unchecked');
  assert.equal(judge({ value: 5, against: 'start' }, { value: 1, start: 5 }, limit).status, 'measured');
  assert.equal(judge({ value: 1, against: 'start' }, { value: 1, start: 5 }, limit).status, 'wrong');
});

test("'auto' may take a tenth or 0.2 ms more than the better engine", () => {
  const within = (...times) => excess(...times).within;
  assert.deepEqual([within(1, 2, 1.19), within(1, 2, 1.21), within(20, 10, 10.9), within(20, 10, 11.1), within(undefined, 10, 10)], [true, false, true, false, true]);
  assert.ok(Number.isNaN(excess(1, 2, undefined).ms));
});
