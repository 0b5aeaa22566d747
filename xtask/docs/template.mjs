// The frame of every page: head, contents of the site, contents of the page, the pages before and after. All addresses are relative, so the
// site works below any path and from files.
import { escapeHtml } from './highlight.mjs';

/** A whole page. `groups` are the site's contents, `[{ title, pages: [{ name, title }] }]`; `headings` the page's own. */
export function pageHtml({ name, title, html, headings, groups, description }) {
  const pages = groups.flatMap(({ pages }) => pages);
  const at = pages.findIndex((page) => page.name === name);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${escapeHtml(description)}">
<title>${escapeHtml(name === 'index' ? title : `${title} · residua`)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css">
<script src="site.js" defer></script>
</head>
<body>
<a class="skip" href="#content">To the text</a>
<header class="bar"><a class="home" href="index.html">residua</a><a class="to-contents" href="#contents">Contents</a></header>
<div class="columns">
<main id="content" tabindex="-1">
${headings.filter(isListed).length > 1 ? toc(headings) : ''}
<article>
${html}
</article>
<nav class="around" aria-label="Pages before and after">
${around(pages[at - 1], 'Before', 'prev')}
${around(pages[at + 1], 'Next', 'next')}
</nav>
</main>
<nav class="contents" id="contents" aria-label="Contents">
${groups.map((group) => contentsGroup(group, name)).join('\n')}
</nav>
</div>
</body>
</html>
`;
}

const isListed = ({ level }) => level === 2 || level === 3;

function toc(headings) {
  const items = headings.filter(isListed).map(({ level, words, anchor }) => `<li class="level-${level}"><a href="#${anchor}">${escapeHtml(words)}</a></li>`);
  return `<details class="toc"><summary>On this page</summary><ul>${items.join('')}</ul></details>`;
}

function contentsGroup({ title, pages }, current) {
  const items = pages.map((page) => {
    const here = page.name === current ? ' aria-current="page"' : '';
    return `<li><a href="${page.name}.html"${here}>${escapeHtml(page.title)}</a></li>`;
  });
  return `<p class="group">${escapeHtml(title)}</p>\n<ul>${items.join('')}</ul>`;
}

function around(page, word, relation) {
  return page === undefined ? '<span></span>' : `<a rel="${relation}" class="${relation}" href="${page.name}.html"><span>${word}</span>${escapeHtml(page.title)}</a>`;
}
