// The site: which pages there are and in what order, and how each comes about.
//
// Takes the markdown of docs/site/, the measurements of docs/performance.md, the package's declarations and the kernels that the package
// generated; gives a folder of HTML that any server, or none, can show.
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { moduleDoc, readDeclarations } from './declarations.mjs';
import { withKernel } from './kernel.mjs';
import { renderPage, textOf } from './markdown.mjs';
import { referencePages } from './reference.mjs';
import { writeSearch } from './search.mjs';
import { pageHtml } from './template.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Pages of markdown by group; a name is that of its file in docs/site/. */
const GROUPS = [
  { title: 'Start', pages: ['index'] },
  { title: 'Tutorial', pages: ['first-fit', 'mesh', 'robust-losses', 'constraints', 'plain-functions', 'ode-fits', 'newton', 'poses', 'registration', 'image-registration', 'cameras', 'drawing', 'workers', 'first-tensor', 'recurrent', 'derivatives', 'training', 'files', 'onnx', 'tfjs', 'pictures', 'spectra', 'linear-algebra', 'generate-text', 'search-by-meaning'] },
  { title: 'Moving to residua', pages: ['from-scalar-autograd', 'from-ml-levenberg-marquardt', 'from-scipy', 'from-jax', 'from-ceres'] },
  { title: 'Background', pages: ['how-it-works', 'performance', 'precision', 'how-sure', 'limits', 'devices', 'troubleshooting', 'measurements'] },
];
const REFERENCE = 'API reference';
const ASSETS = ['docs/site/style.css', 'docs/site/site.js', 'docs/measurements/engines.svg'];

/** Pages that are made of a file elsewhere, under a title of their own. */
const SOURCES = { measurements: { file: 'docs/performance.md', title: 'Measurements' } };

/** The files of markdown that become pages, by name. */
export function markdownFiles() {
  return new Map(GROUPS.flatMap(({ pages }) => pages).map((name) => [name, join(root, SOURCES[name]?.file ?? `docs/site/${name}.md`)]));
}

/** Writes the site into `folder`, which is emptied first. `kernels` is what `kernels()` gives for the page that shows one. */
export async function writeSite(folder, kernels) {
  const rendered = new Map();
  for (const [name, file] of markdownFiles()) {
    const markdown = (await readFile(file, 'utf8')).replace(/^# .*/, (heading) => (name in SOURCES ? `# ${SOURCES[name].title}` : heading));
    rendered.set(name, renderPage(name === 'how-it-works' ? withKernel(markdown, kernels) : markdown));
  }
  const read = (entry) => readDeclarations(join(root, entry), join(root, 'pkg-template/tsconfig.json'));
  const entryPoint = async (file) => ({ declarations: read(file), doc: moduleDoc(await readFile(join(root, file), 'utf8')) });
  const reference = referencePages(read('pkg-template/src/index.ts'), await entryPoint('pkg-template/src/worker.ts'), await entryPoint('pkg-template/src/tensor.ts'), await entryPoint('pkg-template/src/tensor-models.ts'), await entryPoint('pkg-template/src/tensor-onnx.ts'), await entryPoint('pkg-template/src/tensor-tfjs.ts'), await entryPoint('pkg-template/src/tensor-train.ts'), await entryPoint('pkg-template/src/tensor-worker.ts'), await entryPoint('pkg-template/src/tensor-models-worker.ts'), await entryPoint('pkg-template/src/cameras.ts'));
  const groups = GROUPS.map(({ title, pages }) => ({ title, pages: pages.map((name) => ({ name, title: name === 'index' ? 'What residua is' : rendered.get(name).title })) }));
  groups.splice(-1, 0, { title: REFERENCE, pages: reference });
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const [name, page] of rendered) await writeFile(join(folder, `${name}.html`), pageHtml({ name, groups, description: firstWords(page.html), ...page }));
  for (const page of reference) await writeFile(join(folder, `${page.name}.html`), pageHtml({ groups, ...page }));
  await writeSearch(folder, [...Array.from(rendered, ([name, page]) => ({ name, ...page })), ...reference]);
  for (const asset of ASSETS) await cp(join(root, asset), join(folder, asset.replace(/^.*\//, '')));
}

/** A page's first paragraph, as text. */
function firstWords(html) {
  return textOf(/<p>([^]*?)<\/p>/.exec(html)?.[1] ?? '');
}
