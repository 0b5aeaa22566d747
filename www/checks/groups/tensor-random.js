/** Random numbers: the generator's bits, the same on both engines, and the moments of distributions. */
import { Device, Random } from 'residua/tensor';
import { tensorDevice } from '../tensors/compare.js';
import { threefry } from '../tensors/threefry.js';
import { anywhere, gpuAgainstCpu, onEach } from '../define.js';

const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
const variance = (list) => {
  const middle = mean(list);
  return mean(list.map((x) => (x - middle) ** 2));
};
const COUNT = 20_000;
/** Five standard errors of a mean of COUNT numbers. */
const within = (deviation) => ({ within: (5 * deviation) / Math.sqrt(COUNT), because: 'five standard errors; the seed is fixed' });

export const group = {
  id: 'tensor-random',
  title: 'Tensors: random numbers',
  about: 'Bits of Threefry by their definition, the same on both engines, and distributions by their moments.',
  checks: [
    ...anywhere('the definition of the generator gives the published vectors', (check) => {
      // Random123 1.14, kat_vectors: threefry2x32 of 20 rounds.
      check.same(threefry([0, 0], [0, 0]), [0x6b200159, 0x99ba4efe]);
      check.same(threefry([0xffffffff, 0xffffffff], [0xffffffff, 0xffffffff]), [0x1cb996fc, 0xbb002be7]);
      check.same(threefry([0x13198a2e, 0x03707344], [0x243f6a88, 0x85a308d3]), [0xc4923a9c, 0x483df7a0]);
    }),

    ...onEach('bits are those of the generator: the key is the seed and the draw, the counter the element', async (check) => {
      const device = await tensorDevice(check);
      const random = new Random(0x0123456789abcdefn);
      const [first, second] = await device.read(random.bits([300]), random.bits([7]));
      // Draws of one object are told apart by the high word of the key, from the first one on.
      const words = (draw, element) => threefry([0x89abcdef, (0x01234567 + draw) >>> 0], [element, 0]);
      const found = [0, 1].flatMap((draw) => [0, 1].map((word) => [draw, word])).find(([draw, word]) => words(draw, 0)[word] === first[0]);
      check.ok(found !== undefined, `the first bits, ${first[0]}, are a word of the generator`);
      const [draw, word] = found;
      check.same(first, Uint32Array.from({ length: 300 }, (_, i) => words(draw, i)[word]), 'the first draw');
      check.same(second, Uint32Array.from({ length: 7 }, (_, i) => words(draw + 1, i)[word]), 'the second draw');
    }),

    ...gpuAgainstCpu('both engines draw the same bits and the same uniform numbers', async (check) => {
      const draws = [];
      for (const backend of ['gpu', 'cpu']) {
        const device = await Device.create({ backend });
        check.defer(() => device.dispose());
        const random = new Random(7);
        draws.push(await device.read(random.bits([1000]), random.uniform([1000]), random.integers([1000], -5, 5), random.bernoulli([1000], 0.3), random.permutation(1000)));
      }
      check.same(draws[0], draws[1]);
    }),

    ...onEach('a seed repeats, another differs, and setSeed starts over', async (check) => {
      const device = await tensorDevice(check);
      const draw = async (random) => [...(await device.read(random.bits([50])))[0]];
      const random = new Random(3);
      const first = await draw(random);
      check.same(await draw(new Random(3)), first, 'the same seed');
      check.notEqual((await draw(new Random(4))).join(), first.join(), 'another seed');
      check.notEqual((await draw(random)).join(), first.join(), 'the next draw');
      random.setSeed(3);
      check.same(await draw(random), first, 'after setSeed');
      check.equal(random.seed, 3n);
    }),

    ...onEach('a recipe draws the same numbers wherever it is used', async (check) => {
      const device = await tensorDevice(check);
      const x = new Random(5).uniform([100]);
      const [difference, sum, once] = await device.read(x.sub(x), x.add(x), x);
      check.ok(difference.every((value) => value === 0), 'x − x is 0');
      check.same(sum, once.map((value) => 2 * value));
    }),

    ...onEach('distributions have their ranges and moments', async (check) => {
      const device = await tensorDevice(check);
      const random = new Random(11);
      const [uniform, normal, truncated, integers, bernoulli, chosen, dropped] = await device.read(
        random.uniform([COUNT], -1, 3), random.normal([COUNT], 2, 0.5), random.truncatedNormal([COUNT]), random.integers([COUNT], -2, 3), random.bernoulli([COUNT], 0.25),
        random.categorical(device.tensor([0, Math.log(3)]).broadcastTo([COUNT, 2])), random.dropout(device.tensor([1]).broadcastTo([COUNT]), 0.25),
      );
      check.ok(uniform.every((x) => x >= -1 && x < 3), 'uniform numbers are in [−1, 3)');
      check.close(mean([...uniform]), 1, within(4 / Math.sqrt(12)), 'the mean of uniform numbers');
      check.close(variance([...uniform]), 16 / 12, within(16 / Math.sqrt(180)), 'the variance of uniform numbers');
      check.close(mean([...normal]), 2, within(0.5), 'the mean of normal numbers');
      check.close(variance([...normal]), 0.25, within(0.25 * Math.SQRT2), 'the variance of normal numbers');
      check.ok(truncated.every((x) => Math.abs(x) <= 2), 'truncated normal numbers are within two deviations');
      check.close(mean([...truncated]), 0, within(1), 'the mean of truncated normal numbers');
      check.same([...new Set(integers)].sort((a, b) => a - b), [-2, -1, 0, 1, 2], 'integers are in [−2, 3)');
      check.close(mean([...integers]), 0, within(Math.SQRT2), 'the mean of integers');
      check.close(mean([...bernoulli]), 0.25, within(Math.sqrt(3) / 4), 'the mean of truth values');
      check.close(mean([...chosen]), 0.75, within(Math.sqrt(3) / 4), 'an index is drawn with its probability');
      check.ok(dropped.every((x) => x === 0 || Math.abs(x - 4 / 3) < 1e-6), 'what is not dropped is scaled up');
      check.close(mean([...dropped]), 1, within(1 / Math.sqrt(3)), 'dropout keeps the mean');
    }),

    ...onEach('uniform numbers stay below a bound that is large beside their range', async (check) => {
      const device = await tensorDevice(check);
      const random = new Random(12);
      // f32 has 16 numbers in each of these ranges, so that one draw in 32 is nearest to the upper bound.
      const [above, across] = await device.read(random.uniform([2000], 1e6, 1e6 + 1), random.uniform([2000], -1e6 - 1, -1e6));
      check.same([...new Set(above)].sort((a, b) => a - b), Array.from({ length: 16 }, (_, k) => 1e6 + k / 16));
      check.same([...new Set(across)].sort((a, b) => a - b), Array.from({ length: 16 }, (_, k) => -1e6 - 1 + k / 16));
      check.match(await check.failureInWords(() => random.uniform([1], -3e38, 3e38)), /^invalid-argument: uniform: /);
    }),

    ...onEach('a permutation has each number once', async (check) => {
      const device = await tensorDevice(check);
      const [permutation] = await device.read(new Random(2).permutation(1000));
      const inOrder = Array.from({ length: 1000 }, (_, i) => i);
      check.notEqual(permutation.join(), inOrder.join());
      check.same([...permutation].sort((a, b) => a - b), inOrder);
    }),

    ...onEach('each run of a program draws anew, and setSeed starts it over', async (check) => {
      const device = await tensorDevice(check);
      const random = new Random(9);
      const program = await device.compile({}, () => random.bits([64]));
      check.defer(() => program.dispose());
      const run = async () => [...(await program.run().data())];
      const [first, second] = [await run(), await run()];
      check.notEqual(first.join(), second.join(), 'the second run');
      random.setSeed(9);
      check.same(await run(), first, 'after setSeed');
    }),
  ],
};
