/**
 * Both engines in one solve: work that one begins and the other completes, the choice of the linear solver, and a device that is lost on
 * the way.
 */
import { GpuContext, levenbergMarquardt, loss, Problem, solve, V } from 'residua';
import { anywhere, gpuAgainstCpu, onGpu } from '../define.js';
import { decay, within } from './decay.js';

export const group = {
  id: 'engines-together',
  title: 'Solvers and engines',
  about: 'Options of one engine alone, solves that move from the GPU to the CPU, and incompatible settings.',
  checks: [
    ...gpuAgainstCpu('the CPU takes a requested linear solver, and the report names it', async (check) => {
      const { problem, curve } = decay();
      const functions = await check.compile(problem, { backend: 'cpu' });
      const words = { auto: 'dense QR', 'dense-qr': 'dense-qr', 'sparse-cholesky': 'sparse-cholesky', pcg: 'pcg' };
      for (const linearSolver of ['auto', 'dense-qr', 'sparse-cholesky', 'pcg']) {
        curve.set([1, -1]);
        const solved = await levenbergMarquardt(functions, { linearSolver });
        const report = solved.report();
        check.ok(report.includes(words[linearSolver]), `the report has '${words[linearSolver]}': ${report}`);
        check.below(Math.abs(solved.x[0] - 2), within.cpu.within, within.cpu.because, linearSolver);
      }
      // By its size the work is for the GPU.
      curve.set([1, -1]);
      const chosen = await solve(problem, { linearSolver: 'dense-qr', fallbackThreshold: 0 });
      check.ok(chosen.success && chosen.report().includes('dense-qr'), `of a compile for the CPU: ${chosen.report()}`);
      const onGpu = await check.compile(problem, { backend: 'gpu' });
      const tries = [{ linearSolver: 'lu' }, { initialDamping: -1 }, { maxLinearIterations: 0 }, { linearTolerance: 1 }].map((options) => [functions, options]);
      for (const [where, options] of [...tries, [onGpu, { linearSolver: 'dense-qr' }]]) {
        check.match(await check.failureInWords(levenbergMarquardt(where, options)), new RegExp(`^invalid-argument: levenbergMarquardt: ${Object.keys(options)[0]}`));
      }
    }),

    ...anywhere('incompatible bounds, manifolds and constants are refused, and so is a loss without a scale', async (check) => {
      const array = (dim) => new Problem().parameters('q', { dim, values: new Float64Array(dim).fill(1) });
      const tries = [
        () => { const q = array(4); q.setManifold('unit-quaternion'); q.setBounds({ lower: 0 }); },
        () => { const q = array(4); q.setBounds({ lower: 0 }); q.setManifold('unit-quaternion'); },
        () => { const q = array(4); q.setManifold('unit-quaternion'); q.setConstant([0], true, [1, 2]); },
        () => loss.huber(0), () => loss.cauchy(-1), () => loss.tukey(Number.NaN), () => loss.tolerant(1, 0),
      ];
      for (const attempt of tries) check.equal((await check.failure(attempt))?.code, 'invalid-argument', String(attempt));
    }),

    ...onGpu("a solve on a device that is lost rejects with 'device-lost', and a new context solves again", async (check) => {
      const { problem, curve } = decay();
      const context = await GpuContext.create();
      const functions = await check.compile(problem, { context });
      const endless = { costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, maxIterations: 1e6 };
      const lost = await check.failureInWords(levenbergMarquardt(functions, { ...endless, onIteration: ({ iteration }) => void (iteration === 1 && context.device.destroy()) }));
      const second = await check.context();
      curve.set([1, -1]);
      const again = await levenbergMarquardt(await check.compile(problem, { context: second }));
      context.dispose();
      check.match(lost, /^device-lost: /);
      check.ok(again.success || again.termination === 'precision-limit', again.message);
      check.close(again.x[0], 2, within.gpu, again.message);
    }),

    ...gpuAgainstCpu("with backend: 'auto' a solve continues in pairs and then on the CPU where digits are wanting, and the message says so", async (check) => {
      const { problem, curve } = decay();
      const functions = await check.compile(problem, { fallbackThreshold: 0 });
      check.equal(functions.backend, 'gpu', functions.fallbackReason ?? 'the engine');
      const heard = [];
      const tight = { costTolerance: 1e-14, gradientTolerance: 1e-12, parameterTolerance: 1e-14 };
      const solved = await levenbergMarquardt(functions, { ...tight, onIteration: ({ iteration }) => void heard.push(iteration) });
      check.match(solved.message, /^The GPU ended with 'precision-limit' after \d+ iterations in single precision, then with 'precision-limit' after \d+ in double-single precision, and the CPU continued for \d+ in double precision: \d+ iterations in all\. /);
      // The data are exact, so that the cost is rounding alone in any arithmetic but the last.
      check.equal(solved.arithmetic, 'f64', 'the arithmetic of the result');
      const tolerance = { within: 1e-11, because: 'gradientTolerance over the least eigenvalue of JᵀJ, with room for the rounding of sums of forty.' };
      check.close(solved.x[0], 2, tolerance, solved.message);
      check.close(solved.x[1], -1.5, tolerance, solved.message);
      check.same(curve.values(), solved.x);
      check.same(heard, solved.history.map((one) => one.iteration), 'each iteration once');
      check.same(heard, [...heard.keys()], 'in order');
    }),

    ...onGpu('residuals that are long sums are solved on the CPU while device buffers stay valid', async (check) => {
      const params = Array.from({ length: 50 }, (_, i) => V.W(1 + i / 50));
      // Each near 1, their sum 40: 50 residuals of one term and one of fifty.
      const functions = await check.compile(params, (p) => [...p.map((x) => x.sub(1)), V.sum(p.map((x) => V.square(x))).sub(40)]);
      const { x, message } = await levenbergMarquardt(functions, { costTolerance: 0, parameterTolerance: 0 });
      // All are equal by symmetry, and at the minimum (x − 1) + 2x(50x² − 40) = 0.
      const root = (low, high) => { for (let k = 0; k < 60; k++) { const x = (low + high) / 2; if (x - 1 + 2 * x * (50 * x * x - 40) < 0) low = x; else high = x; } return low; };
      for (const value of x) check.close(value, root(0.5, 1), { within: 1e-6, because: 'gradientTolerance 1e-6 over an eigenvalue of 1.' }, message);
    }),
  ],
};
