/** Checks of models that the caller made or changed: lengths, indices, numbers, ids. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkObject, checkWholeNumber, copyIndices, copyNumbers, type Numbers } from '../../arguments/numeric-arguments.js';
import { quaternionLength } from '../lines.js';
import { NO_POINT } from './builder.js';
import { MODEL_NAMES, MODEL_SIZES, type ColmapCamera, type ColmapImages, type ColmapKeypoints, type ColmapObservations, type ColmapPoints } from './model.js';

/**
 * A model of which cameras, poses, positions and observations must be there. What is absent is made: ids are positions from 1, names are those of the ids,
 * colours are black, errors not known, and keypoints stand in the order of the observations.
 */
export interface ColmapModelLike {
  /** As of a model; ids are positions from 1 where they are absent. */
  readonly cameras: readonly (Omit<ColmapCamera, 'id' | 'parameters'> & { readonly id?: number; readonly parameters: Numbers })[];
  /** As of a model. */
  readonly images: Pick<ColmapImages, 'cameras' | 'poses'> & Partial<ColmapImages>;
  /** As of a model. */
  readonly points: Pick<ColmapPoints, 'positions'> & Partial<ColmapPoints>;
  /** As of a model. */
  readonly observations: Omit<ColmapObservations, 'keypoints'> & Partial<Pick<ColmapObservations, 'keypoints'>>;
  /** As of a model; none where it is absent. */
  readonly unmatched?: ColmapKeypoints;
}

/** Ids are below 2³², and those of points below 2⁵³. */
const IDS = 2 ** 32;
const POINT_IDS = 2 ** 53;

/** A keypoint of an image: where it is, and the position of its point. */
export interface Keypoint {
  readonly x: number;
  readonly y: number;
  readonly point: number;
}

/** A model in which nothing is absent, by its records. */
export interface CheckedModel {
  readonly cameras: { readonly id: number; readonly model: string; readonly width: number; readonly height: number; readonly parameters: Float64Array }[];
  readonly images: { readonly id: number; readonly name: string; readonly camera: number; readonly pose: Float64Array; readonly keypoints: readonly Keypoint[] }[];
  /** Tracks have positions of images and numbers of keypoints in turn. */
  readonly points: { readonly id: number; readonly position: Float64Array; readonly color: Uint32Array; readonly error: number; readonly track: number[] }[];
}

/** Returns the records of a model. Throws 'invalid-argument' for lengths, indices, numbers and ids that do not fit. */
export function checkModel(model: unknown): CheckedModel {
  const argument = 'writeColmap: model';
  checkObject(argument, model);
  const given = model as ColmapModelLike;
  if (!Array.isArray(given.cameras)) throw invalidArgument(`${argument}.cameras`, describe(given.cameras), 'an array of cameras');
  for (const name of ['images', 'points', 'observations'] as const) checkObject(`${argument}.${name}`, given[name]);
  if (given.unmatched !== undefined) checkObject(`${argument}.unmatched`, given.unmatched);
  const cameras = given.cameras.map((camera, k) => checkCamera(`${argument}.cameras[${k}]`, camera, k));
  checkDistinct(`${argument}.cameras`, cameras.map(({ id }) => id));
  const numbers = (name: string, values: unknown, size: number, count?: number): Float64Array => {
    const copy = copyNumbers(`${argument}.${name}`, values);
    if (copy.length % size !== 0 || (count !== undefined && copy.length !== size * count)) {
      throw invalidArgument(`${argument}.${name}`, `${copy.length} numbers`, count === undefined ? `a multiple of ${size}` : `${size * count}`);
    }
    return copy;
  };
  const indices = (name: string, values: unknown, limit: number, what: string, count?: number): Uint32Array => {
    const copy = copyIndices(`${argument}.${name}`, values, limit, what);
    if (count !== undefined && copy.length !== count) throw invalidArgument(`${argument}.${name}`, `${copy.length} indices`, `${count}`);
    return copy;
  };
  const poses = numbers('images.poses', given.images.poses, 7);
  const count = poses.length / 7;
  const positions = numbers('points.positions', given.points.positions, 3);
  const total = positions.length / 3;
  const ids = (name: string, values: ArrayLike<number> | undefined, size: number, limit: number): number[] => {
    const list = values === undefined ? Array.from({ length: size }, (_, k) => k + 1) : [...numbers(name, values, 1, size)];
    list.forEach((id, k) => checkWholeNumber(`${argument}.${name}[${k}]`, id, 0, limit - 1));
    checkDistinct(`${argument}.${name}`, list);
    return list;
  };
  const imageIds = ids('images.ids', given.images.ids, count, IDS);
  const pointIds = ids('points.ids', given.points.ids, total, POINT_IDS);
  const cameraOf = indices('images.cameras', given.images.cameras, cameras.length, 'cameras', count);
  const colors = indices('points.colors', given.points.colors ?? new Uint8Array(3 * total), 256, 'values of a part of a colour', 3 * total);
  const errors = given.points.errors === undefined ? new Float64Array(total).fill(-1) : numbers('points.errors', given.points.errors, 1, total);
  const names = given.images.names ?? imageIds.map(String);
  if (!Array.isArray(names) || names.length !== count) throw invalidArgument(`${argument}.images.names`, describe(names), `an array of ${count} names`);
  names.forEach((name: unknown, k) => {
    const isName = typeof name === 'string' && name.trim() === name && name !== '' && !/[\0\r\n]/.test(name);
    if (!isName) throw invalidArgument(`${argument}.images.names[${k}]`, describe(name), 'a name without line breaks, and without spaces around it');
  });
  for (let k = 0; k < count; k++) quaternionLength(`${argument}.images.poses`, poses, k);
  const pixels = {
    observations: numbers('observations.pixels', given.observations.pixels, 2),
    unmatched: given.unmatched === undefined ? new Float64Array(0) : numbers('unmatched.pixels', given.unmatched.pixels, 2),
  };
  const most = (pixels.observations.length + pixels.unmatched.length) / 2;
  const keypoints: Keypoint[][] = Array.from({ length: count }, () => []);
  const tracks: number[][] = Array.from({ length: total }, () => []);
  for (const name of ['observations', 'unmatched'] as const) {
    const list = given[name];
    if (list === undefined) continue;
    const size = pixels[name].length / 2;
    const seenBy = indices(`${name}.images`, list.images, count, 'images', size);
    const places = list.keypoints === undefined ? null : indices(`${name}.keypoints`, list.keypoints, most, 'keypoints', size);
    const seen = name === 'observations' ? indices('observations.points', given.observations.points, total, 'points', size) : null;
    for (let k = 0; k < size; k++) {
      const image = seenBy[k] as number;
      const of = keypoints[image] as Keypoint[];
      const place = places === null ? of.length : (places[k] as number);
      if (of[place] !== undefined) {
        throw invalidArgument(`${argument}.${name}.keypoints[${k}]`, `${place} a second time in image ${image}`, 'a number for each keypoint of an image');
      }
      of[place] = { x: pixels[name][2 * k] as number, y: pixels[name][2 * k + 1] as number, point: seen === null ? NO_POINT : (seen[k] as number) };
      if (seen !== null) (tracks[seen[k] as number] as number[]).push(image, place);
    }
  }
  keypoints.forEach((list, image) => {
    // Arrays of which a position was never set have a hole there.
    const hole = Array.from(list).indexOf(undefined as unknown as Keypoint);
    if (hole < 0) return;
    // Without numbers keypoints follow each other: the next one has a number that was given.
    const name = list.slice(hole).find((keypoint) => keypoint !== undefined)?.point === NO_POINT ? 'unmatched' : 'observations';
    throw invalidArgument(`${argument}.${name}.keypoints`, `none with the number ${hole} in image ${image}, which has later ones`, 'numbers from 0 without gaps');
  });
  return {
    cameras,
    images: imageIds.map((id, k) => {
      const pose = poses.subarray(7 * k, 7 * k + 7);
      return { id, name: names[k] as string, camera: cameraOf[k] as number, pose, keypoints: keypoints[k] as Keypoint[] };
    }),
    points: pointIds.map((id, k) => {
      const [position, color] = [positions.subarray(3 * k, 3 * k + 3), colors.subarray(3 * k, 3 * k + 3)];
      return { id, position, color, error: errors[k] as number, track: tracks[k] as number[] };
    }),
  };
}

function checkCamera(argument: string, camera: unknown, position: number): CheckedModel['cameras'][number] {
  checkObject(argument, camera);
  const { id = position + 1, model, width, height, parameters } = camera as Partial<ColmapCamera>;
  checkWholeNumber(`${argument}.id`, id, 0, IDS - 1);
  const size = MODEL_SIZES.get(model as string);
  if (size === undefined) throw invalidArgument(`${argument}.model`, describe(model), `one of ${MODEL_NAMES.join(', ')}`);
  for (const [name, pixels] of Object.entries({ width, height })) checkWholeNumber(`${argument}.${name}`, pixels, 0);
  const copy = copyNumbers(`${argument}.parameters`, parameters);
  if (copy.length !== size) throw invalidArgument(`${argument}.parameters`, `${copy.length} numbers`, `${size} of ${model}`);
  return { id, model: model as string, width: width as number, height: height as number, parameters: copy };
}

function checkDistinct(argument: string, ids: readonly number[]): void {
  const seen = new Set<number>();
  for (const id of ids) {
    if (seen.has(id)) throw invalidArgument(argument, `the id ${id} a second time`, 'an id for each');
    seen.add(id);
  }
}
