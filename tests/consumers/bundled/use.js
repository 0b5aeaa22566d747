/** What a program does with the package, in a page and in a worker: points that lie on y = 2x + 3, and a line through them. */

/** The cost at the start on an engine: ½ (1 + 9 + 25 + 49) = 42, with the gradient −(1·−1 + 5·1 + 7·2, 1 + 3 + 5 + 7) = (−18, −16). */
async function costOn({ GpuCompiledFunctions, Problem }, backend) {
  const { problem } = linear(Problem);
  const functions = await GpuCompiledFunctions.compile(problem, { backend });
  const { value, gradient } = await functions.evaluateCostWithGradient();
  functions.dispose();
  return { backend: functions.backend, value, gradient: [...gradient] };
}

/** The fit, on the CPU: software adapters take long over their first solve. */
async function fit({ Problem, solve }) {
  const { problem, line } = linear(Problem);
  const { success } = await solve(problem, { backend: 'cpu' });
  return { success, line: [...line.values()] };
}

function linear(Problem) {
  const problem = new Problem();
  const line = problem.parameters('line', { dim: 2, values: [0, 0] });
  problem.residuals('points', {
    inputs: { line: line.shared(), x: problem.data([-1, 0, 1, 2]), y: problem.data([1, 3, 5, 7]) },
    residual: ({ line, x, y }) => line.x.mul(x).add(line.y).sub(y),
  });
  return { problem, line };
}

/** All of it with what a module of the package gives. */
export const use = async (residua) => ({ costs: [await costOn(residua, 'gpu'), await costOn(residua, 'cpu')], fit: await fit(residua) });
