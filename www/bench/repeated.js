/** Times of work that is submitted and read. */
import { median } from './statistics.js';

/**
 * Medians in milliseconds: `alone` of a run until it is read, `inARow` of one of `count` runs of which the last is read.
 * @param {{ submit: () => unknown, read: () => Promise<unknown>, count: number, samples: number }} work `read` makes a run too
 */
export async function repeated({ submit, read, count, samples }) {
  const [alone, inARow] = [[], []];
  for (let rep = 0; rep < samples; rep++) {
    const start = performance.now();
    await read();
    const once = performance.now();
    alone.push(once - start);
    for (let i = 1; i < count; i++) await submit();
    await read();
    inARow.push((performance.now() - once) / count);
  }
  return { alone: median(alone), inARow: median(inARow) };
}
