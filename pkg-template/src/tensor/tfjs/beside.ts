/** Where the files with the weights of a model lie, unless the caller tells. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import type { FileSource } from '../files/source.js';

/** Gives the file with a path that stands in a model. */
export type WeightFiles = (path: string) => FileSource | Promise<FileSource>;

/** Files beside the address of a model; what stands after a question mark is theirs too, such as a signature. */
export function filesBeside(call: string, source: FileSource): WeightFiles {
  return async (path) => {
    const page = (globalThis as { location?: { href?: string } }).location?.href;
    const place = `${call}: file ${describe(path)}`;
    const given = await source;
    const told = typeof given === 'string' || given instanceof URL ? String(given) : 'url' in given ? given.url : '';
    if (told === '') throw invalidArgument(place, 'no option weights, which gives it', 'weights: (path) => the source of that file, as the model has no address');
    const base = URL.canParse(told, page) ? new URL(told, page) : null;
    if (base === null || !URL.canParse(path, base.href)) throw invalidArgument(place, `the address ${describe(told)} of the model`, 'one beside which the file lies');
    const url = new URL(path, base);
    if (url.search === '') url.search = base.search;
    return url;
  };
}
