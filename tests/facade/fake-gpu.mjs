/**
 * A fake GPUDevice for tests of the tensor facade in Node. Kernels are functions of JavaScript, registered by their text. It refuses what
 * WebGPU refuses, counts objects, and can lose itself or run out of memory.
 */

Object.assign(globalThis, {
  GPUBufferUsage: { MAP_READ: 1, MAP_WRITE: 2, COPY_SRC: 4, COPY_DST: 8, INDEX: 16, VERTEX: 32, UNIFORM: 64, STORAGE: 128, INDIRECT: 256, QUERY_RESOLVE: 512 },
  GPUShaderStage: { VERTEX: 1, FRAGMENT: 2, COMPUTE: 4 },
  GPUMapMode: { READ: 1, WRITE: 2 },
  GPUTextureUsage: { COPY_SRC: 1, COPY_DST: 2, TEXTURE_BINDING: 4, STORAGE_BINDING: 8, RENDER_ATTACHMENT: 16 },
});

/** Functions of kernels by text: each takes the bytes of its bindings. */
export const kernels = new Map();

const refuse = (message) => {
  throw new Error(`WebGPU refuses: ${message}`);
};

/** Replaces the bits of a mask in a word. */
function patchWord([bytes, patch]) {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  const [place, mask, value] = new Uint32Array(patch.buffer, patch.byteOffset, 4);
  words[place] = ((words[place] & ~mask) | (value & mask)) >>> 0;
}

/** The parts of a copy between a buffer and a texture of four bytes a pixel: `[bytes of the buffer, bytes of the texture]`, a row each. */
function rowsOf({ buffer, offset = 0, bytesPerRow }, { texture, origin = [0, 0] }, [width, height]) {
  if (height > 1 ? !(bytesPerRow % 256 === 0 && bytesPerRow >= 4 * width) : bytesPerRow !== undefined && bytesPerRow % 256 !== 0) refuse(`rows of ${bytesPerRow} bytes`);
  if (offset % 4 !== 0 || origin[0] + width > texture.width || origin[1] + height > texture.height) refuse('a copy of a texture');
  return Array.from({ length: height }, (_, row) => {
    const [start, from] = [offset + row * (bytesPerRow ?? 0), 4 * ((origin[1] + row) * texture.width + origin[0])];
    if (start + 4 * width > buffer.size) refuse('a copy beyond the buffer');
    return [buffer.bytes.subarray(start, start + 4 * width), texture.bytes.subarray(from, from + 4 * width)];
  });
}

/** Makes a device. `made` counts objects since its creation. */
export function fakeGpu({ limits = {}, features = [] } = {}) {
  const made = { buffers: 0, bindGroups: 0, pipelines: 0, submits: 0, textures: 0 };
  const live = new Set();
  const scopes = [];
  let lose;
  const check = (buffer) => (buffer.isDestroyed ? refuse(`${buffer.label} was destroyed`) : buffer);
  const device = {
    made,
    live,
    /** Bytes from which on a buffer has no memory. */
    memoryLimit: Infinity,
    /** The same for textures. */
    textureLimit: Infinity,
    isLost: false,
    /** Nanoseconds of the clock of timestamps. Dispatches add to it what `cost` gives for their text. */
    clock: 0,
    cost: () => 0,
    features: new Set(features),
    limits: {
      maxBufferSize: 2 ** 28, maxStorageBufferBindingSize: 2 ** 27, maxStorageBuffersPerShaderStage: 8, maxComputeWorkgroupsPerDimension: 65535,
      maxComputeInvocationsPerWorkgroup: 256, maxComputeWorkgroupStorageSize: 16384, maxTextureDimension2D: 8192, minStorageBufferOffsetAlignment: 256, ...limits,
    },
    lost: new Promise((resolve) => (lose = resolve)),
    lose(reason = 'unknown') {
      device.isLost = true;
      lose({ reason, message: 'a test lost it' });
    },
    createBuffer({ label, size, usage }) {
      if (size > device.limits.maxBufferSize) refuse(`a buffer of ${size} bytes`);
      made.buffers += 1;
      if (size > device.memoryLimit) scopes.at(-1).error = { message: 'no memory' };
      const buffer = {
        label, size, usage, isDestroyed: false, isMapped: false, bytes: new Uint8Array(size),
        destroy() {
          buffer.isDestroyed = true;
          live.delete(buffer);
        },
        async mapAsync() {
          await new Promise((resolve) => setImmediate(resolve));
          if (buffer.isDestroyed || device.isLost) throw new DOMException('mapping was aborted', 'AbortError');
          buffer.isMapped = true;
        },
        getMappedRange: (offset = 0, length = size - offset) => (buffer.isMapped && offset % 8 === 0 && length % 4 === 0 ? buffer.bytes.slice(offset, offset + length).buffer : refuse('a mapped range')),
        unmap: () => void (buffer.isMapped = false),
      };
      live.add(buffer);
      return buffer;
    },
    createTexture({ size: [width, height], format, usage }) {
      if (format !== 'rgba8unorm') refuse(`a texture of ${format}`);
      made.textures += 1;
      if (4 * width * height > device.textureLimit) scopes.at(-1).error = { message: 'no memory' };
      const texture = { width, height, usage, bytes: new Uint8Array(4 * width * height), isDestroyed: false, destroy: () => void (texture.isDestroyed = true) };
      return texture;
    },
    createQuerySet: ({ type, count }) => (type === 'timestamp' && device.features.has('timestamp-query') ? { count, stamps: new BigUint64Array(count), destroy() {} } : refuse('a query set')),
    createBindGroupLayout: ({ entries }) => ({ entries }),
    createPipelineLayout: (layout) => layout,
    createShaderModule: ({ code }) => ({ code, getCompilationInfo: async () => ({ messages: [{ type: 'error', lineNum: 3, message: `'${code}' is no kernel` }] }) }),
    async createComputePipelineAsync({ layout, compute: { module, entryPoint } }) {
      made.pipelines += 1;
      await device.holdPipelines;
      if (entryPoint !== 'main' || !kernels.has(module.code)) throw new Error('the pipeline was refused');
      return { run: kernels.get(module.code), text: module.code, layout: layout.bindGroupLayouts[0] };
    },
    /** The shader that replaces parts of words is the one that is compiled in this way. */
    createComputePipeline({ label }) {
      if (label !== 'patch') refuse('a pipeline that blocks');
      const layout = { entries: [{ buffer: { type: 'storage' } }, { buffer: { type: 'uniform' } }] };
      return { run: patchWord, getBindGroupLayout: () => layout };
    },
    createBindGroup({ layout, entries }) {
      made.bindGroups += 1;
      if (layout.entries.length !== entries.length) refuse(`${entries.length} entries for ${layout.entries.length} bindings`);
      entries.forEach(({ resource: { buffer, offset = 0, size = buffer.size } }) => {
        if (offset % 256 !== 0 || size % 4 !== 0 || offset + size > buffer.size) refuse(`a binding of ${buffer.label}: ${offset} + ${size} of ${buffer.size}`);
      });
      return { layout, entries };
    },
    createCommandEncoder() {
      const commands = [];
      return {
        beginComputePass({ timestampWrites } = {}) {
          let [pipeline, group] = [null, null];
          const stamp = (at) => timestampWrites !== undefined && commands.push(() => (timestampWrites.querySet.stamps[timestampWrites[at]] = BigInt(device.clock)));
          stamp('beginningOfPassWriteIndex');
          return {
            setPipeline: (one) => (pipeline = one),
            setBindGroup: (_, one) => (group = one),
            dispatchWorkgroups(...counts) {
              const [{ run, text }, { entries, layout }] = [pipeline, group];
              const writes = new Map();
              entries.forEach(({ resource: { buffer } }, k) => {
                const isWritten = layout.entries[k].buffer.type === 'storage';
                if (writes.has(buffer) && (isWritten || writes.get(buffer))) refuse(`${buffer.label} is bound twice and written`);
                writes.set(buffer, isWritten);
              });
              commands.push(() => run(entries.map(({ resource: { buffer, offset = 0, size = buffer.size } }) => check(buffer).bytes.subarray(offset, offset + size)), counts));
              commands.push(() => (device.clock += device.cost(text)));
            },
            end: () => stamp('endOfPassWriteIndex'),
          };
        },
        copyBufferToBuffer(from, start, to, at, bytes) {
          if (from === to || (start | at | bytes) % 4 !== 0 || start + bytes > from.size || at + bytes > to.size) refuse('a copy');
          commands.push(() => check(to).bytes.set(check(from).bytes.subarray(start, start + bytes), at));
        },
        resolveQuerySet({ stamps }, first, count, to, at) {
          commands.push(() => check(to).bytes.set(new Uint8Array(stamps.slice(first, first + count).buffer), at));
        },
        copyTextureToBuffer(from, to, size) {
          const rows = rowsOf(to, from, size);
          commands.push(() => check(from.texture) && rows.forEach(([bytes, pixels]) => bytes.set(pixels)));
        },
        copyBufferToTexture(from, to, size) {
          const rows = rowsOf(from, to, size);
          commands.push(() => check(from.buffer) && rows.forEach(([bytes, pixels]) => pixels.set(bytes)));
        },
        clearBuffer: (buffer) => commands.push(() => check(buffer).bytes.fill(0)),
        finish: () => commands,
      };
    },
    queue: {
      submit(lists) {
        if (lists.length > 0) made.submits += 1;
        if (!device.isLost) for (const command of lists.flat()) command();
      },
      writeBuffer(buffer, at, data, from = 0, length = data.length - from) {
        const unit = data.BYTES_PER_ELEMENT;
        if (at % 4 !== 0 || (length * unit) % 4 !== 0 || at + length * unit > buffer.size) refuse(`a write of ${length * unit} bytes at ${at}`);
        check(buffer).bytes.set(new Uint8Array(data.buffer, data.byteOffset + from * unit, length * unit), at);
      },
      /** Pictures of the tests have their pixels. */
      copyExternalImageToTexture({ source }, { texture }, [width, height]) {
        if ((texture.usage & 18) !== 18) refuse('a texture that pictures are not copied to');
        if (source.isForeign) throw new DOMException('a picture of another origin', 'SecurityError');
        check(texture).bytes.set(source.pixels.subarray(0, 4 * width * height));
      },
      onSubmittedWorkDone: async () => {},
    },
    pushErrorScope: () => void scopes.push({ error: null }),
    popErrorScope: async () => scopes.pop().error,
  };
  return device;
}
