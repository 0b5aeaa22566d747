/** Views of tensors: shapes, parts, borders, windows, and what joins them. Nothing is rounded, so results are equal to the last bit. */
import { arange, concat, eye, full, iota, linspace, ones, oneHot, stack, zeros } from 'residua/tensor';
import { broadcastTo, build, get } from '../tensors/arrays.js';
import { compare, tensorDevice } from '../tensors/compare.js';
import { fill } from '../tensors/numbers.js';
import { onEach } from '../define.js';

const wrapped = (i, size) => ((i % size) + size) % size;
const clamped = (i, size) => Math.min(Math.max(i, 0), size - 1);
/** Mirrored at the outermost elements, which do not repeat. */
const mirrored = (i, size) => {
  const place = wrapped(i, Math.max(2 * size - 2, 1));
  return place < size ? place : 2 * size - 2 - place;
};
const PLACE = { clamp: clamped, wrap: wrapped, mirror: mirrored };
const beyond = (array, at) => at.some((i, axis) => i < 0 || i >= array.shape[axis]);

/** [name, shape, view of a tensor, shape of the result, element of the result by its coordinates]. */
const VIEWS = [
  ['reshape', [4, 6], (x) => x.reshape([2, -1, 3]), [2, 4, 3], (a, [i, j, k]) => a.values[12 * i + 3 * j + k]],
  ['reshape of a transposed tensor', [4, 6], (x) => x.T.reshape([8, 3]), [8, 3], (a, [i, j]) => get(a, [(3 * i + j) % 4, Math.floor((3 * i + j) / 4)])],
  ['flatten', [2, 3, 4], (x) => x.flatten(1), [2, 12], (a, [i, j]) => a.values[12 * i + j]],
  ['squeeze', [1, 3, 1, 2], (x) => x.squeeze(), [3, 2], (a, [i, j]) => a.values[2 * i + j]],
  ['squeeze of one axis', [1, 3, 1, 2], (x) => x.squeeze(-2), [1, 3, 2], (a, [, i, j]) => a.values[2 * i + j]],
  ['expandDims', [3, 2], (x) => x.expandDims(0, -1), [1, 3, 2, 1], (a, [, i, j]) => get(a, [i, j])],
  ['permute', [2, 3, 4], (x) => x.permute([2, 0, 1]), [4, 2, 3], (a, [k, i, j]) => get(a, [i, j, k])],
  ['transpose', [2, 3, 4], (x) => x.transpose(0, 2), [4, 3, 2], (a, [k, j, i]) => get(a, [i, j, k])],
  ['T', [5, 2, 3], (x) => x.T, [5, 3, 2], (a, [b, j, i]) => get(a, [b, i, j])],
  ['broadcastTo', [3, 1], (x) => x.broadcastTo([2, 3, 4]), [2, 3, 4], (a, [, j]) => get(a, [j, 0])],
  ['repeat', [3, 2], (x) => x.repeat(2, 0), [6, 2], (a, [i, j]) => get(a, [i % 3, j])],
  ['tile', [3, 2], (x) => x.tile([2, 3]), [6, 6], (a, [i, j]) => get(a, [i % 3, j % 2])],
  ['slice', [5, 7], (x) => x.slice([1, 4], [2, null]), [3, 5], (a, [i, j]) => get(a, [i + 1, j + 2])],
  ['slice with places from the end', [5, 7], (x) => x.slice(null, [-4, -1]), [5, 3], (a, [i, j]) => get(a, [i, j + 3])],
  ['slice with steps', [5, 7], (x) => x.slice([0, 5, 2], [1, 7, 3]), [3, 2], (a, [i, j]) => get(a, [2 * i, 1 + 3 * j])],
  ['slice backwards', [5, 7], (x) => x.slice([4, null, -2], [5, 1, -1]), [3, 4], (a, [i, j]) => get(a, [4 - 2 * i, 5 - j])],
  ['slice of nothing', [5, 7], (x) => x.slice([2, 2]), [0, 7], () => 0],
  ['pick', [5, 7], (x) => x.pick(1, -2), [5], (a, [i]) => get(a, [i, 5])],
  ['flip', [3, 4], (x) => x.flip(), [3, 4], (a, [i, j]) => get(a, [2 - i, 3 - j])],
  ['flip of one axis', [3, 4], (x) => x.flip(-1), [3, 4], (a, [i, j]) => get(a, [i, 3 - j])],
  ['roll', [3, 5], (x) => x.roll(2, 1), [3, 5], (a, [i, j]) => get(a, [i, wrapped(j - 2, 5)])],
  ['roll backwards', [3, 5], (x) => x.roll(-1, 0), [3, 5], (a, [i, j]) => get(a, [wrapped(i + 1, 3), j])],
  ['diagonal', [4, 4], (x) => x.diagonal(), [4], (a, [i]) => get(a, [i, i])],
  ['windows', [9, 2], (x) => x.windows(0, 3, 2), [4, 2, 3], (a, [i, j, k]) => get(a, [2 * i + k, j])],
  ['windows with gaps', [9], (x) => x.windows(0, 3, 1, 2), [5, 3], (a, [i, k]) => get(a, [i + 2 * k])],
  ['tril', [4, 5], (x) => x.tril(), [4, 5], (a, [i, j]) => (j <= i ? get(a, [i, j]) : 0)],
  ['triu above the diagonal', [4, 5], (x) => x.triu(1), [4, 5], (a, [i, j]) => (j >= i + 1 ? get(a, [i, j]) : 0)],
  ['views of views', [4, 6, 5], (x) => x.permute([2, 0, 1]).slice([1, 5, 2]).flip(1).reshape([2, 24]), [2, 24], (a, [i, j]) => get(a, [3 - Math.floor(j / 6), j % 6, 1 + 2 * i])],
  ...['clamp', 'wrap', 'mirror'].flatMap((border) => [
    [`shift, ${border}`, [4, 5], (x) => x.shift([1, -2], border), [4, 5], (a, [i, j]) => get(a, [PLACE[border](i + 1, 4), PLACE[border](j - 2, 5)])],
    [`pad, ${border}`, [4, 5], (x) => x.pad([[2, 1], [0, 3]], { mode: border }), [7, 8], (a, [i, j]) => get(a, [PLACE[border](i - 2, 4), PLACE[border](j, 5)])],
  ]),
  ['shift, zero', [4, 5], (x) => x.shift([2], 'zero'), [4, 5], (a, [i, j]) => (beyond(a, [i, j + 2]) ? 0 : get(a, [i, j + 2]))],
  ['pad with a number', [4, 5], (x) => x.pad([[1, 0], [2, 2]], { value: 1 }), [5, 9], (a, [i, j]) => (beyond(a, [i - 1, j - 2]) ? 1 : get(a, [i - 1, j - 2]))],
  ['setSlice', [4, 5], (x) => x.setSlice([1, 2], x.slice([0, 2], [0, 3])), [4, 5], (a, [i, j]) => (i >= 1 && i < 3 && j >= 2 ? get(a, [i - 1, j - 2]) : get(a, [i, j]))],
  ['the third of three parts', [7, 2], (x) => x.split([2, 2, 3])[2], [3, 2], (a, [i, j]) => get(a, [i + 4, j])],
  ['the second of two parts', [3, 8], (x) => x.split(2, 1)[1], [3, 4], (a, [i, j]) => get(a, [i, j + 4])],
  ['concat', [3, 2], (x) => concat([x, x.flip(0), x.slice([0, 1])], 0), [7, 2], (a, [i, j]) => get(a, [i < 3 ? i : i < 6 ? 5 - i : 0, j])],
  ['concat along the last axis', [3, 2], (x) => concat([x, x.slice(null, [0, 1])], -1), [3, 3], (a, [i, j]) => get(a, [i, j % 2])],
  ['stack', [3, 2], (x) => stack([x, x.flip(1)], 1), [3, 2, 2], (a, [i, k, j]) => get(a, [i, k === 0 ? j : 1 - j])],
  ['concat of a part with nothing', [3, 2], (x) => concat([x.slice([0, 0]), x]), [3, 2], (a, at) => get(a, at)],
];

const TYPES = [['f32', [-100, 100]], ['f16', [-100, 100]], ['i32', [-100, 100, 1]], ['u32', [0, 100, 1]], ['u8', [0, 255, 1]], ['bool', [0, 1, 1]]];

/** [name, recipe, type, shape, element by its coordinates]. */
const SOURCES = [
  ['zeros', () => zeros([2, 3]), 'f32', [2, 3], () => 0],
  ['ones', () => ones([5], 'i32'), 'i32', [5], () => 1],
  ['full', () => full([2, 2], 7, 'u8'), 'u8', [2, 2], () => 7],
  ['eye', () => eye(2, 3), 'f32', [2, 3], ([i, j]) => Number(i === j)],
  ['arange', () => arange(300, 'i32'), 'i32', [300], ([i]) => i],
  ['linspace', () => linspace(-1, 1, 5), 'f32', [5], ([i]) => i / 2 - 1],
  ['iota', () => iota([3, 4], 1), 'f32', [3, 4], ([, j]) => j],
  // Places from −1, the last, to 3, which is out of range.
  ['oneHot', () => oneHot(arange(5, 'i32').sub(1), 3), 'f32', [5, 3], ([i, j]) => Number(i === 0 ? j === 2 : i - 1 === j)],
];

export const group = {
  id: 'tensor-views',
  title: 'Tensors: shapes and views',
  about: 'What changes the shape of a tensor, or takes and joins parts, in every element type, against the definition by coordinates.',
  checks: [
    ...VIEWS.flatMap(([name, shape, view, result, element], k) =>
      onEach(name, async (check) => {
        const device = await tensorDevice(check);
        const taken = name === 'slice' || name === 'concat' || name.startsWith('pad') ? TYPES : [TYPES[0], TYPES[1 + (k % (TYPES.length - 1))]];
        for (const [dtype, domain] of taken) {
          const count = shape.reduce((a, b) => a * b, 1);
          const array = { shape, values: fill(domain, count, dtype) };
          const tensor = device.tensor(array.values, shape, dtype);
          const expected = build(result, (at) => element(array, at));
          await compare(check, device, dtype, [{ name: `${name} of ${dtype}`, tensor: view(tensor), array: expected }]);
        }
      })),

    ...SOURCES.flatMap(([name, make, dtype, shape, element]) =>
      onEach(`${name} has no memory and gives its numbers`, async (check) => {
        const device = await tensorDevice(check);
        await compare(check, device, dtype, [{ name, tensor: make(), array: build(shape, element) }]);
      })),

    ...onEach('operands broadcast as NumPy’s do', async (check) => {
      const device = await tensorDevice(check);
      const pairs = [[[4, 1, 3], [2, 1]], [[1], [5, 2]], [[], [3]], [[2, 1, 1, 4], [3, 1]], [[0, 1], [1, 3]]];
      const cases = pairs.map(([left, right]) => {
        const [a, b] = [left, right].map((shape, k) => ({ shape, values: fill([-9, 9, 1], shape.reduce((x, y) => x * y, 1), 'f32', k) }));
        const rank = Math.max(left.length, right.length);
        const shape = Array.from({ length: rank }, (_, axis) => [left, right].map((s) => s[axis - rank + s.length] ?? 1).reduce((x, y) => (x === 1 ? y : x)));
        const [wideA, wideB] = [broadcastTo(a, shape), broadcastTo(b, shape)];
        return { name: `[${left}] + [${right}]`, tensor: device.tensor(a.values, left).add(device.tensor(b.values, right)), array: { shape, values: wideA.values.map((x, i) => x + wideB.values[i]) } };
      });
      await compare(check, device, 'f32', cases);
    }),

    ...onEach('shapes that do not fit are refused where the operation is called', async (check) => {
      const device = await tensorDevice(check);
      const x = device.tensor([1, 2, 3, 4, 5, 6], [2, 3]);
      const wrong = [
        () => x.add(device.tensor([1, 2])), () => x.reshape([4]), () => x.permute([0, 0]), () => x.sum(2), () => x.slice([0, 1], null, null), () => x.matmul(x),
        () => concat([x, device.tensor([1, 2], [2, 1])], 0), () => x.windows(0, 3), () => device.tensor([1, 2, 3], [2]), () => x.add(device.tensor([1], [1], 'i32')), () => x.pick(0, 2),
      ];
      for (const call of wrong) check.match(await check.failureInWords(async () => call()), /^invalid-argument: \S/, `${call}`);
    }),
  ],
};
