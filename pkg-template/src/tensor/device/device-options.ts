/** Options of devices. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkFinite } from '../../arguments/numeric-arguments.js';
import { checkFlag, checkOptions, type OptionNames } from '../../arguments/options.js';
import type { GpuContext } from '../../compile/context.js';
import type { CheckedOptions } from './opening.js';
import { checkTuning } from './tuner.js';

/** Options of `Device.create`. */
export interface DeviceOptions {
  /**
   * 'auto' (default): the GPU if there is one that is not emulated in software, which is slower than the CPU; else the CPU. 'gpu' takes an emulated one
   * too, as 'auto' does where `share` gives one, and rejects with 'gpu-unavailable' without any.
   */
  backend?: 'auto' | 'gpu' | 'cpu';
  /**
   * Whose GPUDevice to use: that of a solvers' context, or one of the application, which keeps owning it. By default that of the page, which
   * `GpuContext.default()` has too.
   */
  share?: GpuContext | GPUDevice;
  /**
   * For development. true: an index that is out of range rejects the next read of the device with 'invalid-argument', which names the operation; without it such an index reads 0 and
   * writes nothing. 'finite': so does a NaN or an infinity in a result or in what is assigned, with 'non-finite' and the first operation that makes one from finite numbers. Programs take
   * more kernels then. What derivatives compute is checked by their results alone, and so are the bodies of loop() and scan(), whose indices are not. Default false.
   */
  checks?: boolean | 'finite';
  /** Times every kernel, for `stats().kernels`, where the GPU has timestamps. Each dispatch then has a pass of its own. Default false. */
  profile?: boolean;
  /**
   * A run is submitted in pieces of about so many milliseconds of the GPU, whole kernels each, so that the page can draw in between; 0: in one
   * piece. The second run of a program is measured for it. Default 12.
   */
  sliceMs?: number;
  /**
   * How the tiles of matrix products are chosen on a GPU: 'table' (default), by a table of adapters; 'measure', by timing them when a kind of product is first compiled, with at most 80 MiB
   * for the time being; or as `device.tuning.found` was before. A text of another adapter or of other kernels is ignored, and so is one of an adapter without a name; one that was damaged
   * is 'invalid-argument'. Where timing fails the tile is that of the table. No result
   * depends on it.
   */
  tuning?: 'table' | 'measure' | { readonly found: string };
}

const DEVICE_OPTIONS: OptionNames<DeviceOptions> = { backend: true, share: true, checks: true, profile: true, sliceMs: true, tuning: true };

/** Returns options with their defaults. Throws 'invalid-argument'. */
export function checkDevice(options: DeviceOptions): CheckedOptions {
  checkOptions('Device.create: options', options, DEVICE_OPTIONS);
  const { backend = 'auto', share, checks = false, profile = false, sliceMs = 12, tuning = 'table' } = options;
  if (backend !== 'auto' && backend !== 'gpu' && backend !== 'cpu') throw invalidArgument('Device.create: backend', describe(backend), "'auto', 'gpu' or 'cpu'");
  if (checks !== 'finite' && typeof checks !== 'boolean') throw invalidArgument('Device.create: checks', describe(checks), "true, false or 'finite'");
  checkFlag('Device.create: profile', profile);
  checkFinite('Device.create: sliceMs', sliceMs, 0);
  checkTuning(tuning);
  if (backend === 'cpu' && share !== undefined) throw invalidArgument('Device.create: share', describe(share), "nothing with backend 'cpu'");
  return { backend, share, checks, profile, sliceMs, tuning };
}
