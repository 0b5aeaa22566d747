/** The model that the page opens with: a small convolutional net with made weights, written as a file of ONNX. It classifies nothing; it is there to be run. */
import { seededNoise } from '../problems/seeded-noise.js';
import { bytesField, intField, joined, textField, valueInfo } from './onnx-file.js';

const [FLOAT, INT64] = [1, 7];
const OPSET = 17;

const { normal } = seededNoise(3);

function floats(name, sizes, scale) {
  const count = sizes.reduce((product, size) => product * size, 1);
  const numbers = Float32Array.from({ length: count }, () => scale * normal());
  return bytesField(5, joined([...sizes.map((size) => intField(1, size)), intField(2, FLOAT), textField(8, name), bytesField(9, new Uint8Array(numbers.buffer))]));
}

/** An attribute: a whole number, or a list of them. */
function attribute([name, value]) {
  const list = Array.isArray(value);
  return bytesField(5, joined([textField(1, name), ...(list ? value.map((each) => intField(8, each)) : [intField(3, value)]), intField(20, list ? INT64 : 2)]));
}

const node = (operator, name, inputs, output, attributes = {}) =>
  bytesField(1, joined([...inputs.map((input) => textField(1, input)), textField(2, output), textField(3, name), textField(4, operator), ...Object.entries(attributes).map(attribute)]));

/** The bytes of the file. Weights keep the variance of what they multiply. */
export function exampleFile() {
  const pads = { kernel_shape: [3, 3], pads: [1, 1, 1, 1] };
  const graph = joined([
    node('Conv', 'edges', ['picture', 'w1', 'b1'], 'c1', pads),
    node('Relu', 'edges, positive', ['c1'], 'r1'),
    node('MaxPool', 'half as large', ['r1'], 'p1', { kernel_shape: [2, 2], strides: [2, 2] }),
    node('Conv', 'shapes', ['p1', 'w2', 'b2'], 'c2', pads),
    node('Sigmoid', 'gate', ['c2'], 'g2'),
    node('Mul', 'gated', ['c2', 'g2'], 'm2'),
    node('GlobalAveragePool', 'over the picture', ['m2'], 'a2'),
    node('Flatten', 'features', ['a2'], 'f2'),
    node('Gemm', 'classes', ['f2', 'w3', 'b3'], 'logits'),
    node('Softmax', 'shares', ['logits'], 'probabilities', { axis: 1 }),
    textField(2, 'example'),
    floats('w1', [8, 3, 3, 3], Math.sqrt(2 / 27)), floats('b1', [8], 0.1), floats('w2', [16, 8, 3, 3], Math.sqrt(2 / 72)), floats('b2', [16], 0.1), floats('w3', [16, 5], 0.5), floats('b3', [5], 0.1),
    valueInfo(11, 'picture', FLOAT, ['batch', 3, 32, 32]),
    valueInfo(12, 'probabilities', FLOAT, ['batch', 5]),
  ]);
  return joined([intField(1, 8), textField(2, 'residua'), bytesField(7, graph), bytesField(8, joined([textField(1, ''), intField(2, OPSET)]))]);
}
