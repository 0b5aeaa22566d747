// Models typed as text: their meaning, their errors with positions, and the agreement of both evaluations with formulas in JavaScript.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { residua } from './residua.mjs';
const { ExpressionError, parseExpression } = await import('../../www/demos/curve-fitting/expression.js');
const { V } = residua;

/** The value of a text without parameters, at x: a parameter of value 0 is added, because a model must have one. */
const valueOf = (text, x = 0) => parseExpression(`(${text}) + zero`).evaluate(x, [0]);

test('operators have the mathematical precedence: powers, signs, products, sums', () => {
  const cases = [
    ['1 + 2 * 3', 7], ['(1 + 2) * 3', 9], ['8 - 3 - 2', 3], ['16 / 4 / 2', 2], ['2 * 3 ^ 2', 18], ['2 ^ 3 ^ 2', 512], ['-3 ^ 2', -9], ['(-3) ^ 2', 9], ['2 ^ -1', 0.5],
    ['2 ^ -1 ^ 2', 0.5], ['2 * -3', -6], ['--3', 3], ['+3 - -4', 7], ['2 - -x', 5, 3], ['10 / 5 * 2', 4], ['-x ^ 2 + 1', -8, 3],
  ];
  for (const [text, expected, x] of cases) assert.equal(valueOf(text, x), expected, text);
});

test('numbers, names and operators are read in keyboard and typographic notation', () => {
  const cases = [['1.5e2', 150], ['.5', 0.5], ['2.', 2], ['1E-2', 0.01], ['2 ** 3', 8], ['6 ÷ 3 × 2 · 1 − 1', 3], ['pi', Math.PI], ['π', Math.PI], ['ln(exp(2))', 2], ['log10(1000)', Math.log10(1000)], ['max(1, min(5, 3))', 3]];
  for (const [text, expected] of cases) assert.equal(valueOf(text), expected, text);
  const { parameters } = parseExpression('y = amplitude_1 * exp(-x / τ) + e + amplitude_1');
  assert.deepEqual(parameters, ['amplitude_1', 'τ', 'e']);
  assert.deepEqual(parseExpression('f(x) = a + x').parameters, ['a']);
  assert.deepEqual(parseExpression('y + x').parameters, ['y']);
});

test('errors have their position', () => {
  const cases = [
    ['', 0, /there is no model/], ['   ', 0, /there is no model/], ['y =', 3, /a value is due/],
    ['a +', 3, /ends where a value is due, after "\+"/], ['a * * b', 4, /a value is due after "\*", not "\*"/], ['/ a', 0, /a value is due at the start, not "\/"/],
    ['2x', 1, /an operator is missing between "2" and "x": 2 \* x/], ['a b', 2, /an operator is missing/], ['(a) (b)', 4, /an operator is missing between "\)" and "\("/],
    ['a * (b + x', 4, /this \( is never closed/], ['a + x)', 5, /this \) closes nothing/], ['a * (b + (c)', 4, /never closed/], ['exp(a', 3, /never closed/],
    ['a, b', 1, /a comma/], ['(a, b)', 2, /a comma/], ['foo(x)', 0, /there is no function "foo"; there are exp, .*foo \* \(/], ['a + exp', 4, /exp is a function/],
    ['atan2(x) + a', 0, /atan2 takes 2 values, and has 1/], ['sin(a, x)', 0, /sin takes one value, and has 2/], ['cos()', 0, /cos takes one value, and has none/],
    ['a # b', 2, /"#" is not understood/], ['a + 😀', 4, /"😀" is not understood/], ['a + 1e999', 4, /1e999 is too large/], ['3 * x', 0, /nothing to fit/],
    ['('.repeat(200) + 'a', 100, /nested more than 100 deep/], [`${'-'.repeat(200)}a`, 100, /nested more than 100 deep/], ['a'.repeat(1001), 1000, /1001 characters/],
    [Array.from({ length: 13 }, (_, k) => `p${k + 1}`).join(' + '), 63, /"p13" is parameter 13; there may be 12/],
  ];
  for (const [text, position, message] of cases) {
    assert.throws(() => parseExpression(text), (error) => {
      assert.ok(error instanceof ExpressionError, `${text}: ${error.stack}`);
      assert.equal(error.position, position, text);
      assert.match(error.message, message, text);
      assert.ok(error.length >= 1, text);
      return true;
    });
  }
});

test("names of JavaScript's globals are ordinary names", () => {
  for (const name of ['constructor', '__proto__', 'toString', 'globalThis', 'eval']) {
    assert.deepEqual(parseExpression(`${name} * x`).parameters, [name]);
    assert.throws(() => parseExpression(`${name}(x)`), /there is no function/);
  }
});

test('evaluation with numbers and with Values agrees with the formula in JavaScript', () => {
  const formulas = [
    ['a * exp(-b * x) + c', (x, [a, b, c]) => a * Math.exp(-b * x) + c],
    ['a * exp(-((x - b) / c)^2 / 2)', (x, [a, b, c]) => a * Math.exp(-(((x - b) / c) ** 2) / 2)],
    ['a / (1 + exp(-b * (x - c)))', (x, [a, b, c]) => a / (1 + Math.exp(-b * (x - c)))],
    ['a * sin(2 * pi * b * x + c) / sqrt(1 + x^2)', (x, [a, b, c]) => (a * Math.sin(2 * Math.PI * b * x + c)) / Math.sqrt(1 + x * x)],
    ['a * x ^ b - c ^ 3 + 2 ^ b', (x, [a, b, c]) => a * x ** b - c ** 3 + 2 ** b],
    ['max(a, x) * min(b, 2) + abs(c - x) * atan2(x, a)', (x, [a, b, c]) => Math.max(a, x) * Math.min(b, 2) + Math.abs(c - x) * Math.atan2(x, a)],
    ['a * tanh(b * x) + c * log10(x) - ln(x + 1) + cosh(a / 9) - sinh(b / 9) + atan(c)', (x, [a, b, c]) => a * Math.tanh(b * x) + c * Math.log10(x) - Math.log(x + 1) + Math.cosh(a / 9) - Math.sinh(b / 9) + Math.atan(c)],
    ['a * asin(x / 9) + b * acos(x / 9) + c * tan(x / 9) - log(2)', (x, [a, b, c]) => a * Math.asin(x / 9) + b * Math.acos(x / 9) + c * Math.tan(x / 9) - Math.LN2],
  ];
  for (const [text, formula] of formulas) {
    const { parameters, evaluate, build } = parseExpression(text);
    for (const [x, ...abc] of [[0.7, 1.3, 0.4, 2.1], [3.2, 5.5, 1.7, -0.6], [8, 0.25, 2.5, 4]]) {
      // Parameters have the order of their first occurrence in the text.
      const values = parameters.map((name) => abc['abc'.indexOf(name)]);
      const expected = formula(x, abc);
      const close = (value, what) => assert.ok(Math.abs(value - expected) <= 1e-14 * (Math.abs(expected) + 10), `${text} at ${x}, ${what}: ${value} for ${expected}`);
      close(evaluate(x, values), 'numbers');
      // A dozen roundings, and the engine's own functions to a few units in the last place each.
      close(build(V.C(x), values.map((value) => V.W(value))).data, 'Values');
    }
  }
});

test('a negative base takes whole exponents, with the right derivative', () => {
  const { build } = parseExpression('a * (x - 5) ^ 3');
  assert.equal(build(V.C(2), [V.W(2)]).data, -54);
});
