/**
 * Linear algebra of matrices, which are the last two axes of tensors of f32; leading axes are a batch. Names and meanings are those of `numpy.linalg` and
 * `jax.numpy.linalg`.
 *
 * Errors are those of LAPACK in single precision; the CPU factors in double precision and rounds the factors. Everything has derivatives of any order. Each
 * function throws 'invalid-argument' for tensors of other types than f32 (`cast()` changes it), for shapes and options that do not fit.
 */

import { checkOptions, type OptionNames } from '../arguments/options.js';
import * as recipe from './recipe/linalg.js';
import { nodeOf } from './recipe/operands.js';
import { Tensor } from './tensor.js';

type Matrix = Tensor<'f32'>;

/** Options of cholesky. */
export interface CholeskyOptions {
  /** Gives the upper triangular Lᵀ. Default false. */
  upper?: boolean;
}

/**
 * The lower triangular L [..., n, n] of A = L Lᵀ, where A is symmetric and positive definite: of others (A + Aᵀ) / 2 counts. A matrix of a batch that is
 * not positive definite, or holds a NaN, gives NaN everywhere; the others have their factors.
 */
export function cholesky(a: Matrix, options: CholeskyOptions = {}): Matrix {
  checkOptions('cholesky: options', options, { upper: true } satisfies OptionNames<CholeskyOptions>);
  return Tensor.make(recipe.cholesky(nodeOf('cholesky: a', a), options.upper));
}

/** Options of triangularSolve. */
export interface TriangularSolveOptions {
  /** Reads the lower triangle of A, else the upper one. Default false. */
  lower?: boolean;
  /** Solves Aᵀ X = B. Default false. */
  transpose?: boolean;
  /** Takes the diagonal of A for 1. Default false. */
  unitDiagonal?: boolean;
}

const TRIANGLE: OptionNames<TriangularSolveOptions> = { lower: true, transpose: true, unitDiagonal: true };

/**
 * The solution X of A X = B for a triangular A [..., n, n], whose other triangle is not read. B is a vector [n] or matrices [..., n, k], as X. A zero on the
 * diagonal gives infinities or NaN.
 */
export function triangularSolve(a: Matrix, b: Matrix, options: TriangularSolveOptions = {}): Matrix {
  checkOptions('triangularSolve: options', options, TRIANGLE);
  return Tensor.make(recipe.triangularSolve(nodeOf('triangularSolve: a', a), nodeOf('triangularSolve: b', b), options));
}

/** Options of solve. */
export interface SolveOptions {
  /** 'positive' where A is symmetric and positive definite, which halves the work; it gives NaN where A is not. Default 'general'. */
  assume?: 'general' | 'positive';
}

/** The solution X of A X = B for A [..., n, n]; B is a vector [n] or matrices [..., n, k], as X. A singular A gives infinities or NaN. */
export function solve(a: Matrix, b: Matrix, options: SolveOptions = {}): Matrix {
  checkOptions('solve: options', options, { assume: true } satisfies OptionNames<SolveOptions>);
  return Tensor.make(recipe.solve(nodeOf('solve: a', a), nodeOf('solve: b', b), options.assume ?? 'general'));
}

/** A with its rows in another order as L U. */
export interface Lu {
  /** Which row of A each row of L U is, [..., m]. */
  permutation: Tensor<'i32'>;
  /** L [..., m, min(m, n)], lower triangular with ones on the diagonal and no element larger than 1. */
  lower: Matrix;
  /** U [..., min(m, n), n], upper triangular. */
  upper: Matrix;
}

/** The factors of Gaussian elimination with partial pivoting of A [..., m, n]. */
export function lu(a: Matrix): Lu {
  const { permutation, lower, upper } = recipe.lu(nodeOf('lu: a', a));
  return { permutation: Tensor.make(permutation), lower: Tensor.make(lower), upper: Tensor.make(upper) };
}

/** A⁻¹ of A [..., n, n]. A singular matrix gives infinities or NaN. */
export function inverse(a: Matrix): Matrix {
  return Tensor.make(recipe.inverse(nodeOf('inverse: a', a)));
}

/** The determinants of A [..., n, n], as [...]. Their derivatives are NaN where A is singular. */
export function determinant(a: Matrix): Matrix {
  return Tensor.make(recipe.determinant(nodeOf('determinant: a', a)));
}

/** The sign of each determinant, 0 where A is singular, and the logarithm of its magnitude, which is then −∞. For determinants beyond single precision. */
export function slogdet(a: Matrix): { sign: Matrix; logAbsDet: Matrix } {
  const { sign, logAbsDet } = recipe.slogdet(nodeOf('slogdet: a', a));
  return { sign: Tensor.make(sign), logAbsDet: Tensor.make(logAbsDet) };
}

/** Options of qr. */
export interface QrOptions {
  /** 'reduced' (default): Q is [..., m, k] and R [..., k, n] with k = min(m, n). 'complete': Q is [..., m, m] and R [..., m, n], without derivatives. */
  mode?: 'reduced' | 'complete';
}

/** Q of orthonormal columns and an upper triangular R with A = Q R, of A [..., m, n]. */
export function qr(a: Matrix, options: QrOptions = {}): { q: Matrix; r: Matrix } {
  checkOptions('qr: options', options, { mode: true } satisfies OptionNames<QrOptions>);
  const { q, r } = recipe.qr(nodeOf('qr: a', a), options.mode ?? 'reduced');
  return { q: Tensor.make(q), r: Tensor.make(r) };
}

/**
 * Eigenvalues [..., n] in ascending order and eigenvectors [..., n, n] as columns of a symmetric A [..., n, n]: of others (A + Aᵀ) / 2 counts. A matrix with
 * an element that is not finite gives NaN. Derivatives of eigenvectors of equal eigenvalues are those of what does not depend on which of them are taken.
 */
export function eigh(a: Matrix): { eigenvalues: Matrix; eigenvectors: Matrix } {
  const { eigenvalues, eigenvectors } = recipe.eigh(nodeOf('eigh: a', a));
  return { eigenvalues: Tensor.make(eigenvalues), eigenvectors: Tensor.make(eigenvectors) };
}

/** Options of svd. */
export interface SvdOptions {
  /** Whether U is [..., m, m] and Vᵀ [..., n, n]; else they are [..., m, k] and [..., k, n] with k = min(m, n), and have derivatives. Default true. */
  fullMatrices?: boolean;
}

/**
 * Singular values [..., k] in descending order, left vectors as columns of U and right ones as rows of Vᵀ, with A = U diag(s) Vᵀ, of A [..., m, n]. A matrix
 * with an element that is not finite gives NaN. Derivatives of vectors of equal values are those of what does not depend on which of them are taken.
 */
export function svd(a: Matrix, options: SvdOptions = {}): { u: Matrix; s: Matrix; vh: Matrix } {
  checkOptions('svd: options', options, { fullMatrices: true } satisfies OptionNames<SvdOptions>);
  const { u, s, vh } = recipe.svd(nodeOf('svd: a', a), options.fullMatrices);
  return { u: Tensor.make(u), s: Tensor.make(s), vh: Tensor.make(vh) };
}

/** Options of pinv and lstsq. */
export interface RankOptions {
  /** Singular values of at most this share of the largest count as 0. Default max(m, n) · 2⁻²³. */
  rcond?: number;
}

const RANK: OptionNames<RankOptions> = { rcond: true };

/** The Moore-Penrose inverse [..., n, m] of A [..., m, n]. Derivatives hold where the rank stays as it is. */
export function pinv(a: Matrix, options: RankOptions = {}): Matrix {
  checkOptions('pinv: options', options, RANK);
  return Tensor.make(recipe.pinv(nodeOf('pinv: a', a), options.rcond));
}

/** A solution of least squares. */
export interface LeastSquares {
  /** Of all X with the least ‖A X − B‖ the shortest, [n] or [..., n, k]. */
  x: Matrix;
  /** The sum of the squares of A X − B for each column of B, a scalar or [..., k]. */
  residuals: Matrix;
  /** How many singular values count, [...]. */
  rank: Tensor<'i32'>;
  /** The singular values of A in descending order, [..., min(m, n)]. */
  singularValues: Matrix;
}

/** The least squares solution of A X = B for A [..., m, n] and B a vector [m] or matrices [..., m, k]. */
export function lstsq(a: Matrix, b: Matrix, options: RankOptions = {}): LeastSquares {
  checkOptions('lstsq: options', options, RANK);
  const { x, residuals, rank, singularValues } = recipe.lstsq(nodeOf('lstsq: a', a), nodeOf('lstsq: b', b), options.rcond);
  return { x: Tensor.make(x), residuals: Tensor.make(residuals), rank: Tensor.make(rank), singularValues: Tensor.make(singularValues) };
}

/** A [..., n, n] to the power of a whole number: of 0 the identity, of a negative one that of A⁻¹. */
export function matrixPower(a: Matrix, n: number): Matrix {
  return Tensor.make(recipe.matrixPower(nodeOf('matrixPower: a', a), n));
}

/**
 * The exponential 1 + A + A²/2 + A³/6 + … of A [..., n, n], by a rational function of A / 2ˢ and s squarings. It is NaN where the largest sum of magnitudes of
 * a column is above 250,000.
 */
export function expm(a: Matrix): Matrix {
  return Tensor.make(recipe.expm(nodeOf('expm: a', a)));
}
