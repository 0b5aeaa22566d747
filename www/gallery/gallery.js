/** The gallery: a link to the editor for each example. */
import { EXAMPLES } from '../editor/examples.js';
import { make } from '../make.js';

document.getElementById('examples').append(...Object.entries(EXAMPLES).map(([name, { title, words }]) =>
  make('li', {}, make('a', { href: `../?example=${name}` }, make('strong', { textContent: title }), ' ', make('span', { textContent: words })))));
