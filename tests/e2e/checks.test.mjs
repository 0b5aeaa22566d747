// The checks of www/checks that are not marked long or slow, but for those of solvers.
import { testChecks } from '../checks-page.mjs';
import { isOfSolvers } from '../solver-checks.mjs';

await testChecks(({ group, long, slow }) => !long && !slow && !isOfSolvers(group));
