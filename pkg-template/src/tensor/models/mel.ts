/** Spectrograms of speech as Whisper takes them: the logarithm of the power in bands that are narrower the lower they are. */

import { rfft } from '../fourier.js';
import type { Device } from '../device/device.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { arange } from '../sources.js';
import type { Tensor } from '../tensor.js';

/** Samples a second, samples of a window, and from one window to the next. */
export const RATE = 16000;
export const WINDOW = 400;
export const HOP = 160;

/** Frequencies of a window, from 0 to half the rate. */
const FREQUENCIES = WINDOW / 2 + 1;

/** Slaney's mel scale: 15 to a kilohertz, above that logarithmic, 27 to a factor of 6.4. */
const toMel = (hertz: number) => (hertz < 1000 ? (3 * hertz) / 200 : 15 + (27 * Math.log(hertz / 1000)) / Math.log(6.4));
const toHertz = (mel: number) => (mel < 15 ? (200 * mel) / 3 : 1000 * Math.exp(((mel - 15) * Math.log(6.4)) / 27));

/** The share of each frequency in each band, [frequencies, bands]: triangles of equal area between the centres of the neighbours. */
export function melFilters(device: Device, bands: number): StoredTensor<'f32'> {
  const most = toMel(RATE / 2);
  const edges = Array.from({ length: bands + 2 }, (_, k) => toHertz((most * k) / (bands + 1)));
  const numbers = new Float32Array(FREQUENCIES * bands);
  for (let band = 0; band < bands; band++) {
    const [low, middle, high] = edges.slice(band, band + 3) as [number, number, number];
    for (let k = 0; k < FREQUENCIES; k++) {
      const hertz = (k * RATE) / WINDOW;
      const share = Math.min((hertz - low) / (middle - low), (high - hertz) / (high - middle));
      numbers[k * bands + band] = Math.max(share, 0) * (2 / (high - low));
    }
  }
  return device.tensor(numbers, [FREQUENCIES, bands]);
}

/** The spectrogram [bands, frames] of samples [frames · 160]: decimal logarithms, at most 8 below the largest, shifted and scaled to about −1 … 1. */
export function melSpectrogram(samples: Tensor<'f32'>, filters: Tensor<'f32'>): Tensor<'f32'> {
  const frames = (samples.shape[0] as number) / HOP;
  const windows = samples.pad([[WINDOW / 2, WINDOW / 2]], { mode: 'mirror' }).windows(0, WINDOW, HOP).slice([0, frames]);
  const hann = arange(WINDOW).mul((2 * Math.PI) / WINDOW).cos().neg().add(1).mul(0.5);
  const spectrum = rfft(windows.mul(hann));
  const power = spectrum.real().square().add(spectrum.imag().square());
  const logs = power.matmul(filters).maximum(1e-10).log().mul(1 / Math.LN10);
  return logs.maximum(logs.max().sub(8)).add(4).div(4).transpose();
}
