/** IEEE half precision: numbers as 16 bits, and back. */

/** Added to a number from 0 below 2⁵¹ and subtracted again, it leaves the nearest whole number, the even one of two. */
const ROUNDING = 2 ** 52;

const scratch = /* @__PURE__ */ new Float64Array(1);
const words = /* @__PURE__ */ new Uint32Array(scratch.buffer);

/** The bits of the nearest half-precision number, the even one of two. From 65520 on it is an infinity. */
export function toHalf(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size >= 65520) return sign | 0x7c00;
  // Subnormal numbers are multiples of 2⁻²⁴. Rounding up to 2⁻¹⁴ gives its bits.
  if (size < 2 ** -14) return sign | (size * 2 ** 24 + ROUNDING - ROUNDING);
  scratch[0] = size;
  const exponent = ((words[1] as number) >>> 20) - 1023;
  // From 1024 to 2048; 2048 carries into the exponent.
  const significand = size * 2 ** (10 - exponent) + ROUNDING - ROUNDING;
  return sign | (((exponent + 14) << 10) + significand);
}

/** The number that 16 bits of half precision stand for. */
export function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}
