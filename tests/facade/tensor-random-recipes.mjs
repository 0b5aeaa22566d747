/** Random recipes: chains of operations on small tensors, some with sizes that depend on a dim. A seed gives the same recipes. */

import * as T from '../../pkg-template/dist/tensor.js';
import { inputNode } from '../../pkg-template/dist/tensor/recipe/node.js';
import { randomNumbers } from './reference.mjs';
import { flatOf, made } from './tensor-meaning.mjs';

const MOST_ELEMENTS = 120;

/** Operations of a tensor and another, with random choices. Those that do not fit throw, and are left out. */
const OPERATIONS = [
  (x) => x.neg(),
  (x) => x.square().add(1).sqrt(),
  (x) => x.tanh(),
  (x) => x.relu(),
  (x, y) => x.add(y),
  (x, y) => x.sub(y),
  (x, y) => x.mul(y),
  (x, y) => x.maximum(y),
  (x, y) => T.where(x.gt(0.12345), x, y),
  (x, y) => T.map((p, q) => p.sub(q).clamp(-1, 1), x, y),
  (x, y, { axis, flag }) => x.sum(axis(x), { keep: flag() }),
  (x, y, { axis, flag }) => x.max(axis(x), { keep: flag() }),
  (x, y, { axis }) => x.mean(axis(x)),
  (x, y, { axis }) => x.variance(axis(x)),
  (x, y, { axis }) => x.logSumExp(axis(x)),
  (x, y, { axis }) => x.norm(axis(x)),
  (x, y, { axis }) => x.softmax(axis(x)),
  (x, y, { axis, flag }) => x.cumsum(axis(x), { exclusive: flag(), reverse: flag() }),
  (x) => x.reshape([-1]),
  (x, y, { whole }) => x.reshape([whole(1, 4), -1]),
  (x) => x.T,
  (x, y, { axis }) => x.transpose(axis(x), axis(x)),
  (x, y, { whole }) => x.expandDims(whole(0, x.rank)),
  (x) => x.squeeze(),
  (x, y, { whole }) => x.slice([whole(-3, 2)], [whole(-2, 1), whole(2, 5), whole(1, 2)]),
  (x, y, { whole }) => x.slice([-1, null, -whole(1, 2)]),
  (x, y, { axis }) => x.flip(axis(x)),
  (x, y, { axis, whole }) => x.roll(whole(-4, 4), axis(x)),
  (x, y, { axis, whole }) => x.repeat(whole(1, 3), axis(x)),
  (x, y, { axis }) => x.pick(axis(x), -1),
  (x, y, { whole, mode }) => x.shift([whole(-3, 3)], mode(['clamp', 'zero', 'wrap', 'mirror'])),
  (x, y, { whole, mode }) => x.pad(x.shape.map(() => [whole(-1, 2), whole(0, 2)]), { mode: mode(['constant', 'clamp', 'wrap', 'mirror']) }),
  (x, y, { axis, whole }) => x.windows(axis(x), whole(1, 3), 1, whole(1, 2)),
  (x, y, { axis }) => T.concat([x, y], axis(x)),
  (x) => T.stack([x, x.mul(2)], -1),
  (x) => x.tril(),
  (x) => x.diagonal(),
  (x, y, { axis, whole }) => x.indexSelect(T.arange(3, 'i32').sub(whole(0, 3)), axis(x)),
  (x, y, { whole }) => x.indexAdd(T.arange(2, 'i32').mul(whole(0, 1)), x.slice([0, 2])),
  (x, y, { whole }) => x.gather(T.iota(x.shape, 0, 'i32').sub(whole(0, 2)), 0),
  (x, y) => x.setSlice([-1], y.slice([-1])),
  (x, y) => x.matmul(y),
  (x) => x.matmul(x.T),
  (x) => T.layerNorm(x),
];

/** The operations, each a function of two tensors and of what chooses. */
export const operationsOfRecipes = () => OPERATIONS;

/** Yields as many recipes: a tensor and the sizes of its dims. */
export function* randomRecipes(count, seed) {
  const random = randomNumbers(seed);
  const whole = (low, high) => low + Math.floor(random() * (high - low + 1));
  const choices = { whole, axis: (x) => whole(-x.rank, x.rank - 1), flag: () => random() < 0.5, mode: (list) => list[whole(0, list.length - 1)] };
  for (let k = 0; k < count; k++) {
    const dims = { n: whole(1, 4) };
    const n = T.dim('n', 5);
    const input = () => {
      const shape = Array.from({ length: whole(1, 3) }, () => (random() < 0.2 ? n : whole(1, 4)));
      const known = shape.map((size) => (size === n ? dims.n : size));
      const { source } = made(known, () => Math.round((random() * 4 - 2) * 64) / 64).node;
      return T.Tensor.make(inputNode('f32', shape, source));
    };
    const pool = [input(), input()];
    for (let tries = 0; pool.length < 10 && tries < 100; tries++) {
      const operation = OPERATIONS[whole(0, OPERATIONS.length - 1)];
      const x = pool[Math.max(0, pool.length - whole(1, 3))];
      try {
        const next = operation(x, pool[whole(0, pool.length - 1)], choices);
        const elements = next.shape.reduce((product, size) => product * (typeof size === 'number' ? size : size.max), 1);
        const isPresent = next.shape.every((size) => typeof size === 'number' || size.min >= 0);
        if (next.rank > 4 || elements > MOST_ELEMENTS || !isPresent) continue;
        // Places in an axis whose size is a dim may be beyond its present end.
        flatOf(next, dims);
        pool.push(next);
      } catch (error) {
        if (error.code !== 'invalid-argument' && !(error instanceof RangeError)) throw error;
      }
    }
    yield { tensor: pool.at(-1), dims };
  }
}
