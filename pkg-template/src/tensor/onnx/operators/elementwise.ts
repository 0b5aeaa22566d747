/** Operators element by element. */

import { invalidArgument } from '../../../arguments/errors.js';
import { isReal } from '../../dtype.js';
import { where } from '../../functions.js';
import { Tensor } from '../../tensor.js';
import type { Call, Operator } from '../call.js';
import { typeNamed, type ElementType } from '../element-types.js';

type UnaryName = { [K in keyof Tensor]: Tensor[K] extends () => Tensor ? K : never }[keyof Tensor] & string;
type BinaryName = { [K in keyof Tensor]: Tensor[K] extends (b: Tensor) => Tensor ? K : never }[keyof Tensor] & string;

const unary = (name: UnaryName): Operator => (call) => (call.tensor(0)[name] as () => Tensor)();
const apply = (name: BinaryName, a: Tensor, b: Tensor) => (a[name] as (b: Tensor) => Tensor)(b);
const binary = (name: BinaryName): Operator => (call) => apply(name, call.tensor(0), call.tensor(1));
const chain = (name: BinaryName): Operator => (call) => {
  const [first, ...others] = call.tensors;
  if (first === undefined) throw invalidArgument('inputs', 'none', 'at least one');
  return others.reduce((a, b) => apply(name, a, b), first);
};

/** Truth values as integers for comparisons, which take numbers. */
const comparable = (x: Tensor) => (x.dtype === 'bool' ? x.cast('i32') : x);
const comparison = (name: BinaryName): Operator => (call) => apply(name, comparable(call.tensor(0)), comparable(call.tensor(1)));

/** Floats of half precision in single, and back. */
export function inSingle(x: Tensor, compute: (x: Tensor) => Tensor): Tensor {
  return x.dtype === 'f16' ? compute(x.cast('f32')).cast('f16') : compute(x);
}

const ofFloats = (compute: (x: Tensor) => Tensor): Operator => (call) => inSingle(call.tensor(0), compute);

/** The nearest whole number, of two the even one. */
export function roundHalfToEven(x: Tensor): Tensor {
  const up = x.round();
  const isHalf = up.sub(x).eq(0.5);
  return where(isHalf.and(up.mod(2).neq(0)), up.sub(1), up);
}

/** Integers of fewer bits than an element of the device has, as that many bits make them. */
export function wrapped(x: Tensor, { bits, range }: ElementType): Tensor {
  if (range === null || bits >= 32 || x.dtype === 'u8' || x.dtype === 'bool') return x;
  const low = x.and(2 ** bits - 1);
  return range[0] < 0 ? low.xor(2 ** (bits - 1)).sub(2 ** (bits - 1)) : low;
}

/** As another element type. */
export function castTo(x: Tensor, type: ElementType): Tensor {
  const { dtype, bits, range } = type;
  if (range !== null && bits < 32 && dtype !== 'u8' && dtype !== 'bool') return wrapped(x.cast(dtype), type);
  if (type.name === 'uint4' || type.name === 'uint2') return x.cast('u8').and(2 ** bits - 1);
  return type.name === 'bfloat16' ? brainRounded(x.cast('f32')) : x.cast(dtype);
}

/** Rounded to the 8 bits of a bfloat16, of two the even one. */
function brainRounded(x: Tensor): Tensor {
  const bits = x.bitcast('u32');
  const rounded = bits.add(bits.shr(16).and(1).add(0x7fff)).shr(16).shl(16).bitcast('f32');
  return where(x.isNaN(), x, rounded);
}

const cast: Operator = (call) => {
  const type = call.type('to');
  return call.output(castTo(call.tensor(0), type), type);
};

/** Mixed types: the exponent is cast to floats of the base, or the base to single precision. */
const pow: Operator = (call) => {
  const [a, b] = [call.tensor(0), call.tensor(1)];
  const exponent = call.value(1).host;
  if (isReal(a.dtype) && exponent !== null && exponent.data.length === 1 && exponent.sizes.length <= a.rank) return a.pow(exponent.data[0] as number);
  if (a.dtype === b.dtype) return a.pow(b);
  return isReal(a.dtype) ? a.pow(b.cast(a.dtype)) : a.cast('f32').pow(b.cast('f32')).cast(a.dtype);
};

const clip: Operator = (call) => {
  let x = call.tensor(0);
  const bound = (name: string, place: number, of: 'maximum' | 'minimum') => {
    if (call.has(place)) x = apply(of, x, call.tensor(place).cast(x.dtype));
    else if (call.hasAttribute(name)) x = (x[of] as (b: number) => Tensor)(call.float(name));
  };
  bound('min', 1, 'maximum');
  bound('max', 2, 'minimum');
  return x;
};

/** Shifts of all bits and more leave none; a count below 0 is a large one of an unsigned type. */
const bitShift: Operator = (call) => {
  const [a, b] = [call.tensor(0), call.tensor(1)];
  const { type } = call.value(0);
  const isLeft = call.choice('direction', ['LEFT', 'RIGHT']) === 'LEFT';
  const wide = a.dtype === 'u8' ? a.cast('u32') : a;
  const count = b.cast('i32');
  const shifted = isLeft ? wide.shl(count.and(31).cast(wide.dtype)) : wide.shr(count.and(31).cast(wide.dtype));
  const isBeyond = count.lt(0).or(count.gte(Math.min(type.bits, 32)));
  const rest = isLeft || wide.dtype === 'u32' ? wide.mul(0) : wide.shr(31);
  return wrapped(where(isBeyond, rest, shifted), type).cast(a.dtype);
};

const mod: Operator = (call) => (call.flag('fmod') ? call.tensor(0).mod(call.tensor(1)) : call.tensor(0).floorMod(call.tensor(1)));

const asinh = (x: Tensor) => {
  const a = x.abs();
  return a.add(a.mul(a).div(a.mul(a).add(1).sqrt().add(1))).log1p().mul(x.sign());
};
const acosh = (x: Tensor) => x.sub(1).add(x.sub(1).sqrt().mul(x.add(1).sqrt())).log1p();
const atanh = (x: Tensor) => x.mul(2).div(x.mul(-1).add(1)).log1p().mul(0.5);

/** By the choice of signs; ONNX has both. */
const isInf: Operator = (call) => {
  const x = call.tensor(0);
  const [negative, positive] = [call.flag('detect_negative', true), call.flag('detect_positive', true)];
  const infinite = x.isInfinite();
  if (negative && positive) return infinite;
  const sign = positive ? x.gt(0) : negative ? x.lt(0) : x.isNaN();
  return infinite.and(sign);
};

const bitCast: Operator = (call) => {
  const type = call.type('to');
  const x = call.tensor(0);
  const from = call.value(0).type;
  if (from.bits !== type.bits || from.bits > 32) throw invalidArgument('attribute to', `${type.name} for ${from.name}`, 'types of as many bits, at most 32');
  if (from.bits === 32) return call.output(x.bitcast(type.dtype as 'f32'), type);
  if (from.range === null || type.range === null) throw invalidArgument('attribute to', `${type.name} for ${from.name}`, 'integers, or types of 32 bits');
  return call.output(castTo(x, type), type);
};

const select: Operator = (call) => {
  const [condition, a, b] = [call.tensor(0), call.tensor(1), call.tensor(2)];
  return call.output(where(condition, a, b), call.value(1).type);
};

/** 0 times x keeps the shape and drops infinities. */
const zeros = (x: Tensor) => x.mul(0);

const sum = chain('add');
const mean: Operator = (call) => (sum(call) as Tensor).div(call.count);

const attributeFloat = (compute: (x: Tensor, value: number) => Tensor, name: string, fallback: number): Operator => (call) =>
  inSingle(call.tensor(0), (x) => compute(x, call.float(name, fallback)));

const booleans = (name: 'and' | 'or' | 'xor'): Operator => (call) => apply(name, call.tensor(0).cast('bool'), call.tensor(1).cast('bool'));

const swiGlu = (call: Call) => {
  const [a, b] = [call.tensor(0), call.tensor(1)];
  return a.mul(a.mul(call.float('alpha', 1)).sigmoid()).mul(b);
};

export const ELEMENTWISE_OPERATORS: Readonly<Record<string, Operator>> = {
  Abs: unary('abs'), Neg: unary('neg'), Sign: unary('sign'), Sqrt: unary('sqrt'), Exp: unary('exp'), Log: unary('log'), Erf: unary('erf'), Reciprocal: unary('reciprocal'),
  Sin: unary('sin'), Cos: unary('cos'), Tan: unary('tan'), Asin: unary('asin'), Acos: unary('acos'), Atan: unary('atan'), Sinh: unary('sinh'), Cosh: unary('cosh'), Tanh: unary('tanh'),
  Asinh: ofFloats(asinh), Acosh: ofFloats(acosh), Atanh: ofFloats(atanh),
  Floor: unary('floor'), Ceil: unary('ceil'), Round: ofFloats(roundHalfToEven), IsNaN: (call) => call.tensor(0).isNaN(), IsInf: isInf, Not: unary('not'), BitwiseNot: (call) => wrapped(call.tensor(0).not(), call.value(0).type),
  Add: binary('add'), Sub: binary('sub'), Mul: binary('mul'), Div: binary('div'), Mod: mod, Pow: pow, Sum: sum, Mean: mean, Max: chain('maximum'), Min: chain('minimum'),
  And: booleans('and'), Or: booleans('or'), Xor: booleans('xor'), BitwiseAnd: binary('and'), BitwiseOr: binary('or'), BitwiseXor: binary('xor'), BitShift: bitShift,
  Equal: comparison('eq'), Greater: comparison('gt'), GreaterOrEqual: comparison('gte'), Less: comparison('lt'), LessOrEqual: comparison('lte'),
  Where: select, Cast: cast, CastLike: (call) => call.output(castTo(call.tensor(0), call.value(1).type), call.value(1).type), BitCast: bitCast,
  Clip: clip,
  Relu: unary('relu'), Sigmoid: unary('sigmoid'), Softplus: unary('softplus'), Softsign: unary('softsign'), Mish: unary('mish'), HardSwish: unary('hardSwish'),
  Selu: (call) => (call.hasAttribute('alpha') || call.hasAttribute('gamma') ? inSingle(call.tensor(0), (x) => x.elu(call.float('alpha', 1.6732632)).mul(call.float('gamma', 1.050701))) : call.tensor(0).selu()),
  LeakyRelu: attributeFloat((x, slope) => x.leakyRelu(slope), 'alpha', 0.01),
  Elu: attributeFloat((x, alpha) => x.elu(alpha), 'alpha', 1),
  Celu: attributeFloat((x, alpha) => x.maximum(0).add(x.div(alpha).expm1().mul(alpha).minimum(0)), 'alpha', 1),
  ThresholdedRelu: attributeFloat((x, alpha) => where(x.gt(alpha), x, zeros(x)), 'alpha', 1),
  Swish: attributeFloat((x, alpha) => x.mul(x.mul(alpha).sigmoid()), 'alpha', 1),
  HardSigmoid: (call) => inSingle(call.tensor(0), (x) => x.mul(call.float('alpha', 0.2)).add(call.float('beta', 0.5)).clamp(0, 1)),
  Shrink: (call) => inSingle(call.tensor(0), (x) => {
    const [lambda, bias] = [call.float('lambd', 0.5), call.float('bias', 0)];
    return where(x.lt(-lambda), x.add(bias), where(x.gt(lambda), x.sub(bias), 0));
  }),
  Gelu: (call) => call.tensor(0).gelu(call.choice('approximate', ['none', 'tanh'], 'none') === 'tanh' ? 'tanh' : 'exact'),
  PRelu: (call) => {
    const [x, slope] = [call.tensor(0), call.tensor(1)];
    return x.prelu(slope);
  },
  SwiGLU: swiGlu,
  Identity: (call) => call.value(0),
  Dropout: (call) => {
    if (call.has(2) && call.numbers(2)[0] === 1) throw invalidArgument('training_mode', 'true', 'false: dropout at random is for training');
    const x = call.tensor(0);
    return [x, call.wants(1) ? call.output(x.eq(x).or(x.neq(x)), typeNamed('bool')) : null];
  },
};
