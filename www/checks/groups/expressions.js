/** Every operation on both engines: values and derivatives compared with references in double precision. */
import { Problem, V } from 'residua';
import { relativeDifference } from '../assertions.js';
import { onEach } from '../define.js';
import { OPERATIONS, SINGULAR } from '../op-table.js';

/** The number of instances of an operation, more than a workgroup. */
const COUNT = 200;

const LIMITS = {
  gpu: { values: 1e-5, derivatives: 1e-4, because: 'the package’s promise for single precision, relative to the largest entry' },
  cpu: { values: 1e-13, derivatives: 1e-12, because: 'some dozens of roundings of double precision, 1.1e-16 each, relative to the largest entry' },
};

/**
 * Numbers that fill a domain evenly, the same in every run: multiples of an irrational number, one for each operand, rounded to single
 * precision.
 */
const IRRATIONAL = [0.618033988749895, 0.754877666246693, 0.569840290998053];
function operands(domains) {
  return domains.map(([low, high, step], k) => Float64Array.from({ length: COUNT }, (_, i) => {
    const fraction = ((i + 0.5) * IRRATIONAL[k]) % 1;
    return step === undefined ? Math.fround(low + (high - low) * fraction) : low + Math.floor(fraction * (high - low + 1));
  }));
}

/** One residual for each instance, over one parameter for each operand. */
function problemOf(build, columns) {
  const problem = new Problem();
  const count = columns[0].length;
  const inputs = Object.fromEntries(columns.map((values, k) => [`operand ${k}`, problem.parameters(`p${k}`, { dim: 1, values }).at(Uint32Array.from({ length: count }, (_, i) => i))]));
  problem.residuals('operation', { inputs, residual: (given) => build(V, ...columns.map((_, k) => given[`operand ${k}`])) });
  return problem;
}

/** ∂rᵢ/∂(operand k of instance i), 0 where the pattern has no entry. */
function partialsOf({ rowOffsets, colIndices, values }, columns) {
  const count = columns[0].length;
  const partials = new Float64Array(count * columns.length);
  for (let row = 0; row < count; row++) {
    for (let e = rowOffsets[row]; e < rowOffsets[row + 1]; e++) {
      const [operand, instance] = [Math.floor(colIndices[e] / count), colIndices[e] % count];
      if (instance !== row) throw new Error(`residual ${row} has a partial by operand ${operand} of instance ${instance}`);
      partials[row * columns.length + operand] = values[e];
    }
  }
  return partials;
}

async function checkOperation(check, [name, build, domains, value, partials]) {
  const columns = operands(domains);
  const functions = await check.compile(problemOf(build, columns));
  const { values, jacobian } = await functions.evaluateJacobian();
  const at = (i) => columns.map((column) => column[i]);
  const expected = Float64Array.from({ length: COUNT }, (_, i) => value(...at(i)));
  const derivatives = Float64Array.from({ length: COUNT * columns.length }, (_, e) => partials(...at(Math.floor(e / columns.length)))[e % columns.length]);
  const { because, ...limits } = LIMITS[check.backend];
  // Values with and without derivatives are computed by different kernels, in which a device's compiler may fuse operations differently.
  const figures = [
    ['values', relativeDifference(values, expected)], ['values', relativeDifference(await functions.evaluate(), expected)],
    ['derivatives', relativeDifference(partialsOf(jacobian, columns), derivatives)],
  ];
  check.note(figures.map(([what, figure]) => `${what} ${figure.toExponential(1)}`).join(', '));
  for (const [what, figure] of figures) check.below(figure, limits[what], because, `${what} of ${name}`);
}

export const group = {
  id: 'expressions',
  title: 'Operations and their derivatives',
  about: 'Each operation at 200 points of its domain: value and partial derivatives against formulas in double precision.',
  checks: [
    ...OPERATIONS.flatMap((operation) => onEach(`${operation[0]}: values and derivatives agree with its definition`, (check) => checkOperation(check, operation))),
    ...SINGULAR.flatMap(([name, build, point, value, gradient]) =>
      onEach(name, async (check) => {
        const columns = point.map((number) => [number]);
        const functions = await check.compile(problemOf(build, columns));
        const { values, jacobian } = await functions.evaluateJacobian();
        check.equal(values[0], value, 'the value');
        // Zeros may have either sign.
        if (gradient !== null) check.same([...partialsOf(jacobian, columns)].map((partial) => partial + 0), gradient, 'the gradient');
      })),
  ],
};
