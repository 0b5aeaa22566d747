// Interaction of the pages: code can be copied, and the page's own table of contents is open where it has a column.
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
