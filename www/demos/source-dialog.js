/** The source of a demo: fetches its files as text and shows them in a dialog. Takes the dialog and the paths, relative to this folder. */
export class SourceDialog {
  #dialog;

  /** @param {HTMLDialogElement} dialog with #source-files, #source-link, #source-text */
  constructor(dialog) {
    this.#dialog = dialog;
  }

  open(title, files) {
    this.#find('heading').textContent = `Source: ${title}`;
    this.#find('files').replaceChildren(...files.map((path) => {
      const button = Object.assign(document.createElement('button'), { type: 'button', textContent: path.split('/').slice(-2).join('/') });
      button.addEventListener('click', () => this.#show(path, button));
      return button;
    }));
    this.#dialog.showModal();
    this.#find('files').firstElementChild?.click();
  }

  async #show(path, button) {
    for (const other of this.#find('files').children) other.setAttribute('aria-pressed', String(other === button));
    const url = new URL(path, import.meta.url);
    this.#find('link').href = url.href;
    const text = this.#find('text');
    text.textContent = 'Fetching…';
    try {
      const response = await fetch(url);
      if (!response.ok) throw new Error(`the server answered ${response.status}`);
      text.textContent = await response.text();
    } catch (error) {
      text.textContent = `${path} could not be fetched: ${error.message}`;
    }
    text.scrollTop = 0;
  }

  #find(part) {
    return this.#dialog.querySelector(`#source-${part}`);
  }
}
