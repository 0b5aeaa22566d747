/**
 * Definitions of checks. A group is `{ id, title, about, checks }`; a check is `{ name, engine, needs, long, slow, run }`, made by the functions
 * here, each of which returns a list to be spread.
 *
 *   name     the fact that it checks
 *   engine   'gpu' or 'cpu': `check.backend` while it runs; 'both' where one is compared with the other; 'none' where none is involved
 *   needs    features of the device beyond WebGPU itself, for example 'timestamp-query'; where one is missing the check is
 *            skipped, with that reason
 *   long     whether it may take more than some seconds wherever it runs, or asserts a time: `quick` leaves it out
 *   slow     whether it takes more than some seconds on a software adapter alone; `cargo xtask test` runs long and slow ones with `--all` only
 *   run      `async (check) => …`, which throws where the fact does not hold; see check.js
 *
 * A check that needs the GPU is skipped where there is none; it does not count as passed.
 */

const define = (engine) => (name, run, { needs = [], long = false, slow = false } = {}) => [{ name, engine, needs, long, slow, run }];

export const onGpu = define('gpu');
export const onCpu = define('cpu');
/** A check that needs both engines. */
export const gpuAgainstCpu = define('both');
/** A check without an engine. */
export const anywhere = define('none');
/** The same check on one engine and on the other, where no adapter makes it slow. */
export const onEach = (name, run, options) => [...onGpu(name, run, options), ...onCpu(name, run, { ...options, slow: false })];

const slug = (text) => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-|-$/g, '');
const ENGINES = { gpu: ', on the GPU', cpu: ', on the CPU', both: '', none: '' };

/** A group's checks, each with a unique `id` and a `title` with its engine. */
export function numbered(group) {
  const seen = new Set();
  return group.checks.map((check) => {
    const twice = check.engine === 'gpu' || check.engine === 'cpu' ? group.checks.filter(({ name }) => name === check.name).length > 1 : false;
    const id = `${group.id}/${slug(check.name)}${twice ? `-${check.engine}` : ''}`;
    if (seen.has(id)) throw new Error(`two checks are called ${id}`);
    seen.add(id);
    return { ...check, id, group: group.id, title: twice ? check.name + ENGINES[check.engine] : check.name };
  });
}
