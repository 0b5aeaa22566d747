/**
 * The limits and features of an adapter, beside those that residua needs. Takes a GPUAdapter; returns rows, first those that matter to
 * residua. The needs are the crate's (crates/gpu/src/request.rs, crates/gpu/src/limits.rs): the minimum of WebGPU, and more where the
 * adapter has it.
 */

const [KiB, MiB] = [1 << 10, 1 << 20];

/** What residua needs of a limit, and its purpose. With `atMost` a smaller number is better. */
export const LIMITS_THAT_MATTER = [
  { name: 'maxBufferSize', needs: 256 * MiB, unit: 'bytes', purpose: 'the largest vector or table; what is larger is refused by this name' },
  { name: 'maxStorageBufferBindingSize', needs: 128 * MiB, unit: 'bytes', purpose: 'what one kernel sees of a table: larger tables are split, all parameters must fit' },
  { name: 'maxStorageBuffersPerShaderStage', needs: 8, purpose: 'tables that one kernel sees' },
  { name: 'maxUniformBufferBindingSize', needs: 64 * KiB, unit: 'bytes', purpose: 'constants on which all instances agree' },
  { name: 'maxUniformBuffersPerShaderStage', needs: 12, purpose: 'weights, losses and constants of a kernel' },
  { name: 'maxComputeWorkgroupsPerDimension', needs: 65_535, purpose: 'instances in one dispatch, beyond which it gets a second dimension' },
  { name: 'maxComputeInvocationsPerWorkgroup', needs: 256, purpose: 'threads that sum together' },
  { name: 'maxComputeWorkgroupSizeX', needs: 256, purpose: 'the same, in one dimension' },
  { name: 'maxComputeWorkgroupStorageSize', needs: 16 * KiB, unit: 'bytes', purpose: 'what these threads share' },
  { name: 'minStorageBufferOffsetAlignment', needs: 256, unit: 'bytes', atMost: true, purpose: 'where parts of a table may begin' },
  { name: 'minUniformBufferOffsetAlignment', needs: 256, unit: 'bytes', atMost: true, purpose: 'where constants may begin' },
];

export const FEATURES_THAT_MATTER = [
  { name: 'timestamp-query', purpose: 'lets stats().profile and the benchmarks time the GPU itself; used where it is there' },
  { name: 'subgroups', purpose: 'sums within a few threads without memory; not used by residua' },
  { name: 'shader-f16', purpose: 'arithmetic in half precision; residua stores halves without it and computes in single precision' },
];

const matters = new Set([...LIMITS_THAT_MATTER, ...FEATURES_THAT_MATTER].map(({ name }) => name));

/** A number in readable form. */
export function figure(value, unit) {
  if (value === undefined) return 'not told';
  if (unit !== 'bytes' || value < KiB) return value.toLocaleString('en-US') + (unit === 'bytes' ? ' B' : '');
  for (const [name, size] of [['GiB', KiB * MiB], ['MiB', MiB], ['KiB', KiB]]) {
    if (value >= size) return `${Number((value / size).toFixed(2))} ${name}`;
  }
  return String(value);
}

/**
 * @param {GPUAdapter} adapter
 * @returns {{ limits: { name: string, here: string, needs: string, enough: boolean, purpose: string }[], features: { name: string, here: boolean, purpose: string }[],
 *   otherLimits: { name: string, here: string }[], otherFeatures: string[], lacking: string[] }}
 */
export function deviceFacts(adapter) {
  const limits = LIMITS_THAT_MATTER.map(({ name, needs, unit, atMost = false, purpose }) => {
    const has = adapter.limits[name];
    return { name, here: figure(has, unit), needs: `${atMost ? 'at most ' : ''}${figure(needs, unit)}`, enough: has !== undefined && (atMost ? has <= needs : has >= needs), purpose };
  });
  const features = FEATURES_THAT_MATTER.map(({ name, purpose }) => ({ name, here: adapter.features.has(name), purpose }));
  const otherLimits = [];
  // Limits are accessors of the prototype, which for…in enumerates.
  for (const name in adapter.limits) {
    const value = adapter.limits[name];
    if (!matters.has(name) && typeof value === 'number') otherLimits.push({ name, here: value.toLocaleString('en-US') });
  }
  return {
    limits, features,
    otherLimits: otherLimits.toSorted((a, b) => a.name.localeCompare(b.name)),
    otherFeatures: [...adapter.features].filter((name) => !matters.has(name)).toSorted(),
    lacking: limits.filter(({ enough }) => !enough).map(({ name, here, needs }) => `${name} is ${here}, and residua needs ${needs}`),
  };
}
