/** The text files of a model: cameras.txt, images.txt, points3D.txt. */

import { Line, readLines } from '../lines.js';
import { NO_POINT, type Failure, type ModelBuilder } from './builder.js';

/** Ids are below 2³², and those of points below 2⁵³ here, which numbers hold. */
const IDS = 2 ** 32;
const POINT_IDS = 2 ** 53;

const failureOf = (line: Line): Failure => (got, takes) => line.error(got, takes);
const finite = (line: Line, first: number, count: number): number[] => Array.from({ length: count }, (_, k) => line.finite(first + k));

function atLeast(line: Line, count: number, what: string): void {
  if (line.words.length < count) throw line.error(`${line.words.length} words`, `${count} or more: ${what}`);
}

/** Adds the cameras of a text. */
export function readCameras(reader: string, text: string, builder: ModelBuilder): void {
  readLines(reader, text, (line) => {
    atLeast(line, 4, 'id, model, width, height, then the parameters');
    const size = [2, 3].map((k) => line.whole(k, 2 ** 32, 'a size in pixels')) as [number, number];
    builder.addCamera(line.whole(0, IDS, 'the id of a camera'), line.words[1] as string, ...size, finite(line, 4, line.words.length - 4), failureOf(line));
  });
}

/** Adds the images of a text: two lines each, of which the second may be empty. */
export function readImages(reader: string, text: string, builder: ModelBuilder): void {
  const lines = text.split(/\r\n|\n|\r/);
  const wordsOf = (content: string): string[] => content.match(/\S+/g) ?? [];
  for (let k = 0; k < lines.length; k++) {
    const content = lines[k] as string;
    const words = wordsOf(content);
    if (words.length === 0 || (words[0] as string).startsWith('#')) continue;
    const line = new Line(reader, k + 1, words);
    atLeast(line, 10, 'id, quaternion w, x, y, z, translation x, y, z, camera, name');
    const seen = new Line(reader, k + 2, wordsOf(lines[++k] ?? ''));
    if (seen.words.length % 3 !== 0) throw seen.error(`${seen.words.length} words`, 'three for each keypoint: x, y, and the id of a point or -1');
    const pixels: number[] = [];
    const points: number[] = [];
    for (let place = 0; place < seen.words.length; place += 3) {
      pixels.push(seen.finite(place), seen.finite(place + 1));
      const word = seen.words[place + 2] as string;
      // The number that binary files have for no point, as text.
      points.push(word === '-1' || word === '18446744073709551615' ? NO_POINT : seen.whole(place + 2, POINT_IDS, 'the id of a point or -1'));
    }
    // A name may contain spaces.
    const name = /^\s*(?:\S+\s+){9}(.*\S)\s*$/.exec(content)?.[1] ?? '';
    const [id, camera] = [line.whole(0, IDS, 'the id of an image'), line.whole(8, IDS, 'the id of a camera')];
    builder.addImage({ id, camera, name, pose: finite(line, 1, 7), pixels, points }, failureOf(line));
  }
}

/** Adds the points of a text. */
export function readPoints(reader: string, text: string, builder: ModelBuilder): void {
  readLines(reader, text, (line) => {
    atLeast(line, 8, 'id, x, y, z, red, green, blue, error, then the track');
    const length = line.words.length - 8;
    if (length % 2 !== 0) throw line.error(`${length} words of a track`, 'two for each image: its id, and the number of the keypoint');
    const track = Array.from({ length }, (_, k) => line.whole(8 + k, IDS, k % 2 === 0 ? 'the id of an image' : 'the number of a keypoint'));
    const color = [4, 5, 6].map((k) => line.whole(k, 256, 'a part of a colour'));
    builder.addPoint({ id: line.whole(0, POINT_IDS, 'the id of a point'), position: finite(line, 1, 3), color, error: line.finite(7), track }, failureOf(line));
  });
}
