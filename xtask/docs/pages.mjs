// All texts of the project with code in them: the documentation's pages and the READMEs, as programs and modules.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { modulesOf, programsOf } from './programs.mjs';
import { markdownFiles } from './site.mjs';

const READMES = ['README.md', 'pkg-template/README.md'];

/** `[{ name, programs, modules }]`. */
export async function readPages() {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const files = [...[...markdownFiles()].map(([name, file]) => [`docs/${name}`, file]), ...READMES.map((name) => [name, root + name])];
  const pages = [];
  for (const [name, file] of files) {
    const markdown = await readFile(file, 'utf8');
    pages.push({ name, programs: programsOf(markdown), modules: modulesOf(markdown) });
  }
  return pages;
}
