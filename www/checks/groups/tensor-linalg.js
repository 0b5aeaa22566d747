/** Linear algebra of tensors, beside matrices in double precision, closed forms and NumPy. */
import * as T from 'residua/tensor';
import { LINALG } from '../tensors/linalg.js';
import { tensorDevice } from '../tensors/compare.js';
import { fill } from '../tensors/numbers.js';
import { denseOf, solved, triangularOf } from '../tensors/sparse-triangular.js';
import { relativeDifference } from '../assertions.js';
import { onEach } from '../define.js';

/** Those whose kernels a software adapter compiles for ten seconds and more. */
const SLOW = new Set(['derivatives', 'closed forms', 'matrices that rotations and reflections take in blocks']);

export const group = {
  id: 'tensor-linalg',
  title: 'Tensors: linear algebra',
  about: 'Factorisations, systems, determinants, inverses, least squares, eigenvalues, singular values, powers and exponentials of batches of matrices.',
  checks: [
    ...LINALG.flatMap(([name, run]) =>
      onEach(name, async (check) => run(T, await tensorDevice(check), (holds, claim) => check.ok(holds, claim)), { long: name.startsWith('factors'), slow: SLOW.has(name) }),
    ),
    ...onEach('sparse triangular systems are solved as dense ones, with their derivatives', async (check) => {
      const device = await tensorDevice(check);
      for (const [size, width, options] of [[1, 1, {}], [70, 1, {}], [70, 6, { triangle: 'upper' }], [40, 3, { transpose: true, unitDiagonal: true }]]) {
        const entries = triangularOf(size, 3);
        const matrix = T.SparseMatrix.fromCsr(size, size, device.tensor(entries.offsets, [size + 1], 'u32'), device.tensor(entries.indices, [entries.indices.length], 'u32'), device.tensor(entries.values));
        const system = await device.sparseTriangular(matrix, options);
        const sides = fill([-1, 1], size * width, 'f32');
        const b = device.tensor(sides, [size, width]);
        const dense = denseOf(entries, options);
        const turned = Float64Array.from(dense, (_, at) => dense[(at % size) * size + Math.floor(at / size)]);
        const x = system.solve(b);
        const [found, slope] = await device.read(x, T.grad(x.sum(), [b])[0]);
        // Each of at most seven terms a row is rounded, relative to the largest number of a solution that they grow to.
        const because = 'roundings of at most seven terms a row, which grow on their way';
        check.below(relativeDifference(found, solved(dense, sides, size, width)), 1e-5, because, `solutions of ${size} rows, ${width} columns`);
        check.below(relativeDifference(slope, solved(turned, sides.map(() => 1), size, width)), 1e-5, because, `derivatives of ${size} rows, ${width} columns`);
        system.dispose();
      }
    }),
  ],
};
