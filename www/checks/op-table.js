/**
 * The definition of every operation: its value and its partial derivatives in double precision, by JavaScript's functions and by formulas,
 * and the domains of its operands. At kinks, derivatives are those that residua documents.
 *
 * A row is [name, build, domains, value, partials]; `build` takes V and Values, the others numbers. A domain is an interval; an integer
 * domain has a step of 1, so that ties and equal operands occur.
 */

const whole = (low, high) => [low, high, 1];
const half = (a, b) => (a < b ? [1, 0] : a > b ? [0, 1] : [0.5, 0.5]);
/** The error function: its series of terms of one sign (Abramowitz and Stegun 7.1.6), to some units of the last place of double precision. */
function erf(a) {
  let [term, sum] = [a, 0];
  for (let n = 1; n < 200; n++) {
    sum += term;
    term *= (2 * a * a) / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-a * a) * sum;
}
const sigmoid = (a) => 1 / (1 + Math.exp(-a));
const flags = (name, test) => [name, (V, a, b) => V[name](a, b), [whole(-3, 3), whole(-3, 3)], (a, b) => Number(test(a, b)), () => [0, 0]];

export const OPERATIONS = [
  ['neg', (V, a) => V.neg(a), [[-100, 100]], (a) => -a, () => [-1]],
  ['abs', (V, a) => V.abs(a), [whole(-5, 5)], Math.abs, (a) => [Math.sign(a)]],
  ['sign', (V, a) => V.sign(a), [whole(-5, 5)], Math.sign, () => [0]],
  ['square', (V, a) => V.square(a), [[-100, 100]], (a) => a * a, (a) => [2 * a]],
  ['cube', (V, a) => V.cube(a), [[-20, 20]], (a) => a ** 3, (a) => [3 * a * a]],
  ['sqrt', (V, a) => V.sqrt(a), [[0.001, 1000]], Math.sqrt, (a) => [0.5 / Math.sqrt(a)]],
  ['reciprocal', (V, a) => V.reciprocal(a), [[0.1, 100]], (a) => 1 / a, (a) => [-1 / (a * a)]],
  ['exp', (V, a) => V.exp(a), [[-20, 20]], Math.exp, (a) => [Math.exp(a)]],
  ['log', (V, a) => V.log(a), [[0.001, 1000]], Math.log, (a) => [1 / a]],
  ['sin', (V, a) => V.sin(a), [[-100, 100]], Math.sin, (a) => [Math.cos(a)]],
  ['cos', (V, a) => V.cos(a), [[-100, 100]], Math.cos, (a) => [-Math.sin(a)]],
  ['tan', (V, a) => V.tan(a), [[-1.5, 1.5]], Math.tan, (a) => [1 + Math.tan(a) ** 2]],
  ['asin', (V, a) => V.asin(a), [[-0.99, 0.99]], Math.asin, (a) => [1 / Math.sqrt((1 - a) * (1 + a))]],
  ['acos', (V, a) => V.acos(a), [[-0.99, 0.99]], Math.acos, (a) => [-1 / Math.sqrt((1 - a) * (1 + a))]],
  ['atan', (V, a) => V.atan(a), [[-100, 100]], Math.atan, (a) => [1 / (1 + a * a)]],
  ['sinh', (V, a) => V.sinh(a), [[-10, 10]], Math.sinh, (a) => [Math.cosh(a)]],
  ['cosh', (V, a) => V.cosh(a), [[-10, 10]], Math.cosh, (a) => [Math.sinh(a)]],
  ['tanh', (V, a) => V.tanh(a), [[-10, 10]], Math.tanh, (a) => [1 / Math.cosh(a) ** 2]],
  ['sigmoid', (V, a) => V.sigmoid(a), [[-20, 20]], sigmoid, (a) => [sigmoid(a) * sigmoid(-a)]],
  ['softplus', (V, a) => V.softplus(a), [[-20, 20]], (a) => Math.max(a, 0) + Math.log1p(Math.exp(-Math.abs(a))), (a) => [sigmoid(a)]],
  ['erf', (V, a) => V.erf(a), [[-4, 4]], erf, (a) => [(2 / Math.sqrt(Math.PI)) * Math.exp(-a * a)]],
  ['relu', (V, a) => V.relu(a), [[-100, 100]], (a) => Math.max(a, 0), (a) => [Number(a > 0)]],
  ['floor', (V, a) => V.floor(a), [[-100, 100]], Math.floor, () => [0]],
  ['ceil', (V, a) => V.ceil(a), [[-100, 100]], Math.ceil, () => [0]],
  ['round', (V, a) => V.round(V.mul(a, 0.5)), [whole(-20, 20)], (a) => Math.round(0.5 * a), () => [0]],
  ['stopGradient', (V, a) => V.mul(a, V.stopGradient(a)), [[-100, 100]], (a) => a * a, (a) => [a]],
  ['add', (V, a, b) => V.add(a, b), [[-100, 100], [-100, 100]], (a, b) => a + b, () => [1, 1]],
  ['sub', (V, a, b) => V.sub(a, b), [[-100, 100], [-100, 100]], (a, b) => a - b, () => [1, -1]],
  ['mul', (V, a, b) => V.mul(a, b), [[-100, 100], [-100, 100]], (a, b) => a * b, (a, b) => [b, a]],
  ['div', (V, a, b) => V.div(a, b), [[-100, 100], [0.1, 100]], (a, b) => a / b, (a, b) => [1 / b, -a / (b * b)]],
  ['pow with a whole exponent', (V, a) => V.pow(a, 5), [[-5, 5]], (a) => a ** 5, (a) => [5 * a ** 4]],
  ['pow with a fraction', (V, a) => V.pow(a, -1.5), [[0.01, 10]], (a) => a ** -1.5, (a) => [-1.5 * a ** -2.5]],
  ['powValue', (V, a, b) => V.powValue(a, b), [[0.01, 10], [-3, 3]], (a, b) => a ** b, (a, b) => [b * a ** (b - 1), a ** b * Math.log(a)]],
  ['mod', (V, a, b) => V.mod(a, b), [[-100, 100], [0.5, 10]], (a, b) => a % b, (a, b) => [1, -Math.trunc(a / b)]],
  ['atan2', (V, a, b) => V.atan2(a, b), [[-10, 10], [-10, 10]], Math.atan2, (y, x) => [x / (x * x + y * y), -y / (x * x + y * y)]],
  ['hypot', (V, a, b, c) => V.hypot(a, b, c), [[-10, 10], [-10, 10], [-10, 10]], (...v) => Math.hypot(...v), (...v) => v.map((x) => x / Math.hypot(...v))],
  ['min', (V, a, b) => V.min(a, b), [whole(-3, 3), whole(-3, 3)], Math.min, half],
  ['max', (V, a, b) => V.max(a, b), [whole(-3, 3), whole(-3, 3)], Math.max, (a, b) => half(b, a)],
  ['clamp', (V, a) => V.clamp(a, -1.25, 2.5), [[-5, 5]], (a) => Math.min(Math.max(a, -1.25), 2.5), (a) => [Number(a > -1.25 && a < 2.5)]],
  flags('eq', (a, b) => a === b),
  flags('neq', (a, b) => a !== b),
  flags('lt', (a, b) => a < b),
  flags('lte', (a, b) => a <= b),
  flags('gt', (a, b) => a > b),
  flags('gte', (a, b) => a >= b),
  ['ifThenElse', (V, a, b, c) => V.ifThenElse(a, b, c), [whole(-1, 1), [-100, 100], [-100, 100]], (a, b, c) => (a !== 0 ? b : c), (a) => (a !== 0 ? [0, 1, 0] : [0, 0, 1])],
  ['sum', (V, a, b, c) => V.sum([a, b, c]), [[-10, 10], [-10, 10], [-10, 10]], (a, b, c) => a + b + c, () => [1, 1, 1]],
  ['mean', (V, a, b, c) => V.mean([a, b, c]), [[-10, 10], [-10, 10], [-10, 10]], (a, b, c) => (a + b + c) / 3, () => [1 / 3, 1 / 3, 1 / 3]],
  ['huber', (V, a) => V.huber(a, 2), [[-10, 10]], (a) => (Math.abs(a) <= 2 ? (a * a) / 2 : 2 * (Math.abs(a) - 1)), (a) => [Math.min(Math.max(a, -2), 2)]],
  ['tukey', (V, a) => V.tukey(a), [[-10, 10]], (a) => (4.685 ** 2 / 6) * (1 - Math.max(0, 1 - (a / 4.685) ** 2) ** 3), (a) => [a * Math.max(0, 1 - (a / 4.685) ** 2) ** 2]],
  ['mse', (V, a, b) => V.mse([a, b], [1, 2]), [[-10, 10], [-10, 10]], (a, b) => ((a - 1) ** 2 + (b - 2) ** 2) / 2, (a, b) => [a - 1, b - 2]],
  ['mae', (V, a, b) => V.mae([a, b], [1.5, 2.5]), [whole(-9, 9), whole(-9, 9)], (a, b) => (Math.abs(a - 1.5) + Math.abs(b - 2.5)) / 2, (a, b) => [Math.sign(a - 1.5) / 2, Math.sign(b - 2.5) / 2]],
  ['binaryCrossEntropy', (V, a) => V.binaryCrossEntropy([a], [0.25]), [[0.05, 0.95]], (a) => -(0.25 * Math.log(a) + 0.75 * Math.log(1 - a)), (a) => [-(0.25 / a - 0.75 / (1 - a))]],
  ['categoricalCrossEntropy', (V, a, b) => V.categoricalCrossEntropy([a, b], [0.25, 0.75]), [[-5, 5], [-5, 5]],
    (a, b) => 0.25 * Math.log1p(Math.exp(b - a)) + 0.75 * Math.log1p(Math.exp(a - b)), (a, b) => [sigmoid(a - b) - 0.25, sigmoid(b - a) - 0.75]],
];

/** Singular points: [description, build over Values, operands, value, gradient]. All numbers are exact in single precision. */
export const SINGULAR = [
  ['|x| at 0 has slope 0', (V, x) => V.abs(x), [0], 0, [0]],
  ['√x at 0 has an infinite slope', (V, x) => V.sqrt(x), [0], 0, [Infinity]],
  ['√x below 0 is NaN', (V, x) => V.sqrt(x), [-1], Number.NaN, null],
  ['log 0 is −∞', (V, x) => V.log(x), [0], -Infinity, null],
  ['log below 0 is NaN', (V, x) => V.log(x), [-1], Number.NaN, null],
  ['the length of the zero vector is 0, and so is its gradient', (V, x, y, z) => V.hypot(x, y, z), [0, 0, 0], 0, [0, 0, 0]],
  ['a tie of min splits the gradient', (V, x, y) => V.min(x, y), [2, 2], 2, [0.5, 0.5]],
  ['a tie of max splits the gradient', (V, x, y) => V.max(x, y), [2, 2], 2, [0.5, 0.5]],
  ['what is not selected leaks nothing into the gradient: x > 0 ? √x : 0 at 0', (V, x) => V.ifThenElse(V.gt(x, 0), V.sqrt(x), 0), [0], 0, [0]],
  ['what is not selected leaks no NaN: x > 0 ? log x : x at −1', (V, x) => V.ifThenElse(V.gt(x, 0), V.log(x), x), [-1], -1, [1]],
  ['x² of a negative number', (V, x) => V.pow(x, 2), [-3], 9, [-6]],
  ['halves are rounded upward', (V, x, y) => V.add(V.mul(10, V.round(x)), V.round(y)), [2.5, -2.5], 28, [0, 0]],
  ['a remainder has the sign of the dividend', (V, x) => V.mod(x, 3), [-7], -1, [1]],
  ['a constant has no gradient, a parameter beside it has', (V, x) => V.mul(V.stopGradient(x), x), [3], 9, [3]],
];
