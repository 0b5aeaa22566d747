/** Derivatives of functions of tensors, and functions of many examples. */
import * as T from 'residua/tensor';
import { tensorDevice } from '../tensors/compare.js';
import { TRANSFORMS } from '../tensors/transforms.js';
import { onEach } from '../define.js';

/** Those whose kernels a software adapter compiles for ten seconds and more. */
const SLOW = new Set(['jvp of loops beside the steps written out, and its derivative', 'jvp, jacobian and grad of einsum agree']);

export const group = {
  id: 'tensor-transforms',
  title: 'Tensors: derivatives of functions, many examples',
  about: 'jvp, jacobian, hessian, derivatives of the caller and vmap: closed forms, and one way of computing beside another.',
  checks: TRANSFORMS.flatMap(([name, run]) => onEach(name, async (check) => run(T, await tensorDevice(check), (holds, claim) => check.ok(holds, claim)), { slow: SLOW.has(name) })),
};
