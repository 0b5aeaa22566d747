/** Reductions, and operators along one axis. */

import { invalidArgument } from '../../../arguments/errors.js';
import { where } from '../../functions.js';
import type { Keep } from '../../recipe/operands.js';
import { checkAxis } from '../../recipe/operands.js';
import { oneHot } from '../../sources.js';
import { product, type Size } from '../../size.js';
import type { Tensor } from '../../tensor.js';
import type { Call, Operator } from '../call.js';
import { typeNamed } from '../element-types.js';
import { inSingle } from './elementwise.js';

/** Axes are an attribute or an input; without any, or with an empty list, all axes, or none with `noop_with_empty_axes`. */
function reduction(apply: (x: Tensor, axes: number[] | undefined, keep: Keep) => Tensor, element: (x: Tensor) => Tensor = (x) => x): Operator {
  return (call) => {
    const x = call.tensor(0);
    const listed = call.listed('axes', 1);
    const axes = listed === undefined || listed.length === 0 ? undefined : [...listed];
    if (axes === undefined && call.flag('noop_with_empty_axes')) return element(x);
    return apply(x, axes, { keep: call.flag('keepdims', true) });
  };
}

const ofFloats = (apply: (x: Tensor, axes: number[] | undefined, keep: Keep) => Tensor) => reduction((x, axes, keep) => inSingle(x, (y) => apply(y, axes, keep)));

/** With `select_last_index` the last of equals, which is the first from the end. */
const extreme = (name: 'argmin' | 'argmax'): Operator => (call) => {
  const x = call.tensor(0);
  const axis = call.axis('axis', x.rank, 0);
  const keep = { keep: call.flag('keepdims', true) };
  if (!call.flag('select_last_index')) return call.output(x[name](axis, keep), typeNamed('int64'));
  const size = x.shape[axis] as Size;
  if (typeof size !== 'number') throw invalidArgument('select_last_index', '1 along an axis that is a Dim', 'an axis of a known size');
  return call.output(x.flip(axis)[name](axis, keep).neg().add(size - 1), typeNamed('int64'));
};

/** Before version 13 the axes from one on are one. */
const along = (apply: (x: Tensor, axis: number) => Tensor): Operator => (call) => {
  const x = call.tensor(0);
  if (call.opset >= 13) return apply(x, call.axis('axis', x.rank, -1));
  const axis = call.axis('axis', x.rank, 1);
  if (axis === x.rank - 1) return apply(x, axis);
  return apply(x.reshape([product(x.shape.slice(0, axis)), product(x.shape.slice(axis))]), 1).reshape(x.shape);
};

const hardmax = (x: Tensor, axis: number) => {
  const last = x.rank > 1 ? x.transpose(axis, -1) : x;
  const size = last.shape.at(-1);
  if (typeof size !== 'number') throw invalidArgument('axis', 'an axis that is a Dim', 'an axis of a known size');
  const hot = oneHot(last.argmax(-1), size).cast(x.dtype);
  return x.rank > 1 ? hot.transpose(axis, -1) : hot;
};

const scan = (name: 'cumsum' | 'cumprod'): Operator => (call) => {
  const x = call.tensor(0);
  return x[name](checkAxis('axis', call.number(1), x.rank), { exclusive: call.flag('exclusive'), reverse: call.flag('reverse') });
};

const topK: Operator = (call) => {
  const x = call.tensor(0);
  const k = call.has(1) ? call.number(1) : call.int('k');
  const { values, indices } = x.topk(k, call.axis('axis', x.rank, -1), { smallest: !call.flag('largest', true) });
  return [values, call.output(indices, typeNamed('int64'))];
};

/** A row of zeros stays one. */
const lpNormalization: Operator = (call) => inSingle(call.tensor(0), (x) => {
  const norm = x.norm(call.axis('axis', x.rank, -1), { keep: true, order: order(call) });
  return where(norm.eq(0), 0, x.div(norm));
});

function order(call: Call): number {
  const p = call.int('p', 2);
  if (p !== 1 && p !== 2) throw invalidArgument('attribute p', String(p), '1 or 2');
  return p;
}

/** −log softmax of the label of each place, or −input, weighted, without ignored labels. */
function loss(call: Call, logOf: (x: Tensor) => Tensor): readonly (Tensor | null)[] {
  const given = call.tensor(0);
  const labels = call.tensor(1).cast('i32');
  const logs = logOf(given.cast('f32'));
  const ignored = call.hasAttribute('ignore_index') ? call.int('ignore_index') : null;
  const isCounted = ignored === null ? null : labels.neq(ignored);
  const safe = isCounted === null ? labels : where(isCounted, labels, labels.mul(0));
  const picked = logs.gather(safe.expandDims(1), 1).squeeze(1).neg();
  const weight = call.has(2) ? call.tensor(2).cast('f32').indexSelect(safe) : picked.mul(0).add(1);
  const counted = isCounted === null ? weight : where(isCounted, weight, 0);
  const losses = where(counted.eq(0), 0, picked.mul(counted));
  const reduced = call.choice('reduction', ['none', 'mean', 'sum'], 'mean');
  const result = reduced === 'none' ? losses : reduced === 'sum' ? losses.sum() : losses.sum().div(counted.sum());
  return [result.cast(given.dtype), call.wants(1) ? logs.cast(given.dtype) : null];
}

export const REDUCTION_OPERATORS: Readonly<Record<string, Operator>> = {
  ArgMax: extreme('argmax'), ArgMin: extreme('argmin'),
  ReduceL1: reduction((x, axes, keep) => x.abs().sum(axes, keep), (x) => x.abs()),
  ReduceL2: reduction((x, axes, keep) => (x.dtype === 'f32' || x.dtype === 'f16' ? x.norm(axes, keep).cast(x.dtype) : x.cast('f32').norm(axes, keep).cast(x.dtype)), (x) => x.abs()),
  ReduceLogSum: reduction((x, axes, keep) => inSingle(x, (y) => y.sum(axes, keep).log()), (x) => x.log()),
  ReduceLogSumExp: ofFloats((x, axes, keep) => x.logSumExp(axes, keep)),
  ReduceMax: reduction((x, axes, keep) => (x.dtype === 'bool' ? x.any(axes, keep) : x.max(axes, keep))),
  ReduceMin: reduction((x, axes, keep) => (x.dtype === 'bool' ? x.all(axes, keep) : x.min(axes, keep))),
  ReduceMean: reduction((x, axes, keep) => x.mean(axes, keep)),
  ReduceProd: reduction((x, axes, keep) => x.prod(axes, keep)),
  ReduceSum: reduction((x, axes, keep) => x.sum(axes, keep)),
  ReduceSumSquare: reduction((x, axes, keep) => x.square().sum(axes, keep), (x) => x.square()),
  Softmax: along((x, axis) => x.softmax(axis)), LogSoftmax: along((x, axis) => x.logSoftmax(axis)), Hardmax: along(hardmax),
  CumSum: scan('cumsum'), CumProd: scan('cumprod'), TopK: topK, LpNormalization: lpNormalization,
  SoftmaxCrossEntropyLoss: (call) => loss(call, (x) => x.logSoftmax(1)),
  NegativeLogLikelihoodLoss: (call) => [loss(call, (x) => x)[0] as Tensor],
};
