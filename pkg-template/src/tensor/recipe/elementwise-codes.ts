/**
 * Elementwise operations: their codes on the tape, how many operands they take, and of which types.
 *
 * Generated from crates/tensor/src/expr/elementwise.rs; never edit. The native test
 * tape::typescript::recorder_has_the_codes_of_the_table checks it, and rewrites it when run with RESIDUA_BLESS=1.
 */
export const ELEMENTWISE = {
  neg: { code: 1, arity: 1, takes: 'numbers' },
  abs: { code: 2, arity: 1, takes: 'numbers' },
  sign: { code: 3, arity: 1, takes: 'numbers' },
  sqrt: { code: 4, arity: 1, takes: 'reals' },
  exp: { code: 5, arity: 1, takes: 'reals' },
  expm1: { code: 6, arity: 1, takes: 'reals' },
  log: { code: 7, arity: 1, takes: 'reals' },
  log1p: { code: 8, arity: 1, takes: 'reals' },
  erf: { code: 9, arity: 1, takes: 'reals' },
  sin: { code: 10, arity: 1, takes: 'reals' },
  cos: { code: 11, arity: 1, takes: 'reals' },
  tan: { code: 12, arity: 1, takes: 'reals' },
  asin: { code: 13, arity: 1, takes: 'reals' },
  acos: { code: 14, arity: 1, takes: 'reals' },
  atan: { code: 15, arity: 1, takes: 'reals' },
  sinh: { code: 16, arity: 1, takes: 'reals' },
  cosh: { code: 17, arity: 1, takes: 'reals' },
  tanh: { code: 18, arity: 1, takes: 'reals' },
  sigmoid: { code: 19, arity: 1, takes: 'reals' },
  softplus: { code: 20, arity: 1, takes: 'reals' },
  floor: { code: 21, arity: 1, takes: 'reals' },
  ceil: { code: 22, arity: 1, takes: 'reals' },
  round: { code: 23, arity: 1, takes: 'reals' },
  trunc: { code: 24, arity: 1, takes: 'reals' },
  isNaN: { code: 25, arity: 1, takes: 'reals' },
  isFinite: { code: 26, arity: 1, takes: 'reals' },
  not: { code: 27, arity: 1, takes: 'bits' },
  stopGradient: { code: 28, arity: 1, takes: 'any' },
  cast: { code: 29, arity: 1, takes: 'any' },
  bitcast: { code: 30, arity: 1, takes: 'any' },
  vectorNorm: { code: 31, arity: 1, takes: 'reals' },
  inverseNorm: { code: 32, arity: 1, takes: 'reals' },
  add: { code: 64, arity: 2, takes: 'numbers' },
  sub: { code: 65, arity: 2, takes: 'numbers' },
  mul: { code: 66, arity: 2, takes: 'numbers' },
  div: { code: 67, arity: 2, takes: 'numbers' },
  mod: { code: 68, arity: 2, takes: 'numbers' },
  floorMod: { code: 69, arity: 2, takes: 'numbers' },
  pow: { code: 70, arity: 2, takes: 'numbers' },
  minimum: { code: 71, arity: 2, takes: 'numbers' },
  maximum: { code: 72, arity: 2, takes: 'numbers' },
  atan2: { code: 73, arity: 2, takes: 'reals' },
  eq: { code: 74, arity: 2, takes: 'any' },
  neq: { code: 75, arity: 2, takes: 'any' },
  lt: { code: 76, arity: 2, takes: 'any' },
  lte: { code: 77, arity: 2, takes: 'any' },
  gt: { code: 78, arity: 2, takes: 'any' },
  gte: { code: 79, arity: 2, takes: 'any' },
  and: { code: 80, arity: 2, takes: 'bits' },
  or: { code: 81, arity: 2, takes: 'bits' },
  xor: { code: 82, arity: 2, takes: 'bits' },
  shl: { code: 83, arity: 2, takes: 'integers' },
  shr: { code: 84, arity: 2, takes: 'integers' },
  guardedMul: { code: 85, arity: 2, takes: 'reals' },
  where: { code: 112, arity: 3, takes: 'any' },
} as const;

/** The name of an elementwise operation. */
export type ElementwiseName = keyof typeof ELEMENTWISE;

/** Which element types an operation takes: bits are integers and truth values. */
export type Takes = (typeof ELEMENTWISE)[ElementwiseName]['takes'];
