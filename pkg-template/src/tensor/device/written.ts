/** Recipes that are written for the module: as a tape, or with loops as several. */

import { invalidGraph } from '../../arguments/errors.js';
import { HELD, isCounter } from '../recipe/loop.js';
import type { Node } from '../recipe/node.js';
import { stagesOf } from '../recipe/stages.js';
import { writeTape, type Assignment, type Tape } from '../recipe/tape.js';
import { compileTape, keyOf, type Written } from './compiled.js';
import { writtenStages } from './schedule.js';

/**
 * Writes the recipes of results and of assignments. Throws 'invalid-argument' where two dims have one name and different largest sizes, and 'invalid-graph' for a
 * state of a loop outside of its body.
 *
 * @param takesNumbers whether recipes that differ in numbers of the caller may be one
 */
export function writeRecipe(results: readonly Node[], assignments: readonly Assignment[], takesNumbers = false): Written {
  const stages = stagesOf(results, assignments);
  const written = stages === null ? writtenTape(writeTape(results, assignments, takesNumbers)) : writtenStages(stages);
  if (written.inputs.some(({ source }) => source === HELD) || written.dims.some(isCounter)) throw invalidGraph('loop: got a state, a slice or the counter of a body in a recipe outside of it; takes what the loop returns');
  return written;
}

/** A tape, to be compiled. */
export function writtenTape(tape: Tape): Written {
  return { ...tape, key: () => keyOf(tape), compile: (core, most, onProgress, caller) => compileTape(core, tape.tape, most, onProgress, caller) };
}
