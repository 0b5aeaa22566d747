/**
 * The definition of every elementwise operation in double precision.
 *
 * A row is `{ name, types, domains, apply, value, ulps, floor, result, typeOf }`:
 *
 *   types    the element types that are tried
 *   domains  one for each operand: an interval, or with a step of 1 its whole numbers; a function of the type where types differ
 *   apply    the operation on tensors
 *   value    the operation on numbers; results of integers wrap afterwards
 *   ulps     the error that f32 may have, in units in the last place
 *   floor    the magnitude below which the unit stays the same, for results that are differences of larger numbers
 *   result   the type of the result, where it is not that of the operands
 *   typeOf   the type of an operand by its position, where it is not the row's
 */
import { where } from 'residua/tensor';
import { isReal } from './numbers.js';

export const REALS = ['f32', 'f16'];
const INTEGERS = ['i32', 'u32', 'u8'];
const NUMBERS = [...REALS, ...INTEGERS];
const ANY = [...NUMBERS, 'bool'];

/** Sums and products are one rounding, which WGSL leaves to go up or down. */
const ONE = 1;
/** The polynomials of the project's own elementary functions (docs/decisions/0005). */
const ELEMENTARY = 4;
/** A quotient in WGSL may be off by 2.5. */
const QUOTIENT = 2.5;
/** A few operations in a row. */
const COMPOSED = 8;

const wide = (dtype) => (isReal(dtype) ? [-100, 100] : dtype === 'i32' ? [-100, 100, 1] : dtype === 'bool' ? [0, 1, 1] : [0, 15, 1]);
const few = (dtype) => (dtype === 'i32' || isReal(dtype) ? [-3, 3, 1] : dtype === 'bool' ? [0, 1, 1] : [0, 4, 1]);
const divisor = (dtype) => (isReal(dtype) ? [0.5, 10] : [1, 9, 1]);

const row = (name, types, domains, apply, value, ulps, more = {}) => ({ name, types, domains: [domains].flat(), apply, value, ulps, floor: 0, ...more });
const unary = (name, types, domain, value, ulps, more) => row(name, types, [domain === undefined ? wide : () => domain], (a) => a[name](), value, ulps, more);
const binary = (name, types, domains, value, ulps, more) => row(name, types, domains, (a, b) => a[name](b), value, ulps, more);
const comparison = (name, value) => binary(name, ANY, [few, few], (a, b) => Number(value(a, b)), 0, { result: 'bool' });

const sigmoid = (a) => 1 / (1 + Math.exp(-a));
const softplus = (a) => Math.max(a, 0) + Math.log1p(Math.exp(-Math.abs(a)));

/** The error function by its series near 0, to the last digits of double precision. */
function erfNearZero(a) {
  let [term, sum] = [a, a];
  for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum); n++) {
    term *= (-a * a) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

/** 1 − erf, by its continued fraction from 2 on. */
export function erfc(x) {
  if (x < 2) return x > -2 ? 1 - erfNearZero(x) : 2 - erfc(-x);
  let fraction = 0;
  for (let n = 60; n >= 1; n--) fraction = n / 2 / (x + fraction);
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * (x + fraction));
}

export const erf = (x) => (Math.abs(x) < 2 ? erfNearZero(x) : Math.sign(x) * (1 - erfc(Math.abs(x))));

/** log Γ and its derivative by series from 20 on, to the last digits of double precision. */
const logGamma = (x) => (x < 20 ? logGamma(x + 1) - Math.log(x) : (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + 1 / (12 * x) - 1 / (360 * x ** 3) + 1 / (1260 * x ** 5) - 1 / (1680 * x ** 7));
const digamma = (x) => (x < 20 ? digamma(x + 1) - 1 / x : Math.log(x) - 1 / (2 * x) - 1 / (12 * x ** 2) + 1 / (120 * x ** 4) - 1 / (252 * x ** 6) + 1 / (240 * x ** 8));

const gelu = (a) => 0.5 * a * erfc(-a / Math.SQRT2);
const geluByTanh = (a) => 0.5 * a * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (a + 0.044715 * a ** 3)));
const [SELU_SCALE, SELU_ALPHA] = [1.0507009873554805, 1.6732632423543772];

export const ELEMENTWISE = [
  // Arithmetic.
  binary('add', NUMBERS, [wide, wide], (a, b) => a + b, ONE),
  binary('sub', NUMBERS, [wide, wide], (a, b) => a - b, ONE),
  binary('mul', NUMBERS, [wide, wide], (a, b) => a * b, ONE),
  binary('div', NUMBERS, [wide, divisor], (a, b) => a / b, QUOTIENT, { integer: (a, b) => Math.trunc(a / b) }),
  // A remainder is exact, but a division that is off by one unit at a multiple gives a remainder of the divisor's size.
  binary('mod', NUMBERS, [wide, (dtype) => (isReal(dtype) ? [1, 9, 1] : divisor(dtype))], (a, b) => a % b, ONE, { floor: 1 }),
  binary('floorMod', NUMBERS, [wide, (dtype) => (isReal(dtype) ? [1, 9, 1] : divisor(dtype))], (a, b) => a - b * Math.floor(a / b), ONE, { floor: 8 }),
  binary('pow', REALS, [() => [0.1, 10], () => [-3, 3]], (a, b) => a ** b, COMPOSED),
  row('pow of integers', INTEGERS, [few, () => [0, 4, 1]], (a, b) => a.pow(b), (a, b) => a ** b, 0),
  binary('minimum', NUMBERS, [few, few], Math.min, 0),
  binary('maximum', NUMBERS, [few, few], Math.max, 0),
  row('clamp', NUMBERS, [wide], (a) => a.clamp(2, 9), (a) => Math.min(Math.max(a, 2), 9), 0),
  binary('atan2', REALS, [() => [-10, 10], () => [-10, 10]], Math.atan2, ELEMENTARY),
  unary('neg', NUMBERS, undefined, (a) => -a, 0),
  unary('abs', NUMBERS, undefined, Math.abs, 0),
  row('sign', NUMBERS, [few], (a) => a.sign(), Math.sign, 0),
  row('square', NUMBERS, [(dtype) => (dtype === 'f16' ? [-10, 10] : wide(dtype))], (a) => a.square(), (a) => a * a, ONE),
  unary('sqrt', REALS, [0.001, 1000], Math.sqrt, QUOTIENT),
  unary('rsqrt', REALS, [0.001, 1000], (a) => 1 / Math.sqrt(a), ELEMENTARY),
  unary('reciprocal', REALS, [0.1, 100], (a) => 1 / a, QUOTIENT),
  // Elementary functions.
  unary('exp', REALS, [-9, 9], Math.exp, ELEMENTARY),
  unary('expm1', REALS, [-2, 2], Math.expm1, ELEMENTARY),
  unary('log', REALS, [0.01, 1000], Math.log, ELEMENTARY),
  unary('log1p', REALS, [-0.9, 10], Math.log1p, ELEMENTARY),
  unary('log2', REALS, [0.01, 1000], Math.log2, ELEMENTARY, { floor: 0.125 }),
  unary('log10', REALS, [0.01, 1000], Math.log10, ELEMENTARY, { floor: 0.125 }),
  unary('erf', REALS, [-4, 4], erf, ELEMENTARY),
  unary('logGamma', REALS, [0.05, 40], logGamma, COMPOSED, { floor: 0.5 }),
  unary('digamma', REALS, [0.05, 40], digamma, COMPOSED, { floor: 0.5 }),
  unary('erfc', REALS, [-4, 9], erfc, COMPOSED),
  unary('sin', REALS, [-100, 100], Math.sin, ELEMENTARY),
  unary('cos', REALS, [-100, 100], Math.cos, ELEMENTARY),
  unary('tan', REALS, [-1.5, 1.5], Math.tan, ELEMENTARY),
  unary('asin', REALS, [-0.99, 0.99], Math.asin, ELEMENTARY),
  unary('acos', REALS, [-0.99, 0.99], Math.acos, ELEMENTARY),
  unary('atan', REALS, [-100, 100], Math.atan, ELEMENTARY),
  unary('sinh', REALS, [-9, 9], Math.sinh, ELEMENTARY),
  unary('cosh', REALS, [-9, 9], Math.cosh, ELEMENTARY),
  unary('tanh', REALS, [-9, 9], Math.tanh, ELEMENTARY),
  unary('floor', REALS, undefined, Math.floor, 0),
  unary('ceil', REALS, undefined, Math.ceil, 0),
  unary('trunc', REALS, undefined, Math.trunc, 0),
  row('round', REALS, [() => [-20, 20, 1]], (a) => a.mul(0.5).round(), (a) => Math.round(0.5 * a), 0),
  // Activations.
  unary('relu', REALS, [-9, 9], (a) => Math.max(a, 0), 0),
  unary('relu6', REALS, [-9, 9], (a) => Math.min(Math.max(a, 0), 6), 0),
  row('leakyRelu', REALS, [() => [-9, 9]], (a) => a.leakyRelu(0.125), (a) => (a < 0 ? 0.125 * a : a), ONE),
  binary('prelu', REALS, [() => [-9, 9], () => [0.1, 1]], (a, slope) => (a < 0 ? slope * a : a), ONE),
  row('elu', REALS, [() => [-9, 9]], (a) => a.elu(1.5), (a) => (a < 0 ? 1.5 * Math.expm1(a) : a), ELEMENTARY),
  unary('selu', REALS, [-9, 9], (a) => SELU_SCALE * (a < 0 ? SELU_ALPHA * Math.expm1(a) : a), COMPOSED),
  unary('sigmoid', REALS, [-20, 20], sigmoid, COMPOSED),
  unary('logSigmoid', REALS, [-20, 20], (a) => -softplus(-a), COMPOSED),
  unary('hardSigmoid', REALS, [-9, 9], (a) => Math.min(Math.max(a / 6 + 0.5, 0), 1), ELEMENTARY, { floor: 0.5 }),
  unary('softplus', REALS, [-20, 20], softplus, COMPOSED),
  unary('softsign', REALS, [-9, 9], (a) => a / (1 + Math.abs(a)), ELEMENTARY),
  unary('silu', REALS, [-20, 20], (a) => a * sigmoid(a), COMPOSED),
  unary('gelu', REALS, [-4, 4], gelu, COMPOSED, { floor: 0.5 }),
  row("gelu('tanh')", REALS, [() => [-4, 4]], (a) => a.gelu('tanh'), geluByTanh, COMPOSED, { floor: 0.5 }),
  unary('mish', REALS, [-20, 20], (a) => a * Math.tanh(softplus(a)), 2 * COMPOSED),
  unary('hardSwish', REALS, [-9, 9], (a) => a * Math.min(Math.max(a / 6 + 0.5, 0), 1), COMPOSED, { floor: 0.5 }),
  // Comparisons and bits.
  comparison('eq', (a, b) => a === b),
  comparison('neq', (a, b) => a !== b),
  comparison('lt', (a, b) => a < b),
  comparison('lte', (a, b) => a <= b),
  comparison('gt', (a, b) => a > b),
  comparison('gte', (a, b) => a >= b),
  ...['isNaN', 'isFinite', 'isInfinite'].map((name) => row(name, REALS, [few], (a) => a.div(a.mul(a.sub(1)))[name](), (a) => {
    const quotient = a / (a * (a - 1));
    return Number(name === 'isNaN' ? Number.isNaN(quotient) : name === 'isFinite' ? Number.isFinite(quotient) : Math.abs(quotient) === Infinity);
  }, 0, { result: 'bool' })),
  binary('and', [...INTEGERS, 'bool'], [wide, wide], (a, b) => a & b, 0),
  binary('or', [...INTEGERS, 'bool'], [wide, wide], (a, b) => a | b, 0),
  binary('xor', [...INTEGERS, 'bool'], [wide, wide], (a, b) => a ^ b, 0),
  unary('not', INTEGERS, undefined, (a) => ~a, 0),
  row('not of bools', ['bool'], [() => [0, 1, 1]], (a) => a.not(), (a) => 1 - a, 0),
  binary('shl', INTEGERS, [wide, () => [0, 7, 1]], (a, b) => a << b, 0),
  binary('shr', INTEGERS, [wide, () => [0, 7, 1]], (a, b) => a >> b, 0),
  row('where', ANY, [() => [0, 1, 1], wide, wide], (condition, a, b) => where(condition, a, b), (condition, a, b) => (condition !== 0 ? a : b), 0, { typeOf: (dtype, k) => (k === 0 ? 'bool' : dtype) }),
  row('stopGradient', ANY, [wide], (a) => a.stopGradient(), (a) => a, 0),
  // Conversions, whose result is one type.
  ...['f16', 'i32', 'u32', 'u8', 'bool'].map((to) => row(`cast from f32 to ${to}`, ['f32'], [() => (to === 'i32' || to === 'f16' ? [-200, 200] : to === 'bool' ? [-1, 1, 1] : [0, 200])], (a) => a.cast(to), (a) => (to === 'f16' ? a : to === 'bool' ? Number(a !== 0) : Math.trunc(a)), 0, { result: to })),
  row('cast to f32', ANY, [wide], (a) => a.cast('f32'), (a) => a, 0, { result: 'f32' }),
];
