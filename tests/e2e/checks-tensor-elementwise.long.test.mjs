// The long checks of www/checks of elementwise operations.
import { testLongChecks } from '../long-checks.mjs';

await testLongChecks('tensor-elementwise');
