// The built package in Node with its CPU engine, for tests of page code that solves: the pages' import map, and the module read from its
// file.
import { readFileSync } from 'node:fs';
import { folder, mapImports } from './import-map.mjs';

mapImports({ residua: 'index.js' });

const residua = await import('residua');
await residua.init(readFileSync(new URL('wasm/residua_bg.wasm', folder)));

/** Compiles for the CPU, runs `use` and disposes. */
export async function onCpu(problem, use) {
  const functions = await residua.GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  try {
    return await use(functions);
  } finally {
    functions.dispose();
  }
}

/**
 * The largest difference between the Jacobian and central differences of the residuals, relative to the column's largest entry, or to the
 * residual over the parameter where that is larger, because the residual's rounding limits the differences. Each parameter is changed by a
 * fraction of itself, which suits coefficients of very different sizes.
 * @param {readonly number[] | Float64Array} x none of them 0
 */
export async function jacobianError(functions, x) {
  // ∛ε, which balances truncation and rounding.
  const step = 6e-6;
  const { jacobian } = await functions.evaluateJacobian(x);
  const { rows, cols } = jacobian;
  const dense = jacobian.toDense();
  let worst = 0;
  for (let column = 0; column < cols; column++) {
    const moved = (factor) => Float64Array.from(x, (value, k) => (k === column ? value * (1 + factor) : value));
    const [above, below] = [await functions.evaluate(moved(step)), await functions.evaluate(moved(-step))];
    const largest = Array.from({ length: rows }, (_, row) => Math.abs(dense[row * cols + column])).reduce((a, b) => Math.max(a, b));
    for (let row = 0; row < rows; row++) {
      const difference = (above[row] - below[row]) / (2 * step * x[column]);
      const scale = Math.max(largest, Math.abs(above[row] / x[column]));
      worst = Math.max(worst, Math.abs(dense[row * cols + column] - difference) / scale);
    }
  }
  return worst;
}

export { residua };
