/** Milliseconds of runs before the first sample. A GPU that was idle runs at a fraction of its clock for some 100 ms: an H200 at 345 MHz of 1,980. */
export const WARM_UP_MS = 500;
/** Runs between two looks at the clock. */
const IN_A_ROW = 20;

/** Runs a work until the clock of the device is at its height. `run()` submits a run, `finish()` resolves when all runs are done. */
export async function warmUp({ run, finish }) {
  const start = performance.now();
  while (performance.now() - start < WARM_UP_MS) {
    for (let i = 0; i < IN_A_ROW; i++) run();
    await finish();
  }
}
