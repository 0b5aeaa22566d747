/** What a plain function is: the functions of the application, and the instances that they are called for. */

/** How derivatives of plain functions are approximated. */
export type Differences = 'central' | 'forward' | 'ridders';

/** The numbers of an instance, and where its residuals or derivatives are to be written. */
export type PlainEvaluation = (values: Readonly<Record<string, Float64Array>>, out: Float64Array) => unknown;

/** A plain function. */
export interface PlainFunction {
  /** Residuals of an instance. */
  readonly outputs: number;
  readonly evaluate: PlainEvaluation;
  readonly jacobian: PlainEvaluation | null;
  readonly differences: Differences;
  /** Whether the residuals of the function's one instance are instances of the block. */
  readonly perResidual: boolean;
}

/** The instances of a plain function that belong to a template. */
export interface PlainInstances {
  readonly function: PlainFunction;
  /** Number of instances. */
  readonly count: number;
  /** Those of the block, ascending; null for all of them. */
  readonly instances: Uint32Array | null;
  /** Whether each residual of an instance is an instance of the template. */
  readonly isSplit: boolean;
}
