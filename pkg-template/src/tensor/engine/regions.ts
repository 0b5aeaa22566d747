/** Which places of a plan share memory: temporaries whose steps do not overlap in time. */

import { placesOf, type Plan } from './plan.js';

/** Memory of a program: how many pieces there are, and which place lies where. */
export interface Regions {
  /** Bytes of each region. */
  readonly bytes: readonly number[];
  /** The region of each place; −1 for a slot. */
  readonly ofPlace: readonly number[];
}

interface Span {
  readonly place: number;
  readonly bytes: number;
  readonly first: number;
  readonly last: number;
}

/**
 * Lays out temporaries and results. A result has a region of its own. A step never finds two of its places in one region, as WebGPU takes no
 * buffer that a dispatch both reads and writes under two bindings.
 */
export function regionsOf(plan: Plan): Regions {
  const bytes: number[] = [];
  const ofPlace: number[] = plan.places.map(() => -1);
  plan.places.forEach(({ kind, bytes: size }, place) => {
    if (kind === 'result') ofPlace[place] = bytes.push(size) - 1;
  });
  const users: Span[][] = bytes.map(() => []);
  // The largest first: a smaller one then fits where a larger one has been.
  for (const span of spansOf(plan).sort((a, b) => b.bytes - a.bytes || a.place - b.place)) {
    const isFree = (others: readonly Span[]) => others.length > 0 && others.every(({ first, last }) => last < span.first || first > span.last);
    let region = users.findIndex(isFree);
    if (region < 0) {
      region = bytes.push(span.bytes) - 1;
      users.push([]);
    }
    (users[region] as Span[]).push(span);
    ofPlace[span.place] = region;
  }
  return { bytes, ofPlace };
}

/** From the first to the last step that uses each temporary. */
function spansOf({ places, steps }: Plan): Span[] {
  const first = new Map<number, number>();
  const last = new Map<number, number>();
  steps.forEach((step, k) => {
    for (const place of placesOf(step)) {
      if (!first.has(place)) first.set(place, k);
      last.set(place, k);
    }
  });
  return places.flatMap(({ kind, bytes }, place) =>
    kind === 'temporary' ? [{ place, bytes, first: first.get(place) ?? 0, last: last.get(place) ?? 0 }] : [],
  );
}
