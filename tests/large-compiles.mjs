// Compiles of large problems in a page, for tests of what the page can do meanwhile.

/** Residuals by form: in one piece, compiling each would hold a page up for several frames on a desktop with two cores. */
export const SIZES = { problem: 1_000_000, params: 60_000 };

/** In a page with `residua`: `compileOnce` compiles a problem of springs and notes the page's turns; `abortAfter` aborts such a compile. */
export function defineCompiles() {
  const { GpuCompiledFunctions, Problem, Vec3 } = window.residua;
  const side = (residuals) => Math.round(Math.sqrt(residuals / 2));
  const forms = {
    /** Springs to the right and down on a grid, with lengths of their own. */
    problem(residuals, options) {
      const n = side(residuals);
      const problem = new Problem();
      const points = problem.parameters('points', { dim: 3, values: Float64Array.from({ length: 3 * n * n }, (_, i) => Math.sin(i)) });
      const edges = new Uint32Array(4 * n * (n - 1));
      let end = 0;
      const join = (a, b) => {
        edges[end++] = a;
        edges[end++] = b;
      };
      for (let i = 0; i < n * n; i++) {
        if (i % n < n - 1) join(i, i + 1);
        if (i < n * (n - 1)) join(i, i + n);
      }
      problem.residuals('springs', {
        inputs: { ends: points.at(edges, 2), length: problem.data(Float64Array.from({ length: edges.length / 2 }, (_, i) => i)) },
        residual: ({ ends: [a, b], length }) => a.distance(b).sub(length),
      });
      return (began) => (began(), GpuCompiledFunctions.compile(problem, options));
    },
    params(residuals, options) {
      const n = side(residuals);
      const points = Array.from({ length: n * n }, (_, i) => Vec3.W(Math.sin(i), Math.cos(i), i));
      const record = () => {
        const list = [];
        for (let i = 0; i < n * n; i++) {
          if (i % n < n - 1) list.push(points[i].distance(points[i + 1]).sub(i));
          if (i < n * (n - 1)) list.push(points[i].distance(points[i + n]).sub(i));
        }
        return list;
      };
      const params = points.flatMap((point) => [...point]);
      // What the caller's function takes is the caller's; the page's waiting is counted from its end on.
      return (began) => GpuCompiledFunctions.compile(params, () => { const list = record(); began(); return list; }, options);
    },
  };
  /** Notes the page's turns until it is stopped; gives the longest wait for one. */
  const watch = () => {
    const { port1, port2 } = new MessageChannel();
    const turns = [];
    let from = performance.now();
    port1.onmessage = () => (turns.push(performance.now()), port2.postMessage(0));
    port2.postMessage(0);
    return {
      begin: () => (from = performance.now()),
      end: () => {
        port1.close();
        const times = [from, ...turns.filter((turn) => turn > from), performance.now()];
        // A quiet page has more turns than a call takes arguments.
        const longest = times.reduce((longest, time, i) => Math.max(longest, i === 0 ? 0 : time - times[i - 1]), 0);
        return { longest, total: times.at(-1) - from };
      },
    };
  };
  /** A compile: longest wait, whole time, what progress was heard. */
  window.compileOnce = async (form, residuals, options) => {
    const heard = [];
    const compile = forms[form](residuals, { ...options, onProgress: (...report) => heard.push(report) });
    await new Promise((resolve) => setTimeout(resolve, 50));
    const turns = watch();
    const start = performance.now();
    const functions = await compile(turns.begin);
    const { longest, total } = turns.end();
    const { numResiduals, compileTimes } = functions;
    functions.dispose();
    return { longest, total, whole: performance.now() - start, heard, numResiduals, compileTimes };
  };
  window.abortAfter = async (form, residuals, backend, milliseconds) => {
    const controller = new AbortController();
    let reports = 0;
    const compile = forms[form](residuals, { backend, signal: controller.signal, onProgress: () => (reports += 1) });
    // In the first turn of the page's own after so long: a timer comes late on a busy machine.
    const { port1, port2 } = new MessageChannel();
    const abortThen = () => {
      const start = performance.now();
      port1.onmessage = () => (performance.now() - start < milliseconds ? port2.postMessage(0) : controller.abort());
      port2.postMessage(0);
    };
    const outcome = compile(abortThen).then(() => 'compiled', (error) => error.code);
    const code = await outcome;
    port1.close();
    const before = reports;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return { code, later: reports - before };
  };
}
