/** Pictures at places of a grid. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkFlag, checkOptions } from '../../arguments/options.js';
import { isReal } from '../dtype.js';
import { largest, product, sameSize, type Size } from '../size.js';
import { apply, cast, inSingle, where } from './elementwise.js';
import { indexSelect } from './indexing.js';
import { Node } from './node.js';
import { checkType, nodeText, type NodeOrNumber } from './operands.js';
import { sizeNode } from './reductions.js';
import { pick } from './slices.js';
import { permute, reshaped } from './views.js';

const OPTIONS = { mode: true, border: true, alignCorners: true } as const;

/** Pixels along an axis of a picture, one for each place of the grid. */
interface Pixels {
  readonly place: Node;
  /** Which places are in the picture; the others are its nearest. */
  readonly isWithin: Node;
  /** What the pixel counts; null where it is the only one. */
  readonly weight: Node | null;
}

/** x [images, channels, height, width] at places [images, h, w, 2] as x, y. */
export function gridSample(x: Node, grid: Node, options: { mode?: unknown; border?: unknown; alignCorners?: unknown }): Node {
  checkOptions('gridSample: options', options, OPTIONS);
  const { mode = 'nearest', border = 'clamp', alignCorners } = options;
  if (mode !== 'nearest' && mode !== 'linear') throw invalidArgument('gridSample: mode', describe(mode), "'nearest' or 'linear'");
  if (border !== 'clamp' && border !== 'zero' && border !== 'mirror') throw invalidArgument('gridSample: border', describe(border), "'clamp', 'zero' or 'mirror'");
  checkFlag('gridSample: alignCorners', alignCorners);
  if (x.shape.length !== 4 || x.shape.slice(2).includes(0)) throw invalidArgument('gridSample', nodeText(x), 'a tensor [images, channels, height, width] whose images have pixels');
  checkType('gridSample: grid', grid, ['f32']);
  const [images, , height, width] = x.shape as readonly [Size, Size, Size, Size];
  if (grid.shape.length !== 4 || grid.shape[3] !== 2 || !sameSize(grid.shape[0] as Size, images)) {
    throw invalidArgument('gridSample: grid', nodeText(grid), `a tensor [images, h, w, 2] with a grid for each image of ${nodeText(x)}`);
  }
  const pixels = product([images, height, width]);
  if (largest(pixels) >= 2 ** 31) throw invalidArgument('gridSample', nodeText(x), 'images that together have fewer than 2147483648 pixels');
  if (mode === 'linear' && !isReal(x.dtype)) throw invalidArgument('gridSample', nodeText(x), "a tensor of f32 or f16 with the mode 'linear': cast() makes one");
  const along = (axis: number, extent: Size) => pixelsOf(coordinateOf(pick(grid, 3, axis), extent, border, alignCorners === true), extent, mode);
  const [columns, rows] = [along(0, width), along(1, height)];
  return inSingle(x, (y) => {
    // A row of channels for each pixel.
    const channels = reshaped(permute(y, [0, 2, 3, 1]), [pixels, y.shape[1] as Size]);
    const image = new Node('iota', 'i32', [images, 1, 1], [], [0]);
    const terms = rows.flatMap((row) =>
      columns.map((column) => {
        const line = apply('add', [apply('mul', [image, sizeNode(height, 'i32')]), row.place]);
        const place = apply('add', [apply('mul', [line, sizeNode(width, 'i32')]), column.place]);
        const read = indexSelect(channels, place, 0, 'gridSample');
        const spread = (each: Node) => reshaped(each, [...each.shape, 1]);
        const found = border === 'zero' ? where(spread(apply('and', [row.isWithin, column.isWithin])), read, 0) : read;
        return row.weight === null || column.weight === null ? found : apply('mul', [found, spread(apply('mul', [row.weight, column.weight]))]);
      }),
    );
    return permute(terms.reduce((sum, term) => apply('add', [sum, term])), [0, 3, 1, 2]);
  });
}

/** The coordinate of pixels that a place in −1 … 1 is, within the picture or at most two pixels beyond. */
function coordinateOf(place: Node, extent: Size, border: 'clamp' | 'zero' | 'mirror', alignCorners: boolean): Node {
  const size = sizeNode(extent, 'f32');
  const last = apply('sub', [size, 1]);
  const half = (value: Node) => apply('mul', [value, 0.5]);
  const between = (value: Node, low: NodeOrNumber, high: NodeOrNumber) => apply('minimum', [apply('maximum', [value, low]), high]);
  const from = apply('add', [place, 1]);
  const coordinate = alignCorners ? half(apply('mul', [from, last])) : half(apply('sub', [apply('mul', [from, size]), 1]));
  if (border === 'clamp') return between(coordinate, 0, last);
  // Farther pixels are 0 as well, and no distance of them is infinite.
  if (border === 'zero') return between(coordinate, -2, apply('add', [size, 1]));
  // −1 and 1 are mirrors: there and back is a period, from the first mirror on.
  const first = alignCorners ? 0 : -0.5;
  const length = alignCorners ? last : size;
  const distance = apply('sub', [coordinate, first]);
  // One pixel whose centre is both mirrors has no period.
  const period = apply('maximum', [apply('mul', [length, 2]), 1]);
  const there = apply('floorMod', [distance, period]);
  const folded = apply('sub', [length, apply('abs', [apply('sub', [there, length])])]);
  return between(apply('add', [folded, first]), 0, last);
}

/** The nearest pixel of a coordinate, of two the lower; or the two pixels around it with their weights. */
function pixelsOf(coordinate: Node, extent: Size, mode: 'nearest' | 'linear'): Pixels[] {
  const last = sizeNode(extent, 'f32');
  const pixel = (place: Node, weight: Node | null): Pixels => {
    const isWithin = apply('and', [apply('gte', [place, 0]), apply('lt', [place, last])]);
    const nearest = apply('minimum', [apply('maximum', [cast(place, 'i32'), 0]), apply('sub', [sizeNode(extent, 'i32'), 1])]);
    return { place: nearest, isWithin, weight };
  };
  if (mode === 'nearest') return [pixel(apply('ceil', [apply('sub', [coordinate, 0.5])]), null)];
  const lower = apply('floor', [coordinate]);
  const part = apply('sub', [coordinate, lower]);
  return [pixel(lower, apply('sub', [1, part])), pixel(apply('add', [lower, 1]), part)];
}
