/**
 * Facts about linear algebra of tensors, which hold on both engines: factors against the matrices that they are of, closed forms, figures of NumPy, derivatives.
 *
 * Errors are in units of 2⁻²⁴ times the size times the largest number, as LAPACK states those of its routines; a factor of 10 is for constants of the algorithms and
 * of sums in single precision.
 */
const UNIT = 10 * 2 ** -24;

/** A matrix in double precision. */
class Matrix {
  constructor(rows, columns, at) {
    [this.rows, this.columns] = [rows, columns];
    this.data = typeof at === 'function' ? Float64Array.from({ length: rows * columns }, (_, k) => at(Math.floor(k / columns), k % columns)) : Float64Array.from(at);
  }
  at(row, column) { return this.data[row * this.columns + column]; }
  get t() { return new Matrix(this.columns, this.rows, (row, column) => this.at(column, row)); }
  get most() { return this.data.reduce((most, x) => Math.max(most, Math.abs(x)), 0); }
  times(other) {
    return new Matrix(this.rows, other.columns, (row, column) => {
      let sum = 0;
      for (let k = 0; k < this.columns; k++) sum += this.at(row, k) * other.at(k, column);
      return sum;
    });
  }
  map(of) { return new Matrix(this.rows, this.columns, (row, column) => of(this.at(row, column), row, column)); }
}

const identity = (n) => new Matrix(n, n, (row, column) => Number(row === column));

/** Numbers from −1 to 1 that are f32. */
export function noise(count, seed) {
  let state = (seed * 2654435761 + 12345) >>> 0;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

/** The matrices of a batch. */
const matricesOf = (data, rows, columns) => Array.from({ length: rows * columns === 0 ? 0 : data.length / (rows * columns) }, (_, k) => new Matrix(rows, columns, data.subarray(k * rows * columns, (k + 1) * rows * columns)));

/** A test of facts: `ok` takes whether one holds and what it says. */
function facts(ok) {
  const near = (found, expected, name, factor = 1) => {
    const [a, b] = [found.data ?? found, expected.data ?? expected];
    const size = Math.max(expected.rows ?? 1, expected.columns ?? 1);
    const most = b.reduce((largest, x) => Math.max(largest, Math.abs(x)), 0);
    const bound = UNIT * size * most * factor;
    ok(a.length === b.length, `${name}: ${a.length} numbers, not ${b.length}`);
    let worst = 0;
    for (let k = 0; k < b.length; k++) worst = Math.max(worst, Math.abs(a[k] - b[k]), Number.isNaN(a[k]) ? Infinity : 0);
    ok(worst <= bound, `${name} is off by ${worst}, at most ${bound}`);
  };
  const orthonormal = (q, name) => near(q.t.times(q), identity(q.columns), name, Math.max(1, q.rows / Math.max(1, q.columns)));
  return { near, orthonormal };
}

/** Symmetric matrices with eigenvalues from 1 on. */
function positive(batch, n, seed) {
  const all = matricesOf(noise(batch * n * n, seed), n, n).map((x) => x.times(x.t).map((value, row, column) => value + Number(row === column)));
  return Float32Array.from(all.flatMap(({ data }) => [...data]));
}

/** Batches of square matrices, [batch, n]: of a thread, of a few threads, of a workgroup, of one that is divided. */
const SQUARES = [[1, 1], [300, 2], [40, 6], [3, 17], [2, 32], [1, 70]];
/** [batch, rows, columns] */
const SHAPES = [[1, 1, 1], [50, 3, 2], [50, 2, 3], [4, 12, 5], [3, 17, 17], [1, 40, 33], [1, 90, 20]];

async function squares(T, device, ok) {
  const { near, orthonormal } = facts(ok);
  for (const [batch, n] of SQUARES) {
    const name = `${batch} of ${n} × ${n}`;
    const [positives, numbers, right] = [positive(batch, n, n), noise(batch * n * n, n + 1), noise(batch * n * 2, n + 2)];
    const [p, a, b] = [device.tensor(positives, [batch, n, n]), device.tensor(numbers, [batch, n, n]), device.tensor(right, [batch, n, 2])];
    const factors = T.linalg.lu(a);
    const { eigenvalues, eigenvectors } = T.linalg.eigh(p);
    const { sign, logAbsDet } = T.linalg.slogdet(a);
    const read = await device.read(T.linalg.cholesky(p), T.linalg.solve(p, b, { assume: 'positive' }), factors.permutation, factors.lower, factors.upper, T.linalg.solve(a, b), T.linalg.inverse(p), T.linalg.determinant(a), sign, logAbsDet, eigenvalues, eigenvectors);
    const [lowers, ofPositive, permutation, lower, upper, solutions, inverses, determinants, signs, logs, values, vectors] = read;
    const [ps, as, bs, ls, los, us, xs, zs, is, vs] = [positives, numbers, right, lowers, lower, upper, solutions, ofPositive, inverses, vectors].map((data, k) => matricesOf(data, n, [2, 6, 7].includes(k) ? 2 : n));
    for (let k = 0; k < batch; k++) {
      near(ls[k].times(ls[k].t), ps[k], `L Lᵀ of ${name}`);
      near(los[k].times(us[k]), new Matrix(n, n, (row, column) => as[k].at(permutation[k * n + row], column)), `L U of ${name}`);
      // Residuals are beside the products of the elements (Higham: "Accuracy and Stability of Numerical Algorithms", 9.2).
      for (const [matrix, x, what] of [[as[k], xs[k], 'solve'], [ps[k], zs[k], 'solve of positive']]) {
        const residual = matrix.times(x).map((value, row, column) => value - bs[k].at(row, column));
        ok(residual.most <= UNIT * n * (n * matrix.most * x.most + bs[k].most), `the residual of ${what} of ${name} is ${residual.most}`);
      }
      const condition = values[k * n + n - 1] / values[k * n];
      near(ps[k].times(is[k]), identity(n), `A A⁻¹ of ${name}`, condition);
      const scaled = vs[k].map((value, _, column) => value * values[k * n + column]);
      near(scaled.times(vs[k].t), ps[k], `V Λ Vᵀ of ${name}`);
      orthonormal(vs[k], `eigenvectors of ${name}`);
      if (n < 20) ok(Math.abs(signs[k] * Math.exp(logs[k]) / determinants[k] - 1) < 1e-4, `the determinant of ${name} is ${determinants[k]}, by its logarithm ${signs[k] * Math.exp(logs[k])}`);
    }
    for (const each of [p, a, b]) each.dispose();
  }
}

async function rectangles(T, device, ok) {
  const { near, orthonormal } = facts(ok);
  for (const [batch, rows, columns] of SHAPES) {
    const name = `${batch} of ${rows} × ${columns}`;
    const numbers = noise(batch * rows * columns, rows + columns);
    const a = device.tensor(numbers, [batch, rows, columns]);
    const [reduced, complete] = [T.linalg.qr(a), T.linalg.qr(a, { mode: 'complete' })];
    const [part, full] = [T.linalg.svd(a, { fullMatrices: false }), T.linalg.svd(a)];
    const factors = T.linalg.lu(a);
    const all = [reduced.q, reduced.r, complete.q, complete.r, part.u, part.s, part.vh, full.u, full.s, full.vh, T.linalg.pinv(a), factors.lower, factors.upper];
    const read = await device.read(...all, factors.permutation);
    const at = (which, k) => matricesOf(read[which], ...all[which].sizes.slice(1))[k];
    const depth = Math.min(rows, columns);
    matricesOf(numbers, rows, columns).forEach((matrix, k) => {
      for (const [q, r] of [[0, 1], [2, 3]]) {
        near(at(q, k).times(at(r, k)), matrix, `Q R of ${name}`);
        orthonormal(at(q, k), `Q of ${name}`);
        ok(at(r, k).data.every((x, place) => x === 0 || place % columns >= Math.floor(place / columns)), `R of ${name} is upper triangular`);
      }
      for (const first of [4, 7]) {
        const s = read[first + 1].subarray(k * depth, (k + 1) * depth);
        ok(s.every((value, place) => value >= 0 && (place === 0 || value <= s[place - 1])), `the singular values of ${name} descend`);
        const sigma = new Matrix(at(first, k).columns, at(first + 2, k).rows, (row, column) => (row === column ? s[row] : 0));
        near(at(first, k).times(sigma).times(at(first + 2, k)), matrix, `U Σ Vᵀ of ${name}`);
        orthonormal(at(first, k), `U of ${name}`);
        orthonormal(at(first + 2, k).t, `V of ${name}`);
      }
      const s = read[5].subarray(k * depth, (k + 1) * depth);
      near(matrix.times(at(10, k)).times(matrix), matrix, `A A⁺ A of ${name}`, s[0] / s[depth - 1]);
      near(at(11, k).times(at(12, k)), new Matrix(rows, columns, (row, column) => matrix.at(read[13][k * rows + row], column)), `L U of ${name}`);
    });
    a.dispose();
  }
}

/** Symmetric matrices whose eigenvalues are random, fall by 14 powers of 10, are few, and are those of parts that have nothing to do with each other. */
function symmetric(n) {
  const x = new Matrix(n, n, noise(n * n, n));
  const sum = x.map((value, row, column) => value + x.at(column, row));
  // Reflections by unit vectors make an orthogonal matrix.
  let basis = identity(n);
  for (let k = 0; k < 3; k++) {
    const v = new Matrix(n, 1, noise(n, n + k + 1));
    const square = v.t.times(v).at(0, 0);
    basis = basis.times(identity(n).map((value, row, column) => value - (2 * v.at(row, 0) * v.at(column, 0)) / square));
  }
  const ofValues = (value) => basis.map((b, _, column) => b * value(column)).times(basis.t);
  const all = [sum, ofValues((k) => 10 ** ((-14 * k) / n)), ofValues((k) => [1, 1, -2, 0][k % 4]), sum.map((value, row, column) => (row % 3 === column % 3 ? value : 0))];
  return all.map((of) => of.map(Math.fround));
}

/** Factors of matrices that no workgroup has the memory for: rotations go in rounds over blocks of columns, reflections over panels. */
async function blocks(T, device, ok) {
  const { near, orthonormal } = facts(ok);
  for (const [n, rows] of [[45, 45], [64, 70], [100, 130]]) {
    const all = symmetric(n);
    // A batch, of which the last matrix is not finite.
    const bad = all[0].map((value, row, column) => (row + column === 9 ? NaN : value));
    const squares = device.tensor(Float32Array.from([...all, bad].flatMap(({ data }) => [...data])), [all.length + 1, n, n]);
    const tall = all.map((square) => new Matrix(rows, n, (row, column) => square.at(row % n, column)));
    const rectangles = device.tensor(Float32Array.from(tall.flatMap(({ data }) => [...data])), [all.length, rows, n]);
    const { eigenvalues, eigenvectors } = T.linalg.eigh(squares);
    const { q, r } = T.linalg.qr(rectangles);
    const { u, s, vh } = T.linalg.svd(rectangles, { fullMatrices: false });
    const read = await device.read(eigenvalues, eigenvectors, q, r, u, s, vh);
    const [values, , , , , singular] = read;
    const at = (which, k, height) => new Matrix(height, n, read[which].subarray(k * height * n, (k + 1) * height * n));
    ok(values.subarray(all.length * n).every(Number.isNaN) && read[1].subarray(all.length * n * n).every(Number.isNaN), `a matrix of ${n} with NaN has factors of NaN`);
    all.forEach((a, k) => {
      const name = `matrix ${k} of ${rows} × ${n}`;
      const [own, vectors] = [values.subarray(k * n, (k + 1) * n), at(1, k, n)];
      ok(own.every((value, place) => place === 0 || value >= own[place - 1]), `the eigenvalues of ${name} ascend`);
      orthonormal(vectors, `eigenvectors of ${name}`);
      near(vectors.map((value, _, column) => value * own[column]).times(vectors.t), a, `V Λ Vᵀ of ${name}`);
      near(at(2, k, rows).times(at(3, k, n)), tall[k], `Q R of ${name}`);
      orthonormal(at(2, k, rows), `Q of ${name}`);
      const [sigma, left, right] = [singular.subarray(k * n, (k + 1) * n), at(4, k, rows), at(6, k, n)];
      ok(sigma.every((value, place) => value >= 0 && (place === 0 || value <= sigma[place - 1])), `the singular values of ${name} descend`);
      near(left.map((value, _, column) => value * sigma[column]).times(right), tall[k], `U Σ Vᵀ of ${name}`);
      orthonormal(left, `U of ${name}`);
      orthonormal(right.t, `V of ${name}`);
    });
    for (const each of [squares, rectangles]) each.dispose();
  }
}

/**
 * Figures by NumPy 2.4.6 (numpy.linalg) and SciPy 1.17.1 (scipy.linalg.expm) in double precision.
 */
const A = [[4, -2, 1, 3], [1, 5, -1, 2], [0.5, 2, 6, -1], [-3, 1, 2, 7]];
const S = [[4, 1, -2, 2], [1, 2, 0, 1], [-2, 0, 3, -2], [2, 1, -2, -1]];
export const FIGURES = {
  determinant: [1425.0],
  inverse: [[0.1621052632, 0.07649122807, 0.01543859649, -0.08912280702], [-0.05789473684, 0.1631578947, 0.04210526316, -0.01578947368], [0.01789473684, -0.05649122807, 0.1445614035, 0.02912280702], [0.07263157895, 0.02561403509, -0.04070175439, 0.09859649123]],
  solve: [0.004912280702, 0.3315789474, 0.4550877193, 0.3961403509],
  eigenvalues: [-2.197516977, 1.084364464, 2.268531406, 6.844621107],
  singularValues: [8.435212225, 6.327507153, 5.590169944, 4.775965655],
  lstsq: [-0.07262247839, 0.5187319885],
  residuals: [20.33602305],
  singularValuesOfTwo: [6.037449003, 4.878443352],
  pinv: [[0.1452449568, 0.06801152738, 0.03112391931, -0.111815562], [-0.03746397695, 0.1570605187, 0.06340057637, 0.01296829971]],
  power: [[-3791.5, 7939.0, 8522.25, 3187.25], [-7907.5, 9211.0, 3876.75, 12239.75], [3051.875, 4948.75, 6147.5, 4740.0], [-5409.5, 16409.0, 4431.5, 8427.5]],
  negativePower: [[0.01565281625, 0.02172483841, 0.01158264081, -0.02399261311], [-0.01922437673, 0.01940904894, 0.01270544783, 0.002253000923], [0.01087349954, -0.01526869806, 0.01761034164, 0.006378578024], [0.01672391505, 0.01455955679, -0.007697137581, 0.001658356417]],
  expm: [[-129.9710776, 500.7889969, 380.0079883, 370.3745184], [-424.156323, 784.3749575, 206.6961059, 755.9400855], [-11.87537681, 473.8350569, 435.3366555, 403.209904], [-418.9226111, 995.3455017, 282.6868318, 817.1501983]],
  expmOfS: [[426626734.0, 131398084.0, -331149958.0, 209946591.5], [131398084.0, 40470193.15, -101991433.3, 64662048.82], [-331149958.0, -101991433.3, 257040888.8, -162961741.0], [209946591.5, 64662048.82, -162961741.0, 103316489.9]],
  hilbert: [1.618899873, 0.242360871, 0.01632151957, 0.0006157578151, 1.256750896e-05, 1.119249421e-07],
};

async function figures(T, device, ok) {
  const { near } = facts(ok);
  const [a, s] = [device.tensor(A), device.tensor(S)];
  const tall = a.slice(null, [0, 2]);
  const b = device.tensor([1, 2, 3, 4]);
  const { x, residuals, rank, singularValues } = T.linalg.lstsq(tall, b);
  const found = {
    determinant: T.linalg.determinant(a), inverse: T.linalg.inverse(a), solve: T.linalg.solve(a, b), eigenvalues: T.linalg.eigh(s).eigenvalues, singularValues: T.linalg.svd(a).s,
    lstsq: x, residuals, singularValuesOfTwo: singularValues, pinv: T.linalg.pinv(tall), power: T.linalg.matrixPower(a, 5), negativePower: T.linalg.matrixPower(a, -2), expm: T.linalg.expm(a), expmOfS: T.linalg.expm(s.mul(3)),
  };
  const read = await device.read(...Object.values(found), rank);
  Object.keys(found).forEach((name, k) => {
    const expected = FIGURES[name].flat(2);
    // Conditions of these matrices are below 30, and the squarings of the exponentials at most 4.
    near(read[k], new Matrix(1, expected.length, expected), name, name.startsWith('expm') ? 16 : 4);
  });
  ok(read.at(-1)[0] === 2, `the rank is ${read.at(-1)[0]}`);
}

async function closedForms(T, device, ok) {
  const { near } = facts(ok);
  const { linalg } = T;
  const angle = 2.5;
  const turn = device.tensor([[0, -angle], [angle, 0]]);
  const nilpotent = device.tensor([[0, 1, 2], [0, 0, 3], [0, 0, 0]]);
  const ofDifferences = device.tensor(Array.from({ length: 12 }, (_, i) => Array.from({ length: 12 }, (_, j) => (i === j ? 2 : Math.abs(i - j) === 1 ? -1 : 0))));
  const read = await device.read(
    linalg.expm(turn), linalg.expm(nilpotent), linalg.expm(T.zeros([3, 3])), linalg.eigh(ofDifferences).eigenvalues, linalg.svd(ofDifferences).s, linalg.determinant(ofDifferences),
    linalg.matrixPower(nilpotent, 0), linalg.matrixPower(nilpotent, 3), linalg.determinant(device.tensor([[0, 1, 0], [0, 0, 1], [1, 0, 0]])),
    linalg.triangularSolve(device.tensor([[2, 1], [9, 4]]), device.tensor([4, 8])), linalg.triangularSolve(device.tensor([[2, 9], [1, 4]]), device.tensor([4, 8]), { lower: true }),
    linalg.triangularSolve(device.tensor([[2, 1], [9, 4]]), device.tensor([4, 8]), { transpose: true }), linalg.triangularSolve(device.tensor([[2, 9], [1, 4]]), device.tensor([4, 8]), { lower: true, unitDiagonal: true }),
    linalg.cholesky(device.tensor([[4, 2], [2, 5]]), { upper: true }), linalg.expm(device.tensor([[-100, 0], [0, 1]])),
  );
  const values = Array.from({ length: 12 }, (_, k) => 2 - 2 * Math.cos((Math.PI * (k + 1)) / 13));
  const expected = [
    [Math.cos(angle), -Math.sin(angle), Math.sin(angle), Math.cos(angle)], [1, 1, 3.5, 0, 1, 3, 0, 0, 1], [1, 0, 0, 0, 1, 0, 0, 0, 1], values, values.toReversed(), [13],
    [1, 0, 0, 0, 1, 0, 0, 0, 1], Array(9).fill(0), [1], [1, 2], [2, 1.5], [2, 1.5], [4, 4], [2, 1, 0, 2], [Math.exp(-100), 0, 0, Math.E],
  ];
  expected.forEach((numbers, k) => near(read[k], new Matrix(4, numbers.length, numbers), `closed form ${k}`, k === 14 ? 128 : 4));
}

/** Singular and indefinite matrices, NaN, empty ones, and conditions that are the largest of single precision. */
async function edges(T, device, ok) {
  const { near } = facts(ok);
  const { linalg } = T;
  const hilbert = new Matrix(6, 6, (row, column) => Math.fround(1 / (row + column + 1)));
  const h = device.tensor(Float32Array.from(hilbert.data), [6, 6]);
  const mixed = device.tensor([[[2, 1], [1, 2]], [[1, 2], [2, 1]], [[NaN, 0], [0, 1]], [[1, 0], [0, 0]]]);
  const singular = device.tensor([[1, 2], [2, 4]]);
  const one = device.tensor([[1, 1], [1, 1], [1, 1]]);
  const { u, s, vh } = linalg.svd(one, { fullMatrices: false });
  const { q, r } = linalg.qr(T.zeros([4, 2]));
  const least = linalg.lstsq(one, device.tensor([1, 2, 3]));
  const read = await device.read(linalg.cholesky(mixed), linalg.eigh(mixed).eigenvalues, linalg.svd(mixed).s, linalg.solve(h, T.ones([6])), linalg.determinant(singular), linalg.slogdet(singular).sign, linalg.slogdet(singular).logAbsDet, linalg.inverse(singular), u, s, vh, q, r, least.x, least.rank, linalg.svd(h).s);
  const [lower, values, singulars, solution, determinant, sign, log, inverse, left, ones, right, ofZero, upper, x, rank, ofHilbert] = read;
  ok([0, 1, 2, 3].every((k) => lower.subarray(4 * k, 4 * k + 4).every((number) => Number.isNaN(number) === k > 0)), `Cholesky factors of a batch: ${lower}`);
  for (const of of [values, singulars]) ok([0, 1, 2, 3].every((k) => of.subarray(2 * k, 2 * k + 2).every((number) => Number.isNaN(number) === (k === 2))), `values of a batch: ${of}`);
  const residual = hilbert.times(new Matrix(6, 1, solution)).map((value) => value - 1);
  ok(residual.most <= UNIT * 6 * (6 * Math.max(...solution.map(Math.abs)) + 1), `the residual of Hilbert's matrix is ${residual.most}`);
  ok(determinant[0] === 0 && sign[0] === 0 && log[0] === -Infinity && !inverse.some(Number.isFinite), `a singular matrix: ${determinant}, ${sign}, ${log}, ${inverse}`);
  const [us, vs] = [new Matrix(3, 2, left), new Matrix(2, 2, right)];
  near(us.t.times(us), identity(2), 'left vectors of a matrix of rank 1', 3);
  near(ones, [Math.sqrt(6), 0], 'singular values of a matrix of rank 1');
  near(us.map((value, _, column) => value * ones[column]).times(vs), new Matrix(3, 2, () => 1), 'a matrix of rank 1');
  const qs = new Matrix(4, 2, ofZero);
  near(qs.t.times(qs), identity(2), 'Q of zeros');
  ok(upper.every((number) => number === 0), `R of zeros: ${upper}`);
  near(x, [1, 1], 'the shortest of many solutions', 10);
  ok(rank[0] === 1, `the rank is ${rank}`);
  // By NumPy 2.4.6 in double precision, of the matrix in single.
  near(ofHilbert, FIGURES.hilbert, 'singular values of Hilbert’s matrix', 6);

  const [zero, none] = [T.zeros([0, 0]), T.zeros([2, 3, 0])];
  const sizes = [[linalg.cholesky(zero), [0, 0]], [linalg.solve(zero, T.zeros([0, 3])), [0, 3]], [linalg.inverse(zero), [0, 0]], [linalg.eigh(zero).eigenvalues, [0]], [linalg.eigh(zero).eigenvectors, [0, 0]], [linalg.svd(none, { fullMatrices: false }).u, [2, 3, 0]], [linalg.svd(none).s, [2, 0]], [linalg.qr(none).q, [2, 3, 0]], [linalg.pinv(none), [2, 0, 3]], [linalg.lu(none).permutation, [2, 3]], [linalg.expm(zero), [0, 0]], [linalg.cholesky(T.zeros([0, 2, 2])), [0, 2, 2]]];
  const empty = await device.read(...sizes.map(([tensor]) => tensor), linalg.determinant(zero), linalg.svd(none).u);
  sizes.forEach(([tensor, shape], k) => {
    ok(String(tensor.sizes) === String(shape), `the shape of empty result ${k} is ${tensor.sizes}`);
    ok(empty[k].length === shape.reduce((product, size) => product * size, 1), `${empty[k].length} elements of empty result ${k}`);
  });
  ok(empty.at(-2)[0] === 1, `the determinant of nothing is ${empty.at(-2)[0]}`);
  [0, 1].forEach((k) => near(new Matrix(3, 3, empty.at(-1).subarray(9 * k, 9 * k + 9)).map(Math.abs), identity(3), 'left vectors of nothing'));
}

/** Derivatives by their closed forms: of w ∘ f(A) summed. */
async function derivatives(T, device, ok) {
  const { near } = facts(ok);
  const { linalg } = T;
  const [batch, n] = [3, 5];
  const numbers = positive(batch, n, 9).map((x, k) => x + noise(batch * n * n, 4)[k]);
  const [a, b, w] = [device.tensor(numbers, [batch, n, n]), device.tensor(noise(batch * n * 2, 5), [batch, n, 2]), device.tensor(noise(batch * n * n, 6), [batch, n, n])];
  const [inverse, x] = [linalg.inverse(a), linalg.solve(a, b)];
  const weights = w.slice(null, null, [0, 2]);
  const [ofA, ofB] = T.grad(x.mul(weights).sum(), [a, b]);
  const t = (tensor) => tensor.transpose(1, 2);
  const symmetric = a.add(t(a));
  const pairs = {
    determinant: [T.grad(linalg.determinant(a).sum(), [a])[0], t(inverse).mul(linalg.determinant(a).reshape([batch, 1, 1]))],
    slogdet: [T.grad(linalg.slogdet(a).logAbsDet.sum(), [a])[0], t(inverse)],
    inverse: [T.grad(inverse.mul(w).sum(), [a])[0], t(inverse).matmul(w).matmul(t(inverse)).neg()],
    'solve by b': [ofB, t(inverse).matmul(weights)],
    'solve by a': [ofA, t(inverse).matmul(weights).matmul(t(x)).neg()],
    pinv: [T.grad(linalg.pinv(a).mul(w).sum(), [a])[0], t(inverse).matmul(w).matmul(t(inverse)).neg()],
    'trace of expm': [T.grad(linalg.expm(a.mul(0.2)).mul(T.eye(n)).sum(), [a])[0], t(linalg.expm(a.mul(0.2))).mul(0.2)],
    'trace of a power': [T.grad(linalg.matrixPower(a, 4).mul(T.eye(n)).sum(), [a])[0], t(linalg.matrixPower(a, 3)).mul(4)],
    'sum of squared singular values': [T.grad(linalg.svd(a, { fullMatrices: false }).s.square().sum(), [a])[0], a.mul(2)],
    'sum of squared eigenvalues': [T.grad(linalg.eigh(symmetric).eigenvalues.square().sum(), [a])[0], symmetric.mul(4)],
    'log of Cholesky’s diagonal': [T.grad(linalg.cholesky(symmetric).mul(T.eye(n)).sum(2).log().sum(), [a])[0], linalg.inverse(symmetric)],
    'R of QR, squared': [T.grad(linalg.qr(a).r.square().sum(), [a])[0], a.mul(2)],
  };
  const all = Object.values(pairs).flat();
  const read = await device.read(...all, linalg.svd(a).s);
  const values = read.at(-1);
  const condition = Math.max(...[0, 1, 2].map((k) => values[k * n] / values[k * n + n - 1]));
  Object.keys(pairs).forEach((name, k) => {
    const [found, expected] = [read[2 * k], read[2 * k + 1]];
    // Two or three inverses, each with the condition of A.
    near(found, new Matrix(n, found.length / n, expected), `the derivative of ${name}`, condition);
  });
  ok(condition < 200, `the condition is ${condition}`);
}

/** [name, (T, device, ok) => …]: `ok` takes whether a fact holds and what it says. */
export const LINALG = [
  ['factors of square matrices, and systems', squares],
  ['factors of matrices of all shapes', rectangles],
  ['matrices that rotations and reflections take in blocks', blocks],
  ['figures of NumPy and SciPy', figures],
  ['closed forms', closedForms],
  ['singular, indefinite, empty and ill-conditioned matrices', edges],
  ['derivatives', derivatives],
];
