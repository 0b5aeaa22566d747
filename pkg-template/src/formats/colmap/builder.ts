/** Makes a model of the records of its files, and checks that they agree. */

import { describe, type ResiduaError } from '../../arguments/errors.js';
import { quaternionScale } from '../lines.js';
import { MODEL_NAMES, MODEL_SIZES, type ColmapCamera, type ColmapCameraModel, type ColmapModel } from './model.js';

/** Returns an error that names the place of a record. */
export type Failure = (got: string, takes: string) => ResiduaError;

/** The id of no point. */
export const NO_POINT = -1;

/** An image of a file, with the ids of its camera and of the points at its keypoints. */
export interface ImageRecord {
  readonly id: number;
  readonly camera: number;
  readonly name: string;
  /** The quaternion w, x, y, z, then x, y, z. */
  readonly pose: readonly number[];
  readonly pixels: readonly number[];
  readonly points: readonly number[];
}

/** A point of a file. `track` has the ids of images and the numbers of keypoints in turn. */
export interface PointRecord {
  readonly id: number;
  readonly position: readonly number[];
  readonly color: readonly number[];
  readonly error: number;
  readonly track: readonly number[];
}

/** Collects records. Cameras are added before images, and these before points. */
export class ModelBuilder {
  private readonly cameras: ColmapCamera[] = [];
  private readonly cameraOf = new Map<number, number>();
  private readonly images: { record: ImageRecord; camera: number; fail: Failure }[] = [];
  private readonly imageOf = new Map<number, number>();
  private readonly points: PointRecord[] = [];
  private readonly pointOf = new Map<number, number>();

  addCamera(id: number, model: string, width: number, height: number, parameters: readonly number[], fail: Failure): void {
    const size = MODEL_SIZES.get(model);
    if (size === undefined) throw fail(`the camera model ${describe(model)}`, `one of ${MODEL_NAMES.join(', ')}`);
    if (parameters.length !== size) throw fail(`${parameters.length} parameters of a camera`, `${size} of ${model}`);
    this.number(this.cameraOf, id, 'camera', fail);
    this.cameras.push({ id, model: model as ColmapCameraModel, width, height, parameters: Float64Array.from(parameters) });
  }

  addImage(record: ImageRecord, fail: Failure): void {
    const camera = this.cameraOf.get(record.camera);
    if (camera === undefined) throw fail(`camera ${record.camera}, which the model does not have`, 'the id of a camera');
    if (record.name === '') throw fail('an image without a name', 'a name');
    this.number(this.imageOf, record.id, 'image', fail);
    const length = Math.hypot(...record.pose.slice(0, 4));
    if (!(length > 0 && length < Infinity)) throw fail(`a quaternion of length ${length}`, 'one that has a direction');
    const scale = quaternionScale(length);
    const pose = record.pose.map((entry, k) => (k < 4 ? entry / scale : entry));
    this.images.push({ record: { ...record, pose }, camera, fail });
  }

  addPoint(record: PointRecord, fail: Failure): void {
    this.number(this.pointOf, record.id, 'point', fail);
    for (let k = 0; k < record.track.length; k += 2) {
      const [id, keypoint] = record.track.slice(k, k + 2) as [number, number];
      const image = this.images[this.imageOf.get(id) ?? -1];
      if (image === undefined) throw fail(`image ${id} in the track of point ${record.id}, which the model does not have`, 'the id of an image');
      const seen = image.record.points[keypoint];
      const got = `keypoint ${keypoint} of image ${id} in the track of point ${record.id}`;
      if (seen === undefined) throw fail(got, `one of its ${image.record.points.length} keypoints, from 0`);
      if (seen !== record.id) throw fail(got, `a keypoint that has this point; it has ${seen === NO_POINT ? 'none' : `point ${seen}`}`);
    }
    this.points.push(record);
  }

  finish(): ColmapModel {
    const observations = { images: [] as number[], points: [] as number[], pixels: [] as number[], keypoints: [] as number[] };
    const unmatched = { images: [] as number[], pixels: [] as number[], keypoints: [] as number[] };
    this.images.forEach(({ record, fail }, image) => {
      record.points.forEach((id, keypoint) => {
        const list = id === NO_POINT ? unmatched : observations;
        list.images.push(image);
        list.pixels.push(record.pixels[2 * keypoint] as number, record.pixels[2 * keypoint + 1] as number);
        list.keypoints.push(keypoint);
        if (id === NO_POINT) return;
        const point = this.pointOf.get(id);
        if (point === undefined) throw fail(`point ${id} at keypoint ${keypoint}, which the model does not have`, 'the id of a point, or -1');
        observations.points.push(point);
      });
    });
    const keypoints = ({ images, pixels, keypoints }: typeof unmatched) => ({
      images: Uint32Array.from(images),
      pixels: Float64Array.from(pixels),
      keypoints: Uint32Array.from(keypoints),
    });
    return {
      cameras: this.cameras,
      images: {
        ids: Uint32Array.from(this.images, ({ record }) => record.id),
        names: this.images.map(({ record }) => record.name),
        cameras: Uint32Array.from(this.images, ({ camera }) => camera),
        poses: Float64Array.from(this.images.flatMap(({ record }) => record.pose)),
      },
      points: {
        ids: Float64Array.from(this.points, ({ id }) => id),
        positions: Float64Array.from(this.points.flatMap(({ position }) => position)),
        colors: Uint8Array.from(this.points.flatMap(({ color }) => color)),
        errors: Float64Array.from(this.points, ({ error }) => error),
      },
      observations: { ...keypoints(observations), points: Uint32Array.from(observations.points) },
      unmatched: keypoints(unmatched),
    };
  }

  private number(positions: Map<number, number>, id: number, what: string, fail: Failure): void {
    if (positions.has(id)) throw fail(`${what} ${id} a second time`, `an id for each ${what}`);
    positions.set(id, positions.size);
  }
}
