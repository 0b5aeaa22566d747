/** The script of the threads that `init({ threads })` starts. */

import { serve, type ThreadStart } from './threads/serve.js';

/** What the script tells the thread that started it: that it waits for jobs. */
interface Port {
  onmessage: (message: { readonly data: ThreadStart }) => void;
  postMessage(message: true): void;
}

if ('process' in globalThis) {
  const threads = 'node:worker_threads';
  void (import(/* @vite-ignore */ /* webpackIgnore: true */ threads) as Promise<{ readonly workerData: ThreadStart; readonly parentPort: Port }>).then(({ workerData, parentPort }) => begin(workerData, parentPort));
} else {
  const port = globalThis as unknown as Port;
  port.onmessage = ({ data }) => begin(data, port);
}

function begin(start: ThreadStart, port: Port): void {
  serve(start, () => port.postMessage(true));
}
