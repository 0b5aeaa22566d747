/// <reference types="@webgpu/types" preserve="true" />
/**
 * The package's types for TypeScript before 6.0, whose own library does not declare WebGPU. From 6.0 on it does, and both declarations
 * would conflict. package.json selects by the compiler's version.
 */
export * from './index.js';
