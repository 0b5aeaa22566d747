/**
 * Steps of numeric differences, fit to the scale of each parameter.
 *
 * The scale of a number x is the largest of |x|, its latest change between two points of differentiation, and halves of earlier ones. Where all are 0
 * it is the mean magnitude of the same coordinate of the array's other blocks, or 1. Central differences correct it by what they meet: a
 * curvature that is large beside the slope says that the function changes faster, and a difference near rounding that it changes slower.
 *
 * Where residuals have noise beyond rounding, steps balance it with truncation (J. J. Moré and S. M. Wild, "Estimating derivatives of noisy simulations", ACM
 * Transactions on Mathematical Software 38, 2012). For that they grow as long as differences are within the noise, or bend by no more. Where nothing
 * changes at all, steps that are too short for rounded results are told from parameters without effect: longer ones meet other values, but no slope there.
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

/** The ratio that a corrected step aims at. */
const CURVED = 1e-5;

/** The largest share of a difference that may be rounding. */
const MOST_ROUNDING = 1e-6;

/** Steps grow by two to this power at most, so that they do not leave the place where the function is to be differentiated. */
const MOST_GROWTH = 10;

/** Steps that noise makes longer: to the scale of the number; to some scales where nothing else is seen; and where the scale is a guess. */
const [TO_SCALE, BEYOND_SCALE, BEYOND_GUESS] = [17, 20, 44];

/** Steps by which nothing changes grow by two to this power at once, and those of noise to this one. */
const GROWTH = 4;
const MOST_GROWTH_IN_NOISE = 6;

/** The squared ratio to its noise from which a difference is seen, and a second one. */
const SEEN = 9;

/**
 * Before a step is made shorter for its bend, longer ones are tried, by these powers of two: the ratio of second and first differences grows with the step
 * where a function bends, and falls where it is noise, here by so much at least.
 */
const LONGER = [5, 10];
const FALL_OF_NOISE = 6;

/** What is left of squared second differences that are noise, at least. */
const STAYS = 0.1;

/** A longer step that meets noise by so many times as large a share, squared, is undone. */
const MOST_RISE_OF_NOISE = 16;

/** The distance of points of noise: in steps, in shares of the scale at most, and so that differences of a high order are small where second ones are seen. */
const [DISTANCE, SMOOTH_SHARE, SMOOTH_BEND] = [8, 2 ** -9, 0.025];

/** What kinks leave of a central difference, as a share of the ratio of second and first ones. */
const OF_KINKS = 0.25;

/** Noise as large a share of a difference calls for other steps. */
export const NOTABLE_NOISE = 2 ** -17;

/** Steps shrink by two to this power at most. */
const MOST_SHRINKING = -40;

/** The steps of the parameters with the given positions. */
export class Steps {
  private readonly previous: Float64Array;
  private readonly scales: Float64Array;
  private readonly memory: Float64Array;
  /** The powers of two by which steps are corrected. */
  private readonly powers: Int8Array;
  private readonly directions: Int8Array;
  private readonly firsts: Float64Array;
  private readonly seconds: Float64Array;
  private readonly thirds: Float64Array;
  private readonly roundings: Float64Array;
  private readonly guessed: Uint8Array;
  /** Of each parameter Σ e² over the noise e of its residuals. */
  private readonly noises: Float64Array;
  /** Of each parameter by which nothing changes the power from which longer steps are tried, and 1 more; −1 where all were tried. */
  private readonly tried: Int8Array;
  /**
   * Of each parameter how many longer steps were tried before the first shorter one, the squared ratio of differences by the step itself and its second one, and
   * the power by which it was to change.
   */
  private readonly doubts: Int8Array;
  private readonly bends: Float64Array;
  private readonly bent: Float64Array;
  private readonly wanted: Int8Array;
  /**
   * Of each parameter the power beyond which longer steps meet more noise than they are worth, by what power the last one was longer, and what share noise had
   * before it, squared.
   */
  private readonly ceilings: Int8Array;
  private readonly grown: Int8Array;
  private readonly shares: Float64Array;
  /** Whether a parameter is to be differentiated. */
  readonly isDue: Uint8Array;
  private hasPrevious = false;

  constructor(
    numParams: number,
    readonly positions: Uint32Array,
    private readonly arrays: readonly ArrayPlace[],
  ) {
    const numbers = () => new Float64Array(numParams);
    [this.previous, this.scales, this.memory] = [numbers(), numbers(), numbers()];
    [this.firsts, this.seconds, this.thirds, this.roundings] = [numbers(), numbers(), numbers(), numbers()];
    this.noises = numbers();
    [this.bends, this.bent, this.shares] = [numbers(), numbers(), numbers()];
    const powers = () => new Int8Array(numParams);
    [this.powers, this.directions, this.tried, this.doubts, this.wanted, this.grown, this.ceilings] = [powers(), powers(), powers(), powers(), powers(), powers(), powers().fill(BEYOND_GUESS)];
    [this.isDue, this.guessed] = [new Uint8Array(numParams), new Uint8Array(numParams)];
  }

  /** Begins to differentiate at a point. */
  begin(x: Float64Array): void {
    const { positions, previous, memory, scales } = this;
    const isSame = this.hasPrevious && positions.every((at) => x[at] === previous[at]);
    const means = new Map<number, number>();
    for (const at of positions) {
      const value = x[at] as number;
      if (!isSame) {
        const change = this.hasPrevious ? Math.abs(value - (previous[at] as number)) : 0;
        memory[at] = Math.max(change, (memory[at] as number) / 2);
        previous[at] = value;
        const scale = Math.max(Math.abs(value), memory[at]);
        this.guessed[at] = Number(!(scale > 0 && scale < Infinity));
        scales[at] = this.guessed[at] === 1 ? this.meanMagnitude(x, at, means) : scale;
      }
      this.isDue[at] = 1;
      // What was met elsewhere counts less and less.
      if (!isSame) this.ceilings[at] = Math.min((this.ceilings[at] as number) + 1, BEYOND_GUESS);
      this.directions[at] = this.shares[at] = 0;
    }
    this.hasPrevious = true;
    for (const at of this.positions) this.clear(at);
  }

  /** Returns the step of a parameter for a relative size, which grows by two to the power `mostGrowth` at most. */
  step(at: number, relative: number, mostGrowth = Infinity): number {
    const step = relative * (this.scales[at] as number) * 2 ** Math.min(this.powers[at] as number, mostGrowth);
    // A shorter one does not move the number.
    return Math.max(step, EPSILON * Math.abs(this.previous[at] as number));
  }

  /** Takes into account a difference of a residual by two steps, the second one, and the magnitude of what was subtracted. */
  note(at: number, first: number, second: number, magnitude: number): void {
    this.firsts[at]! += first * first;
    this.seconds[at]! += second * second;
    this.roundings[at]! += (EPSILON * magnitude) ** 2;
  }

  /** Whether nothing is known of the scale of a parameter, so that differences by half the step are to be taken, too. */
  isGuess(at: number): boolean {
    return this.guessed[at] === 1;
  }

  /** Takes into account by how much half the step changes the difference of a residual by two steps: its third derivative, which a centre of symmetry does not hide. */
  noteHalf(at: number, change: number): void {
    this.thirds[at]! += change * change;
  }

  /** Forgets the noise of a parameter's residuals. */
  forgetNoise(): void {
    this.noises.fill(0);
  }

  /** Adds the squared noise of residuals that a parameter may have an effect on. */
  addNoise(at: number, squares: Float64Array): void {
    for (const square of squares) this.noises[at]! += square;
  }

  /** Whether noise is a notable part of a parameter's differences. */
  hasNotableNoise(): boolean {
    return this.positions.some((at) => 2 * (this.noises[at] as number) > NOTABLE_NOISE ** 2 * (this.firsts[at] as number) && !this.isFlat(at));
  }

  /** Whether nothing changes by a parameter, of which longer steps were not tried. */
  hasUntried(): boolean {
    return this.positions.some((at) => this.isFlat(at) && this.tried[at] !== -1);
  }

  /** Parameters by which something changed at last where longer steps were tried. */
  found(): number[] {
    return [...this.positions].filter((at) => (this.tried[at] as number) > 0 && !this.isFlat(at));
  }

  /** Ends the trial of longer steps by a parameter: they are taken where results are rounded, else the function is flat. */
  endTrial(at: number, isRounded: boolean): void {
    if (!isRounded) [this.powers[at], this.firsts[at], this.seconds[at]] = [(this.tried[at] as number) - 1, 0, 0];
    this.tried[at] = isRounded ? 0 : -1;
    this.isDue[at] = Number(!isRounded);
  }

  /** Corrects steps of parameters that are due by the differences that were noted. Returns whether any was; those alone are due then. */
  correct(): boolean {
    let isAny = false;
    for (const at of this.positions) {
      if (this.isDue[at] === 0) continue;
      if (!this.isFlat(at)) this.tried[at] = 0;
      if (this.isNoisy(at)) this.doubts[at] = LONGER.length + 1;
      const isInDoubt = (this.doubts[at] as number) > 0 && (this.doubts[at] as number) <= LONGER.length;
      const power = isInDoubt ? this.settleDoubt(at) : this.doubt(at, this.correction(at));
      // A step that was too long and is too short now is as good as it gets.
      const isTurn = power * (this.directions[at] as number) < 0 && !this.isNoisy(at) && !isInDoubt;
      this.isDue[at] = Number(power !== 0 && !isTurn);
      if (this.isDue[at] === 0) continue;
      const isDoubted = (this.doubts[at] as number) > 0 && (this.doubts[at] as number) <= LONGER.length;
      if (!isDoubted) this.directions[at] = Math.sign(power);
      this.powers[at]! += power;
      this.grown[at] = Math.max(power, 0);
      if (power < 0) this.shares[at] = 0;
      this.clear(at);
      isAny = true;
    }
    return isAny;
  }

  /** The distance of points at which the noise is measured that the step of a parameter sees: some of its steps, as far as the function is smooth. */
  distance(at: number, step: number): number {
    const [first, second, noise] = [this.firsts[at] as number, this.seconds[at] as number, 2 * (this.noises[at] as number)];
    const isSeen = first > SEEN * noise;
    const scale = this.scales[at] as number;
    const most = Math.min(DISTANCE * step, isSeen ? SMOOTH_SHARE * Math.max(scale, step) : Math.max(SMOOTH_SHARE * scale, step));
    return noise === 0 || !isSeen ? most : Math.min(most, step * SMOOTH_BEND * Math.sqrt(first / Math.max(second - 3 * noise, 0)));
  }

  /** Makes steps longer by which nothing changes. Returns whether any was; those alone are due then. */
  tryLonger(): boolean {
    let isAny = false;
    for (const at of this.positions) {
      const isTried = this.isFlat(at) && this.tried[at] !== -1;
      this.isDue[at] = Number(isTried);
      if (!isTried) continue;
      if (this.tried[at] === 0) this.tried[at] = (this.powers[at] as number) + 1;
      if ((this.powers[at] as number) + GROWTH <= (this.guessed[at] === 1 ? BEYOND_GUESS : BEYOND_SCALE)) {
        this.powers[at]! += GROWTH;
        isAny = true;
      } else {
        this.endTrial(at, false);
        this.isDue[at] = 0;
      }
    }
    return isAny;
  }

  /**
   * What truncation leaves of central differences by a parameter, relative to them: the square of the ratio of second and first ones, but for the noise of them.
   * Long steps may meet kinks.
   */
  truncation(at: number, isLong = false): number {
    const noise = 2 * (this.noises[at] as number);
    const square = Math.max((this.seconds[at] as number) - 3 * noise, 0) / (this.firsts[at] as number) || 0;
    return isLong ? Math.max(square, OF_KINKS * Math.sqrt(square)) : square;
  }

  /** Makes all parameters due. */
  takeAll(): void {
    for (const at of this.positions) this.isDue[at] = 1;
  }

  private isFlat(at: number): boolean {
    return this.firsts[at] === 0 && this.seconds[at] === 0;
  }

  /** Whether the noise of differences is more than rounding, and of their digits. */
  private isNoisy(at: number): boolean {
    const noise = 2 * (this.noises[at] as number);
    return noise > 16 * (this.roundings[at] as number) && noise > MOST_ROUNDING ** 2 * (this.firsts[at] as number);
  }

  /** Returns the power by which a step is to change, or first that of a longer one, where it is the first that is to be shorter. */
  private doubt(at: number, power: number): number {
    if (power >= 0 || this.doubts[at] !== 0 || this.isNoisy(at)) return power;
    const [first, second] = [this.firsts[at] as number, this.seconds[at] as number];
    [this.doubts[at], this.wanted[at], this.bends[at], this.bent[at]] = [1, power, second / first, second];
    return LONGER[0] as number;
  }

  /** The same after a longer one: none where differences show that it was noise. */
  private settleDoubt(at: number): number {
    const doubt = this.doubts[at] as number;
    const [first, second] = [this.firsts[at] as number, this.seconds[at] as number];
    // Noise does not become less.
    const isNoise = second * FALL_OF_NOISE ** 2 < first * (this.bends[at] as number) && second > STAYS * (this.bent[at] as number);
    this.doubts[at] = isNoise ? LONGER.length + 1 : doubt + 1;
    if (isNoise) return 0;
    const last = LONGER[doubt - 1] as number;
    return doubt < LONGER.length ? (LONGER[doubt] as number) - last : (this.wanted[at] as number) - last;
  }

  /** The power of two by which a step balances noise and truncation. */
  private balance(at: number): number {
    const [first, second, noise] = [this.firsts[at] as number, this.seconds[at] as number, 2 * (this.noises[at] as number)];
    const [isSeen, isBent] = [first > SEEN * noise, second > SEEN * 3 * noise];
    const power = this.powers[at] as number;
    const before = this.shares[at] as number;
    this.shares[at] = isSeen ? noise / first : 0;
    // The last step has met more noise than it is longer.
    if (before > 0 && noise > MOST_RISE_OF_NOISE * before * first) {
      this.shares[at] = 0;
      this.ceilings[at] = power - (this.grown[at] as number);
      return -(this.grown[at] as number);
    }
    const most = Math.min(this.guessed[at] === 1 && !isBent ? BEYOND_GUESS : isSeen ? TO_SCALE : BEYOND_SCALE, this.ceilings[at] as number);
    const room = Math.max(most - power, 0);
    if (!isSeen) return isBent ? 0 : Math.min(GROWTH, room);
    const share = Math.sqrt(noise / first);
    // What a step of s leaves is ν/s + c²s², with c the ratio of second and first differences.
    const bend = isBent ? (second - 3 * noise) / first : 3 * SEEN * (noise / first);
    const wanted = Math.round(Math.log2(share / (2 * bend)) / 3);
    if (isBent) return Math.abs(wanted) < 2 ? 0 : Math.min(Math.max(wanted, MOST_SHRINKING - power), room);
    return Math.min(Math.max(wanted, 2), MOST_GROWTH_IN_NOISE, room);
  }

  private correction(at: number): number {
    const first = Math.sqrt(this.firsts[at] as number);
    const rounding = Math.sqrt((this.roundings[at] as number) + 2 * (this.noises[at] as number));
    let second = Math.sqrt(this.seconds[at] as number);
    if (!(first + second + rounding < Infinity)) return 0;
    if (this.isNoisy(at)) return this.balance(at);
    const power = this.powers[at] as number;
    const third = Math.sqrt(this.thirds[at] as number);
    // Of a function of the scale L changes by third derivatives are h²/8L², and second differences h/2L.
    if (third > 30 * rounding) second = Math.max(second, Math.sqrt(2 * third * first));
    const size = Math.max(first, second);
    if (second > MOST_CURVED * first && second > 10 * rounding) {
      const wanted = Math.max(CURVED * (first / second), rounding / (0.1 * MOST_ROUNDING * size), 2 ** -20);
      return Math.min(0, Math.max(Math.ceil(Math.log2(wanted)), MOST_SHRINKING - power));
    }
    if (first * MOST_ROUNDING < rounding && (second <= 10 * rounding || second < 0.1 * MOST_CURVED * first)) {
      const wanted = Math.min(Math.ceil(Math.log2(rounding / (0.01 * MOST_ROUNDING * first))), 20);
      return Math.max(0, Math.min(wanted, MOST_GROWTH - power));
    }
    return 0;
  }

  private clear(at: number): void {
    this.firsts[at] = this.seconds[at] = this.thirds[at] = this.roundings[at] = 0;
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
