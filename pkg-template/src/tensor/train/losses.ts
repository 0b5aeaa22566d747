/** Losses: what a network is trained to make small. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkFinite } from '../../arguments/numeric-arguments.js';
import { checkOptions, type OptionNames } from '../../arguments/options.js';
import { checkElement } from '../dtype.js';
import { crossEntropy, where } from '../functions.js';
import { map } from '../map.js';
import { V } from '../../expressions/v.js';
import { checkAxis, checkType, INDICES, nodeOf } from '../recipe/operands.js';
import { Tensor, type Axis, type Indices, type Operand } from '../tensor.js';

/** What becomes of the losses of all examples: their mean, their sum, or nothing. */
export type Reduction = 'mean' | 'sum' | 'none';

/** Options of every loss. */
export interface LossOptions {
  /** 'mean' (default) and 'sum' give a scalar, 'none' a number an example. */
  reduction?: Reduction;
}

/** Options of the cross entropy. */
export interface CrossEntropyOptions extends LossOptions {
  /** The axis of the classes. Default: the last. */
  axis?: Axis;
  /** Examples with this label count as none, whatever their logits are: their loss is 0, and the mean is that of the others, or 0 where there are none. */
  ignoreIndex?: number;
  /** The share, from 0 to 1, of the label that is spread evenly over all classes (Szegedy et al. 2016). Default 0. */
  labelSmoothing?: number;
}

const CROSS_ENTROPY: OptionNames<CrossEntropyOptions> = { reduction: true, axis: true, ignoreIndex: true, labelSmoothing: true };

/**
 * Cross entropy of logits and labels, −log softmax(logits)[label]; labels have the shape of the logits without the axis of the classes. A label that is no class, and not `ignoreIndex`, gives
 * NaN. Throws 'invalid-argument'.
 */
export function crossEntropyLoss(logits: Tensor<'f32'>, labels: Indices, options: CrossEntropyOptions = {}): Tensor<'f32'> {
  const call = 'crossEntropyLoss';
  checkOptions(`${call}: options`, options, CROSS_ENTROPY);
  const { axis = -1, ignoreIndex, labelSmoothing = 0, reduction = 'mean' } = options;
  checkReduction(call, reduction);
  if (typeof labelSmoothing !== 'number' || !(labelSmoothing >= 0 && labelSmoothing <= 1)) throw invalidArgument(`${call}: labelSmoothing`, describe(labelSmoothing), 'a number from 0 to 1');
  const node = nodeOf(`${call}: logits`, logits);
  checkType(`${call}: logits`, node, ['f32']);
  checkType(`${call}: labels`, nodeOf(`${call}: labels`, labels), INDICES);
  const at = checkAxis(`${call}: axis`, axis, node.shape.length);
  if (ignoreIndex === undefined) return reduced(smoothed(logits, labels, at, labelSmoothing), reduction);
  checkElement(`${call}: ignoreIndex`, ignoreIndex, labels.dtype);
  const counts: Tensor<'bool'> = (labels as Tensor).neq(ignoreIndex);
  // An example that is left out has label 0 and logits 0, so that nothing of it reaches a gradient.
  const safeLabels = where(counts, labels as Tensor, 0) as Indices;
  const kept = where(counts.expandDims(at), logits, 0);
  const losses = where(counts, smoothed(kept, safeLabels, at, labelSmoothing), 0);
  return reduction === 'mean' ? losses.sum().div(counts.cast('f32').sum().maximum(1)) : reduced(losses, reduction);
}

function smoothed(logits: Tensor<'f32'>, labels: Indices, axis: number, smoothing: number): Tensor<'f32'> {
  const losses = crossEntropy(logits, labels, axis);
  return smoothing === 0 ? losses : losses.mul(1 - smoothing).sub(logits.logSoftmax(axis).mean(axis).mul(smoothing));
}

/** Options of the binary cross entropy. */
export interface BinaryCrossEntropyOptions extends LossOptions {
  /** Factor of the loss of targets that are 1, which broadcasts to the logits: above 1 it finds more of them. Default 1. */
  positiveWeight?: Operand<'f32'>;
}

const BINARY: OptionNames<BinaryCrossEntropyOptions> = { reduction: true, positiveWeight: true };

/** Binary cross entropy of logits x and targets y from 0 to 1, −y log σ(x) − (1 − y) log(1 − σ(x)), without overflow. Throws 'invalid-argument'. */
export function binaryCrossEntropyLoss(logits: Tensor<'f32'>, targets: Operand<'f32'>, options: BinaryCrossEntropyOptions = {}): Tensor<'f32'> {
  const call = 'binaryCrossEntropyLoss';
  checkOptions(`${call}: options`, options, BINARY);
  const { reduction = 'mean', positiveWeight = 1 } = options;
  checkReduction(call, reduction);
  checkOperands(call, { logits, targets, positiveWeight });
  const losses = map((x, y, weight) => y.mul(weight).mul(V.softplus(x.neg())).add(y.neg().add(1).mul(V.softplus(x))), logits, targets, positiveWeight);
  return reduced(losses, reduction);
}

/** Options of the smooth L1 loss. */
export interface SmoothL1Options extends LossOptions {
  /** Where the square ends and the magnitude begins, at least 0. Default 1. */
  beta?: number;
}

const SMOOTH_L1: OptionNames<SmoothL1Options> = { reduction: true, beta: true };

/** Smooth L1 loss of the difference d of predictions and targets: d²/2β where |d| < β, else |d| − β/2 (Girshick 2015). Throws 'invalid-argument'. */
export function smoothL1Loss(predictions: Tensor<'f32'>, targets: Operand<'f32'>, options: SmoothL1Options = {}): Tensor<'f32'> {
  const call = 'smoothL1Loss';
  checkOptions(`${call}: options`, options, SMOOTH_L1);
  const { reduction = 'mean', beta = 1 } = options;
  checkReduction(call, reduction);
  checkFinite(`${call}: beta`, beta, 0);
  checkOperands(call, { predictions, targets });
  const losses = map((a, b) => {
    const d = V.abs(a.sub(b));
    return beta === 0 ? d : V.ifThenElse(d.lt(beta), d.square().mul(0.5 / beta), d.sub(beta / 2));
  }, predictions, targets);
  return reduced(losses, reduction);
}

function checkReduction(call: string, reduction: unknown): void {
  if (reduction !== 'mean' && reduction !== 'sum' && reduction !== 'none') throw invalidArgument(`${call}: reduction`, describe(reduction), "'mean', 'sum' or 'none'");
}

/** Throws 'invalid-argument' unless all are tensors of f32 or numbers, the first a tensor. */
function checkOperands(call: string, operands: Readonly<Record<string, unknown>>): void {
  Object.entries(operands).forEach(([name, operand], k) => {
    if (k > 0 && typeof operand === 'number') checkFinite(`${call}: ${name}`, operand);
    else checkType(`${call}: ${name}`, nodeOf(`${call}: ${name}`, operand), ['f32']);
  });
}

function reduced(losses: Tensor<'f32'>, reduction: Reduction): Tensor<'f32'> {
  return reduction === 'none' ? losses : reduction === 'sum' ? losses.sum() : losses.mean();
}
