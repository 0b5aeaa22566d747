/** Linear algebra of matrices, which are the last two axes of tensors: factorisations, and what is composed of them. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkFlag } from '../../arguments/options.js';
import { minus, plus, sameSize, sizeText, type Shape, type Size } from '../size.js';
import { LINALG } from '../tape-codes.js';
import { broadcastShapes, expandTo } from './broadcast.js';
import { apply, cast, where } from './elementwise.js';
import { constantNode, Node } from './node.js';
import { checkType, nodeText } from './operands.js';
import { matmul } from './products.js';
import { reduce } from './reductions.js';
import { concat, slice } from './slices.js';
import { reshaped, transpose } from './views.js';

/** Sizes of a batch of matrices. */
interface Matrices {
  readonly batch: Shape;
  readonly rows: Size;
  readonly columns: Size;
}

/** The sizes of a tensor of matrices. Throws 'invalid-argument' for another type than f32 and fewer than two axes. */
export function matricesOf(argument: string, a: Node): Matrices {
  checkType(argument, a, ['f32']);
  if (a.shape.length < 2) throw invalidArgument(argument, nodeText(a), 'a matrix, or a batch of matrices [..., rows, columns]');
  const [rows, columns] = a.shape.slice(-2) as [Size, Size];
  return { batch: a.shape.slice(0, -2), rows, columns };
}

/** The same of square matrices. */
export function squareOf(argument: string, a: Node): Matrices {
  const sizes = matricesOf(argument, a);
  if (!sameSize(sizes.rows, sizes.columns)) throw invalidArgument(argument, nodeText(a), 'square matrices [..., n, n]');
  return sizes;
}

/** Whether there are fewer rows than columns. Throws 'invalid-argument' where only a run tells. */
function isWide(argument: string, { rows, columns }: Matrices): boolean {
  if (sameSize(rows, columns)) return false;
  if (typeof rows === 'number' && typeof columns === 'number') return rows < columns;
  throw invalidArgument(argument, `a matrix of ${sizeText(rows)} rows and ${sizeText(columns)} columns`, 'sizes that are numbers, or equal');
}

const turned = (a: Node): Node => transpose(a, -2, -1);

function factored(kind: keyof typeof LINALG, operands: readonly Node[], rows: Size, columns: Size): Node {
  const shape = [...(operands[0] as Node).shape.slice(0, -2), rows, columns];
  return new Node('linalg', 'f32', shape, operands, [LINALG[kind]]);
}

/** Rows and columns of each matrix, from places on. */
function part(a: Node, rows: readonly [Size, Size], columns: readonly [Size, Size]): Node {
  return slice(a, [...a.shape.slice(2).map(() => null), rows, columns]);
}

const rowsOf = (a: Node, first: Size, end: Size): Node => part(a, [first, end], [0, a.shape.at(-1) as Size]);

/** Whether the row of each element compares with its column so. */
function compared(name: 'eq' | 'gt' | 'gte' | 'lte', rows: Size, columns: Size): Node {
  const [row, column] = [0, 1].map((axis) => new Node('iota', 'i32', [rows, columns], [], [axis])) as [Node, Node];
  return apply(name, [row, column]);
}

const identity = (size: Size): Node => cast(compared('eq', size, size), 'f32');

/** The diagonals of square matrices as rows [..., 1, n]. */
function diagonal(a: Node): Node {
  const shape = [...a.shape.slice(0, -2), 1, a.shape.at(-1) as Size];
  const places = new Node('iota', 'i32', shape, [], [shape.length - 1]);
  return new Node('gatherElements', a.dtype, shape, [a, places], [shape.length - 2]);
}

const withoutAxis = (a: Node, axis: -1 | -2): Node => reshaped(a, axis === -1 ? a.shape.slice(0, -1) : [...a.shape.slice(0, -2), a.shape.at(-1) as Size]);

/** (A + Aᵀ) / 2, which rounds nothing of a symmetric matrix. */
const symmetric = (a: Node): Node => apply('add', [apply('mul', [a, 0.5]), apply('mul', [turned(a), 0.5])]);

/** The lower triangular factor of A = L Lᵀ, or the upper one. */
export function cholesky(a: Node, upper: unknown = false, operation = 'cholesky'): Node {
  checkFlag(`${operation}: upper`, upper);
  const { rows } = squareOf(`${operation}: a`, a);
  const lower = factored('cholesky', [symmetric(a)], rows, rows);
  return upper ? turned(lower) : lower;
}

/** The last two axes the other way around: an upper triangular matrix becomes a lower one. */
function flipped(a: Node, columns: boolean): Node {
  const [rows, width] = a.shape.slice(-2) as [Size, Size];
  const shape = a.shape;
  const starts = [...shape.slice(2).map((): Size => 0), minus(rows, 1), columns ? minus(width, 1) : 0].map((size) => ({ size }));
  return new Node('slice', a.dtype, shape, [a], [...starts, ...shape.slice(2).map(() => 1), -1, columns ? -1 : 1]);
}

function lowerSolve(lower: Node, b: Node): Node {
  const [rows, columns] = b.shape.slice(-2) as [Size, Size];
  return factored('triangularSolve', [lower, b], rows, columns);
}

const upperSolve = (upper: Node, b: Node): Node => flipped(lowerSolve(flipped(upper, true), flipped(b, false)), false);

/** A system's matrices with one batch: a vector on the right is a column, whose axis goes again. */
function system(operation: string, a: Node, b: Node): { left: Node; right: Node; finish: (x: Node) => Node } {
  const { batch, rows } = squareOf(`${operation}: a`, a);
  checkType(`${operation}: b`, b, ['f32']);
  const isVector = b.shape.length === 1;
  const column = isVector ? reshaped(b, [b.shape[0] as Size, 1]) : b;
  const [height, width] = column.shape.slice(-2) as [Size, Size];
  if (b.shape.length === 0 || !sameSize(height, rows)) throw invalidArgument(`${operation}: b`, nodeText(b), `a vector of ${sizeText(rows)} elements or matrices of as many rows, as a is ${nodeText(a)}`);
  const common = broadcastShapes(`${operation}: leading axes`, [batch, column.shape.slice(0, -2)]);
  return {
    left: expandTo(operation, a, [...common, rows, rows]),
    right: expandTo(operation, column, [...common, rows, width]),
    finish: (x) => (isVector ? withoutAxis(x, -1) : x),
  };
}

/** What a triangular system is told, not checked yet. */
export interface Triangle {
  readonly lower?: unknown;
  readonly transpose?: unknown;
  readonly unitDiagonal?: unknown;
}

/** The solution of a triangular system. */
export function triangularSolve(a: Node, b: Node, { lower, transpose: isTurned, unitDiagonal }: Triangle): Node {
  checkFlag('triangularSolve: lower', lower);
  checkFlag('triangularSolve: transpose', isTurned);
  checkFlag('triangularSolve: unitDiagonal', unitDiagonal);
  const { left, right, finish } = system('triangularSolve', a, b);
  const size = left.shape.at(-1) as Size;
  const whole = unitDiagonal === true ? where(compared('eq', size, size), 1, left) : left;
  const matrix = isTurned === true ? turned(whole) : whole;
  return finish((lower === true) !== (isTurned === true) ? lowerSolve(matrix, right) : upperSolve(matrix, right));
}

/** Both factors of A with rows in another order, and their sizes. */
interface Factors {
  readonly rows: Size;
  readonly columns: Size;
  readonly factors: Node;
}

function pivoted(a: Node, { rows, columns }: Matrices): Factors {
  return { rows, columns, factors: factored('lu', [a], rows, plus(columns, 2)) };
}

/** Which row of A each row of the factors is, [..., m, 1]. */
const orderOf = ({ rows, columns, factors }: Factors): Node => cast(part(factors, [0, rows], [columns, plus(columns, 1)]), 'i32');
/** −1 for each exchange, [..., m]. */
const signsOf = ({ rows, columns, factors }: Factors): Node => withoutAxis(part(factors, [0, rows], [plus(columns, 1), plus(columns, 2)]), -1);

function lowerOf({ rows, factors }: Factors, depth: Size): Node {
  return where(compared('gt', rows, depth), part(factors, [0, rows], [0, depth]), cast(compared('eq', rows, depth), 'f32'));
}

const upperOf = ({ columns, factors }: Factors, depth: Size): Node => where(compared('lte', depth, columns), part(factors, [0, depth], [0, columns]), 0);

/** L and U of A with rows in another order. */
export function lu(a: Node): { permutation: Node; lower: Node; upper: Node } {
  const sizes = matricesOf('lu: a', a);
  const depth = isWide('lu: a', sizes) ? sizes.rows : sizes.columns;
  const found = pivoted(a, sizes);
  return { permutation: withoutAxis(orderOf(found), -1), lower: lowerOf(found, depth), upper: upperOf(found, depth) };
}

/** The solution of A X = B by the factors of A. */
function solved(a: Node, b: Node): Node {
  const found = pivoted(a, squareOf('solve: a', a));
  const places = expandTo('solve', orderOf(found), b.shape);
  const moved = new Node('gatherElements', 'f32', b.shape, [b, places], [b.shape.length - 2]);
  return upperSolve(upperOf(found, found.rows), lowerSolve(lowerOf(found, found.rows), moved));
}

/** The solution of A X = B, where A may be known to be symmetric and positive definite. */
export function solve(a: Node, b: Node, assume: unknown): Node {
  if (assume !== 'general' && assume !== 'positive') throw invalidArgument('solve: assume', describe(assume), "'general' or 'positive'");
  const { left, right, finish } = system('solve', a, b);
  if (assume === 'general') return finish(solved(left, right));
  const lower = cholesky(left, false, 'solve');
  return finish(upperSolve(turned(lower), lowerSolve(lower, right)));
}

/** A⁻¹. */
export function inverse(a: Node, operation = 'inverse'): Node {
  const { batch, rows } = squareOf(`${operation}: a`, a);
  return solved(a, expandTo(operation, identity(rows), [...batch, rows, rows]));
}

/** The product of the pivots and the signs of the exchanges. */
export function determinant(a: Node): Node {
  const found = pivoted(a, squareOf('determinant: a', a));
  const pivots = withoutAxis(diagonal(part(found.factors, [0, found.rows], [0, found.rows])), -2);
  const last = [pivots.shape.length - 1];
  return apply('mul', [reduce('prod', pivots, last), reduce('prod', signsOf(found), last)]);
}

/** The sign of the determinant and the logarithm of its magnitude. */
export function slogdet(a: Node): { sign: Node; logAbsDet: Node } {
  const found = pivoted(a, squareOf('slogdet: a', a));
  const pivots = withoutAxis(diagonal(part(found.factors, [0, found.rows], [0, found.rows])), -2);
  const last = [pivots.shape.length - 1];
  const signs = apply('mul', [apply('sign', [pivots]), signsOf(found)]);
  return { sign: reduce('prod', signs, last), logAbsDet: reduce('sum', apply('log', [apply('abs', [pivots])]), last) };
}

/** Q and R of matrices that have no fewer rows than columns. */
function orthogonal(a: Node, rows: Size, columns: Size): { q: Node; r: Node } {
  const both = factored('qr', [a], plus(rows, columns), columns);
  return { q: rowsOf(both, 0, rows), r: rowsOf(both, rows, plus(rows, columns)) };
}

/** The matrices with columns of 0 up to as many as rows. */
function squared(a: Node, rows: Size, columns: Size): Node {
  const more = constantNode(0, 'f32', [...a.shape.slice(0, -2), rows, minus(rows, columns)]);
  return concat([a, more], -1);
}

/** Q and R. */
export function qr(a: Node, mode: unknown): { q: Node; r: Node } {
  if (mode !== 'reduced' && mode !== 'complete') throw invalidArgument('qr: mode', describe(mode), "'reduced' or 'complete'");
  const sizes = matricesOf('qr: a', a);
  const { rows, columns } = sizes;
  if (isWide('qr: a', sizes)) {
    // Q is that of the first columns.
    const first = orthogonal(part(a, [0, rows], [0, rows]), rows, rows);
    const rest = matmul(turned(first.q), part(a, [0, rows], [rows, columns]), 'qr');
    return { q: first.q, r: concat([first.r, rest], -1) };
  }
  if (mode === 'reduced' || sameSize(rows, columns)) return orthogonal(a, rows, columns);
  const whole = orthogonal(squared(a, rows, columns), rows, rows);
  return { q: whole.q, r: part(whole.r, [0, rows], [0, columns]) };
}

/** Eigenvalues and eigenvectors of symmetric matrices. */
export function eigh(a: Node, operation = 'eigh'): { eigenvalues: Node; eigenvectors: Node } {
  const { rows } = squareOf(`${operation}: a`, a);
  const both = factored('eigh', [symmetric(a)], plus(rows, rows), rows);
  // Of no rows there is no row of values.
  const values = rows === 0 ? constantNode(0, 'f32', a.shape.slice(0, -1)) : withoutAxis(rowsOf(both, rows, plus(rows, 1)), -2);
  return { eigenvalues: values, eigenvectors: rowsOf(both, 0, rows) };
}

/** Singular values and vectors: left ones as columns, right ones as rows. */
export function svd(a: Node, fullMatrices: unknown, operation = 'svd'): { u: Node; s: Node; vh: Node } {
  checkFlag(`${operation}: fullMatrices`, fullMatrices);
  const sizes = matricesOf(`${operation}: a`, a);
  if (isWide(`${operation}: a`, sizes)) {
    const { u, s, vh } = svd(turned(a), fullMatrices, operation);
    return { u: turned(vh), s, vh: turned(u) };
  }
  const { rows, columns } = sizes;
  const end = plus(rows, columns);
  const all = factored('svd', [a], plus(end, 1), columns);
  const left = rowsOf(all, 0, rows);
  const isFull = fullMatrices !== false && !sameSize(rows, columns);
  // The left vectors, and what completes them.
  const u = isFull ? concat([left, part(orthogonal(squared(left, rows, columns), rows, rows).q, [0, rows], [columns, rows])], -1) : left;
  return { u, s: withoutAxis(rowsOf(all, end, plus(end, 1)), -2), vh: turned(rowsOf(all, rows, end)) };
}

/** The share of the largest singular value up to which others count as 0: that of a caller, or what rounding leaves. */
function cutoffOf(operation: string, rcond: unknown, { rows, columns }: Matrices): number {
  if (rcond === undefined) {
    const largest = Math.max(...[rows, columns].map((size) => (typeof size === 'number' ? size : size.max)));
    return largest * 2 ** -23;
  }
  if (typeof rcond !== 'number' || !(rcond >= 0 && rcond < Infinity)) throw invalidArgument(`${operation}: rcond`, describe(rcond), 'a number from 0');
  return rcond;
}

/** The Moore-Penrose inverse. */
export function pinv(a: Node, rcond: unknown, operation = 'pinv'): Node {
  const sizes = matricesOf(`${operation}: a`, a);
  isWide(`${operation}: a`, sizes);
  return factored('pseudoInverse', [a, constantNode(cutoffOf(operation, rcond, sizes), 'f32')], sizes.columns, sizes.rows);
}

/** The shortest solution of least squares. */
export function lstsq(a: Node, b: Node, rcond: unknown): { x: Node; residuals: Node; rank: Node; singularValues: Node } {
  const sizes = matricesOf('lstsq: a', a);
  checkType('lstsq: b', b, ['f32']);
  const isVector = b.shape.length === 1;
  const right = isVector ? reshaped(b, [b.shape[0] as Size, 1]) : b;
  if (b.shape.length === 0 || !sameSize(right.shape.at(-2) as Size, sizes.rows)) {
    throw invalidArgument('lstsq: b', nodeText(b), `a vector of ${sizeText(sizes.rows)} elements or matrices of as many rows, as a is ${nodeText(a)}`);
  }
  const x = matmul(pinv(a, rcond, 'lstsq'), right, 'lstsq');
  const difference = apply('sub', [right, matmul(a, x, 'lstsq')]);
  const residuals = reduce('sum', apply('mul', [difference, difference]), [difference.shape.length - 2]);
  const { s } = svd(a, false, 'lstsq');
  const axis = [s.shape.length - 1];
  const least = apply('mul', [reduce('max', s, axis, true), cutoffOf('lstsq', rcond, sizes)]);
  const rank = reduce('sum', cast(apply('gt', [s, least]), 'i32'), axis);
  return { x: isVector ? withoutAxis(x, -1) : x, residuals: isVector ? withoutAxis(residuals, -1) : residuals, rank, singularValues: s };
}

/** A multiplied by itself so many times. */
export function matrixPower(a: Node, n: unknown): Node {
  const { batch, rows } = squareOf('matrixPower: a', a);
  if (typeof n !== 'number' || !Number.isInteger(n) || Math.abs(n) >= 2 ** 31) throw invalidArgument('matrixPower: n', describe(n), 'a whole number of less than 2³¹ in magnitude');
  let base = n < 0 ? inverse(a, 'matrixPower') : a;
  let result: Node | null = null;
  for (let rest = Math.abs(n); rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = result === null ? base : matmul(result, base, 'matrixPower');
    if (rest > 1) base = matmul(base, base, 'matrixPower');
  }
  return result ?? expandTo('matrixPower', identity(rows), [...batch, rows, rows]);
}

/** Coefficients of Padé's approximant of degree 7, and up to which norm its error is below 2⁻²⁴ (Higham: "The scaling and squaring method for the matrix exponential revisited", 2005). */
const PADE = [17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1] as const;
const MOST_NORM = 3.925724783138660;
/** Squarings at most: norms of up to 2.5e5, beyond which powers of e have no single precision. */
const MOST_SQUARINGS = 16;

/** e to the power of A: of A divided by a power of 2, squared as often. */
export function expm(a: Node): Node {
  const { rows } = squareOf('expm: a', a);
  const rank = a.shape.length;
  const sums = reduce('sum', apply('abs', [a]), [rank - 2], true);
  const norm = apply('stopGradient', [reduce('max', sums, [rank - 1], true)]);
  // The smallest power of 2 that makes the norm small enough.
  const squarings = apply('maximum', [apply('ceil', [apply('div', [apply('log', [apply('div', [norm, MOST_NORM])]), Math.LN2])]), 0]);
  const scaled = apply('mul', [a, apply('exp', [apply('mul', [squarings, -Math.LN2])])]);
  const square = matmul(scaled, scaled, 'expm');
  const powers = [identity(rows), square, matmul(square, square, 'expm')];
  powers.push(matmul(powers[2] as Node, square, 'expm'));
  const series = (first: 0 | 1): Node => powers.map((power, k) => apply('mul', [power, PADE[2 * k + first] as number])).reduce((sum, term) => apply('add', [sum, term]));
  const [even, odd] = [series(0), matmul(scaled, series(1), 'expm')];
  let result = solved(apply('sub', [even, odd]), apply('add', [even, odd]));
  for (let k = 0; k < MOST_SQUARINGS; k++) result = where(apply('gt', [squarings, k]), matmul(result, result, 'expm'), result);
  return where(apply('lte', [squarings, MOST_SQUARINGS]), result, NaN);
}
