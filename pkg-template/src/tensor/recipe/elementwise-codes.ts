/**
 * Elementwise operations: their codes on the tape, how many operands they take, and of which types.
 *
 * Generated from crates/tensor/src/expr/elementwise.rs; never edit. The native test
 * tape::typescript::recorder_has_the_codes_of_the_table checks it, and rewrites it when run with RESIDUA_BLESS=1.
 */
export const ELEMENTWISE = {
  exp: { code: 22, arity: 1, takes: 'reals' },
  log: { code: 23, arity: 1, takes: 'reals' },
  sin: { code: 24, arity: 1, takes: 'reals' },
  cos: { code: 25, arity: 1, takes: 'reals' },
  tan: { code: 26, arity: 1, takes: 'reals' },
  asin: { code: 27, arity: 1, takes: 'reals' },
  acos: { code: 28, arity: 1, takes: 'reals' },
  atan: { code: 29, arity: 1, takes: 'reals' },
  sinh: { code: 30, arity: 1, takes: 'reals' },
  cosh: { code: 31, arity: 1, takes: 'reals' },
  tanh: { code: 32, arity: 1, takes: 'reals' },
  sigmoid: { code: 33, arity: 1, takes: 'reals' },
  softplus: { code: 34, arity: 1, takes: 'reals' },
  erf: { code: 39, arity: 1, takes: 'reals' },
  atan2: { code: 70, arity: 2, takes: 'reals' },
  neg: { code: 16, arity: 1, takes: 'numbers' },
  abs: { code: 17, arity: 1, takes: 'numbers' },
  sign: { code: 18, arity: 1, takes: 'numbers' },
  sqrt: { code: 19, arity: 1, takes: 'reals' },
  floor: { code: 35, arity: 1, takes: 'reals' },
  ceil: { code: 36, arity: 1, takes: 'reals' },
  round: { code: 37, arity: 1, takes: 'reals' },
  stopGradient: { code: 38, arity: 1, takes: 'any' },
  vectorNorm: { code: 20, arity: 1, takes: 'reals' },
  inverseNorm: { code: 21, arity: 1, takes: 'reals' },
  add: { code: 64, arity: 2, takes: 'numbers' },
  sub: { code: 65, arity: 2, takes: 'numbers' },
  mul: { code: 66, arity: 2, takes: 'numbers' },
  div: { code: 67, arity: 2, takes: 'numbers' },
  mod: { code: 69, arity: 2, takes: 'numbers' },
  pow: { code: 68, arity: 2, takes: 'numbers' },
  minimum: { code: 71, arity: 2, takes: 'numbers' },
  maximum: { code: 72, arity: 2, takes: 'numbers' },
  eq: { code: 73, arity: 2, takes: 'any' },
  neq: { code: 74, arity: 2, takes: 'any' },
  lt: { code: 75, arity: 2, takes: 'any' },
  lte: { code: 76, arity: 2, takes: 'any' },
  gt: { code: 77, arity: 2, takes: 'any' },
  gte: { code: 78, arity: 2, takes: 'any' },
  guardedMul: { code: 79, arity: 2, takes: 'reals' },
  where: { code: 112, arity: 3, takes: 'any' },
  expm1: { code: 128, arity: 1, takes: 'reals' },
  log1p: { code: 129, arity: 1, takes: 'reals' },
  trunc: { code: 130, arity: 1, takes: 'reals' },
  isNaN: { code: 131, arity: 1, takes: 'reals' },
  isFinite: { code: 132, arity: 1, takes: 'reals' },
  not: { code: 133, arity: 1, takes: 'bits' },
  cast: { code: 134, arity: 1, takes: 'any' },
  bitcast: { code: 135, arity: 1, takes: 'any' },
  floorMod: { code: 136, arity: 2, takes: 'numbers' },
  and: { code: 137, arity: 2, takes: 'bits' },
  or: { code: 138, arity: 2, takes: 'bits' },
  xor: { code: 139, arity: 2, takes: 'bits' },
  shl: { code: 140, arity: 2, takes: 'integers' },
  shr: { code: 141, arity: 2, takes: 'integers' },
  erfc: { code: 142, arity: 1, takes: 'reals' },
} as const;

/** The name of an elementwise operation. */
export type ElementwiseName = keyof typeof ELEMENTWISE;

/** Which element types an operation takes: bits are integers and truth values. */
export type Takes = (typeof ELEMENTWISE)[ElementwiseName]['takes'];
