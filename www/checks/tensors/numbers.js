/** Numbers of the element types: what fills operands, how a type rounds, and errors in units in the last place. */

/** The exponent of a number that is neither 0 nor infinite: 2 to its power is at most the number's magnitude. */
function exponentOf(magnitude) {
  let exponent = Math.floor(Math.log2(magnitude));
  if (2 ** exponent > magnitude) exponent--;
  if (2 ** (exponent + 1) <= magnitude) exponent++;
  return exponent;
}

/** The nearest number of half precision, of two the even one. */
export function f16round(x) {
  if (x === 0 || !Number.isFinite(x)) return x;
  const magnitude = Math.abs(x);
  const unit = 2 ** (Math.max(exponentOf(magnitude), -14) - 10);
  const [below, rest] = [Math.floor(magnitude / unit), (magnitude / unit) % 1];
  const rounded = (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below) * unit;
  return Math.sign(x) * (rounded > 65504 ? Infinity : rounded);
}

const ROUND = {
  f32: Math.fround,
  f16: f16round,
  i32: (x) => x | 0,
  u32: (x) => x >>> 0,
  u8: (x) => x & 255,
  bool: (x) => Number(x !== 0),
};

/** A number as a type stores it. Integers wrap. */
export const rounded = (dtype, x) => ROUND[dtype](x);

export const isReal = (dtype) => dtype === 'f32' || dtype === 'f16';

/** The distance of neighbours at a number. Below the smallest normal number of single precision devices may give 0. */
export function unitOf(dtype, x) {
  const [bits, least] = dtype === 'f16' ? [10, -14] : [23, -126];
  const magnitude = Math.abs(x);
  return magnitude < 2 ** least ? 2 ** (dtype === 'f16' ? least - bits : least) : 2 ** (exponentOf(magnitude) - bits);
}

/**
 * The error of a number in units in the last place of what is expected; `floor` is the magnitude below which the unit stays that of `floor`, for results that are
 * differences of larger numbers. Integers, NaN and infinities are right or infinitely wrong; a zero may have either sign.
 */
export function ulps(dtype, got, expected, floor = 0) {
  if (Object.is(got, expected) || got === expected) return 0;
  if (!isReal(dtype) || !Number.isFinite(got) || !Number.isFinite(expected)) return Infinity;
  return Math.abs(got - expected) / unitOf(dtype, Math.max(Math.abs(expected), floor));
}

/** Irrational multiples fill a domain evenly, the same in every run. */
const IRRATIONAL = [0.618033988749895, 0.754877666246693, 0.569840290998053, 0.819172513396164];

/** `count` numbers of a domain `[low, high]`, or of its whole numbers for `[low, high, 1]`, rounded to a type. `seed` tells operands apart. */
export function fill([low, high, step], count, dtype, seed = 0) {
  return Array.from({ length: count }, (_, i) => {
    const fraction = ((i + 0.5) * IRRATIONAL[seed % IRRATIONAL.length] + seed * 0.37) % 1;
    const value = step === undefined && isReal(dtype) ? low + (high - low) * fraction : low + Math.floor(fraction * (high - low + 1));
    return rounded(dtype, value);
  });
}
