/** Vectors of numbers. */

/** Σ aᵢbᵢ */
export function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

/** a × b, of three numbers each. */
export function cross(a: ArrayLike<number>, b: ArrayLike<number>): [number, number, number] {
  const [x, y, z] = a as unknown as [number, number, number];
  const [u, v, w] = b as unknown as [number, number, number];
  return [y * w - z * v, z * u - x * w, x * v - y * u];
}

/** Σ aᵢ / n; NaN of no numbers. */
export function mean(numbers: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < numbers.length; i++) sum += numbers[i] as number;
  return sum / numbers.length;
}
