/** When solvers stop, and how they say why. */

/** Why a solver ended. An abort, or true from onIteration, gives 'aborted'. */
export type Termination =
  /** Converged: the change of the cost, the gradient or the step is within its tolerance. */
  | 'cost-tolerance'
  | 'gradient-tolerance'
  | 'parameter-tolerance'
  /** Stopped; the best point so far is kept. */
  | 'max-iterations'
  | 'max-time'
  | 'aborted'
  /** Constraints contradict each other: no point nearby meets them all. `message` names them. */
  | 'infeasible'
  /** No further progress in this precision; the best point so far is kept. */
  | 'precision-limit'
  /** Failed to continue; the best point so far is kept. */
  | 'line-search-failed'
  | 'trust-region-collapsed'
  | 'non-finite';

/** The stopping tests, all present but a limit of iterations. */
export interface StoppingTests {
  maxIterations?: number;
  maxTimeMs: number;
  costTolerance: number;
  gradientTolerance: number;
  parameterTolerance: number;
}
