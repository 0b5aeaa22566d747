/** Pictures between the page and buffers: copies by way of textures, without a way through memory of the host. */

import { ResiduaError } from '../../../arguments/errors.js';
import type { Memory } from '../engine.js';
import type { Buffers } from './buffers.js';
import { dataOf, pixelsOf, type Picture } from '../../../arguments/picture.js';
import { contextOf, resize, type Canvas } from '../picture.js';

/** Bytes of a pixel. */
const PIXEL = 4;
/** Rows of a copy of several begin at multiples of so many bytes. */
const ROW_GRAIN = 256;
/** Textures that are kept for later pictures. */
const KEPT = 2;

/** For which device canvases were configured last. */
const configured = /* @__PURE__ */ new WeakMap<Canvas, GPUDevice>();

/** The pictures of a device. */
export class Textures {
  private idle: GPUTexture[] = [];
  /** Textures of which it is not known yet whether there is memory for them, with the memory that they were written to and whether a run has the picture. */
  private readonly unsure = new Map<GPUTexture, { readonly memories: Memory[]; isOfRun: boolean }>();
  /** Why there was no memory for a texture, which is destroyed. */
  private readonly refused = new WeakMap<GPUTexture, ResiduaError>();
  /** The failure of a picture of a run, which the next one reports. */
  private unreported: ResiduaError | null = null;

  constructor(
    private readonly gpu: GPUDevice,
    private readonly buffers: Buffers,
  ) {}

  /**
   * Takes a picture as it is now. Returns what writes it to memory, once. Throws 'invalid-argument' and 'limit-exceeded'. Memory has the failure later
   * if the GPU has no memory for the picture's texture. The results of a run do not show that, so the next picture `isOfRun` throws it: 'out-of-memory'.
   */
  capture(argument: string, picture: Picture, isOfRun: boolean): (memory: Memory) => void {
    const { queue } = this.gpu;
    const { unreported } = this;
    if (isOfRun && unreported !== null) {
      this.unreported = null;
      throw unreported;
    }
    const { width, height, source } = picture;
    this.checkSides(argument, width, height);
    const write = (bytes: Uint8Array<ArrayBuffer>) => (memory: Memory) => queue.writeBuffer(memory.buffer as GPUBuffer, memory.offset, bytes);
    const bytes = dataOf(picture);
    if (bytes !== null) return write(bytes);
    const texture = this.take(width, height);
    const state = this.unsure.get(texture);
    if (state !== undefined) state.isOfRun ||= isOfRun;
    try {
      queue.copyExternalImageToTexture({ source }, { texture }, [width, height]);
    } catch {
      this.keep(texture);
      // Not every browser copies from every kind of source.
      return write(pixelsOf(argument, picture));
    }
    return (memory) => {
      const failure = this.refused.get(texture);
      if (failure !== undefined) {
        memory.failure = failure;
        return;
      }
      const encoder = this.gpu.createCommandEncoder();
      copies(width, height, (origin, size, layout) => encoder.copyTextureToBuffer({ texture, origin }, { buffer: memory.buffer as GPUBuffer, offset: memory.offset + layout.offset, ...layout.rows }, size));
      queue.submit([encoder.finish()]);
      this.unsure.get(texture)?.memories.push(memory);
      this.keep(texture);
    };
  }

  /** Returns what draws memory on a canvas, whose size becomes that of the picture. Throws 'limit-exceeded', and 'invalid-argument' for a canvas with a context of another kind. */
  target(argument: string, canvas: Canvas, width: number, height: number): (memory: Memory) => void {
    const { gpu } = this;
    this.checkSides(argument, width, height);
    const context = contextOf<GPUCanvasContext>(argument, canvas, 'webgpu');
    return (memory) => {
      resize(canvas, width, height);
      if (configured.get(canvas) !== gpu) {
        context.configure({ device: gpu, format: 'rgba8unorm', usage: GPUTextureUsage.COPY_DST | GPUTextureUsage.RENDER_ATTACHMENT, alphaMode: 'opaque' });
        configured.set(canvas, gpu);
      }
      const texture = context.getCurrentTexture();
      const encoder = gpu.createCommandEncoder();
      copies(width, height, (origin, size, layout) => encoder.copyBufferToTexture({ buffer: memory.buffer as GPUBuffer, offset: memory.offset + layout.offset, ...layout.rows }, { texture, origin }, size));
      gpu.queue.submit([encoder.finish()]);
    };
  }

  /** Destroys the textures that are kept. */
  trim(): void {
    for (const texture of this.idle) texture.destroy();
    this.idle = [];
  }

  private checkSides(argument: string, width: number, height: number): void {
    const most = this.gpu.limits.maxTextureDimension2D;
    if (Math.max(width, height) > most) throw new ResiduaError('limit-exceeded', `${argument}: the picture has ${width} by ${height} pixels, and the device's maxTextureDimension2D is ${most}`);
  }

  private take(width: number, height: number): GPUTexture {
    const place = this.idle.findIndex((texture) => texture.width === width && texture.height === height);
    if (place >= 0) return this.idle.splice(place, 1)[0] as GPUTexture;
    const usage = GPUTextureUsage.COPY_SRC | GPUTextureUsage.COPY_DST | GPUTextureUsage.RENDER_ATTACHMENT;
    const make = () => this.gpu.createTexture({ label: 'a picture', size: [width, height], format: 'rgba8unorm', usage });
    const texture = this.buffers.watch(`a picture of ${width} by ${height} pixels`, width * height * PIXEL, make, (error) => {
      if (error !== null) {
        const { memories, isOfRun } = this.unsure.get(texture) ?? { memories: [], isOfRun: false };
        for (const memory of memories) memory.failure = error;
        if (isOfRun) this.unreported = error;
        this.refused.set(texture, error);
        this.idle = this.idle.filter((one) => one !== texture);
        texture.destroy();
      }
      this.unsure.delete(texture);
    });
    this.unsure.set(texture, { memories: [], isOfRun: false });
    return texture;
  }

  private keep(texture: GPUTexture): void {
    this.idle.push(texture);
    if (this.idle.length > KEPT) this.idle.shift()?.destroy();
  }
}

/** Where a copy begins in a buffer, and the distance of its rows where it has several. */
interface Layout {
  readonly offset: number;
  readonly rows: { readonly bytesPerRow?: number };
}

/** Copies a picture at once where its rows, one after another in the buffer, have the distance that WebGPU takes, else row by row. */
function copies(width: number, height: number, copy: (origin: [number, number], size: [number, number], layout: Layout) => void): void {
  const bytesPerRow = width * PIXEL;
  if (bytesPerRow % ROW_GRAIN === 0) copy([0, 0], [width, height], { offset: 0, rows: { bytesPerRow } });
  else for (let row = 0; row < height; row++) copy([0, row], [width, 1], { offset: row * bytesPerRow, rows: {} });
}
