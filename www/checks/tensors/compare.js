/** Tensors against arrays: reads several in one round trip, and measures errors in units in the last place. */
import { Device } from 'residua/tensor';
import { Disagreement } from '../assertions.js';
import { rounded, ulps } from './numbers.js';

/** A device of a check alone, on the check's engine, on the page's GPUDevice. */
export async function tensorDevice(check, options = {}) {
  const device = await Device.create({ backend: check.backend, ...options });
  check.defer(() => device.dispose());
  return device;
}

/**
 * Reads the tensors of `cases`, `{ name, tensor, array, allowed, because, floor }`, and compares each with its array: shape, type of numbers, and every element, which
 * may be off by `allowed` units in the last place of the tensor's type (0 unless told; or a function of its position) for the reason that `because` gives. Returns the largest
 * error.
 * @param {string} dtype of the tensors
 */
export async function compare(check, device, dtype, cases) {
  const read = await device.read(...cases.map(({ tensor }) => tensor));
  let worst = 0;
  cases.forEach(({ name, tensor, array, allowed = 0, because = 'the result is exact', floor = 0 }, k) => {
    check.equal(tensor.dtype, dtype, `the type of ${name}`);
    check.same(tensor.sizes, array.shape, `the shape of ${name}`);
    check.equal(read[k].length, array.values.length, `the number of elements of ${name}`);
    array.values.forEach((exact, i) => {
      const bound = typeof allowed === 'function' ? allowed(i) : allowed;
      const expected = bound === 0 ? rounded(dtype, exact) : exact;
      const error = ulps(dtype, read[k][i], expected, floor);
      if (!(error <= bound)) throw new Disagreement({ claim: `element ${i} of ${name}, in units in the last place`, expected, got: read[k][i], error, allowed: bound, because });
      worst = Math.max(worst, error);
    });
  });
  return worst;
}
