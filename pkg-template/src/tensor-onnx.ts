/// <reference lib="esnext.disposable" preserve="true" />
/**
 * residua/tensor/onnx: models of ONNX as recipes and programs of residua/tensor.
 *
 * @packageDocumentation
 */

export { loadOnnx, type OnnxOptions } from './tensor/onnx/load.js';
export { LoadedModel } from './tensor/onnx/loaded-model.js';
export type { ModelFeed, ModelNumbers, ModelValue } from './tensor/onnx/feeds.js';
