/** Linear algebra of tensors, beside matrices in double precision, closed forms and NumPy. */
import * as T from 'residua/tensor';
import { LINALG } from '../tensors/linalg.js';
import { tensorDevice } from '../tensors/compare.js';
import { onEach } from '../define.js';

/** Those whose kernels a software adapter compiles for ten seconds and more. */
const SLOW = new Set(['derivatives', 'closed forms']);

export const group = {
  id: 'tensor-linalg',
  title: 'Tensors: linear algebra',
  about: 'Factorisations, systems, determinants, inverses, least squares, eigenvalues, singular values, powers and exponentials of batches of matrices.',
  checks: LINALG.flatMap(([name, run]) =>
    onEach(name, async (check) => run(T, await tensorDevice(check), (holds, claim) => check.ok(holds, claim)), { long: name.startsWith('factors'), slow: SLOW.has(name) }),
  ),
};
