/**
 * Graduated non-convexity (H. Yang, P. Antonante, V. Tzoumas, L. Carlone, "Graduated Non-Convexity for Robust Spatial Perception", IEEE Robotics
 * and Automation Letters 5(2), 2020). A bounded loss is replaced by a surrogate with a control parameter μ, nearly convex at first; by the duality of Black
 * and Rangarajan a solve of the surrogate is one of weighted least squares, and μ changes from stage to stage until the surrogate is the loss.
 */

import type { GraduatedBlock } from '../compile/compile-input.js';
import type { RawFunctions, RawListener } from '../module/raw.js';
import type { SolveRecord } from '../module/solve-record.js';
import { SolveSeries } from './solve-series.js';
import type { StoppingTests } from './stopping.js';

/** A solve's record, with the weights of the loss after one that was graduated. */
export type GraduatedRecord = SolveRecord & { readonly lossWeights?: Readonly<Record<string, Float64Array>> };

/** A surrogate, for u = s/scale². μ goes from its first value to its last one by a factor for each stage. */
interface Surrogate {
  /** The first μ, from the largest u: from there on the surrogate is convex. */
  first(largest: number): number;
  readonly factor: number;
  /** Whether μ is so far that the surrogate is the loss. */
  isLoss(mu: number): boolean;
  /** The weight of an instance. */
  weight(u: number, mu: number): number;
  /** ρ/scale² of the loss itself, and the weight that it gives. */
  loss(u: number): number;
  lossWeight(u: number): number;
}

const SURROGATES: Readonly<Record<GraduatedBlock['kind'], Surrogate>> = {
  'geman-mcclure': {
    first: (largest) => Math.max(1, 2 * largest),
    factor: 1 / 1.4,
    isLoss: (mu) => mu <= 1,
    weight: (u, mu) => (mu / (mu + u)) ** 2,
    loss: (u) => 1 / (1 + 1 / u),
    lossWeight: (u) => (1 / (1 + u)) ** 2,
  },
  truncated: {
    first: (largest) => (largest > 1 ? 1 / (2 * largest - 1) : Infinity),
    factor: 1.4,
    // Then the range of u with weights between 0 and 1 is within 1e-3 of 1.
    isLoss: (mu) => mu >= 1e3,
    weight: (u, mu) => {
      if (u <= mu / (mu + 1)) return 1;
      return u >= (mu + 1) / mu ? 0 : Math.sqrt((mu * (mu + 1)) / u) - mu;
    },
    loss: (u) => Math.min(u, 1),
    lossWeight: (u) => Number(u <= 1),
  },
};

/** Tolerances and most iterations of the stages before the last ones, whose solutions are starts of the next. */
const LOOSE = 1e-4;
const FEW = 5;
/** Most solves with the loss itself: its weights converge linearly. */
const LAST_STAGES = 50;
/** Ends after which a stage's solution is no start of the next. */
const ENDS = new Set(['aborted', 'max-time', 'non-finite']);

/** Solves one stage. */
type Solve = (within: Partial<StoppingTests>, onIteration: RawListener) => Promise<SolveRecord>;

/** Minimises a cost in which some blocks have graduated losses, from the current parameters. The weights of the blocks are the caller's again at the end. */
export async function solveGraduated(
  solve: Solve,
  handle: RawFunctions,
  wait: <T>(work: () => Promise<T>) => Promise<T>,
  blocks: readonly GraduatedBlock[],
  options: Partial<StoppingTests>,
  listen: RawListener,
  numParams: number,
): Promise<GraduatedRecord> {
  const losses = new Losses(handle, wait, blocks, numParams);
  try {
    return await new Graduation(solve, losses, options, listen).run();
  } finally {
    // After a failure of the module or the device there is nothing to restore.
    await losses.setWeights(() => 1).catch(() => {});
  }
}

/** The stages of a solve. */
class Graduation {
  private readonly series: SolveSeries;

  constructor(
    private readonly solve: Solve,
    private readonly losses: Losses,
    private readonly options: Partial<StoppingTests>,
    listen: RawListener,
  ) {
    this.series = new SolveSeries(options, listen);
  }

  async run(): Promise<GraduatedRecord> {
    const { losses, series } = this;
    const { costTolerance = 1e-8 } = this.options;
    await losses.evaluate();
    const initialCost = await losses.cost();
    const first = () => new Map(losses.kinds().map((kind) => [kind, SURROGATES[kind].first(losses.largest(kind))]));
    let mu = first();
    let cost = initialCost;
    let end: { success: boolean; termination?: string } | null = null;
    for (let last = 0; end === null; ) {
      const isLast = [...mu].every(([kind, value]) => SURROGATES[kind].isLoss(value));
      const { ratios } = losses;
      const before = losses.lossWeights();
      await losses.setWeights(({ isLoss, weight, lossWeight }, kind, b, i) => {
        const [u, value] = [(ratios[b] as Float64Array)[i] as number, mu.get(kind) as number];
        return isLoss(value) ? lossWeight(u) : weight(u, value);
      });
      const record = await this.stage(isLast);
      await losses.evaluate();
      if (ENDS.has(record.termination)) end = { success: false };
      else if (series.isEnded) end = { success: false, termination: 'aborted' };
      else if (isLast) {
        const previous = cost;
        cost = await losses.cost();
        const isSame = Object.entries(losses.lossWeights()).every(([name, weights]) => weights.every((weight, i) => weight === (before[name] as Float64Array)[i]));
        // Each stage minimises a bound of the loss that touches it, so that costs fall.
        if (isSame || (last > 0 && previous - cost <= Math.max(costTolerance, 1e-15) * cost)) end = { success: record.success };
        else if (++last === LAST_STAGES) end = { success: false, termination: 'max-iterations' };
      }
      if (end === null && series.limit !== null) end = { success: false, termination: series.limit };
      const nearer = series.count === 1 ? first() : mu;
      mu = new Map([...mu].map(([kind, value]) => {
        const { factor, isLoss } = SURROGATES[kind];
        if (isLoss(value)) return [kind, value];
        // The residuals after the first solve are smaller than those of the start, and allow a later beginning.
        const other = nearer.get(kind) as number;
        return [kind, factor * (factor < 1 ? Math.min(value, other) : Math.max(value, other))];
      }));
    }
    return this.record(initialCost, await losses.cost(), end);
  }

  private async stage(isLast: boolean): Promise<SolveRecord> {
    const { costTolerance = 1e-8, gradientTolerance = 1e-8, parameterTolerance = 1e-8 } = this.options;
    const least = isLast ? 0 : LOOSE;
    const within: Partial<StoppingTests> = {
      ...this.series.within(isLast ? Infinity : FEW),
      costTolerance: Math.max(costTolerance, least), gradientTolerance: Math.max(gradientTolerance, least), parameterTolerance: Math.max(parameterTolerance, least),
    };
    const record = await this.solve(within, this.series.listener());
    this.series.add(record);
    return record;
  }

  private record(initialCost: number, finalCost: number, { success, termination }: { success: boolean; termination?: string }): GraduatedRecord {
    const { last, count } = this.series;
    const totals = this.series.totals();
    const lossWeights = this.losses.lossWeights();
    const left = Object.entries(lossWeights).map(([name, weights]) => `${weights.reduce((count, weight) => count + Number(weight < 0.5), 0)} of ${weights.length} in '${name}'`);
    const message = `${last.message} The loss was graduated in ${count} solves; instances with a weight below 0.5: ${left.join(', ')}.`;
    return {
      ...last, ...totals, message, success, initialCost, finalCost, lossWeights,
      termination: termination ?? last.termination,
      functionEvaluations: totals.functionEvaluations + this.losses.evaluations,
    };
  }
}

/** The blocks with graduated losses, and u of each instance at the current point. */
class Losses {
  /** u of each instance, block after block. */
  ratios: Float64Array[] = [];
  /** Number of evaluations. */
  evaluations = 0;

  constructor(
    private readonly handle: RawFunctions,
    private readonly wait: <T>(work: () => Promise<T>) => Promise<T>,
    private readonly blocks: readonly GraduatedBlock[],
    private readonly numParams: number,
  ) {}

  /** Multiplies the caller's weights by factors. */
  async setWeights(factor: (surrogate: Surrogate, kind: GraduatedBlock['kind'], block: number, instance: number) => number): Promise<void> {
    const all = this.blocks.map(({ kind, weights }, b) => weights.map((weight, i) => weight * factor(SURROGATES[kind], kind, b, i)));
    await this.wait(async () => this.blocks.forEach(({ setWeights }, b) => setWeights(this.handle, all[b] as Float64Array)));
  }

  /** Evaluates u of all instances. */
  async evaluate(): Promise<void> {
    // The residuals of an instance of weight 0 are not computed.
    await this.setWeights(() => 1);
    const residuals = await this.wait(() => this.handle.evaluate());
    this.evaluations += 1;
    this.ratios = this.blocks.map(({ ends, scale, weights }) =>
      weights.map((_, i) => {
        let sum = 0;
        for (let row = ends[i] as number; row < (ends[i + 1] as number); row++) sum += ((residuals[row] as number) / scale) ** 2;
        return sum;
      }),
    );
  }

  /** The largest u of each kind of loss. */
  largest(kind: GraduatedBlock['kind']): number {
    let largest = 0;
    this.blocks.forEach((block, b) => {
      if (block.kind === kind) for (const u of this.ratios[b] as Float64Array) largest = Math.max(largest, u);
    });
    return largest;
  }

  /** The kinds of losses that there are. */
  kinds(): GraduatedBlock['kind'][] {
    return [...new Set(this.blocks.map(({ kind }) => kind))];
  }

  /** The cost with the losses themselves, where `evaluate` was called last. */
  async cost(): Promise<number> {
    await this.setWeights(() => 0);
    const others = await this.wait(() => this.handle.evaluateCostWithGradient(undefined, new Float64Array(this.numParams)));
    this.evaluations += 1;
    return this.blocks.reduce((cost, { kind, scale, factor, weights }, b) => {
      const { loss } = SURROGATES[kind];
      const sum = weights.reduce((total, weight, i) => (weight === 0 ? total : total + weight * loss((this.ratios[b] as Float64Array)[i] as number)), 0);
      return cost + 0.5 * factor * scale ** 2 * sum;
    }, others.value);
  }

  /** The weights of the losses themselves, by block. */
  lossWeights(): Record<string, Float64Array> {
    return Object.fromEntries(this.blocks.map(({ name, kind }, b) => [name, (this.ratios[b] as Float64Array).map(SURROGATES[kind].lossWeight)]));
  }
}
