/** What notebooks show of an object: Deno's kernel of Jupyter asks objects for it by a symbol. */

/** The function by which an object says what a notebook shows of it. */
const DISPLAY = /* @__PURE__ */ Symbol.for('Jupyter.display');

/** An object by MIME type: text, and HTML for notebooks that show it. */
export interface NotebookDisplay {
  readonly 'text/plain': string;
  readonly 'text/html': string;
}

/** Lets notebooks show an object as `display` says. No copy of the object and no list of its keys has it. */
export function showInNotebooks<T extends object>(object: T, display: (this: T) => NotebookDisplay | Promise<NotebookDisplay>): T {
  return Object.defineProperty(object, DISPLAY, { configurable: true, writable: true, value: display });
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Text within HTML. */
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string);

/** A number with the digits that a reader takes in. */
export const shortNumber = (value: number): string => String(Number(value.toPrecision(7)));

/** A table of HTML: its caption, the titles of its columns where there are any, and its rows, each with its title first. */
export function htmlTable(caption: string, titles: readonly string[], rows: readonly (readonly [title: string, ...cells: (string | number)[]])[]): string {
  const cell = (value: string | number): string => `<td${typeof value === 'number' ? ' style="text-align:right"' : ''}>${escaped(typeof value === 'number' ? shortNumber(value) : value)}</td>`;
  const head = titles.length === 0 ? '' : `<thead><tr>${titles.map((title) => `<th scope="col">${escaped(title)}</th>`).join('')}</tr></thead>`;
  const body = rows.map(([title, ...cells]) => `<tr><th scope="row">${escaped(title)}</th>${cells.map(cell).join('')}</tr>`).join('');
  return `<table><caption>${escaped(caption)}</caption>${head}<tbody>${body}</tbody></table>`;
}
