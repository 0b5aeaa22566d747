// The checks of solvers in www/checks that are not marked long or slow: with all others they take longer than `cargo xtask test` gives a script where other
// work runs.
import { testChecks } from '../checks-page.mjs';
import { isOfSolvers } from '../solver-checks.mjs';

await testChecks(({ group, long, slow }) => !long && !slow && isOfSolvers(group));
