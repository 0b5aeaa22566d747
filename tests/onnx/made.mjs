/** Small models that have every kind of field of a file: subgraphs, functions, quantised weights, all ways to list numbers. */
import { bytes, float, int, model, node, rawData, text } from './writer.mjs';

/** Numbers that look random, from −1 to 1. */
export const noise = (count, seed = 1) => Array.from({ length: count }, (_, i) => Math.fround(Math.sin((i + 1) * 12.9898 * seed) * 43758.5453 % 1));

const floats = (name, sizes, seed) => ({ name, type: 'float', sizes, data: noise(sizes.reduce((a, b) => a * b, 1), seed) });
const ints = (name, ...data) => ({ name, type: 'int64', sizes: [data.length], data });
const scalar = (name, type, value) => ({ name, type, sizes: [], data: [value] });

/** A picture through convolution, normalisation, pool and a dense layer, with shape arithmetic of an exporter. */
const picture = () => ({
  file: model({
    nodes: [
      { op: 'Conv', name: 'conv', inputs: ['x', 'w', 'b'], outputs: ['c'], attributes: { pads: [1, 1, 1, 1], strides: [2, 2], kernel_shape: [3, 3] } },
      { op: 'BatchNormalization', name: 'norm', inputs: ['c', 'g', 'b', 'm', 'v'], outputs: ['n'], attributes: { epsilon: { float: 1e-3 } } },
      { op: 'Relu', name: 'relu', inputs: ['n'], outputs: ['r'] },
      { op: 'MaxPool', name: 'pool', inputs: ['r'], outputs: ['p'], attributes: { kernel_shape: [2, 2], strides: [2, 2], ceil_mode: 1 } },
      { op: 'Shape', name: 'shape', inputs: ['p'], outputs: ['s'] },
      { op: 'Gather', name: 'first', inputs: ['s', 'zero'], outputs: ['n0'], attributes: { axis: 0 } },
      { op: 'Unsqueeze', name: 'wide', inputs: ['n0', 'axes'], outputs: ['n1'] },
      { op: 'Concat', name: 'target', inputs: ['n1', 'rest'], outputs: ['t'], attributes: { axis: 0 } },
      { op: 'Reshape', name: 'flat', inputs: ['p', 't'], outputs: ['f'] },
      { op: 'Gemm', name: 'dense', inputs: ['f', 'd', 'e'], outputs: ['y'], attributes: { transB: 1, alpha: { float: 0.5 } } },
      { op: 'Softmax', name: 'softmax', inputs: ['y'], outputs: ['probabilities'], attributes: { axis: -1 } },
    ],
    initializers: [floats('w', [4, 3, 3, 3], 1), floats('b', [4], 2), floats('g', [4], 3), floats('m', [4], 4), { name: 'v', type: 'float', sizes: [4], data: [1, 2, 3, 4] }, scalar('zero', 'int64', 0), ints('axes', 0), ints('rest', -1), floats('d', [5, 16], 5), floats('e', [5], 6)],
    inputs: [{ name: 'x', type: 'float', shape: ['batch', 3, 8, 8] }],
    outputs: [{ name: 'probabilities', type: 'float', shape: ['batch', 5] }],
  }),
  feeds: { x: { data: noise(192), shape: [1, 3, 8, 8] } },
});

/** A recurrent layer in a condition, with a state. */
const speech = () => ({
  file: model({
    opset: 16,
    nodes: [
      { op: 'Equal', name: 'is fast', inputs: ['rate', 'fast'], outputs: ['condition'] },
      { op: 'If', name: 'choice', inputs: ['condition'], outputs: ['h'], attributes: {
        then_branch: { graph: { nodes: [{ op: 'LSTM', name: 'lstm', inputs: ['x', 'W', 'R', 'B', '', 'h0', 'c0'], outputs: ['', 'last'], attributes: { hidden_size: 3 } }], outputs: [{ name: 'last', type: 'float' }] } },
        else_branch: { graph: { nodes: [{ op: 'ReduceMean', name: 'mean', inputs: ['h0'], outputs: ['m'], attributes: { axes: [0], keepdims: 1 } }], outputs: [{ name: 'm', type: 'float' }] } },
      } },
      { op: 'Sigmoid', name: 'out', inputs: ['h'], outputs: ['y'] },
    ],
    initializers: [scalar('fast', 'int64', 16000), floats('W', [1, 12, 2], 1), floats('R', [1, 12, 3], 2), floats('B', [1, 24], 3)],
    inputs: [{ name: 'x', type: 'float', shape: [4, 1, 2] }, { name: 'rate', type: 'int64', shape: [] }, { name: 'h0', type: 'float', shape: [1, 1, 3] }, { name: 'c0', type: 'float', shape: [1, 1, 3] }],
    outputs: [{ name: 'y', type: 'float' }],
  }),
  feeds: { x: { data: noise(8), shape: [4, 1, 2] }, rate: { data: 16000, shape: [] }, h0: { data: noise(3, 2), shape: [1, 1, 3] }, c0: { data: noise(3, 3), shape: [1, 1, 3] } },
});

/** Loops, numbers that are listed one by one, a function of the file's own, and weights of few bits. */
const lists = () => ({
  file: model({
    opset: 17,
    opsets: { local: 1, 'com.microsoft': 1 },
    functions: [[
      ...text(1, 'Scaled'), ...text(4, 'a'), ...text(5, 'z'), ...text(6, 'by'),
      ...bytes(7, node({ op: 'Constant', inputs: [], outputs: ['k'], attributes: { value_int: { reference: 'by' } } })),
      ...bytes(7, node({ op: 'Cast', inputs: ['k'], outputs: ['kf'], attributes: { to: 1 } })), ...bytes(7, node({ op: 'Mul', inputs: ['a', 'kf'], outputs: ['z'] })),
      ...bytes(9, [...text(1, ''), ...int(2, 17)]), ...text(10, 'local'),
    ]],
    nodes: [
      { op: 'Loop', name: 'loop', inputs: ['trips', '', 'x'], outputs: ['sum', 'all'], attributes: { body: { graph: {
        nodes: [{ op: 'Identity', inputs: ['go'], outputs: ['goes'] }, { op: 'Cast', inputs: ['i'], outputs: ['f'], attributes: { to: 1 } }, { op: 'Add', inputs: ['state', 'f'], outputs: ['next'] }, { op: 'Identity', inputs: ['next'], outputs: ['row'] }],
        inputs: [{ name: 'i', type: 'int64', shape: [] }, { name: 'go', type: 'bool', shape: [] }, { name: 'state', type: 'float' }], outputs: [{ name: 'goes', type: 'bool' }, { name: 'next', type: 'float' }, { name: 'row', type: 'float' }],
      } } } },
      { op: 'Scaled', domain: 'local', name: 'scaled', inputs: ['sum'], outputs: ['s'], attributes: { by: 3 } },
      { op: 'MatMulNBits', domain: 'com.microsoft', name: 'bits', inputs: ['s', 'q', 'scales'], outputs: ['y'], attributes: { K: 32, N: 2, bits: 4, block_size: 32 } },
    ],
    initializers: [
      { name: 'trips', type: 'int64', sizes: [], fields: [int(7, 3)] },
      { name: 'q', type: 'uint8', sizes: [2, 1, 16], raw: rawData('uint8', Array.from({ length: 32 }, (_, i) => (i * 37) % 256)) },
      { name: 'scales', type: 'float', sizes: [2], fields: [float(4, 0.5), float(4, 0.25)] },
    ],
    inputs: [{ name: 'x', type: 'float', shape: [1, 32] }],
    outputs: [{ name: 'y', type: 'float' }, { name: 'all', type: 'float' }],
  }),
  feeds: { x: { data: noise(32), shape: [1, 32] } },
});

/** Attention of an encoder, with shapes that follow from names. */
const encoder = () => ({
  file: model({
    opset: 17,
    opsets: { 'com.microsoft': 1 },
    nodes: [
      { op: 'Gather', name: 'words', inputs: ['table', 'ids'], outputs: ['e'] },
      { op: 'LayerNormalization', name: 'norm', inputs: ['e', 'g', 'b'], outputs: ['n'], attributes: { epsilon: { float: 1e-5 } } },
      { op: 'Attention', domain: 'com.microsoft', name: 'attention', inputs: ['n', 'qkv', 'qkvBias'], outputs: ['a'], attributes: { num_heads: 2 } },
      { op: 'SkipLayerNormalization', domain: 'com.microsoft', name: 'skip', inputs: ['a', 'n', 'g'], outputs: ['s'] },
      { op: 'ReduceMean', name: 'mean', inputs: ['s'], outputs: ['y'], attributes: { axes: [1], keepdims: 0 } },
    ],
    initializers: [floats('table', [10, 8], 1), floats('g', [8], 2), floats('b', [8], 3), floats('qkv', [8, 24], 4), floats('qkvBias', [24], 5)],
    inputs: [{ name: 'ids', type: 'int64', shape: ['batch', 'tokens'] }],
    outputs: [{ name: 'y', type: 'float', shape: ['batch', 8] }],
  }),
  feeds: { ids: { data: [1, 2, 3, 9], shape: [1, 4] } },
});

/** The models by name: `{ file, feeds }` each. */
export const MADE = { picture, speech, lists, encoder };
