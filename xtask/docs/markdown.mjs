// A page's markdown as HTML: headings with anchors, coloured code, tables that scroll by themselves, links from page to page.
//
// Takes markdown; gives the HTML, the title, and the headings for the page's own table of contents.
import MarkdownIt from 'markdown-it';
import { escapeHtml, highlight } from './highlight.mjs';

/** What stands over a block that is one of several side by side. */
const CAPTIONS = new Map([
  ['cpp', 'Ceres, C++'],
  ['python scipy', 'SciPy, Python'],
  ['python jax', 'JAX, Python'],
  ['ts scalar-autograd', 'ScalarAutograd'],
]);

/** The anchor of a heading: its words, in lower case, with dashes between them. */
export function anchorOf(words) {
  return words
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s+/g, '-');
}

/** HTML as text. */
export function textOf(html) {
  return html.replace(/<[^>]*>/g, '').replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&quot;/g, '"').replace(/&amp;/g, '&').replace(/\s+/g, ' ').trim();
}

/** `{ html, title, headings: [{ level, words, anchor }] }` of a page. */
export function renderPage(markdown) {
  const headings = [];
  const md = new MarkdownIt({ html: true, typographer: false });
  const tokens = md.parse(markdown, {});
  tokens.forEach((token, at) => {
    if (token.type !== 'heading_open') return;
    const words = wordsOf(tokens[at + 1]);
    const anchor = free(anchorOf(words), headings);
    token.attrSet('id', anchor);
    headings.push({ level: Number(token.tag.slice(1)), words, anchor });
  });
  const { rules } = md.renderer;
  rules.fence = (list, at) => codeBlock(list[at].content.replace(/\n$/, ''), list[at].info.trim(), isSideBySide(list, at));
  rules.code_block = (list, at) => codeBlock(list[at].content.replace(/\n$/, ''), 'text', false);
  rules.table_open = (list, at) => `<div class="table" tabindex="0" role="group" aria-label="${escapeHtml(`Table: ${headingBefore(list, at)}`)}"><table>`;
  rules.table_close = () => '</table></div>';
  // A corner without words is no heading.
  rules.th_open = (list, at) => (list[at + 1].content === '' ? '<td>' : `<th scope="col"${styleOf(list[at])}>`);
  rules.th_close = (list, at) => (list[at - 1].content === '' ? '</td>' : '</th>');
  // Headings of level 2 and 3 carry a link to themselves.
  rules.heading_close = (list, at) => {
    const open = list[at - 2];
    const link = open.tag === 'h1' ? '' : ` <a class="anchor" href="#${open.attrGet('id')}" aria-label="Link to ${escapeHtml(wordsOf(list[at - 1]))}">#</a>`;
    return `${link}</${list[at].tag}>\n`;
  };
  const html = md.renderer.render(relinked(tokens), md.options, {});
  const title = headings.find(({ level }) => level === 1)?.words;
  if (title === undefined) throw new Error('a page has no heading of level 1');
  return { html, title, headings };
}

/** Code as it stands in a page. */
export function codeBlock(code, kind, captioned, linkOf) {
  const caption = captioned ? `<div class="caption">${escapeHtml(CAPTIONS.get(kind) ?? /from '([\w-]+)'/.exec(code)?.[1] ?? 'residua')}</div>` : '';
  return `<div class="code">${caption}<pre tabindex="0"><code>${highlight(code, kind, linkOf)}</code></pre></div>\n`;
}

/** Links to a .md file go to the page made of it. */
function relinked(tokens) {
  for (const token of tokens) {
    for (const child of token.children ?? []) {
      const href = child.type === 'link_open' ? child.attrGet('href') : null;
      if (href !== null && !/^[a-z]+:/.test(href)) child.attrSet('href', href.replace(/^([\w-]+)\.md\b/, '$1.html'));
    }
  }
  return tokens;
}

function isSideBySide(tokens, at) {
  const opened = tokens.slice(0, at).findLast(({ type }) => type === 'html_block');
  return opened?.content.includes('class="side-by-side"') ?? false;
}

function headingBefore(tokens, at) {
  const open = tokens.slice(0, at).findLastIndex(({ type }) => type === 'heading_open');
  return open < 0 ? '' : wordsOf(tokens[open + 1]);
}

function styleOf(token) {
  const style = token.attrGet('style');
  return style === null ? '' : ` style="${escapeHtml(style)}"`;
}

function wordsOf({ children }) {
  return children.map(({ content }) => content).join('');
}

function free(anchor, headings) {
  let candidate = anchor;
  for (let number = 2; headings.some((heading) => heading.anchor === candidate); number++) candidate = `${anchor}-${number}`;
  return candidate;
}
