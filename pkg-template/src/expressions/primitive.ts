/** The conversion of expressions to primitive values. Without it `x > 0`, `x - 1` or `Math.sin(x)` would silently compute with NaN. */

import { invalidGraph } from '../arguments/errors.js';

/** The result of [Symbol.toPrimitive]: `text` for the hint 'string'; for any other hint it throws 'invalid-graph'. */
export function textOnly(hint: string, text: string): string {
  if (hint === 'string') return text;
  throw invalidGraph(
    `${text} was used as a number, or compared, by an operator or function of JavaScript: use its methods (x.sub(1), x.sin(), x.gt(0)) and ` +
      'V.ifThenElse for a choice, so that it is recorded; `data` of a Value is its number now',
  );
}
