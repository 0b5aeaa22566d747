/**
 * Models typed as text, such as `a * exp(-b * x) + c`: x is the variable, and every other name that is not a function or constant is a
 * parameter. Takes the text; returns its parameters and two evaluations, with numbers for drawing and with residua's Values for solving, or
 * throws an error with its position. It is a recursive-descent parser without eval, so that it works under a strict content security
 * policy.
 *
 *     expression = term { ("+" | "-") term }
 *     term       = factor { ("*" | "/") factor }
 *     factor     = ("+" | "-") factor | power
 *     power      = primary [ "^" factor ]                      so that -x^2 is -(x^2), and 2^3^2 is 2^9
 *     primary    = number | name | name "(" expression { "," expression } ")" | "(" expression ")"
 */
import { V } from 'residua';

/** An invalid model; `position` and `length` are those of the characters in error. */
export class ExpressionError extends Error {
  constructor(message, position, length = 1) {
    super(message);
    this.name = 'ExpressionError';
    this.position = position;
    this.length = length;
  }
}

const unary = (number, value) => ({ arity: 1, number, value });

/** Functions by name, on numbers and on Values. */
export const FUNCTIONS = new Map(Object.entries({
  exp: unary(Math.exp, V.exp), ln: unary(Math.log, V.log), log: unary(Math.log, V.log), log10: unary(Math.log10, (a) => V.log(a).div(Math.LN10)),
  sqrt: unary(Math.sqrt, V.sqrt), abs: unary(Math.abs, V.abs),
  sin: unary(Math.sin, V.sin), cos: unary(Math.cos, V.cos), tan: unary(Math.tan, V.tan),
  asin: unary(Math.asin, V.asin), acos: unary(Math.acos, V.acos), atan: unary(Math.atan, V.atan),
  sinh: unary(Math.sinh, V.sinh), cosh: unary(Math.cosh, V.cosh), tanh: unary(Math.tanh, V.tanh),
  atan2: { arity: 2, number: Math.atan2, value: V.atan2 },
  min: { arity: 2, number: Math.min, value: V.min }, max: { arity: 2, number: Math.max, value: V.max },
}));

/** `e` is a parameter, the fifth of a polynomial; exp(1) is the number. */
const CONSTANTS = new Map([['pi', Math.PI], ['π', Math.PI]]);

/** Typographic variants of the operators. */
const SAME = new Map([['**', '^'], ['×', '*'], ['·', '*'], ['÷', '/'], ['−', '-']]);

const LONGEST = 1000, DEEPEST = 100, MOST_PARAMETERS = 12;

const TOKEN = /\s*(?:(?<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?<name>[\p{L}_][\p{L}\p{N}_]*)|(?<operator>\*\*|[-+*/^(),×·÷−]))/uy;

/** A prefix such as "y =", which is ignored. */
const RESULT = /^\s*(?:y|f\s*\(\s*x\s*\))\s*=/;

function tokenize(text) {
  const tokens = [];
  TOKEN.lastIndex = RESULT.exec(text)?.[0].length ?? 0;
  const end = text.trimEnd().length;
  while (TOKEN.lastIndex < end) {
    const from = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (match === null) {
      const position = from + text.slice(from).search(/\S/);
      const character = String.fromCodePoint(text.codePointAt(position));
      throw new ExpressionError(`"${character}" is not understood`, position, character.length);
    }
    const { number, name, operator } = match.groups;
    const written = number ?? name ?? operator;
    const token = { kind: number !== undefined ? 'number' : name !== undefined ? 'name' : 'operator', text: SAME.get(written) ?? written, position: TOKEN.lastIndex - written.length, length: written.length };
    tokens.push(token);
    if (token.kind === 'number' && !Number.isFinite(Number(token.text))) throw new ExpressionError(`${token.text} is too large a number`, token.position, token.length);
  }
  tokens.push({ kind: 'end', text: '', position: end, length: 1 });
  return tokens;
}

/** A tree of { kind: 'number' | 'variable' | 'parameter' | 'negate' | 'binary' | 'call' }. */
class Parser {
  constructor(text) {
    this.tokens = tokenize(text);
    this.next = 0;
    this.depth = 0;
    this.parameters = [];
  }

  get token() {
    return this.tokens[this.next];
  }

  take(...operators) {
    const { kind, text } = this.token;
    if (kind !== 'operator' || !operators.includes(text)) return null;
    return this.tokens[this.next++];
  }

  fail(message, { position, length } = this.token) {
    throw new ExpressionError(message, position, length);
  }

  all() {
    const tree = this.expression();
    const { kind, text } = this.token;
    if (kind === 'end') return tree;
    if (text === ')') this.fail('this ) closes nothing');
    if (text === ',') this.fail('a comma stands only between the values of a function');
    return this.missingOperator();
  }

  /** Two adjacent values. */
  missingOperator() {
    const before = this.tokens[this.next - 1];
    this.fail(`an operator is missing between "${before.text}" and "${this.token.text}"${this.token.kind === 'operator' || before.kind === 'operator' ? '' : `: ${before.text} * ${this.token.text}, perhaps`}`);
  }

  expression() {
    let tree = this.term();
    for (let operator; (operator = this.take('+', '-')) !== null;) tree = { kind: 'binary', operator: operator.text, a: tree, b: this.term() };
    return tree;
  }

  term() {
    let tree = this.factor();
    for (let operator; (operator = this.take('*', '/')) !== null;) tree = { kind: 'binary', operator: operator.text, a: tree, b: this.factor() };
    return tree;
  }

  factor() {
    if (++this.depth > DEEPEST) this.fail(`it is nested more than ${DEEPEST} deep here`);
    const sign = this.take('+', '-');
    const tree = sign === null ? this.power() : this.factor();
    this.depth--;
    return sign?.text === '-' ? { kind: 'negate', a: tree } : tree;
  }

  power() {
    const tree = this.primary();
    return this.take('^') === null ? tree : { kind: 'binary', operator: '^', a: tree, b: this.factor() };
  }

  primary() {
    const token = this.token;
    if (token.kind === 'number') {
      this.next++;
      return { kind: 'number', value: Number(token.text) };
    }
    if (token.kind === 'name') return this.named();
    if (this.take('(') !== null) {
      const tree = this.expression();
      this.close(token);
      return tree;
    }
    const before = this.tokens[this.next - 1];
    const where = before === undefined ? 'at the start' : `after "${before.text}"`;
    return this.fail(token.kind === 'end' ? `it ends where a value is due, ${where}` : `a value is due ${where}, not "${token.text}"`);
  }

  close(opening) {
    if (this.take(')') !== null) return;
    const { kind, text } = this.token;
    if (kind === 'end') this.fail('this ( is never closed', opening);
    if (text === ',') this.fail('a comma stands only between the values of a function');
    this.missingOperator();
  }

  named() {
    const token = this.tokens[this.next++];
    const { text: name } = token;
    const called = this.token.text === '(' && this.token.kind === 'operator';
    if (FUNCTIONS.has(name)) return called ? this.call(token) : this.fail(`${name} is a function, and takes its value in brackets: ${name}(x)`, token);
    if (called) this.fail(`there is no function "${name}"; there are ${[...FUNCTIONS.keys()].join(', ')}. To multiply, write ${name} * (`, token);
    if (name === 'x') return { kind: 'variable' };
    if (CONSTANTS.has(name)) return { kind: 'number', value: CONSTANTS.get(name) };
    let index = this.parameters.indexOf(name);
    if (index < 0) {
      index = this.parameters.push(name) - 1;
      if (index >= MOST_PARAMETERS) this.fail(`"${name}" is parameter ${index + 1}; there may be ${MOST_PARAMETERS}`, token);
    }
    return { kind: 'parameter', index };
  }

  call(token) {
    const opening = this.tokens[this.next++];
    const { arity, ...functions } = FUNCTIONS.get(token.text);
    if (this.token.text === ')') this.fail(`${token.text} takes ${count(arity)}, and has none`, token);
    const values = [this.expression()];
    while (this.take(',') !== null) values.push(this.expression());
    this.close(opening);
    if (values.length !== arity) this.fail(`${token.text} takes ${count(arity)}, and has ${values.length}`, token);
    return { kind: 'call', ...functions, values };
  }
}

const count = (arity) => (arity === 1 ? 'one value' : `${arity} values`);

const NUMBERS = {
  '+': (a, b) => a + b, '-': (a, b) => a - b, '*': (a, b) => a * b, '/': (a, b) => a / b, '^': (a, b) => a ** b,
};
const VALUES = {
  '+': V.add, '-': V.sub, '*': V.mul, '/': V.div,
  // A whole number as exponent is repeated multiplication, which is valid for a negative base.
  '^': (a, b) => (typeof b === 'number' ? V.pow(a, b) : V.powValue(a, b)),
};

/** Evaluates a tree with numbers. */
function numberOf(tree, x, parameters) {
  switch (tree.kind) {
    case 'number': return tree.value;
    case 'variable': return x;
    case 'parameter': return parameters[tree.index];
    case 'negate': return -numberOf(tree.a, x, parameters);
    case 'binary': return NUMBERS[tree.operator](numberOf(tree.a, x, parameters), numberOf(tree.b, x, parameters));
    default: return tree.number(...tree.values.map((value) => numberOf(value, x, parameters)));
  }
}

/** Builds the Value of a tree; parts without parameter and variable stay numbers. */
function valueOf(tree, x, parameters) {
  const constant = (operands) => operands.every((operand) => typeof operand === 'number');
  switch (tree.kind) {
    case 'number': return tree.value;
    case 'variable': return x;
    case 'parameter': return parameters[tree.index];
    case 'negate': {
      const a = valueOf(tree.a, x, parameters);
      return typeof a === 'number' ? -a : a.neg();
    }
    case 'binary': {
      const operands = [valueOf(tree.a, x, parameters), valueOf(tree.b, x, parameters)];
      return (constant(operands) ? NUMBERS : VALUES)[tree.operator](...operands);
    }
    default: {
      const operands = tree.values.map((value) => valueOf(value, x, parameters));
      return constant(operands) ? tree.number(...operands) : tree.value(...operands);
    }
  }
}

/**
 * @param {string} text
 * @returns {{
 *   text: string, parameters: string[],
 *   evaluate: (x: number, parameters: ArrayLike<number>) => number,
 *   build: (x: import('residua').Scalar, parameters: readonly import('residua').Value[]) => import('residua').Scalar, }} parameters by
 *   name, in the order of their first occurrence in the text
 */
export function parseExpression(text) {
  if (text.trim() === '') throw new ExpressionError('there is no model; a * exp(-b * x) + c is one', 0, Math.max(1, text.length));
  if (text.length > LONGEST) throw new ExpressionError(`it has ${text.length} characters; it may have ${LONGEST}`, LONGEST, text.length - LONGEST);
  const parser = new Parser(text);
  const tree = parser.all();
  const { parameters } = parser;
  if (parameters.length === 0) throw new ExpressionError('there is nothing to fit: a name that is neither x nor a function is a parameter', 0, text.length);
  return {
    text, parameters,
    evaluate: (x, values) => numberOf(tree, x, values),
    build: (x, values) => valueOf(tree, x, values),
  };
}
