/** Complex numbers and Fourier transforms. */

import { checkOptions, type OptionNames } from '../arguments/options.js';
import { complexOf } from './recipe/complex.js';
import * as fourier from './recipe/fourier.js';
import { nodeOf } from './recipe/operands.js';
import { Tensor, type Axes } from './tensor.js';

/** Complex numbers from their real and imaginary parts, which broadcast. Throws 'invalid-argument' for other types than f32. */
export function complex(re: Tensor<'f32'>, im: Tensor<'f32'>): Tensor<'c64'> {
  return Tensor.make(complexOf(nodeOf('complex: re', re), nodeOf('complex: im', im)));
}

/** Options of Fourier transforms. */
export interface FftOptions {
  /** The axes to transform, one after another; the last unless told. rfft and irfft halve the last one of these. Their sizes are numbers from 1 on. */
  axes?: Axes;
  /**
   * Where the transforms are divided by the number n of elements: 'backward' (default) the inverse by n, 'ortho' both by √n, so that the sum of squared
   * magnitudes stays, 'forward' fft and rfft by n.
   */
  norm?: 'backward' | 'ortho' | 'forward';
}

const FFT_OPTIONS: OptionNames<FftOptions> = { axes: true, norm: true };
const IRFFT_OPTIONS: OptionNames<FftOptions & { length?: number }> = { ...FFT_OPTIONS, length: true };

/**
 * The discrete Fourier transform X[k] = Σⱼ x[j] e^(−2πi jk/n), of the shape of x, for any length n up to 2²⁴: lengths whose prime factors are at most
 * 13 are fastest; others, up to 2²³, take three transforms of two to three times the length. The Euclidean norm of the error is at most 4e-7 of that of the
 * result, and the same numbers give the same bits again. Throws 'invalid-argument' for other types than f32 and c64, for axes and
 * norms that are not there, and for an axis without elements or whose size is a Dim.
 */
export function fft(x: Tensor<'c64'> | Tensor<'f32'>, options: FftOptions = {}): Tensor<'c64'> {
  checkOptions('fft: options', options, FFT_OPTIONS);
  return Tensor.make(fourier.fft('fft', nodeOf('fft', x), options));
}

/** The inverse of fft: x[j] = Σₖ X[k] e^(2πi jk/n), divided by n unless `norm` says otherwise. Throws as fft(). */
export function ifft(x: Tensor<'c64'>, options: FftOptions = {}): Tensor<'c64'> {
  checkOptions('ifft: options', options, FFT_OPTIONS);
  return Tensor.make(fourier.fft('ifft', nodeOf('ifft', x), options));
}

/**
 * The Fourier transform of real numbers: of the n frequencies along the last axis that is transformed the first ⌊n/2⌋ + 1, from 0 to the highest. The others are their
 * conjugates. Throws as fft().
 */
export function rfft(x: Tensor<'f32'>, options: FftOptions = {}): Tensor<'c64'> {
  checkOptions('rfft: options', options, FFT_OPTIONS);
  return Tensor.make(fourier.rfft(nodeOf('rfft', x), options));
}

/**
 * The inverse of rfft: real numbers, `length` n of them along the last axis that is transformed, by default twice as many as frequencies, less 2. An odd length has to be told.
 * Of the ⌊n/2⌋ + 1 frequencies that a length has, those beyond the axis count as 0, and frequencies beyond these are left out. The imaginary part of frequency 0, and with an even length of the highest
 * one, does not count. Throws as fft().
 */
export function irfft(x: Tensor<'c64'>, options: FftOptions & { length?: number } = {}): Tensor<'f32'> {
  checkOptions('irfft: options', options, IRFFT_OPTIONS);
  return Tensor.make(fourier.irfft(nodeOf('irfft', x), options));
}
