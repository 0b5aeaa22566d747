/** Tensors read and written at places that other tensors tell. */
import { embedding, where } from 'residua/tensor';
import { build, get } from '../tensors/arrays.js';
import { compare, tensorDevice } from '../tensors/compare.js';
import { fill } from '../tensors/numbers.js';
import { onEach } from '../define.js';

const array = (shape, domain, dtype, seed) => ({ shape, values: fill(domain, shape.reduce((a, b) => a * b, 1), dtype, seed) });
/** Where an index leads: from the end where it is negative; null where that is out of range. */
const placeOf = (index, size) => {
  const place = index < 0 ? index + size : index;
  return place >= 0 && place < size ? place : null;
};
const at = (a, place) => (place.includes(null) ? 0 : get(a, place));

const COMBINE = { set: (_, b) => b, add: (a, b) => a + b, mul: (a, b) => a * b, min: Math.min, max: Math.max };

export const group = {
  id: 'tensor-indexing',
  title: 'Tensors: reading and writing by indices',
  about: 'Negative indices count from the end; one out of range reads 0 and writes nothing; several at one place combine in a fixed order.',
  checks: [
    ...onEach('indexSelect takes slices, in the shape of the indices', async (check) => {
      const device = await tensorDevice(check);
      const x = array([5, 3], [-9, 9], 'f32');
      const indices = { shape: [2, 2], values: [4, -1, 9, 0] };
      const [t, i] = [device.tensor(x.values, x.shape), device.tensor(indices.values, indices.shape, 'i32')];
      await compare(check, device, 'f32', [
        { name: 'along axis 0', tensor: t.indexSelect(i), array: build([2, 2, 3], ([a, b, c]) => at(x, [placeOf(get(indices, [a, b]), 5), c])) },
        { name: 'along axis 1', tensor: t.indexSelect(i.flatten(), 1), array: build([5, 4], ([a, b]) => at(x, [a, placeOf(indices.values[b], 3)])) },
        { name: 'embedding', tensor: embedding(i, t), array: build([2, 2, 3], ([a, b, c]) => at(x, [placeOf(get(indices, [a, b]), 5), c])) },
      ]);
    }),

    ...onEach('gather takes elements along an axis, in types of one byte too', async (check) => {
      const device = await tensorDevice(check);
      for (const [dtype, domain] of [['f32', [-9, 9]], ['u8', [0, 255, 1]], ['i32', [-9, 9, 1]]]) {
        const x = array([4, 6], domain, dtype);
        const indices = array([3, 6], [-5, 5, 1], 'i32', 1);
        await compare(check, device, dtype, [{
          name: `gather of ${dtype}`, tensor: device.tensor(x.values, x.shape, dtype).gather(device.tensor(indices.values, indices.shape, 'i32')),
          array: build([3, 6], ([i, j]) => at(x, [placeOf(get(indices, [i, j]), 4), j])),
        }]);
      }
    }),

    ...onEach('gatherNd takes elements and slices by rows of coordinates', async (check) => {
      const device = await tensorDevice(check);
      const x = array([3, 4, 2], [-9, 9], 'f32');
      const t = device.tensor(x.values, x.shape);
      await compare(check, device, 'f32', [
        { name: 'elements', tensor: t.gatherNd(device.tensor([0, 1, 1, 2, 3, 0, -1, -1, -1], [3, 3], 'i32')), array: { shape: [3], values: [get(x, [0, 1, 1]), get(x, [2, 3, 0]), get(x, [2, 3, 1])] } },
        { name: 'slices', tensor: t.gatherNd(device.tensor([1, 2, 0, 0], [2, 2], 'i32')), array: build([2, 2], ([i, k]) => get(x, i === 0 ? [1, 2, k] : [0, 0, k])) },
      ]);
    }),

    ...Object.entries(COMBINE).flatMap(([combine, f]) =>
      onEach(`scatter and indexAdd with '${combine}' put elements at places`, async (check) => {
        const device = await tensorDevice(check);
        const x = array([5, 3], [-3, 3, 1], 'f32');
        const source = array([4, 3], [-2, 2, 1], 'f32', 1);
        // Rows 1 and 3 of the column write to one place; the second last index is out of range.
        const indices = build([4, 3], ([i, j]) => [j, (j + 1) % 5, 7, j][i]);
        const put = (places) => {
          const values = [...x.values];
          for (let k = 0; k < source.values.length; k++) {
            const [i, j] = [Math.floor(k / 3), k % 3];
            const place = placeOf(places([i, j]), 5);
            if (place !== null) values[3 * place + j] = f(values[3 * place + j], source.values[k]);
          }
          return { shape: [5, 3], values };
        };
        const [t, s] = [x, source].map(({ values, shape }) => device.tensor(values, shape));
        const rows = [0, -1, 9, 0];
        const options = { axis: 0, combine };
        await compare(check, device, 'f32', [
          { name: 'scatter', tensor: t.scatter(device.tensor(indices.values, [4, 3], 'i32'), s, options), array: put((place) => get(indices, place)) },
          { name: 'indexAdd', tensor: t.indexAdd(device.tensor(rows, [4], 'i32'), s, options), array: put(([i]) => rows[i]) },
        ]);
      })),

    ...onEach('scatterNd puts elements by rows of coordinates', async (check) => {
      const device = await tensorDevice(check);
      const places = device.tensor([0, 1, 1, 2, 0, 1], [3, 2], 'i32');
      const source = device.tensor([5, 6, 7]);
      await compare(check, device, 'f32', [
        { name: 'add', tensor: device.tensor([0, 0, 0, 0, 0, 0], [2, 3]).scatterNd(places, source, { combine: 'add' }), array: { shape: [2, 3], values: [0, 12, 0, 0, 0, 6] } },
        { name: 'set', tensor: device.tensor([1, 1, 1, 1, 1, 1], [2, 3]).scatterNd(places, source), array: { shape: [2, 3], values: [1, 7, 1, 1, 1, 6] } },
      ]);
    }),

    ...onEach('many elements at one place add up in the same bits each time', async (check) => {
      const device = await tensorDevice(check);
      const [source, places] = [fill([-1, 1], 20_000, 'f32'), fill([0, 9, 1], 20_000, 'i32', 1)];
      const sums = Array.from({ length: 10 }, () => 0);
      source.forEach((value, i) => (sums[places[i]] += value));
      const [s, p, zero] = [device.tensor(source), device.tensor(places, [20_000], 'i32'), device.tensor(Array.from({ length: 10 }, () => 0))];
      const [once, again] = [await zero.indexAdd(p, s).data(), await zero.indexAdd(p, s).data()];
      check.same(once, again, 'the same bits');
      // 2,000 numbers a place: their magnitudes add up to 1,000, and a sum in order is off by at most 2,000 roundings of partial sums.
      sums.forEach((expected, i) => check.close(once[i], expected, { within: 2000 * 2 ** -24 * 64, because: 'roundings of partial sums, which stay below 64' }));
    }),

    ...onEach('maskedFill and where replace what a mask selects', async (check) => {
      const device = await tensorDevice(check);
      const t = device.tensor([1, Number.NaN, 3, 4], [2, 2]);
      await compare(check, device, 'f32', [
        { name: 'maskedFill', tensor: t.maskedFill(t.isNaN(), 9), array: { shape: [2, 2], values: [1, 9, 3, 4] } },
        { name: 'where with a number', tensor: where(t.gt(2), 0, t), array: { shape: [2, 2], values: [1, Number.NaN, 0, 0] } },
        { name: 'where that broadcasts', tensor: where(device.tensor([1, 0], [2, 1], 'bool'), t.slice([1, 2]), 5), array: { shape: [2, 2], values: [3, 4, 5, 5] } },
      ]);
    }),
  ],
};
