/** Frequencies of signals over time: transforms of windows that overlap, their inverse, and bands of equal width to the ear. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { checkFinite, checkWholeNumber } from '../arguments/numeric-arguments.js';
import { checkFlag, checkOptions, type OptionNames } from '../arguments/options.js';
import { irfft, rfft } from './fourier.js';
import { where } from './functions.js';
import { checkType, nodeOf, nodeText } from './recipe/operands.js';
import { overlapped } from './recipe/transposed-convolution.js';
import { arange } from './sources.js';
import { Tensor } from './tensor.js';

/** How a signal is cut into windows. */
export interface StftOptions {
  /** Samples of a window, and of its transform. */
  size: number;
  /** Samples from one window to the next. Default a quarter of the size, rounded down. */
  hop?: number;
  /** Factors of the samples, a vector of at most `size`; a shorter one stands in the middle, with zeros around. Default Hann's window, sin²(πi/size). */
  window?: Tensor<'f32'>;
  /** Whether window k is centred at sample k · hop, for which half a window is added at both ends; else it begins there. Default true. */
  center?: boolean;
  /** What is added with `center`: the signal mirrored, without its outermost sample twice (default), zeros, or the outermost sample. */
  border?: 'mirror' | 'zero' | 'clamp';
  /** 'ortho' divides the transforms by √size. Default 'backward', which does not. */
  norm?: 'backward' | 'ortho';
}

/** What istft takes: the options of stft without the border, and how long the signal is. */
export interface IstftOptions extends Omit<StftOptions, 'border'> {
  /** Samples of the signal; beyond the windows they are 0. By default as many as the windows have, without the halves that `center` added. */
  length?: number;
}

const ISTFT_NAMES = { size: true, hop: true, window: true, center: true, norm: true, length: true } as const;
const ISTFT_OPTIONS: OptionNames<IstftOptions> = ISTFT_NAMES;
const { length: _, ...CUT_NAMES } = ISTFT_NAMES;
const STFT_OPTIONS: OptionNames<StftOptions> = { ...CUT_NAMES, border: true };

/** Longest window. */
const MOST_SIZE = 2 ** 24;

interface Cut {
  readonly size: number;
  readonly hop: number;
  readonly window: Tensor<'f32'>;
  readonly isCentred: boolean;
  readonly norm: 'backward' | 'ortho';
}

function cutOf(call: string, { size, hop, window, center = true, norm = 'backward' }: Readonly<Record<keyof StftOptions, unknown>>): Cut {
  checkWholeNumber(`${call}: size`, size, 1, MOST_SIZE);
  const step = hop ?? Math.max(1, Math.floor(size / 4));
  checkWholeNumber(`${call}: hop`, step, 1, MOST_SIZE);
  checkFlag(`${call}: center`, center);
  if (norm !== 'backward' && norm !== 'ortho') throw invalidArgument(`${call}: norm`, describe(norm), "'backward' or 'ortho'");
  return { size, hop: step, window: window === undefined ? hann(size) : fitted(`${call}: window`, window, size), isCentred: center as boolean, norm };
}

/** Hann's window, as one period of a longer signal. */
function hann(size: number): Tensor<'f32'> {
  return arange(size).mul(Math.PI / size).sin().square();
}

/** A window with zeros around. */
function fitted(argument: string, window: unknown, size: number): Tensor<'f32'> {
  const node = nodeOf(argument, window);
  const [own] = node.shape;
  if (node.dtype !== 'f32' || node.shape.length !== 1 || typeof own !== 'number' || own > size) throw invalidArgument(argument, nodeText(node), `a vector of f32 with at most ${size} numbers`);
  const before = Math.floor((size - own) / 2);
  return Tensor.make<'f32'>(node).pad([[before, size - own - before]]);
}

/** Zeros, or samples, around the last axis. */
function around(x: Tensor<'f32'>, before: number, after: number, mode: 'constant' | 'mirror' | 'clamp'): Tensor<'f32'> {
  return x.pad(x.shape.map((__, axis) => (axis === x.rank - 1 ? [before, after] : [0, 0])), { mode });
}

/**
 * The frequencies of windows of a signal, as torch.stft and librosa.stft have them: of x [..., samples] complex numbers [..., size/2 + 1, windows], those
 * that are not negative.
 * There are 1 + ⌊samples/hop⌋ windows with `center`, else 1 + ⌊(samples − size)/hop⌋. Throws 'invalid-argument' for other types than f32, and where no window
 * fits.
 */
export function stft(x: Tensor<'f32'>, options: StftOptions): Tensor<'c64'> {
  checkOptions('stft: options', options, STFT_OPTIONS);
  const { size, hop, window, isCentred, norm } = cutOf('stft', options as Readonly<Record<keyof StftOptions, unknown>>);
  const { border = 'mirror' } = options;
  const modes = { mirror: 'mirror', zero: 'constant', clamp: 'clamp' } as const;
  if (!Object.hasOwn(modes, border)) throw invalidArgument('stft: border', describe(border), "'mirror', 'zero' or 'clamp'");
  const mode = modes[border];
  const node = nodeOf('stft', x);
  checkType('stft', node, ['f32']);
  const samples = node.shape.at(-1);
  const half = isCentred ? Math.floor(size / 2) : 0;
  const least = !isCentred ? size : border === 'mirror' ? half + 1 : 1;
  if (samples === undefined || (typeof samples === 'number' && samples < least)) throw invalidArgument('stft', nodeText(node), `a tensor [..., samples] of at least ${least} samples`);
  const whole = isCentred ? around(x, half, half, mode) : x;
  return rfft(whole.windows(-1, size, hop).mul(window), { norm }).transpose(-1, -2);
}

/**
 * The signal of which z [..., size/2 + 1, windows] has the frequencies of windows, the inverse of stft with the same options: the transforms back times the
 * window are added, and
 * divided by the sum of the squares of the windows; where that is 0 nothing is known of the signal, which is 0 there. Of frequencies that no signal has it is
 * the one that is nearest
 * in the sum of squares (Griffin, Lim 1984). The number of windows is a number. Throws 'invalid-argument' where types, shapes or options do not fit.
 */
export function istft(z: Tensor<'c64'>, options: IstftOptions): Tensor<'f32'> {
  checkOptions('istft: options', options, ISTFT_OPTIONS);
  const { size, hop, window, isCentred, norm } = cutOf('istft', options as Readonly<Record<keyof StftOptions, unknown>>);
  const { length } = options;
  if (length !== undefined) checkWholeNumber('istft: length', length, 0);
  const node = nodeOf('istft', z);
  checkType('istft', node, ['c64']);
  const frequencies = Math.floor(size / 2) + 1;
  const [own, count] = node.shape.slice(-2);
  if (node.shape.length < 2 || own !== frequencies || typeof count !== 'number' || count < 1) {
    throw invalidArgument('istft', nodeText(node), `a tensor [..., ${frequencies}, windows] with at least one window, as the size is ${size}`);
  }
  const sums = (windows: Tensor<'f32'>) => Tensor.make<'f32'>(overlapped('istft', windows.node, hop));
  const added = sums(irfft(z, { axes: -2, length: size, norm }).mul(window.expandDims(1)));
  const squares = sums(window.square().expandDims(1).broadcastTo([size, count]));
  const isKnown = squares.gt(1e-11);
  const signal = where(isKnown, added.div(where(isKnown, squares, 1)), 0);
  const present = (count - 1) * hop + size;
  const from = isCentred ? Math.floor(size / 2) : 0;
  const wanted = length ?? Math.max(0, present - 2 * from);
  const end = Math.min(present, from + wanted);
  const part = signal.slice(...signal.shape.map((__, axis) => (axis === signal.rank - 1 ? ([Math.min(from, end), end] as const) : null)));
  return around(part, 0, wanted - Math.max(0, end - from), 'constant');
}

/** Options of melSpectrogram, with those of stft. */
export interface MelOptions extends StftOptions {
  /** Samples a second. */
  rate: number;
  /** How many bands. Default 128. */
  bands?: number;
  /** Where the lowest band begins, in hertz. Default 0. */
  low?: number;
  /** Where the highest band ends, in hertz. Default half the rate. */
  high?: number;
  /** The scale on which bands are equally wide: Slaney's, linear to 1 kHz (default), or 2595 log₁₀(1 + f/700), as HTK has it. */
  scale?: 'slaney' | 'htk';
  /** Bands of one area over hertz (default), or of height 1. */
  height?: 'area' | 'one';
  /** The power of magnitudes that is summed. Default 2. */
  power?: number;
}

const MEL_OPTIONS: OptionNames<MelOptions> = { ...STFT_OPTIONS, rate: true, bands: true, low: true, high: true, scale: true, height: true, power: true };

/** A kilohertz on Slaney's scale, and how the scale grows from there: 27 for a factor of 6.4. */
const [KILOHERTZ, GROWTH] = [15, Math.log(6.4) / 27];

/** Of each scale `narrowest` is the least width of a step of 1, relative to the frequency. */
const SCALES = {
  slaney: {
    narrowest: 1 / KILOHERTZ,
    of: (hertz: number) => (hertz < 1000 ? (KILOHERTZ * hertz) / 1000 : KILOHERTZ + Math.log(hertz / 1000) / GROWTH),
    back: (mel: Tensor<'f32'>) => where(mel.lt(KILOHERTZ), mel.mul(1000 / KILOHERTZ), mel.sub(KILOHERTZ).mul(GROWTH).exp().mul(1000)),
  },
  htk: {
    narrowest: Math.LN10 / 2595,
    of: (hertz: number) => 2595 * Math.log10(1 + hertz / 700),
    back: (mel: Tensor<'f32'>) => mel.mul(Math.LN10 / 2595).expm1().mul(700),
  },
} as const;

/** The least width of half a band beside its frequency: rounding then takes a thousandth of its shares. */
const NARROWEST = 2 ** -14;

/** The share of each frequency in each band, [frequencies, bands]: triangles between the centres of the neighbours. */
function filters({ size, rate, bands, low, high, scale, height }: Required<Pick<MelOptions, 'size' | 'rate' | 'bands' | 'low' | 'high' | 'scale' | 'height'>>): Tensor<'f32'> {
  const { of, back } = SCALES[scale];
  const edges = back(arange(bands + 2).mul((of(high) - of(low)) / (bands + 1)).add(of(low)));
  const [from, centre, to] = [0, 1, 2].map((k) => edges.slice([k, bands + k])) as [Tensor<'f32'>, Tensor<'f32'>, Tensor<'f32'>];
  const hertz = arange(Math.floor(size / 2) + 1).mul(rate / size).expandDims(1);
  const rising = hertz.sub(from).div(centre.sub(from));
  const falling = to.sub(hertz).div(to.sub(centre));
  const shares = rising.minimum(falling).maximum(0);
  return height === 'one' ? shares : shares.mul(to.sub(from).reciprocal().mul(2));
}

/**
 * Magnitudes of the frequencies of windows, to a power, summed in bands that are equally wide to the ear, as librosa.feature.melspectrogram has them: of x
 * [..., samples]
 * [..., bands, windows]. Throws 'invalid-argument' as stft(), and for bands that are not within half the rate, or too narrow for single precision.
 */
export function melSpectrogram(x: Tensor<'f32'>, options: MelOptions): Tensor<'f32'> {
  checkOptions('melSpectrogram: options', options, MEL_OPTIONS);
  const { rate, bands = 128, low = 0, high, scale = 'slaney', height = 'area', power = 2, ...cut } = options;
  checkFinite('melSpectrogram: rate', rate);
  if (!(rate > 0)) throw invalidArgument('melSpectrogram: rate', describe(rate), 'a number above 0');
  checkWholeNumber('melSpectrogram: bands', bands, 1, MOST_SIZE);
  const end = high ?? rate / 2;
  checkFinite('melSpectrogram: low', low, 0);
  checkFinite('melSpectrogram: high', end, 0);
  if (!(low < end && end <= rate / 2)) throw invalidArgument('melSpectrogram: high', describe(end), `a number above ${low}, the lowest frequency, up to ${rate / 2}, half the rate`);
  if (!Object.hasOwn(SCALES, scale)) throw invalidArgument('melSpectrogram: scale', describe(scale), "'slaney' or 'htk'");
  if (height !== 'area' && height !== 'one') throw invalidArgument('melSpectrogram: height', describe(height), "'area' or 'one'");
  checkFinite('melSpectrogram: power', power);
  if (!(power > 0)) throw invalidArgument('melSpectrogram: power', describe(power), 'a number above 0');
  const { of, narrowest } = SCALES[scale];
  if ((narrowest * (of(end) - of(low))) / (bands + 1) < NARROWEST) {
    throw invalidArgument('melSpectrogram: bands', `${bands} from ${low} to ${end} hertz`, 'bands that are wider than single precision tells apart, 1/8192 of their frequency');
  }
  const spectrum = stft(x, cut);
  const squares = spectrum.real().square().add(spectrum.imag().square());
  // A magnitude has the derivative 0 at 0.
  const magnitudes = power === 2 ? squares : power === 1 ? spectrum.abs() : squares.pow(power / 2);
  return filters({ size: cut.size, rate, bands, low, high: end, scale, height }).T.matmul(magnitudes);
}
