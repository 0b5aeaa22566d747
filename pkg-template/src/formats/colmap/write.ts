/** The writer of COLMAP's models. */

import { checkFlag, checkOptions } from '../../arguments/options.js';
import { numberText } from '../lines.js';
import { NO_POINT } from './builder.js';
import { checkModel, type CheckedModel, type ColmapModelLike } from './check.js';
import { MODEL_NAMES, type ColmapModel } from './model.js';
import type { ColmapFiles } from './parse.js';

/**
 * Returns the files of a model, which parseColmap and COLMAP read as the same model, numbers bit for bit: texts, or with `binary` the bytes of binary files.
 *
 * Throws 'invalid-argument' where lengths, indices, numbers or ids of it do not fit.
 */
export function writeColmap(model: ColmapModel | ColmapModelLike, options?: { binary?: false }): ColmapFiles<string>;
export function writeColmap(model: ColmapModel | ColmapModelLike, options: { binary: true }): ColmapFiles<Uint8Array>;
export function writeColmap(model: ColmapModel | ColmapModelLike, options: { binary?: boolean } = {}): ColmapFiles<string> | ColmapFiles<Uint8Array> {
  checkOptions('writeColmap: options', options, { binary: true });
  checkFlag('writeColmap: binary', options.binary);
  const checked = checkModel(model);
  return options.binary === true ? bytesOf(checked) : textsOf(checked);
}

function textsOf({ cameras, images, points }: CheckedModel): ColmapFiles<string> {
  const text = (numbers: ArrayLike<number>): string => Array.from(numbers, numberText).join(' ');
  const lines = (list: readonly string[]): string => list.map((line) => `${line}\n`).join('');
  return {
    cameras: lines(cameras.map(({ id, model, width, height, parameters }) => `${id} ${model} ${width} ${height} ${text(parameters)}`)),
    images: lines(images.flatMap(({ id, name, camera, pose, keypoints }) => [
      `${id} ${text(pose)} ${cameras[camera]?.id} ${name}`,
      keypoints.map(({ x, y, point }) => `${numberText(x)} ${numberText(y)} ${point === NO_POINT ? -1 : points[point]?.id}`).join(' '),
    ])),
    points3D: lines(points.map(({ id, position, color, error, track }) => {
      const views = track.map((entry, k) => (k % 2 === 0 ? images[entry]?.id : entry));
      return [id, text(position), text(color), numberText(error), ...views].join(' ');
    })),
  };
}

function bytesOf({ cameras, images, points }: CheckedModel): ColmapFiles<Uint8Array> {
  const names = images.map(({ name }) => new TextEncoder().encode(name));
  return {
    cameras: file(8 + cameras.reduce((sum, { parameters }) => sum + 24 + 8 * parameters.length, 0), (to) => {
      to.u64(cameras.length);
      for (const { id, model, width, height, parameters } of cameras) {
        to.u32(id, MODEL_NAMES.indexOf(model as (typeof MODEL_NAMES)[number]));
        to.u64(width, height);
        to.f64(...parameters);
      }
    }),
    images: file(8 + images.reduce((sum, { keypoints }, k) => sum + 73 + (names[k] as Uint8Array).length + 24 * keypoints.length, 0), (to) => {
      to.u64(images.length);
      images.forEach(({ id, camera, pose, keypoints }, k) => {
        to.u32(id);
        to.f64(...pose);
        to.u32(cameras[camera]?.id as number);
        to.u8(...(names[k] as Uint8Array), 0);
        to.u64(keypoints.length);
        for (const { x, y, point } of keypoints) {
          to.f64(x, y);
          if (point === NO_POINT) to.u32(2 ** 32 - 1, 2 ** 32 - 1);
          else to.u64(points[point]?.id as number);
        }
      });
    }),
    points3D: file(8 + points.reduce((sum, { track }) => sum + 51 + 4 * track.length, 0), (to) => {
      to.u64(points.length);
      for (const { id, position, color, error, track } of points) {
        to.u64(id);
        to.f64(...position);
        to.u8(...color);
        to.f64(error);
        to.u64(track.length / 2);
        track.forEach((entry, k) => to.u32(k % 2 === 0 ? (images[entry]?.id as number) : entry));
      }
    }),
  };
}

/** Little-endian numbers, one after the other. */
class Writer {
  private next = 0;

  constructor(private readonly view: DataView) {}

  u8(...values: readonly number[]): void {
    for (const value of values) this.view.setUint8(this.next++, value);
  }
  u32(...values: readonly number[]): void {
    for (const value of values) this.view.setUint32(this.skip(4), value, true);
  }
  u64(...values: readonly number[]): void {
    for (const value of values) this.view.setBigUint64(this.skip(8), BigInt(value), true);
  }
  f64(...values: readonly number[]): void {
    for (const value of values) this.view.setFloat64(this.skip(8), value, true);
  }

  private skip(size: number): number {
    this.next += size;
    return this.next - size;
  }
}

function file(length: number, write: (to: Writer) => void): Uint8Array {
  const bytes = new Uint8Array(length);
  write(new Writer(new DataView(bytes.buffer)));
  return bytes;
}
