/** Spectra of sounds: windows that overlap, a spectrogram, and noise that is taken away in the spectrum. */
import { arange, iota, irfft, map, rfft, stack, where, zeros } from 'residua/tensor';

/** Hann's window, of which overlapping ones have a constant sum. */
const hann = (size) => arange(size).mul((2 * Math.PI) / size).cos().mul(-0.5).add(0.5);

/** Windows have this many times the samples by which they follow one another. */
const OVERLAP = 4;

/** The spectra of overlapping windows: [samples] to [windows, size/2 + 1]. */
const spectra = (samples, size) => rfft(samples.windows(0, size, size / OVERLAP).mul(hann(size)));

/** The power of each frequency in each window. */
export const spectrogram = (samples, size) => spectra(samples, size).abs().square();

/**
 * The body of a program for sound as it comes: the newest samples come in at the end of a stored tensor, and the picture is its spectrogram in decibels below the loudest, time to the right and high notes
 * up, as [frequencies, windows, 3] in 0 … 1.
 */
export function listening(ring, samples, size) {
  const count = samples.sizes[0];
  const heard = ring.roll(-count).setSlice([-count], samples);
  ring.assign(heard);
  const decibels = spectrogram(heard, size).maximum(1e-10).log().mul(10 / Math.LN10);
  const level = decibels.sub(decibels.max()).div(80).add(1).clamp(0, 1);
  return stack(map((v) => [v, v.square(), v.mul(3).sin().square()], level.T.flip(0)), -1);
}

/** The samples without the frequencies that are not twice as loud as in the noise. The windows of the result are added where they overlap. */
export function denoised(samples, noise, size) {
  const spectrum = spectra(samples, size);
  const floor = spectra(noise, size).abs().mean(0);
  const pieces = irfft(where(spectrum.abs().gt(floor.mul(2)), spectrum, 0), { length: size }).mul(hann(size));
  const places = iota(pieces.shape, 0, 'i32').mul(size / OVERLAP).add(iota(pieces.shape, 1, 'i32'));
  const sum = zeros(samples.shape).scatter(places.flatten(), pieces.flatten(), { combine: 'add' });
  return sum.div(hann(size).square().sum().mul(OVERLAP / size));
}
