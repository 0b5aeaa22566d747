/** The binary files of a model: cameras.bin, images.bin, points3D.bin. Numbers are little-endian. */

import { invalidArgument, type ResiduaError } from '../../arguments/errors.js';
import { NO_POINT, type Failure, type ModelBuilder } from './builder.js';
import { MODEL_NAMES, MODEL_SIZES } from './model.js';

/** The largest integer that numbers hold exactly. */
const MOST = 2 ** 53 - 1;

class Bytes {
  private readonly view: DataView;
  private next = 0;

  constructor(
    private readonly reader: string,
    data: ArrayBuffer | Uint8Array,
  ) {
    try {
      this.view = data instanceof ArrayBuffer ? new DataView(data) : new DataView(data.buffer, data.byteOffset, data.byteLength);
    } catch {
      throw invalidArgument(reader, 'a detached buffer', 'the bytes of a file');
    }
  }

  /** Returns the error of what begins at a byte. */
  failureAt(byte: number): Failure {
    return (got, takes) => invalidArgument(`${this.reader}: byte ${byte}`, got, takes);
  }

  get position(): number {
    return this.next;
  }

  u8(): number {
    return this.view.getUint8(this.take(1));
  }
  u32(): number {
    return this.view.getUint32(this.take(4), true);
  }
  i32(): number {
    return this.view.getInt32(this.take(4), true);
  }

  /** A whole number of 64 bits. */
  u64(what: string, most = MOST): number {
    const at = this.next;
    const value = this.view.getBigUint64(this.take(8), true);
    if (value > BigInt(most)) throw this.failureAt(at)(`${value}`, `${what} of at most ${most}`);
    return Number(value);
  }

  /** The id of a point, of which 2⁶⁴ − 1 stands for none. */
  pointOrNone(): number {
    if (this.view.byteLength >= this.next + 8 && this.view.getBigUint64(this.next, true) === 2n ** 64n - 1n) {
      this.next += 8;
      return NO_POINT;
    }
    return this.u64('the id of a point');
  }

  f64(): number {
    const at = this.next;
    const value = this.view.getFloat64(this.take(8), true);
    if (!Number.isFinite(value)) throw this.failureAt(at)(String(value), 'a finite number');
    return value;
  }

  finite(count: number): number[] {
    return Array.from({ length: count }, () => this.f64());
  }

  /** A number of things that have at least `size` bytes each. */
  count(what: string, size: number): number {
    const at = this.next;
    const count = this.u64(`the number of ${what}`);
    const left = this.view.byteLength - this.next;
    if (count * size > left) throw this.failureAt(at)(`${count} ${what}`, `a number of ${what} that fits the ${left} bytes that follow`);
    return count;
  }

  /** A text up to a byte 0. */
  text(): string {
    const first = this.next;
    const end = new Uint8Array(this.view.buffer, this.view.byteOffset + first, this.view.byteLength - first).indexOf(0);
    if (end < 0) throw this.failureAt(first)('a name without an end', 'a name that ends with a byte 0');
    this.next += end + 1;
    return new TextDecoder().decode(new Uint8Array(this.view.buffer, this.view.byteOffset + first, end));
  }

  end(): void {
    if (this.next < this.view.byteLength) throw this.failureAt(this.next)(`${this.view.byteLength - this.next} bytes more`, 'the end of the file');
  }

  private take(size: number): number {
    const at = this.next;
    if (at + size > this.view.byteLength) throw this.ended();
    this.next += size;
    return at;
  }

  private ended(): ResiduaError {
    return this.failureAt(this.view.byteLength)('the end of the file', 'the rest of a record');
  }
}

/** Adds the cameras of a file. */
export function readCameras(reader: string, data: ArrayBuffer | Uint8Array, builder: ModelBuilder): void {
  const bytes = new Bytes(reader, data);
  for (let left = bytes.count('cameras', 24); left > 0; left--) {
    const fail = bytes.failureAt(bytes.position);
    const [id, number] = [bytes.u32(), bytes.i32()];
    const model = MODEL_NAMES[number];
    if (model === undefined) throw fail(`the camera model ${number}`, `a number from 0 to ${MODEL_NAMES.length - 1}`);
    const size = [bytes.u64('a size in pixels', 2 ** 32 - 1), bytes.u64('a size in pixels', 2 ** 32 - 1)] as const;
    builder.addCamera(id, model, ...size, bytes.finite(MODEL_SIZES.get(model) as number), fail);
  }
  bytes.end();
}

/** Adds the images of a file. */
export function readImages(reader: string, data: ArrayBuffer | Uint8Array, builder: ModelBuilder): void {
  const bytes = new Bytes(reader, data);
  for (let left = bytes.count('images', 73); left > 0; left--) {
    const fail = bytes.failureAt(bytes.position);
    const [id, pose, camera, name] = [bytes.u32(), bytes.finite(7), bytes.u32(), bytes.text()] as const;
    const pixels: number[] = [];
    const points: number[] = [];
    for (let keypoints = bytes.count('keypoints', 24); keypoints > 0; keypoints--) {
      pixels.push(bytes.f64(), bytes.f64());
      points.push(bytes.pointOrNone());
    }
    builder.addImage({ id, camera, name, pose, pixels, points }, fail);
  }
  bytes.end();
}

/** Adds the points of a file. */
export function readPoints(reader: string, data: ArrayBuffer | Uint8Array, builder: ModelBuilder): void {
  const bytes = new Bytes(reader, data);
  for (let left = bytes.count('points', 51); left > 0; left--) {
    const fail = bytes.failureAt(bytes.position);
    const [id, position] = [bytes.u64('the id of a point'), bytes.finite(3)] as const;
    const [color, error] = [[bytes.u8(), bytes.u8(), bytes.u8()], bytes.f64()] as const;
    const track: number[] = [];
    for (let views = bytes.count('images in a track', 8); views > 0; views--) track.push(bytes.u32(), bytes.u32());
    builder.addPoint({ id, position, color, error, track }, fail);
  }
  bytes.end();
}
