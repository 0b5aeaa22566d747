/**
 * Functions of functions of tensors: derivatives of all kinds, and many examples at once. A function is called to record; what it uses besides its arguments
 * is constant.
 */

import { describe, invalidArgument } from '../arguments/errors.js';
import { inFormOf, tensorsOf, type Group } from './device/results.js';
import type { Like } from './loops.js';
import { batched } from './recipe/batching.js';
import { ELEMENTWISE } from './recipe/elementwise-codes.js';
import { apply, cast } from './recipe/elementwise.js';
import { contracted, gradients } from './recipe/loop-gradient.js';
import { adjointNode, Dependence, inOrder } from './recipe/loop.js';
import { ComplexNode, Node } from './recipe/node.js';
import { checkAxis, nodeOf, nodeText, REALS } from './recipe/operands.js';
import { concat, slice } from './recipe/slices.js';
import { hasDetours, tangents as tangentsOf } from './recipe/tangents.js';
import { permute, reshaped } from './recipe/views.js';
import { plus, product, sameShape, sameSize, sizeText, type Shape, type Size } from './size.js';
import { Tensor, type Axis } from './tensor.js';

/** A function of tensors. */
type Function<A extends readonly unknown[], R> = (...inputs: A) => R;

/** What a function of tensors gives: a tensor, or a list or record of tensors. */
type Output = Tensor | Group;

/** Numbers of the arguments that a derivative is by: one, or several, which make a list of each result. */
type Argnums = number | readonly number[];

/** Derivatives of an output by arguments: in the form of the output, and within by the arguments. */
export type Derivatives<R extends Output, N extends Argnums> = N extends number ? Like<R> : R extends Tensor ? Tensor[] : { -readonly [K in keyof R]: Tensor[] };

/** The real parts of a tensor: two of complex numbers. */
function partsOf(node: Node): readonly Node[] {
  return node instanceof ComplexNode ? [node.re, node.im] : [node];
}

/** A tensor whose parts are the next ones of a list. */
function ofParts(like: Node, parts: Node[]): Node {
  const [re, im] = parts.splice(0, partsOf(like).length) as [Node, Node];
  return like instanceof ComplexNode ? new ComplexNode(re, im) : re;
}

/** Another node for the same numbers, by which derivatives are those by an argument alone. It is no view, which bodies of loops have themselves. */
function own(node: Node): Node {
  if (node instanceof ComplexNode) return new ComplexNode(own(node.re), own(node.im));
  return new Node('elementwise', node.dtype, node.shape, [node], [ELEMENTWISE.cast.code]);
}

function checkFunction(argument: string, value: unknown): asserts value is (...inputs: unknown[]) => unknown {
  if (typeof value !== 'function') throw invalidArgument(argument, describe(value), 'a function of Tensors');
}

/** The tensors of what a function gave. */
function outputsOf(argument: string, result: unknown): Node[] {
  const nodes = tensorsOf(argument, result).map(({ node }) => node);
  if (nodes.length === 0) throw invalidArgument(argument, describe(result), 'a Tensor, or a list or record of them');
  return nodes;
}

const REAL_OR_COMPLEX: readonly string[] = [...REALS, 'c64'];

/** Throws unless a derivative by or of a node has a meaning. */
function checkDifferentiable(argument: string, node: Node): void {
  if (!REAL_OR_COMPLEX.includes(node.dtype)) throw invalidArgument(argument, nodeText(node), 'a tensor of f32, f16 or c64');
}

function inForm<R>(form: R, nodes: readonly Node[]): Like<R> {
  return inFormOf(form, nodes.map((node) => Tensor.make(node))) as Like<R>;
}

function gradientsOf(scalar: Node, parts: readonly Node[]): Node[] {
  return gradients(scalar, [parts])[0] as Node[];
}

/**
 * A function's outputs and their derivative in a direction: `[outputs, tangents]`, both in the form in which f gives them. f takes the primals, tensors of
 * floats, one an argument; the tangents are the direction, of the same types and shapes. What f uses besides its arguments is constant. It costs about two
 * or three times f.
 *
 * It goes through loop() and scan(). Throws 'invalid-argument' where types or shapes do not fit and for outputs that are no floats, and 'invalid-graph' where
 * f
 * goes through a function of customGradient() or the derivative of a loop, which have derivatives in the reverse order alone.
 */
export function jvp<const A extends readonly Tensor[], R extends Output>(f: Function<A, R>, primals: A, tangents: { readonly [K in keyof A]: Tensor }): [outputs: Like<R>, tangents: Like<R>] {
  checkFunction('jvp: f', f);
  const given = listOf('jvp: primals', primals);
  const directions = listOf('jvp: tangents', tangents);
  if (directions.length !== given.length) throw invalidArgument('jvp: tangents', `${directions.length} tensors`, `${given.length}, as there are primals`);
  given.forEach((node, k) => {
    checkDifferentiable(`jvp: primals[${k}]`, node);
    const tangent = directions[k] as Node;
    if (tangent.dtype !== node.dtype || !sameShape(tangent.shape, node.shape)) throw invalidArgument(`jvp: tangents[${k}]`, nodeText(tangent), `${nodeText(node)}, as primals[${k}] is`);
  });
  const inputs = given.map(own);
  const result = f(...(inputs.map((node) => Tensor.make(node)) as unknown as A));
  const outputs = outputsOf('jvp: the result of f', result);
  outputs.forEach((node) => checkDifferentiable('jvp: the result of f', node));
  const found = directionalOf('jvp', outputs, inputs, directions);
  return [result as unknown as Like<R>, inForm(result, found)];
}

/** The same of tensors of complex numbers too. */
function directionalOf(call: string, outputs: readonly Node[], inputs: readonly Node[], directions: readonly Node[]): Node[] {
  const found = tangentsOf(call, outputs.flatMap(partsOf), inputs.flatMap(partsOf), directions.flatMap(partsOf));
  return outputs.map((node) => ofParts(node, found));
}

function listOf(argument: string, tensors: unknown): Node[] {
  if (!Array.isArray(tensors)) throw invalidArgument(argument, describe(tensors), 'an array of Tensors');
  return tensors.map((tensor, k) => nodeOf(`${argument}[${k}]`, tensor));
}

/** Which arguments derivatives are by. */
function checkArgnums(call: string, argnums: unknown, count: number): number[] {
  const list: unknown[] = Array.isArray(argnums) ? argnums : [argnums];
  return list.map((each) => {
    if (typeof each !== 'number' || !Number.isInteger(each) || each < -count || each >= count) throw invalidArgument(`${call}: argnums`, describe(each), `numbers of the ${count} arguments, from 0`);
    return each < 0 ? each + count : each;
  });
}

/** The unit vectors of a shape, as [count, ...shape]. */
function units(shape: Shape): Node {
  const count = product(shape);
  const place = (axis: number, size: Shape) => new Node('iota', 'i32', size, [], [axis]);
  const square = cast(apply('eq', [place(0, [count, 1]), place(0, [count])]), 'f32');
  return reshaped(square, [count, ...shape]);
}

/** The derivatives of a real part by real parts, each of shape [...of, ...by]. */
function jacobianOf(call: string, of: Node, by: readonly Node[]): Node[] {
  const count = product(of.shape);
  const whole = (rows: Node, part: Node) => reshaped(rows, [...of.shape, ...part.shape]);
  if (count === 1) return gradientsOf(reshaped(cast(of, 'f32'), []), by).map((node, k) => whole(node, by[k] as Node));
  const forward = by.reduce<Size>((sum, { shape }) => plus(sum, product(shape)), 0);
  const isForward = typeof forward === 'number' && typeof count === 'number' && forward < count && !hasDetours(of);
  if (isForward) {
    return by.map((part) => {
      const direction = new Node('input', 'f32', part.shape, [], [], EXAMPLE);
      const [along] = tangentsOf(call, [of], [part], [direction]) as [Node];
      const size = product(part.shape);
      const [columns] = batched(call, [along], size, new Map([[direction, units(part.shape)]])) as [Node];
      return cast(whole(permute(columns, [...of.shape.map((_, axis) => axis + 1), 0]), part), part.dtype);
    });
  }
  const factor = new Node('input', 'f32', of.shape, [], [], EXAMPLE);
  const rows = batched(call, gradientsOf(contracted(of, factor), by), count, new Map([[factor, units(of.shape)]]));
  return rows.map((node, k) => whole(node, by[k] as Node));
}

/** The `source` of inputs that stand for one of many examples. */
const EXAMPLE: object = /* @__PURE__ */ Object.freeze({});

/**
 * A function that gives the derivatives of all elements of f's outputs by all elements of arguments: of an output of shape [...m] by an argument of shape
 * [...n] a
 * tensor of shape [...m, ...n], in the form in which f gives its outputs. `argnums` is the number of the argument, the first unless told, or a list of
 * several: each
 * output has then a list of tensors. Arguments and outputs are tensors of f32 or f16. All rows, or all columns where these are fewer, are computed at once.
 *
 * The function throws 'invalid-argument' where numbers or types do not fit.
 */
export function jacobian<A extends readonly Tensor[], R extends Output, const N extends Argnums = 0>(f: Function<A, R>, argnums?: N): (...inputs: A) => Derivatives<R, N> {
  return derivativesOf('jacobian', f, argnums ?? 0) as (...inputs: A) => Derivatives<R, N>;
}

function derivativesOf(call: string, f: unknown, argnums: unknown): (...inputs: readonly Tensor[]) => unknown {
  checkFunction(`${call}: f`, f);
  return (...inputs) => {
    const nodes = listOf(`${call}: inputs`, inputs);
    const wanted = checkArgnums(call, argnums, nodes.length);
    const given = nodes.map((node, k) => (wanted.includes(k) ? own(node) : node));
    for (const k of wanted) checkReal(`${call}: inputs[${k}]`, given[k] as Node);
    const result = f(...given.map((node) => Tensor.make(node)));
    const outputs = outputsOf(`${call}: the result of f`, result);
    const rows = outputs.map((of) => {
      checkReal(`${call}: the result of f`, of);
      const found = jacobianOf(call, of, wanted.map((k) => given[k] as Node)).map((node) => Tensor.make(node));
      return Array.isArray(argnums) ? found : (found[0] as Tensor);
    });
    return inFormOf(result, rows);
  };
}

function checkReal(argument: string, node: Node): void {
  if (!REALS.includes(node.dtype)) throw invalidArgument(argument, nodeText(node), 'a tensor of f32 or f16');
}

/**
 * A function that gives the second derivatives of f: the jacobian of its jacobian. Of a scalar by an argument of shape [...n] a tensor of shape [...n, ...n];
 * of an output of
 * shape [...m] one of shape [...m, ...n, ...n]. With a list of `argnums` each output has a list of lists, by the first argument and then by the second.
 */
export function hessian<A extends readonly Tensor[], R extends Output, const N extends Argnums = 0>(f: Function<A, R>, argnums?: N): (...inputs: A) => Hessians<R, N> {
  checkFunction('hessian: f', f);
  return derivativesOf('hessian', derivativesOf('hessian', f, argnums ?? 0), argnums ?? 0) as (...inputs: A) => Hessians<R, N>;
}

/** Second derivatives of an output by arguments: in the form of the output, and within by one argument and by the other. */
export type Hessians<R extends Output, N extends Argnums> = N extends number ? Like<R> : R extends Tensor ? Tensor[][] : { -readonly [K in keyof R]: Tensor[][] };

/** The axis of an argument along which its examples stand, null for one that is the same for all; or one an argument. */
type ExampleAxes = Axis | null | readonly (Axis | null)[];

/**
 * A function of many examples at once, from one of one example: f is called once, to record, with tensors without the axis of examples. `inAxes` is the axis
 * of all arguments,
 * the first unless told, or a list with one an argument, null for what is the same for all examples; lists and records of tensors are arguments too, with one
 * axis for all.
 * Examples stand along axis `outAxes` of each output, or along those of a list, one an output. An output that depends on no example is repeated.
 *
 * Every operation has a rule, gradients and loops too, and what does not depend on an example is computed once: random numbers are then the same for all. The
 * function throws
 * 'invalid-argument' where numbers of examples differ and where no argument has them.
 */
export function vmap<A extends readonly Tensor[], R extends Output>(f: Function<A, R>, inAxes?: ExampleAxes, outAxes?: Axis | readonly Axis[]): (...inputs: A) => Like<R>;
export function vmap<A extends readonly (Tensor | Group)[], R extends Output>(f: Function<A, R>, inAxes?: ExampleAxes, outAxes?: Axis | readonly Axis[]): (...inputs: A) => Like<R>;
export function vmap(f: unknown, inAxes: unknown = 0, outAxes: unknown = 0): (...inputs: readonly unknown[]) => unknown {
  checkFunction('vmap: f', f);
  return (...inputs) => {
    if (Array.isArray(inAxes) && inAxes.length !== inputs.length) throw invalidArgument('vmap: inAxes', describe(inAxes), `${inputs.length} axes or null, one an argument`);
    const examples = new Map<Node, Node>();
    const found: { size: Size; name: string }[] = [];
    const given = inputs.map((input, k) => {
      const axis: unknown = Array.isArray(inAxes) ? inAxes[k] : inAxes;
      const name = `vmap: inputs[${k}]`;
      const nodes = tensorsOf(name, input).map(({ node }) => node);
      if (axis === null) return input;
      const ones = nodes.map((node) => {
        const at = checkAxis(`${name}: axis`, axis, node.shape.length);
        found.push({ size: node.shape[at] as Size, name });
        return exampleOf(node, at, examples);
      });
      return inForm(input, ones);
    });
    const [first] = found;
    if (first === undefined) throw invalidArgument('vmap: inAxes', 'no axis of examples', 'an axis of at least one argument');
    const other = found.find(({ size }) => !sameSize(size, first.size));
    if (other !== undefined) throw invalidArgument(other.name, `${sizeText(other.size)} examples`, `${sizeText(first.size)}, as ${first.name} has`);
    const result = f(...given);
    const outputs = outputsOf('vmap: the result of f', result);
    if (Array.isArray(outAxes) && outAxes.length !== outputs.length) throw invalidArgument('vmap: outAxes', describe(outAxes), `${outputs.length} axes, one an output`);
    const parts = batched('vmap', outputs.flatMap(partsOf), first.size, examples);
    return inForm(result, outputs.map((node, k) => {
      const at = checkAxis('vmap: outAxes', Array.isArray(outAxes) ? outAxes[k] : outAxes, node.shape.length + 1);
      return movedFrom(ofParts(node, parts), at);
    }));
  };
}

/** What stands for one example of a tensor. */
function exampleOf(node: Node, axis: number, examples: Map<Node, Node>): Node {
  if (node instanceof ComplexNode) return new ComplexNode(exampleOf(node.re, axis, examples), exampleOf(node.im, axis, examples));
  const others = node.shape.map((_, k) => k).filter((k) => k !== axis);
  const one = new Node('input', node.dtype, others.map((k) => node.shape[k] as Size), [], [], EXAMPLE);
  examples.set(one, permute(node, [axis, ...others]));
  return one;
}

/** A tensor with its first axis at another place. */
function movedFrom(x: Node, axis: number): Node {
  const order = x.shape.map((_, k) => k).slice(1);
  return permute(x, [...order.slice(0, axis), 0, ...order.slice(axis)]);
}

/**
 * A function with derivatives of the caller: its outputs are those of f, and a derivative goes back by `backward(adjoint, inputs, outputs)`, which gets the
 * adjoint of the outputs,
 * in their form, and gives a list of the adjoints of the inputs, each of the type and shape of its input, or null where there is none. For complex numbers
 * they are as `grad` gives them.
 * Arguments are tensors. No derivative goes to what f uses besides them. `backward` need not be linear: it may cut or scale derivatives; `grad`, `jacobian`
 * and `hessian` take them as they are.
 *
 * Throws 'invalid-argument' where `backward` gives something else, or puts the adjoint into a loop() or scan() of a body.
 */
export function customGradient<const A extends readonly Tensor[], R extends Output>(
  f: Function<A, R>,
  backward: (adjoint: Like<R>, inputs: A, outputs: Like<R>) => readonly (Tensor | null)[],
): (...inputs: A) => Like<R> {
  checkFunction('customGradient: f', f);
  checkFunction('customGradient: backward', backward);
  return (...inputs) => {
    const given = listOf('customGradient: inputs', inputs);
    const result = f(...inputs);
    const outputs = outputsOf('customGradient: the result of f', result);
    const parts = outputs.flatMap((node) => {
      checkDifferentiable('customGradient: the result of f', node);
      return partsOf(node);
    });
    // The adjoint of one real output, or of all parts as a vector.
    const isOne = parts.length === 1;
    const value = isOne ? (parts[0] as Node) : concat(parts.map((part) => reshaped(cast(part, 'f32'), [product(part.shape)])), 0);
    const adjoint = adjointNode(value);
    const adjoints = isOne ? [adjoint] : apart(adjoint, parts);
    const shares = backward(inForm(result, outputs.map((node) => ofParts(node, adjoints))), inputs, result as unknown as Like<R>) as unknown;
    const operands = [value, adjoint, ...sharesOf(given, shares)];
    checkWithoutLoops(operands, adjoint);
    const whole = new Node('customGradient', value.dtype, value.shape, operands);
    const found = isOne ? [whole] : apart(whole, parts);
    return inForm(result, outputs.map((node) => ofParts(node, found)));
  };
}

/** Parts of a vector, with the types and shapes of others. */
function apart(vector: Node, like: readonly Node[]): Node[] {
  let start: Size = 0;
  return like.map(({ dtype, shape }) => {
    const end = plus(start, product(shape));
    const part = reshaped(slice(vector, [[start, end]]), shape);
    start = end;
    return cast(part, dtype);
  });
}

/** Pairs of what a derivative is by and its adjoint. */
function sharesOf(given: readonly Node[], shares: unknown): Node[] {
  if (!Array.isArray(shares) || shares.length !== given.length) {
    throw invalidArgument('customGradient: the result of backward', describe(shares), `an array of ${given.length} Tensors or null, one an input`);
  }
  return given.flatMap((input, k) => {
    if (shares[k] === null) return [];
    const argument = `customGradient: the result of backward[${k}]`;
    const node = nodeOf(argument, shares[k]);
    if (!REAL_OR_COMPLEX.includes(input.dtype)) throw invalidArgument(argument, nodeText(node), `null, as the input is ${nodeText(input)}`);
    if (node.dtype !== input.dtype || !sameShape(node.shape, input.shape)) throw invalidArgument(argument, nodeText(node), `${nodeText(input)}, as the input is`);
    const [by, of] = [partsOf(input), partsOf(node)];
    return by.flatMap((part, place) => [part, of[place] as Node]);
  });
}

/** Throws where a loop depends on an adjoint, which is another one in each derivative. */
function checkWithoutLoops(nodes: readonly Node[], adjoint: Node): void {
  const dependence = new Dependence(nodes);
  if (dependence.loops.length === 0) return;
  const depends = new Set([adjoint]);
  const operandsOf = (node: Node) => dependence.operandsOf(node, null);
  inOrder(nodes, operandsOf, (node) => {
    if (!operandsOf(node).some((each) => depends.has(each))) return;
    depends.add(node);
    if (node.op === 'input') throw invalidArgument('customGradient: backward', 'a loop() or scan() over the adjoint', 'functions without, as the adjoint is another one in each derivative');
  });
}
