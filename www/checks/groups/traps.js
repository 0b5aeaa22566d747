/**
 * Traps of the WebAssembly module, each in a frame of its own, whose module is another one than that of this page. The facade cannot cause a
 * trap, so the module is passed problems that the facade does not build.
 */
import { onCpu, onGpu } from '../define.js';
import { inFreshPageOf } from '../fresh-page.js';

/** The package in its modules, of which one has the running instance. In a bundle that is no entry point. */
const MODULES = new URL('../modules/', import.meta.resolve('residua'));
const LOADING = new URL('module/loading.js', MODULES).href;

/**
 * Makes a trap during an endless solve with calls queued behind it, then starts a new instance. Runs in the frame. Answers with the errors of
 * the calls in flight, of calls between the trap and init(), and of the old object after it, and with what the new instance computes.
 */
async function trapAndRestart({ GpuCompiledFunctions, init, lbfgs, levenbergMarquardt, V }, loading, kind, backend) {
  const { here } = await import(loading);
  await init();
  const instance = here.running();
  const { RawFunctions, RawProblem } = instance.module;
  const zero = Uint32Array.of(0);

  /** Problems that trap during the compile. */
  const problems = {
    // A list of operands that is shorter than that of the operations.
    internal: () => RawProblem.fromTape(1, [[Uint8Array.of(2), new Uint32Array(), zero, null]], [], zero),
    // More instances than a table can hold.
    'out-of-memory': () => {
      const count = 600_000_000;
      const problem = new RawProblem();
      problem.addArray('x', 1, 1, 'euclidean');
      problem.addBlock('r', count, 0, count);
      problem.addTemplate(0, count, undefined, undefined, zero, () => {}, 0, () => {}, Uint8Array.of(2), zero, zero, zero, new Float64Array(), zero);
      return problem;
    },
  };
  const trap = () => RawFunctions.compile(problems[kind](), new Float64Array(1), () => {}, { backend: 'cpu', workload: 1, fewest: 1, requestContext() {} });

  const end = (attempt) => attempt.then(() => 'fulfilled', ({ name, code, message }) => ({ name, code, message }));
  const compile = () => GpuCompiledFunctions.compile([V.W(3), V.W(-1)], ([x, y]) => [x.sub(1), y.sub(2)], { backend });

  // The glue refuses objects of an earlier instance.
  const stale = new RawProblem();

  const params = Array.from({ length: 200 }, (_, i) => V.W(i % 2 === 0 ? -1.2 : 1));
  const rosenbrock = (x) => x.slice(0, -1).map((a, i) => x[i + 1].sub(a.square()).square().mul(100).add(a.sub(1).square()));
  const functions = await GpuCompiledFunctions.compile(params, rosenbrock, { backend });
  let solve;
  await new Promise((begun) => {
    solve = end(lbfgs(functions, { maxIterations: 1e7, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, historySize: 1, onIteration: begun }));
    void solve.then(begun);
  });
  const inFlight = await Promise.all([solve, end(functions.evaluate()), end(functions.evaluateSumWithGradient()), end(compile()), end(instance.wait(trap))]);
  const later = await Promise.all([end(functions.evaluate()), end(lbfgs(functions)), end(compile()), end((async () => V.W(1).sin().data)())]);

  await init();
  const again = await compile();
  const { success, x } = await levenbergMarquardt(again);
  const values = await again.evaluate([5, 5]);
  const old = await end(functions.evaluate());
  const refusal = await end((async () => stale.addBlock('r', 1, 0, 1))());
  functions.dispose();
  again.dispose();
  return { inFlight, later, old, refusal: refusal.message, success, x: [...x], values: [...values] };
}

const SOLVED = { within: 1e-6, because: 'the problem is linear with one parameter in each residual; f32 rounds to 1e-7, and damping leaves as much' };

/** Asserts what follows a trap. `reason` is in the message of every error. */
async function checkTrap(check, kind, reason) {
  const { answer, complaints } = await inFreshPageOf(new URL('index.js', MODULES).href, check, trapAndRestart, LOADING, kind, check.backend);
  const { inFlight, later, old, refusal, success, x, values } = answer;
  for (const [when, errors] of Object.entries({ 'in flight': inFlight, 'after the trap': later, 'of the old object after init()': [old] })) {
    errors.forEach(({ name, code, message }, call) => {
      check.same([name, code], ['ResiduaError', kind], `call ${call} ${when}`);
      check.match(message, reason, `the message of call ${call} ${when}`);
      check.match(message, /init\(\) starts a new instance/, `the message of call ${call} ${when}`);
    });
  }
  check.match(refusal, /stale object from previous Wasm instance/, 'an object of the glue from before the trap is refused');
  check.ok(success, 'a solve on the new instance succeeds');
  check.close(x[0], 1, SOLVED, 'the first parameter');
  check.close(x[1], 2, SOLVED, 'the second parameter');
  check.same(values, [4, 3], 'values on the new instance');
  // The module writes a panic to the console. Nothing else may be there.
  check.equal(complaints.length, 1, `the panic alone is reported: ${complaints.join('\n')}`);
  check.match(complaints[0], /^console\.error: panicked at /);
}

const checkPanic = (check) => checkTrap(check, 'internal', /^residua failed: .*panicked.*This is a bug of residua/s);
const DURING_A_SOLVE = "a trap during a solve rejects the calls in flight and later ones with 'internal', and init() starts a new instance";

export const group = {
  id: 'traps',
  title: 'Traps of the module',
  about: 'A trap makes an instance of the module unusable: calls reject, the page goes on, and init() starts a new instance.',
  checks: [
    ...onGpu(DURING_A_SOLVE, checkPanic, { long: true }), // Each of two devices compiles a solver's kernels.
    ...onCpu(DURING_A_SOLVE, checkPanic),

    ...onCpu("a trap for want of memory rejects the calls in flight and later ones with 'out-of-memory', and init() starts a new instance", (check) =>
      checkTrap(check, 'out-of-memory', /^residua ran out of memory: .*2147483648 bytes or more was requested with \d+ of 4294967296 in use/)),
  ],
};
