/** Recurrent layers. Keras has the batch first, the gates in another order, and one bias where ONNX has two. */

import { invalidArgument } from '../../../arguments/errors.js';
import type { Fields } from '../fields.js';
import { recurrentActivation } from './activations.js';
import type { Layer, LayerCall, Ranked } from './call.js';

/** A kind of recurrence: ONNX' operator, the gates of Keras in ONNX' order, and how many tensors a state has. */
interface Cell {
  readonly operator: 'RNN' | 'LSTM' | 'GRU';
  readonly gates: readonly number[];
  readonly states: number;
  /** Settings of activations in ONNX' order. */
  readonly activations: readonly ('activation' | 'recurrent_activation')[];
}

const CELLS: Readonly<Record<string, Cell>> = {
  SimpleRNN: { operator: 'RNN', gates: [0], states: 1, activations: ['activation'] },
  LSTM: { operator: 'LSTM', gates: [0, 3, 1, 2], states: 2, activations: ['recurrent_activation', 'activation', 'activation'] },
  GRU: { operator: 'GRU', gates: [0, 1, 2], states: 1, activations: ['recurrent_activation', 'activation'] },
};

const DEFAULTS = { activation: 'tanh', recurrent_activation: 'hard_sigmoid' } as const;

/** What a recurrence gives: the outputs of all steps [batch, steps, size], in the order of the sequence, and the last states [batch, size]. */
interface Run {
  readonly sequence: string;
  readonly last: readonly string[];
}

/** Columns of Keras' gates in ONNX' order, as rows. */
function rows(call: LayerCall, cell: Cell, matrix: string): string {
  const { builder } = call;
  const parts = cell.gates.length === 1 ? [matrix] : builder.several('Split', [matrix], cell.gates.length, { axis: 1, num_outputs: cell.gates.length });
  const joined = parts.length === 1 ? (parts[0] as string) : builder.node('Concat', cell.gates.map((gate) => parts[gate] as string), { axis: 1 });
  return builder.node('Unsqueeze', [builder.node('Transpose', [joined], { perm: [1, 0] }), builder.ints([0])]);
}

/** Both biases of ONNX, one after the other. Keras' GRU has two where the reset comes after the product, else a layer has one. */
function biases(call: LayerCall, cell: Cell, width: number): string | null {
  const { builder, bias } = call;
  if (bias === null) return null;
  const sizes = builder.sizesOf(bias) ?? [];
  const whole = builder.node('Reshape', [bias, builder.ints([-1, width])]);
  const ordered = rows(call, cell, whole);
  const flat = builder.node('Reshape', [builder.node('Transpose', [ordered], { perm: [0, 2, 1] }), builder.ints([1, -1])]);
  if (sizes.length === 2) return flat;
  const zeros = builder.node('Expand', [builder.floats(0), builder.ints([1, width])]);
  return builder.node('Concat', [flat, zeros], { axis: 1 });
}

/** `lengths` are the numbers of steps that count, of which the first ones do; '' where all do. */
function runAll(call: LayerCall, cell: Cell, x: string, states: readonly Ranked[], isReversed: boolean, lengths: string): Run {
  const { builder, config } = call;
  const recurrent = call.sized('recurrent_kernel', 2);
  const [size, width] = recurrent.sizes as readonly [number, number];
  if (width !== size * cell.gates.length) throw invalidArgument(`${config.place}: weight recurrent_kernel`, `the shape [${recurrent.sizes.join(', ')}]`, `${cell.gates.length} columns for each row`);
  const isResetLast = cell.operator === 'GRU' && config.flag('reset_after');
  const bias = biases(call, cell, width);
  const initial = states.map(({ name }) => builder.node('Unsqueeze', [name, builder.ints([1])]));
  const inputs = [x, rows(call, cell, call.sized('kernel', 2).name), rows(call, cell, recurrent.name), bias ?? '', lengths, ...initial];
  const [sequence, ...last] = builder.several(cell.operator, inputs, 1 + cell.states, {
    hidden_size: size, layout: 1, direction: isReversed ? 'reverse' : 'forward', linear_before_reset: Number(isResetLast),
    activations: cell.activations.map((setting) => recurrentActivation(call, setting, DEFAULTS[setting])),
  });
  const without = (name: string, axis: number) => builder.node('Squeeze', [name, builder.ints([axis])]);
  return { sequence: without(sequence as string, 2), last: last.map((name) => without(name, 1)) };
}

/** A run in which masked steps keep the state: those that count are brought to the front, in their order. */
function run(call: LayerCall, cell: Cell, { name: x, mask: given }: Ranked, states: readonly Ranked[], isReversed: boolean): Run {
  if (given === undefined) return runAll(call, cell, x, states, isReversed, '');
  const { builder } = call;
  const inOrder = (name: string) => (isReversed ? flipped(call, name) : name);
  const counts = builder.node('Cast', [inOrder(given)], { to: 6 });
  const along = builder.ints([1]);
  const sums = (values: string) => builder.node('CumSum', [values, along]);
  // Of steps that count the keys are less than those of all others, and both keep their order.
  const places = sums(builder.node('Cast', [builder.node('Equal', [counts, counts])], { to: 6 }));
  const keys = builder.node('Sub', [places, builder.node('Mul', [counts, builder.node('Cast', [builder.ints([2 ** 24])], { to: 6 })])]);
  const [, order] = builder.several('TopK', [keys, builder.node('Shape', [counts], { start: 1, end: 2 })], 2, { axis: 1, largest: 0, sorted: 1 });
  const taken = (values: string, indices: string) => {
    const all = builder.node('Expand', [builder.node('Unsqueeze', [indices, builder.ints([2])]), builder.node('Shape', [values])]);
    return builder.node('GatherElements', [values, all], { axis: 1 });
  };
  const lengths = builder.node('ReduceSum', [counts, along], { keepdims: 0 });
  const { sequence, last } = runAll(call, cell, taken(inOrder(x), order as string), states, false, lengths);
  // After each step the latest one that counts; before all of them the initial state.
  const number = sums(counts);
  const zero = builder.node('Cast', [builder.ints([0])], { to: 6 });
  const latest = taken(sequence, builder.node('Max', [builder.node('Sub', [number, builder.node('Cast', [along], { to: 6 })]), zero]));
  const isBegun = builder.node('Unsqueeze', [builder.node('Greater', [number, zero]), builder.ints([2])]);
  const initial = states[0] === undefined ? builder.floats(0) : builder.node('Unsqueeze', [states[0].name, builder.ints([1])]);
  return { sequence: inOrder(builder.node('Where', [isBegun, latest, initial])), last };
}

function checkSettings(call: LayerCall): void {
  call.refuse('stateful', (value) => value === false, 'false');
  call.refuse('return_state', (value) => typeof value === 'boolean', 'true or false');
}

/** The order of steps turned around. */
function flipped({ builder }: LayerCall, x: string): string {
  const [start, end, axis, step] = [-1, -(2 ** 31 - 1), 1, -1].map((value) => builder.ints([value]));
  return builder.node('Slice', [x, start as string, end as string, axis as string, step as string]);
}

/** The sequence, and initial states where they are given. */
function split(call: LayerCall, cell: Cell, directions: number): { readonly x: Ranked; readonly states: readonly Ranked[] } {
  const [x, ...states] = call.inputs;
  const count = cell.states * directions;
  if (x === undefined || x.rank !== 3 || (states.length > 0 && states.length !== count) || states.some(({ rank }) => rank !== 2)) {
    throw invalidArgument(`${call.config.place}: inputs`, `tensors of ${call.inputs.map(({ rank }) => rank).join(', ')} axes`, `one of 3 axes, with ${count} states of 2 axes or none`);
  }
  return { x, states };
}

const recurrent = (cell: Cell): Layer => (call) => {
  const { config } = call;
  checkSettings(call);
  const { x, states } = split(call, cell, 1);
  const isReversed = config.flag('go_backwards');
  const { sequence, last } = run(call, cell, x, states, isReversed);
  // The outputs come in the order of the steps as they ran.
  if (x.mask !== undefined && isReversed && config.flag('return_sequences')) throw config.wrong('go_backwards', true, 'false with return_sequences and masked steps');
  const mask = x.mask === undefined ? {} : { mask: x.mask };
  const output = config.flag('return_sequences') ? { name: isReversed ? flipped(call, sequence) : sequence, rank: 3, ...mask } : { name: last[0] as string, rank: 2 };
  return config.flag('return_state') ? [output, ...last.map((name) => ({ name, rank: 2 }))] : output;
};

/** RNN with a cell: the cell has the settings of the layer of its kind. */
const ofCell: Layer = (call) => {
  const inner = call.config.object('cell');
  const cell = Object.hasOwn(CELLS, inner.text('class_name').replace(/Cell$/, '')) ? (CELLS[inner.text('class_name').replace(/Cell$/, '')] as Cell) : null;
  if (cell === null) throw inner.wrong('class_name', inner.text('class_name'), Object.keys(CELLS).map((name) => `${name}Cell`).join(', '));
  return recurrent(cell)(call.wrapped(both(call.config, inner.object('config')), null));
};

/** Settings of a layer and of its cell as one object. */
function both(outer: Fields, inner: Fields): Fields {
  return outer.with(Object.fromEntries(inner.names.map((name) => [name, inner.any(name)])));
}

/** A layer on the sequence and one on the sequence turned around. */
const bidirectional: Layer = (call) => {
  const { builder, config } = call;
  const layer = config.object('layer');
  const kind = layer.text('class_name');
  if (!Object.hasOwn(CELLS, kind)) throw layer.wrong('class_name', kind, Object.keys(CELLS).join(', '));
  const cell = CELLS[kind] as Cell;
  const settings = layer.object('config');
  const { x, states } = split(call, cell, 2);
  const direction = (prefix: string, k: number) => {
    const inner = call.wrapped(settings, `${prefix}_${settings.text('name')}`);
    checkSettings(inner);
    const own = states.slice(k * cell.states, k * cell.states + (states.length === 0 ? 0 : cell.states));
    return run(inner, cell, x, own, settings.flag('go_backwards') !== (k === 1));
  };
  const [forward, backward] = [direction('forward', 0), direction('backward', 1)];
  const isSequence = settings.flag('return_sequences');
  if (isSequence && settings.flag('go_backwards')) throw settings.wrong('go_backwards', true, 'false within Bidirectional');
  const [a, b] = [forward, backward].map(({ sequence, last }) => (isSequence ? sequence : (last[0] as string))) as [string, string];
  const rank = isSequence ? 3 : 2;
  const modes: Readonly<Record<string, () => string>> = {
    concat: () => builder.node('Concat', [a, b], { axis: -1 }), sum: () => builder.node('Add', [a, b]), mul: () => builder.node('Mul', [a, b]), ave: () => builder.node('Mean', [a, b]),
  };
  const mode = config.names.includes('merge_mode') ? config.any('merge_mode') : 'concat';
  if (mode !== null && (typeof mode !== 'string' || !Object.hasOwn(modes, mode))) throw config.wrong('merge_mode', mode, `null, ${Object.keys(modes).join(', ')}`);
  const outputs = mode === null ? [a, b] : [(modes[mode as string] as () => string)()];
  const lasts = settings.flag('return_state') ? [...forward.last, ...backward.last].map((name) => ({ name, rank: 2 })) : [];
  const mask = x.mask === undefined || !isSequence ? {} : { mask: x.mask };
  return [...outputs.map((name) => ({ name, rank, ...mask })), ...lasts];
};

export const RECURRENT_LAYERS: Readonly<Record<string, Layer>> = {
  ...Object.fromEntries(Object.entries(CELLS).map(([name, cell]) => [name, recurrent(cell)])), RNN: ofCell, Bidirectional: bidirectional,
};
