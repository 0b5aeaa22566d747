/** Operators element by element, reductions, and products. */

import { describe, invalidArgument } from '../../../arguments/errors.js';
import type { Attributes } from '../builder.js';
import type { NodeCall } from './node.js';

/** What an operator gives: the name of its output, or the names of several. */
export type Operator = (call: NodeCall) => string | readonly string[];

/** An operator that ONNX has too, of so many inputs. */
const same = (operator: string, count: number, attributes: Attributes = {}): Operator => (call) =>
  call.builder.node(operator, Array.from({ length: count }, (_, k) => call.input(k)), attributes);

const one = (operator: string, attributes?: Attributes) => same(operator, 1, attributes);
const two = (operator: string, attributes?: Attributes) => same(operator, 2, attributes);

/** ⌊a / b⌋; of integers a − a mod b is a multiple of b. */
const floorDiv: Operator = (call) => {
  const { builder } = call;
  const [a, b] = [call.input(0), call.input(1)];
  if (!isInteger(call)) return builder.node('Floor', [builder.node('Div', [a, b])]);
  return builder.node('Div', [builder.node('Sub', [a, builder.node('Mod', [a, b])]), b]);
};

/** TensorFlow.js divides integers as FloorDiv does. */
const div: Operator = (call) => (isInteger(call) ? floorDiv(call) : call.builder.node('Div', [call.input(0), call.input(1)]));

const isInteger = (call: NodeCall) => call.hasAttribute('T') && call.type('T').range !== null;

const atan2: Operator = (call) => {
  const { builder } = call;
  const [y, x] = [call.input(0), call.input(1)];
  const zero = builder.floats(0);
  const quotient = builder.node('Atan', [builder.node('Div', [y, x])]);
  const turn = builder.node('Where', [builder.node('Less', [y, zero]), builder.floats(-Math.PI), builder.floats(Math.PI)]);
  const beside = builder.node('Where', [builder.node('Less', [x, zero]), builder.node('Add', [quotient, turn]), quotient]);
  const upright = builder.node('Mul', [builder.node('Sign', [y]), builder.floats(Math.PI / 2)]);
  return builder.node('Where', [builder.node('Equal', [x, zero]), upright, beside]);
};

/** Of small numbers exp(x) − 1 would lose digits; the activation has its own way below 0. */
const expm1: Operator = (call) => {
  const { builder } = call;
  const x = call.input(0);
  const above = builder.node('Sub', [builder.node('Exp', [x]), builder.floats(1)]);
  return builder.node('Where', [builder.node('Less', [x, builder.floats(0)]), builder.node('Elu', [x], { alpha: 1 }), above]);
};

/** What a node of several operators does after its product: the names of fused_ops after the bias. */
export function fusedActivation(call: NodeCall, x: string, operators: readonly string[], firstArgument: number): string {
  let y = x;
  let argument = firstArgument;
  for (const name of operators) y = fused(call, y, name, () => call.input(argument++));
  return y;
}

function fused(call: NodeCall, x: string, name: string, argument: () => string): string {
  const { builder } = call;
  const plain: Readonly<Record<string, string>> = { Relu: 'Relu', Elu: 'Elu', Sigmoid: 'Sigmoid', Tanh: 'Tanh' };
  if (Object.hasOwn(plain, name)) return builder.node(plain[name] as string, [x]);
  if (name === 'Relu6') return builder.node('Clip', [x, builder.floats(0), builder.floats(6)]);
  if (name === 'LeakyRelu') return builder.node('LeakyRelu', [x], { alpha: call.float('leakyrelu_alpha', 0.2) });
  if (name === 'Prelu') return builder.node('PRelu', [x, argument()]);
  throw invalidArgument(`${call.place}: fused_ops`, describe(name), ['BiasAdd', ...Object.keys(plain), 'Relu6', 'LeakyRelu', 'Prelu'].join(', '));
}

/** The operators after the one that adds a bias, where that is the first. */
export function withoutBias(operators: readonly string[]): readonly string[] {
  return operators[0] === 'BiasAdd' ? operators.slice(1) : operators;
}

/** A bias of the last axis, or of axis 1. */
const biasAdd: Operator = (call) => {
  const { builder } = call;
  const [x, bias] = [call.input(0), call.input(1)];
  if (call.choice('data_format', ['NHWC', 'NCHW'], 'NHWC') === 'NHWC') return builder.node('Add', [x, bias]);
  const after = builder.node('Sub', [builder.node('Size', [builder.node('Shape', [x])]), builder.ints(2)]);
  const ones = builder.node('Expand', [builder.ints([1]), builder.node('Reshape', [after, builder.ints([1])])]);
  return builder.node('Add', [x, builder.node('Reshape', [bias, builder.node('Concat', [builder.ints([-1]), ones], { axis: 0 })])]);
};

/** A reduction whose axes are an input. */
const reduction = (operator: string): Operator => (call) => {
  const axes = call.maybeNumbers(1);
  // One axis may be a number, which ONNX has as a list.
  const listed = axes === null ? call.builder.node('Reshape', [call.input(1), call.builder.ints([-1])]) : call.builder.ints(axes);
  return call.builder.node(operator, [call.input(0), listed], { keepdims: Number(call.flag('keep_dims') || call.flag('keepdims')), noop_with_empty_axes: 1 });
};

const extremePlace = (operator: 'ArgMax' | 'ArgMin'): Operator => (call) => call.builder.node(operator, [call.input(0)], { axis: call.number(1), keepdims: 0 });

const along = (operator: 'CumSum' | 'CumProd'): Operator => (call) =>
  call.builder.node(operator, [call.input(0), call.input(1)], { exclusive: Number(call.flag('exclusive')), reverse: Number(call.flag('reverse')) });

const topK: Operator = (call) => call.builder.several('TopK', [call.input(0), call.input(1)], 2, { axis: -1, largest: 1, sorted: 1 });

/** A matrix with its last axes exchanged where an attribute says so. */
function turned(call: NodeCall, value: string, isTurned: boolean): string {
  const { builder } = call;
  return isTurned ? builder.node('Einsum', [value], { equation: '...ij->...ji' }) : value;
}

const matMul = (first: string, second: string): Operator => (call) =>
  call.builder.node('MatMul', [turned(call, call.input(0), call.flag(first)), turned(call, call.input(1), call.flag(second))]);

const fusedMatMul: Operator = (call) => {
  const product = matMul('transpose_a', 'transpose_b')(call) as string;
  const operators = call.texts('fused_ops');
  const rest = withoutBias(operators);
  const hasBias = rest.length < operators.length;
  return fusedActivation(call, hasBias ? call.builder.node('Add', [product, call.input(2)]) : product, rest, hasBias ? 3 : 2);
};

const einsum: Operator = (call) => call.builder.node('Einsum', call.inputs, { equation: call.text('equation') });

const clipByValue: Operator = (call) => call.builder.node('Min', [call.builder.node('Max', [call.input(0), call.input(1)]), call.input(2)]);

const squaredDifference: Operator = (call) => {
  const difference = call.builder.node('Sub', [call.input(0), call.input(1)]);
  return call.builder.node('Mul', [difference, difference]);
};

const square: Operator = (call) => call.builder.node('Mul', [call.input(0), call.input(0)]);
const chain = (...operators: readonly string[]): Operator => (call) => operators.reduce((x, operator) => call.builder.node(operator, [x]), call.input(0));

/** x / y, or x · log y, which are 0 where y, or x, is. */
const orZero = (isLog: boolean): Operator => (call) => {
  const { builder } = call;
  const [x, y] = [call.input(0), call.input(1)];
  const found = isLog ? builder.node('Mul', [x, builder.node('Log', [y])]) : builder.node('Div', [x, y]);
  return builder.node('Where', [builder.node('Equal', [isLog ? x : y, builder.floats(0)]), builder.floats(0), found]);
};

export const ELEMENTWISE_OPERATORS: Readonly<Record<string, Operator>> = {
  Add: two('Add'), AddV2: two('Add'), Sub: two('Sub'), Mul: two('Mul'), Maximum: two('Max'), Minimum: two('Min'), Pow: two('Pow'), Div: div, RealDiv: div, FloorDiv: floorDiv,
  DivNoNan: orZero(false), Xlogy: orZero(true), FloorMod: two('Mod'), Mod: two('Mod'), AddN: ({ builder, inputs }) => builder.node('Sum', inputs),
  SquaredDifference: squaredDifference, Atan2: atan2, BiasAdd: biasAdd,
  Equal: two('Equal'), NotEqual: (call) => call.builder.node('Not', [call.builder.node('Equal', [call.input(0), call.input(1)])]), Greater: two('Greater'), GreaterEqual: two('GreaterOrEqual'),
  Less: two('Less'), LessEqual: two('LessOrEqual'), LogicalAnd: two('And'), LogicalOr: two('Or'), LogicalNot: one('Not'),
  Select: same('Where', 3), SelectV2: same('Where', 3),
  Abs: one('Abs'), Neg: one('Neg'), Sign: one('Sign'), Sqrt: one('Sqrt'), Rsqrt: chain('Sqrt', 'Reciprocal'), Square: square, Exp: one('Exp'), Expm1: expm1, Log: one('Log'),
  Log1p: (call) => call.builder.node('Log', [call.builder.node('Add', [call.input(0), call.builder.floats(1)])]),
  Reciprocal: one('Reciprocal'), Inv: one('Reciprocal'), Floor: one('Floor'), Ceil: one('Ceil'), Round: one('Round'), Rint: one('Round'), Erf: one('Erf'),
  Sin: one('Sin'), Cos: one('Cos'), Tan: one('Tan'), Asin: one('Asin'), Acos: one('Acos'), Atan: one('Atan'), Sinh: one('Sinh'), Cosh: one('Cosh'), Tanh: one('Tanh'),
  Asinh: one('Asinh'), Acosh: one('Acosh'), Atanh: one('Atanh'), IsNan: one('IsNaN'), IsInf: one('IsInf'),
  Relu: one('Relu'), Relu6: (call) => fused(call, call.input(0), 'Relu6', () => ''), Elu: one('Elu', { alpha: 1 }), Selu: one('Selu'), Sigmoid: one('Sigmoid'), Softplus: one('Softplus'), Softsign: one('Softsign'),
  LeakyRelu: (call) => call.builder.node('LeakyRelu', [call.input(0)], { alpha: call.float('alpha', 0.2) }), Prelu: two('PRelu'), ClipByValue: clipByValue,
  Cast: (call) => call.builder.node('Cast', [call.input(0)], { to: call.type('DstT').code }),
  Sum: reduction('ReduceSum'), Mean: reduction('ReduceMean'), Max: reduction('ReduceMax'), Min: reduction('ReduceMin'), Prod: reduction('ReduceProd'), Any: reduction('ReduceMax'), All: reduction('ReduceMin'),
  EuclideanNorm: reduction('ReduceL2'), ArgMax: extremePlace('ArgMax'), ArgMin: extremePlace('ArgMin'), Cumsum: along('CumSum'), Cumprod: along('CumProd'), TopKV2: topK,
  Softmax: (call) => call.builder.node('Softmax', [call.input(0)], { axis: -1 }), LogSoftmax: (call) => call.builder.node('LogSoftmax', [call.input(0)], { axis: -1 }),
  MatMul: matMul('transpose_a', 'transpose_b'), BatchMatMul: matMul('adj_x', 'adj_y'), BatchMatMulV2: matMul('adj_x', 'adj_y'), _FusedMatMul: fusedMatMul, Einsum: einsum,
};
