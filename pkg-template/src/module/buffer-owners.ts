/** On which GPUDevice buffers of the solvers are: WebGPU does not tell it, and tensors copy on one device alone. */

const owners = /* @__PURE__ */ new WeakMap<GPUBuffer, GPUDevice>();

/** Notes the device of a buffer, and returns the buffer. */
export function noteOwner<B extends GPUBuffer | null>(buffer: B, device: GPUDevice | null): B {
  if (buffer !== null && device !== null) owners.set(buffer, device);
  return buffer;
}

/** The device of a buffer of the solvers. */
export function ownerOf(buffer: GPUBuffer): GPUDevice | undefined {
  return owners.get(buffer);
}

/** Whether a buffer of the solvers is on a device. */
export function isOn(buffer: GPUBuffer, device: GPUDevice): boolean {
  return owners.get(buffer) === device;
}
