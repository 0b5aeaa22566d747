/** residua as a contender: compiled once, disposed at the end. The CPU contender always runs; the GPU contender needs a GPU. */
import { GpuCompiledFunctions, GpuContext } from 'residua';

/** Rejects with the reason where there is no GPU. */
export async function gpuPresent() {
  await GpuContext.default();
}

const ENGINES = {
  gpu: { label: 'residua GPU', precision: 'f32', absent: gpuPresent },
  cpu: { label: 'residua CPU', precision: 'f64' },
  // Calls that the GPU runs are in single precision.
  auto: { label: 'residua auto', precision: 'f32' },
};

/**
 * A contender for a problem.
 * @param {'gpu' | 'cpu' | 'auto'} backend
 * @param {{ variant?: string, timing: string, absent?: () => Promise<void>, createContext?: () => Promise<GpuContext>, problem: (input:
 *   object) => object, attempt: (functions: GpuCompiledFunctions, made: object, input: object) => object, cannot?: (input: object) =>
 *   string | undefined }} spec
 *   `problem` returns at least `{ problem }`; `attempt` returns what the runner takes (run, before, units, notes)
 */
export function residua(backend, { variant, timing, problem, attempt, cannot, growth, absent = ENGINES[backend].absent, createContext }) {
  const { label, precision } = ENGINES[backend];
  return {
    name: variant === undefined ? label : `${label}, ${variant}`,
    precision, timing, absent, cannot, growth, known: true,
    async prepare(input) {
      const made = problem(input);
      const context = await createContext?.();
      const functions = await GpuCompiledFunctions.compile(made.problem, { backend, ...(context === undefined ? {} : { context }) });
      try {
        const prepared = await attempt(functions, made, input, context);
        const notes = { ...prepared.notes, ...(backend === 'auto' ? { took: functions.backend } : {}) };
        return { ...prepared, notes, dispose: () => (prepared.dispose?.(), functions.dispose(), context?.dispose()) };
      } catch (error) {
        functions.dispose();
        context?.dispose();
        throw error;
      }
    },
  };
}

/** The same job on the GPU, on the CPU, and with 'auto'. */
export const onEachBackend = (spec) => ['gpu', 'cpu', 'auto'].map((backend) => residua(backend, spec));

/** Rejects where the package has no call that leaves a gradient on the GPU, or there is no GPU. */
export async function gradientOnDevicePresent() {
  await gpuPresent();
  if (!('evaluateCostWithGradientOnDevice' in GpuCompiledFunctions.prototype)) throw new Error('this build has no call that leaves the gradient on the GPU');
}

/** Rejects where a context cannot time its kernels. */
export async function gpuTimesPresent() {
  await gpuPresent();
  const context = await GpuContext.create({ profile: true });
  const { profile } = context.stats();
  context.dispose();
  if (profile === undefined) throw new Error('this build has no profile of a context');
  if (!profile.hasGpuTimes) throw new Error("this device has no timestamps ('timestamp-query')");
}

/** The GPU's milliseconds of kernels since the last call, after the device has delivered all times; and the number of dispatches. */
export function gpuClock(context) {
  let [msBefore, dispatchesBefore] = [0, 0];
  return async () => {
    for (;;) {
      const kernels = Object.values(context.stats().profile.kernels);
      if (kernels.some(({ dispatches, timed }) => timed !== dispatches)) {
        await new Promise((resolve) => setTimeout(resolve, 2));
        continue;
      }
      const ms = kernels.reduce((sum, { gpuMs }) => sum + gpuMs, 0), dispatches = kernels.reduce((sum, kernel) => sum + kernel.dispatches, 0);
      const since = { ms: ms - msBefore, dispatches: dispatches - dispatchesBefore };
      [msBefore, dispatchesBefore] = [ms, dispatches];
      return since;
    }
  };
}
