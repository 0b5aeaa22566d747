/** Tensors of infinities, NaN, zeros and the ends of integer types, and reductions of nothing. */
import { tensorDevice } from '../tensors/compare.js';
import { SPECIAL_REDUCTIONS, SPECIAL_VALUES } from '../tensors/special-values.js';
import { onEach } from '../define.js';

const unsigned = (values) => values.map((value) => (value === 0 ? 0 : value));

export const group = {
  id: 'tensor-special-values',
  title: 'Tensors: special values',
  about: 'Infinities, NaN, zeros of both signs, integers that wrap, conversions that clamp, and reductions of nothing.',
  checks: [
    ...SPECIAL_VALUES.flatMap(([name, dtype, operands, apply, result, expected, signs]) =>
      onEach(name, async (check) => {
        const device = await tensorDevice(check);
        const tensor = apply(...operands.map((values) => device.tensor(values, [values.length], dtype)));
        check.equal(tensor.dtype, result, 'the type');
        const got = [...(await tensor.data())];
        if (signs === 'signed') check.same(got, expected);
        else check.same(unsigned(got), unsigned(expected));
      })),
    ...SPECIAL_REDUCTIONS.flatMap(([name, dtype, values, apply, result, expected]) =>
      onEach(name, async (check) => {
        const device = await tensorDevice(check);
        const tensor = apply(device.tensor(values, [values.length], dtype));
        check.equal(tensor.dtype, result, 'the type');
        check.same(unsigned([await tensor.item()]), [expected]);
      })),
  ],
};
