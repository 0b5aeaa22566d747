/**
 * Tiles of matrix products: which one a kernel takes by a table of adapters, and what a product is in such choices. All tiles add in the order
 * of the depth, so that no result depends on the choice. Two things are not chosen here, because sums depend on them: the kernel of products with few
 * rows, and the number of slices of a long depth. The extents alone decide them; the tile of a slice is chosen as that of any other product.
 */

import { Planes, planeSizes, planeTypes, QUANTIZED_TYPES } from '../recipe/quantised.js';
import { inputNode, type Node } from '../recipe/node.js';
import { matmul } from '../recipe/products.js';
import { transpose } from '../recipe/views.js';

/** Tiles by their numbers in the module, `Tile::EXCHANGEABLE` in crates/tensor/src/kernel.rs. A test in crates/tensor/src/wgsl/tests/products.rs has these numbers too. */
export const TILES = ['large', 'large-of-64', 'medium', 'small', 'wide'] as const;

/**
 * The tile that stands in for each one on adapters of a vendor. Sums of a large tile are 128 or 64 a thread, of a wide one 128; a thread has 128 registers of 32 bits on GPUs of
 * Apple and Intel, and 64 on those of Arm: D. Johnson, documentation of Apple's G13 (dougallj/applegpu); Intel, oneAPI GPU Optimization Guide, "Xe GPU
 * Architecture"; Arm, OpenCL on Mali Bifrost and Valhall, 9.6. All others take the tiles that were fastest on an NVIDIA H200 (decision 0032).
 */
const STAND_INS: Readonly<Record<string, readonly number[]>> = {
  apple: [1, 1, 2, 3, 2],
  intel: [1, 1, 2, 3, 2],
  arm: [2, 2, 2, 3, 2],
};

/** The tile of a product on adapters of a vendor, where `tile` is the one for its extents. */
export function tileOn(vendor: string, tile: number): number {
  return (Object.hasOwn(STAND_INS, vendor) ? STAND_INS[vendor]?.[tile] : undefined) ?? tile;
}

/** A product of a plan. */
export interface Product {
  /** Its kernel. */
  readonly kernel: number;
  /** The tile that its extents suggest. */
  readonly tile: number;
  /** What stands for it and all others like it. */
  readonly like: Likeness;
}

/** A product that stands for those of the same types and layouts and of similar extents: these are rounded up to powers of two, within limits. */
export interface Likeness {
  readonly dtype: 'f32' | 'i32' | 'u32';
  /** Bits of a number of the right factor in memory, or FIRST_FORMAT and the code of a format of quantised numbers. */
  readonly bits: number;
  /** Whether the left and the right factor have neighbours in memory along the depth. */
  readonly alongDepth: readonly [left: boolean, right: boolean];
  readonly matrices: number;
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
}

/** Types by their numbers in the module. */
const DTYPES = ['f32', 'i32', 'u32'] as const;

/** Before the codes of formats, see `Blocks::stored` in crates/tensor/src/wgsl/product/blocks.rs. */
const FIRST_FORMAT = 64;

/** Words of a product: see `words_of_product` in crates/tensor/src/wgsl/mod.rs. */
const PRODUCT_WORDS = 10;

/** Most elements of a result: enough tiles to keep a large device busy, some milliseconds of a small one. */
const MOST_ELEMENTS = 2 ** 22;

/** Most elements of a factor: 32 MiB. */
const MOST_IN_FACTOR = 2 ** 23;

/** Longest depths, if factors are small and if not. Tiles repeat their steps along the depth. */
const MOST_DEPTH = 512;
const DEPTH_OF_LARGE = 256;

/** The products of a plan whose tile may change, from the module's list. */
export function readProducts(words: Uint32Array): Product[] {
  return Array.from({ length: words.length / PRODUCT_WORDS }, (_, k) => {
    const [kernel, tile, type, left, right, bits, ...extents] = words.subarray(PRODUCT_WORDS * k, PRODUCT_WORDS * (k + 1)) as unknown as [number, number, number, number, number, number, number, number, number, number];
    const form = { dtype: DTYPES[type] ?? 'f32', bits, alongDepth: [left === 1, right === 1] } as const;
    return { kernel, tile, like: { ...form, ...similar(extents) } };
  });
}

/** Extents that stand for others. A row of numbers that is no multiple of 4 has no vectors, which is kept. */
function similar([matrices, rows, columns, depth]: readonly [number, number, number, number]): Pick<Likeness, 'matrices' | 'rows' | 'columns' | 'depth'> {
  const rounded = (extent: number, least: number, most: number) => Math.min(most, 2 ** Math.ceil(Math.log2(Math.max(least, extent))));
  const even = { matrices: rounded(matrices, 1, 1024), rows: rounded(rows, 16, MOST_ELEMENTS), columns: rounded(columns, 16, MOST_ELEMENTS), depth: rounded(depth, 16, MOST_DEPTH) };
  for (;;) {
    const isFactorTooLarge = even.matrices * Math.max(even.rows, even.columns) * even.depth > MOST_IN_FACTOR;
    if (!isFactorTooLarge && even.matrices * even.rows * even.columns <= MOST_ELEMENTS) break;
    if (isFactorTooLarge && even.depth > DEPTH_OF_LARGE) even.depth /= 2;
    else even[even.matrices > 1 ? 'matrices' : even.rows > even.columns ? 'rows' : 'columns'] /= 2;
  }
  const ragged = (extent: number, of: number) => (of % 4 === 0 ? extent : extent - 1);
  return { matrices: even.matrices, rows: ragged(even.rows, rows), columns: ragged(even.columns, columns), depth: ragged(even.depth, depth) };
}

/** A likeness in a word, such as 'f32 q4_0 kk 1x512x2048x512': type, bits or format, axes of the neighbours, extents with the depth last. */
export function keyOf({ dtype, bits, alongDepth: [left, right], matrices, rows, columns, depth }: Likeness): string {
  return `${dtype} ${QUANTIZED_TYPES[bits - FIRST_FORMAT] ?? bits} ${left ? 'k' : 'm'}${right ? 'k' : 'n'} ${matrices}x${rows}x${columns}x${depth}`;
}

/**
 * What products have in common that take one tile: their likeness, and the tile that their own extents suggest. Extents that are rounded up may suggest a larger tile than
 * the extents themselves.
 */
export function kindOf({ like, tile }: Pick<Product, 'like' | 'tile'>): string {
  return `${keyOf(like)} ${TILES[tile]}`;
}

/** The recipe of a product that stands for others, over inputs. */
export function recipeOf({ dtype, bits, alongDepth, matrices, rows, columns, depth }: Likeness): Node {
  const input = (type: Parameters<typeof inputNode>[0], ...shape: number[]) => inputNode(type, matrices === 1 ? shape : [matrices, ...shape], {});
  const swapped = (node: Node) => transpose(node, -2, -1);
  const left = alongDepth[0] ? input(dtype, rows, depth) : swapped(input(dtype, depth, rows));
  const quantised = QUANTIZED_TYPES[bits - FIRST_FORMAT];
  if (quantised !== undefined) {
    const [sizes, dtypes] = [planeSizes('a product', [columns, depth], quantised), planeTypes(quantised)];
    return matmul(left, swapped(new Planes(quantised, input(dtypes[0], ...sizes[0]), input(dtypes[1], ...sizes[1])).numbers()));
  }
  const type = bits === 16 ? 'f16' : dtype;
  return matmul(left, alongDepth[1] ? swapped(input(type, columns, depth)) : input(type, depth, columns));
}
