/** Where the constraints of compiled functions are: rows after those of the residuals, and data columns for what a solver changes of them. */

import type { RawFunctions } from '../module/raw.js';
import type { ConstraintInstances } from '../problem/constraint-block.js';
import { NO_FLOOR, STATES } from '../problem/constraint-function.js';

/** A block of constraints in compiled functions. */
export interface ConstraintPart {
  readonly block: ConstraintInstances;
  /** Its first constraint among all constraints. */
  readonly first: number;
  /** Its first row in the compiled functions. */
  readonly firstRow: number;
  /** Its number in the compiled functions. */
  blockId: number;
  templateIds: readonly number[];
}

/** The numbers that a solver sets for each constraint, and for the floors of inequalities: see problem/constraint-function.ts. */
export interface States {
  /** s */
  readonly shift: Float64Array;
  /** a */
  readonly scale: Float64Array;
  /** h */
  readonly half: Float64Array;
  /** Whether inequalities are cut off at 0. */
  readonly isCut: boolean;
}

/** All constraints of compiled functions. */
export class ConstraintLayout {
  readonly parts: readonly ConstraintPart[];
  /** Number of constraints. */
  readonly count: number;

  constructor(
    blocks: readonly ConstraintInstances[],
    /** Number of rows before the constraints, those of the residuals. */
    readonly firstRow: number,
  ) {
    let first = 0;
    this.parts = blocks.map((block): ConstraintPart => {
      const part = { block, first, firstRow: firstRow + first, blockId: 0, templateIds: [] };
      first += block.numConstraints;
      return part;
    });
    this.count = first;
  }

  /** Sets the states of all constraints. */
  setStates(raw: RawFunctions, { shift, scale, half, isCut }: States): void {
    for (const { block, first, templateIds } of this.parts) {
      block.templates.forEach(({ count, rows, stateColumn, tape }, number) => {
        const outputs = tape.outputs.length;
        const hasFloor = block.kind === 'inequality';
        const columns = new Float64Array((STATES * outputs + Number(hasFloor)) * count);
        for (let output = 0; output < outputs; output++) {
          const at = STATES * output * count;
          for (let j = 0; j < count; j++) {
            const place = first + (rows === null ? j * outputs : (rows[j] as number)) + output;
            columns[at + j] = shift[place] as number;
            columns[at + count + j] = scale[place] as number;
            columns[at + 2 * count + j] = half[place] as number;
          }
        }
        if (hasFloor) columns.fill(isCut ? 0 : NO_FLOOR, STATES * outputs * count);
        raw.setData(templateIds[number] as number, stateColumn as number, columns);
      });
    }
  }

  /** Makes the outputs the constraints themselves, and takes them out of costs and sums. */
  reset(raw: RawFunctions): void {
    const zeros = new Float64Array(this.count);
    this.setStates(raw, { shift: zeros, scale: zeros.map(() => 1), half: zeros, isCut: false });
    this.setEnabled(raw, () => false);
  }

  /** Sets which blocks take part in costs and sums. */
  setEnabled(raw: RawFunctions, isEnabled: (part: number) => boolean): void {
    this.parts.forEach(({ blockId }, part) => raw.setEnabled(blockId, isEnabled(part)));
  }

  /** Returns the block of a constraint, the instance and its output there. */
  find(place: number): { part: ConstraintPart; instance: number; output: number } {
    const part = this.parts.find(({ first, block }) => place < first + block.numConstraints) as ConstraintPart;
    const row = place - part.first;
    for (const { rows, instances, tape } of part.block.templates) {
      const outputs = tape.outputs.length;
      if (rows === null) return { part, instance: Math.floor(row / outputs), output: row % outputs };
      const j = rows.findIndex((start) => start <= row && row < start + outputs);
      if (j >= 0) return { part, instance: instances?.[j] ?? j, output: row - (rows[j] as number) };
    }
    return { part, instance: 0, output: 0 };
  }
}
