/** Starts the threads of a module: a worker of the page, or of Node. It stands beside the script of the threads, as bundlers find it by this address. */

/** A thread that was started. */
export interface StartedThread {
  /** Resolves when it waits for jobs. Rejects where it cannot start. */
  readonly ready: Promise<void>;
  end(): void;
}

/** Starts a thread with a message. */
export type StartThread = (start: unknown) => StartedThread;

interface NodeWorker {
  on(event: 'message' | 'error', listener: (value: unknown) => void): void;
  unref(): void;
  terminate(): Promise<number>;
}

/** Returns what starts threads here. */
export async function threadStarter(): Promise<StartThread> {
  if (!('process' in globalThis)) return inPage;
  const threads = 'node:worker_threads';
  const { Worker: NodeThread } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ threads)) as { Worker: new (script: URL, options: { workerData: unknown }) => NodeWorker };
  // Bundlers follow `new URL(…, import.meta.url)`, which is for pages.
  const module = import.meta.url;
  const script = new URL('./thread-entry.js', module);
  return (start) => {
    const worker = new NodeThread(script, { workerData: start });
    return {
      ready: new Promise((resolve, reject) => {
        worker.on('message', () => {
          // From now on it does not keep the process from ending.
          worker.unref();
          resolve();
        });
        worker.on('error', reject);
      }),
      end: () => void worker.terminate(),
    };
  };
}

const inPage: StartThread = (start) => {
  const worker = new Worker(new URL('./thread-entry.js', import.meta.url), { type: 'module' });
  const ready = new Promise<void>((resolve, reject) => {
    worker.onmessage = () => resolve();
    // An error without a message means that the script itself could not be loaded.
    worker.onerror = ({ message }: Partial<ErrorEvent>) => reject(new Error(message ?? 'its script, thread-entry.js, could not be loaded from beside the package'));
    worker.onmessageerror = () => reject(new Error('its first message could not be read'));
  });
  worker.postMessage(start, []);
  return { ready, end: () => worker.terminate() };
};
