/**
 * Operations of tensors on small numbers, beside what they give, worked out by hand. They are evaluated in Node, and natively from their tapes
 * (tests/facade/tensor-recipes.txt).
 */

import { V } from '../../pkg-template/dist/index.js';
import * as T from '../../pkg-template/dist/tensor.js';
import { flatOf, given, made } from './tensor-meaning.mjs';

/** Each row: its title, a function that records, what it gives, its element type. */
export const ROWS = [];

function table(title, rows) {
  for (const [name, record, expected, dtype = 'f32'] of rows) ROWS.push({ title: `${title}: ${name}`, record, expected, dtype });
}

const a = given([[1, 2, 3], [4, 5, 6]]);
const v = given([3, -1, 2]);
const i = given([7, -7, 5, 0], 'i32');
const b = given([1, 0, 1, 0], 'bool');
const bytes = given([250, 10, 3, 0], 'u8');
const { NaN: nan } = Number;
const special = given([nan, Infinity, -Infinity, -0.5, 0, 2]);
const wide = (values) => values.map(Number);

table('elementwise', [
  ['a number takes the type of the tensor', () => i.add(1), [8, -6, 6, 1], 'i32'],
  ['integers divide toward zero, and by 0 give 0', () => i.div(given([2, 2, 0, 1], 'i32')), [3, -3, 0, 0], 'i32'],
  ['mod has the sign of the dividend', () => i.mod(3), [1, -1, 2, 0], 'i32'],
  ['floorMod has the sign of the divisor', () => i.floorMod(3), [1, 2, 2, 0], 'i32'],
  ['bytes wrap', () => bytes.add(10), [4, 20, 13, 10], 'u8'],
  ['shapes broadcast', () => v.sub(given([[1], [2]])), [[2, -2, 1], [1, -3, 0]]],
  ['clamp', () => v.clamp(0, given([2, 2, 1])), [2, 0, 1]],
  ['comparisons with NaN are false but for neq', () => special.lt(0), wide([false, false, true, true, false, false]), 'bool'],
  ['neq with NaN is true', () => special.neq(special), wide([true, false, false, false, false, false]), 'bool'],
  ['isInfinite', () => special.isInfinite(), wide([false, true, true, false, false, false]), 'bool'],
  ['isFinite of integers', () => i.isFinite(), [1, 1, 1, 1], 'bool'],
  ['isNaN of integers', () => i.isNaN(), [0, 0, 0, 0], 'bool'],
  ['logic of bools', () => b.and(given([1, 1, 0, 0], 'bool')).xor(b.not()), [1, 1, 0, 1], 'bool'],
  ['shifts keep the sign of i32', () => i.shr(1), [3, -4, 2, 0], 'i32'],
  ['bits of u32', () => given([1], 'u32').shl(31).or(5), [2 ** 31 + 5], 'u32'],
  ['square', () => v.square(), [9, 1, 4]],
  ['rsqrt', () => given([4, 0.25]).rsqrt(), [0.5, 2]],
  ['log2', () => given([8, 0.5]).log2(), [3, -1]],
  ['log10', () => given([1000, 0.5]).log10(), [3, Math.log10(0.5)]],
  ['reciprocal', () => given([4, -2]).reciprocal(), [0.25, -0.5]],
  ['hypot', () => given([8, -3, 0.5]).hypot(given([-15, 4, 1.2])), [17, 5, 1.3]],
  ['round to even', () => given([0.5, 1.5, 2.5, -2.5, -0.6]).round('even'), [0, 2, 2, -2, -1]],
  ['cast to integers clamps, NaN is 0', () => special.cast('u8'), [0, 255, 0, 0, 0, 2], 'u8'],
  ['cast to bool', () => special.cast('bool'), [1, 1, 1, 1, 0, 1], 'bool'],
  ['bitcast', () => given([1, -2]).bitcast('i32'), [0x3f800000, -0x40000000], 'i32'],
  ['where selects', () => T.where(b, i, 1), [7, 1, 5, 1], 'i32'],
  ['where with a number first', () => T.where(b, 9, i), [9, -7, 9, 0], 'i32'],
  ['maskedFill', () => i.maskedFill(b, -1), [-1, -7, -1, 0], 'i32'],
]);

const erf1 = 0.8427007929497149;
table('activations', [
  ['relu passes NaN on', () => special.relu(), [nan, Infinity, 0, 0, 0, 2]],
  ['relu6', () => given([-1, 3, 7]).relu6(), [0, 3, 6]],
  ['leakyRelu', () => v.leakyRelu(0.1), [3, -0.1, 2]],
  ['prelu', () => v.prelu(given([1, 2, 3])), [3, -2, 2]],
  ['elu', () => v.elu(2), [3, 2 * Math.expm1(-1), 2]],
  ['selu', () => v.selu(), [3, 1.6732632423543772 * Math.expm1(-1), 2].map((x) => 1.0507009873554805 * x)],
  ['logSigmoid does not overflow', () => given([-800, 0]).logSigmoid(), [-800, -Math.LN2]],
  ['hardSigmoid', () => given([-4, 0.6, 4]).hardSigmoid(), [0, 0.6, 1]],
  ['hardSwish', () => given([-4, 0.6, 4]).hardSwish(), [0, 0.36, 4]],
  ['softsign', () => v.softsign(), [3 / 4, -1 / 2, 2 / 3]],
  ['silu', () => v.silu(), [3, -1, 2].map((x) => x / (1 + Math.exp(-x)))],
  ['gelu by erf', () => given([Math.SQRT2, -Math.SQRT2]).gelu(), [Math.SQRT1_2 * (1 + erf1), -Math.SQRT1_2 * (1 - erf1)]],
  ['gelu by tanh', () => v.gelu('tanh'), [3, -1, 2].map((x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))))],
  ['mish', () => v.mish(), [3, -1, 2].map((x) => x * Math.tanh(Math.log1p(Math.exp(x))))],
]);

const none = given([], 'f32', [0, 2]);
table('reductions', [
  ['sum over all axes', () => a.sum(), 21],
  ['sum of nothing', () => none.sum(0), [0, 0]],
  ['sum that keeps its axis', () => a.sum(-1, { keep: true }), [[6], [15]]],
  ['sum over no axes', () => a.sum([]), [[1, 2, 3], [4, 5, 6]]],
  ['mean', () => a.mean(0), [2.5, 3.5, 4.5]],
  ['mean of integers is cut toward zero', () => given([[-7, 2], [4, 3]], 'i32').mean(1), [-2, 3], 'i32'],
  ['mean of bytes does not wrap', () => given([250, 251, 252], 'u8').mean(), 251, 'u8'],
  ['mean of nothing', () => none.mean(0), [nan, nan]],
  ['prod', () => a.prod(1), [6, 120]],
  ['min and max of nothing', () => none.max(0).sub(none.min(0)), [-Infinity, -Infinity]],
  ['max passes NaN on', () => special.max(), nan],
  ['logSumExp without overflow', () => given([1000, 1000]).logSumExp(), 1000 + Math.LN2],
  ['logSumExp of −∞', () => given([-Infinity, -Infinity]).logSumExp(), -Infinity],
  ['logSumExp of nothing', () => none.logSumExp(0), [-Infinity, -Infinity]],
  ['any', () => given([[0, 0], [0, 2]]).any(1), [0, 1], 'bool'],
  ['all', () => given([[1, 0], [3, 2]]).all(1), [0, 1], 'bool'],
  ['any and all of nothing', () => none.any(0).xor(none.all(0)), [1, 1], 'bool'],
  ['countNonzero', () => special.countNonzero(), 5, 'u32'],
  ['variance', () => a.variance(1), [2 / 3, 2 / 3]],
  ['variance of a sample', () => a.variance(1, { correction: 1 }), [1, 1]],
  ['std of one of a sample', () => given([[5]]).std(1, { correction: 1 }), [nan]],
  ['norm without overflow', () => given([3e30, 4e30]).norm(), 5e30],
  ['norm of zeros', () => given([[0, 0]]).norm(1), [0]],
  ['norm of infinite numbers', () => given([1, Infinity]).norm(), Infinity],
  ['norms of order 1 and Infinity', () => T.stack([v.norm(0, { order: 1 }), v.norm(0, { order: Infinity })]), [6, 3]],
  ['norm of integers', () => given([3, -4], 'i32').norm(), 5],
  ['argmax takes the first of equals', () => given([[1, 3, 3], [2, 1, 0]]).argmax(1), [1, 0], 'i32'],
  ['argmin takes a NaN', () => special.argmin(), 0, 'i32'],
  ['argmin of all counts in C order', () => a.neg().argmin(undefined, { keep: true }), [[5]], 'i32'],
]);

const exps = [1, 2, 3].map(Math.exp);
const share = exps.map((x) => x / (exps[0] + exps[1] + exps[2]));
table('along an axis', [
  ['softmax', () => a.softmax(), [share, share]],
  ['softmax of a row of −∞', () => given([-Infinity, -Infinity]).softmax(), [nan, nan]],
  ['logSoftmax', () => a.add(1000).logSoftmax(), [share.map(Math.log), share.map(Math.log)]],
  ['cumsum', () => a.cumsum(), [[1, 3, 6], [4, 9, 15]]],
  ['diff', () => given([[1, 4, 9], [7, 5, 6]]).diff(), [[3, 5], [-2, 1]]],
  ['diff along the first axis', () => given([[1, 4, 9], [7, 5, 6]]).diff(0), [[6, 1, -3]]],
  ['diff of one element', () => given([[5], [6]]).diff(), [[], []]],
  ['cumsum without the element, from the end', () => a.cumsum(1, { exclusive: true, reverse: true }), [[5, 3, 0], [11, 6, 0]]],
  ['cumprod along the first axis', () => a.cumprod(0), [[1, 2, 3], [4, 10, 18]]],
  ['sort', () => v.sort(), [-1, 2, 3]],
  ['sort of special numbers', () => special.sort(0, { descending: true }), [Infinity, 2, 0, -0.5, -Infinity, nan]],
  ['argsort along the first axis', () => a.argsort(0, { descending: true }), [[1, 1, 1], [0, 0, 0]], 'i32'],
  ['argsort of equals, of which -0 and 0 are two', () => given([1, 0, -0, 1, 0]).argsort(), [1, 2, 4, 0, 3], 'i32'],
  ['sort of bytes and of truth values', () => given([200, 3, 3, 255], 'u8').argsort(0, { descending: true }).add(given([1, 0, 1, 0], 'bool').argsort()), [4, 3, 1, 4], 'i32'],
  ['sort of integers', () => given([3, -2147483648, 2147483647, -1], 'i32').sort(), [-2147483648, -1, 3, 2147483647], 'i32'],
  ['topk', () => a.topk(2).values, [[3, 2], [6, 5]]],
  ['topk of the smallest', () => a.topk(1, 0, { smallest: true }).indices, [[0, 0, 0]], 'i32'],
  ['searchSorted', () => given([1, 2, 2, 5]).searchSorted(given([[0, 2], [5, NaN]])), [[0, 1], [3, 4]], 'i32'],
  ['searchSorted to the right of equals', () => given([1, 2, 2, 5], 'u32').searchSorted(given([0, 2, 5, 9], 'u32'), 'right'), [0, 3, 4, 4], 'i32'],
  ['quantile', () => a.quantile(0.25, 1, { keep: true }), [[1.5], [4.5]]],
  ['quantiles', () => a.quantile([0, 0.5, 0.9], 0), [[1, 2, 3], [2.5, 3.5, 4.5], [3.7, 4.7, 5.7]]],
  ['quantile with a NaN', () => special.quantile(0.1), nan],
  ['median', () => a.median(), 3.5],
  ['cummax and cummin', () => v.cummax().sub(v.cummin()), [0, 4, 4]],
]);

table('shapes', [
  ['reshape with an open size', () => a.reshape([3, -1]), [[1, 2], [3, 4], [5, 6]]],
  ['flatten', () => given([[[1], [2]], [[3], [4]]]).flatten(0, 1), [[1], [2], [3], [4]]],
  ['squeeze and expandDims', () => given([[[5]]]).squeeze([0]).expandDims(-1, 0), [[[[5]]]]],
  ['permute', () => given([[[1, 2]], [[3, 4]]]).permute([2, 0, 1]), [[[1], [3]], [[2], [4]]]],
  ['T', () => a.T, [[1, 4], [2, 5], [3, 6]]],
  ['broadcastTo', () => v.broadcastTo([2, 3]), [[3, -1, 2], [3, -1, 2]]],
  ['repeat repeats an axis as a whole', () => v.repeat(2, 0), [3, -1, 2, 3, -1, 2]],
  ['tile adds axes', () => given([1, 2]).tile([2, 2]), [[1, 2, 1, 2], [1, 2, 1, 2]]],
  ['slice with negative places', () => a.slice(null, [-2]), [[2, 3], [5, 6]]],
  ['slice clamps', () => v.slice([1, 100]), [-1, 2]],
  ['slice backwards', () => v.slice([-1, null, -2]), [2, 3]],
  ['slice of nothing', () => v.slice([2, 1]), []],
  ['pick', () => a.pick(1, -1), [3, 6]],
  ['split in equal parts', () => a.split(3, 1)[1], [[2], [5]]],
  ['split in parts of sizes', () => v.split([1, 2])[1], [-1, 2]],
  ['flip', () => a.flip(1), [[3, 2, 1], [6, 5, 4]]],
  ['flip of nothing', () => none.flip(), []],
  ['roll', () => v.roll(1), [2, 3, -1]],
  ['roll backwards', () => a.roll(-1, 1), [[2, 3, 1], [5, 6, 4]]],
  ['diagonal of a wide matrix', () => a.diagonal(), [1, 5]],
  ['diagonal of a tall matrix', () => a.T.diagonal(), [1, 5]],
  ['windows', () => given([0, 1, 2, 3, 4, 5]).windows(0, 2, 2, 2), [[0, 2], [2, 4]]],
  ['windows of an inner axis', () => a.T.windows(0, 2), [[[1, 2], [4, 5]], [[2, 3], [5, 6]]]],
  ['shift clamps', () => v.shift([1]), [-1, 2, 2]],
  ['shift with zeros', () => a.shift([1, 0], 'zero'), [[4, 5, 6], [0, 0, 0]]],
  ['shift around', () => v.shift([-1], 'wrap'), [2, 3, -1]],
  ['shift mirrored', () => v.shift([-2], 'mirror'), [2, -1, 3]],
  ['pad', () => v.pad([[1, 2]], { value: 9 }), [9, 3, -1, 2, 9, 9]],
  ['pad takes away', () => a.pad([[0, 0], [-1, 1]], { mode: 'clamp' }), [[2, 3, 3], [5, 6, 6]]],
  ['tril', () => a.tril(1), [[1, 2, 0], [4, 5, 6]]],
  ['triu of integers', () => given([[1, 2], [3, 4]], 'i32').triu(), [[1, 2], [0, 4]], 'i32'],
  ['concat', () => T.concat([a, a.slice(null, [0, 1])], 1), [[1, 2, 3, 1], [4, 5, 6, 4]]],
  ['stack at the end', () => T.stack([v, v.neg()], -1), [[3, -3], [-1, 1], [2, -2]]],
]);

const at = given([2, -1, 9], 'i32');
table('indexing', [
  ['indexSelect, also out of range', () => v.indexSelect(at), [2, 2, 0]],
  ['indexSelect of an inner axis', () => a.indexSelect(given([[0, -1]], 'i32'), 1), [[[1, 3]], [[4, 6]]]],
  ['gather', () => a.gather(given([[2, 0], [1, -1]], 'i32'), 1), [[3, 1], [5, 6]]],
  ['gatherNd of elements', () => a.gatherNd(given([[0, 1], [-1, -1], [0, 3], [-3, 0]], 'i32')), [2, 6, 0, 0]],
  ['gatherNd of slices', () => a.gatherNd(given([[1]], 'u32')), [[4, 5, 6]]],
  ['scatter takes the last', () => v.scatter(given([0, 0, 5], 'i32'), given([7, 8, 9])), [8, -1, 2]],
  ['scatter adds a number', () => v.scatter(given([0, 0, -1], 'i32'), 1, { combine: 'add' }), [5, -1, 3]],
  ['scatterNd', () => a.scatterNd(given([[0, 0], [1, 2], [1, 3]], 'i32'), given([10, 20, 30]), { combine: 'add' }), [[11, 2, 3], [4, 5, 26]]],
  ['indexAdd', () => a.indexAdd(given([1, 1, 4], 'u32'), T.ones([3, 3])), [[1, 2, 3], [6, 7, 8]]],
  ['setSlice', () => a.setSlice([-1, 1], given([[0, 0]])), [[1, 2, 3], [4, 0, 0]]],
  ['setSlice of all', () => a.setSlice([], T.zeros([2, 3])), [[0, 0, 0], [0, 0, 0]]],
]);

table('selections', [
  ['maskedSelect', () => a.maskedSelect(a.gt(2.5).and(a.sub(5).abs().gt(0.5))).values, [3, 4, 6, 0, 0, 0]],
  ['the number of what maskedSelect takes', () => a.maskedSelect(a.gt(2)).count, 4, 'u32'],
  ['maskedSelect where the mask broadcasts', () => a.maskedSelect(given([1, 0, 1], 'bool')).values, [1, 3, 4, 6, 0, 0]],
  ['maskedSelect where the tensor broadcasts', () => v.maskedSelect(a.gt(4.5)).values, [-1, 2, 0, 0, 0, 0]],
  ['maskedSelect of nothing, of none and of a scalar', () => T.concat([none.maskedSelect(none.gt(0)).values, v.maskedSelect(v.gt(5)).values, T.full([], 7).maskedSelect(T.full([], 1, 'bool')).values]), [0, 0, 0, 7]],
  ['maskedSelect of NaN, of which none is left behind the selected', () => special.maskedSelect(special.lt(1).not()).values, [nan, Infinity, 2, 0, 0, 0]],
  ['unique values', () => given([[3, -1, 3], [2, -1, 3]], 'i32').unique().values, [-1, 2, 3, 0, 0, 0], 'i32'],
  ['unique values, all different', () => given([3, -1.5, 2]).unique().values, [-1.5, 2, 3]],
  ['the number of unique values', () => given([[3, -1, 3], [2, -1, 3]]).unique().count, 3, 'u32'],
  ['how many there are of unique values', () => given([[3, -1, 3], [2, -1, 3]]).unique().counts, [2, 1, 3, 0, 0, 0], 'u32'],
  ['where unique values stand first', () => given([[3, -1, 3], [2, -1, 3]]).unique().indices, [1, 3, 0, 0, 0, 0], 'i32'],
  ['which unique value each is', () => given([[3, -1, 3], [2, -1, 3]]).unique().inverse, [[2, 0, 2], [1, 0, 2]], 'i32'],
  ['unique values of NaN, infinities and zeros', () => given([NaN, 0, -Infinity, -0, NaN, 1, 0]).unique().values, [-Infinity, 0, 1, nan, 0, 0, 0]],
  ['counts of NaN, infinities and zeros', () => given([NaN, 0, -Infinity, -0, NaN, 1, 0]).unique().counts, [1, 3, 1, 2, 0, 0, 0], 'u32'],
  ['unique integers, bytes and truth values', () => T.concat([given([5, -5, 5], 'i32').unique().values, given([200, 7, 7], 'u8').unique().values.cast('i32'), given([1, 1, 1], 'bool').unique().values.cast('i32')]), [-5, 5, 0, 7, 200, 0, 1, 0, 0], 'i32'],
  ['unique values of nothing and of a scalar', () => T.concat([none.unique().counts, T.full([], 7).unique().counts]), [1], 'u32'],
  ['nonzero of a vector', () => special.nonzero().values, [[0], [1], [2], [3], [5], [0]], 'i32'],
  ['nonzero of a matrix', () => given([[0, 3, 0], [4, 0, 5]], 'u8').nonzero().values, [[0, 1], [1, 0], [1, 2], [0, 0], [0, 0], [0, 0]], 'i32'],
  ['nonzero of three axes', () => given([[[0, 1], [0, 0], [0, 0]], [[0, 0], [1, 0], [0, 1]]], 'bool').nonzero().values.slice([0, 4]), [[0, 0, 1], [1, 1, 0], [1, 2, 1], [0, 0, 0]], 'i32'],
  ['nonzero of a scalar, and of an axis without elements', () => T.full([], 3).nonzero().count.add(none.nonzero().count), 1, 'u32'],
]);

const ids = given([2, 0, 2, 9], 'i32');
const slices = given([[1, -7], [2, 5], [4, -2], [8, 8]]);
table('segments', [
  ['segmentSum, with ids in any order, one of them out of range', () => T.segmentSum(slices, ids, 4), [[2, 5], [0, 0], [5, -9], [0, 0]]],
  ['segmentSum of a vector of integers, with an id from the end', () => T.segmentSum(i, given([0, -1, 0, 2], 'i32'), 3), [12, 0, -7], 'i32'],
  ['segmentMean', () => T.segmentMean(slices, ids, 4), [[2, 5], [0, 0], [2.5, -4.5], [0, 0]]],
  ['segmentMean of integers is cut toward zero', () => T.segmentMean(given([-7, 2, 4], 'i32'), given([0, 0, 1], 'u32'), 3), [-2, 4, 0], 'i32'],
  ['segmentMean of bytes does not wrap', () => T.segmentMean(given([250, 252], 'u8'), given([0, 0], 'u32'), 1), [251], 'u8'],
  ['segmentMax', () => T.segmentMax(slices, ids, 3), [[2, 5], [-Infinity, -Infinity], [4, -2]]],
  ['segmentMin', () => T.segmentMin(slices, ids, 3), [[2, 5], [Infinity, Infinity], [1, -7]]],
  ['segmentMax and segmentMin of integers', () => T.segmentMax(i, given([0, 0, 0, 0], 'i32'), 2).sub(T.segmentMin(given([1, 2], 'i32'), given([0, 0], 'i32'), 2)), [6, 1], 'i32'],
  ['segments of no slices', () => T.segmentSum(none, given([], 'i32', [0]), 2), [[0, 0], [0, 0]]],
  ['bincount', () => T.bincount(given([[1, 3], [1, 7]], 'u32'), 4), [0, 2, 0, 1], 'u32'],
  ['histogram, whose last interval has its upper bound', () => T.histogram(given([0, 0.4, 0.5, 1, 1.5, 2, 2.1, -0.1, NaN]), 4, 0, 2), [2, 1, 1, 2], 'u32'],
  ['histogram, whose bounds are those of linspace', () => T.histogram(T.linspace(0.1, 0.7, 8), 7, 0.1, 0.7), [1, 1, 1, 1, 1, 1, 2], 'u32'],
  ['histogram of a matrix', () => T.histogram(a, 2, 2, 5), [2, 2], 'u32'],
]);

// [[1, 0, 7], [0, 0, 0], [0, 3, 0], [0, 0, 9]], whose 7 and 9 are of two entries.
const u32 = (...list) => given(list, 'u32');
const coo = () => T.SparseMatrix.fromCoo(4, 3, u32(3, 0, 2, 0, 3, 0), u32(2, 2, 1, 0, 2, 2), given([4, 2, 3, 1, 5, 5]));
const csr = () => T.SparseMatrix.fromCsr(4, 3, u32(0, 3, 3, 4, 6), u32(2, 0, 2, 1, 2, 2), given([2, 1, 5, 3, 4, 5]));
table('sparse matrices', [
  ['entries in any order are sorted by row and column', () => coo().colIndices, [0, 2, 2, 1, 2, 2], 'u32'],
  ['where rows begin, an empty one among them', () => coo().rowOffsets, [0, 3, 3, 4, 6], 'u32'],
  ['values in the order of rows, those at one place in their order', () => coo().values, [1, 2, 5, 3, 4, 5]],
  ['rows of entries', () => csr().toCoo().rowIndices, [0, 0, 0, 2, 3, 3], 'u32'],
  ['a dense matrix', () => csr().toDense(), [[1, 0, 7], [0, 0, 0], [0, 3, 0], [0, 0, 9]]],
  ['a sparse matrix times a vector', () => csr().matmul(v), [17, 0, -3, 18]],
  ['a sparse matrix times a matrix', () => coo().matmul(a.T), [[22, 46], [0, 0], [6, 15], [27, 54]]],
  ['a transposed one', () => csr().transpose().toDense(), [[1, 0, 0, 0], [0, 0, 3, 0], [7, 0, 0, 9]]],
  ['a transposed one times a vector', () => coo().transpose().matmul(given([1, 2, 3, 4])), [1, 9, 43]],
  ['other values', () => csr().withValues(T.ones([6])).matmul(v), [7, 0, -1, 4]],
  ['a sparse matrix without entries', () => T.SparseMatrix.fromCoo(2, 3, given([], 'u32', [0]), given([], 'u32', [0]), given([], 'f32', [0])).matmul(v), [0, 0]],
]);

table('products', [
  ['matmul', () => a.matmul(a.T), [[14, 32], [32, 77]]],
  ['matmul with vectors', () => a.matmul(v).matmul(a), [35, 49, 63].map((_, k) => [1, 2, 3][k] * 7 + [4, 5, 6][k] * 19)],
  ['matmul over leading axes', () => made([2, 1, 1, 2], (k) => k).matmul(made([3, 2, 1], (k) => k)).squeeze(), [[1, 3, 5], [3, 13, 23]]],
  ['matmul of integers', () => given([[2]], 'i32').matmul(given([[-3]], 'i32')), [[-6]], 'i32'],
  ['matmul of halves and singles', () => given([[2]], 'f16').matmul(given([[3]])), [[6]], 'f16'],
  ['dot', () => v.dot(v), 14],
  ['outer', () => given([1, 2]).outer(v), [[3, -1, 2], [6, -2, 4]]],
  ['linear', () => T.linear(v, a, given([100, 200])), [107, 219]],
  ['embedding', () => T.embedding(given([1, 5], 'u32'), given([[1, 2], [3, 4]], 'f16')), [[3, 4], [0, 0]]],
  ['einsum of a product', () => T.einsum('ij,kj->ki', a, a), [[14, 32], [32, 77]]],
  ['einsum without an arrow', () => T.einsum('ba', a), [[1, 4], [2, 5], [3, 6]]],
  ['einsum of a trace', () => T.einsum('ii', given([[1, 2], [3, 4]])), 5],
  ['einsum of a diagonal', () => T.einsum('ii->i', given([[1, 2], [3, 4]])), [1, 4]],
  ['einsum of rows', () => T.einsum('ij,ij->i', a, a), [14, 77]],
  ['einsum of an outer product', () => T.einsum('i,j->ji', given([1, 2]), v), [[3, 6], [-1, -2], [2, 4]]],
  ['einsum of three', () => T.einsum('ij,jk,k->i', a, a.T, given([1, -1])), [-18, -45]],
  ['einsum with leading axes', () => T.einsum('...ij,jk->...ik', made([2, 1, 2], (k) => k), given([[1], [10]])), [[[10]], [[32]]]],
  ['einsum with a size 1 that repeats', () => T.einsum('ij,ij->i', a, given([[1, 1, 1]])), [6, 15]],
]);

const deviation = Math.sqrt(2 / 3 + 1e-5);
const standard = [-1 / deviation, 0, 1 / deviation];
const images = made([2, 4, 3], (k) => (k * 7) % 11);
const centred = (list) => {
  const mean = list.reduce((sum, x) => sum + x, 0) / list.length;
  const variance = list.reduce((sum, x) => sum + (x - mean) ** 2, 0) / list.length;
  return list.map((x) => (x - mean) / Math.sqrt(variance + 1e-5));
};
const flat = flatOf(images);
const tokens = given([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]);
/** Pairs of places of a token turned by angles. */
const turn = (row, pairs, angles) => {
  const result = [...row];
  pairs.forEach(([i, j], k) => {
    const [cos, sin] = [Math.cos(angles[k]), Math.sin(angles[k])];
    [result[i], result[j]] = [row[i] * cos - row[j] * sin, row[j] * cos + row[i] * sin];
  });
  return result;
};
const [one, two] = [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]];
table('rotary embeddings', [
  ['halves', () => T.rope(tokens, { position: 3, size: 4 }), [turn(one, [[0, 2], [1, 3]], [3, 0.03]), turn(two, [[0, 2], [1, 3]], [4, 0.04])]],
  ['pairs, with another base', () => T.rope(tokens, { position: 0, size: 4, base: 4, layout: 'pairs' }), [one, turn(two, [[0, 1], [2, 3]], [1, 0.5])]],
  ['frequencies and positions of one\'s own', () => T.rope(tokens, { position: given([7, -2], 'i32'), size: 2, frequencies: given([0.25]) }), [turn(one, [[0, 1]], [1.75]), turn(two, [[0, 1]], [-0.5])]],
  ['frequencies of neighbours', () => T.rope(tokens, { position: 1, size: 4, layout: 'pairs', frequencies: given([0.5, 2]) }), [turn(one, [[0, 1], [2, 3]], [0.5, 2]), turn(two, [[0, 1], [2, 3]], [1, 4])]],
]);

table('normalisation', [
  ['layerNorm', () => T.layerNorm(a, { weight: given([1, 2, 3]), bias: v }), [0, 1].map(() => standard.map((x, k) => x * (k + 1) + [3, -1, 2][k]))],
  ['layerNorm over all axes', () => T.layerNorm(a, { axes: [0, 1] }).flatten(), centred([1, 2, 3, 4, 5, 6])],
  ['layerNorm over the first axis', () => T.layerNorm(a.T, { axes: 0, weight: given([1, 2, 3]) }).T, [0, 1].map(() => standard.map((x, k) => x * (k + 1)))],
  ['rmsNorm', () => T.rmsNorm(given([3, 4]), { epsilon: 0 }), [3, 4].map((x) => x / Math.sqrt(12.5))],
  ['groupNorm', () => T.groupNorm(images, 2).flatten(), [0, 6, 12, 18].flatMap((k) => centred(flat.slice(k, k + 6)))],
  ['groupNorm with a weight a channel', () => T.groupNorm(images, 2, { weight: given([2, 2, 2, 2]) }).slice([0, 1], [0, 2]).flatten(), centred(flat.slice(0, 6)).map((x) => 2 * x)],
  ['batchNorm by the batch', () => T.batchNorm(images).y.pick(1, 2).flatten(), centred([...flat.slice(6, 9), ...flat.slice(18, 21)])],
  ['batchNorm by given statistics', () => T.batchNorm(a, { mean: v, variance: given([1, 4, 9]), epsilon: 0 }).y, [[-2, 1.5, 1 / 3], [1, 3, 4 / 3]]],
  ['crossEntropy', () => T.crossEntropy(a, given([2, 0], 'i32')), [-Math.log(share[2]), -Math.log(share[0])]],
  ['crossEntropy along another axis', () => T.crossEntropy(a.T, given([1, 0], 'i32'), 0), [-Math.log(share[1]), -Math.log(share[0])]],
  ['crossEntropy of a label that is not there', () => T.crossEntropy(a, given([3, 0], 'u32')), [nan, -Math.log(share[0])]],
  ['crossEntropy of a negative label', () => T.crossEntropy(a, given([1, -1], 'i32')), [-Math.log(share[1]), nan]],
  ['crossEntropy of another negative label', () => T.crossEntropy(a, given([-100, 2], 'i32')), [nan, -Math.log(share[2])]],
]);

const [half, e] = [Math.log(2), Math.E];
const capped = 2 ** Math.tanh(2);
const key = given([[[0], [half]]]);
const value = given([[[1, 3], [4, 6]]]);
table('attention', [
  ['weights are a softmax', () => T.attention(given([[[1]]]), key, value), [[[3, 5]]]],
  ['a matrix is one head', () => T.attention(given([[1]]), given([[0], [half]]), given([[1, 3], [4, 6]])), [[3, 5]]],
  ['heads share keys, and keys may be f16', () => T.attention(given([[[0]], [[2]]]), given([[[0], [1]]], 'f16'), value, { scale: 0.5 }), [[[2.5, 4.5]], [[(1 + 4 * e) / (1 + e), (3 + 6 * e) / (1 + e)]]]],
  ['the last query sees all keys', () => T.attention(given([[[0], [0]]]), key, value, { causal: true }), [[[1, 3], [2.5, 4.5]]]],
  ['the position of the first query', () => T.attention(given([[[0]]]), key, value, { causal: true, position: 0 }), [[[1, 3]]]],
  ['a window', () => T.attention(given([[[0], [0]]]), key, value, { window: 0 }), [[[1, 3], [4, 6]]]],
  ['a mask of bools', () => T.attention(given([[[0], [0]]]), key, value, { mask: given([[0, 0], [0, 1]], 'bool') }), [[[0, 0], [4, 6]]]],
  ['a mask of terms', () => T.attention(given([[[0]]]), key, value, { mask: given([half, 0]) }), [[[2, 4]]]],
  ['a softcap', () => T.attention(given([[[2]]]), key, value, { softcap: half }), [[[(1 + 4 * capped) / (1 + capped), (3 + 6 * capped) / (1 + capped)]]]],
  ['leading axes broadcast', () => T.attention(given([[[[0]]], [[[0]]]]), key, value).flatten(), [2.5, 4.5, 2.5, 4.5]],
]);

const picture = given([[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]]);
const corner = given([[[[1, 0], [0, 2]]]]);
table('pictures', [
  ['conv2d', () => T.conv2d(picture, corner), [[[[11, 14], [20, 23]]]]],
  ['conv2d with padding and stride', () => T.conv2d(picture, corner, { stride: 2, padding: 1 }), [[[[2, 6], [14, 23]]]]],
  ['conv2d with dilation and a bias', () => T.conv2d(picture, corner, { dilation: 2, bias: given([100]) }), [[[[119]]]]],
  ['conv2d of as many rows as columns', () => T.conv2d(picture, corner, { padding: 'same' }), [[[[11, 14, 3], [20, 23, 6], [7, 8, 9]]]]],
  ['conv2d of two channels', () => T.conv2d(given([[[[1, 2]], [[3, 4]]]]), given([[[[1]], [[10]]], [[[2]], [[0]]]])), [[[[31, 42]], [[2, 4]]]]],
  ['conv1d of groups', () => T.conv1d(given([[[1, 2, 3], [4, 5, 6]]]), given([[[1, 1]], [[1, -1]]]), { groups: 2 }), [[[3, 5], [-1, -1]]]],
  ['conv1d of groups with two channels each', () => T.conv1d(given([[[1, 2], [3, 4], [5, 6], [7, 8]]]), given([[[1], [10]], [[2], [1]]]), { groups: 2 }), [[[31, 42], [17, 20]]]],
  ['conv1d of no images', () => T.conv1d(given([], 'f32', [0, 1, 3]), given([[[1, 2]]])), []],
  ['convTranspose2d', () => T.convTranspose2d(given([[[[1, 2], [3, 4]]]]), corner), [[[[1, 2, 0], [3, 6, 4], [0, 6, 8]]]]],
  ['convTranspose1d with stride, padding and more', () => T.convTranspose1d(given([[[1, 2]]]), given([[[1, 10, 100]]]), { stride: 2, padding: 1, outputPadding: 1 }), [[[10, 102, 20, 200]]]],
  ['convTranspose1d of windows with gaps', () => T.convTranspose1d(given([[[1, 2]]]), given([[[1, 10], [3, 5]]]), { stride: 3, dilation: 2, bias: given([0, 1]) }), [[[1, 0, 10, 2, 0, 20], [4, 1, 6, 7, 1, 11]]]],
  ['maxPool', () => T.maxPool(picture, [2, 2], { stride: 1, padding: [[1, 0], [0, 1]] }), [[[[2, 3, 3], [5, 6, 6], [8, 9, 9]]]]],
  ['maxPool never takes the padding', () => T.maxPool(given([-5, -6, -7], 'i32'), [2], { stride: 2, padding: 1 }), [-5, -6], 'i32'],
  ['avgPool', () => T.avgPool(picture, [2, 2], { stride: 2, padding: [0, 1] }), [[[[2.5, 4]]]]],
  ['avgPool that counts padding', () => T.avgPool(picture, [3, 2], { stride: 2, padding: [0, 1], countPadding: true }), [[[[2, 5.5]]]]],
  ['adaptiveMaxPool', () => T.adaptiveMaxPool(picture, [2, 1]), [[[[6], [9]]]]],
  ['adaptiveAvgPool', () => T.adaptiveAvgPool(picture, [1, 2]), [[[[4.5, 5.5]]]]],
  ['resize to the nearest', () => T.resize(picture, [2, 5]), [[[[1, 1, 2, 3, 3], [7, 7, 8, 9, 9]]]]],
  ['resize between pixels', () => T.resize(given([[0, 4]]), [1, 4], { mode: 'linear' }), [[0, 1, 3, 4]]],
  ['resize with corners that stay', () => T.resize(given([0, 4]), [5], { mode: 'linear', alignCorners: true }), [0, 1, 2, 3, 4]],
  ['cubic resize with corners that stay', () => T.resize(given([0, 8, 0]), [5], { mode: 'cubic', alignCorners: true }), [0, 4.75, 8, 4.75, 0]],
  ['gridSample of the nearest', () => T.gridSample(picture, given([[[[-1, -1], [0, 0.9], [9, 0]]]])), [[[[1, 8, 6]]]]],
  ['gridSample between pixels', () => T.gridSample(picture, given([[[[-1, -1], [0, 0.5], [9, 0]]]]), { mode: 'linear', border: 'zero' }), [[[[0.25, 7.25, 0]]]]],
  ['gridSample of a mirrored picture', () => T.gridSample(picture, given([[[[-2, 0], [1.5, -0.5]]]]), { mode: 'linear', border: 'mirror', alignCorners: true }), [[[[5, 4]]]]],
]);

table('sources', [
  ['full of integers', () => T.full([2], -3, 'i32'), [-3, -3], 'i32'],
  ['eye', () => T.eye(2, 3), [[1, 0, 0], [0, 1, 0]]],
  ['arange', () => T.arange(3, 'u8'), [0, 1, 2], 'u8'],
  ['iota', () => T.iota([2, 2], 0, 'i32'), [[0, 0], [1, 1]], 'i32'],
  ['linspace', () => T.linspace(-1, 2, 4), [-1, 0, 1, 2]],
  ['linspace of one', () => T.linspace(5, 6, 1), [5]],
  ['oneHot', () => T.oneHot(given([1, -1, 3], 'i32'), 3), [[0, 1, 0], [0, 0, 1], [0, 0, 0]]],
]);

table('map', [
  ['a function of several tensors', () => T.map((x, y) => x.mul(y).add(1), a, v), [[4, -1, 7], [13, -4, 13]]],
  ['a number as an input', () => T.map((x, y) => x.sub(y), v, 1), [2, -2, 1]],
  ['integers and bools come as numbers', () => T.map((x, y) => x.add(y), i, b), [8, -7, 6, 0]],
  ['comparisons are numbers', () => T.map((x) => x.gt(0).mul(5), v), [5, 0, 5]],
  ['relu selects', () => T.map((x) => x.relu(), special), [nan, Infinity, 0, 0, 0, 2]],
  ['min and max', () => T.map((x) => x.min(2).max(0), v), [2, 0, 2]],
  ['several results, one of them constant', () => T.stack(T.map((x) => [x, 7], v)), [[3, -1, 2], [7, 7, 7]]],
  ['a Value from outside is a constant', () => T.map((x) => x.mul(V.C(3)), v), [9, -3, 6]],
]);

/** The largest number and its position. */
const largest = {
  identity: [-Infinity, -1],
  lift: (x, index) => [x, index],
  merge: ([p, i], [q, j]) => [p.max(q), V.ifThenElse(p.gte(q), i, j)],
  finish: ([, place]) => place,
};
/** x ↦ a x + b, which composes to itself. */
const recurrence = { identity: [1, 0], lift: (x) => [0.5, x], merge: ([a1, b1], [a2, b2]) => [a2.mul(a1), a2.mul(b1).add(b2)], finish: ([, value]) => value };
table('folds', [
  ['fold by a rule', () => T.fold(given([[1, 5, 2], [4, 3, 6]]), 1, largest), [1, 2]],
  ['positions count within all reduced axes', () => T.fold(given([[1, 5, 2], [4, 3, 6]]), [0, 1], largest, { keep: true }), [[5]]],
  ['the result of a state is its first number', () => T.fold(a, 0, { identity: [0], lift: (x) => [x.square()], merge: ([p], [q]) => [p.add(q)] }), [17, 29, 45]],
  ['scan by a rule', () => T.scan(a, 1, recurrence), [[1, 2.5, 4.25], [4, 7, 9.5]]],
  ['scan without the element', () => T.scan(a, 1, recurrence, { exclusive: true }), [[0, 1, 2.5], [0, 4, 7]]],
]);

const z = given([[1, 2], [-3, 0.5]], 'c64');
const w = given([[0.5, -1], [2, 3]], 'c64');
const grid = given([[[1, 2], [3, -1]], [[0, 1], [-2, 4]]], 'c64');
const huge = given([[3e37, 4e37]], 'c64');
const times = ([p, q], [r, s]) => [p * r - q * s, p * s + q * r];
const over = (x, [r, s]) => times(x, [r / (r * r + s * s), -s / (r * r + s * s)]);
const [zs, ws] = [[[1, 2], [-3, 0.5]], [[0.5, -1], [2, 3]]];
const polar = (size, angle) => [size * Math.cos(angle), size * Math.sin(angle)];
const ends = given([[0, 0], [-4, 0], [Infinity, nan], [nan, 1], [1, -Infinity]], 'c64');
table('complex', [
  ['parts that broadcast', () => T.complex(given([1, 2]), given(3)), [[1, 3], [2, 3]], 'c64'],
  ['real', () => z.real(), [1, -3]],
  ['imag', () => z.imag(), [2, 0.5]],
  ['conj', () => z.conj(), [[1, -2], [-3, -0.5]], 'c64'],
  ['angle', () => z.angle(), [Math.atan2(2, 1), Math.atan2(0.5, -3)]],
  ['abs', () => z.abs(), [Math.sqrt(5), Math.sqrt(9.25)]],
  ['abs does not overflow', () => huge.abs().div(5e37), [1]],
  ['abs of 0, infinities and NaN', () => ends.abs(), [0, 4, Infinity, nan, Infinity]],
  ['sums and differences', () => z.add(w).sub(T.full([2], 1, 'c64')), [[0.5, 1], [-2, 3.5]], 'c64'],
  ['a number is a real one', () => z.mul(2).add(1).sub(0.5).div(4), [[0.625, 1], [-1.375, 0.25]], 'c64'],
  ['neg and square', () => z.neg().square(), zs.map((x) => times(x, x)), 'c64'],
  ['mul', () => z.mul(w), zs.map((x, k) => times(x, ws[k])), 'c64'],
  ['mul by an infinite number', () => z.mul(Infinity), [[Infinity, Infinity], [-Infinity, Infinity]], 'c64'],
  ['div', () => z.div(w), zs.map((x, k) => over(x, ws[k])), 'c64'],
  ['div does not overflow', () => huge.div(huge.conj()), [over([3, 4], [3, -4])], 'c64'],
  ['div by 0, by infinities and by NaN', () => given([[1, -1], [1, 2], [3, 4], [1, 1]], 'c64').div(given([[0, 0], [Infinity, -Infinity], [-Infinity, 0], [nan, 0]], 'c64')), [[Infinity, -Infinity], [0, 0], [0, 0], [nan, nan]], 'c64'],
  ['reciprocal', () => z.reciprocal(), zs.map((x) => over([1, 0], x)), 'c64'],
  ['exp', () => z.exp(), [polar(Math.E, 2), polar(Math.exp(-3), 0.5)], 'c64'],
  ['exp of a large real number', () => given([[1000, 0]], 'c64').exp(), [[Infinity, 0]], 'c64'],
  ['log', () => z.log(), [[Math.log(5) / 2, Math.atan2(2, 1)], [Math.log(9.25) / 2, Math.atan2(0.5, -3)]], 'c64'],
  ['sqrt', () => z.sqrt(), [polar(5 ** 0.25, Math.atan2(2, 1) / 2), polar(9.25 ** 0.25, Math.atan2(0.5, -3) / 2)], 'c64'],
  ['sqrt below the axis, of 0, and of a negative number', () => given([[3, -4], [0, 0], [-4, 0], [0, -2]], 'c64').sqrt(), [[2, -1], [0, 0], [0, 2], [1, -1]], 'c64'],
  ['eq and neq', () => z.eq(given([[1, 2], [-3, 1]], 'c64')).or(z.neq(given([[1, 0], [-3, 0.5]], 'c64'))), [1, 0], 'bool'],
  ['isNaN, isFinite, isInfinite', () => T.stack([ends.isNaN(), ends.isFinite(), ends.isInfinite()]), [[0, 0, 1, 1, 0], [1, 1, 0, 0, 0], [0, 0, 1, 0, 1]], 'bool'],
  ['where', () => T.where(given([1, 0], 'bool'), z, 7), [[1, 2], [7, 0]], 'c64'],
  ['cast of real numbers', () => given([1, 0], 'i32').cast('c64'), [[1, 0], [0, 0]], 'c64'],
  ['cast to bool', () => given([[0, 0], [0, 1], [1, 0]], 'c64').cast('bool'), [0, 1, 1], 'bool'],
  ['sum, mean and prod', () => T.stack([grid.sum(0), grid.mean(1), grid.prod(0)]), [[[1, 3], [1, 3]], [[2, 0.5], [-1, 2.5]], [times([1, 2], [0, 1]), times([3, -1], [-2, 4])]], 'c64'],
  ['prod of five and of nothing', () => given([[1, 1], [0, 1], [2, 0], [1, -1], [3, 1]], 'c64').prod().add(T.zeros([0], 'c64').prod()), [1 - 4, 12], 'c64'],
  ['cumsum', () => z.cumsum(), [[1, 2], [-2, 2.5]], 'c64'],
  ['views', () => grid.T.flip(0).reshape([-1]).slice([1, 4]).pad([[1, 0]], { value: 9 }).roll(1), [[0, 1], [9, 0], [-2, 4], [1, 2]], 'c64'],
  ['windows, concat and stack', () => T.concat([T.stack([z, w]).flatten(), z]).windows(0, 3, 3).pick(0, 1), [[2, 3], [1, 2], [-3, 0.5]], 'c64'],
  ['gathers', () => grid.indexSelect(given([1], 'i32')).squeeze().gather(given([-1, 5], 'i32')), [[-2, 4], [0, 0]], 'c64'],
  ['scatters', () => z.scatter(given([1], 'i32'), w.slice([0, 1]), { combine: 'add' }).setSlice([0], w.slice([1])), [[2, 3], [-2.5, -0.5]], 'c64'],
  ['selections', () => z.maskedSelect(z.real().lt(0)).values, [[-3, 0.5], [0, 0]], 'c64'],
  ['tril, diagonal and einsum', () => T.einsum('ij,j->i', grid.tril(), grid.diagonal()), [times([1, 2], [1, 2]), [times([0, 1], [1, 2])[0] + times([-2, 4], [-2, 4])[0], times([0, 1], [1, 2])[1] + times([-2, 4], [-2, 4])[1]]], 'c64'],
  ['matmul', () => grid.matmul(z), [[1, 2], [0, 1]].map((first, row) => [0, 1].map((part) => times(first, zs[0])[part] + times([[3, -1], [-2, 4]][row], zs[1])[part])), 'c64'],
  ['dot and outer', () => z.outer(w).sum().sub(z.dot(w)), times(zs[0], ws[1]).map((part, k) => part + times(zs[1], ws[0])[k]), 'c64'],
  ['derivatives of exp and sqrt of real numbers', () => T.stack([given([[0.5, 0], [2, 0]], 'c64').exp().angle(), given([[0.5, 0], [2, 0]], 'c64').sqrt().angle()]), [[0, 0], [0, 0]]],
  ['derivatives of sqrt, log and reciprocal of imaginary numbers', () => T.stack([given([[0, 2], [0, -3]], 'c64').sqrt().angle(), given([[0, 2], [0, -3]], 'c64').log().imag(), given([[0, 2], [0, -3]], 'c64').reciprocal().abs()]), [[Math.PI / 4, -Math.PI / 4], [Math.PI / 2, -Math.PI / 2], [1 / 2, 1 / 3]]],
  ['derivatives of arithmetic', () => z.mul(w).add(z.exp()).div(w.sqrt()).sub(z.log()).abs(), undefined],
  ['derivatives of products', () => grid.matmul(z).prod().reciprocal().conj().angle(), undefined],
]);

/** Σ x[j] e^(sign·2πi jk/n), of complex numbers. */
const dft = (x, sign = -1) => x.map((_, k) => x.reduce(([re, im], [p, q], j) => {
  const [c, s] = polar(1, (sign * 2 * Math.PI * ((j * k) % x.length)) / x.length);
  return [re + p * c - q * s, im + p * s + q * c];
}, [0, 0]));
const reals = (count) => Array.from({ length: count }, (_, k) => Math.cos(k * k + 1));
const complexes = (count) => reals(2 * count).slice(count).map((x, k) => [x, Math.sin(3 * k)]);
const scale = (list, factor) => list.map(([p, q]) => [p * factor, q * factor]);
table('fft', [
  ...[1, 2, 3, 4, 5, 7, 12].map((n) => [`of ${n}`, () => T.fft(given(complexes(n), 'c64')), dft(complexes(n)), 'c64']),
  ['of two radices, of numbers that begin with three', () => T.fft(given(complexes(3), 'c64').pad([[0, 127]])).slice([0, 3]), dft([...complexes(3), ...Array.from({ length: 127 }, () => [0, 0])]).slice(0, 3), 'c64'],
  ['of a large prime, of numbers that begin with three', () => T.fft(given(complexes(3), 'c64').pad([[0, 128]])).slice([0, 3]), dft([...complexes(3), ...Array.from({ length: 128 }, () => [0, 0])]).slice(0, 3), 'c64'],
  ['of real numbers', () => T.fft(given(reals(6))), dft(reals(6).map((x) => [x, 0])), 'c64'],
  ['ifft', () => T.ifft(given(complexes(6), 'c64')), scale(dft(complexes(6), 1), 1 / 6), 'c64'],
  ['ortho', () => T.fft(T.ifft(given(complexes(6), 'c64'), { norm: 'ortho' }), { norm: 'forward' }), scale(complexes(6), 1 / Math.sqrt(6)), 'c64'],
  ['forward', () => T.ifft(given(complexes(3), 'c64'), { norm: 'forward' }), dft(complexes(3), 1), 'c64'],
  ['along an axis that is not the last', () => T.fft(given([complexes(3), complexes(3).map(([p, q]) => [q, p])], 'c64'), { axes: 0 }), [complexes(3).map(([p, q]) => [p + q, p + q]), complexes(3).map(([p, q]) => [p - q, q - p])], 'c64'],
  ['along two axes', () => T.fft(grid, { axes: [0, 1] }), [[[2, 6], [0, 0]], [[6, -4], [-4, 6]]], 'c64'],
  ['rfft of an odd length', () => T.rfft(given(reals(5))), dft(reals(5).map((x) => [x, 0])).slice(0, 3), 'c64'],
  ['rfft along two axes', () => T.rfft(given([[1, 2, 3, 4], [0, 1, 0, 2]]), { axes: [0, 1] }), [[[13, 0], [-2, 3], [-5, 0]], [[7, 0], [-2, 1], [1, 0]]], 'c64'],
  ['irfft undoes rfft', () => T.irfft(T.rfft(given([reals(6), reals(6)]), { axes: [0, 1] }), { axes: [0, 1] }), [reals(6), reals(6)]],
  ['irfft of an odd length', () => T.irfft(T.rfft(given(reals(5))), { length: 5 }), reals(5)],
  ['irfft of one frequency', () => T.irfft(given([[3, 9]], 'c64'), { length: 1 }), [3]],
  ['irfft leaves imaginary parts of the ends out', () => T.irfft(given([[4, 5], [0, 0], [2, 7]], 'c64')), [1.5, 0.5, 1.5, 0.5]],
  ['irfft of a longer signal', () => T.irfft(given([[4, 0], [1, -1]], 'c64'), { length: 4 }), [1.5, 1.5, 0.5, 0.5]],
  ['irfft of a shorter signal', () => T.irfft(given([[4, 0], [2, 0], [9, 9], [9, 9]], 'c64'), { length: 2 }), [3, 1]],
  ['derivatives', () => T.irfft(T.rfft(given(reals(6))).mul(given(complexes(4), 'c64')).exp(), { length: 6 }), undefined],
  ['derivatives of two radices', () => T.fft(given(reals(6)).pad([[0, 126]])).abs().slice([0, 3]), undefined],
]);
