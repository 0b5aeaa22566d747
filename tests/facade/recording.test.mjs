/** The tape after a recording. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { V, Value, Vec3 } from '../../pkg-template/dist/index.js';
import { recordParams } from '../../pkg-template/dist/compile/params-compile-input.js';
import { Op } from '../../pkg-template/dist/expressions/op-codes.js';
import { arity } from '../../pkg-template/dist/expressions/tape.js';
import { install, residuaError } from './fake-module.mjs';

const NAMES = new Map(Object.entries(Op).map(([name, code]) => [code, name]));

/** The tape of a recording, as the module receives it. */
function tapeOf(params, fn) {
  const fake = install();
  recordParams(params, fn).build(fake.module);
  return fake.problems[0].tape;
}

/** An output as a formula: literals as numbers, constants as #numbers, parameters as p0, p1, … */
function formula(tape, output = 0) {
  const texts = [];
  tape.ops.forEach((op, i) => {
    const operands = [tape.a[i], tape.b[i], tape.c[i]];
    if (op === Op.literal) texts.push(String(tape.constants[operands[0]]));
    else if (op === Op.constant) texts.push(`#${tape.constants[operands[0]]}`);
    else if (op === Op.parameter) texts.push(`p${operands[0]}`);
    else texts.push(`${NAMES.get(op)}(${operands.slice(0, arity(op)).map((o) => texts[o]).join(', ')})`);
  });
  return texts[tape.outputs[output]];
}

for (const [name, build, expected] of [
  ['the user\'s numbers are constants', (x) => x.mul(2).add(0), 'add(mul(p0, #2), #0)'],
  ['square is a product', (x) => x.square(), 'mul(p0, p0)'],
  ['cube is a product', (x) => x.cube(), 'mul(mul(p0, p0), p0)'],
  ['the 1 of a reciprocal is a literal', (x) => x.reciprocal(), 'div(1, p0)'],
  ['a small whole exponent is a literal', (x) => x.pow(3), 'pow(p0, 3)'],
  ['so is −8', (x) => x.pow(-8), 'pow(p0, -8)'],
  ['so is ½', (x) => x.pow(0.5), 'pow(p0, 0.5)'],
  ['an exponent of 9 is a constant', (x) => x.pow(9), 'pow(p0, #9)'],
  ['an exponent of 1.5 is a constant', (x) => V.powValue(x, 1.5), 'pow(p0, #1.5)'],
  ['an exponent may be a Value', (x, y) => x.pow(y), 'pow(p0, p1)'],
  ['relu selects, so that a NaN stays', (x) => x.relu(), 'select(lte(p0, 0), 0, p0)'],
  ['bounds of clamp are constants', (x) => x.clamp(-1, 3), 'min(max(p0, #-1), #3)'],
  ['sums are added in pairs', (x, y) => V.sum([x, y, 1, x, y]), 'add(add(add(p0, p1), add(#1, p0)), p1)'],
  ['the empty sum is 0', () => V.sum([]), '0'],
  ['a mean multiplies by a literal', (x, y) => V.mean([x, y, x, y]), 'mul(add(add(p0, p1), add(p0, p1)), 0.25)'],
  ['hypot is a norm', (x, y) => V.hypot(x, y), 'norm(add(mul(p0, p0), mul(p1, p1)))'],
  ['a vector is normalised by inverseNorm', (x) => new Vec3(x, 0, 0).normalized.x, 'mul(p0, inverseNorm(add(add(mul(p0, p0), mul(#0, #0)), mul(#0, #0))))'],
  ['ifThenElse is a select', (x, y) => V.ifThenElse(x.gt(y), x, 7), 'select(gt(p0, p1), p0, #7)'],
  ['operators take numbers on both sides', (x) => V.sub(1, x), 'sub(#1, p0)'],
]) {
  test(name, () => assert.equal(formula(tapeOf([V.W(2), V.W(3)], ([x, y]) => build(x, y))), expected));
}

test('a parameter is on the tape once, at the beginning, in the order of params', () => {
  const params = [V.W(1), V.W(2), V.W(3)];
  const tape = tapeOf(params, ([, , z]) => z.add(z));
  assert.deepEqual([...tape.ops], [Op.parameter, Op.parameter, Op.parameter, Op.add]);
  assert.deepEqual([...tape.a], [0, 1, 2, 2]);
  assert.equal(tape.paramCount, 3);
});

test('params in the closure of the function are the parameters too', () => {
  const [x, y] = [V.W(1), V.W(2)];
  assert.equal(formula(tapeOf([x, y], () => y.sub(x))), 'sub(p1, p0)');
});

test('an expression built outside is imported once', () => {
  const x = V.W(1);
  const shared = x.sin().mul(V.C(3));
  const tape = tapeOf([x], () => [shared.add(1), shared.add(2)]);
  assert.equal(formula(tape, 1), 'add(mul(sin(p0), #3), #2)');
  assert.equal(tape.ops.filter((op) => op === Op.sin).length, 1);
});

test('a parameter that is not among params is a constant at its current number', () => {
  const other = V.Param(5, 'other');
  const built = other.mul(2);
  other.data = 6;
  assert.equal(formula(tapeOf([V.W(1)], ([x]) => x.add(built).add(other))), 'add(add(p0, mul(#6, #2)), #6)');
});

test('a constant that is set between two uses is recorded with both numbers', () => {
  const c = V.C(1);
  assert.equal(
    formula(tapeOf([V.W(0)], ([x]) => {
      const first = x.add(c);
      c.data = 2;
      return first.add(c);
    })),
    'add(add(p0, #1), #2)',
  );
});

test('an expression of 200,000 levels does not overflow the stack', () => {
  const x = V.W(1);
  let chain = x;
  for (let i = 0; i < 200_000; i++) chain = chain.sin();
  assert.equal(tapeOf([x], () => chain).ops.length, 200_001);
});

test('the tape that the module receives is trimmed', () => {
  const tape = tapeOf([V.W(1)], ([x]) => x.add(1));
  assert.deepEqual([tape.ops, tape.a, tape.b, tape.c].map((array) => array.length), [3, 3, 3, 3]);
  assert.equal(tape.constants.length, 1);
});

test('the message for a Value of a recording that has ended says so', () => {
  let leaked;
  tapeOf([V.W(1)], ([x]) => (leaked = x.sin()));
  assert.throws(() => leaked.add(1), residuaError('invalid-graph', /recording that has ended/));
  assert.throws(() => tapeOf([V.W(1)], ([x]) => x.add(leaked)), residuaError('invalid-graph', /recording that has ended/));
  assert.throws(() => leaked.data, residuaError('invalid-graph'));
});

test('a Value of an outer recording is refused in an inner one, and both params lists stay correct', () => {
  const [x, y] = [V.W(1), V.W(2)];
  assert.throws(() => recordParams([x], () => { const s = x.sin(); recordParams([y], () => s.add(y)); return s; }), residuaError('invalid-graph', /another recording/));
  const tape = tapeOf([x, y], () => {
    recordParams([y, x], () => x.add(y));
    return x.sub(y);
  });
  assert.equal(formula(tape), 'sub(p0, p1)');
});

test('after an exception of the function no recording is active', () => {
  assert.throws(() => recordParams([V.W(1)], () => { throw new RangeError('mine'); }), RangeError);
  assert.ok(V.W(1).add(1) instanceof Value);
});

test("data is the number of a leaf, and for other expressions the module's value at the current numbers", () => {
  const fake = install();
  let call;
  fake.evaluate = (...args) => ((call = args), 42);
  const x = V.W(2, 'x');
  assert.equal(x.data, 2);
  assert.equal(V.C(-3).data, -3);
  assert.equal(x.label, 'x');
  x.data = 4;
  assert.equal(x.mul(3).sub(x).data, 42);
  const [ops, a, , , constants, parameters, output] = call;
  assert.deepEqual([...ops].map((op) => NAMES.get(op)), ['constant', 'constant', 'mul', 'sub'], 'a tape of its own');
  assert.deepEqual([...constants].sort(), [3, 4]);
  assert.equal(parameters.length, 0);
  assert.equal(output, 3);
  assert.equal(a.length, 4);
});

test('data of recorded expressions is readable while params are recorded', () => {
  const fake = install();
  fake.evaluate = (ops, a, b, c, constants, parameters) => parameters[0] * 10 + ops.length;
  let seen;
  recordParams([V.W(5)], ([x]) => { x.exp(); seen = x.sin().data; return x; });
  assert.equal(seen, 52, 'the parameter and the sine alone');
});

test('requiresGrad is whether the expression depends on a parameter', () => {
  const x = V.W(1);
  assert.equal(x.add(1).requiresGrad, true);
  assert.equal(V.C(1).add(2).requiresGrad, false);
  assert.equal(V.stopGradient(x.sin()).requiresGrad, false);
  recordParams([x], () => {
    assert.equal(x.sin().requiresGrad, true);
    assert.equal(V.add(V.C(1), 2).requiresGrad, false);
    assert.equal(V.stopGradient(x).mul(2).requiresGrad, false);
    return x;
  });
});
