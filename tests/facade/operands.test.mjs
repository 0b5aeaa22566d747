/**
 * Wrong operands of expressions: the message of every function of V, and of every method of Value, the vectors, Mat2, Mat3 and geometry, names
 * the function and the argument, outside of a recording and inside one.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordParams } from '../../pkg-template/dist/compile/params-compile-input.js';
import { geometry, Mat2, Mat3, Problem, V, Value, Vec2, Vec3, Vec4 } from '../../pkg-template/dist/index.js';
import { residuaError } from './fake-module.mjs';

const scalar = () => V.W(0.5);
const vec2 = () => Vec2.W(1, 2);
const vec3 = () => Vec3.W(1, 2, 3);
const vec4 = () => Vec4.W(1, 2, 3, 4);
const mat2 = () => Mat2.fromRows(vec2(), vec2());
const mat3 = () => Mat3.fromRows(vec3(), vec3(), vec3());

/** For each kind of argument: its description in messages, a valid value, and invalid ones with their descriptions. */
const ANY = [[null, 'null'], [undefined, 'undefined'], ['1', '"1"'], [1n, 'the bigint 1n'], [Symbol('s'), 'a symbol'], [{ x: 1, y: 2, z: 3 }, 'an object']];
const KINDS = {
  scalar: { takes: 'a Value or a number', right: scalar, wrong: [...ANY, [NaN, 'NaN'], [vec3(), 'a Vec3']] },
  number: { takes: 'a number that is not NaN', right: () => 1, wrong: [...ANY, [NaN, 'NaN'], [scalar(), 'a Value']] },
  Vec2: { takes: 'a Vec2', right: vec2, wrong: [...ANY, [1, '1'], [[1, 2], 'an array of 2'], [vec3(), 'a Vec3'], [vec4(), 'a Vec4']] },
  Vec3: { takes: 'a Vec3', right: vec3, wrong: [...ANY, [1, '1'], [[1, 2, 3], 'an array of 3'], [vec2(), 'a Vec2'], [vec4(), 'a Vec4']] },
  Vec4: { takes: 'a Vec4', right: vec4, wrong: [...ANY, [1, '1'], [scalar(), 'a Value'], [vec2(), 'a Vec2'], [vec3(), 'a Vec3']] },
  Mat2: { takes: 'a Mat2', right: mat2, wrong: [...ANY, [mat3(), 'a Mat3'], [[], 'an array of 0']] },
  Mat3: { takes: 'a Mat3', right: mat3, wrong: [...ANY, [vec3(), 'a Vec3'], [[], 'an array of 0']] },
};

/** Names of arguments with their kinds, from "a Vec3, t scalar". */
const signature = (text) => text.split(', ').map((part) => part.split(' '));

const FUNCTIONS = [];
const add = (name, text, call) => FUNCTIONS.push({ name, args: signature(text), call });
const methods = (type, make, table) => {
  for (const [names, text] of table) {
    for (const name of names.split(' ')) add(`${type}.${name}`, text, (...args) => make()[name](...args));
  }
};
methods('Vec2', vec2, [['add sub dot cross distance angleBetween', 'b Vec2'], ['mul div', 's scalar'], ['lerp', 'b Vec2, t scalar']]);
methods('Vec3', vec3, [
  ['add sub dot cross distance angleBetween', 'b Vec3'], ['mul div', 's scalar'], ['lerp', 'b Vec3, t scalar'], ['project', 'onto Vec3'], ['reject', 'from Vec3'],
]);
methods('Vec4', vec4, [['add sub dot quaternionMul', 'b Vec4'], ['mul div', 's scalar'], ['rotate', 'v Vec3']]);
methods('Mat2', mat2, [['add sub matmul', 'b Mat2'], ['mul', 's scalar'], ['mulVec', 'v Vec2']]);
methods('Mat2', () => Mat2, [['fromRows fromColumns outer', 'a Vec2, b Vec2']]);
methods('Mat3', mat3, [['add sub matmul', 'b Mat3'], ['mul', 's scalar'], ['mulVec', 'v Vec3']]);
methods('Mat3', () => Mat3, [['fromRows fromColumns', 'a Vec3, b Vec3, c Vec3'], ['outer', 'a Vec3, b Vec3']]);
methods('geometry', () => geometry, [
  ['triangleNormal triangleArea', 'a Vec3, b Vec3, c Vec3'], ['interiorAngle', 'at Vec3, b Vec3, c Vec3'],
  ['dihedralAngle', 'edgeA Vec3, edgeB Vec3, oppositeC Vec3, oppositeD Vec3'], ['distanceToPlane', 'p Vec3, origin Vec3, normal Vec3'],
  ['distanceToLine', 'p Vec3, a Vec3, b Vec3'],
]);
for (const [type, names] of [[Vec2, 'x y'], [Vec3, 'x y z'], [Vec4, 'w x y z']]) {
  const of = (kind) => names.split(' ').map((name) => `${name} ${kind}`).join(', ');
  add(type.name, of('scalar'), (...args) => new type(...args));
  add(type.name, of('number'), (...args) => type.W(...args));
  add(type.name, of('number'), (...args) => type.C(...args));
}
const BINARY = 'add sub mul div mod min max eq neq lt lte gt gte'.split(' ');
const UNARY = ('neg abs sign square cube sqrt reciprocal exp log sin cos tan asin acos atan sinh cosh tanh sigmoid softplus erf relu floor ceil round').split(' ');
for (const name of UNARY) add(name, 'a scalar', V[name]);
for (const name of BINARY) {
  add(name, 'a scalar, b scalar', V[name]);
  add(name, 'b scalar', (b) => scalar()[name](b));
}
add('pow', 'a scalar, exponent scalar', V.pow);
add('pow', 'a scalar, exponent scalar', V.powValue);
add('pow', 'exponent scalar', (exponent) => scalar().pow(exponent));
add('V.barrier', 'distance scalar, range scalar', V.barrier);
add('clamp', 'a scalar, low scalar, high scalar', V.clamp);
add('clamp', 'low scalar, high scalar', (low, high) => scalar().clamp(low, high));
add('V.atan2', 'y scalar, x scalar', V.atan2);
add('V.ifThenElse', 'condition scalar, a scalar, b scalar', V.ifThenElse);
add('V.stopGradient', 'a scalar', V.stopGradient);
add('V.hypot', 'a[0] scalar, a[1] scalar', V.hypot);
add('V.huber', 'residual scalar', (r) => V.huber(r));
add('V.tukey', 'residual scalar', (r) => V.tukey(r));
for (const name of ['sum', 'mean']) add(`V.${name}`, 'a[0] scalar, a[1] scalar', (...a) => V[name](a));
for (const [name, first] of [['mse', 'outputs'], ['mae', 'outputs'], ['binaryCrossEntropy', 'outputs'], ['categoricalCrossEntropy', 'logits']]) {
  add(`V.${name}`, `${first}[0] scalar, ${first}[1] scalar`, (...list) => V[name](list, [0, 1]));
  add(`V.${name}`, 'targets[0] scalar, targets[1] scalar', (...list) => V[name]([0.5, 0.5], list));
}
add('geometry.centroid', 'points[0] Vec3, points[1] Vec3', (...points) => geometry.centroid(points));
add('geometry.angleDefect', 'center Vec3, ring[0] Vec3, ring[1] Vec3, ring[2] Vec3', (center, ...ring) => geometry.angleDefect(center, ring));

const WAYS = [
  ['', (work) => work()],
  [' in a recording', (work) => recordParams([V.W(1)], () => (work(), V.C(1)))],
];
for (const { name, args, call } of FUNCTIONS) {
  const words = args.map(([argument]) => argument).join(', ');
  test(`${name}(${words}) names a wrong argument, what it got and what it takes`, () => {
    const right = args.map(([, kind]) => KINDS[kind].right());
    for (const [way, run] of WAYS) {
      run(() => call(...right));
      args.forEach(([argument, kind], position) => {
        const { takes, wrong } = KINDS[kind];
        for (const [value, got] of wrong) {
          const given = Object.assign([...right], { [position]: value });
          let thrown;
          try {
            run(() => call(...given));
          } catch (error) {
            thrown = error;
          }
          assert.equal(thrown?.code, 'invalid-argument', `${argument} = ${got}${way}: ${thrown}`);
          assert.ok(thrown.message.startsWith(`${name}: ${argument}: got ${got}; takes ${takes}`), `${argument}${way}: ${thrown.message}`);
        }
      });
    }
  });
}

for (const [name, call, takes] of [
  ['V.sum: a', V.sum, 'an array of Values and numbers'],
  ['V.mean: a', V.mean, 'an array of Values and numbers'],
  ['V.mse: outputs', (list) => V.mse(list, [1]), 'an array of Values and numbers'],
  ['V.mae: targets', (list) => V.mae([1], list), 'an array of Values and numbers'],
  ['geometry.centroid: points', geometry.centroid, 'an array of Vec3'],
  ['geometry.angleDefect: ring', (list) => geometry.angleDefect(vec3(), list), 'an array of Vec3'],
]) {
  test(`${name} takes only an array`, () => {
    for (const wrong of [null, undefined, 1n, Symbol('s'), scalar(), vec3()]) {
      assert.throws(() => call(wrong), residuaError('invalid-argument', new RegExp(`^${name}: got .*; takes ${takes}$`)));
    }
  });
}

test('the tables have every function of V and geometry and every method with arguments', () => {
  const covered = new Set(FUNCTIONS.map(({ name }) => name.replace(/^V\./, '')));
  // Loops are tested in package/loops.test.mjs.
  const known = new Set(['C', 'W', 'Param', 'powValue', 'loop', 'trajectory']);
  for (const name of Object.keys(V)) assert.ok(covered.has(name) || known.has(name), `V.${name}`);
  for (const name of Object.keys(geometry)) assert.ok(covered.has(`geometry.${name}`), `geometry.${name}`);
  for (const [type, prefix] of [[Value, ''], [Vec2, 'Vec2.'], [Vec3, 'Vec3.'], [Vec4, 'Vec4.'], [Mat2, 'Mat2.'], [Mat3, 'Mat3.']]) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(type.prototype))) {
      // Positions are tested in positions.test.mjs.
      if (name === 'constructor' || name === 'at' || typeof value !== 'function' || value.length === 0) continue;
      assert.ok(covered.has(prefix + name), prefix + name);
    }
  }
});

for (const [text, make] of [
  ['a Value', () => V.W(2)],
  ['the Value "width"', () => V.Param(2, 'width')],
  ['a Vec2', () => Vec2.W(1, 2)],
  ['a Vec3', () => Vec3.W(1, 2, 3)],
  ['a Vec4', () => Vec4.W(1, 2, 3, 4)],
  ['a Mat2', () => Mat2.outer(Vec2.W(1, 2), Vec2.W(1, 2))],
  ['a Mat3', () => Mat3.outer(Vec3.W(1, 2, 3), Vec3.W(1, 2, 3))],
]) {
  test(`${text} refuses JavaScript's operators, comparisons and numeric functions, and is text in a template`, () => {
    const x = make();
    for (const [words, use] of [
      ['x > 0', () => x > 0], ['x - 1', () => x - 1], ['x + 1', () => x + 1], ['x * x', () => x * x], ['-x', () => -x], ['x == 2', () => x == 2],
      ['Math.sin(x)', () => Math.sin(x)], ['isNaN(x)', () => isNaN(x)], ['Math.max(x, 1)', () => Math.max(x, 1)], ['Float64Array.of(x)', () => Float64Array.of(x)],
    ]) {
      assert.throws(use, residuaError('invalid-graph', new RegExp(`^${text} was used as a number.*V\\.ifThenElse`)), words);
    }
    assert.equal(`${x}, ${[x, x]}`, `${text}, ${text},${text}`);
    assert.ok(x === x && x != null && !Object.keys(x).some((key) => key.includes('rimitive')) && Reflect.ownKeys(x).every((key) => typeof key === 'string'));
  });
}

test('an operator of JavaScript inside a residual function throws when it is evaluated', () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [1, 2] });
  const add = (residual) => problem.residuals('r', { inputs: { x: p.at([0, 1]) }, residual });
  assert.throws(() => add(({ x }) => (x > 0 ? x : x.neg())), residuaError('invalid-graph', /^a Value was used as a number/));
  assert.throws(() => add(({ x }) => x - 1), residuaError('invalid-graph', /^a Value was used as a number/));
  assert.ok(add(({ x }) => x.sub(1)));
});
