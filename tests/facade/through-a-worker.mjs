/** The page's side and the worker's side of residua/worker at the two ends of a channel, with a fake module behind the second. */
import { GpuCompiledFunctions, GpuContext, Problem } from '../../pkg-template/dist/index.js';
import { Host } from '../../pkg-template/dist/module/loading.js';
import { RemoteModule } from '../../pkg-template/dist/remote/module.js';
import { serve } from '../../pkg-template/dist/remote/server.js';
import { install } from './fake-module.mjs';

/** Both sides, connected as worker.ts and worker-entry.ts connect them. `sent` are the page's messages; `close` lets the process end. */
export function joined(options) {
  const fake = install(options);
  const sent = [];
  const ports = [];
  let starts = 0;
  const host = new Host(async () => {
    starts += 1;
    if (starts > 1) fake.restart();
    const { port1, port2 } = new MessageChannel();
    ports.push(port1, port2);
    serve(port2, new Host(async () => fake.module));
    const page = {
      set onmessage(listener) {
        port1.onmessage = listener;
      },
      postMessage: (message, transfer) => (sent.push(message), port1.postMessage(message, transfer)),
    };
    const module = new RemoteModule(page);
    await module.default();
    return module;
  });
  const close = () => ports.forEach((port) => port.close());
  return { fake, host, sent, close, GpuCompiledFunctions: GpuCompiledFunctions.on(host), GpuContext: GpuContext.on(host), starts: () => starts };
}

/** A small problem, compiled in the worker. */
export async function compiledThere(options) {
  const sides = joined();
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [1, 2, 3, 4] });
  const block = problem.residuals('r', { inputs: { p: p.at([0, 1]), d: problem.data([5, 6]) }, residual: ({ p, d }) => p.x.mul(p.y).sub(d) });
  const functions = await sides.GpuCompiledFunctions.compile(problem, options);
  return { ...sides, problem, p, block, functions, raw: sides.fake.compiled.at(-1) };
}
