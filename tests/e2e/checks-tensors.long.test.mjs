// The long checks of www/checks of tensors but for two groups of their own.
import { testLongChecks } from '../long-checks.mjs';

await testLongChecks('tensors');
