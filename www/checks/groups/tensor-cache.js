/** Rotary embeddings, parts of stored tensors that are written in place, and keys and values of decoders. */
import { Device, Random, dim, rope, scalar, spec } from 'residua/tensor';
import { build, get } from '../tensors/arrays.js';
import { compare, tensorDevice } from '../tensors/compare.js';
import { f16round, fill } from '../tensors/numbers.js';
import { onEach, onGpu } from '../define.js';

const list = async (tensor) => [...(await tensor.data())];
const program = async (check, device, ...args) => {
  const compiled = await device.compile(...args);
  check.defer(() => compiled.dispose());
  return compiled;
};

/** An array [..., tokens, numbers] whose pairs turn by the position of their token times a frequency. */
function turned({ shape, values }, { layout = 'halves', size, frequency = (pair) => 10000 ** ((-2 * pair) / size), position }) {
  return build(shape, (at) => {
    const i = at.at(-1);
    const x = (place) => get({ shape, values }, [...at.slice(0, -1), place]);
    if (i >= size) return x(i);
    const isFirst = layout === 'halves' ? i < size / 2 : i % 2 === 0;
    const pair = layout === 'halves' ? i % (size / 2) : i >> 1;
    const partner = layout === 'halves' ? (i + size / 2) % size : i ^ 1;
    const angle = position(at.at(-2)) * frequency(pair);
    return x(i) * Math.cos(angle) + (isFirst ? -1 : 1) * x(partner) * Math.sin(angle);
  });
}

/** Angles are products in f32: at position p they are off by p roundings, and numbers of a pair by as much of their magnitude. */
const angles = (position) => ({ allowed: 16 + 8 * position, because: 'a product of a position and a rounded frequency, a sine and a cosine', floor: 2 });

const CODES = [
  ['as many tokens as there is no room for', (cache, x) => cache.append(0, x([1, 9, 4]), x([1, 9, 4]), 0), /append: position: got 0 with 9 tokens; takes at most 8 tokens, the capacity/],
  ['a layer that is not there', (cache, x) => cache.append(2, x([1, 1, 4]), x([1, 1, 4]), 0), /append: layer: got 2/],
  ['other heads', (cache, x) => cache.append(0, x([2, 1, 4]), x([1, 1, 4]), 0), /append: k: got f32 \[2, 1, 4\]; takes a Tensor of f32 or f16 of shape \[1, tokens, 4\]/],
  ['values for other tokens', (cache, x) => cache.append(0, x([1, 1, 4]), x([1, 2, 4]), 0), /append: v: got \[1, 2, 4\]; takes as many tokens as k has, 1/],
  ['a negative position', (cache, x) => cache.append(0, x([1, 1, 4]), x([1, 1, 4]), -1), /append: position: got -1/],
];

export const group = {
  id: 'tensor-cache',
  title: 'Tensors: rotary embeddings and caches of decoders',
  about: 'Angles of rotary embeddings in both layouts; parts of stored tensors written in place at places told at each run; keys and values in memory that never grows.',
  checks: [
    ...onEach('rope turns pairs of halves and of neighbours, all of them or the first ones', async (check) => {
      const device = await tensorDevice(check);
      const x = { shape: [2, 5, 12], values: fill([-2, 2], 120, 'f32') };
      const t = device.tensor(x.values, x.shape);
      const cases = [];
      for (const layout of ['halves', 'pairs']) {
        for (const size of [12, 8, 2]) {
          const of = { layout, size, position: (token) => 7 + token };
          cases.push({ name: `${layout}, ${size} of 12 numbers`, tensor: rope(t, { position: 7, layout, ...(size === 12 ? {} : { size }) }), array: turned(x, of), ...angles(12) });
        }
        cases.push({ name: `${layout}, another base`, tensor: rope(t, { position: 0, layout, base: 100 }), array: turned(x, { layout, size: 12, frequency: (pair) => 100 ** (-pair / 6), position: (token) => token }), ...angles(5) });
      }
      await compare(check, device, 'f32', cases);
    }),

    ...onEach('rope takes positions and frequencies of tensors, and keeps half precision', async (check) => {
      const device = await tensorDevice(check);
      const x = { shape: [3, 4, 8], values: fill([-2, 2], 96, 'f16') };
      const [places, steps] = [[5, 0, 3, 100], [1, 0.5, 0.25, 0.125]];
      const [positions, frequencies] = [device.tensor(places, [4], 'i32'), device.tensor(steps)];
      const of = { layout: 'pairs', size: 8, frequency: (pair) => steps[pair], position: (token) => places[token] };
      const t = device.tensor(x.values, x.shape, 'f16');
      await compare(check, device, 'f32', [{ name: 'in f32', tensor: rope(t.cast('f32'), { position: positions, frequencies, layout: 'pairs' }), array: turned(x, of), ...angles(100) }]);
      await compare(check, device, 'f16', [{ name: 'in f16', tensor: rope(t, { position: positions, frequencies, layout: 'pairs' }), array: turned(x, of), allowed: 1, because: 'one rounding to half precision, and angles in f32', floor: 1 }]);
      const each = device.tensor([1, 2, 3, 4, 9, 8, 7, 6, 0, 0, 0, 1], [3, 4], 'i32');
      const own = await each.data();
      const array = build(x.shape, (at) => get(turned(x, { size: 8, position: (token) => own[4 * at[0] + token] }), at));
      await compare(check, device, 'f32', [{ name: 'a position for each token of each row', tensor: rope(t.cast('f32'), { position: each }), array, ...angles(9) }]);
    }),

    ...onEach('parts of a stored tensor are assigned at places that each run tells, one after another', async (check) => {
      const device = await tensorDevice(check);
      const expected = fill([-9, 9, 1], 24, 'i32');
      const x = device.tensor(expected, [6, 4], 'i32');
      const [row, column] = [dim('row', 5), dim('column', 3)];
      const p = await program(check, device, { source: spec('i32', [1, 4]) }, ({ source }) => {
        const before = x.sum();
        x.assignAt([row], source);
        const between = x.sum();
        x.assignAt([0, column], source.slice(null, [0, 1]).add(between));
        return { before, between, after: x.sum(), row: x.slice([row, row.plus(1)]) };
      });
      const total = () => expected.reduce((a, b) => a + b);
      for (const [r, c] of [[5, 3], [0, 1], [2, 0], [0, 0]]) {
        const source = fill([-9, 9, 1], 4, 'i32', r);
        const before = total();
        source.forEach((number, k) => (expected[4 * r + k] = number));
        const between = total();
        expected[c] = source[0] + between;
        const found = p.run({ source }, { row: r, column: c });
        const got = await device.read(found.before, found.between, found.after, found.row, x);
        check.same(got.map((numbers) => [...numbers]), [[before], [between], [total()], expected.slice(4 * r, 4 * r + 4), expected], `row ${r}, column ${c}`);
      }
      const error = await check.failure(async () => p.run({ source: [1, 2, 3, 4] }, { row: 5, column: 4 }));
      check.same(error?.code, 'invalid-argument');
    }),

    ...onEach('parts of narrow types begin and end within words', async (check) => {
      const device = await tensorDevice(check);
      for (const dtype of ['u8', 'f16', 'bool', 'f32']) {
        const domain = [0, dtype === 'bool' ? 1 : 200, 1];
        const expected = fill(domain, 27, dtype);
        const x = device.tensor(expected, [3, 9], dtype);
        const start = dim('start', 6);
        const p = await program(check, device, { source: spec(dtype, [3, 3]) }, ({ source }) => x.assignAt([0, start], source));
        for (const first of [0, 1, 3, 6]) {
          const source = fill(domain, 9, dtype, first + 1);
          source.forEach((number, k) => (expected[9 * Math.floor(k / 3) + first + (k % 3)] = number));
          p.run({ source }, { start: first });
          check.same(await list(x), expected, `${dtype} from ${first} on`);
        }
      }
    }),

    ...onEach('a part that is computed from other places of its tensor is computed from what was there', async (check) => {
      const device = await tensorDevice(check);
      const x = device.tensor([1, 2, 3, 4, 5, 6, 7, 8]);
      const start = dim('start', 4);
      const p = await program(check, device, {}, () => {
        const old = x.slice([start, start.plus(3)]);
        x.assignAt([start.plus(1)], old);
        return { change: x.sub(old.sum()) };
      });
      p.run({}, { start: 2 });
      check.same([await list(x), await list(p.outputs.change)], [[1, 2, 3, 3, 4, 5, 7, 8], [-11, -10, -9, -9, -8, -7, -5, -4]]);
    }),

    ...onEach('a cache gives all keys and values up to those that a run adds', async (check) => {
      const device = await tensorDevice(check);
      const [layers, heads, size, capacity] = [2, 3, 4, 16];
      for (const [batch, dtype] of [[undefined, undefined], [2, 'f32']]) {
        const cache = device.kvCache({ layers, heads, size, capacity, ...(batch === undefined ? {} : { batch, dtype }) });
        const outer = [...(batch === undefined ? [] : [batch]), heads];
        const [position, count] = [dim('position', capacity), dim('count', 8)];
        const rows = outer.reduce((a, b) => a * b);
        const p = await program(check, device, { k: spec('f32', [...outer, count, size]), v: spec('f32', [...outer, count, size]) }, ({ k, v }) => {
          const first = cache.append(0, k, v, position);
          const second = cache.append(1, v, k.mul(2), position);
          return { k: first.k.cast('f32'), v: first.v.cast('f32'), sums: second.v.cast('f32').sum(-2), last: second.k.slice(...outer.map(() => null), [-1]).cast('f32') };
        });
        const keep = dtype === 'f32' ? Math.fround : f16round;
        const [keys, values] = [new Map(), new Map()];
        let at = 0;
        for (const tokens of [5, 1, 1, 8, 1]) {
          const [k, v] = [1, 2].map((seed) => fill([-2, 2], rows * tokens * size, 'f32', seed + at));
          k.forEach((number, i) => keys.set(`${Math.floor(i / (tokens * size))} ${at + (Math.floor(i / size) % tokens)} ${i % size}`, number));
          v.forEach((number, i) => values.set(`${Math.floor(i / (tokens * size))} ${at + (Math.floor(i / size) % tokens)} ${i % size}`, number));
          const found = p.run({ k, v }, { position: at, count: tokens });
          at += tokens;
          check.same(found.k.sizes, [...outer, at, size], 'the shape of the keys');
          const got = await device.read(found.k, found.v, found.sums, found.last);
          const all = (map, f) => Array.from({ length: rows * at * size }, (_, i) => f(map.get(`${Math.floor(i / (at * size))} ${Math.floor(i / size) % at} ${i % size}`)));
          check.same([...got[0]], all(keys, keep), `keys of ${at} tokens`);
          check.same([...got[1]], all(values, keep), `values of ${at} tokens`);
          const doubled = all(keys, (x) => keep(2 * Math.fround(x)));
          for (let row = 0; row < rows; row++) {
            for (let i = 0; i < size; i++) {
              const column = doubled.filter((_, k) => Math.floor(k / (at * size)) === row && k % size === i);
              check.close(got[2][row * size + i], column.reduce((a, b) => a + b), { within: 2 ** -22 * column.reduce((a, b) => a + Math.abs(b), 0), because: 'a compensated sum, stored once' }, 'sums of the values of the second layer');
            }
          }
          check.same([...got[3]], all(values, keep).filter((_, i) => Math.floor(i / size) % at === at - 1), 'the last keys of the second layer');
        }
        const error = await check.failure(async () => p.run({ k: new Float32Array(rows * size), v: new Float32Array(rows * size) }, { position: capacity, count: 1 }));
        check.same(error?.code, 'invalid-argument', 'a run beyond the capacity');
        cache.dispose();
        cache.dispose();
        check.same((await check.failure(async () => p.run({ k: new Float32Array(rows * size), v: new Float32Array(rows * size) }, { position: 0, count: 1 })))?.code, 'disposed');
      }
    }),

    ...onEach('queries are computed beside the keys and values that a run writes', async (check) => {
      const device = await tensorDevice(check);
      const [heads, shared, size, capacity] = [3, 2, 8, 16];
      for (const dtype of ['f16', 'f32']) {
        const cache = device.kvCache({ layers: 1, heads: shared, size, capacity, dtype });
        const table = device.tensor(fill([0, 2], capacity * size, 'f16'), [capacity, size]);
        const [position, count] = [dim('position', capacity), dim('count', 8)];
        const p = await program(check, device, { q: spec('f32', [count, heads, size]), k: spec('f32', [count, shared, size]) }, ({ q, k }) => {
          const factors = table.slice([position, position.plus(count)]);
          const turned = (x) => x.transpose(0, 1).mul(factors);
          const seen = cache.append(0, turned(k), k.transpose(0, 1), position);
          return { q: turned(q), k: seen.k.cast('f32'), v: seen.v.cast('f32') };
        });
        const factors = await table.data();
        const keep = dtype === 'f32' ? Math.fround : f16round;
        const [keys, values] = [[], []];
        let at = 0;
        for (const tokens of [3, 1, 5, 1]) {
          const q = fill([-2, 2], tokens * heads * size, 'f16', at);
          const k = fill([-2, 2], tokens * shared * size, 'f16', at + 1);
          for (let token = 0; token < tokens; token++) {
            const row = k.slice(token * shared * size, (token + 1) * shared * size);
            values.push(row.map(keep));
            keys.push(row.map((x, i) => keep(Math.fround(x * factors[(at + token) * size + (i % size)]))));
          }
          const found = p.run({ q, k }, { position: at, count: tokens });
          const got = await device.read(found.q, found.k, found.v);
          check.same([...got[0]], Array.from({ length: heads * tokens * size }, (_, i) => {
            const [head, token, place] = [Math.floor(i / (tokens * size)), Math.floor(i / size) % tokens, i % size];
            return Math.fround(q[(token * heads + head) * size + place] * factors[(at + token) * size + place]);
          }), `queries from ${at} on`);
          at += tokens;
          const ofHeads = (rows) => Array.from({ length: shared * at * size }, (_, i) => rows[Math.floor(i / size) % at][Math.floor(i / (at * size)) * size + (i % size)]);
          check.same([...got[1]], ofHeads(keys), `keys up to ${at}`);
          check.same([...got[2]], ofHeads(values), `values up to ${at}`);
        }
        if (check.backend === 'gpu') check.ok(p.plan.toString().includes('_and_map_part'), p.plan.toString());
      }
    }),

    ...onEach('a cache makes no memory and no kernels while it grows to its capacity', async (check) => {
      const device = await tensorDevice(check);
      const [heads, size, capacity] = [2, 8, 4096];
      const cache = device.kvCache({ layers: 1, heads, size, capacity });
      const [position, count] = [dim('position', capacity), dim('count', 512)];
      const p = await program(check, device, { k: spec('f32', [heads, count, size]), scale: scalar }, ({ k, scale }) => cache.append(0, k, k.mul(scale), position).v.cast('f32').sum(1));
      let [at, total, before] = [0, 0, null];
      for (const tokens of [1, 1, 1, 60, 1, 512, 512, 512, 512, 1, 512, 512, 512, 447]) {
        p.run({ k: new Float32Array(heads * tokens * size).fill(0.5), scale: 3 }, { position: at, count: tokens });
        at += tokens;
        total += 1.5 * tokens;
        check.same(await list(p.outputs), Array.from({ length: heads * size }, () => total), `${at} tokens`);
        before ??= device.stats();
      }
      check.same(at, capacity);
      const after = device.stats();
      for (const name of ['pipelines', 'tensors', 'tensorBytes', 'programBytes']) check.same(after[name], before[name], name);
    }),

    ...onGpu('a run of other sizes uploads at most 64 bytes, reads what is asked for, and makes no objects', async (check) => {
      const gpu = await check.ownDevice();
      const counts = { up: 0, down: 0, made: 0 };
      const { queue } = gpu;
      const write = queue.writeBuffer.bind(queue);
      queue.writeBuffer = (buffer, offset, data, start = 0, size = data.length - start) => {
        counts.up += size * (data.BYTES_PER_ELEMENT ?? 1);
        write(buffer, offset, data, start, size);
      };
      for (const name of ['createBuffer', 'createBindGroup', 'createShaderModule', 'createComputePipeline', 'createComputePipelineAsync']) {
        const make = gpu[name].bind(gpu);
        gpu[name] = (descriptor) => {
          counts.made += 1;
          const made = make(descriptor);
          if (name !== 'createBuffer') return made;
          const map = made.getMappedRange.bind(made);
          made.getMappedRange = (...range) => {
            const bytes = map(...range);
            counts.down += bytes.byteLength;
            return bytes;
          };
          return made;
        };
      }
      const device = await Device.create({ share: gpu });
      check.defer(() => device.dispose());
      const capacity = 4096;
      const cache = device.kvCache({ layers: 1, heads: 1, size: 4, capacity });
      const tokens = device.zeros([capacity + 1], 'i32');
      const [position, count, to] = [dim('position', capacity), dim('count', 8), dim('to', capacity)];
      const random = new Random(1);
      const p = await program(check, device, { scale: scalar, shift: scalar }, ({ scale, shift }) => {
        const added = tokens.slice([position, position.plus(count)]).cast('f32').mul(scale).reshape([1, count, 1]).broadcastTo([1, count, 4]);
        const { k } = cache.append(0, added, added, position);
        let row = k.cast('f32').sum([0, 2]).mul(0.25).add(random.uniform([1]).floor());
        // Long scans are three dispatches each, so that the uniforms are longer than what is uploaded as a whole.
        for (let i = 0; i < 6; i++) row = row.cummax().add(shift);
        const token = row.max().expandDims(0).cast('i32');
        tokens.assignAt([to], token);
        return { token };
      });
      check.ok(p.plan.dispatches > 16, `the plan has ${p.plan.dispatches} dispatches`);
      const numbers = { scale: 1, shift: 0.25 };
      p.run(numbers, { position: 0, count: 8, to: 8 });
      let token = await p.outputs.token.item();
      check.same(token, 1);
      for (let at = 8; at < capacity; at = at < 12 ? at + 1 : Math.min(2 * at, capacity - 1) + (at === capacity - 1 ? 1 : 0)) {
        // The token of the position is the latest one, which no run of the positions in between has moved.
        if (at > 12) tokens.set([token], at);
        Object.assign(counts, { up: 0, down: 0, made: 0 });
        p.run(numbers, { position: at, count: 1, to: at + 1 });
        const next = await p.outputs.token.item();
        check.same(next, token + 1, `the token after ${at}`);
        check.ok(counts.up <= 64, `${counts.up} bytes up at ${at}`);
        check.same([counts.down, counts.made], [4, 0], `bytes down, and objects that were made, at ${at}`);
        token = next;
      }
    }),

    ...onEach('errors of a cache name what was wrong', async (check) => {
      const device = await tensorDevice(check);
      const cache = device.kvCache({ layers: 2, heads: 1, size: 4, capacity: 8 });
      for (const [name, append, message] of CODES) {
        const error = await check.failure(() => device.compile({}, () => append(cache, (shape) => device.zeros(shape), 0).k.cast('f32').sum()));
        check.same(error?.code, 'invalid-argument', name);
        check.match(error?.message, message, name);
      }
      const options = { layers: 1, heads: 1, size: 4, capacity: 8 };
      check.same((await check.failure(() => device.kvCache({ ...options, heads: 0 })))?.code, 'invalid-argument');
      check.match((await check.failure(() => device.kvCache({ ...options, length: 1 })))?.message, /unknown option "length"/);
      check.same((await check.failure(() => cache.append(0, device.zeros([1, 1, 4]), device.zeros([1, 1, 4]), 0)))?.code, 'invalid-graph', 'outside of a body');
      const large = await check.failure(() => device.kvCache({ ...options, size: 2 ** 20, capacity: 2 ** 20 }));
      check.ok(large.code === 'limit-exceeded' || large.code === 'out-of-memory', large.message);
      check.match(large.message, /kvCache: the keys of layer 0 of 1.*\d/, 'the figures');
      const { tensors } = device.stats();
      check.same(tensors, 4 + 2 * CODES.length + 2, 'a cache that was refused keeps nothing');
    }),
  ],
};
