/**
 * A device of the application: residua solves on it, and the application's render pipeline draws from the parameters' buffer. The picture
 * is read back and compared pixel by pixel.
 */
import { GpuContext, levenbergMarquardt, Problem } from 'residua';
import { onGpu } from '../define.js';
import { reached } from './decay.js';

const SIZE = 64; // 256 bytes per row, the alignment of a copy from a texture

/**
 * An application's pipeline that draws white points from a vertex buffer. Returns a function that draws and returns the white pixels as
 * `x,y`.
 */
function painter(device, count) {
  const module = device.createShaderModule({
    code: `
      @vertex fn point(@location(0) place: vec2f) -> @builtin(position) vec4f { return vec4f(place, 0.0, 1.0); }
      @fragment fn white() -> @location(0) vec4f { return vec4f(1.0); }`,
  });
  const pipeline = device.createRenderPipeline({
    layout: 'auto',
    vertex: { module, buffers: [{ arrayStride: 8, attributes: [{ shaderLocation: 0, offset: 0, format: 'float32x2' }] }] },
    fragment: { module, targets: [{ format: 'rgba8unorm' }] },
    primitive: { topology: 'point-list' },
  });
  const texture = device.createTexture({ size: [SIZE, SIZE], format: 'rgba8unorm', usage: GPUTextureUsage.RENDER_ATTACHMENT | GPUTextureUsage.COPY_SRC });
  const copy = device.createBuffer({ size: 4 * SIZE * SIZE, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  return async (buffer, offset) => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginRenderPass({ colorAttachments: [{ view: texture.createView(), loadOp: 'clear', storeOp: 'store', clearValue: [0, 0, 0, 1] }] });
    pass.setPipeline(pipeline);
    pass.setVertexBuffer(0, buffer, offset);
    pass.draw(count);
    pass.end();
    encoder.copyTextureToBuffer({ texture }, { buffer: copy, bytesPerRow: 4 * SIZE }, [SIZE, SIZE]);
    device.queue.submit([encoder.finish()]);
    await copy.mapAsync(GPUMapMode.READ);
    const reds = new Uint8Array(copy.getMappedRange()).filter((_, i) => i % 4 === 0);
    copy.unmap();
    return [...reds.keys()].filter((i) => reds[i] === 255).map((i) => `${i % SIZE},${Math.floor(i / SIZE)}`).sort();
  };
}

export const group = {
  id: 'own-device',
  title: 'Drawing on the application’s own device',
  about: 'The application’s render pipeline binds parameterBuffer directly; the pixels show its content.',
  checks: [
    ...onGpu('a render pipeline of the application draws the parameters from parameterBuffer, before and after a solve without read-back', async (check) => {
      const device = await check.ownDevice({ label: "the application's" });
      const complaints = [];
      device.addEventListener('uncapturederror', (event) => complaints.push(event.error.message));
      const context = await GpuContext.create({ device });

      // Points that start in the picture's upper half, one in every second pixel of every second row, and are attached to the mirrored
      // position in the lower half. Two arrays, so that the points begin at an offset.
      const columns = SIZE / 2;
      const rows = SIZE / 4;
      const clip = (pixel) => ((pixel + 0.5) / SIZE) * 2 - 1;
      const pixels = Array.from({ length: columns * rows }, (_, i) => [2 * (i % columns), 2 * Math.floor(i / columns)]);
      const mirrored = pixels.map(([x, y]) => [x + 1, SIZE - 1 - y]);
      const coordinates = (places) => Float64Array.from(places.flatMap(([x, y]) => [clip(x), -clip(y)]));
      const names = (places) => places.map(([x, y]) => `${x},${y}`).sort();
      const problem = new Problem();
      const scale = problem.parameters('scale', { dim: 1, values: [2, 2, 2] });
      const points = problem.parameters('points', { dim: 2, values: coordinates(pixels) });
      const all = Uint32Array.from(pixels.keys());
      problem.residuals('drawn to a place', {
        inputs: { point: points.at(all), place: problem.data(coordinates(mirrored), 2) },
        residual: ({ point, place }) => point.sub(place),
      });
      problem.residuals('scale', { inputs: { s: scale.at([0, 1, 2]) }, residual: ({ s }) => s.sub(3) });
      const functions = await check.compile(problem, { context });

      const draw = painter(device, points.count);
      const buffer = functions.parameterBuffer;
      const start = await draw(buffer, 4 * points.offset);
      const result = await levenbergMarquardt(functions, { readBack: false });
      const end = await draw(functions.parameterBuffer, 4 * points.offset);
      const hostValues = points.values();
      const sameBuffer = functions.parameterBuffer === buffer;

      functions.dispose();
      context.dispose();
      // The application still owns the device: it draws from a buffer of its own.
      const own = device.createBuffer({ size: 8 * points.count, usage: GPUBufferUsage.VERTEX | GPUBufferUsage.COPY_DST });
      device.queue.writeBuffer(own, 0, new Float32Array(coordinates(pixels)));
      const later = await draw(own, 0);
      check.same(complaints, [], 'nothing to complain about');
      check.ok(context.device === device, 'the context works on the very device');
      check.ok(sameBuffer, 'one buffer for the object’s life');
      reached(check, result);
      check.same(start, names(pixels), 'the pixels at the start');
      check.same(end, names(mirrored), 'the pixels at the end');
      check.same(later, names(pixels), 'the device lives on after the context’s end');
      check.same(hostValues, coordinates(pixels), 'the host’s numbers stay as they were until download()');
    }),
  ],
};
