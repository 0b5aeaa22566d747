/**
 * Draws a triangle mesh with WebGPU, with one flat shade per face. Takes positions as numbers, or as a GPUBuffer of the same device with
 * tightly packed f32 triples (usage VERTEX), such as the parameters of a running solve, which then stay on the GPU. Draws into a texture of
 * the caller, or returns a PNG without a canvas.
 */
import { lightDirection } from './camera.js';

// The normal is that of the plane through the adjacent pixels' points, so a mesh needs neither normals nor split vertices. It is oriented
// towards the eye, and the inside of an open surface has another colour.
const SHADER = /* wgsl */ `
struct Picture {
  viewProjection: mat4x4f,
  eye: vec4f,
  light: vec4f,    // direction towards it; w: the ambient part
  surface: vec4f,
  inside: vec4f,
}
@group(0) @binding(0) var<uniform> picture: Picture;

struct Corner {
  @builtin(position) clip: vec4f,
  @location(0) world: vec3f,
}

@vertex fn project(@location(0) position: vec3f) -> Corner {
  return Corner(picture.viewProjection * vec4f(position, 1.0), position);
}

@fragment fn shade(corner: Corner, @builtin(front_facing) outside: bool) -> @location(0) vec4f {
  let across = cross(dpdx(corner.world), dpdy(corner.world));
  let toEye = picture.eye.xyz - corner.world;
  let normal = normalize(across) * select(-1.0, 1.0, dot(across, toEye) > 0.0);
  let facing = 0.5 + 0.5 * dot(normal, picture.light.xyz);
  let ambient = picture.light.w;
  let brightness = ambient + (1.0 - ambient) * facing * facing;
  let colour = select(picture.inside.rgb, picture.surface.rgb, outside);
  return vec4f(colour * brightness, 1.0);
}`;

const SAMPLES = 4;
const DEPTH_FORMAT = 'depth24plus';
const UNIFORM_BYTES = 128;

export class MeshRenderer {
  #device;
  #module;
  #bindGroup;
  #layout;
  #uniforms;
  #pipelines = new Map();
  #targets = new Map();
  #ownPositions = null;
  #triangles = null;
  #indexCount = 0;

  /** @param {GPUDevice} device */
  constructor(device) {
    this.#device = device;
    this.#module = device.createShaderModule({ label: 'mesh', code: SHADER });
    const layout = device.createBindGroupLayout({ entries: [{ binding: 0, visibility: GPUShaderStage.VERTEX | GPUShaderStage.FRAGMENT, buffer: {} }] });
    this.#layout = device.createPipelineLayout({ bindGroupLayouts: [layout] });
    this.#uniforms = device.createBuffer({ label: 'picture', size: UNIFORM_BYTES, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
    this.#bindGroup = device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer: this.#uniforms } }] });
  }

  get device() {
    return this.#device;
  }

  /** Sets the faces, and the positions that are drawn without a buffer. */
  setMesh({ positions, triangles }) {
    this.#ownPositions?.destroy();
    this.#triangles?.destroy();
    this.#ownPositions = this.#filled('positions', Float32Array.from(positions), GPUBufferUsage.VERTEX);
    this.#triangles = this.#filled('triangles', triangles, GPUBufferUsage.INDEX);
    this.#indexCount = triangles.length;
  }

  /** Sets new positions of the same faces. */
  setPositions(positions) {
    this.#device.queue.writeBuffer(this.#ownPositions, 0, Float32Array.from(positions));
  }

  /**
   * Draws into a texture that allows rendering.
   * @param {GPUTexture} texture
   * @param {import('./camera.js').OrbitCamera} camera
   * @param {typeof import('./appearance.js').APPEARANCES.light} appearance
   * @param {GPUBuffer | null} positions a buffer of the same device instead of the positions set here
   */
  draw(texture, camera, appearance, positions = null) {
    const { width, height, format } = texture;
    const view = camera.view(width / height);
    const picture = new Float32Array(UNIFORM_BYTES / 4);
    picture.set(view.viewProjection, 0);
    picture.set(view.eye, 16);
    picture.set([...lightDirection(view), appearance.ambient], 20);
    picture.set(appearance.surface, 24);
    picture.set(appearance.inside, 28);
    this.#device.queue.writeBuffer(this.#uniforms, 0, picture);

    const { colour, depth } = this.#target(width, height, format);
    const [r, g, b] = appearance.background;
    const encoder = this.#device.createCommandEncoder({ label: 'draw mesh' });
    const pass = encoder.beginRenderPass({
      colorAttachments: [{ view: colour.createView(), resolveTarget: texture.createView(), clearValue: { r, g, b, a: 1 }, loadOp: 'clear', storeOp: 'discard' }],
      depthStencilAttachment: { view: depth.createView(), depthClearValue: 1, depthLoadOp: 'clear', depthStoreOp: 'discard' },
    });
    if (this.#indexCount > 0) {
      pass.setPipeline(this.#pipeline(format));
      pass.setBindGroup(0, this.#bindGroup);
      pass.setVertexBuffer(0, positions ?? this.#ownPositions);
      pass.setIndexBuffer(this.#triangles, 'uint32');
      pass.drawIndexed(this.#indexCount);
    }
    pass.end();
    this.#device.queue.submit([encoder.finish()]);
  }

  /** Returns the picture as a PNG in a data URL. It is drawn off-screen, so it works in headless browsers and without a visible canvas. */
  async toPng(width, height, camera, appearance) {
    const texture = this.#device.createTexture({ label: 'png', size: [width, height], format: 'rgba8unorm', usage: GPUTextureUsage.RENDER_ATTACHMENT | GPUTextureUsage.COPY_SRC });
    // Rows of a copied texture start at multiples of 256 bytes.
    const rowBytes = Math.ceil((4 * width) / 256) * 256;
    const readBack = this.#device.createBuffer({ label: 'png', size: rowBytes * height, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
    try {
      this.draw(texture, camera, appearance);
      const encoder = this.#device.createCommandEncoder({ label: 'png' });
      encoder.copyTextureToBuffer({ texture }, { buffer: readBack, bytesPerRow: rowBytes }, [width, height]);
      this.#device.queue.submit([encoder.finish()]);
      await readBack.mapAsync(GPUMapMode.READ);
      const rows = new Uint8Array(readBack.getMappedRange());
      const image = new ImageData(width, height);
      for (let y = 0; y < height; y++) image.data.set(rows.subarray(y * rowBytes, y * rowBytes + 4 * width), 4 * width * y);
      const canvas = new OffscreenCanvas(width, height);
      canvas.getContext('2d').putImageData(image, 0, 0);
      return await pngDataUrl(canvas);
    } finally {
      texture.destroy();
      readBack.destroy();
    }
  }

  dispose() {
    for (const { colour, depth } of this.#targets.values()) {
      colour.destroy();
      depth.destroy();
    }
    this.#targets.clear();
    this.#ownPositions?.destroy();
    this.#triangles?.destroy();
    this.#uniforms.destroy();
  }

  #filled(label, contents, usage) {
    const buffer = this.#device.createBuffer({ label, size: contents.byteLength, usage: usage | GPUBufferUsage.COPY_DST });
    this.#device.queue.writeBuffer(buffer, 0, contents);
    return buffer;
  }

  #pipeline(format) {
    let pipeline = this.#pipelines.get(format);
    if (pipeline === undefined) {
      pipeline = this.#device.createRenderPipeline({
        label: `mesh, ${format}`,
        layout: this.#layout,
        vertex: { module: this.#module, entryPoint: 'project', buffers: [{ arrayStride: 12, attributes: [{ shaderLocation: 0, offset: 0, format: 'float32x3' }] }] },
        fragment: { module: this.#module, entryPoint: 'shade', targets: [{ format }] },
        primitive: { topology: 'triangle-list', frontFace: 'ccw' },
        depthStencil: { format: DEPTH_FORMAT, depthWriteEnabled: true, depthCompare: 'less' },
        multisample: { count: SAMPLES },
      });
      this.#pipelines.set(format, pipeline);
    }
    return pipeline;
  }

  /** Multisampled colour and depth textures of the latest size of each format. */
  #target(width, height, format) {
    let target = this.#targets.get(format);
    if (target === undefined || target.colour.width !== width || target.colour.height !== height) {
      target?.colour.destroy();
      target?.depth.destroy();
      const texture = (label, format) => this.#device.createTexture({ label, size: [width, height], format, sampleCount: SAMPLES, usage: GPUTextureUsage.RENDER_ATTACHMENT });
      target = { colour: texture('mesh colour', format), depth: texture('mesh depth', DEPTH_FORMAT) };
      this.#targets.set(format, target);
    }
    return target;
  }
}

/** @param {OffscreenCanvas} canvas */
export async function pngDataUrl(canvas) {
  const blob = await canvas.convertToBlob({ type: 'image/png' });
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(reader.result));
    reader.addEventListener('error', () => reject(reader.error));
    reader.readAsDataURL(blob);
  });
}
