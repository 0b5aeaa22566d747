// Layers models that make.mjs makes: each layer that is taken, by itself or with a few others.

/** The models as `{ name, make, feeds, low, high }`: numbers of inputs lie between `low` and `high` unless `feeds` has them. */
export function layerCases(tf) {
  const L = tf.layers;
  const one = (layer, inputShape) => () => {
    const x = tf.input({ shape: inputShape });
    return tf.model({ inputs: x, outputs: layer().apply(x) });
  };
  const chain = (...layers) => () => tf.sequential({ layers: layers.map((layer) => layer()) });
  const cases = [];
  const add = (name, make, more = {}) => cases.push({ name, make, ...more });

  const ACTIVATIONS = ['elu', 'relu', 'relu6', 'linear', 'sigmoid', 'hardSigmoid', 'softplus', 'softsign', 'tanh', 'softmax', 'logSoftmax', 'swish', 'mish', 'selu', 'gelu', 'gelu_new'];
  for (const activation of ACTIVATIONS) add(`activation ${activation}`, one(() => L.activation({ activation }), [5]), { low: -8, high: 8 });
  add('dense layers, one after another', chain(() => L.dense({ units: 4, inputShape: [3], activation: 'relu' }), () => L.dense({ units: 2, useBias: false, activation: 'softmax' })));
  add('dense of a sequence', one(() => L.dense({ units: 3 }), [4, 2]));
  add('relu with a largest value', one(() => L.reLU({ maxValue: 2 }), [6]), { low: -4, high: 4 });
  add('leaky relu', one(() => L.leakyReLU({ alpha: 0.1 }), [6]));
  add('elu', one(() => L.elu({ alpha: 1 }), [6]));
  add('thresholded relu', one(() => L.thresholdedReLU({ theta: 0.3 }), [6]));
  add('prelu', one(() => L.prelu(), [3, 2]));
  add('prelu of channels after a convolution', chain(() => L.conv2d({ filters: 3, kernelSize: 2, inputShape: [4, 5, 2] }), () => L.prelu({ sharedAxes: [1, 2] })));
  add('softmax layer', one(() => L.softmax({ axis: -1 }), [3, 4]));

  for (const padding of ['valid', 'same']) {
    for (const strides of [1, 2]) {
      add(`conv1d ${padding} ${strides}`, one(() => L.conv1d({ filters: 3, kernelSize: 3, padding, strides }), [7, 2]));
      add(`conv2d ${padding} ${strides}`, one(() => L.conv2d({ filters: 3, kernelSize: [3, 2], padding, strides, activation: 'relu' }), [7, 6, 2]));
      add(`conv2d transpose ${padding} ${strides}`, one(() => L.conv2dTranspose({ filters: 3, kernelSize: 3, padding, strides }), [4, 3, 2]));
      add(`conv2d transpose of small windows ${padding} ${strides}`, one(() => L.conv2dTranspose({ filters: 2, kernelSize: 1, padding, strides }), [4, 3, 2]));
      add(`depthwise ${padding} ${strides}`, one(() => L.depthwiseConv2d({ kernelSize: 3, padding, strides, depthMultiplier: 2 }), [6, 5, 3]));
      add(`separable ${padding} ${strides}`, one(() => L.separableConv2d({ filters: 4, kernelSize: 3, padding, strides, depthMultiplier: 2 }), [6, 5, 3]));
    }
    add(`conv3d ${padding}`, one(() => L.conv3d({ filters: 2, kernelSize: 2, padding }), [4, 3, 4, 2]));
    for (const kind of ['max', 'average']) {
      add(`${kind} pool 1d ${padding}`, one(() => L[`${kind}Pooling1d`]({ poolSize: 3, strides: 2, padding }), [6, 2]));
      add(`${kind} pool 2d ${padding}`, one(() => L[`${kind}Pooling2d`]({ poolSize: [3, 2], padding }), [7, 5, 2]));
      add(`${kind} pool 3d ${padding}`, one(() => L[`${kind}Pooling3d`]({ poolSize: 2, padding }), [3, 4, 3, 2]));
    }
  }
  add('conv1d with dilation', one(() => L.conv1d({ filters: 3, kernelSize: 3, dilationRate: 2 }), [7, 2]));
  add('conv2d with dilation', one(() => L.conv2d({ filters: 3, kernelSize: 3, dilationRate: 2, useBias: false }), [8, 7, 2]));
  add('conv2d with channels first', one(() => L.conv2d({ filters: 3, kernelSize: 2, dataFormat: 'channelsFirst' }), [2, 4, 5]));
  for (const name of ['globalAveragePooling1d', 'globalMaxPooling1d']) add(name, one(() => L[name]({}), [5, 3]));
  for (const name of ['globalAveragePooling2d', 'globalMaxPooling2d']) add(name, one(() => L[name]({}), [4, 3, 2]));
  add('zero padding 2d', one(() => L.zeroPadding2d({ padding: [[1, 0], [2, 1]] }), [3, 2, 2]));
  add('cropping 2d', one(() => L.cropping2D({ cropping: [[1, 0], [0, 2]] }), [4, 5, 2]));
  add('upsampling nearest', one(() => L.upSampling2d({ size: [2, 3] }), [3, 2, 2]));
  add('upsampling bilinear', one(() => L.upSampling2d({ size: [2, 3], interpolation: 'bilinear' }), [3, 4, 2]));
  add('rescaling', one(() => L.rescaling({ scale: 0.5, offset: -1 }), [3, 2, 1]));

  add('batch normalization', one(() => L.batchNormalization({}), [4, 3]));
  add('batch normalization without a scale', one(() => L.batchNormalization({ axis: 3, scale: false }), [3, 4, 2]));
  add('layer normalization', one(() => L.layerNormalization({}), [4, 3]));
  add('layer normalization of two axes', one(() => L.layerNormalization({ axis: [-2, -1], center: false, epsilon: 0.01 }), [4, 3]));
  add('layers that do nothing here', one(() => L.dropout({ rate: 0.5 }), [3]));
  add('noise layers', chain(() => L.gaussianNoise({ stddev: 1, inputShape: [3] }), () => L.gaussianDropout({ rate: 0.2 }), () => L.alphaDropout({ rate: 0.2 })));
  add('spatial dropout', one(() => L.spatialDropout1d({ rate: 0.2 }), [3, 2]));

  add('flatten', one(() => L.flatten({}), [3, 2, 2]));
  add('flatten with channels first', one(() => L.flatten({ dataFormat: 'channelsFirst' }), [3, 2, 2]));
  add('reshape', one(() => L.reshape({ targetShape: [2, -1] }), [3, 4]));
  add('permute', one(() => L.permute({ dims: [3, 1, 2] }), [3, 4, 2]));
  add('repeat', one(() => L.repeatVector({ n: 3 }), [4]));
  add('embedding', one(() => L.embedding({ inputDim: 6, outputDim: 3 }), [4]), { feeds: [[0, 5, 2, 1, 3, 3, 4, 0]] });

  const several = (make, ...shapes) => () => {
    const inputs = shapes.map((shape) => tf.input({ shape }));
    return tf.model({ inputs, outputs: make(...inputs) });
  };
  for (const name of ['add', 'multiply', 'average', 'maximum', 'minimum', 'concatenate']) add(name, several((a, b, c) => L[name]().apply([a, b, c]), [3, 2], [3, 2], [3, 2]));
  add('add with fewer axes', several((a, b) => L.add().apply([a, b]), [3, 4], [4]));
  add('concatenate along axis 1', several((a, b) => L.concatenate({ axis: 1 }).apply([a, b]), [3, 2], [1, 2]));
  add('dot of vectors', several((a, b) => L.dot({ axes: 1 }).apply([a, b]), [4], [4]));
  add('dot of unit vectors', several((a, b) => L.dot({ axes: -1, normalize: true }).apply([a, b]), [4], [4]));
  add('dot of matrices', several((a, b) => L.dot({ axes: [2, 1] }).apply([a, b]), [3, 4], [4, 5]));
  add('dot of matrices along their last axes', several((a, b) => L.dot({ axes: 2 }).apply([a, b]), [3, 4], [5, 4]));

  for (const kind of ['simpleRNN', 'lstm', 'gru']) {
    for (const returnSequences of [false, true]) {
      add(`${kind} ${returnSequences ? 'sequences' : 'last'}`, one(() => L[kind]({ units: 3, returnSequences, recurrentInitializer: 'zeros' }), [5, 2]));
      add(`${kind} backwards ${returnSequences ? 'sequences' : 'last'}`, one(() => L[kind]({ units: 3, returnSequences, goBackwards: true, useBias: false, recurrentInitializer: 'zeros' }), [5, 2]));
      for (const mergeMode of ['concat', 'sum', 'ave', 'mul']) {
        if (kind !== 'lstm' && mergeMode !== 'concat') continue;
        add(`bidirectional ${kind} ${mergeMode} ${returnSequences ? 'sequences' : 'last'}`, one(() => L.bidirectional({ layer: L[kind]({ units: 3, returnSequences, recurrentInitializer: 'zeros' }), mergeMode }), [5, 2]));
      }
    }
  }
  add('lstm with other activations', one(() => L.lstm({ units: 3, activation: 'relu', recurrentActivation: 'sigmoid', recurrentInitializer: 'zeros' }), [4, 2]));
  add('lstm with states of another', () => {
    const x = tf.input({ shape: [4, 2] });
    const [, h, c] = L.lstm({ units: 3, returnState: true, recurrentInitializer: 'zeros' }).apply(x);
    return tf.model({ inputs: x, outputs: [L.lstm({ units: 3, returnSequences: true, recurrentInitializer: 'zeros' }).apply(x, { initialState: [h, c] }), c] });
  });
  add('bidirectional lstm without a merge, with states', () => {
    const x = tf.input({ shape: [4, 2] });
    return tf.model({ inputs: x, outputs: L.bidirectional({ layer: L.lstm({ units: 3, returnState: true, recurrentInitializer: 'zeros' }), mergeMode: null }).apply(x) });
  });
  add('bidirectional gru with states of another', () => {
    const x = tf.input({ shape: [4, 2] });
    const [, forward, backward] = L.bidirectional({ layer: L.gru({ units: 3, returnState: true, recurrentInitializer: 'zeros' }), mergeMode: 'concat' }).apply(x);
    return tf.model({ inputs: x, outputs: L.bidirectional({ layer: L.gru({ units: 3, returnSequences: true, recurrentInitializer: 'zeros' }), mergeMode: 'concat' }).apply(x, { initialState: [forward, backward] }) });
  });
  add('conv3d transpose', one(() => L.conv3dTranspose({ filters: 2, kernelSize: 2, strides: 2 }), [2, 3, 2, 2]));
  add('rnn of a cell', one(() => L.rnn({ cell: L.gruCell({ units: 3, recurrentInitializer: 'zeros' }), returnSequences: true }), [4, 2]));
  add('time distributed convolution', one(() => L.timeDistributed({ layer: L.conv1d({ filters: 3, kernelSize: 2 }) }), [3, 5, 2]));
  add('time distributed dense', one(() => L.timeDistributed({ layer: L.dense({ units: 3, activation: 'tanh' }) }), [5, 2]));

  add('a shared layer', () => {
    const dense = L.dense({ units: 3, activation: 'tanh' });
    const [a, b] = [tf.input({ shape: [2] }), tf.input({ shape: [2] })];
    const second = dense.apply(b);
    return tf.model({ inputs: [a, b], outputs: [L.add().apply([dense.apply(a), second]), second] });
  });
  add('a model that two others have', () => {
    const inner = tf.sequential({ layers: [L.dense({ units: 2, inputShape: [3], activation: 'relu' }), L.dense({ units: 3 })] });
    const a = tf.input({ shape: [3] });
    const middle = tf.model({ inputs: a, outputs: L.add().apply([inner.apply(a), a]) });
    const [c, d] = [tf.input({ shape: [3] }), tf.input({ shape: [3] })];
    return tf.model({ inputs: [c, d], outputs: L.concatenate().apply([middle.apply(c), inner.apply(d), middle.apply(d)]) });
  });
  add('a model in a sequence', () => tf.sequential({ layers: [tf.sequential({ layers: [L.dense({ units: 2, inputShape: [3] })] }), L.dense({ units: 2 })] }));
  add('a small network of pictures', () => {
    const x = tf.input({ shape: [12, 12, 3] });
    let y = L.batchNormalization({}).apply(L.conv2d({ filters: 4, kernelSize: 3, strides: 2, padding: 'same', useBias: false }).apply(x));
    y = L.reLU({ maxValue: 6 }).apply(y);
    let z = L.depthwiseConv2d({ kernelSize: 3, padding: 'same', useBias: false }).apply(y);
    z = L.activation({ activation: 'swish' }).apply(L.batchNormalization({}).apply(z));
    z = L.add().apply([y, L.conv2d({ filters: 4, kernelSize: 1 }).apply(z)]);
    z = L.concatenate().apply([z, L.maxPooling2d({ poolSize: 3, strides: 1, padding: 'same' }).apply(z)]);
    return tf.model({ inputs: x, outputs: [L.dense({ units: 5, activation: 'softmax' }).apply(L.globalAveragePooling2d({}).apply(z)), L.flatten().apply(z)] });
  });
  return cases;
}
