/** Fourier transforms and windows of signals. */

import { invalidArgument } from '../../../arguments/errors.js';
import { complex, fft, ifft, irfft, rfft } from '../../fourier.js';
import { stack } from '../../functions.js';
import type { Size } from '../../size.js';
import { arange } from '../../sources.js';
import { checkAxis } from '../../recipe/operands.js';
import type { Tensor } from '../../tensor.js';
import { checkLimit, type Call, type Operator } from '../call.js';
import { typeNamed } from '../element-types.js';

/** The longest transform. */
const MOST_PLACES = 2 ** 22;

/** Complex numbers as a last axis of their parts, and back. */
const pairs = (z: Tensor) => stack([z.real(), z.imag()], -1);
const complexOf = (x: Tensor) => complex(x.pick(-1, 0) as Tensor<'f32'>, x.pick(-1, 1) as Tensor<'f32'>);

/** An axis cut, or with zeros, to so many places. */
function ofLength(x: Tensor, axis: number, count: number | undefined): Tensor {
  const size = x.shape[axis] as Size;
  if (count === undefined || count === size) return x;
  if (typeof size !== 'number') throw invalidArgument('dft_length', `${count} for an axis that is a Dim`, 'the size of the axis');
  return count < size ? x.slice(...x.shape.map((_, k) => (k === axis ? ([0, count] as const) : null))) : x.pad(x.shape.map((_, k) => (k === axis ? [0, count - size] : [0, 0])));
}

/** The axis is an input from version 20 on, and the last but one there unless told; before it is an attribute. */
function dft(call: Call): Tensor {
  const given = call.tensor(0).cast('f32');
  const told = call.opset < 20 ? call.int('axis', 1) : call.has(2) ? call.number(2) : -2;
  const axis = checkAxis('axis', told, given.rank);
  const [isInverse, isOnesided] = [call.flag('inverse'), call.flag('onesided')];
  const length = call.has(1) ? call.number(1) : undefined;
  checkLimit('places of a transform', length ?? 0, MOST_PLACES);
  const parts = given.shape.at(-1);
  if (axis === given.rank - 1 || (parts !== 1 && parts !== 2)) throw invalidArgument('input 0', `${String(given)} along axis ${axis}`, 'a tensor whose last axis has one number or two, real and imaginary, and another axis');
  const name = call.value(0).type;
  if (isInverse && isOnesided) {
    const places = length ?? 2 * ((given.shape[axis] as number) - 1);
    return irfft(complexOf(given), { axes: axis, length: places }).expandDims(-1).cast(name.dtype);
  }
  const x = ofLength(given, axis, length);
  if (parts === 2) {
    const found = pairs((isInverse ? ifft : fft)(complexOf(x), { axes: axis }));
    return isOnesided ? half(found, axis) : found;
  }
  const real = x.squeeze(-1) as Tensor<'f32'>;
  if (isInverse) return pairs(ifft(complex(real, real.mul(0)), { axes: axis }));
  return pairs((isOnesided ? rfft : fft)(real, { axes: axis }));
}

function half(x: Tensor, axis: number): Tensor {
  return x.slice(...x.shape.map((size, k) => (k === axis ? ([0, Math.floor((size as number) / 2) + 1] as const) : null)));
}

function stft(call: Call): Tensor {
  const given = call.tensor(0).cast('f32');
  const step = call.number(1);
  const window = call.maybe(2);
  const length = call.has(3) ? call.number(3) : (window?.shape[0] as number);
  checkLimit('places of a transform', length, MOST_PLACES);
  const isOnesided = call.flag('onesided', true);
  const frames = (signal: Tensor) => {
    const pieces = signal.windows(1, length, step);
    return window === undefined ? pieces : pieces.mul(window.cast('f32'));
  };
  const isReal = given.rank === 2 || given.shape[2] === 1;
  if (isReal) return pairs((isOnesided ? rfft : fft)(frames(given.rank === 2 ? given : given.squeeze(-1)) as Tensor<'f32'>));
  const found = pairs(fft(complex(frames(given.pick(-1, 0)) as Tensor<'f32'>, frames(given.pick(-1, 1)) as Tensor<'f32'>)));
  return isOnesided ? half(found, 2) : found;
}

const cosineWindow = (weights: readonly number[]): Operator => (call) => {
  const size = call.number(0);
  const type = call.hasAttribute('output_datatype') ? call.type('output_datatype') : typeNamed('float');
  const period = call.flag('periodic', true) ? size : size - 1;
  const angle = arange(size).mul((2 * Math.PI) / Math.max(period, 1));
  const terms = weights.map((weight, k) => (k === 0 ? angle.mul(0).add(weight) : angle.mul(k).cos().mul(k % 2 === 0 ? weight : -weight)));
  return call.output(terms.reduce((a, b) => a.add(b)), type);
};

/** Triangles over the bins of a transform, at equal distances on the scale of mels. */
const melWeightMatrix: Operator = (call) => {
  const [bands, length, rate, low, high] = [0, 1, 2, 3, 4].map((place) => call.number(place)) as [number, number, number, number, number];
  const bins = Math.floor(length / 2) + 1;
  if (!(bands > 0 && bins > 0)) throw invalidArgument('inputs', `${bands} bands of ${bins} bins`, 'at least one of each');
  checkLimit('weights', bands * bins, 2 ** 20);
  const mel = (hertz: number) => 2595 * Math.log10(1 + hertz / 700);
  const step = (mel(high) - mel(low)) / (bands + 2);
  const edges = Array.from({ length: bands + 2 }, (_, i) => Math.floor(((length + 1) * (700 * (10 ** ((i * step + mel(low)) / 2595) - 1))) / rate));
  const weights = Array.from({ length: bins * bands }, () => 0);
  for (let band = 0; band < bands; band++) {
    const [from, centre, to] = edges.slice(band, band + 3) as [number, number, number];
    if (centre === from) weights[centre * bands + band] = 1;
    else for (let bin = from; bin <= centre && bin < bins; bin++) weights[bin * bands + band] = (bin - from) / (centre - from);
    if (to > centre) for (let bin = centre; bin < to && bin < bins; bin++) weights[bin * bands + band] = (to - bin) / (to - centre);
  }
  const type = call.hasAttribute('output_datatype') ? call.type('output_datatype') : typeNamed('float');
  return call.output(call.stored(typeNamed('float'), [bins, bands], weights.slice(0, bins * bands).map(Math.fround)), type);
};

export const SIGNAL_OPERATORS: Readonly<Record<string, Operator>> = {
  DFT: dft, STFT: stft, MelWeightMatrix: melWeightMatrix,
  HannWindow: cosineWindow([0.5, 0.5]), HammingWindow: cosineWindow([25 / 46, 21 / 46]), BlackmanWindow: cosineWindow([0.42, 0.5, 0.08]),
};
