// The checks of www/checks that are marked long: they take more than some seconds on a software adapter, or assert times.
import { testChecks } from '../checks-page.mjs';

await testChecks(({ long }) => long);
