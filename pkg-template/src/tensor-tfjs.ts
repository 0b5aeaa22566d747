/// <reference lib="esnext.disposable" preserve="true" />
/**
 * residua/tensor/tfjs: models of TensorFlow.js as recipes and programs of residua/tensor.
 *
 * @packageDocumentation
 */

export { loadTfjs, type TfjsOptions } from './tensor/tfjs/load.js';
export { LoadedModel } from './tensor/onnx/loaded-model.js';
export type { ModelFeed, ModelNumbers, ModelValue } from './tensor/onnx/feeds.js';
