/// <reference lib="esnext.disposable" preserve="true" />
/**
 * residua/tensor/onnx: models of ONNX as recipes and programs of residua/tensor.
 *
 * @packageDocumentation
 */

export { loadOnnx, type OnnxOptions } from './tensor/onnx/load.js';
export { OnnxModel } from './tensor/onnx/onnx-model.js';
export type { OnnxFeed, OnnxNumbers, OnnxValue } from './tensor/onnx/feeds.js';
