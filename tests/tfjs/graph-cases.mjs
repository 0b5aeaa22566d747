// Graph models that make.mjs makes: each operator that is taken, by itself or with a few others.

const text = (value) => Buffer.from(value).toString('base64');
/** An attribute in the form of JSON: whole numbers are texts, texts are in base 64. */
export const attributes = {
  int: (i) => ({ i: String(i) }), float: (f) => ({ f }), flag: (b) => ({ b }), text: (s) => ({ s: text(s) }), type: (type) => ({ type }),
  ints: (i) => ({ list: { i: i.map(String) } }), texts: (s) => ({ list: { s: s.map(text) } }), func: (name) => ({ func: { name } }),
};
const { int, float, flag, type, ints, texts, func } = attributes;
const T = { T: type('DT_FLOAT') };

/** A node that is fed. */
export const placeholder = (name, shape, dtype = 'DT_FLOAT') => ({ name, op: 'Placeholder', attr: { dtype: type(dtype), shape: { shape: { dim: shape.map((size) => ({ size: String(size) })) } } } });
const constant = (name, dtype = 'DT_FLOAT') => ({ name, op: 'Const', attr: { dtype: type(dtype) } });
const ramp = (shape, scale = 0.1) => Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => Math.fround(Math.sin(i * 1.7 + 0.3) * scale));

/** The models as `{ name, nodes, weights, inputs, outputs, library }`. */
export function graphCases() {
  const cases = [];
  /** A node of inputs x0, x1 … and of constants c0, c1 …, which come after them unless `order` says so. */
  const add = (name, op, shapes, attr = {}, { consts = [], order, outputs = 1, data = [], dtypes = [] } = {}) => {
    const inputs = shapes.map((shape, k) => ({ name: `x${k}`, shape, dtype: dtypes[k] ?? 'float32', ...(data[k] && { data: data[k] }) }));
    const TF = { float32: 'DT_FLOAT', int32: 'DT_INT32', bool: 'DT_BOOL' };
    const nodes = [
      ...inputs.map(({ name: input, shape, dtype }) => placeholder(input, shape, TF[dtype])),
      ...consts.map(({ dtype = 'float32' }, k) => constant(`c${k}`, TF[dtype])),
      { name: 'y', op, input: order ?? [...inputs.map((each) => each.name), ...consts.map((_, k) => `c${k}`)], attr },
    ];
    const weights = Object.fromEntries(consts.map((each, k) => [`c${k}`, { dtype: 'float32', ...each }]));
    cases.push({ name, nodes, weights, inputs, outputs: Array.from({ length: outputs }, (_, k) => (k === 0 ? 'y' : `y:${k}`)) });
  };
  const f32 = (shape, scale = 0.5) => ({ shape, data: ramp(shape, scale) });
  const i32 = (data, shape = [data.length]) => ({ dtype: 'int32', shape, data });
  const scalar = (x) => i32([x], []);

  for (const op of ['Abs', 'Neg', 'Sign', 'Square', 'Exp', 'Expm1', 'Floor', 'Ceil', 'Round', 'Erf', 'Sin', 'Cos', 'Tan', 'Asin', 'Atan', 'Sinh', 'Cosh', 'Tanh', 'Asinh', 'Atanh', 'Relu', 'Relu6', 'Elu', 'Selu', 'Sigmoid', 'Softplus', 'IsNan', 'ZerosLike', 'OnesLike', 'Identity', 'Reciprocal']) add(op, op, [[3, 4]], T);
  const positive = { data: [[0.1, 0.5, 1, 2, 5, 9]] };
  for (const op of ['Sqrt', 'Rsqrt', 'Log', 'Log1p']) add(op, op, [[6]], T, positive);
  add('Acosh', 'Acosh', [[4]], T, { data: [[1, 1.5, 2, 7]] });
  add('Acos', 'Acos', [[4]], T, { data: [[-1, -0.5, 0.2, 1]] });
  add('LeakyRelu', 'LeakyRelu', [[5]], { ...T, alpha: float(0.1) });
  add('Prelu', 'Prelu', [[2, 3]], T, { consts: [f32([3])] });
  add('ClipByValue', 'ClipByValue', [[6]], T, { consts: [{ shape: [], data: [-0.3] }, { shape: [], data: [0.4] }] });
  for (const op of ['Add', 'AddV2', 'Sub', 'Mul', 'Maximum', 'Minimum', 'RealDiv', 'FloorDiv', 'FloorMod', 'SquaredDifference', 'Atan2', 'DivNoNan', 'Greater', 'GreaterEqual', 'Less', 'LessEqual', 'Equal', 'NotEqual']) add(`${op} with broadcasting`, op, [[2, 1, 4], [3, 1]], T);
  add('Atan2 in each quadrant', 'Atan2', [[9], [9]], T, { data: [[1, 1, 1, 0, 0, 0, -1, -1, -1], [1, 0, -1, 1, 0, -1, 1, 0, -1]] });
  add('DivNoNan of zeros', 'DivNoNan', [[4], [4]], T, { data: [[1, 0, -2, 3], [0, 0, 4, 2]] });
  add('Mod', 'Mod', [[6], [6]], T, { data: [[5, -5, 5, -5, 2.5, 0], [3, 3, -3, -3, 2, 1]] });
  for (const op of ['FloorDiv', 'RealDiv', 'FloorMod']) add(`${op} of integers`, op, [[6], [6]], { T: type('DT_INT32') }, { data: [[7, -7, 7, -7, 6, 0], [2, 2, -2, -2, 3, 5]], dtypes: ['int32', 'int32'] });
  add('Pow', 'Pow', [[4], [4]], T, { data: [[1, 2, 3, 0.5], [2, 3, 0.5, -1]] });
  add('AddN', 'AddN', [[3], [3], [3]], { ...T, N: int(3) });
  add('BiasAdd', 'BiasAdd', [[2, 3, 4]], T, { consts: [f32([4])] });
  for (const op of ['LogicalAnd', 'LogicalOr']) add(op, op, [[4], [4]], {}, { data: [[0, 0, 1, 1], [0, 1, 0, 1]], dtypes: ['bool', 'bool'] });
  add('LogicalNot', 'LogicalNot', [[2]], {}, { data: [[0, 1]], dtypes: ['bool'] });
  add('SelectV2', 'SelectV2', [[2, 3], [2, 3], [3]], T, { data: [[0, 1, 0, 1, 1, 0]], dtypes: ['bool'] });
  add('Cast to integers', 'Cast', [[5]], { SrcT: type('DT_FLOAT'), DstT: type('DT_INT32') }, { data: [[-1.7, -0.2, 0.9, 2, 3.5]] });
  add('Cast of truth values', 'Cast', [[2]], { SrcT: type('DT_BOOL'), DstT: type('DT_FLOAT') }, { data: [[0, 1]], dtypes: ['bool'] });

  for (const op of ['Sum', 'Mean', 'Max', 'Min', 'Prod']) {
    for (const keep of [false, true]) add(`${op}${keep ? ' with its axes' : ''}`, op, [[2, 3, 4]], { ...T, keep_dims: flag(keep) }, { consts: [i32([-1, 0])] });
    add(`${op} along one axis`, op, [[2, 3]], T, { consts: [scalar(1)] });
  }
  for (const op of ['Any', 'All']) add(op, op, [[2, 2]], {}, { consts: [i32([1])], data: [[0, 1, 1, 1]], dtypes: ['bool'] });
  for (const op of ['ArgMax', 'ArgMin']) add(op, op, [[3, 5]], T, { consts: [scalar(-1)] });
  add('Cumsum', 'Cumsum', [[2, 4]], { ...T, exclusive: flag(true), reverse: flag(true) }, { consts: [scalar(1)] });
  add('Cumprod', 'Cumprod', [[2, 4]], { ...T, exclusive: flag(false), reverse: flag(false) }, { consts: [scalar(1)] });
  add('TopKV2', 'TopKV2', [[2, 6]], { ...T, sorted: flag(true) }, { consts: [scalar(3)], outputs: 2 });
  add('Softmax', 'Softmax', [[2, 5]], T);
  add('LogSoftmax', 'LogSoftmax', [[2, 5]], T);

  add('MatMul', 'MatMul', [[3, 2], [4, 3]], { ...T, transpose_a: flag(true), transpose_b: flag(true) });
  add('BatchMatMulV2', 'BatchMatMulV2', [[2, 3, 4], [2, 5, 4]], { ...T, adj_x: flag(false), adj_y: flag(true) });
  add('_FusedMatMul', '_FusedMatMul', [[2, 3]], { ...T, transpose_a: flag(false), transpose_b: flag(false), fused_ops: texts(['BiasAdd', 'Relu']), num_args: int(1) }, { consts: [f32([3, 4]), f32([4])] });
  add('Einsum', 'Einsum', [[2, 3, 4], [4, 5]], { ...T, N: int(2), equation: attributes.text('bij,jk->bik') });

  const nhwc = { data_format: attributes.text('NHWC'), ...T };
  const windows = (strides, padding, more = {}) => ({ ...nhwc, strides: ints([1, strides, strides, 1]), padding: attributes.text(padding), dilations: ints([1, 1, 1, 1]), ...more });
  for (const padding of ['SAME', 'VALID']) {
    for (const stride of [1, 2]) {
      add(`Conv2D ${padding} ${stride}`, 'Conv2D', [[2, 7, 6, 3]], windows(stride, padding), { consts: [f32([3, 2, 3, 4])] });
      add(`DepthwiseConv2dNative ${padding} ${stride}`, 'DepthwiseConv2dNative', [[2, 6, 7, 3]], windows(stride, padding), { consts: [f32([3, 3, 3, 2])] });
      for (const op of ['MaxPool', 'AvgPool']) add(`${op} ${padding} ${stride}`, op, [[2, 7, 6, 3]], windows(stride, padding, { ksize: ints([1, 3, 2, 1]) }));
      const size = (extent, kernel) => (padding === 'SAME' ? extent * stride : (extent - 1) * stride + kernel);
      add(`Conv2DBackpropInput ${padding} ${stride}`, 'Conv2DBackpropInput', [[2, 4, 3, 3]], windows(stride, padding), { consts: [i32([2, size(4, 3), size(3, 2), 2]), f32([3, 2, 2, 3])], order: ['c0', 'c1', 'x0'] });
    }
  }
  add('Conv2D with dilation', 'Conv2D', [[1, 8, 8, 2]], windows(1, 'SAME', { dilations: ints([1, 2, 2, 1]) }), { consts: [f32([3, 3, 2, 3])] });
  add('Conv2D with paddings', 'Conv2D', [[1, 5, 5, 2]], windows(2, 'EXPLICIT', { explicit_paddings: ints([0, 0, 1, 0, 0, 2, 0, 0]) }), { consts: [f32([3, 3, 2, 3])] });
  for (const ops of [['BiasAdd'], ['BiasAdd', 'Relu6'], ['BiasAdd', 'Elu'], ['BiasAdd', 'LeakyRelu'], ['BiasAdd', 'Sigmoid']]) {
    add(`_FusedConv2D ${ops}`, '_FusedConv2D', [[1, 5, 6, 2]], windows(1, 'SAME', { fused_ops: texts(ops), num_args: int(1), leakyrelu_alpha: float(0.3) }), { consts: [f32([3, 3, 2, 4]), f32([4])] });
  }
  add('_FusedConv2D with Prelu', '_FusedConv2D', [[1, 5, 6, 2]], windows(1, 'SAME', { fused_ops: texts(['BiasAdd', 'Prelu']), num_args: int(2) }), { consts: [f32([3, 3, 2, 4]), f32([4]), f32([1, 1, 4])] });
  add('FusedDepthwiseConv2dNative', 'FusedDepthwiseConv2dNative', [[1, 5, 6, 3]], windows(1, 'SAME', { fused_ops: texts(['BiasAdd', 'Relu']), num_args: int(1) }), { consts: [f32([3, 3, 3, 1]), f32([3])] });
  add('Conv3D', 'Conv3D', [[1, 4, 4, 3, 2]], { ...T, data_format: attributes.text('NDHWC'), strides: ints([1, 1, 1, 1, 1]), dilations: ints([1, 1, 1, 1, 1]), padding: attributes.text('SAME') }, { consts: [f32([2, 2, 2, 2, 3])] });
  add('FusedBatchNormV3', 'FusedBatchNormV3', [[2, 3, 3, 4]], { ...nhwc, epsilon: float(0.001), is_training: flag(false) }, { consts: [f32([4]), f32([4]), f32([4]), { shape: [4], data: [0.5, 1, 2, 0.1] }] });
  for (const op of ['ResizeBilinear', 'ResizeNearestNeighbor']) {
    for (const [corners, middles] of [[false, false], [true, false], [false, true]]) {
      for (const size of [[7, 4], [3, 12]]) add(`${op} ${size}${corners ? ', corners' : ''}${middles ? ', middles' : ''}`, op, [[2, 5, 6, 2]], { ...T, align_corners: flag(corners), half_pixel_centers: flag(middles) }, { consts: [i32(size)] });
    }
  }
  add('LRN', 'LRN', [[1, 3, 3, 6]], { ...T, depth_radius: int(2), alpha: float(0.2), beta: float(0.75), bias: float(1.5) });
  add('DepthToSpace', 'DepthToSpace', [[2, 2, 3, 8]], { ...nhwc, block_size: int(2) });

  add('Reshape', 'Reshape', [[2, 6]], T, { consts: [i32([3, -1, 2])] });
  add('Transpose', 'Transpose', [[2, 3, 4]], T, { consts: [i32([2, 0, 1])] });
  add('ConcatV2', 'ConcatV2', [[2, 3], [2, 1]], { ...T, N: int(2) }, { consts: [scalar(-1)] });
  add('Split', 'Split', [[2, 6]], { ...T, num_split: int(3) }, { consts: [scalar(1)], order: ['c0', 'x0'], outputs: 3 });
  add('SplitV', 'SplitV', [[2, 6]], { ...T, num_split: int(3) }, { consts: [i32([1, 3, 2]), scalar(1)], outputs: 3 });
  add('SplitV with an open size', 'SplitV', [[2, 6]], { ...T, num_split: int(3) }, { consts: [i32([1, -1, 2]), scalar(1)], outputs: 3 });
  add('Pack', 'Pack', [[2, 3], [2, 3]], { ...T, N: int(2), axis: int(1) });
  add('Unpack', 'Unpack', [[2, 3]], { ...T, num: int(3), axis: int(-1) }, { outputs: 3 });
  add('Slice', 'Slice', [[3, 4, 5]], T, { consts: [i32([1, 0, 2]), i32([2, 3, -1])] });
  const strided = (name, shape, begin, end, strides, masks) => add(`StridedSlice ${name}`, 'StridedSlice', [shape], { ...T, ...Object.fromEntries(['begin_mask', 'end_mask', 'shrink_axis_mask', 'new_axis_mask', 'ellipsis_mask'].map((mask) => [mask, int(masks[mask] ?? 0)])) }, { consts: [i32(begin), i32(end), i32(strides)] });
  strided('of two axes', [4, 5], [1, -3], [3, -1], [1, 1], {});
  strided('with open ends', [4, 5], [1, 2], [0, 0], [1, 2], { end_mask: 3, begin_mask: 2 });
  strided('backwards', [4, 5], [0, -1], [0, -4], [1, -1], { begin_mask: 1, end_mask: 1 });
  strided('backwards with open ends', [4, 5], [0, 0], [0, 0], [-1, -2], { begin_mask: 3, end_mask: 3 });
  strided('without an axis', [4, 5], [-1, 1], [0, 3], [1, 1], { shrink_axis_mask: 1 });
  strided('with a new axis', [4, 5], [1, 0, 2], [3, 0, 4], [1, 1, 1], { new_axis_mask: 2 });
  strided('with an ellipsis', [2, 3, 4, 5], [1, 0, 2], [2, 0, 4], [1, 1, 1], { ellipsis_mask: 2 });
  strided('with all of these', [2, 3, 4, 5], [1, 0, 0, -2, 0], [2, 0, 0, 0, 3], [1, 1, 1, 1, 1], { ellipsis_mask: 2, new_axis_mask: 4, shrink_axis_mask: 8 });
  add('Pad', 'Pad', [[2, 3]], T, { consts: [i32([1, 0, 0, 2], [2, 2])] });
  add('PadV2 of a picture', 'PadV2', [[1, 3, 3, 2]], T, { consts: [i32([0, 0, 1, 2, 0, 1, 1, 0], [4, 2]), { shape: [], data: [0.5] }] });
  for (const mode of ['REFLECT', 'SYMMETRIC']) add(`MirrorPad ${mode}`, 'MirrorPad', [[3, 4]], { ...T, mode: attributes.text(mode) }, { consts: [i32([1, 2, 2, 1], [2, 2])] });
  add('Tile', 'Tile', [[2, 3]], T, { consts: [i32([2, 3])] });
  add('ExpandDims', 'ExpandDims', [[2, 3]], T, { consts: [scalar(-1)] });
  add('Squeeze', 'Squeeze', [[1, 2, 1, 3]], { ...T, squeeze_dims: ints([0]) });
  add('Squeeze of all', 'Squeeze', [[1, 2, 1, 3]], T);
  add('GatherV2', 'GatherV2', [[3, 4]], T, { consts: [i32([3, 0, 1, 1], [2, 2]), scalar(1)] });
  add('GatherNd', 'GatherNd', [[3, 4]], T, { consts: [i32([2, 0, 1, 3], [2, 2])] });
  add('ScatterNd', 'ScatterNd', [[3, 2]], { ...T, Tindices: type('DT_INT32') }, { consts: [i32([1, 3, 1], [3, 1]), i32([4, 2])], order: ['c0', 'x0', 'c1'] });
  add('SparseToDense', 'SparseToDense', [[2]], T, { consts: [i32([0, 2, 1, 0], [2, 2]), i32([2, 3]), { shape: [], data: [9] }], order: ['c0', 'c1', 'x0', 'c2'] });
  add('SparseToDense of a vector', 'SparseToDense', [[]], T, { consts: [i32([4, 1]), i32([5]), { shape: [], data: [-1] }], order: ['c0', 'c1', 'x0', 'c2'] });
  add('Shape', 'Shape', [[3, 4]], T);
  add('Size', 'Size', [[3, 4]], T);
  add('Rank', 'Rank', [[3, 4]], T);
  add('Fill', 'Fill', [[]], T, { consts: [i32([2, 3])], order: ['c0', 'x0'], data: [[1.5]] });
  add('Range', 'Range', [[]], { Tidx: type('DT_INT32') }, { consts: [scalar(1), scalar(9), scalar(3)], order: ['c0', 'c1', 'c2'] });
  add('BroadcastTo', 'BroadcastTo', [[3, 1]], T, { consts: [i32([2, 3, 4])] });
  add('OneHot', 'OneHot', [[2, 3]], { ...T, axis: int(-1) }, { consts: [scalar(4), { shape: [], data: [2] }, { shape: [], data: [-1] }], data: [[0, 3, 1, -1, 4, 2]], dtypes: ['int32'] });
  add('ReverseV2', 'ReverseV2', [[2, 3]], T, { consts: [i32([1])] });
  add('SpaceToBatchND', 'SpaceToBatchND', [[2, 4, 5, 3]], T, { consts: [i32([2, 3]), i32([0, 0, 1, 0], [2, 2])] });
  add('BatchToSpaceND', 'BatchToSpaceND', [[12, 2, 2, 3]], T, { consts: [i32([2, 3]), i32([1, 0, 0, 2], [2, 2])] });

  add('BatchMatMul', 'BatchMatMul', [[2, 4, 3], [2, 4, 5]], { ...T, adj_x: flag(true), adj_y: flag(false) });
  const volume = { ...T, data_format: attributes.text('NDHWC'), ksize: ints([1, 2, 2, 2, 1]), strides: ints([1, 2, 1, 2, 1]), padding: attributes.text('SAME') };
  for (const op of ['MaxPool3D', 'AvgPool3D']) add(op, op, [[1, 4, 3, 5, 2]], volume);
  add('IsInf', 'IsInf', [[3]], T, { data: [[1, -2, 0]] });
  add('Select', 'Select', [[2, 3], [2, 3], [2, 3]], T, { data: [[0, 1, 0, 1, 1, 0]], dtypes: ['bool'] });
  add('Gather', 'Gather', [[4, 2]], T, { consts: [i32([3, 0])] });
  add('EuclideanNorm', 'EuclideanNorm', [[2, 3]], T, { consts: [i32([1])] });
  add('Range of floats', 'Range', [[]], { Tidx: type('DT_FLOAT') }, { consts: [{ shape: [], data: [0.5] }, { shape: [], data: [2.1] }, { shape: [], data: [0.5] }], order: ['c0', 'c1', 'c2'] });
  add('Reverse', 'Reverse', [[2, 3]], T, { consts: [{ dtype: 'bool', shape: [2], data: [0, 1] }] });

  cases.push({
    name: 'a convolution of a dilated picture between blocks, and sizes that are computed',
    nodes: [
      placeholder('x', [-1, -1, -1, 3]), constant('block', 'DT_INT32'), constant('pads', 'DT_INT32'), constant('crops', 'DT_INT32'), constant('weight'), constant('zero', 'DT_INT32'), constant('one', 'DT_INT32'), constant('two', 'DT_INT32'), constant('three', 'DT_INT32'), constant('all', 'DT_INT32'), constant('up'),
      { name: 'batch', op: 'SpaceToBatchND', input: ['x', 'block', 'pads'], attr: T },
      { name: 'conv', op: 'DepthwiseConv2dNative', input: ['batch', 'weight'], attr: windows(1, 'VALID') },
      { name: 'space', op: 'BatchToSpaceND', input: ['conv', 'block', 'crops'], attr: T },
      { name: 'relu', op: 'Relu', input: ['space'], attr: T },
      { name: 'shape', op: 'Shape', input: ['relu'], attr: T },
      { name: 'images', op: 'StridedSlice', input: ['shape', 'zero', 'one', 'one'], attr: { T: type('DT_INT32'), shrink_axis_mask: int(1) } },
      { name: 'height', op: 'StridedSlice', input: ['shape', 'one', 'two', 'one'], attr: { T: type('DT_INT32'), shrink_axis_mask: int(1) } },
      { name: 'width', op: 'StridedSlice', input: ['shape', 'two', 'three', 'one'], attr: { T: type('DT_INT32'), shrink_axis_mask: int(1) } },
      { name: 'flat', op: 'Pack', input: ['images', 'all'], attr: { T: type('DT_INT32'), axis: int(0), N: int(2) } },
      { name: 'rows', op: 'Reshape', input: ['relu', 'flat'], attr: T },
      { name: 'high', op: 'Mul', input: ['height', 'factor'], attr: { T: type('DT_INT32') } }, { name: 'wide', op: 'Mul', input: ['width', 'factor'], attr: { T: type('DT_INT32') } }, constant('factor', 'DT_INT32'), constant('channels', 'DT_INT32'),
      { name: 'sizes', op: 'Pack', input: ['images', 'high', 'wide', 'channels'], attr: { T: type('DT_INT32'), axis: int(0), N: int(4) } },
      { name: 'larger', op: 'Conv2DBackpropInput', input: ['sizes', 'up', 'relu'], attr: windows(2, 'SAME') },
    ],
    weights: {
      block: i32([2, 2]), pads: i32([2, 2, 2, 3], [2, 2]), crops: i32([0, 0, 0, 1], [2, 2]), weight: f32([3, 3, 3, 1]), zero: i32([0]), one: i32([1]), two: i32([2]), three: i32([3]), all: i32([-1], []), factor: i32([2], []),
      channels: i32([2], []), up: f32([3, 3, 2, 3]),
    },
    inputs: [{ name: 'x', shape: [2, 6, 5, 3] }],
    outputs: ['rows', 'larger'],
  });
  const arg = (name, dtype = 'DT_FLOAT') => ({ name, type: dtype });
  cases.push({
    name: 'functions: a condition, a loop and a call',
    nodes: [
      placeholder('x', [2]), constant('zero', 'DT_INT32'), constant('axis', 'DT_INT32'),
      { name: 'sum', op: 'Sum', input: ['x', 'axis'], attr: T }, constant('limit'),
      { name: 'positive', op: 'Greater', input: ['sum', 'limit'], attr: T },
      { name: 'chosen', op: 'StatelessIf', input: ['positive', 'x'], attr: { then_branch: func('twice'), else_branch: func('turned') } },
      { name: 'looped', op: 'StatelessWhile', input: ['zero', 'chosen'], attr: { cond: func('few'), body: func('step') } },
      { name: 'y', op: 'Identity', input: ['looped:1'], attr: T },
    ],
    library: {
      function: [
        { signature: { name: 'twice', inputArg: [arg('a')], outputArg: [arg('out')] }, nodeDef: [{ name: 'both', op: 'AddV2', input: ['a', 'a'], attr: T }], ret: { out: 'both:z:0' } },
        { signature: { name: 'turned', inputArg: [arg('a')], outputArg: [arg('out')] }, nodeDef: [{ name: 'minus', op: 'Neg', input: ['a'], attr: T }], ret: { out: 'minus:y:0' } },
        { signature: { name: 'few', inputArg: [arg('i', 'DT_INT32'), arg('a')], outputArg: [arg('out', 'DT_BOOL')] }, nodeDef: [constant('few_limit', 'DT_INT32'), { name: 'less', op: 'Less', input: ['i', 'few_limit'], attr: { T: type('DT_INT32') } }], ret: { out: 'less:z:0' } },
        { signature: { name: 'step', inputArg: [arg('i', 'DT_INT32'), arg('a')], outputArg: [arg('next', 'DT_INT32'), arg('out')] }, nodeDef: [constant('step_one', 'DT_INT32'), { name: 'more', op: 'AddV2', input: ['i', 'step_one'], attr: { T: type('DT_INT32') } }, { name: 'square', op: 'Mul', input: ['a', 'a'], attr: T }, { name: 'shifted', op: 'AddV2', input: ['square', 'a'], attr: T }], ret: { next: 'more:z:0', out: 'shifted:z:0' } },
      ],
    },
    weights: { zero: scalar(0), axis: i32([0]), limit: { shape: [], data: [0] }, few_limit: scalar(3), step_one: scalar(1) },
    inputs: [{ name: 'x', shape: [2], data: [0.5, -0.2] }],
    outputs: ['y'],
  });
  return cases;
}
