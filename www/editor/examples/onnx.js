import { Device } from 'residua/tensor';
import { loadOnnx } from 'residua/tensor/onnx';

// relu(x · w), as a file of 149 bytes. An application has loadOnnx('/model.onnx').
const text = 'CAgSB3Jlc2lkdWE6gQEKFQoBeAoBdxIBcBoAIgZNYXRNdWw6AAoQCgFwEgF5GgAiBFJlbHU6ABIFZ3JhcGgqGwgC' +
  'CAIQAUIBd0oQAACAPwAAgL8AAABAAAAAP1oYCgF4EhMKEQgBEg0KBxIFYmF0Y2gKAggCYhgKAXkSEwoRCAESDQoHEgViYXRjaAoCCAJCBAoAEBE=';
const file = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

const device = await Device.create({ backend: 'cpu' });
const model = await loadOnnx(file, { device });
console.log('Takes', model.inputs.map(({ name, type, shape }) => `${name}: ${type} [${shape}]`).join(', '));

// 41 inputs in one run: t and 0.5 for t from −2 to 2.
const t = Array.from({ length: 41 }, (_, i) => i / 10 - 2);
const { y } = await model.run({ x: { data: t.flatMap((value) => [value, 0.5]), shape: [t.length, 2] } });
const found = await y.data();
console.log('Gives', y.shape, 'the last row', Array.from(found.slice(-2)));

// Both columns: points are the first one, the curve is the second.
plot({ x: t, y: t.map((_, k) => found[2 * k]), curve: t.map((value, k) => [value, found[2 * k + 1]]) });
model.dispose();
device.dispose();
