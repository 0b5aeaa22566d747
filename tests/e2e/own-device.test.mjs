// An application's own device: residua solves on it, and the application's own render pipeline draws from the parameters' buffer. What was drawn is
// read back pixel by pixel.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

let browser, page;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
});
after(() => browser.close());

test("an application's render pipeline draws the parameters from parameterBuffer, before and after a solve without read-back", async () => {
  const outcome = await page.evaluate(async () => {
    const { GpuContext, GpuCompiledFunctions, Problem, levenbergMarquardt } = window.residua;
    const adapter = await navigator.gpu.requestAdapter();
    const device = await adapter.requestDevice({ label: "the application's" });
    const complaints = [];
    device.addEventListener('uncapturederror', (event) => complaints.push(event.error.message));
    const context = await GpuContext.create({ device });

    // Points that start in the picture's upper half, one in every second pixel of every second row, and are drawn to a place mirrored into the lower
    // half. Two arrays, so that the points begin at an offset.
    const size = 64; // 256 bytes a row, which is what a copy from a texture asks for
    const columns = size / 2;
    const rows = size / 4;
    const clip = (pixel) => ((pixel + 0.5) / size) * 2 - 1;
    const pixels = Array.from({ length: columns * rows }, (_, i) => [2 * (i % columns), 2 * Math.floor(i / columns)]);
    const mirrored = pixels.map(([x, y]) => [x + 1, size - 1 - y]);
    const coordinates = (places) => Float64Array.from(places.flatMap(([x, y]) => [clip(x), -clip(y)]));
    const problem = new Problem();
    const scale = problem.parameters('scale', { dim: 1, values: [2, 2, 2] });
    const points = problem.parameters('points', { dim: 2, values: coordinates(pixels) });
    const all = Uint32Array.from(pixels.keys());
    problem.residuals('drawn to a place', {
      inputs: { point: points.at(all), place: problem.data(coordinates(mirrored), 2) },
      residual: ({ point, place }) => point.sub(place),
    });
    problem.residuals('scale', { inputs: { s: scale.at([0, 1, 2]) }, residual: ({ s }) => s.sub(3) });
    const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu', context });

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
    const texture = device.createTexture({ size: [size, size], format: 'rgba8unorm', usage: GPUTextureUsage.RENDER_ATTACHMENT | GPUTextureUsage.COPY_SRC });
    const copy = device.createBuffer({ size: 4 * size * size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
    /** Draws what stands in the buffer now, and gives the white pixels as `x,y`. */
    const draw = async (buffer, offset) => {
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginRenderPass({ colorAttachments: [{ view: texture.createView(), loadOp: 'clear', storeOp: 'store', clearValue: [0, 0, 0, 1] }] });
      pass.setPipeline(pipeline);
      pass.setVertexBuffer(0, buffer, offset);
      pass.draw(points.count);
      pass.end();
      encoder.copyTextureToBuffer({ texture }, { buffer: copy, bytesPerRow: 4 * size }, [size, size]);
      device.queue.submit([encoder.finish()]);
      await copy.mapAsync(GPUMapMode.READ);
      const reds = new Uint8Array(copy.getMappedRange()).filter((_, i) => i % 4 === 0);
      copy.unmap();
      return [...reds.keys()].filter((i) => reds[i] === 255).map((i) => `${i % size},${Math.floor(i / size)}`);
    };
    const names = (places) => places.map(([x, y]) => `${x},${y}`).sort();

    const buffer = functions.parameterBuffer;
    const start = await draw(buffer, 4 * points.offset);
    const result = await levenbergMarquardt(functions, { readBack: false });
    const end = await draw(functions.parameterBuffer, 4 * points.offset);
    const hostValues = points.values();
    const sameBuffer = functions.parameterBuffer === buffer;

    functions.dispose();
    context.dispose();
    // The device stays the application's: it draws on, from a buffer of its own.
    const own = device.createBuffer({ size: 8 * points.count, usage: GPUBufferUsage.VERTEX | GPUBufferUsage.COPY_DST });
    device.queue.writeBuffer(own, 0, new Float32Array(coordinates(pixels)));
    const later = await draw(own, 0);
    return {
      start: start.sort(), end: end.sort(), later: later.sort(), expectedStart: names(pixels), expectedEnd: names(mirrored), sameBuffer,
      success: result.success, untouched: hostValues.every((value, i) => value === coordinates(pixels)[i]), adapter: context.device === device, complaints,
    };
  });
  assert.deepEqual(outcome.complaints, []);
  assert.ok(outcome.adapter, 'the context works on the very device');
  assert.ok(outcome.sameBuffer, 'one buffer for the object’s life');
  assert.ok(outcome.success);
  assert.deepEqual(outcome.start, outcome.expectedStart);
  assert.deepEqual(outcome.end, outcome.expectedEnd);
  assert.deepEqual(outcome.later, outcome.expectedStart, 'the device lives on after the context’s end');
  assert.ok(outcome.untouched, 'the host’s numbers stay as they were until download()');
});
