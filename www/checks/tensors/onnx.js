/**
 * ONNX's operators as calls of `residua/tensor`, for the cases of ONNX's own tests.
 *
 * An operator is `(x, n, attributes, given) => outputs`: `x` are the inputs as tensors, `n(k)` the numbers of input k, for those that the contract takes as numbers (axes, sizes,
 * shapes), `given` what else a case says (device, shapes of inputs and outputs). One output may stand for a list.
 */
import { arange, attention, batchNorm, complex, concat, crossEntropy, einsum, eye, fft, full, ifft, layerNorm, oneHot, rfft, rmsNorm, rope, stack, where } from 'residua/tensor';
import { OPERATORS_OF_PICTURES } from './onnx-pictures.js';

const TYPES = { 1: 'f32', 2: 'u8', 6: 'i32', 9: 'bool', 10: 'f16', 11: 'f32', 12: 'u32' };

const unary = (name) => ([a]) => a[name]();
const binary = (name) => ([a, b]) => a[name](b);
const chain = (name) => (x) => x.reduce((a, b) => a[name](b));
const along = (name) => ([a], n, { axis = -1 }) => a[name](axis);

/** Axes are an input; without any, or with an empty list, all axes, or none with `noop_with_empty_axes`. */
function reduction(apply) {
  return ([a], n, { keepdims = 1, noop_with_empty_axes = 0 }, { inputs }) => {
    const axes = inputs.length > 1 && n(1).length > 0 ? [...n(1)] : undefined;
    return axes === undefined && noop_with_empty_axes === 1 ? a : apply(a, axes, { keep: keepdims === 1 });
  };
}

/** With `select_last_index` the last of equals, which is the first from the end. */
const extreme = (name) => ([a], n, { axis = 0, keepdims = 1, select_last_index = 0 }) => {
  const keep = { keep: keepdims === 1 };
  return select_last_index === 1 ? a.flip(axis)[name](axis, keep).neg().add(a.sizes.at(axis) - 1) : a[name](axis, keep);
};

/** The axes from one on. */
const from = (a, axis) => Array.from({ length: axis < 0 ? -axis : a.rank - axis }, (_, k) => a.rank - 1 - k).reverse();

/** ONNX normalises over all axes from one on, and gives mean and 1/deviation too. */
function layerNormalization([a, weight, bias], n, { axis = -1, epsilon = 1e-5 }) {
  const axes = from(a, axis);
  const keep = { keep: true };
  return [layerNorm(a, { axes, weight, bias, epsilon }), a.mean(axes, keep), a.variance(axes, keep).add(epsilon).rsqrt()];
}

function gemm([a, b, c], n, { alpha = 1, beta = 1, transA = 0, transB = 0 }) {
  const product = (transA === 1 ? a.T : a).matmul(transB === 1 ? b.T : b).mul(alpha);
  return c === undefined ? product : product.add(c.mul(beta));
}

/** Vectors among the operands become rows and columns, which go from the result. */
function matmul([a, b]) {
  if (a.rank === 1 && b.rank === 1) return a.dot(b);
  if (a.rank === 1) return a.expandDims(0).matmul(b).squeeze(-2);
  return b.rank === 1 ? a.matmul(b.expandDims(-1)).squeeze(-1) : a.matmul(b);
}

/** Complex numbers as a last axis of their parts, and back. */
const pairs = (z) => stack([z.real(), z.imag()], -1);
const complexOf = (a) => complex(a.pick(-1, 0), a.pick(-1, 1));

/** Heads may be in the last axis; past keys and values stand before the others; lengths of keys for each batch are a mask. */
function attentionOf(x, n, given, { outputs }) {
  const { q_num_heads: heads = 0, kv_num_heads: keyHeads = 0, is_causal = 0, scale, softcap, left_window_size = -1, qk_matmul_output_mode: mode = 0 } = given;
  const split = (a, count) => (heads === 0 ? a : a.reshape([a.sizes[0], a.sizes[1], count, a.sizes[2] / count]).permute([0, 2, 1, 3]));
  const [q, newK, newV] = [split(x[0], heads), split(x[1], keyHeads), split(x[2], keyHeads)];
  const hasPast = x[4] !== undefined;
  const [k, v] = hasPast ? [concat([x[4], newK], 2), concat([x[5], newV], 2)] : [newK, newV];
  const [tokens, keys, size] = [q.sizes[2], k.sizes[2], q.sizes[3]];
  const options = { causal: is_causal === 1, position: hasPast ? x[4].sizes[2] : 0, ...(scale === undefined ? {} : { scale }), ...(softcap > 0 ? { softcap } : {}), ...(left_window_size >= 0 ? { window: left_window_size } : {}) };
  if (x[3] !== undefined) options.mask = x[3];
  if (x[6] !== undefined) {
    const lengths = x[6].reshape([-1, 1, 1, 1]);
    const place = arange(keys, 'i32');
    const counts = place.lt(lengths);
    const query = arange(tokens, 'i32').sub(tokens).reshape([tokens, 1]);
    options.mask = options.causal ? counts.and(place.lte(lengths.add(query))) : counts;
    options.causal = false;
  }
  const y = attention(q, k, v, options);
  const result = (heads === 0 ? y : y.permute([0, 2, 1, 3]).flatten(2)).cast(outputs[0].dtype);
  const scores = () => {
    // The weights are attention to rows of the identity.
    if (mode === 3) return attention(q, k, eye(keys).broadcastTo([...k.sizes.slice(0, 2), keys, keys]), options);
    const products = q.matmul(k.T).mul(scale ?? 1 / Math.sqrt(size));
    const capped = mode > 0 && softcap > 0 ? products.div(softcap).tanh().mul(softcap) : products;
    return mode === 2 && x[3] !== undefined ? capped.add(x[3]) : capped;
  };
  // What is left out in the middle is not looked at.
  const more = hasPast ? [k, v] : outputs.slice(1, 3).filter((output) => output === null).map(() => result);
  return [result, ...more, ...(outputs.length > 1 + more.length ? [scores()] : [])];
}

function pad([a], n, { mode = 'constant' }, { inputs }) {
  const axes = inputs.length > 3 ? [...n(3)] : a.sizes.map((_, axis) => axis);
  const pads = [...n(1)];
  const widths = a.sizes.map(() => [0, 0]);
  axes.forEach((axis, k) => (widths[(axis + a.rank) % a.rank] = [pads[k], pads[k + axes.length]]));
  const modes = { constant: 'constant', edge: 'clamp', reflect: 'mirror', wrap: 'wrap' };
  return a.pad(widths, { mode: modes[mode], ...(inputs.length > 2 && inputs[2] !== null && mode === 'constant' ? { value: n(2)[0] } : {}) });
}

/** Places beyond the ends are cut off. */
function slice([a], n, attributes, { inputs }) {
  const starts = [...n(1)];
  const axes = inputs.length > 3 ? [...n(3)] : starts.map((_, k) => k);
  const steps = inputs.length > 4 ? [...n(4)] : starts.map(() => 1);
  const ranges = a.sizes.map(() => null);
  axes.forEach((axis, k) => {
    const size = a.sizes.at(axis);
    const place = (index) => Math.min(Math.max(index < 0 ? index + size : index, 0), size);
    ranges[(axis + a.rank) % a.rank] = [place(starts[k]), place(n(2)[k]), steps[k]];
  });
  return a.slice(...ranges);
}

function split([a], n, { axis = 0, num_outputs }, { inputs, outputs }) {
  if (inputs.length > 1) return a.split([...n(1)], axis);
  const count = num_outputs ?? outputs.length;
  // The last part is smaller where the size is no multiple.
  const size = Math.ceil(a.sizes.at(axis) / count);
  return a.split(Array.from({ length: count }, (_, k) => Math.min(size, a.sizes.at(axis) - k * size)), axis);
}

/** Tables of cosines and sines that are none, in ONNX's own cases: by slices and products. */
function rotaryEmbedding([a, cosines, sines, positions], n, { interleaved = 0, num_heads, rotary_embedding_dim, made_position, made_base }) {
  const heads = a.rank === 3 ? a.reshape([a.sizes[0], a.sizes[1], num_heads, -1]).transpose(1, 2) : a;
  const size = rotary_embedding_dim || heads.sizes.at(-1);
  const layout = interleaved === 1 ? 'pairs' : 'halves';
  if (made_position !== undefined) return rope(heads, { position: made_position, base: made_base, layout, size });
  const [cos, sin] = [cosines, sines].map((table) => (positions === undefined ? table : table.indexSelect(positions)).expandDims(1));
  const turned = heads.slice(null, null, null, [0, size]);
  const pairs = turned.reshape([...turned.sizes.slice(0, -1), ...(interleaved === 1 ? [size / 2, 2] : [2, size / 2])]);
  const axis = interleaved === 1 ? -1 : -2;
  const [first, second] = [pairs.pick(axis, 0), pairs.pick(axis, 1)];
  const rotated = stack([first.mul(cos).sub(second.mul(sin)), first.mul(sin).add(second.mul(cos))], axis).reshape(turned.sizes);
  const result = concat([rotated, heads.slice(null, null, null, [size])], -1);
  return a.rank === 3 ? result.transpose(1, 2).reshape(a.sizes) : result;
}

const cosineWindow = (weights) => (x, n) => {
  const size = n(0)[0];
  const angle = arange(size).mul((2 * Math.PI) / size);
  return weights.map((weight, k) => angle.mul(k).cos().mul(k % 2 === 0 ? weight : -weight)).reduce((a, b) => a.add(b));
};

const scatterElements = ([a, indices, source], n, { axis = 0, reduction = 'none' }) => a.scatter(indices, source, { axis, combine: reduction === 'none' ? 'set' : reduction });

export const OPERATORS = {
  Abs: unary('abs'), Acos: unary('acos'), Asin: unary('asin'), Atan: unary('atan'), Erf: unary('erf'), Exp: unary('exp'), Floor: unary('floor'), IsInf: unary('isInfinite'), IsNaN: unary('isNaN'), Log: unary('log'),
  Mish: unary('mish'), Neg: unary('neg'), Not: unary('not'), BitwiseNot: unary('not'), Reciprocal: unary('reciprocal'), Sigmoid: unary('sigmoid'), Sin: unary('sin'), Softsign: unary('softsign'), Sqrt: unary('sqrt'),
  Tan: unary('tan'), Tanh: unary('tanh'),
  Add: binary('add'), Sub: binary('sub'), Mul: binary('mul'), Div: binary('div'), And: binary('and'), Or: binary('or'), Xor: binary('xor'), BitwiseAnd: binary('and'), BitwiseOr: binary('or'), BitwiseXor: binary('xor'),
  Equal: binary('eq'), Greater: binary('gt'), GreaterOrEqual: binary('gte'), Less: binary('lt'), LessOrEqual: binary('lte'), PRelu: binary('prelu'),
  Sum: chain('add'), Max: chain('maximum'), Min: chain('minimum'), Mean: (x) => chain('add')(x).div(x.length),
  Mod: ([a, b], n, { fmod = 0 }) => (fmod === 1 ? a.mod(b) : a.floorMod(b)),
  // Mixed types: the exponent is cast to the base's type, or both to f32.
  Pow: ([a, b]) => (a.dtype === b.dtype ? a.pow(b) : a.dtype === 'f32' ? a.pow(b.cast('f32')) : a.cast('f32').pow(b).cast(a.dtype)),
  BitShift: ([a, b], n, { direction }) => (direction === 'LEFT' ? a.shl(b) : a.shr(b)),
  BitCast: ([a], n, { to }) => a.bitcast(TYPES[to]),
  Cast: ([a], n, { to }) => a.cast(TYPES[to]),
  Celu: ([a], n, { alpha = 1 }) => a.maximum(0).add(a.div(alpha).expm1().mul(alpha).minimum(0)),
  Clip: ([a, low, high]) => {
    const raised = low ? a.maximum(low) : a;
    return high ? raised.minimum(high) : raised;
  },
  Elu: ([a], n, { alpha = 1 }) => a.elu(alpha),
  Gelu: ([a], n, { approximate }) => a.gelu(approximate === 'tanh' ? 'tanh' : 'exact'),
  HardSigmoid: ([a], n, { alpha = 0.2, beta = 0.5 }) => a.mul(alpha).add(beta).clamp(0, 1),
  LeakyRelu: ([a], n, { alpha = 0.01 }) => a.leakyRelu(alpha),
  Selu: unary('selu'),
  Shrink: ([a], n, { lambd = 0.5, bias = 0 }) => where(a.lt(-lambd), a.add(bias), where(a.gt(lambd), a.sub(bias), 0)),
  SwiGLU: ([a, b], n, { alpha = 1 }) => a.mul(a.mul(alpha).sigmoid()).mul(b),
  Where: ([condition, a, b]) => where(condition, a, b),

  ArgMax: extreme('argmax'), ArgMin: extreme('argmin'),
  CumSum: ([a], n, { exclusive = 0, reverse = 0 }) => a.cumsum(n(1)[0], { exclusive: exclusive === 1, reverse: reverse === 1 }),
  CumProd: ([a], n, { exclusive = 0, reverse = 0 }) => a.cumprod(n(1)[0], { exclusive: exclusive === 1, reverse: reverse === 1 }),
  Hardmax: ([a], n, { axis = -1 }) => {
    const last = a.transpose(axis, -1);
    return oneHot(last.argmax(-1), last.sizes.at(-1)).transpose(axis, -1);
  },
  Softmax: along('softmax'), LogSoftmax: along('logSoftmax'),
  // A row of zeros stays one.
  LpNormalization: ([a], n, { axis = -1, p = 2 }) => {
    const norm = a.norm(axis, { keep: true, order: p });
    return where(norm.eq(0), 0, a.div(norm));
  },
  ReduceL1: reduction((a, axes, keep) => a.norm(axes, { ...keep, order: 1 })),
  ReduceL2: reduction((a, axes, keep) => a.norm(axes, keep)),
  ReduceLogSum: reduction((a, axes, keep) => a.sum(axes, keep).log()),
  ReduceLogSumExp: reduction((a, axes, keep) => a.logSumExp(axes, keep)),
  ReduceMax: reduction((a, axes, keep) => (a.dtype === 'bool' ? a.any(axes, keep) : a.max(axes, keep))),
  ReduceMin: reduction((a, axes, keep) => (a.dtype === 'bool' ? a.all(axes, keep) : a.min(axes, keep))),
  ReduceMean: reduction((a, axes, keep) => a.mean(axes, keep)),
  ReduceProd: reduction((a, axes, keep) => a.prod(axes, keep)),
  ReduceSum: reduction((a, axes, keep) => a.sum(axes, keep)),
  ReduceSumSquare: reduction((a, axes, keep) => a.square().sum(axes, keep)),
  LayerNormalization: layerNormalization,
  RMSNormalization: ([a, weight], n, { axis = -1, epsilon = 1e-5 }) => rmsNorm(a, { axes: from(a, axis), weight, epsilon }),
  BatchNormalization: ([a, weight, bias, mean, variance], n, { epsilon = 1e-5, momentum = 0.9 }) => {
    const found = batchNorm(a, { weight, bias, epsilon });
    const moved = (old, now) => old.mul(momentum).add(now.mul(1 - momentum));
    return [found.y, moved(mean, found.mean), moved(variance, found.variance)];
  },
  RotaryEmbedding: rotaryEmbedding,
  SoftmaxCrossEntropyLoss: ([a, labels], n, { reduction: kind = 'mean' }) => {
    const losses = crossEntropy(a, labels);
    return [kind === 'mean' ? losses.mean() : losses.sum(), a.logSoftmax(1)];
  },

  Attention: attentionOf,
  Gemm: gemm, MatMul: matmul,
  Einsum: (x, n, { equation }) => (equation.includes('ii') ? x[0].diagonal() : einsum(equation.includes('->') ? equation : `${equation}->`, ...x)),

  Concat: (x, n, { axis }) => concat(x, axis),
  Expand: ([a], n, attributes, { outputs }) => a.broadcastTo(outputs[0].shape),
  Flatten: ([a], n, { axis = 1 }) => {
    const place = axis < 0 ? axis + a.rank : axis;
    const count = (sizes) => sizes.reduce((x, y) => x * y, 1);
    return a.reshape([count(a.sizes.slice(0, place)), count(a.sizes.slice(place))]);
  },
  Pad: pad, Slice: slice, Split: split,
  Reshape: ([a], n) => a.reshape([...n(1)].map((size, axis) => (size === 0 ? a.sizes[axis] : size))),
  SpaceToDepth: ([a], n, { blocksize: b }) => {
    const [images, channels, height, width] = a.sizes;
    return a.reshape([images, channels, height / b, b, width / b, b]).permute([0, 3, 5, 1, 2, 4]).reshape([images, channels * b * b, height / b, width / b]);
  },
  Squeeze: ([a], n) => a.squeeze([...n(1)]),
  Transpose: ([a], n, { perm }) => a.permute(perm),
  Trilu: ([a], n, { upper = 1 }, { inputs }) => (upper === 1 ? a.triu(inputs.length > 1 ? n(1)[0] : 0) : a.tril(inputs.length > 1 ? n(1)[0] : 0)),
  Unsqueeze: ([a], n) => a.expandDims(...n(1)),

  ConstantOfShape: (x, n, { value }) => full([...n(0)], value.data[0], value.dtype),
  EyeLike: ([a], n, { k = 0 }) => {
    const [rows, columns] = a.sizes;
    return arange(rows, 'i32').add(k).expandDims(1).eq(arange(columns, 'i32')).cast('f32');
  },
  OneHot: ([indices], n, { axis = -1 }, { outputs }) => {
    const [depth, [off, on]] = [n(1)[0], n(2)];
    const hot = oneHot(indices.floorMod(depth), depth).mul(on - off).add(off);
    // An index out of range has no place.
    const inside = indices.gte(-depth).and(indices.lt(depth)).expandDims(-1);
    const found = where(inside, hot, off).cast(outputs[0].dtype);
    return axis === -1 ? found : found.transpose(axis, -1);
  },
  Range: (x, n, attributes, { outputs }) => arange(outputs[0].shape[0]).mul(n(2)[0]).add(n(0)[0]).cast(outputs[0].dtype),
  // The axis is an input from version 20 on, and the last but one there unless told; before it is an attribute.
  DFT: ([a], n, { inverse = 0, onesided = 0, axis = 1 }, { inputs, opset }) => {
    const along = opset < 20 ? axis : inputs.length > 2 ? n(2)[0] : -2;
    const axes = along < 0 ? along + 1 : along;
    if (a.sizes.at(-1) === 2) return pairs((inverse === 1 ? ifft : fft)(complexOf(a), { axes }));
    return pairs((onesided === 1 ? rfft : fft)(a.squeeze(-1), { axes }));
  },
  STFT: ([a, , window], n, { onesided = 1 }) => {
    const frames = a.squeeze(-1).windows(1, window.sizes[0], n(1)[0]).mul(window);
    return pairs((onesided === 1 ? rfft : fft)(frames));
  },
  HannWindow: cosineWindow([0.5, 0.5]),
  HammingWindow: cosineWindow([25 / 46, 21 / 46]),
  BlackmanWindow: cosineWindow([0.42, 0.5, 0.08]),

  TopK: ([a], n, { axis = -1, largest = 1 }) => {
    const { values, indices } = a.topk(n(1)[0], axis, { smallest: largest === 0 });
    return [values, indices];
  },
  Compress: async ([a, condition], n, { axis }, { device }) => {
    if (axis === undefined) return device.compact(a.flatten().slice([0, condition.sizes[0]]).maskedSelect(condition));
    const places = await device.compact(condition.nonzero());
    return a.indexSelect(places.flatten(), axis);
  },
  Gather: ([a, indices], n, { axis = 0 }) => a.indexSelect(indices, axis),
  GatherElements: ([a, indices], n, { axis = 0 }) => a.gather(indices, axis),
  GatherND: ([a, indices]) => a.gatherNd(indices),
  Scatter: scatterElements, ScatterElements: scatterElements,
  ScatterND: ([a, indices, source], n, { reduction = 'none' }) => a.scatterNd(indices, source, { combine: reduction === 'none' ? 'set' : reduction }),
  ...OPERATORS_OF_PICTURES,
};

const ARRAYS = { f32: Float32Array, f16: Uint16Array, i32: Int32Array, u32: Uint32Array, u8: Uint8Array, bool: Uint8Array };

/** A number of half precision from its bits. */
function fromHalf(bits) {
  const [sign, exponent, mantissa] = [(bits & 0x8000) === 0 ? 1 : -1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return mantissa === 0 ? sign * Infinity : Number.NaN;
  return sign * (exponent === 0 ? mantissa * 2 ** -24 : (1 + mantissa / 1024) * 2 ** (exponent - 15));
}

/** The numbers of an input or output of a case; `bytes` is the file of all numbers. */
function numbersOf({ dtype, offset, length }, bytes) {
  const Type = ARRAYS[dtype];
  const raw = new Type(bytes, offset, length / Type.BYTES_PER_ELEMENT);
  return dtype === 'f16' ? Float32Array.from(raw, fromHalf) : raw;
}

/** Operators whose elements are sums of all others. */
const SUMS = new Set(['DFT', 'STFT']);

/**
 * Runs a case on a device and compares; returns null, or what is wrong. Numbers may be off by ONNX's own tolerance: 1e-3 of themselves and 1e-7; results of f16 by a unit more. Elements of
 * a Fourier transform are sums with the rounding of the largest one, in ONNX's results too: 1e-6 of it, where `FFT_ERROR` is relative to the norm of all.
 */
export async function runCase(device, given, bytes) {
  const numbers = given.inputs.map((input) => (input === null ? null : numbersOf(input, bytes)));
  const x = given.inputs.map((input, k) => (input === null ? undefined : device.tensor(numbers[k], input.shape, input.dtype)));
  try {
    const results = [await OPERATORS[given.op](x, (k) => numbers[k], given.attributes, { ...given, device })].flat();
    const read = await device.read(...results.slice(0, given.outputs.length));
    for (const [k, output] of given.outputs.entries()) {
      if (output === null) continue;
      const { dtype, sizes } = results[k];
      if (dtype !== output.dtype || sizes.join() !== output.shape.join()) return `output ${k} is ${dtype} [${sizes}], not ${output.dtype} [${output.shape}]`;
      const expected = numbersOf(output, bytes);
      const isReal = dtype === 'f32' || dtype === 'f16';
      const floor = SUMS.has(given.op) ? 1e-6 * expected.reduce((most, x) => Math.max(most, Math.abs(x)), 0) : 1e-7;
      for (let i = 0; i < expected.length; i++) {
        const [got, right] = [read[k][i], expected[i]];
        const close = Object.is(got, right) || got === right || (isReal && Math.abs(got - right) <= floor + 1e-3 * Math.abs(right));
        if (!close) return `element ${i} of output ${k} is ${got}, not ${right}`;
      }
    }
    return null;
  } finally {
    for (const tensor of x) tensor?.dispose();
  }
}
