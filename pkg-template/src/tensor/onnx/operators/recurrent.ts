/** Recurrent layers: a step is compiled once and runs along the sequence; the product with the inputs is one for all steps. */

import { describe, invalidArgument } from '../../../arguments/errors.js';
import { stack, where } from '../../functions.js';
import { scan } from '../../loops.js';
import { sizeText, type Size } from '../../size.js';
import { arange, zeros } from '../../sources.js';
import type { Tensor } from '../../tensor.js';
import { numberSizes, type Call, type Operator } from '../call.js';
import { dynamicProduct } from './quantised.js';

type Activation = (x: Tensor) => Tensor;

/** An activation by its name in ONNX. */
function activationNamed(name: string, alpha: number | undefined, beta: number | undefined): Activation {
  const activations: Readonly<Record<string, Activation>> = {
    sigmoid: (x) => x.sigmoid(), tanh: (x) => x.tanh(), relu: (x) => x.relu(), softplus: (x) => x.softplus(), softsign: (x) => x.softsign(),
    affine: (x) => x.mul(alpha ?? 1).add(beta ?? 0), leakyrelu: (x) => x.leakyRelu(alpha ?? 0.01), elu: (x) => x.elu(alpha ?? 1),
    thresholdedrelu: (x) => where(x.gte(alpha ?? 1), x, 0), scaledtanh: (x) => x.mul(beta ?? 1).tanh().mul(alpha ?? 1), hardsigmoid: (x) => x.mul(alpha ?? 0.2).add(beta ?? 0.5).clamp(0, 1),
  };
  const found = activations[name.toLowerCase()];
  if (found === undefined) throw invalidArgument('attribute activations', describe(name), Object.keys(activations).join(', '));
  return found;
}

/** A step of one direction: from the products of its input and the state to the next state, of which the first tensor is the output. */
type Step = (products: Tensor, state: readonly Tensor[]) => readonly Tensor[];

/** What the layers have in common. */
interface Layer {
  /** How many gates a step has. */
  readonly gates: number;
  readonly activations: readonly string[];
  /** Tensors of a state. */
  readonly states: number;
  step(direction: Direction): Step;
}

interface Direction {
  readonly call: Call;
  readonly size: number;
  /** The product of a state with the weights of the recurrence [size, gates · size], or with columns of them. */
  readonly recur: (state: Tensor, from?: number, to?: number) => Tensor;
  /** Biases of the recurrence [gates · size], where there are biases. */
  readonly bias: Tensor | null;
  readonly peepholes: readonly Tensor[] | null;
  readonly activations: readonly Activation[];
  readonly clipped: (x: Tensor) => Tensor;
}

const part = (x: Tensor, k: number, size: number) => x.slice(...x.shape.slice(1).map(() => null), [k * size, (k + 1) * size]);

const LSTM: Layer = {
  gates: 4,
  activations: ['Sigmoid', 'Tanh', 'Tanh'],
  states: 2,
  step: ({ call, size, recur, bias, peepholes, activations: [f, g, h], clipped }) => (products, [hidden, cell]) => {
    const sums = added(products.add(recur(hidden as Tensor)), bias);
    const gate = (k: number) => part(sums, k, size);
    const peep = (x: Tensor, k: number, of: Tensor) => (peepholes === null ? x : x.add((peepholes[k] as Tensor).mul(of)));
    const input = (f as Activation)(clipped(peep(gate(0), 0, cell as Tensor)));
    const forget = call.flag('input_forget') ? input.mul(-1).add(1) : (f as Activation)(clipped(peep(gate(2), 2, cell as Tensor)));
    const next = forget.mul(cell as Tensor).add(input.mul((g as Activation)(clipped(gate(3)))));
    const output = (f as Activation)(clipped(peep(gate(1), 1, next)));
    return [output.mul((h as Activation)(next)), next];
  },
};

const GRU: Layer = {
  gates: 3,
  activations: ['Sigmoid', 'Tanh'],
  states: 1,
  step: ({ call, size, recur, bias, activations: [f, g], clipped }) => {
    const ofGates = (state: Tensor) => recur(state, 0, 2 * size);
    const ofHidden = (state: Tensor) => recur(state, 2 * size, 3 * size);
    const [biasOfGates, biasOfHidden] = bias === null ? [null, null] : [bias.slice([0, 2 * size]), bias.slice([2 * size])];
    const isLinearFirst = call.flag('linear_before_reset');
    return (products, [hidden]) => {
      const state = hidden as Tensor;
      const gates = added(products.slice(null, [0, 2 * size]).add(ofGates(state)), biasOfGates);
      const [update, reset] = [(f as Activation)(clipped(part(gates, 0, size))), (f as Activation)(clipped(part(gates, 1, size)))];
      const inner = isLinearFirst ? reset.mul(added(ofHidden(state), biasOfHidden)) : added(ofHidden(reset.mul(state)), biasOfHidden);
      const candidate = (g as Activation)(clipped(products.slice(null, [2 * size]).add(inner)));
      return [candidate.add(update.mul(state.sub(candidate)))];
    };
  },
};

const RNN: Layer = {
  gates: 1,
  activations: ['Tanh'],
  states: 1,
  step: ({ recur, bias, activations: [f], clipped }) => (products, [hidden]) => [(f as Activation)(clipped(added(products.add(recur(hidden as Tensor)), bias)))],
};

function added(x: Tensor, bias: Tensor | null): Tensor {
  return bias === null ? x : x.add(bias);
}

/** How inputs and states are multiplied by the weights of a direction. */
interface Weights {
  readonly directions: number;
  readonly size: number;
  input(x: Tensor, direction: number): Tensor;
  recur(direction: number): Direction['recur'];
}

/** W [directions, gates · size, in], R [directions, gates · size, size]. */
function realWeights(call: Call): Weights {
  const [directions, , size] = numberSizes('input 2', call.tensor(2)) as readonly [number, number, number];
  return {
    directions, size,
    input: (x, d) => x.matmul(call.tensor(1).pick(0, d).T),
    recur: (d) => {
      const matrix = call.tensor(2).pick(0, d).T;
      return (state, from = 0, to) => state.matmul(to === undefined ? matrix : matrix.slice(null, [from, to]));
    },
  };
}

/** W [directions, in, gates · size] and R [directions, size, gates · size] of 8 bits; all inputs, and the states of each step, are quantised by their extremes. */
function quantisedWeights(call: Call): Weights {
  if (call.has(4)) throw invalidArgument('input 4', 'lengths of sequences', 'none: what is beyond them would be among the extremes');
  const [directions, size] = numberSizes('input 2', call.tensor(2)) as readonly [number, number, number];
  const product = (x: Tensor, d: number, weight: number, scale: number, zero: number) => {
    const of = (place: number) => call.tensor(place).pick(0, d);
    return dynamicProduct(x, call.has(zero) ? of(weight).cast('i32').sub(of(zero).cast('i32')) : of(weight).cast('i32'), of(scale));
  };
  return { directions, size, input: (x, d) => product(x, d, 1, 8, 9), recur: (d) => (state) => product(state, d, 2, 10, 11) };
}

/** X [steps, batch, in], B [directions, 2 · gates · size]. */
function recurrent(call: Call, layer: Layer, weights: Weights): readonly (Tensor | null)[] {
  const isBatchFirst = call.flag('layout');
  const given = call.tensor(0);
  const x = isBatchFirst ? given.transpose(0, 1) : given;
  const [steps, batch] = x.shape as readonly [Size, Size, Size];
  const { directions, size } = weights;
  const direction = call.choice('direction', ['forward', 'reverse', 'bidirectional'], 'forward');
  if (directions !== (direction === 'bidirectional' ? 2 : 1) || steps === 0) throw invalidArgument('input 2', `${directions} directions and ${sizeText(steps)} steps`, `at least a step, and directions for '${direction}'`);
  const clip = call.float('clip', 0);
  const clipped = (y: Tensor) => (clip > 0 ? y.clamp(-clip, clip) : y);
  const lengths = call.maybe(4)?.cast('i32').reshape([batch, 1]);
  const outputs: Tensor[] = [];
  const lasts: Tensor[][] = [];
  for (let d = 0; d < directions; d++) {
    const bias = call.has(3) ? call.tensor(3).pick(0, d) : null;
    const width = layer.gates * size;
    const products = added(weights.input(x, d), bias === null ? null : bias.slice([0, width]));
    const peepholes = call.has(7) && layer === LSTM ? call.tensor(7).pick(0, d) : null;
    const step = layer.step({
      call, size, recur: weights.recur(d), bias: bias === null ? null : bias.slice([width]), clipped,
      peepholes: peepholes === null ? null : [0, 1, 2].map((k) => peepholes.slice([k * size, (k + 1) * size])),
      activations: layer.activations.map((name, k) => activationAt(call, d * layer.activations.length + k, name)),
    });
    const first = Array.from({ length: layer.states }, (_, k) => initial(call, 5 + k, d, [batch, size], x));
    const [last, output] = scan({ products, t: arange(steps, 'i32') }, first, (state, { products: sums, t }) => {
      const next = step(sums, state);
      // Beyond the length of a sequence its state stays, and its output is 0.
      const runs = lengths?.gt(t);
      if (runs === undefined) return [next, next[0] as Tensor];
      return [next.map((each, k) => where(runs, each, state[k] as Tensor)), where(runs, next[0] as Tensor, 0)];
    }, { reverse: direction === 'reverse' || d === 1 });
    outputs.push(output);
    lasts.push(last);
  }
  const last = (k: number) => {
    const states = stack(lasts.map((state) => state[k] as Tensor));
    return isBatchFirst ? states.transpose(0, 1) : states;
  };
  const all = () => (isBatchFirst ? stack(outputs, 2).permute([1, 0, 2, 3]) : stack(outputs, 1));
  return [call.wants(0) ? all() : null, call.wants(1) ? last(0) : null, call.wants(2) && layer.states > 1 ? last(1) : null];
}

function activationAt(call: Call, place: number, fallback: string): Activation {
  const names = call.texts('activations');
  return activationNamed(names?.[place] ?? fallback, call.floats('activation_alpha')?.[place], call.floats('activation_beta')?.[place]);
}

function initial(call: Call, place: number, direction: number, sizes: readonly Size[], x: Tensor): Tensor {
  if (!call.has(place)) return zeros(sizes, x.dtype);
  const given = call.tensor(place);
  return (call.flag('layout') ? given.transpose(0, 1) : given).pick(0, direction);
}

export const RECURRENT_OPERATORS: Readonly<Record<string, Operator>> = {
  LSTM: (call) => recurrent(call, LSTM, realWeights(call)), GRU: (call) => recurrent(call, GRU, realWeights(call)), RNN: (call) => recurrent(call, RNN, realWeights(call)),
  'com.microsoft.DynamicQuantizeLSTM': (call) => recurrent(call, LSTM, quantisedWeights(call)),
};
