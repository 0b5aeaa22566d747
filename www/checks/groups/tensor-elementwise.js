/** Elementwise operations on tensors: every operation, element type and layout on both engines, against double precision. */
import { map } from '../tensors/arrays.js';
import { compare, tensorDevice } from '../tensors/compare.js';
import { ELEMENTWISE } from '../tensors/elementwise.js';
import { LAYOUT_NAMES, LAYOUTS, SHAPES } from '../tensors/layouts.js';
import { fill, isReal, rounded } from '../tensors/numbers.js';
import { onEach } from '../define.js';

const BECAUSE = {
  f32: 'the bound of the table in www/checks/tensors/elementwise.js',
  // The operation is computed in f32 and rounded once.
  f16: 'half a unit for the rounding to f16, and what f32 was off before it',
};

/** One operation, element type and layout, at all shapes in one round trip. */
async function checkOperation(check, device, row, dtype, first) {
  const cases = SHAPES.map((shape) => {
    const operands = row.domains.map((domain, k) => {
      const type = row.typeOf?.(dtype, k) ?? dtype;
      // Operands of an operation have different layouts.
      const layout = LAYOUT_NAMES[(first + 2 * k) % LAYOUT_NAMES.length];
      return LAYOUTS[layout](device, shape, type, (count) => fill(domain(dtype), count, type, k));
    });
    const result = row.result ?? dtype;
    const value = (!isReal(dtype) && row.integer) || row.value;
    const exact = map(value, ...operands.map(({ array }) => array));
    const array = isReal(result) ? exact : { ...exact, values: exact.values.map((number) => rounded(result, number)) };
    const allowed = row.ulps === 0 || !isReal(result) ? 0 : result === 'f16' ? 0.5 + (row.ulps + 1) * 2 ** -12 : row.ulps;
    return { name: `${row.name} of ${dtype}, ${LAYOUT_NAMES[first]}, ${shape.join(' × ')}`, tensor: row.apply(...operands.map(({ tensor }) => tensor)), array, allowed, because: BECAUSE[result], floor: row.floor };
  });
  return compare(check, device, row.result ?? dtype, cases);
}

async function checkAll(check, row, choices) {
  const device = await tensorDevice(check);
  const worst = new Map();
  for (const [dtype, layout] of choices) {
    const error = await checkOperation(check, device, row, dtype, layout);
    worst.set(dtype, Math.max(worst.get(dtype) ?? 0, error));
  }
  check.note([...worst].filter(([dtype]) => isReal(row.result ?? dtype)).map(([dtype, error]) => `${dtype} ${error.toFixed(2)} ulp`).join(', ') || 'exact');
}

const ALL = LAYOUT_NAMES.map((_, layout) => layout);
/** One layout by turns for each type: all operations together take all of them. */
const some = (row) => row.types.map((dtype, k) => [dtype, (ELEMENTWISE.indexOf(row) + k) % LAYOUT_NAMES.length]);
const each = (row) => row.types.flatMap((dtype) => ALL.map((layout) => [dtype, layout]));

export const group = {
  id: 'tensor-elementwise',
  title: 'Tensors: elementwise operations',
  about: 'Each operation of each element type, on memory in order, transposed, sliced, flipped, broadcast and in windows, against double precision.',
  checks: [
    ...ELEMENTWISE.flatMap((row) => onEach(`${row.name} agrees with its definition`, (check) => checkAll(check, row, some(row)))),
    ...ELEMENTWISE.filter(({ name }) => name === 'add' || name === 'where').flatMap((row) => onEach(`${row.name} agrees in every type and layout`, (check) => checkAll(check, row, each(row)))),
    ...ELEMENTWISE.filter(({ name }) => name !== 'add' && name !== 'where').flatMap((row) => onEach(`${row.name} agrees in every type and layout`, (check) => checkAll(check, row, each(row)), { long: true })),
  ],
};
