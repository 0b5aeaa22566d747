/** The script of the threads that `init({ threads })` starts. */

import { serve, type ThreadStart } from './threads/serve.js';

interface NodeThreads {
  readonly workerData: ThreadStart;
  readonly parentPort: { postMessage(message: unknown): void };
}

if ('process' in globalThis) {
  const threads = 'node:worker_threads';
  void (import(/* @vite-ignore */ /* webpackIgnore: true */ threads) as Promise<NodeThreads>).then(({ workerData, parentPort }) => serve(workerData, () => parentPort.postMessage(true)));
} else {
  globalThis.onmessage = ({ data }: MessageEvent<ThreadStart>) => serve(data, () => (postMessage as (message: unknown) => void)(true));
}
