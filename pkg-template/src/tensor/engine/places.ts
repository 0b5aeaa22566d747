/** The memory of a plan's places: that which its program owns, and that which a run binds. */

import { ResiduaError } from '../../arguments/errors.js';
import type { Engine, Memory } from './engine.js';
import type { Place, Plan } from './plan.js';

/** Allocates the memory of each place but slots, which have null, and fills tables. */
export function ownedPlaces({ places }: Plan, engine: Engine, allocate: (bytes: number, kind: Place['kind']) => Memory): (Memory | null)[] {
  return places.map(({ kind, bytes, content }) => {
    if (kind === 'slot') return null;
    const memory = allocate(bytes, kind);
    if (content !== null) engine.write(memory, 0, content);
    return memory;
  });
}

/**
 * The memory of a place. Throws 'internal' where it has none.
 *
 * @param owned memory of each place, null for slots
 * @param slots memory of each slot
 */
export function memoryOf({ places }: Plan, owned: readonly (Memory | null)[], slots: readonly (Memory | null)[], place: number): Memory {
  const memory = owned[place] ?? slots[places[place]?.slot ?? 0] ?? null;
  if (memory === null) throw new ResiduaError('internal', `place ${place} of a plan has no memory`);
  return memory;
}

/** Whether two lists have the same memory. */
export function isSameMemory(a: readonly Memory[], b: readonly Memory[]): boolean {
  if (a.length !== b.length) return false;
  for (let k = 0; k < a.length; k++) if (a[k] !== b[k]) return false;
  return true;
}
