/**
 * What JavaScript's own operators are told about an expression: `x > 0`, `x - 1` or `Math.sin(x)` would otherwise compute with NaN, and say nothing.
 */

import { invalidGraph } from './errors.js';

/** The answer to a [Symbol.toPrimitive]: text where text is asked for; where a number is, it throws 'invalid-graph'. */
export function textOnly(hint: string, text: string): string {
  if (hint === 'string') return text;
  throw invalidGraph(
    `${text} was used as a number, or compared, by an operator or function of JavaScript: use its methods (x.sub(1), x.sin(), x.gt(0)) and ` +
      'V.ifThenElse for a choice, so that it is recorded; `data` of a Value is its number now',
  );
}
