// The long checks of www/checks of solvers.
import { testLongChecks } from '../long-checks.mjs';

await testLongChecks('solvers');
