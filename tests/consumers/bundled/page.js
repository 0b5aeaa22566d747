/** Uses the package in the page, in the package's worker, and in a worker of the application's own; `window.result` resolves with what came. */
import * as residua from 'residua';
import * as inWorker from 'residua/worker';
import { use } from './use.js';

const fromOwnWorker = () =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./own-worker.js', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(`the worker failed: ${message}`));
  });

const all = async () => ({ page: await use(residua), worker: await use(inWorker), ownWorker: await fromOwnWorker() });
window.result = all().catch((error) => ({ error: String(error) }));
