// The generated shader that "How it works" explains part by part: true because it is made, not pasted.
//
// The page's first program compiles springs and leaves them in `functions`; a browser runs it and gives what `functions.kernels()` says.
// In the markdown, `<!-- kernel NAME -->` chooses a kernel whose name begins with NAME; `<!-- kernel until TEXT -->` stands for its lines from where the last part ended up
// to the line that begins with TEXT, `<!-- kernel to the end -->` for the rest. So nothing of it is left out.
import { programsOf, withClaims } from './programs.mjs';
import { moduleOf } from './run.mjs';

/** What `kernels()` gives for the functions of a page's first program, computed in `page`, which has the package in its import map. */
export async function kernelsOf(page, markdown) {
  const [{ source }] = programsOf(markdown);
  const code = moduleOf(`${withClaims(source.replace(/^functions\.dispose\(\);$/m, ''))}\nglobalThis.kernelsShown = functions.kernels();\n`);
  return page.evaluate(async (code) => {
    globalThis.claim = () => {};
    await import(URL.createObjectURL(new Blob([code], { type: 'text/javascript' })));
    return globalThis.kernelsShown;
  }, code);
}

/** The markdown with the kernel's parts in place of their marks. */
export function withKernel(markdown, kernels) {
  let rest = [];
  const isShown = () => rest.every((line) => line.trim() === '');
  const take = (count) => `\`\`\`wgsl\n${dedented(rest.splice(0, count))}\n\`\`\``;
  const text = markdown.replace(/^<!-- kernel (.*) -->$/gm, (mark, words) => {
    const until = /^until (.*)$/.exec(words)?.[1];
    if (until === undefined && words !== 'to the end') {
      const kernel = kernels.find(({ name }) => name.startsWith(words));
      if (kernel === undefined) throw new Error(`${mark}: the kernels are ${kernels.map(({ name }) => name).join(', ')}`);
      if (!isShown()) throw new Error(`${mark}: the kernel before it is not shown to its end`);
      rest = kernel.wgsl.trimEnd().split('\n');
      return '';
    }
    const count = until === undefined ? rest.length : rest.findIndex((line, at) => at > 0 && line.trim().startsWith(until));
    if (count <= 0) throw new Error(`${mark}: no such line follows in\n${rest.join('\n')}`);
    return take(count);
  });
  if (!isShown()) throw new Error('the last kernel is not shown to its end');
  return text;
}

/** Lines without empty ones around them, and without the indentation that all of them have. */
function dedented(lines) {
  const depth = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
  return lines.map((line) => line.slice(depth)).join('\n').replace(/^\n+|\s+$/g, '');
}
