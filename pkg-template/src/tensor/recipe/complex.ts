/** Complex arithmetic as operations on real and imaginary parts, a + bi and c + di. Roots and logarithms have their principal value, with the branch cut along the negative real axis. */

import { invalidArgument } from '../../arguments/errors.js';
import type { DType } from '../dtype.js';
import type { Shape } from '../size.js';
import { broadcastShapes, expandTo } from './broadcast.js';
import type { ElementwiseName } from './elementwise-codes.js';
import { apply as real, cast as castReal, test as testReal, where as whereReal } from './elementwise-nodes.js';
import { ComplexNode, constantNode, Node, REAL_NUMBERS } from './node.js';
import { checkType, nodeText, type NodeOrNumber } from './operands.js';

const add = (a: NodeOrNumber, b: NodeOrNumber) => real('add', [a, b]);
const sub = (a: NodeOrNumber, b: NodeOrNumber) => real('sub', [a, b]);
const mul = (a: NodeOrNumber, b: NodeOrNumber) => real('mul', [a, b]);
const div = (a: NodeOrNumber, b: NodeOrNumber) => real('div', [a, b]);
const fixed = (a: Node) => real('stopGradient', [a]);

/** Complex numbers of parts that broadcast. */
function join(operation: string, re: Node, im: Node): ComplexNode {
  const shape = broadcastShapes(operation, [re.shape, im.shape]);
  const [x, y] = [re, im].map((part) => (part.op === 'constant' ? constantNode(part.attributes[0] as number, 'f32', shape) : expandTo(operation, part, shape)));
  return new ComplexNode(x as Node, y as Node);
}

/** A node of its own for a part: that of a tensor by which a derivative is taken is no part of others, and no constant that products leave out. */
function own(part: Node): Node {
  return new Node('reshape', 'f32', part.shape, [part]);
}

/** Complex numbers of real and imaginary parts of f32, which broadcast. */
export function complexOf(re: Node, im: Node): ComplexNode {
  checkType('complex: re', re, ['f32']);
  checkType('complex: im', im, ['f32']);
  const shape = broadcastShapes('complex', [re.shape, im.shape]);
  return new ComplexNode(own(expandTo('complex', re, shape)), own(expandTo('complex', im, shape)));
}

/** One number everywhere. */
export function complexConstant(value: number, shape: Shape): ComplexNode {
  return new ComplexNode(own(constantNode(value, 'f32', shape)), own(constantNode(0, 'f32', shape)));
}

/** Real numbers as complex ones. */
export function fromReal(x: Node): ComplexNode {
  return new ComplexNode(own(castReal(x, 'f32')), own(constantNode(0, 'f32', x.shape)));
}

/** The parts of complex numbers. Throws 'invalid-argument' for other types. */
export function checkComplex(operation: string, x: Node): ComplexNode {
  if (!(x instanceof ComplexNode)) throw invalidArgument(operation, nodeText(x), 'a tensor of c64: cast() and complex() make one');
  return x;
}

/** a − bi */
export function conj(z: ComplexNode): ComplexNode {
  return new ComplexNode(own(z.re), real('neg', [z.im]));
}

/** The angle of complex numbers in radians, in [−π, π]. */
export function angle({ re, im }: ComplexNode): Node {
  return real('atan2', [im, re]);
}

/** Whether a part is that of a number, 0. Products with it are left out, so that those with an infinity are no NaN. */
function isZero(part: Node): boolean {
  return part.op === 'constant' && part.attributes[0] === 0;
}

/** |z|, of which no square overflows or vanishes; infinite where a part is. */
function magnitude({ re, im }: ComplexNode): Node {
  const largest = fixed(real('maximum', [real('abs', [re]), real('abs', [im])]));
  const isScale = real('and', [real('gt', [largest, 0]), real('lt', [largest, Infinity])]);
  const scale = whereReal(isScale, largest, 1);
  const [a, b] = [div(re, scale), div(im, scale)];
  const found = mul(real('vectorNorm', [add(mul(a, a), mul(b, b))]), scale);
  return whereReal(hasInfinity({ re, im }), Infinity, found);
}

function hasInfinity({ re, im }: { readonly re: Node; readonly im: Node }): Node {
  return real('or', [testReal('isInfinite', re), testReal('isInfinite', im)]);
}

function product(operation: string, x: ComplexNode, y: ComplexNode): Node {
  const [a, b, c, d] = [x.re, x.im, y.re, y.im];
  if (isZero(d)) return join(operation, mul(a, c), mul(b, c));
  if (isZero(b)) return join(operation, mul(a, c), mul(a, d));
  return join(operation, sub(mul(a, c), mul(b, d)), add(mul(a, d), mul(b, c)));
}

/**
 * (a + bi)/(c + di), with both scaled by their largest parts, so that nothing overflows or vanishes unless the quotient does. By 0 the parts are divided by 0; a
 * finite number by an infinite one is 0.
 */
function quotient(operation: string, x: ComplexNode, y: ComplexNode): Node {
  const [a, b, c, d] = [x.re, x.im, y.re, y.im];
  if (isZero(d)) return join(operation, div(a, c), div(b, c));
  const largest = fixed(real('maximum', [real('abs', [c]), real('abs', [d])]));
  const isInfinite = real('eq', [largest, Infinity]);
  const isScale = real('and', [real('gt', [largest, 0]), real('lt', [largest, Infinity])]);
  const scale = whereReal(isScale, largest, 1);
  // Of an infinite divisor only the infinite parts have a direction.
  const direction = (part: Node) => whereReal(isInfinite, whereReal(testReal('isInfinite', part), real('sign', [part]), 0), div(part, scale));
  const [u, v] = [direction(c), direction(d)];
  const isNone = real('eq', [largest, 0]);
  const square = whereReal(isNone, 1, add(mul(u, u), mul(v, v)));
  const top = fixed(real('maximum', [real('abs', [a]), real('abs', [b])]));
  const isTop = real('and', [real('gt', [top, 0]), real('lt', [top, Infinity])]);
  const unit = whereReal(isTop, top, 1);
  const [p, q] = [div(a, unit), div(b, unit)];
  const ratio = whereReal(isInfinite, 0, div(unit, scale));
  const part = (sum: Node, whole: Node) => whereReal(isNone, div(whole, c), mul(div(sum, square), ratio));
  return join(operation, part(add(mul(p, u), mul(q, v)), a), part(sub(mul(q, u), mul(p, v)), b));
}

/** e^a (cos b + i sin b). Where e^a is infinite, the imaginary part of a real number is 0 too. */
function exponential({ re, im }: ComplexNode): Node {
  const size = real('exp', [re]);
  const isNone = real('and', [real('eq', [im, 0]), testReal('isInfinite', size)]);
  return new ComplexNode(mul(size, real('cos', [im])), whereReal(isNone, im, mul(size, real('sin', [im]))));
}

/** log |z| + i angle(z) */
function logarithm(z: ComplexNode): Node {
  return new ComplexNode(real('log', [magnitude(z)]), angle(z));
}

/**
 * The root with a real part that is not negative, of a negative real number i√|a|: t + i b/(2t) with t = √((|z| + |a|)/2), and for a < 0 |b|/(2t) ± it with the sign of b. Magnitudes are selected
 * by their signs, so that derivatives on the axes are those of the side that is taken.
 */
function root(z: ComplexNode): Node {
  const { re, im } = z;
  const isLeft = real('lt', [re, 0]);
  const isBelow = real('lt', [im, 0]);
  const signed = (isNegative: Node, x: Node) => whereReal(isNegative, real('neg', [x]), x);
  const half = add(mul(magnitude(z), 0.5), mul(signed(isLeft, re), 0.5));
  const isNone = real('eq', [half, 0]);
  const t = real('sqrt', [whereReal(isNone, 1, half)]);
  const other = div(im, mul(t, 2));
  const x = whereReal(isLeft, signed(isBelow, other), t);
  const y = whereReal(isLeft, signed(isBelow, t), other);
  return new ComplexNode(whereReal(isNone, 0, x), whereReal(isNone, 0, y));
}

type Rule = (operation: string, x: ComplexNode, y: ComplexNode) => Node;

const ofParts = (name: ElementwiseName): Rule => (operation, x) => join(operation, real(name, [x.re]), real(name, [x.im]));

const RULES: { readonly [Name in ElementwiseName]?: Rule } = {
  neg: ofParts('neg'),
  stopGradient: ofParts('stopGradient'),
  abs: (_, x) => magnitude(x),
  exp: (_, x) => exponential(x),
  log: (_, x) => logarithm(x),
  sqrt: (_, x) => root(x),
  add: (operation, x, y) => join(operation, add(x.re, y.re), isZero(y.im) ? own(x.im) : isZero(x.im) ? own(y.im) : add(x.im, y.im)),
  sub: (operation, x, y) => join(operation, sub(x.re, y.re), isZero(y.im) ? own(x.im) : sub(x.im, y.im)),
  mul: product,
  div: quotient,
  eq: (_, x, y) => real('and', [real('eq', [x.re, y.re]), real('eq', [x.im, y.im])]),
  neq: (_, x, y) => real('or', [real('neq', [x.re, y.re]), real('neq', [x.im, y.im])]),
};

/** The operands of an operation as complex numbers. Throws 'invalid-argument' for tensors of another type. */
function complexOperands(operation: string, operands: readonly NodeOrNumber[]): ComplexNode[] {
  return operands.map((operand) => {
    const node = operand instanceof Node ? operand : constantNode(operand, 'c64');
    if (!(node instanceof ComplexNode)) throw invalidArgument(operation, `tensors of c64 and ${node.dtype}`, 'tensors of one type: cast() changes it');
    return node;
  });
}

/** Applies an elementwise operation, of which at least one operand is complex. */
export function apply(name: ElementwiseName, operands: readonly NodeOrNumber[], operation: string): Node {
  const numbers = complexOperands(operation, operands);
  const rule = RULES[name];
  if (rule === undefined) throw invalidArgument(operation, nodeText(numbers.find(({ shape }) => shape.length > 0) ?? (numbers[0] as Node)), REAL_NUMBERS);
  return rule(operation, numbers[0] as ComplexNode, numbers[1] as ComplexNode);
}

/** Returns `a` where the condition holds, else `b`. */
export function where(condition: Node, a: NodeOrNumber, b: NodeOrNumber, operation: string): Node {
  const [x, y] = complexOperands(operation, [a, b]) as [ComplexNode, ComplexNode];
  return join(operation, whereReal(condition, x.re, y.re, operation), whereReal(condition, x.im, y.im, operation));
}

/** Whether a part is NaN or infinite, or both are finite. */
export function test(name: 'isNaN' | 'isFinite' | 'isInfinite', { re, im }: ComplexNode): Node {
  return real(name === 'isFinite' ? 'and' : 'or', [testReal(name, re), testReal(name, im)]);
}

/** Whether complex numbers are not 0, as the one type that they convert to. */
export function castTo(z: ComplexNode, dtype: DType, text: string): Node {
  if (dtype !== 'bool') throw invalidArgument('cast: dtype', `${text} for ${nodeText(z)}`, "'c64' or 'bool'; real(), imag() and abs() give real numbers");
  return real('or', [castReal(z.re, 'bool'), castReal(z.im, 'bool')]);
}
