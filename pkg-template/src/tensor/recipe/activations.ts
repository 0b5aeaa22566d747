/** Activations and other functions of one tensor that are compositions of elementwise operations. Half precision is computed in single. */

import { invalidArgument } from '../../arguments/errors.js';
import { apply, bitcast, cast, inSingle, where } from './elementwise.js';
import type { Node } from './node.js';
import { checkType, REALS, type NodeOrNumber } from './operands.js';

/** The parameters of selu (Klambauer et al. 2017). */
const SELU_ALPHA = 1.6732632423543772;
const SELU_SCALE = 1.0507009873554805;

function ofReals(operation: string, x: Node, compute: (x: Node) => Node): Node {
  checkType(operation, x, REALS);
  return inSingle(x, compute);
}

/** Negative numbers as they are and 0 instead of others: what is not selected has a finite derivative. */
function negativePart(x: Node): Node {
  return where(apply('lte', [x, 0]), x, 0);
}

/** 1/√x */
export function rsqrt(x: Node): Node {
  return ofReals('rsqrt', x, (y) => apply('div', [1, apply('sqrt', [y])]));
}

/** log₂ x, exact at the powers of 2, which a product with log₂ e would miss by a bit. The derivative is that of the product. */
export function log2(x: Node): Node {
  return ofReals('log2', x, (y) => {
    const product = apply('mul', [apply('log', [y]), Math.LOG2E]);
    const bits = bitcast(y, 'i32');
    const hasNoFraction = apply('eq', [apply('and', [bits, 0x7fffff]), 0]);
    const isNormal = apply('and', [apply('gt', [bits, 0]), apply('lt', [bits, 0x7f800000])]);
    const exponent = cast(apply('sub', [apply('shr', [bits, 23]), 127]), 'f32');
    return apply('add', [product, apply('stopGradient', [where(apply('and', [hasNoFraction, isNormal]), apply('sub', [exponent, product]), 0)])]);
  });
}

/** x above 0, else 0; NaN of a NaN. */
export function relu(x: Node): Node {
  return where(apply('lte', [x, 0], 'relu'), 0, x, 'relu');
}

/** x between 0 and 6, else the nearer of them. */
export function relu6(x: Node): Node {
  return where(apply('gte', [x, 6], 'relu6'), 6, relu(x), 'relu6');
}

/** x above 0, else slope · x. */
export function prelu(operation: string, x: Node, slope: NodeOrNumber): Node {
  return where(apply('lt', [x, 0], operation), apply('mul', [x, slope], operation), x, operation);
}

/** x above 0, else α (eˣ − 1). */
export function elu(x: Node, alpha: number): Node {
  return ofReals('elu', x, (y) => where(apply('lte', [y, 0]), apply('mul', [apply('expm1', [negativePart(y)]), alpha]), y));
}

/** A scaled elu that keeps mean 0 and variance 1. */
export function selu(x: Node): Node {
  return ofReals('selu', x, (y) => apply('mul', [elu(y, SELU_ALPHA), SELU_SCALE]));
}

/** log(1/(1 + e⁻ˣ)) */
export function logSigmoid(x: Node): Node {
  return ofReals('logSigmoid', x, (y) => apply('neg', [apply('softplus', [apply('neg', [y])])]));
}

/** x/6 + 1/2, between 0 and 1. */
export function hardSigmoid(x: Node, operation = 'hardSigmoid'): Node {
  return ofReals(operation, x, (y) => {
    const line = apply('add', [apply('mul', [y, 1 / 6]), 0.5]);
    return where(apply('gte', [y, 3]), 1, where(apply('lte', [y, -3]), 0, line));
  });
}

/** x · hardSigmoid(x) */
export function hardSwish(x: Node): Node {
  return ofReals('hardSwish', x, (y) => apply('mul', [y, hardSigmoid(y, 'hardSwish')]));
}

/** x/(1 + |x|) */
export function softsign(x: Node): Node {
  return ofReals('softsign', x, (y) => apply('div', [y, apply('add', [apply('abs', [y]), 1])]));
}

/** x/(1 + e⁻ˣ) */
export function silu(x: Node): Node {
  return ofReals('silu', x, (y) => apply('mul', [y, apply('sigmoid', [y])]));
}

/** x · tanh(log(1 + eˣ)) */
export function mish(x: Node): Node {
  return ofReals('mish', x, (y) => apply('mul', [y, apply('tanh', [apply('softplus', [y])])]));
}

/** x · Φ(x), with Φ the normal distribution, or its common approximation by tanh (Hendrycks and Gimpel 2016). */
export function gelu(x: Node, form: unknown): Node {
  if (form !== 'exact' && form !== 'tanh') throw invalidArgument('gelu: form', JSON.stringify(form) ?? String(form), "'exact' or 'tanh'");
  return ofReals('gelu', x, (y) => {
    const inner =
      form === 'exact'
        ? apply('erf', [apply('mul', [y, Math.SQRT1_2])])
        : apply('tanh', [apply('mul', [apply('mul', [y, Math.sqrt(2 / Math.PI)]), apply('add', [apply('mul', [apply('mul', [y, y]), 0.044715]), 1])])]);
    return apply('mul', [apply('mul', [y, 0.5]), apply('add', [inner, 1])]);
  });
}
