/** Opens devices on this thread: loads the module, and finds the GPU. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { pageDevice } from '../../module/page-device.js';
import { tensorModule } from '../module/loading.js';
import { DeviceCore } from './core.js';
import type { Tuning } from './tuner.js';

/** Options of a device, checked and complete. */
export interface CheckedOptions {
  readonly backend: 'auto' | 'gpu' | 'cpu';
  /** Whose GPUDevice to use, as the caller gave it. */
  readonly share: unknown;
  readonly checks: boolean | 'finite';
  readonly profile: boolean;
  readonly sliceMs: number;
  readonly tuning: Tuning;
}

/** Opens what a device consists of. */
export type OpenDevice = (options: CheckedOptions) => Promise<{ readonly core: DeviceCore; readonly fallbackReason: string | null }>;

/** Opens a device on this thread. */
export async function openHere({ backend, share, checks, profile, sliceMs, tuning }: CheckedOptions): ReturnType<OpenDevice> {
  const [instance, found] = await Promise.all([tensorModule.ready(), gpuFor(backend, share)]);
  const emulated = backend === 'auto' && share === undefined && found.gpu !== null ? instance.call((module) => module.softwareReason(found.gpu?.adapterInfo)) : undefined;
  const { gpu, reason } = emulated === undefined ? found : { gpu: null, reason: emulated };
  return { core: DeviceCore.local(instance, gpu, { isTimed: profile, sliceMs, checks, tuning }), fallbackReason: reason };
}

/** The GPU of a request; none where the CPU is to be used, with the reason where 'auto' takes it. */
async function gpuFor(backend: 'auto' | 'gpu' | 'cpu', share: unknown): Promise<{ gpu: GPUDevice | null; reason: string | null }> {
  if (backend === 'cpu') return { gpu: null, reason: null };
  if (share !== undefined) {
    const gpu = isGpuDevice(share) ? share : (share as { device?: unknown } | null)?.device;
    if (!isGpuDevice(gpu)) throw invalidArgument('Device.create: share', describe(share), 'a GpuContext or a GPUDevice');
    return { gpu, reason: null };
  }
  try {
    return { gpu: await pageDevice(), reason: null };
  } catch (error) {
    if (backend === 'gpu' || !(error instanceof ResiduaError)) throw error;
    return { gpu: null, reason: error.message };
  }
}

function isGpuDevice(value: unknown): value is GPUDevice {
  return typeof value === 'object' && value !== null && 'createBuffer' in value && 'queue' in value && 'limits' in value;
}
