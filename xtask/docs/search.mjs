// What the search of the site needs: the sections of all pages as a script, which a page opened from a file can load, too, and the library that searches them.
//
// Takes the pages; writes search-index.js, minisearch.js and its licence.
import { transform } from 'esbuild';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { textOf } from './markdown.mjs';

const LIBRARY = fileURLToPath(new URL('../../node_modules/minisearch/', import.meta.url));
const HEADING = /<h[23] [^>]*?id="([^"]+)"[^>]*>([^]*?)<\/h[23]>/g;
/** The link of a heading to itself. */
const OWN_LINK = /<a class="anchor"[^]*?<\/a>/;

/** The sections of a page: what stands before its first heading of level 2 or 3, and what follows each. */
export function sectionsOf({ name, title, html }) {
  const headings = [...html.matchAll(HEADING)];
  const ends = [...headings.map(({ index }) => index), html.length];
  const first = { address: `${name}.html`, page: title, title, text: textOf(html.slice(0, ends[0]).replace(/<h1[^]*?<\/h1>/, '')) };
  const others = headings.map(({ 0: heading, 1: anchor, 2: words, index }, k) => ({
    address: `${name}.html#${textOf(anchor)}`,
    page: title,
    title: textOf(words.replace(OWN_LINK, '')),
    text: textOf(html.slice(index + heading.length, ends[k + 1])),
  }));
  return [first, ...others];
}

export async function writeSearch(folder, pages) {
  const sections = pages.flatMap(sectionsOf).map((section, id) => ({ id, ...section }));
  await writeFile(join(folder, 'search-index.js'), `globalThis.sections = ${JSON.stringify(sections)};\n`);
  const { code } = await transform(await readFile(join(LIBRARY, 'dist/umd/index.js'), 'utf8'), { minify: true, legalComments: 'inline' });
  await writeFile(join(folder, 'minisearch.js'), code);
  await copyFile(join(LIBRARY, 'LICENSE.txt'), join(folder, 'minisearch-LICENSE.txt'));
}
