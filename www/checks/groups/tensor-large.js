/** Tensors of more elements than one dimension of a dispatch has workgroups. */
import { arange } from 'residua/tensor';
import { tensorDevice } from '../tensors/compare.js';
import { onEach } from '../define.js';

/** More than 65,535 workgroups of 256 threads, and not a multiple. */
const COUNT = 17_000_003;

export const group = {
  id: 'tensor-large',
  title: 'Tensors: large ones',
  about: 'More than 65,535 workgroups of 256 threads: maps, reductions, scans and stored bytes.',
  checks: [
    ...onEach('a stored map of 17,000,003 numbers has each of them', async (check) => {
      const device = await tensorDevice(check);
      const x = await device.store(arange(COUNT, 'i32').mul(3));
      const [first, last, wrong] = await device.read(x.slice([0, 2]), x.slice([-2, null]), x.neq(arange(COUNT, 'i32').mul(3)).any());
      check.same([[...first], [...last], wrong[0]], [[0, 3], [3 * (COUNT - 2), 3 * (COUNT - 1)], 0]);
    }, { long: true }),

    ...onEach('bytes, four in a word', async (check) => {
      const device = await tensorDevice(check);
      const x = await device.store(arange(COUNT, 'i32').cast('u8'));
      const [last, sum] = await device.read(x.slice([-5, null]), x.cast('u32').sum());
      check.same([...last], Array.from({ length: 5 }, (_, i) => (COUNT - 5 + i) & 255));
      const [whole, rest] = [Math.floor(COUNT / 256), COUNT % 256];
      check.equal(sum[0], (whole * 255 * 128 + (rest * (rest - 1)) / 2) >>> 0);
    }, { long: true }),

    ...onEach('reductions and running sums', async (check) => {
      const device = await tensorDevice(check);
      const x = arange(COUNT, 'i32').mod(7);
      const [sum, place, running] = await device.read(x.sum(), x.argmax(), x.cumsum().slice([-1, null]));
      const expected = Math.floor(COUNT / 7) * 21 + [0, 0, 1, 3, 6, 10, 15][COUNT % 7];
      check.same([sum[0], place[0], running[0]], [expected, 6, expected]);
    }, { long: true }),

    ...onEach('many short rows, and few long columns', async (check) => {
      const device = await tensorDevice(check);
      const x = arange(70_001 * 3, 'i32').reshape([70_001, 3]);
      const [rows, columns] = await device.read(x.sum(1), x.sum(0));
      check.equal(rows[70_000], 9 * 70_000 + 3, 'the sum of the last row');
      const total = (3 * 70_000 * 70_001) / 2;
      check.same([...columns], [0, 1, 2].map((k) => (total + k * 70_001) | 0), 'the sums of columns, which wrap');
    }),
  ],
};
