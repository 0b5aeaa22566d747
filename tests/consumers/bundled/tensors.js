/** Uses tensors alone in the page, in the package's worker and in one of the application's own; `window.result` resolves with what came. */
import { Device, grad, scalar } from 'residua/tensor';
import { compileStep, fit, Sgd } from 'residua/tensor/train';
import { Device as DeviceInWorker } from 'residua/tensor/worker';
import { useTensors } from './use-tensors.js';

const fromWorker = () =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./tensor-worker.js', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(`the worker failed: ${message}`));
  });

const all = async () => ({
  page: await useTensors({ Device, grad, scalar, compileStep, fit, Sgd }),
  worker: await useTensors({ Device: DeviceInWorker, grad, scalar, compileStep, fit, Sgd }),
  ownWorker: await fromWorker(),
});
window.result = all().catch((error) => ({ error: String(error) }));
