/**
 * The GPUDevice of the page, which the solvers' default context and the default device of tensors share. Buffers of one device can't be used
 * on another, so both entry points of the package take the one that is requested here first. It lives as long as the page or until it is lost.
 */

import { ResiduaError } from '../arguments/errors.js';

/** Features that are requested where the adapter has them. */
const FEATURES: readonly string[] = ['timestamp-query', 'shader-f16', 'subgroups'];

/** Limits that are requested at what the adapter has. */
const LIMITS = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxUniformBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxUniformBuffersPerShaderStage',
  'minStorageBufferOffsetAlignment',
  'minUniformBufferOffsetAlignment',
  'maxComputeWorkgroupsPerDimension',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupSizeY',
  'maxComputeWorkgroupSizeZ',
  'maxComputeWorkgroupStorageSize',
] as const;

let known: Promise<GPUDevice> | null = null;

/** Returns the device of the page. It is requested on first use, and again after a loss. Rejects with 'gpu-unavailable'. */
export function pageDevice(): Promise<GPUDevice> {
  if (known !== null) return known;
  const request = requestDevice();
  known = request;
  const forget = () => {
    if (known === request) known = null;
  };
  request.then((device) => device.lost.then(forget, forget), forget);
  return request;
}

/** Whether `navigator.gpu` is there. */
export function hasWebGpu(): boolean {
  return gpuOf() !== undefined;
}

function gpuOf(): GPU | undefined {
  return (globalThis as { navigator?: { gpu?: GPU } }).navigator?.gpu ?? undefined;
}

async function requestDevice(): Promise<GPUDevice> {
  const gpu = gpuOf();
  if (gpu === undefined) throw unavailable('no navigator.gpu: this browser has no WebGPU, or the page is not a secure context');
  const adapter = await gpu.requestAdapter().catch((error: unknown) => {
    throw unavailable(`navigator.gpu gave no adapter: ${messageOf(error)}`, error);
  });
  if (adapter === null) throw unavailable('navigator.gpu has no adapter: no graphics card that WebGPU may use');
  const requiredFeatures = FEATURES.filter((feature) => adapter.features.has(feature)) as GPUFeatureName[];
  const requiredLimits = Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]] as const).filter(([, limit]) => typeof limit === 'number'));
  const device = await adapter.requestDevice({ label: 'residua', requiredFeatures, requiredLimits }).catch((error: unknown) => {
    throw unavailable(`the adapter gave no device: ${messageOf(error)}`, error);
  });
  // Older browsers describe the adapter on itself alone.
  if ((device as { adapterInfo?: unknown }).adapterInfo === undefined) Object.defineProperty(device, 'adapterInfo', { value: adapter.info });
  return device;
}

function unavailable(message: string, cause?: unknown): ResiduaError {
  return new ResiduaError('gpu-unavailable', message, { cause });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
