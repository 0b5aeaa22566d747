/** What the operands of an operation are called in the public functions: for messages alone. */

import { Op, type OpCode } from './op-codes.js';

/** The functions and arguments that are not called as the operation is, with operands a and b. */
const NAMES: Partial<Record<keyof typeof Op, readonly [string, ...string[]]>> = {
  pow: ['pow', 'a', 'exponent'],
  atan2: ['V.atan2', 'y', 'x'],
  select: ['V.ifThenElse', 'condition', 'a', 'b'],
  stopGradient: ['V.stopGradient', 'a'],
};

/** The function and argument that an operand of an operation, by its position from 0, comes from. */
export function operandName(op: OpCode, position: number): string {
  const operation = (Object.keys(Op) as (keyof typeof Op)[]).find((name) => Op[name] === op) as keyof typeof Op;
  const [name, ...operands] = NAMES[operation] ?? [operation, 'a', 'b'];
  return `${name}: ${operands[position]}`;
}
