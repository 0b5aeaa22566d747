/**
 * The meaning of recipes, in double precision, by plain loops: what the tests of recording compare with. It follows the documentation of
 * crates/tensor/src/expr, and is written for small shapes alone.
 */

import { Op } from '../../pkg-template/dist/expressions/op-codes.js';
import { arity } from '../../pkg-template/dist/expressions/tape.js';
import { ELEMENTWISE } from '../../pkg-template/dist/tensor/recipe/elementwise-codes.js';
import { inMemory, inputNode } from '../../pkg-template/dist/tensor/recipe/node.js';
import { termsOf } from '../../pkg-template/dist/tensor/size.js';
import { Random } from '../../pkg-template/dist/tensor/random.js';
import { Tensor } from '../../pkg-template/dist/tensor/tensor.js';

const NAMES = new Map(Object.entries(ELEMENTWISE).map(([name, { code }]) => [code, name]));

/** A tensor whose numbers are given: a list of lists, or a flat list with a shape. A complex number is a list of its two parts. */
export function given(data, dtype = 'f32', shape = dtype === 'c64' ? shapeOf(data).slice(0, -1) : shapeOf(data)) {
  return Tensor.make(inputNode(dtype, shape, { data: [data].flat(Infinity) }));
}

/** A tensor whose numbers are a function of their position in C order. */
export function made(shape, at, dtype = 'f32') {
  return given(Array.from({ length: count(shape) }, (_, i) => at(i)), dtype, shape);
}

function shapeOf(data) {
  return Array.isArray(data) ? [data.length, ...(data.length > 0 ? shapeOf(data[0]) : [])] : [];
}

const count = (shape) => shape.reduce((product, size) => product * size, 1);

/** The elements of a tensor as lists of lists; a complex number is a list of two. */
export function valueOf(tensor, dims = {}) {
  const { data, shape } = new Evaluation(dims).of(inMemory(tensor.node));
  const nest = (axis, from) => {
    if (axis === shape.length) return data[from];
    const inner = count(shape.slice(axis + 1));
    return Array.from({ length: shape[axis] }, (_, i) => nest(axis + 1, from + i * inner));
  };
  return nest(0, 0);
}

/** The elements of a tensor in C order. */
export function flatOf(tensor, dims = {}) {
  return [valueOf(tensor, dims)].flat(Infinity);
}

const wrap = (dtype, x) => {
  if (dtype === 'i32') return Number(BigInt.asIntN(32, BigInt(x)));
  if (dtype === 'u32') return Number(BigInt.asUintN(32, BigInt(x)));
  return dtype === 'u8' ? Number(BigInt.asUintN(8, BigInt(x))) : x;
};

const EXTREME = { i32: [-(2 ** 31), 2 ** 31 - 1], u32: [0, 2 ** 32 - 1], u8: [0, 255], bool: [0, 1] };

function convert(x, from, to) {
  if (to === 'bool') return Number(x !== 0);
  if (isFloat(to)) return x;
  if (x !== x) return 0;
  const [low, high] = EXTREME[to];
  return isFloat(from) ? Math.min(Math.max(Math.trunc(x), low), high) : wrap(to, x);
}

function erf(x) {
  // Its series, of alternating sign, loses digits for large arguments; tests stay below 3.
  let [term, sum] = [x, x];
  for (let n = 1; n < 200; n++) {
    term *= -(x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

const words = new DataView(new ArrayBuffer(4));
const AS = { f32: 'Float32', i32: 'Int32', u32: 'Uint32' };
const isFloat = (dtype) => dtype === 'f32' || dtype === 'f16';

function elementwise(name, dtype, of, x) {
  const [a, b, c] = x;
  const small = dtype === 'i32' || dtype === 'u32' || dtype === 'u8';
  const integer = (value) => wrap(dtype, value);
  switch (name) {
    case 'neg': return small ? integer(-a) : -a;
    case 'erf': return erf(a);
    case 'erfc': return 1 - erf(a);
    case 'sigmoid': return 1 / (1 + Math.exp(-a));
    case 'softplus': return Math.max(a, 0) + Math.log1p(Math.exp(-Math.abs(a)));
    case 'isNaN': return Number(a !== a);
    case 'isFinite': return Number(Number.isFinite(a));
    case 'not': return dtype === 'bool' ? 1 - a : integer(~a);
    case 'stopGradient': return a;
    case 'cast': return convert(a, of, dtype);
    case 'bitcast':
      words[`set${AS[of]}`](0, a);
      return words[`get${AS[dtype]}`](0);
    case 'vectorNorm': return Math.sqrt(a);
    case 'add': return small ? integer(a + b) : a + b;
    case 'sub': return small ? integer(a - b) : a - b;
    case 'mul': return small ? Number(wrap(dtype, BigInt(a) * BigInt(b))) : a * b;
    case 'div': return isFloat(dtype) ? a / b : b === 0 ? 0 : integer(Math.trunc(a / b));
    case 'mod': return isFloat(dtype) ? a % b : b === 0 ? 0 : a % b;
    case 'floorMod': return isFloat(dtype) || b !== 0 ? a - b * Math.floor(a / b) : 0;
    case 'minimum': return Math.min(a, b);
    case 'maximum': return Math.max(a, b);
    case 'eq': return Number(a === b);
    case 'neq': return Number(a !== b);
    case 'lt': return Number(a < b);
    case 'lte': return Number(a <= b);
    case 'gt': return Number(a > b);
    case 'gte': return Number(a >= b);
    case 'and': return integer(a & b);
    case 'or': return integer(a | b);
    case 'xor': return integer(a ^ b);
    case 'shl': return integer(a << b);
    case 'shr': return dtype === 'i32' ? a >> b : a >>> b;
    case 'where': return a ? b : c;
    case 'round': return Math.round(a);
    default: return Math[name](...x);
  }
}

/** Threefry 2×32 with 20 rounds. */
export function threefry(key, counter) {
  const rotations = [13, 15, 26, 6, 17, 29, 16, 24];
  const keys = [key[0], key[1], (0x1bd11bda ^ key[0] ^ key[1]) >>> 0];
  let [x, y] = [(counter[0] + keys[0]) >>> 0, (counter[1] + keys[1]) >>> 0];
  for (let round = 0; round < 20; round++) {
    const by = rotations[round % 8];
    x = (x + y) >>> 0;
    y = (((y << by) | (y >>> (32 - by))) ^ x) >>> 0;
    if (round % 4 === 3) {
      const step = (round + 1) / 4;
      x = (x + keys[step % 3]) >>> 0;
      y = (y + keys[(step + 1) % 3] + step) >>> 0;
    }
  }
  return [x, y];
}

const BEYOND = {
  1: (i, n) => Math.min(Math.max(i, 0), n - 1),
  2: (i, n) => ((i % n) + n) % n,
  3: (i, n) => {
    if (n === 1) return 0;
    const place = ((i % (2 * n - 2)) + 2 * n - 2) % (2 * n - 2);
    return place < n ? place : 2 * n - 2 - place;
  },
};

const MERGE = [(a, b) => a + b, (a, b) => a * b, Math.min, Math.max];
const start = (reduction, dtype) => [0, 1, isFloat(dtype) ? Infinity : EXTREME[dtype][1], isFloat(dtype) ? -Infinity : EXTREME[dtype][0]][reduction];

const SCALAR = new Map(Object.entries(Op).map(([name, code]) => [code, name]));

/** Two states merged by a rule, whose scalar nodes are decoded from the form of the tape. */
function merged({ scalars, results }, a, b) {
  const values = [];
  for (let at = 0; at < scalars.length; ) {
    const code = scalars[at++];
    const operands = Array.from({ length: code < 16 ? 1 : arity(code) }, () => scalars[at++]);
    if (code === Op.literal) values.push(operands[0]);
    else if (code === Op.data) values.push([...a, ...b][operands[0]]);
    else {
      const name = SCALAR.get(code);
      values.push(elementwise(name === 'select' ? 'where' : name, 'f32', 'f32', operands.map((position) => values[position])));
    }
  }
  return results.map((position) => values[position]);
}

class Evaluation {
  known = new Map();

  constructor(dims) {
    this.dims = dims;
  }

  size(size) {
    if (typeof size === 'number') return size;
    return termsOf(size).reduce((sum, { coefficient, dims }) => sum + dims.reduce((product, { name }) => product * this.dims[name], coefficient), 0);
  }

  of(node) {
    let found = this.known.get(node);
    if (found === undefined) {
      const shape = node.shape.map((size) => this.size(size));
      if ([...node.shape, ...node.bounds].some((size) => this.size(size) < 0)) throw new RangeError('a size or a bound is negative for these dims');
      const operands = node.operands.map((operand) => this.of(operand));
      found = { shape, data: this.compute(node, shape, operands) };
      this.known.set(node, found);
    }
    return found;
  }

  compute(node, shape, operands) {
    const attributes = node.attributes.map((attribute) => (typeof attribute === 'object' && 'size' in attribute ? this.size(attribute.size) : attribute));
    const total = count(shape);
    const strides = (sizes) => sizes.map((_, axis) => count(sizes.slice(axis + 1)));
    const own = strides(shape);
    const coordinates = (i) => shape.map((size, axis) => Math.floor(i / own[axis]) % size);
    const fill = (at) => Array.from({ length: total }, (_, i) => at(coordinates(i), i));
    const read = (operand, place) => {
      if (place.some((coordinate, axis) => !(coordinate >= 0 && coordinate < operand.shape[axis]))) throw new RangeError('a place beyond an axis');
      return operand.data[strides(operand.shape).reduce((sum, stride, axis) => sum + stride * place[axis], 0)];
    };
    const aligned = (operand, place) => read(operand, operand.shape.map((size, axis) => (size === 1 ? 0 : place[axis + place.length - operand.shape.length])));
    const [x, y, z] = operands;
    const index = (given, size) => (given < 0 ? given + size : given);
    switch (node.op) {
      case 'input': return node.source instanceof Random ? [Number(node.source.seed & 0xffffffffn), Number(node.source.seed >> 32n), 0] : node.source.data;
      case 'constant':
      case 'extent': return fill(() => attributes[0]);
      case 'iota': return fill((place) => wrap(node.dtype, place[attributes[0]]));
      case 'randomBits': {
        const [low, high, run] = x.data;
        return fill((_, i) => threefry([low, (high + attributes[0]) >>> 0], [i, run])[0]);
      }
      case 'elementwise': {
        const name = NAMES.get(attributes[0]);
        return fill((place) => elementwise(name, node.dtype, node.operands[0].dtype, operands.map((operand) => aligned(operand, place))));
      }
      case 'argsort': {
        const [length, kept] = [x.shape.at(-1), shape.at(-1)];
        const row = (start) => Array.from({ length }, (_, place) => place).sort((a, b) => x.data[start + a] - x.data[start + b]);
        return Array.from({ length: length === 0 ? 0 : x.data.length / length }, (_, k) => row(k * length).slice(0, kept)).flat();
      }
      case 'reshape': return x.data;
      case 'expand': return fill((place) => aligned(x, place));
      case 'permute': return fill((place) => read(x, attributes.map((_, axis) => place[attributes.indexOf(axis)])));
      case 'slice': return fill((place) => read(x, place.map((i, axis) => attributes[axis] + i * attributes[axis + place.length])));
      case 'setSlice':
        return fill((place) => {
          const within = place.map((i, axis) => i - attributes[axis]);
          return within.every((i, axis) => i >= 0 && i < y.shape[axis]) ? read(y, within) : read(x, place);
        });
      case 'pad': {
        const [border, ...before] = attributes;
        return fill((place) => {
          const from = place.map((i, axis) => i - before[axis]);
          if (border > 0) return read(x, from.map((i, axis) => BEYOND[border](i, x.shape[axis])));
          return from.every((i, axis) => i >= 0 && i < x.shape[axis]) ? read(x, from) : y.data[0];
        });
      }
      case 'concat': {
        const [axis] = attributes;
        return fill((place) => {
          let from = place[axis];
          const part = operands.find(({ shape: sizes }) => from < sizes[axis] || ((from -= sizes[axis]), false));
          return read(part, place.map((i, k) => (k === axis ? from : i)));
        });
      }
      case 'windows': {
        const [axis, step, dilation] = attributes;
        return fill((place) => read(x, place.slice(0, -1).map((i, k) => (k === axis ? i * step + place.at(-1) * dilation : i))));
      }
      case 'gather': {
        const [axis] = attributes;
        return fill((place) => {
          const at = index(read(y, place.slice(axis, axis + y.shape.length)), x.shape[axis]);
          return at < 0 || at >= x.shape[axis] ? 0 : read(x, [...place.slice(0, axis), at, ...place.slice(axis + y.shape.length)]);
        });
      }
      case 'gatherElements': {
        const [axis] = attributes;
        return fill((place, i) => {
          const at = index(y.data[i], x.shape[axis]);
          return at < 0 || at >= x.shape[axis] ? 0 : read(x, place.map((own, k) => (k === axis ? at : own)));
        });
      }
      case 'scatter':
      case 'indexPut': {
        const [axis, combine] = attributes;
        const [result, sizes] = [[...x.data], z.shape];
        const steps = strides(sizes);
        z.data.forEach((value, i) => {
          const place = sizes.map((size, k) => Math.floor(i / steps[k]) % size);
          const at = index(node.op === 'scatter' ? y.data[i] : y.data[place[axis]], shape[axis]);
          if (at < 0 || at >= shape[axis]) return;
          const to = own.reduce((sum, stride, k) => sum + stride * (k === axis ? at : place[k]), 0);
          result[to] = combine === 0 ? value : MERGE[combine - 1](result[to], value);
        });
        return result;
      }
      case 'reduce': return this.reduce(node, attributes, x, shape);
      case 'scan': {
        const [reduction, axis, exclusive, reverse] = attributes;
        return fill((place) => {
          const size = shape[axis];
          const order = Array.from({ length: size }, (_, i) => (reverse ? size - 1 - i : i));
          const end = order.indexOf(place[axis]) + (exclusive ? 0 : 1);
          return order.slice(0, end).reduce((sum, i) => wrap(node.dtype, MERGE[reduction](sum, read(x, place.map((own, k) => (k === axis ? i : own))))), start(reduction, node.dtype));
        });
      }
      case 'matmul': {
        const depth = x.shape.at(-1);
        const batch = (operand, place, row, column) => {
          const lead = operand.shape.slice(0, -2).map((size, axis) => (size === 1 ? 0 : place[axis + place.length - operand.shape.length]));
          return read(operand, [...lead, row, column]);
        };
        return fill((place) => {
          const [row, column] = place.slice(-2);
          return Array.from({ length: depth }, (_, k) => batch(x, place, row, k) * batch(y, place, k, column)).reduce((sum, term) => wrap(node.dtype, sum + term), 0);
        });
      }
      case 'attention': {
        const [causal, first, scale, window, cap] = attributes;
        const [mask, keys, depth, shared] = [operands[3], y.shape.at(-2), x.shape.at(-1), x.shape.at(-3) / y.shape.at(-3)];
        return fill((place) => {
          const [head, query, column] = place.slice(-3);
          const lead = place.slice(0, -3);
          const score = (key) => {
            const own = first + query;
            if (((causal === 1 || window > 0) && key > own) || (window > 0 && key <= own - window)) return -Infinity;
            const product = (c) => read(x, [...lead, head, query, c]) * read(y, [...lead, Math.floor(head / shared), key, c]);
            const dot = Array.from({ length: depth }, (_, c) => product(c)).reduce((sum, term) => sum + term, 0) * scale;
            const capped = cap > 0 ? cap * Math.tanh(dot / cap) : dot;
            if (mask === undefined) return capped;
            const found = aligned(mask, [...lead, head, query, key]);
            return node.operands[3].dtype === 'bool' ? (found === 1 ? capped : -Infinity) : capped + found;
          };
          const scores = Array.from({ length: keys }, (_, key) => score(key));
          const weights = scores.map((each) => (each === -Infinity ? 0 : Math.exp(each - Math.max(...scores))));
          const sum = weights.reduce((total, weight) => total + weight, 0);
          const mean = () => weights.reduce((total, weight, key) => total + (weight / sum) * read(z, [...lead, Math.floor(head / shared), key, column]), 0);
          return sum === 0 ? 0 : mean();
        });
      }
      case 'fourier': {
        const [axis, to, length, kind, scale] = attributes;
        const [isReal, sign] = [kind === 3, kind === 0 || kind === 2 ? -1 : 1];
        return fill((place) => {
          const from = place.slice(0, x.shape.length);
          const [k] = from.splice(to, 1);
          from.splice(axis, 0, 0);
          let sum = 0;
          for (let j = 0; j < x.shape[axis]; j++) {
            from[axis] = j;
            // Of real numbers the frequencies that are not their own conjugates stand for two.
            const isAlone = !isReal || (2 * j) % length === 0;
            const [a, b] = [read(x, from), y === undefined || (isReal && isAlone) ? 0 : read(y, from)];
            const angle = (sign * 2 * Math.PI * ((j * k) % length)) / length;
            const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
            sum += (isAlone ? scale : 2 * scale) * (!isReal && place.at(-1) === 1 ? a * sin + b * cos : a * cos - b * sin);
          }
          return sum;
        });
      }
      case 'sparseProduct': {
        const [offsets, columns, values, dense] = operands;
        return fill(([row, ...rest]) => {
          let sum = 0;
          for (let entry = offsets.data[row]; entry < offsets.data[row + 1]; entry++) {
            const value = read(values, [entry, ...rest].slice(0, values.shape.length));
            const column = columns.data[entry];
            sum += value * (column < dense.shape[0] ? read(dense, [column, ...rest]) : 0);
          }
          return sum;
        });
      }
      case 'fold': {
        const [{ rule }, result, ...axes] = node.attributes;
        return this.groups(axes, x, shape).map((group) => group.map((i) => operands.map(({ data }) => data[i])).reduce((a, b) => merged(rule, a, b), rule.identity)[result]);
      }
      case 'scanBy': {
        const [{ rule }, result, axis, exclusive, reverse] = node.attributes;
        const to = new Map();
        for (const group of this.groups([axis], x, shape.filter((_, k) => k !== axis))) {
          let state = rule.identity;
          for (const i of reverse ? group.reverse() : group) {
            const next = merged(rule, state, operands.map(({ data }) => data[i]));
            to.set(i, (exclusive ? state : next)[result]);
            state = next;
          }
        }
        return fill((_, i) => to.get(i));
      }
      default: throw new Error(`the tests do not know ${node.op}`);
    }
  }

  /** The positions of the elements that each element of a reduction of these axes comes from. */
  groups(axes, x, shape) {
    const groups = Array.from({ length: count(shape) }, () => []);
    const strides = x.shape.map((_, axis) => count(x.shape.slice(axis + 1)));
    x.data.forEach((_, i) => {
      const place = x.shape.map((size, axis) => Math.floor(i / strides[axis]) % size).filter((__, axis) => !axes.includes(axis));
      groups[place.reduce((at, coordinate, axis) => at * shape[axis] + coordinate, 0)].push(i);
    });
    return groups;
  }

  reduce(node, [reduction, ...axes], x, shape) {
    return this.groups(axes, x, shape).map((positions) => {
      const group = positions.map((i) => x.data[i]);
      if (reduction < 4) return group.reduce((sum, value) => wrap(node.dtype, MERGE[reduction](sum, value)), start(reduction, node.dtype));
      if (reduction === 6) {
        const mean = group.reduce((sum, value) => sum + value, 0) / group.length;
        return group.reduce((sum, value) => sum + (value - mean) ** 2, 0) / group.length;
      }
      const nan = group.findIndex((value) => value !== value);
      return nan >= 0 ? nan : group.indexOf((reduction === 4 ? Math.min : Math.max)(...group));
    });
  }
}
