/** A writer of ONNX graphs (onnx.proto of ONNX 1.17: field numbers and codes of types): nodes, constants, inputs and outputs become the bytes of a model. */
import { bytes, joined, message, single, whole } from './protobuf.js';

const [FLOAT, INT64] = [1, 7];
const [ATTRIBUTE_FLOAT, ATTRIBUTE_INT, ATTRIBUTE_INTS] = [1, 2, 7];
const IR_VERSION = 10;
/** The first with Gelu. */
const OPSET = 20;

export class Graph {
  #nodes = [];
  #constants = [];
  #count = 0;

  /** A node with one result, whose name is returned. An attribute is a number in a Float32Array, a whole number or a list of whole numbers. */
  node(type, inputs, attributes = {}, result = `${type.toLowerCase()}_${this.#count++}`) {
    const written = Object.entries(attributes).map(([name, value]) => {
      if (value instanceof Float32Array) return bytes(5, message(bytes(1, name), single(2, value[0]), whole(20, ATTRIBUTE_FLOAT)));
      if (typeof value === 'number') return bytes(5, message(bytes(1, name), whole(3, value), whole(20, ATTRIBUTE_INT)));
      return bytes(5, message(bytes(1, name), ...value.map((entry) => whole(8, entry)), whole(20, ATTRIBUTE_INTS)));
    });
    this.#nodes.push(bytes(1, message(...inputs.map((name) => bytes(1, name)), bytes(2, result), bytes(3, result), bytes(4, type), ...written)));
    return result;
  }

  /** A constant, by its name: Float32Array, or BigInt64Array for whole numbers. */
  constant(numbers, shape = [numbers.length], name = `constant_${this.#count++}`) {
    const type = numbers instanceof Float32Array ? FLOAT : INT64;
    this.#constants.push(bytes(5, message(...shape.map((size) => whole(1, size)), whole(2, type), bytes(8, name), bytes(9, numbers))));
    return name;
  }

  /** The bytes of the model. Inputs and outputs are `{ name, type: 'float' | 'int64', shape }`; a size in letters may be any number. */
  model(inputs, outputs) {
    const value = (field) => ({ name, type, shape }) => {
      const sizes = shape.map((size) => bytes(1, typeof size === 'number' ? message(whole(1, size)) : message(bytes(2, size))));
      const tensor = message(whole(1, type === 'float' ? FLOAT : INT64), bytes(2, message(...sizes)));
      return bytes(field, message(bytes(1, name), bytes(2, message(bytes(1, tensor)))));
    };
    const graph = message(...this.#nodes, bytes(2, 'made'), ...this.#constants, ...inputs.map(value(11)), ...outputs.map(value(12)));
    return joined(message(whole(1, IR_VERSION), bytes(2, 'residua benchmarks'), bytes(7, graph), bytes(8, message(whole(2, OPSET)))));
  }
}
