// The tier of a single test, where a script has quick ones too. Whole scripts state theirs in their names: see xtask/src/test/runners.rs.
import { test } from 'node:test';

/** Whether long tests run. */
const hasLong = process.env.RESIDUA_TIER !== 'change';

/** A test that takes more than some seconds on a software adapter: `cargo xtask test` leaves it out without `--all`. */
export const longTest = hasLong ? test : () => undefined;

/** With `--all` all of the items; for every change the item of a number by turns, so that tests beside each other take all items together. */
export const byTurns = (items, number) => (hasLong ? items : [items[number % items.length]]);
