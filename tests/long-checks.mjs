// The parts of the checks of www/checks that are marked long or slow: they take more than some seconds on a software adapter, or assert times. Each part is a
// script of its own, since a script of all of them takes longer than `cargo xtask test` gives one.
import { testChecks } from './checks-page.mjs';

/** The part to which a group of checks belongs: each group belongs to one. */
function partOf(group) {
  if (group === 'tensor-elementwise' || group === 'tensor-reductions') return group;
  return group.startsWith('tensor-') ? 'tensors' : 'solvers';
}

/** Makes a test of each long check of a part. */
export const testLongChecks = (part) => testChecks(({ group, long, slow }) => (long || slow) && partOf(group) === part);
