// The tier of a single test, where a script has quick ones too. Whole scripts state theirs in their names: see xtask/src/test/runners.rs.
import { test } from 'node:test';

/** A test that takes more than some seconds on a software adapter: `cargo xtask test` leaves it out without `--all`. */
export const longTest = process.env.RESIDUA_TIER === 'change' ? () => undefined : test;
