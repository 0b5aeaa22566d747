// The checks of www/checks that are not marked long, but for those of solvers.
import { testChecks } from '../checks-page.mjs';
import { isOfSolvers } from '../solver-checks.mjs';

await testChecks(({ group, long }) => !long && !isOfSolvers(group));
