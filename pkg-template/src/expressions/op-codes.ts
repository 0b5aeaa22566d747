/**
 * What stands on the tape: the codes of leaves and operations.
 *
 * Generated from crates/ir/src/graph/op.rs; never edit. The native test graph::op_codes::typescript_has_the_codes_of_the_op_table
 * checks it, and rewrites it when run with RESIDUA_BLESS=1.
 */
export const Op = {
  literal: 0,
  constant: 1,
  parameter: 2,
  data: 3,
  neg: 16,
  abs: 17,
  sign: 18,
  sqrt: 19,
  norm: 20,
  inverseNorm: 21,
  floor: 35,
  ceil: 36,
  round: 37,
  stopGradient: 38,
  add: 64,
  sub: 65,
  mul: 66,
  div: 67,
  pow: 68,
  mod: 69,
  atan2: 70,
  min: 71,
  max: 72,
  eq: 73,
  neq: 74,
  lt: 75,
  lte: 76,
  gt: 77,
  gte: 78,
  guardedMul: 79,
  select: 112,
  exp: 22,
  log: 23,
  sin: 24,
  cos: 25,
  tan: 26,
  asin: 27,
  acos: 28,
  atan: 29,
  sinh: 30,
  cosh: 31,
  tanh: 32,
  sigmoid: 33,
  softplus: 34,
  erf: 39,
} as const;

/** A code of the table. */
export type OpCode = (typeof Op)[keyof typeof Op];
