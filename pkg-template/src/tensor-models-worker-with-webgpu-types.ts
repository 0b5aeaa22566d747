/// <reference types="@webgpu/types" preserve="true" />
/** The types of `residua/tensor/models/worker` for TypeScript before 6.0; see with-webgpu-types.ts. */
export * from './tensor-models-worker.js';
