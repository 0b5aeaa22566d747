/** What the pages of models share: work in order, the device and its loss, the choice of an engine, files that are dropped, and how much of a file has come. */
import { Device } from 'residua/tensor';
import { nameOf } from '../webgpu-status.js';

export const element = (id) => document.getElementById(id);

/** Pieces of work on a device, each after the one before it. What a piece rejects with goes to `fail`. */
export class Work {
  #last = Promise.resolve();
  #load = new AbortController();
  #fail;

  constructor(fail) {
    this.#fail = fail;
  }

  /** Resolves when the piece is done or has failed. */
  add(piece) {
    return (this.#last = this.#last.then(piece).catch(this.#fail));
  }

  /** A piece that takes a signal. It aborts the load before it, whose failure is not reported. */
  addLoad(piece) {
    this.#load.abort();
    const load = (this.#load = new AbortController());
    return this.add(async () => {
      if (load.signal.aborted && load !== this.#load) return;
      try {
        await piece(load.signal);
      } catch (error) {
        if (load === this.#load) throw load.signal.aborted ? new Error('The load was cancelled.', { cause: error }) : error;
      }
    });
  }

  /** Aborts the present load. */
  cancelLoad() {
    this.#load.abort();
  }
}

/** Shows why something failed, and returns the words; null hides it. */
export function showFailure(error) {
  const words = error === null ? null : `${error.code === undefined ? '' : `${error.code}: `}${error.message}`;
  element('failure').textContent = words ?? '';
  element('failure').hidden = words === null;
  return words;
}

/** The device in words. */
export function engineWords(device) {
  const adapter = device.gpu?.adapterInfo;
  if (device.backend === 'gpu') return `on the GPU${adapter === undefined ? '' : `, ${nameOf(adapter)}`}`;
  return `on the CPU, in WebAssembly${device.fallbackReason === null ? '' : ` (${device.fallbackReason})`}`;
}

/** A device of the engine; `lost` is called with words once the GPU is lost, and not after dispose(). */
export async function openDevice(backend, lost) {
  const device = await Device.create({ backend });
  document.querySelector(`input[name=engine][value=${device.backend}]`).checked = true;
  device.lost.then(({ reason, message }) => {
    lost(device, reason === 'failed' ? message : `The GPU was lost (${reason}): ${message || 'the browser gives no reason'}. What was stored there is gone.`);
  });
  return device;
}

/** The engine that an address asks for, 'auto' where it asks for none. @param {URLSearchParams} query */
export const engineOf = (query) => (['gpu', 'cpu'].includes(query.get('backend')) ? query.get('backend') : 'auto');

/** The engine that is marked on the page, 'auto' where none is. */
export const chosenEngine = () => document.querySelector('input[name=engine]:checked')?.value ?? 'auto';

/** Calls `changed` when another engine is chosen. */
export function onEngine(changed) {
  for (const input of document.querySelectorAll('input[name=engine]')) input.addEventListener('change', () => changed(input.value));
}

/** The files of what was dropped, those in folders too. */
async function filesIn(transfer) {
  // The list is gone after the event.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean), files = [...transfer.files];
  if (!entries.some(({ isDirectory }) => isDirectory)) return files;
  const visit = async (entry) => {
    if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
    const found = [], reader = entry.createReader();
    for (;;) {
      // A reader gives some entries at a time.
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (some.length === 0) return found;
      for (const each of some) found.push(...(await visit(each)));
    }
  };
  return (await Promise.all(entries.map(visit))).flat();
}

/** Calls `take` with the files that are chosen, or dropped on the page, folders among them. */
export function onFiles(take) {
  const give = (files) => files.length > 0 && take(files);
  element('file').addEventListener('change', ({ target }) => {
    give([...target.files]);
    // The same file can be chosen again.
    target.value = '';
  });
  const carriesFiles = (event) => event.dataTransfer?.types.includes('Files');
  addEventListener('dragover', (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    document.body.classList.add('dropping');
  });
  addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) document.body.classList.remove('dropping');
  });
  addEventListener('drop', (event) => {
    document.body.classList.remove('dropping');
    if (!carriesFiles(event)) return;
    event.preventDefault();
    filesIn(event.dataTransfer).then(give, (error) => showFailure(error));
  });
}

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

/** Shows how much has come, of a total that is 0 where it is not known; without numbers it hides that. */
export function showProgress(loaded, total) {
  element('loading').hidden = loaded === undefined;
  if (loaded === undefined) return;
  if (total > 0) element('progress').value = loaded / total;
  else element('progress').removeAttribute('value');
  element('progress-words').textContent = total > 0 ? `${megabytes(loaded)} of ${megabytes(total)}` : megabytes(loaded);
}

/** Fetches an address; what goes wrong is told in words that a visitor can use. */
export async function fetched(address, signal) {
  let response;
  try {
    response = await fetch(address, { signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    const offline = navigator.onLine ? 'the server does not answer, or does not allow other pages to read its files' : 'there is no network';
    throw new Error(`${address} could not be fetched: ${offline} (${error.message}). A file from your disk works without a network.`, { cause: error });
  }
  if (response.ok) return response;
  // Without this the connection stays open.
  await response.body?.cancel();
  throw new Error(`${address} could not be fetched: the server answered ${response.status} ${response.statusText}`);
}
