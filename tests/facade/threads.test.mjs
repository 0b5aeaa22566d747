/** Jobs that threads share, with threads that are fakes: a thread that fails, and one that does not end. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WORD, takePieces, writeFailure } from '../../pkg-template/dist/threads/job.js';
import { Pool } from '../../pkg-template/dist/threads/pool.js';

const memory = { buffer: new ArrayBuffer(0) };

/** A pool with a thread that acts while this one does a piece. */
async function poolWith(act, patience) {
  let words;
  const done = [];
  const pool = new Pool(memory, (task, data, piece) => {
    done.push(piece);
    if (piece === 0) act(words, done);
  }, patience);
  const thread = { ready: Promise.resolve(), end: () => done.push('ended') };
  await pool.start((start) => {
    ({ words } = start);
    return thread;
  }, null, {}, [1]);
  return { pool, done };
}

test('each piece is done once, by whatever thread takes it', async () => {
  const { pool, done } = await poolWith((words, done) => {
    Atomics.add(words, WORD.active, 1);
    takePieces(words, (piece) => done.push(-piece) && piece < 5);
    Atomics.sub(words, WORD.active, 1);
  });
  pool.tasks(1, 2, 8);
  assert.deepEqual(done.map(Math.abs), [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual(done.filter((piece) => piece < 0), [-1, -2, -3, -4, -5]);
});

test('a thread that fails is a trap of the call, and the next job begins anew', async () => {
  let fails = true;
  const { pool, done } = await poolWith((words) => fails && writeFailure(words, 'no memory at all'));
  assert.throws(() => pool.tasks(1, 2, 8), (error) => error instanceof WebAssembly.RuntimeError && error.message === 'a thread failed: no memory at all');
  assert.deepEqual(done, [0]);
  fails = false;
  pool.tasks(1, 2, 3);
  assert.deepEqual(done, [0, 0, 1, 2]);
});

test('a thread that does not end its piece is a trap of the call', async () => {
  const { pool } = await poolWith((words) => Atomics.add(words, WORD.active, 1), 20);
  assert.throws(() => pool.tasks(1, 2, 2), (error) => error instanceof WebAssembly.RuntimeError && /did not end its piece in 0\.02 s/.test(error.message));
});
