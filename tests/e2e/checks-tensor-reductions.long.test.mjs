// The long checks of www/checks of reductions.
import { testLongChecks } from '../long-checks.mjs';

await testLongChecks('tensor-reductions');
