/** residua as a contender: compiled once, disposed at the end; the CPU and, where there is none, not the GPU. */
import { GpuCompiledFunctions, GpuContext } from 'residua';

/** Rejects with the reason when there is no GPU. */
export async function gpuPresent() {
  await GpuContext.default();
}

const ENGINES = {
  gpu: { label: 'residua GPU', precision: 'f32', absent: gpuPresent },
  cpu: { label: 'residua CPU', precision: 'f64' },
  // Where the GPU does it, it is in single precision.
  auto: { label: 'residua auto', precision: 'f32' },
};

/**
 * A contender for a problem.
 * @param {'gpu' | 'cpu' | 'auto'} backend
 * @param {{ variant?: string, timing: string, problem: (input: object) => object, attempt: (functions: GpuCompiledFunctions, made: object, input: object) => object, cannot?: (input: object) => string | undefined }} spec
 *   `problem` gives at least `{ problem }`; `attempt` gives what the runner takes (run, before, units, notes)
 */
export function residua(backend, { variant, timing, problem, attempt, cannot }) {
  const { label, precision, absent } = ENGINES[backend];
  return {
    name: variant === undefined ? label : `${label}, ${variant}`,
    precision, timing, absent, cannot, known: true,
    async prepare(input) {
      const made = problem(input);
      const functions = await GpuCompiledFunctions.compile(made.problem, { backend });
      try {
        const prepared = await attempt(functions, made, input);
        const notes = { ...prepared.notes, ...(backend === 'auto' ? { took: functions.backend } : {}) };
        return { ...prepared, notes, dispose: () => (prepared.dispose?.(), functions.dispose()) };
      } catch (error) {
        functions.dispose();
        throw error;
      }
    },
  };
}

/** The same job on the GPU, the CPU, and wherever 'auto' takes it. */
export const onEachBackend = (spec) => ['gpu', 'cpu', 'auto'].map((backend) => residua(backend, spec));
