// Interaction of the pages: they can be searched, code can be copied, and the page's own table of contents is open where it has a column.
const wide = matchMedia('(min-width: 85rem)');
const toc = document.querySelector('.toc');
if (toc !== null) {
  const follow = () => (toc.open = wide.matches);
  follow();
  wide.addEventListener('change', follow);
}

// Scrolls the contents so that the entry of the page is visible.
const contents = document.querySelector('.contents');
const here = contents.querySelector('[aria-current]');
if (here !== null && contents.scrollHeight > contents.clientHeight) contents.scrollTop = here.offsetTop - contents.clientHeight / 2;

for (const block of document.querySelectorAll('article .code')) {
  const button = document.createElement('button');
  button.className = 'copy';
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(block.querySelector('code').textContent);
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Not allowed';
    }
    setTimeout(() => (button.textContent = 'Copy'), 1500);
  });
  block.append(button);
}

// The search: its index and its library are loaded when its field is first used.
const search = document.createElement('form');
search.setAttribute('role', 'search');
search.className = 'search';
search.innerHTML = '<input type="search" placeholder="Search ( / )" aria-label="Search the documentation" autocomplete="off"><div class="found" hidden><p role="status"></p><ul></ul></div>';
document.querySelector('.bar .home').after(search);
const [field, panel, status, list] = ['input', '.found', '[role=status]', 'ul'].map((selector) => search.querySelector(selector));

const load = (source) =>
  new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement('script'), { src: source, onload: resolve, onerror: () => reject(new Error(`${source} could not be loaded`)) });
    document.head.append(script);
  });
let index;
const indexed = () =>
  (index ??= Promise.all([load('minisearch.js'), load('search-index.js')]).then(() => {
    const searchOptions = { boost: { title: 4, page: 2 }, prefix: (term) => term.length > 1, fuzzy: (term) => (term.length > 4 ? 0.2 : false), combineWith: 'AND' };
    const made = new globalThis.MiniSearch({ fields: ['title', 'page', 'text'], storeFields: ['address', 'page', 'title', 'text'], searchOptions });
    made.addAll(globalThis.sections);
    return made;
  }));

/** A piece of a section's text around the first word that was found. */
function excerpt({ text, terms }) {
  const place = Math.max(0, ...terms.map((term) => text.toLowerCase().indexOf(term)));
  const from = place < 60 ? 0 : text.indexOf(' ', place - 50) + 1;
  return `${from > 0 ? '… ' : ''}${text.slice(from, from + 140)}${from + 140 < text.length ? ' …' : ''}`;
}

async function find() {
  const words = field.value.trim();
  panel.hidden = words === '';
  if (words === '') return;
  try {
    const made = await indexed();
    if (field.value.trim() !== words) return;
    const found = made.search(words);
    status.textContent = found.length === 0 ? 'Nothing found' : `${found.length} section${found.length === 1 ? '' : 's'}`;
    const entries = found.slice(0, 12).map((section) => {
      const link = Object.assign(document.createElement('a'), { href: section.address });
      const [title, where, text] = [['b', section.title], ['span', section.page === section.title ? '' : section.page], ['small', excerpt(section)]].map(([tag, content]) => Object.assign(document.createElement(tag), { textContent: content }));
      link.append(title, ' ', where, text);
      const item = document.createElement('li');
      item.append(link);
      return item;
    });
    list.replaceChildren(...entries);
  } catch (error) {
    status.textContent = error.message;
    index = undefined;
  }
}
field.addEventListener('focus', () => void indexed().catch(() => (index = undefined)));
field.addEventListener('input', find);
search.addEventListener('submit', (event) => {
  event.preventDefault();
  list.querySelector('a')?.click();
});
search.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  field.value = '';
  field.focus();
  find();
});
search.addEventListener('click', ({ target }) => {
  if (target.closest('a') !== null) panel.hidden = true;
});
document.addEventListener('click', ({ target }) => {
  if (!search.contains(target)) panel.hidden = true;
});
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, [contenteditable]') !== null) return;
  event.preventDefault();
  field.focus();
});
