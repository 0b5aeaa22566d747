/** A count of changes: what is set gets the next number, so that each reader can tell what has changed since it last looked. */

let now = 0;

/** The number of the latest change. */
export function latestChange(): number {
  return now;
}

/** The number of a new change. */
export function nextChange(): number {
  return ++now;
}
