/** The names that operands have in the public functions; for messages alone. */

import { Op, type OpCode } from './op-codes.js';

/** Functions and arguments whose names differ from the operation's and from a and b. */
const NAMES: Partial<Record<keyof typeof Op, readonly [string, ...string[]]>> = {
  pow: ['pow', 'a', 'exponent'],
  atan2: ['V.atan2', 'y', 'x'],
  select: ['V.ifThenElse', 'condition', 'a', 'b'],
  stopGradient: ['V.stopGradient', 'a'],
};

/** Returns the function and argument of an operand of `op`, given its position from 0. */
export function operandName(op: OpCode, position: number): string {
  const operation = (Object.keys(Op) as (keyof typeof Op)[]).find((name) => Op[name] === op) as keyof typeof Op;
  const [name, ...operands] = NAMES[operation] ?? [operation, 'a', 'b'];
  return `${name}: ${operands[position]}`;
}
