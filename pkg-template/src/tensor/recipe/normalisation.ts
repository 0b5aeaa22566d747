/** Normalisations and losses of networks, in single precision; the result has the type of the input. */

import { invalidArgument } from '../../arguments/errors.js';
import { checkFinite, checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkOptions } from '../../arguments/options.js';
import { product, sameSize, shapeText, sizeText, type Shape, type Size } from '../size.js';
import { broadcastShapes } from './broadcast.js';
import { apply, bitcast, cast, where } from './elementwise.js';
import { Node } from './node.js';
import { checkAxes, checkAxis, checkType, INDICES, nodeOf, nodeText, REALS } from './operands.js';
import { firstOver, meanOver, reduce, sizeNode } from './reductions.js';
import { logSoftmax } from './rows.js';
import { reshaped } from './views.js';

/** What follows a normalisation, and the number that keeps it from dividing by 0. */
export interface Affine {
  readonly weight: Node | null;
  readonly bias: Node | null;
  readonly epsilon: number;
}

/** Reads the options weight, bias and epsilon. */
export function affineOf(operation: string, options: object, names: Readonly<Record<string, true>>): Affine {
  checkOptions(`${operation}: options`, options, { weight: true, bias: true, epsilon: true, ...names });
  const { weight, bias, epsilon = 1e-5 } = options as { weight?: unknown; bias?: unknown; epsilon?: unknown };
  checkFinite(`${operation}: epsilon`, epsilon, 0);
  const part = (name: string, value: unknown) => {
    if (value === undefined) return null;
    const node = nodeOf(`${operation}: ${name}`, value);
    checkType(`${operation}: ${name}`, node, REALS);
    return cast(node, 'f32');
  };
  return { weight: part('weight', weight), bias: part('bias', bias), epsilon };
}

/** Multiplies by the weight and adds the bias. Their axes are these axes of x; one of the rank of x, or of another rank, broadcasts as it is. */
function affine(operation: string, x: Node, { weight, bias }: Affine, axes: readonly number[]): Node {
  const placed = (name: string, node: Node) => {
    const shape: Shape = node.shape.length === axes.length ? x.shape.map((_, axis) => (axes.includes(axis) ? (node.shape[axes.indexOf(axis)] as Size) : 1)) : node.shape;
    const found = reshaped(node, shape);
    if (broadcastShapes(`${operation}: ${name}`, [x.shape, shape]).some((size, axis) => !sameSize(size, x.shape[axis] ?? 0))) {
      throw invalidArgument(`${operation}: ${name}`, nodeText(node), `a tensor of shape ${shapeText(axes.map((axis) => x.shape[axis] as Size))}`);
    }
    return found;
  };
  const scaled = weight === null ? x : apply('mul', [x, placed('weight', weight)]);
  return bias === null ? scaled : apply('add', [scaled, placed('bias', bias)]);
}

/** (x − mean)/√(variance + ε), from the difference to the mean. */
function standardised(difference: Node, variance: Node, epsilon: number): Node {
  return apply('div', [difference, apply('sqrt', [apply('add', [variance, epsilon])])]);
}

/** Differences to the mean over axes. A mean that is far from 0 would leave few digits for them, so they are taken from differences to the first element. */
function centred(x: Node, axes: readonly number[]): Node {
  const shifted = apply('sub', [x, apply('stopGradient', [firstOver(x, axes)])]);
  return apply('sub', [shifted, meanOver(shifted, axes, true)]);
}

/** Normalised by the mean and the variance over axes. */
function normalised(x: Node, axes: readonly number[], epsilon: number): Node {
  return standardised(centred(x, axes), reduce('variance', x, axes, true), epsilon);
}

function checkReal(operation: string, x: Node): Node {
  checkType(operation, x, REALS);
  return cast(x, 'f32');
}

/** Normalises by the mean and the variance over axes. */
export function layerNorm(x: Node, axes: unknown, options: Affine): Node {
  const y = checkReal('layerNorm', x);
  const over = checkAxes('layerNorm: axes', axes, y.shape.length);
  return cast(affine('layerNorm', normalised(y, over, options.epsilon), options, over), x.dtype);
}

/** Divides by the root of the mean square over axes. */
export function rmsNorm(x: Node, axes: unknown, options: Affine): Node {
  const y = checkReal('rmsNorm', x);
  const over = checkAxes('rmsNorm: axes', axes, y.shape.length);
  const square = meanOver(apply('mul', [y, y]), over, true);
  const normal = apply('div', [y, apply('sqrt', [apply('add', [square, options.epsilon])])]);
  return cast(affine('rmsNorm', normal, options, over), x.dtype);
}

/** Normalises groups of channels, which are axis 1. */
export function groupNorm(x: Node, groups: unknown, options: Affine): Node {
  const y = checkReal('groupNorm', x);
  const [images, channels, ...inner] = checkChannels('groupNorm', y);
  checkWholeNumber('groupNorm: groups', groups, 1);
  if (typeof channels !== 'number' || channels % groups !== 0) throw invalidArgument('groupNorm: groups', String(groups), `a divisor of ${sizeText(channels)}, the number of channels`);
  const grouped = reshaped(y, [images, groups, product([channels / groups, ...inner])]);
  return cast(affine('groupNorm', reshaped(normalised(grouped, [2], options.epsilon), y.shape), options, [1]), x.dtype);
}

/** Normalises each channel, which is axis 1, by statistics that are given, or by those of the batch. */
export function batchNorm(x: Node, given: { mean: Node | null; variance: Node | null }, options: Affine): { y: Node; mean: Node; variance: Node } {
  const z = checkReal('batchNorm', x);
  const [, channels] = checkChannels('batchNorm', z);
  const over = z.shape.flatMap((_, axis) => (axis === 1 ? [] : [axis]));
  const statistic = (name: 'mean' | 'variance', compute: () => Node) => {
    const node = given[name];
    if (node === null) return compute();
    checkType(`batchNorm: ${name}`, node, REALS);
    if (node.shape.length !== 1 || !sameSize(node.shape[0] as Size, channels)) throw invalidArgument(`batchNorm: ${name}`, nodeText(node), `a vector of ${sizeText(channels)}, one a channel`);
    return cast(node, 'f32');
  };
  const mean = statistic('mean', () => meanOver(z, over, false));
  const variance = statistic('variance', () => reduce('variance', z, over));
  const along = (node: Node) => reshaped(node, z.shape.map((size, axis) => (axis === 1 ? size : 1)));
  const difference = given.mean === null ? centred(z, over) : apply('sub', [z, along(mean)]);
  const normal = standardised(difference, along(variance), options.epsilon);
  return { y: cast(affine('batchNorm', normal, options, [1]), x.dtype), mean, variance };
}

function checkChannels(operation: string, x: Node): readonly [Size, Size, ...Size[]] {
  if (x.shape.length < 2) throw invalidArgument(operation, nodeText(x), 'a tensor [images, channels, …]');
  return x.shape as unknown as readonly [Size, Size, ...Size[]];
}

/** −log softmax(logits)[label]; NaN for a label that is no class. */
export function crossEntropy(logits: Node, labels: Node, axis: unknown): Node {
  checkType('crossEntropy: logits', logits, ['f32']);
  checkType('crossEntropy: labels', labels, INDICES);
  const at = checkAxis('crossEntropy: axis', axis, logits.shape.length);
  const classes = logits.shape[at] as Size;
  const rest = logits.shape.filter((_, k) => k !== at);
  if (labels.shape.length !== rest.length || !rest.every((size, k) => sameSize(size, labels.shape[k] as Size))) {
    throw invalidArgument('crossEntropy: labels', nodeText(labels), `labels of shape ${shapeText(rest)}`);
  }
  const kept = reshaped(labels, logits.shape.map((size, k) => (k === at ? 1 : size)));
  const isLabel = apply('eq', [kept, new Node('iota', labels.dtype, logits.shape.map((size, k) => (k === at ? size : 1)), [], [at])]);
  const terms = apply('neg', [logSoftmax(logits, at, 'crossEntropy')]);
  // A negative label is no class: as unsigned numbers these are the largest.
  const isClass = apply('lt', [bitcast(labels, 'u32'), sizeNode(classes, 'u32')]);
  return where(isClass, reduce('sum', where(isLabel, terms, 0), [at]), NaN);
}
