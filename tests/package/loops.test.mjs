// Loops in residual functions on the CPU through the package: against the same steps written one after another, closed forms, SciPy, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onCpu } from '../www/residua.mjs';

const { dormandPrince, fit, newton, Problem, rungeKutta4, solve, solveMany, V } = await import('residua');

const refused = (code, message) => (error) => (error.code === code && message.test(error.message)) || assert.fail(`${error.code}: ${error.message}`);
const near = (found, expected, tolerance, what) => {
  assert.equal(found.length, expected.length, what);
  expected.forEach((number, k) => {
    assert.ok(Math.abs(found[k] - number) <= tolerance * Math.max(1, Math.abs(number)), `${what} [${k}]: ${found[k]} is not ${number}`);
  });
};

/** Predators and prey: a x − b x y, d x y − c y. */
const lotkaVolterra = ([a, b, c, d]) => ([x, y]) => {
  const met = x.mul(y);
  return [a.mul(x).sub(b.mul(met)), d.mul(met).sub(c.mul(y))];
};

/** A step of the classical Runge-Kutta method, as a user would write it. */
const step = (f, h) => (state) => {
  const moved = (slope, by) => state.map((x, i) => x.add(slope[i].mul(by)));
  const k1 = f(state);
  const k2 = f(moved(k1, h / 2));
  const k3 = f(moved(k2, h / 2));
  const k4 = f(moved(k3, h));
  return state.map((x, i) => x.add(k1[i].add(k2[i].mul(2)).add(k3[i].mul(2)).add(k4[i]).mul(h / 6)));
};

/** A problem of the four rates and the initial state. */
function rates(values = [0.6, 0.03, 0.9, 0.02], start = [30, 5]) {
  const problem = new Problem();
  return { problem, p: problem.parameters('rates', { dim: 4, values }), s: problem.parameters('start', { dim: 2, values: start }) };
}

/** Values and the Jacobian, one after another. */
const valuesAndJacobian = (problem) =>
  onCpu(problem, async (functions) => {
    const { values, jacobian } = await functions.evaluateJacobian();
    return [...values, ...jacobian.toDense()];
  });

test('a loop has the values and the Jacobian of its steps, with a count for each instance', async () => {
  const counts = [40, 0, 7, 1, 40, 3, 12];
  const looped = rates();
  looped.problem.residuals('populations', {
    inputs: { p: looped.p.shared(), s: looped.s.shared(), n: looped.problem.data(counts) },
    residual: ({ p, s, n }) => V.loop(n, s, step(lotkaVolterra(p), 0.05)),
  });
  const unrolled = rates();
  counts.forEach((count, k) => {
    unrolled.problem.residuals(`populations ${k}`, {
      inputs: { p: unrolled.p.shared(), s: unrolled.s.shared() },
      residual: ({ p, s }) => {
        let state = [...s];
        for (let n = 0; n < count; n++) state = step(lotkaVolterra(p), 0.05)(state);
        return state;
      },
    });
  });
  // Tangents go forward through a loop and backward through the steps: some hundred roundings in another order.
  near(await valuesAndJacobian(looped.problem), await valuesAndJacobian(unrolled.problem), 1e-12, 'loop');
});

test('a trajectory gives the states after its steps, the same for counts in data', async () => {
  const at = [0, 3, 3, 10, 25];
  const [numbers, data, separate] = [rates(), rates(), rates()];
  numbers.problem.residuals('path', {
    inputs: { p: numbers.p.shared(), s: numbers.s.shared() },
    residual: ({ p, s }) => V.trajectory(at, s, step(lotkaVolterra(p), 0.05)).flat(),
  });
  data.problem.residuals('path', {
    inputs: { p: data.p.shared(), s: data.s.shared(), at: data.problem.data(at, at.length) },
    residual: ({ p, s, at: steps }) => V.trajectory(steps, s, step(lotkaVolterra(p), 0.05)).flat(),
  });
  separate.problem.residuals('path', {
    inputs: { p: separate.p.shared(), s: separate.s.shared(), n: separate.problem.data(at) },
    residual: ({ p, s, n }) => V.loop(n, s, step(lotkaVolterra(p), 0.05)),
  });
  const expected = await valuesAndJacobian(separate.problem);
  near(await valuesAndJacobian(numbers.problem), expected, 1e-12, 'numbers');
  near(await valuesAndJacobian(data.problem), expected, 1e-12, 'data');
});

test('states are lists, vectors or records, counters are Values, and loops stand in loops', async () => {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 2, values: [2, 3] });
  problem.residuals('sums', {
    inputs: { x: x.shared(), n: problem.data([4]) },
    residual: ({ x: [a, b], n }) => {
      // Σ k·a for k below 5, as a record.
      const { sum } = V.loop(5, { sum: 0, unused: b }, ({ sum: before, unused }, k) => ({ unused: unused.mul(2), sum: before.add(k.mul(a)) }));
      // Σ over j below 4 of the sum of i·b for i below 3, plus j.
      const [nested] = V.loop(n, [0], ([outer], j) => [V.loop(3, [outer], ([inner], i) => [inner.add(i.mul(b))])[0].add(j)]);
      // b^(2^3): the body of one state.
      const [power] = V.loop(3, [b], ([y]) => [y.square()]);
      // A body that ignores its state, and a state that stays.
      const [constant, kept] = V.loop(n, [a, a], (state) => [b.mul(2), state[1]]);
      return [sum, nested, power, constant, kept];
    },
  });
  await onCpu(problem, async (functions) => {
    const { values, jacobian } = await functions.evaluateJacobian();
    assert.deepEqual([...values], [20, 4 * 9 + 6, 3 ** 8, 6, 2]);
    assert.deepEqual([...jacobian.toDense()], [10, 0, 0, 12, 0, 8 * 3 ** 7, 0, 2, 1, 0]);
  });
});

test('a compile takes no longer for more steps, and the kernel is no longer', async () => {
  const lengths = [];
  for (const count of [10, 100_000]) {
    const { problem, p, s } = rates([0.6, 0.03, 0.9, 0.02].map((rate) => rate * 1e-3));
    problem.residuals('populations', { inputs: { p: p.shared(), s: s.shared() }, residual: ({ p: rate, s: start }) => V.loop(count, start, step(lotkaVolterra(rate), 0.05)) });
    await onCpu(problem, async (functions) => {
      assert.ok((await functions.evaluateJacobian()).values.every(Number.isFinite));
      lengths.push(functions.kernels().map(({ wgsl, text }) => (wgsl ?? text).length));
    });
  }
  assert.deepEqual(lengths[0], lengths[1]);
});

// Pelts of hares and lynxes in thousands, Hudson Bay Company, 1900 to 1920 (E. P. Odum, "Fundamentals of Ecology", 1953).
const HARES = [30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1, 40.3, 57, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7];
const LYNXES = [4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6];
// Gauss-Newton over SciPy 1.17's solve_ivp (DOP853 of the state with its sensitivities, tolerances 1e-13), to steps below 1e-11.
const RATES = [0.48119903121124324, 0.02483176058213221, 0.9260183475767436, 0.027532950637795015];
const START = [34.9142878198467, 3.861866353401834];
const YEARS = Array.from({ length: 20 }, (_, k) => k + 1);

test('rates of predators and prey are those of SciPy to 1e-8', async () => {
  const integrators = {
    rungeKutta4: (f, s) => rungeKutta4(f, s, { to: YEARS, steps: 200 }),
    dormandPrince: (f, s) => dormandPrince(f, s, { to: YEARS, relativeTolerance: 1e-11, absoluteTolerance: 1e-11 }),
  };
  for (const [name, integrate] of Object.entries(integrators)) {
    const { problem, p, s } = rates([0.55, 0.028, 0.84, 0.026], [34, 5]);
    problem.residuals('pelts', {
      inputs: { p: p.shared(), s: s.shared(), seen: problem.data(HARES.flatMap((hares, k) => [hares, LYNXES[k]]), 42) },
      residual: ({ p: rate, s: start, seen }) => [...start, ...integrate(lotkaVolterra(rate), start).flat()].map((x, k) => x.sub(seen[k])),
    });
    const { success, finalCost } = await solve(problem, { backend: 'cpu', parameterTolerance: 1e-13, costTolerance: 0, gradientTolerance: 0 });
    assert.ok(success, name);
    [...p.values(), ...s.values()].forEach((found, k) => {
      const expected = [...RATES, ...START][k];
      assert.ok(Math.abs(found - expected) <= 1e-8 * expected, `${name} ${k}: ${found}, not ${expected}`);
    });
    assert.ok(Math.abs(finalCost - 297.3722803791568) < 1e-9 * finalCost, `${finalCost}`);
  }
});

test('many fits have counts of their own', async () => {
  // x(t) = x₀ e^(−r t), by steps of 0.01.
  const template = new Problem();
  const p = template.parameters('p', { dim: 2, values: [1, 1] });
  template.residuals('decay', {
    inputs: { p: p.shared(), n: template.data([50, 100]), x: template.data([0.5, 0.5]) },
    residual: ({ p: [start, rate], n, x }) => V.loop(n, [start], ([now]) => [now.sub(rate.mul(now).mul(0.01))])[0].sub(x),
  });
  const count = 7;
  const truth = Array.from({ length: count }, (_, k) => [2 + 0.1 * k, 0.5 + 0.1 * k]);
  const counts = truth.map((_, k) => [10 * k, 60 + 20 * k]);
  const x = truth.flatMap(([start, rate], k) => counts[k].map((n) => start * (1 - 0.01 * rate) ** n));
  const batch = { count, data: { decay: { n: counts.flat(), x } } };
  const { x: found } = await solveMany(template, batch, { backend: 'cpu', parameterTolerance: 1e-13 });
  // The steps are those of the model.
  near([...found], truth.flat(), 1e-10, 'decay');
  for (const [values, message] of [
    [counts.flat().with(3, 2.5), /batch\.data\.decay\.n\[3\]: got 2\.5; takes a whole number from 0 to 1,000,000/],
    [counts.flat().with(0, -1), /batch\.data\.decay\.n\[0\]: got -1; takes a whole number/],
  ]) {
    await assert.rejects(solveMany(template, { count, data: { decay: { n: values, x } } }, { backend: 'cpu' }), refused('invalid-argument', message));
  }
});

test('second derivatives and constraints go through loops', async () => {
  // x³ + y² and its Hessian, by products in a loop.
  const problem = new Problem();
  const z = problem.parameters('z', { dim: 2, values: [1.5, -0.7] });
  problem.residuals('energy', {
    inputs: { z: z.shared() },
    residual: ({ z: [x, y] }) => V.loop(3, [1], ([product]) => [product.mul(x)])[0].add(V.loop(2, [1], ([product]) => [product.mul(y)])[0]),
  });
  await onCpu(problem, async (functions) => {
    near([...(await functions.evaluateHessian()).toDense()], [6 * 1.5, 0, 0, 2], 1e-14, 'Hessian');
  });
  const { success } = await newtonOf();
  assert.ok(success);

  // The nearest point to (2, 0) whose fourth power, by a loop, is 1.
  const constrained = new Problem();
  const q = constrained.parameters('q', { dim: 2, values: [0.5, 0.5] });
  constrained.residuals('near', { inputs: { q: q.shared() }, residual: ({ q: [x, y] }) => [x.sub(2), y] });
  constrained.equalities('power', { inputs: { q: q.shared() }, constraint: ({ q: [x] }) => V.loop(4, [1], ([product]) => [product.mul(x)])[0].sub(1) });
  const result = await solve(constrained, { backend: 'cpu' });
  assert.ok(result.success, result.message);
  near([...q.values()], [1, 0], 1e-9, 'constrained');
});

/** Newton's method on Rosenbrock's valley, of which the square is a loop. */
function newtonOf() {
  const problem = new Problem();
  const z = problem.parameters('z', { dim: 2, values: [-1.2, 1] });
  problem.residuals('valley', {
    inputs: { z: z.shared() },
    residual: ({ z: [x, y] }) => {
      const [square] = V.loop(2, [1], ([product]) => [product.mul(x)]);
      return y.sub(square).square().mul(100).add(x.sub(1).square());
    },
  });
  return onCpu(problem, async (functions) => {
    const result = await newton(functions);
    near([...result.x], [1, 1], 1e-6, 'valley');
    return result;
  });
}

/**
 * A network over `states` numbers whose next ones all depend on each other, after `count` steps; a count in data for `isOfData`, steps one after another for
 * `isUnrolled`.
 */
function network(states, count, { isOfData = false, isUnrolled = false } = {}) {
  const problem = new Problem();
  const w = problem.parameters('w', { dim: states * states, values: Array.from({ length: states * states }, (_, k) => 0.4 * Math.sin(1.7 * k)) });
  const s = problem.parameters('s', { dim: states, values: Array.from({ length: states }, (_, k) => Math.cos(k)) });
  const next = (weights) => (state) =>
    state.map((x, i) => x.add(V.sum(state.map((y, j) => weights[i * states + j].mul(y))).tanh().mul(2 / count)));
  problem.residuals('end', {
    inputs: { w: w.shared(), s: s.shared(), n: problem.data([count]) },
    residual: ({ w, s, n }) => {
      let state = [...s];
      if (isUnrolled) for (let step = 0; step < count; step++) state = next([...w])(state);
      else state = V.loop(isOfData ? n : count, state, next([...w]));
      return V.sum(state.map((x, i) => x.sub(0.1 * i).square()));
    },
  });
  return problem;
}

test('gradients of loops over many numbers go backward, and are those of the steps', async () => {
  for (const [states, count, isOfData] of [[12, 1, false], [12, 4, false], [12, 3, true]]) {
    const loops = (functions) => {
      const { wgsl } = functions.kernels().find(({ name }) => name === 'end costGradient');
      return wgsl.match(/loop \{|for \(/g).length;
    };
    const of = (problem) =>
      onCpu(problem, async (functions) => {
        const { value, gradient } = await functions.evaluateCostWithGradient();
        const { jacobian } = await functions.evaluateJacobian();
        return { numbers: [value, ...gradient, ...jacobian.toDense()], loops: loops(functions) };
      });
    const [looped, unrolled] = [await of(network(states, count, { isOfData })), await of(network(states, count, { isUnrolled: true }))];
    // Some hundred roundings in another order.
    near(looped.numbers, unrolled.numbers, 1e-11, `${states} numbers, ${count} steps`);
    assert.ok(looped.loops >= unrolled.loops + 3, `a loop in a loop beside that of the values: ${looped.loops}`);
  }
});

test('a loop of few numbers goes forward, and second derivatives go through loops that go backward', async () => {
  await onCpu(network(3, 100), async (functions) => {
    const { wgsl } = functions.kernels().find(({ name }) => name === 'end costGradient');
    assert.equal(wgsl.match(/loop \{|for \(/g).length, 2, 'values with tangents, and the sum over instances');
  });
  const products = [];
  for (const isUnrolled of [false, true]) {
    await onCpu(network(12, 6, { isUnrolled }), async (functions) => {
      const direction = Float64Array.from({ length: functions.numParams }, (_, k) => Math.cos(0.3 * k));
      products.push([...(await functions.evaluateHessianProduct(undefined, direction))]);
    });
  }
  near(products[0], products[1], 1e-10, 'Hessian times a direction');
});

test('checkGradients agrees with the derivatives of loops', async () => {
  const { problem, p, s } = rates();
  problem.residuals('populations', { inputs: { p: p.shared(), s: s.shared() }, residual: ({ p: rate, s: start }) => dormandPrince(lotkaVolterra(rate), start, { to: 3, relativeTolerance: 1e-10, absoluteTolerance: 1e-10 }) });
  await onCpu(problem, async (functions) => {
    assert.ok((await functions.checkGradients()).maxRelativeError < 1e-6);
  });
});

test('the method of Dormand and Prince keeps its tolerance, and is NaN where its steps do not reach the time', async () => {
  // x″ = −x from (1, 0): cos t and −sin t, there and back.
  const oscillator = (options) => {
    const problem = new Problem();
    const w = problem.parameters('w', { dim: 1, values: [1] });
    problem.residuals('end', {
      inputs: { w: w.shared(), to: problem.data([10, -3, 0, 2.5]) },
      residual: ({ w: frequency, to }) => dormandPrince(({ x, v }) => ({ x: v, v: x.mul(frequency).neg() }), { x: 1, v: 0 }, { to, ...options }).x,
    });
    return onCpu(problem, (functions) => functions.evaluate());
  };
  const expected = [10, -3, 0, 2.5].map(Math.cos);
  near([...(await oscillator({ relativeTolerance: 1e-6, absoluteTolerance: 1e-9 }))], expected, 1e-5, '1e-6');
  near([...(await oscillator({ relativeTolerance: 1e-12, absoluteTolerance: 1e-12 }))], expected, 1e-10, '1e-12');
  const values = [...(await oscillator({ relativeTolerance: 1e-12, absoluteTolerance: 1e-12, maxSteps: 8 }))];
  assert.deepEqual(values.map(Number.isNaN), [true, true, false, true]);
});

test('the error of the method of order 4 falls with the fourth power of its step', async () => {
  const errors = [];
  for (const steps of [20, 40]) {
    const problem = new Problem();
    const rate = problem.parameters('rate', { dim: 1, values: [1] });
    // x′ = r·t·x, which is e^(r t²/2).
    problem.residuals('end', { inputs: { r: rate.shared() }, residual: ({ r }) => rungeKutta4(([x], t) => [r.mul(t).mul(x)], [1], { from: 0.5, to: 2, steps })[0] });
    errors.push(Math.abs((await onCpu(problem, (functions) => functions.evaluate()))[0] - Math.exp((4 - 0.25) / 2)));
  }
  assert.ok(errors[0] / errors[1] > 14 && errors[0] / errors[1] < 18, `${errors}`);
});

test('fit takes a model with a loop', async () => {
  const x = [1, 2, 3, 5, 8];
  const y = x.map((n) => 100 * 0.9 ** n);
  const model = ({ start, rate }) => (n) => V.loop(n, [start], ([now]) => [now.mul(rate)])[0];
  const { parameters } = await fit(model, { x, y }, { initialValues: { start: 80, rate: 0.8 } });
  near([parameters.start, parameters.rate], [100, 0.9], 1e-9, 'fit');
});

test('bad input is refused by name', async () => {
  const make = (residual, data = [3]) => {
    const problem = new Problem();
    const x = problem.parameters('x', { dim: 2, values: [1, 2] });
    problem.residuals('r', { inputs: { x: x.shared(), n: problem.data(data) }, residual });
    return problem;
  };
  const body = (state) => state;
  let leaked;
  const table = [
    [({ x }) => V.loop(-1, x, body), /V\.loop: count: got -1; takes a whole number from 0 to 1,000,000, or a data input/],
    [({ x }) => V.loop(2.5, x, body), /V\.loop: count: got 2\.5; takes/],
    [({ x }) => V.loop(NaN, x, body), /V\.loop: count: got NaN; takes/],
    [({ x }) => V.loop(1e6 + 1, x, body), /V\.loop: count: got 1000001; takes/],
    [({ x }) => V.loop('3', x, body), /V\.loop: count: got "3"; takes/],
    [({ x }) => V.loop(x[0], x, body), /V\.loop: count: got an expression; takes/],
    [({ x, n }) => V.loop(n.add(1), x, body), /V\.loop: count: got an expression; takes/],
    [() => V.loop(2, 7, body), /V\.loop: state: got 7; takes a list or record/],
    [() => V.loop(2, [], body), /V\.loop: state: got an empty list; takes/],
    [() => V.loop(2, new Map(), body), /V\.loop: state: got an empty list; takes/],
    [() => V.loop(2, new Date(), body), /V\.loop: state: got .*Date.*; takes a list or record/],
    [() => V.loop(2, { a: 'x' }, body), /V\.loop: state\.a: got "x"; takes a Value or a number/],
    [({ x }) => V.loop(2, x, 5), /V\.loop: body: got 5; takes a function/],
    [({ x }) => V.loop(2, x, () => undefined), /V\.loop: what body returned: got undefined; takes a list of 2 Values and numbers/],
    [({ x }) => V.loop(2, x, ([a]) => [a]), /V\.loop: what body returned: got a list of 1; takes a list of 2/],
    [({ x }) => V.loop(2, x, ([a, b]) => ({ a, b })), /V\.loop: what body returned: got .*; takes a list of 2/],
    [({ x }) => V.loop(2, { a: x[0] }, ({ a }) => ({ b: a })), /V\.loop: what body returned: got a record of b; takes a record of a/],
    [({ x }) => V.loop(2, { a: x[0] }, ({ a }) => ({ a, b: a })), /V\.loop: what body returned: got a record of a, b; takes a record of a/],
    [({ x }) => V.loop(2, x, ([a]) => [a, NaN]), /V\.loop: what body returned\[1\]: got NaN; takes/],
    [({ x }) => V.loop(2, x, async (state) => state), /V\.loop: what body returned: got .*Promise.*; takes a list of 2/],
    [({ x }) => V.trajectory([3, 2], x, body), /V\.trajectory: at\[1\]: got 2 after 3; takes a number that is at least the one before/],
    [({ x }) => V.trajectory([], x, body), /V\.trajectory: at: got an empty list; takes/],
    [({ x }) => V.trajectory(5, x, body), /V\.trajectory: at: got 5; takes a list/],
    [({ x, n }) => V.trajectory([1, n], x, body), /V\.trajectory: at: got numbers and data inputs/],
    [({ x }) => V.trajectory([1], x, () => null), /V\.trajectory: what body returned: got null; takes a list of 2/],
    [({ x }) => rungeKutta4(5, x, { to: 1, steps: 3 }), /rungeKutta4: derivative: got 5; takes a function/],
    [({ x }) => rungeKutta4(body, x, { to: 1, steps: -3 }), /rungeKutta4: steps: got -3; takes a whole number/],
    [({ x }) => rungeKutta4(body, x, { steps: 3 }), /rungeKutta4: to: got undefined; takes a Value or a number/],
    [({ x }) => rungeKutta4(body, x, { to: [1, NaN], steps: 3 }), /rungeKutta4: to\[1\]: got NaN; takes/],
    [({ x }) => rungeKutta4(body, x, { to: 1, step: 3 }), /rungeKutta4: options.*step/],
    [({ x }) => rungeKutta4(() => [1], x, { to: 1, steps: 3 }), /rungeKutta4: what derivative returned: got a list of 1; takes a list of 2/],
    [({ x }) => dormandPrince(body, x, { to: 1, maxSteps: 1.5 }), /dormandPrince: maxSteps: got 1\.5; takes/],
    [({ x }) => dormandPrince(body, x, { to: 1, relativeTolerance: 0 }), /dormandPrince: relativeTolerance: got 0; takes/],
  ];
  for (const [residual, message] of table) {
    assert.throws(() => make((inputs) => [...residual(inputs), inputs.x[0]].flat()), refused('invalid-argument', message), String(residual));
  }
  const outside = /a Value of a loop's body was used outside of it/;
  const leaks = [
    ({ x }) => (V.loop(2, x, (state) => ((leaked = state[0]), state)), leaked),
    ({ x }) => (V.loop(2, x, (state) => ((leaked = state[0].mul(2)), state)), leaked.add(1)),
    ({ x }) => (V.loop(2, x, (state, k) => ((leaked = k), state)), V.loop(2, x, ([a, b]) => [a.add(leaked), b])[0]),
    ({ x }) => (V.loop(2, x, (state) => ((leaked = state[0]), state)), V.loop(2, [leaked], body)[0]),
  ];
  for (const residual of leaks) assert.throws(() => make(residual), refused('invalid-graph', outside), String(residual));
  make(({ x }) => ((leaked = x[0]), x[0]));
  assert.throws(() => make(({ x }) => V.loop(2, x, ([a]) => [a, leaked])[0]), refused('invalid-argument', /what body returned: got a Value of another function; takes/));
  assert.throws(() => V.loop(2, [V.C(1)], body), refused('invalid-graph', /V\.loop outside of a residual function/));
  assert.throws(() => make(({ x }) => (V.loop(2, x, body)[0].data, x[0])), refused('invalid-argument', /data: got a read/));

  const looped = ({ x, n }) => V.loop(n, x, body)[0];
  for (const [data, message] of [
    [[2, 1.5], /inputs\.n\[1\]: got 1\.5; takes a whole number from 0 to 1,000,000/],
    [[-1], /inputs\.n\[0\]: got -1; takes/],
    [[1e7], /inputs\.n\[0\]: got 10000000; takes/],
  ]) {
    assert.throws(() => make(looped, data), refused('invalid-argument', message));
  }
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 1, values: [1] });
  const block = problem.residuals('r', {
    inputs: { x: x.shared(), at: problem.data([1, 2, 4, 4], 2) },
    residual: ({ x: start, at }) => V.trajectory(at, [start], body).flat(),
  });
  block.setData('at', [0, 0, 5, 9]);
  assert.throws(() => block.setData('at', [0, 0, 5, 4]), refused('invalid-argument', /r\.setData: values\[3\]: got 4; takes at least 5, the step before it, which is r\.setData: values\[2\]/));
  assert.throws(() => block.setData('at', [0, 0.5, 5, 6]), refused('invalid-argument', /values\[1\]: got 0\.5; takes a whole number/));
});

test('times may begin with that of the initial state, fall, repeat, and be dates in milliseconds', async () => {
  const [rate, start] = [0.7, 2];
  const lists = [[0, 1, 2], [1, 0.5, 3], [1, 1, 3], [1e-6, 5], [0, 0, -2, 4]];
  for (const from of [0, 1.7e12]) {
    for (const times of lists) {
      // A microsecond is none beside a date.
      if (from > 0 && times[0] === 1e-6) continue;
      for (const [name, integrate] of Object.entries({ dormandPrince: [dormandPrince, { relativeTolerance: 1e-10, absoluteTolerance: 1e-10 }], rungeKutta4: [rungeKutta4, { steps: 200 }] })) {
        const problem = new Problem();
        const p = problem.parameters('p', { dim: 1, values: [rate] });
        const residual = ({ p: a }) => integrate[0](([x]) => [x.mul(a).neg()], [start], { from, to: times.map((t) => from + t), ...integrate[1] }).map(([x]) => x);
        problem.residuals('decay', { inputs: { p: p.shared() }, residual });
        const expected = times.map((t) => start * Math.exp(-rate * t));
        near([...(await onCpu(problem, (functions) => functions.evaluate()))], expected, 1e-8, `${name} from ${from} at ${times}`);
      }
    }
  }
});

test('no steps reach no other time', async () => {
  const decay = async (steps, to) => {
    const problem = new Problem();
    const p = problem.parameters('p', { dim: 1, values: [0.7] });
    problem.residuals('decay', { inputs: { p: p.shared(), n: problem.data([3, 0]) }, residual: ({ p: a, n }) => rungeKutta4(([x]) => [x.mul(a).neg()], [2], { to, steps: steps ?? n })[0] });
    return onCpu(problem, (functions) => functions.evaluate());
  };
  await assert.rejects(decay(0, 1), refused('invalid-argument', /rungeKutta4: steps: got 0; takes a whole number from 1 on/));
  assert.deepEqual([...(await decay(undefined, 0))], [2, 2]);
  const [reached, left] = await decay(undefined, 1);
  // Three steps of order 4.
  assert.ok(Math.abs(reached - 2 * Math.exp(-0.7)) < 1e-4 && Number.isNaN(left));
});
