/**
 * Codes of the tape.
 *
 * Generated from crates/tensor/src/tape/codes.rs; never edit. The native test
 * tape::typescript::recorder_has_the_codes_of_the_table checks it, and rewrites it when run with RESIDUA_BLESS=1.
 */
/** Operations. */
export const OP = {
  input: 0,
  constant: 1,
  extent: 2,
  iota: 3,
  randomBits: 4,
  elementwise: 5,
  reshape: 6,
  expand: 7,
  permute: 8,
  slice: 9,
  pad: 10,
  concat: 11,
  windows: 12,
  gather: 13,
  gatherElements: 14,
  reduce: 15,
  scan: 16,
  fold: 17,
  scanBy: 18,
  matmul: 19,
  scatter: 20,
  indexPut: 21,
  gradient: 22,
  argsort: 23,
  setSlice: 24,
  attention: 25,
  dequantize: 27,
  number: 28,
  fourier: 30,
  linalg: 36,
  customGradient: 37,
  sparseProduct: 38,
} as const;

/** Reductions. */
export const REDUCTION = {
  sum: 0,
  prod: 1,
  min: 2,
  max: 3,
  argMin: 4,
  argMax: 5,
  variance: 6,
} as const;

/** How elements at one place combine. */
export const COMBINE = {
  set: 0,
  add: 1,
  mul: 2,
  min: 3,
  max: 4,
} as const;

/** Linear algebra. */
export const LINALG = {
  cholesky: 0,
  triangularSolve: 1,
  lu: 2,
  qr: 3,
  eigh: 4,
  svd: 5,
  pseudoInverse: 6,
  sparseSolve: 7,
} as const;

/** What stands beyond a border. */
export const BORDER = {
  constant: 0,
  clamp: 1,
  wrap: 2,
  mirror: 3,
} as const;

/** Element types. */
export const DTYPE_CODE = {
  f32: 0,
  f16: 1,
  i32: 2,
  u32: 3,
  u8: 4,
  bool: 5,
} as const;
