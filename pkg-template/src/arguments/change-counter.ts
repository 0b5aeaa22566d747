/** A counter of changes. Every change gets the next number, so a reader can compare it with the number of its last read. */

let latest = 0;

/** Returns the number of the latest change; 0 before any. */
export function latestChange(): number {
  return latest;
}

/** Counts a new change and returns its number. */
export function nextChange(): number {
  return ++latest;
}
