/**
 * Steps of numeric differences, fit to the scale of each parameter.
 *
 * The scale of a number x is the largest of |x|, its latest change between two points of differentiation, and halves of earlier ones. Where all are 0
 * it is the mean magnitude of the same coordinate of the array's other blocks, or 1. A step is a share of it. It is in doubt where central differences bend by
 * it, where they are near rounding or noise, where nothing changes, and where the scale is a guess. Then a search finds a better one, which stays.
 */

/** Where the numbers of a parameter array are: among all, from `offset` on, `count` blocks of `dim` on a manifold. */
export interface ArrayPlace {
  readonly manifold: string;
  readonly offset: number;
  readonly dim: number;
  readonly count: number;
}

const EPSILON = 2 ** -52;

/** The largest ratio of second and first differences. The error of a central difference is about its square. */
const MOST_CURVED = 1e-3;

/** The largest share of a difference that may be rounding, or noise. */
const [MOST_ROUNDING, MOST_NOISE] = [1e-6, 2 ** -17];

/** Second differences above so many times their rounding are seen, and what share of first ones rounding is to be where longer steps cost no digits. */
const [BENT, GOOD_ROUNDING] = [10, 2 ** -44];

/** A step that a search has found is in doubt where these ratios are so many times what they were then. */
const OF_FOUND = 4;

/** Steps grow by two to these powers at most: to some scales, and where the scale is a guess. */
const [BEYOND_SCALE, BEYOND_GUESS] = [20, 44];

/** The steps of the parameters with the given positions. */
export class Steps {
  private readonly previous: Float64Array;
  private readonly scales: Float64Array;
  private readonly memory: Float64Array;
  /** The powers of two by which steps are corrected. */
  readonly powers: Int8Array;
  private readonly guessed: Uint8Array;
  /** Of each parameter sums of squares over its residuals: of differences by two steps, of second ones, of their rounding, and of noise. */
  private readonly firsts: Float64Array;
  private readonly seconds: Float64Array;
  private readonly roundings: Float64Array;
  private readonly noises: Float64Array;
  /** By how many times what it is at most some ratio exceeded it where a step was found; infinite where nothing changes by any. */
  private readonly found: Float64Array;
  /** The share of rounding then. */
  private readonly shares: Float64Array;
  private hasPrevious = false;
  /** The largest change of a parameter since the last point, relative to its scale. */
  travel = 0;

  constructor(
    numParams: number,
    readonly positions: Uint32Array,
    private readonly arrays: readonly ArrayPlace[],
  ) {
    const numbers = () => new Float64Array(numParams);
    [this.previous, this.scales, this.memory] = [numbers(), numbers(), numbers()];
    [this.firsts, this.seconds, this.roundings, this.noises, this.found] = [numbers(), numbers(), numbers(), numbers(), numbers()];
    [this.powers, this.guessed, this.shares] = [new Int8Array(numParams), new Uint8Array(numParams), numbers()];
  }

  /** Begins to differentiate at a point. */
  begin(x: Float64Array): void {
    const { positions, previous, memory, scales } = this;
    const isSame = this.hasPrevious && positions.every((at) => x[at] === previous[at]);
    const means = new Map<number, number>();
    this.travel = 0;
    for (const at of positions) {
      if (isSame) break;
      const value = x[at] as number;
      const change = this.hasPrevious ? Math.abs(value - (previous[at] as number)) : 0;
      memory[at] = Math.max(change, (memory[at] as number) / 2);
      previous[at] = value;
      const scale = Math.max(Math.abs(value), memory[at]);
      this.guessed[at] = Number(!(scale > 0 && scale < Infinity));
      scales[at] = this.guessed[at] === 1 ? this.meanMagnitude(x, at, means) : scale;
      this.travel = Math.max(this.travel, change / (scales[at] as number));
    }
    this.hasPrevious = true;
    this.clear();
  }

  /** Returns the step of a parameter for a relative size, which is corrected by two to a power. */
  step(at: number, relative: number, power = this.powers[at] as number): number {
    // A shorter one does not move the number.
    return Math.max(relative * (this.scales[at] as number) * 2 ** power, EPSILON * Math.abs(this.previous[at] as number));
  }

  /** The power by which a step grows at most. */
  readonly most = (at: number): number => (this.guessed[at] === 1 ? BEYOND_GUESS : BEYOND_SCALE);

  /** Forgets what was noted of differences. */
  clear(): void {
    for (const at of this.positions) this.firsts[at] = this.seconds[at] = this.roundings[at] = 0;
  }

  /** Takes into account a difference of a residual by two steps, the second one, and the magnitude of what was subtracted. */
  note(at: number, first: number, second: number, magnitude: number): void {
    this.firsts[at]! += first * first;
    this.seconds[at]! += second * second;
    this.roundings[at]! += (EPSILON * magnitude) ** 2;
  }

  /** Forgets the noise of residuals. */
  forgetNoise(): void {
    this.noises.fill(0);
  }

  /** Adds the squared noise of residuals that a parameter may have an effect on. */
  addNoise(at: number, squares: Float64Array): void {
    for (const square of squares) this.noises[at]! += square;
  }

  /** Whether noise is a notable part of a parameter's differences. */
  isNoisy(at: number): boolean {
    return 2 * (this.noises[at] as number) > MOST_NOISE ** 2 * (this.firsts[at] as number) && !this.isFlat(at);
  }

  /** Whether a better step is to be searched for. `isHidden`: whether results may be rounded, so that nothing changes by short ones. */
  isInDoubt(at: number, isHidden: boolean): boolean {
    const [excess, found] = [this.excess(at), this.found[at] as number];
    if (this.isNoisy(at) || (found === Infinity ? isHidden || excess < Infinity : excess > Math.max(1, OF_FOUND * found))) return true;
    return this.isGuess(at) || this.isLinear(at);
  }

  /** Whether longer steps have less rounding, since nothing bends, and shares of it have not been as large where a step was found. */
  isLinear(at: number): boolean {
    const isBent = (this.seconds[at] as number) > BENT ** 2 * (this.roundings[at] as number);
    return !isBent && this.share(at) > Math.max(GOOD_ROUNDING, OF_FOUND * (this.shares[at] as number));
  }

  /** Whether nothing was known of the scale of a parameter so far. */
  isGuess(at: number): boolean {
    return this.guessed[at] === 1 && this.shares[at] === 0;
  }

  /** Takes differences that were noted by a step that a search has found. */
  settle(at: number): void {
    [this.found[at], this.shares[at]] = [this.excess(at), this.share(at)];
  }

  /** What truncation leaves of central differences by a parameter, relative to them: the square of the ratio of second and first ones. */
  truncation(at: number): number {
    return (this.seconds[at] as number) / (this.firsts[at] as number) || 0;
  }

  /** Whether nothing changes by a parameter. */
  isFlat(at: number): boolean {
    return this.firsts[at] === 0 && this.seconds[at] === 0;
  }

  /** By how many times what it is at most some ratio of differences exceeds it. */
  private excess(at: number): number {
    if (this.isFlat(at)) return Infinity;
    const bend = Math.sqrt(this.seconds[at] as number) - BENT * Math.sqrt(this.roundings[at] as number);
    return Math.max(bend / Math.sqrt(this.firsts[at] as number) / MOST_CURVED, this.share(at) / MOST_ROUNDING);
  }

  /** The share of differences that rounding is. */
  private share(at: number): number {
    return Math.sqrt((this.roundings[at] as number) / (this.firsts[at] as number)) || 0;
  }

  private meanMagnitude(x: Float64Array, at: number, means: Map<number, number>): number {
    const { offset, dim, count } = this.arrays.find((array) => at >= array.offset && at < array.offset + array.dim * array.count) as ArrayPlace;
    const first = offset + ((at - offset) % dim);
    let mean = means.get(first);
    if (mean === undefined) {
      let sum = 0;
      for (let block = 0; block < count; block++) sum += Math.abs(x[first + block * dim] as number) / count;
      means.set(first, (mean = sum > 0 && sum < Infinity ? sum : 1));
    }
    return mean;
  }
}
