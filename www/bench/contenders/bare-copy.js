/**
 * What reading a gradient back takes when nothing computes it: one buffer copied into another that can be mapped, mapped, and copied out. While it waits, empty
 * command lists are submitted every 50 µs, as residua does: browsers notice finished work on a timer of milliseconds.
 */
import { GpuContext } from 'residua';
import { plainSprings } from '../plain/springs.js';

const POKE_MS = 0.05;

async function whilePoked(device, promise) {
  let waiting = true;
  const { port1, port2 } = new MessageChannel();
  let last = performance.now();
  port1.onmessage = () => {
    if (!waiting) return;
    const now = performance.now();
    if (now - last > POKE_MS) {
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

/** As many f32 numbers as the positions have; the gradient is put there once, so that what comes back can be compared. */
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
      await whilePoked(device, to.mapAsync(GPUMapMode.READ));
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
