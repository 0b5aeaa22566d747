// What the small decoder learns from: the project's own documentation, without code, tables and links' addresses.
import { readdir, readFile } from 'node:fs/promises';

const root = new URL('../../', import.meta.url);
const FOLDERS = ['docs/site/', 'docs/decisions/'];
const FILES = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md'];

/** A paragraph a line. */
function proseOf(markdown) {
  const prose = markdown.replace(/^```[^]*?^```$/gm, '').replace(/^(\||<| {4}).*$/gm, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[*`_]/g, '');
  const blocks = prose.split(/\n(?=\s*\n|- |\d+\. |#)/).map((block) => block.replace(/^#+ /gm, '').replace(/\s+/g, ' ').trim());
  return blocks.filter((block) => block.length > 20);
}

/** The paragraphs of all documents, in the order of their names. */
export async function paragraphs() {
  const names = [...FILES];
  for (const folder of FOLDERS) names.push(...(await readdir(new URL(folder, root))).filter((name) => name.endsWith('.md')).sort().map((name) => folder + name));
  return (await Promise.all(names.map((name) => readFile(new URL(name, root), 'utf8')))).flatMap(proseOf);
}
