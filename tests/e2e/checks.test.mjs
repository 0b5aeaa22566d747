// The checks of www/checks that are not marked long.
import { testChecks } from '../checks-page.mjs';

await testChecks(({ long }) => !long);
