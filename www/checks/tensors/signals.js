/** Facts about frequencies of signals over time, which hold on both engines: sums written out in double precision, inverses, and derivatives beside those in a direction. */

const TOLERANCE = 1e-5;

function near(ok, found, expected, name, tolerance = TOLERANCE) {
  const most = expected.reduce((largest, x) => Math.max(largest, Math.abs(x)), 1e-6);
  ok(found.length === expected.length, `${name}: ${found.length} numbers, not ${expected.length}`);
  const worst = expected.reduce((largest, x, k) => Math.max(largest, Number.isNaN(found[k]) ? Infinity : Math.abs(x - found[k])), 0);
  ok(worst <= tolerance * most, `${name}: off by ${worst} of ${most}`);
}

const signalOf = (count) => Float32Array.from({ length: count }, (_, k) => Math.sin(0.37 * k) + 0.25 * Math.cos(0.013 * k * k));
const hannOf = (size) => Array.from({ length: size }, (_, k) => 0.5 - 0.5 * Math.cos((2 * Math.PI * k) / size));

/** What stands at a place before or after a signal. */
const BORDERS = {
  mirror: (x, k) => { const period = 2 * (x.length - 1); const at = ((k % period) + period) % period; return x[at < x.length ? at : period - at]; },
  zero: (x, k) => x[k] ?? 0,
  clamp: (x, k) => x[Math.min(Math.max(k, 0), x.length - 1)],
};

/** Frequencies [size/2 + 1][windows] as pairs, by sums. */
function transformed(x, { size, hop, window = hannOf(size), center = true, border = 'mirror', norm = 'backward' }) {
  const from = center ? -Math.floor(size / 2) : 0;
  const lead = Math.floor((size - window.length) / 2);
  const count = 1 + Math.floor((x.length - 2 * from - (center ? size % 2 : 0) - size + (center ? size % 2 : 0)) / hop);
  return Array.from({ length: Math.floor(size / 2) + 1 }, (_, frequency) => Array.from({ length: count }, (__, place) => {
    let [re, im] = [0, 0];
    for (let k = 0; k < window.length; k++) {
      const value = window[k] * BORDERS[border](x, from + place * hop + lead + k);
      const angle = (2 * Math.PI * ((frequency * (k + lead)) % size)) / size;
      re += value * Math.cos(angle);
      im -= value * Math.sin(angle);
    }
    const scale = norm === 'ortho' ? 1 / Math.sqrt(size) : 1;
    return [re * scale, im * scale];
  }));
}

const CUTS = {
  'windows that are centred': { size: 16, hop: 4 },
  'an odd size and zeros around': { size: 15, hop: 5, border: 'zero' },
  'windows within the signal': { size: 16, hop: 8, center: false },
  'a short window, with the outermost sample around': { size: 20, hop: 3, border: 'clamp', window: [0.5, 1, 1.5, 1, 0.75], norm: 'ortho' },
};

/** The share of a frequency in bands between edges. */
function melReference(magnitudes, { rate, size, bands, low, high, scale, height }) {
  const [to, back] = scale === 'htk'
    ? [(f) => 2595 * Math.log10(1 + f / 700), (m) => 700 * (10 ** (m / 2595) - 1)]
    : [(f) => (f < 1000 ? (3 * f) / 200 : 15 + (27 * Math.log(f / 1000)) / Math.log(6.4)), (m) => (m < 15 ? (200 * m) / 3 : 1000 * 6.4 ** ((m - 15) / 27))];
  const edge = (k) => back(to(low) + ((to(high) - to(low)) * k) / (bands + 1));
  return Array.from({ length: bands }, (_, band) => magnitudes[0].map((__, place) => magnitudes.reduce((sum, row, k) => {
    const [from, middle, end, hertz] = [edge(band), edge(band + 1), edge(band + 2), (k * rate) / size];
    const share = Math.max(0, Math.min((hertz - from) / (middle - from), (end - hertz) / (end - middle)));
    return sum + share * (height === 'one' ? 1 : 2 / (end - from)) * row[place];
  }, 0)));
}

export const SIGNALS = [
  ...Object.entries(CUTS).map(([name, cut]) => [`stft of ${name} is the sum, and istft its inverse`, async (T, device, ok) => {
    const x = signalOf(61);
    const given = device.tensor([...x, ...x.map((each) => -2 * each)], [2, 61]);
    const options = { ...cut, ...(cut.window && { window: device.tensor(cut.window) }) };
    const z = T.stft(given, options);
    const expected = transformed(x, cut);
    ok(JSON.stringify(z.shape) === JSON.stringify([2, expected.length, expected[0].length]), `the shape is [${z.shape}]`);
    const numbers = expected.flat(2);
    near(ok, [...(await z.data())], [...numbers, ...numbers.map((each) => -2 * each)], 'frequencies');
    const { border: _, ...own } = options;
    const back = T.istft(z, { ...own, length: 61 });
    const [samples, wanted] = await device.read(back, given);
    // Where no window is above 0 nothing is known.
    const isKnown = (k) => (cut.center !== false ? k < (expected[0].length - 1) * cut.hop + 1 : k > 0 && k < (expected[0].length - 1) * cut.hop + cut.size);
    const kept = (data) => [...data].filter((__, k) => isKnown(k % 61));
    near(ok, kept(samples), kept(wanted), 'samples');
    const whole = T.istft(z, own);
    const present = (expected[0].length - 1) * cut.hop + cut.size - (cut.center !== false ? 2 * Math.floor(cut.size / 2) : 0);
    ok(whole.shape[1] === present, `${whole.shape[1]} samples, not ${present}`);
  }]),
  ['a longer signal than the windows ends in zeros, a shorter one is cut', async (T, device, ok) => {
    const x = device.tensor(signalOf(32));
    const z = T.stft(x, { size: 8 });
    const [long, short, own] = await device.read(T.istft(z, { size: 8, length: 40 }), T.istft(z, { size: 8, length: 5 }), x);
    near(ok, long.slice(0, 32), [...own], 'the signal');
    near(ok, long.slice(36), [0, 0, 0, 0], 'zeros');
    near(ok, short, own.slice(0, 5), 'the start');
  }],
  ['derivatives of spectrograms and of the inverse, in a direction and by all samples', async (T, device, ok) => {
    const [x, v] = [device.tensor(signalOf(50)), device.tensor(signalOf(50).map((each, k) => each * Math.cos(k)))];
    const f = (signal) => T.melSpectrogram(signal, { size: 16, rate: 8000, bands: 5 }).add(1).log().sum().add(T.istft(T.stft(signal, { size: 12 }).mul(T.stft(signal, { size: 12 })), { size: 12 }).square().sum());
    const [, tangent] = T.jvp(f, [x], [v]);
    const [slope] = T.grad(f(x), [x]);
    const [along, sum] = await device.read(tangent, slope.mul(v).sum());
    near(ok, [...along], [...sum], 'the derivative', 1e-4);
  }],
  ...[['Slaney\'s bands', {}], ['bands as HTK has them', { scale: 'htk', height: 'one', low: 100, high: 3000 }], ['magnitudes', { power: 1, bands: 3 }], ['a power of 3', { power: 3 }]].map(([name, more]) => [`melSpectrogram of ${name} sums shares of frequencies`, async (T, device, ok) => {
    const x = signalOf(90);
    const options = { size: 64, hop: 16, rate: 8000, bands: 6, low: 0, high: 4000, ...more };
    const { power = 2, bands } = options;
    const magnitudes = transformed(x, options).map((row) => row.map(([re, im]) => Math.hypot(re, im) ** power));
    const found = T.melSpectrogram(device.tensor(x), options);
    const expected = melReference(magnitudes, options);
    ok(JSON.stringify(found.shape) === JSON.stringify([bands, magnitudes[0].length]), `the shape is [${found.shape}]`);
    near(ok, [...(await found.data())], expected.flat(), 'bands');
  }]),
  ['spectrograms of many signals at once', async (T, device, ok) => {
    const x = device.tensor([...signalOf(40), ...signalOf(40).reverse()], [2, 40]);
    const options = { size: 16, rate: 8000, bands: 4 };
    const [one, all] = await device.read(T.vmap((row) => T.melSpectrogram(row, options))(x), T.melSpectrogram(x, options));
    near(ok, [...one], [...all], 'bands');
  }],
];
