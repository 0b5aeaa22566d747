/**
 * The time of reading back a gradient without computing it: one buffer is copied into another that can be mapped, which is mapped and
 * copied out. During the wait, empty command lists are submitted as often as residua does, because browsers detect finished work on a
 * timer of milliseconds.
 */
import { GpuContext } from 'residua';
import { plainSprings } from '../plain/springs.js';

/** Milliseconds between empty submissions: a twentieth of the time waited, and at least 0.05. */
const interval = (waited) => Math.max(0.05, 0.05 * waited);

async function withEmptySubmissions(device, promise) {
  let waiting = true;
  const { port1, port2 } = new MessageChannel();
  const began = performance.now();
  let last = began;
  port1.onmessage = () => {
    if (!waiting) return;
    const now = performance.now();
    if (now - last > interval(now - began)) {
      device.queue.submit([]);
      last = now;
    }
    port2.postMessage(0);
  };
  port2.postMessage(0);
  try {
    await promise;
  } finally {
    waiting = false;
    port1.close();
  }
}

/** As many f32 numbers as the positions have. The gradient is written once, so that the result can be compared. */
export async function bareCopy({ positions, edges }) {
  const { device } = await GpuContext.default();
  const gradient = new Float64Array(positions.length);
  const value = plainSprings(edges, 1).costWithGradient(positions, gradient);
  const bytes = 4 * positions.length;
  const from = device.createBuffer({ size: bytes, usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST });
  const to = device.createBuffer({ size: bytes, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  device.queue.writeBuffer(from, 0, Float32Array.from(gradient));
  return {
    async run() {
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(from, 0, to, 0, bytes);
      device.queue.submit([encoder.finish()]);
      await withEmptySubmissions(device, to.mapAsync(GPUMapMode.READ));
      const copy = new Float32Array(to.getMappedRange()).slice();
      to.unmap();
      return { value, gradient: copy };
    },
    dispose() {
      from.destroy();
      to.destroy();
    },
  };
}
