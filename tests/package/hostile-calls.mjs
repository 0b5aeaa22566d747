/** Random and hostile calls of the public API, from a fixed seed, on the CPU. Prints what did not settle with a result or a ResiduaError. */
import { GpuCompiledFunctions, lbfgs, levenbergMarquardt, loss, Problem, ResiduaError, solve, solveMany, V } from 'residua';

/** Lehmer's generator (Park and Miller, 1988). */
let state = Number(process.argv[2] ?? 20_261);
const random = () => (state = (state * 48_271) % 0x7fffffff) / 0x7fffffff;
const below = (n) => Math.floor(random() * n);
const pick = (list) => list[below(list.length)];

const NUMBERS = [0, -0, 1, -1, 0.5, 1e-300, 1e300, -1e300, 1e-9, 1.7e9, NaN, Infinity, -Infinity, 2 ** 53, 3];
const number = () => (random() < 0.97 ? 4 * random() - 2 : pick(NUMBERS));
const numbers = (count) => Array.from({ length: count }, number);
const hostile = () => pick([undefined, null, NaN, -1, 1.5, 1e12, '', 'x', {}, [], () => 1, Infinity, true, Symbol('s')]);

/** An expression over `values`. */
function expression(values, depth) {
  if (depth === 0 || random() < 0.15) return random() < 0.8 ? pick(values) : V.C(number());
  const [a, b] = [expression(values, depth - 1), expression(values, depth - 1)];
  return pick([
    () => a.add(b), () => a.sub(b), () => a.mul(b), () => a.div(b), () => a.square(), () => a.sin(), () => a.exp(), () => a.sqrt(), () => V.max(a, b),
    () => a.abs(), () => a.neg(), () => a.log(),
  ])();
}

const scalars = (block) => (Array.isArray(block) ? block : typeof block?.[Symbol.iterator] === 'function' ? [...block] : [block]);

function problem() {
  const made = new Problem();
  const arrays = Array.from({ length: 1 + below(3) }, (_, i) => {
    const dim = pick([1, 1, 2, 3, 4, 7]), count = 1 + below(5);
    const options = { dim, values: numbers(dim * count) };
    if (random() < 0.05) options.manifold = pick(['unit-quaternion', 'unit-vector', 'angle', 'euclidean', hostile()]);
    if (random() < 0.05) options[pick(['dim', 'values', 'manifold'])] = hostile();
    return { array: made.parameters(random() < 0.03 ? 'a0' : `a${i}`, options), count };
  });
  for (let i = 1 + below(3); i > 0; i--) {
    const count = 1 + below(4), inputs = {};
    for (let k = 1 + below(2); k > 0; k--) {
      const { array, count: blocks } = pick(arrays);
      inputs[`p${k}`] = random() < 0.3 ? array.shared() : array.at(Array.from({ length: count }, () => (random() < 0.02 ? blocks + 3 : below(blocks))));
    }
    if (random() < 0.7) inputs.d = made.data(numbers(random() < 0.05 ? count + 1 : count));
    const outputs = 1 + below(3);
    const block = made.residuals(`r${i}`, {
      inputs,
      residual: (given) => {
        const values = Object.values(given).flatMap(scalars);
        return random() < 0.02 ? hostile() : Array.from({ length: outputs }, () => expression(values, 3));
      },
      ...(random() < 0.4 ? { loss: pick([loss.huber, loss.cauchy, loss.tukey, loss.softL1])(random() < 0.1 ? hostile() : 1) } : {}),
    });
    if (random() < 0.2) block.setWeight(random() < 0.1 ? hostile() : random());
  }
  return { made, arrays };
}

const solverOptions = () => {
  const options = { maxIterations: below(30), maxTimeMs: 500 };
  if (random() < 0.3) options[pick(['costTolerance', 'gradientTolerance', 'parameterTolerance', 'initialDamping', 'linearSolver', 'historySize', 'maxTimeMs'])] = random() < 0.5 ? random() : hostile();
  if (random() < 0.1) options.onIteration = pick([() => true, () => { throw new Error('mine'); }]);
  if (random() < 0.05) options.signal = AbortSignal.abort();
  return options;
};

const CALLS = [
  async () => solve(problem().made, { backend: 'cpu', ...solverOptions(), ...(random() < 0.4 ? { method: 'lbfgs' } : {}) }),
  async () => solveMany(problem().made, { count: random() < 0.1 ? hostile() : below(20) }, { backend: 'cpu', ...(random() < 0.2 ? { maxIterations: hostile() } : {}) }),
  async () => {
    const { made, arrays } = problem();
    const functions = await GpuCompiledFunctions.compile(made, { backend: 'cpu' });
    const calls = [];
    for (let i = 1 + below(6); i > 0; i--) {
      const x = random() < 0.5 ? undefined : random() < 0.8 ? Float64Array.from(numbers(functions.numParams)) : hostile();
      calls.push(pick([
        () => functions.evaluate(x), () => functions.evaluateSumWithGradient(x), () => functions.evaluateCostWithGradient(x), () => functions.evaluateJacobian(x),
        () => functions.checkGradients(x), () => functions.download(), () => levenbergMarquardt(functions, solverOptions()), () => lbfgs(functions, solverOptions()),
        async () => void (pick(arrays).array.values = numbers(3)),
        async () => void functions.dispose(),
      ])());
    }
    return Promise.all((await Promise.allSettled(calls)).map((end) => (end.status === 'rejected' ? check(end.reason) : end.value))).finally(() => functions.dispose());
  },
];

const counts = {};
const failures = [];
function check(error) {
  const name = error instanceof ResiduaError ? error.code : error?.message === 'mine' ? 'mine' : 'other';
  counts[name] = (counts[name] ?? 0) + 1;
  if (name === 'other' || name === 'internal') failures.push(`${current}: ${error?.stack ?? String(error)}`.slice(0, 600));
}

let current = 0;
process.on('uncaughtException', (error) => failures.push(`${current} uncaught: ${error?.stack}`.slice(0, 600)));
const rounds = Number(process.argv[3] ?? 300);
for (; current < rounds; current++) {
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, 20_000, 'late')));
  const end = await Promise.race([pick(CALLS)().then(() => 'result', (error) => (check(error), 'error')), late]);
  clearTimeout(timer);
  counts[end] = (counts[end] ?? 0) + 1;
  if (end === 'late') failures.push(`${current}: pending`);
}
console.log(JSON.stringify({ counts, failures: failures.slice(0, 20) }));
