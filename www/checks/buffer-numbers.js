/** Reads the numbers of a GPUBuffer of f32, through a copy that can be mapped. */
export async function bufferNumbers(device, buffer) {
  const staging = device.createBuffer({ size: buffer.size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, staging, 0, buffer.size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const numbers = [...new Float32Array(staging.getMappedRange())];
  staging.destroy();
  return numbers;
}
