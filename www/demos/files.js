/**
 * Files from the reader: dropped on the picture or selected in the field. Takes what the demo accepts; passes on their text, or a sentence
 * with the reason for a refusal.
 */

/** Reading a file needs several times its size in memory; text of this size is a mesh of about a million vertices. */
const LARGEST = 64e6;

const inMegabytes = (bytes) => `${(bytes / 1e6).toLocaleString('en-US', { maximumFractionDigits: 1 })} MB`;

/**
 * @param {{ zone: HTMLElement, input: HTMLInputElement, accepts: () => { accept: string, largest?: number } | null, onText: (text: string, name: string) => unknown, onFailure: (message: string) => void }} page
 */
export function takeFiles({ zone, input, accepts, onText, onFailure }) {
  async function take(file) {
    const wanted = accepts();
    if (wanted === null) return onFailure(`${file.name}: this demo takes no file.`);
    const largest = wanted.largest ?? LARGEST;
    // Refused by its size alone, before it is read.
    if (file.size > largest) return onFailure(`${file.name} has ${inMegabytes(file.size)}; this page takes files of up to ${inMegabytes(largest)}.`);
    try {
      await onText(await file.text(), file.name);
    } catch (error) {
      onFailure(`${file.name}: ${error.message}`);
    }
  }

  input.addEventListener('change', () => {
    const [file] = input.files;
    if (file !== undefined) take(file);
    // The same file can be selected again.
    input.value = '';
  });
  zone.addEventListener('dragover', (event) => {
    event.preventDefault();
    zone.classList.add('dropping');
  });
  zone.addEventListener('dragleave', () => zone.classList.remove('dropping'));
  zone.addEventListener('drop', (event) => {
    event.preventDefault();
    zone.classList.remove('dropping');
    const [file] = event.dataTransfer.files;
    if (file !== undefined) take(file);
  });
}
