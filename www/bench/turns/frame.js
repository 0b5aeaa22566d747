/**
 * One build of the package, in a frame. The page around it calls `window.build`: `prepare(name)` makes a workload ready and resolves to what its first run
 * gave, `sample()` resolves to milliseconds of one unit, `dispose()` frees the workload.
 */
import { workloads } from './workloads.js';

/** A sample repeats runs until it has lasted so long, since clocks of pages tick every 0.1 ms in some browsers. */
const LEAST_SAMPLE_MS = 20;
const MOST_RUNS = 20_000;

let workload = null;

window.build = {
  names: Object.keys(workloads),
  async prepare(name) {
    workload = await workloads[name]();
    await workload.before?.();
    return workload.run();
  },
  async sample() {
    let [spent, runs] = [0, 0];
    while (spent < LEAST_SAMPLE_MS && runs < MOST_RUNS) {
      await workload.before?.();
      const start = performance.now();
      await workload.run();
      spent += performance.now() - start;
      runs++;
    }
    return spent / runs / (workload.units ?? 1);
  },
  async dispose() {
    await workload?.dispose();
    workload = null;
  },
};
window.parent.postMessage('ready', location.origin);
