/**
 * Steps of numeric differences, fit to the scale of each parameter.
 *
 * The scale of a number x is the largest of |x|, its latest change between two points of differentiation, and halves of earlier ones. Where all are 0
 * it is the mean magnitude of the same coordinate of the array's other blocks, or 1. Central differences correct it by what they meet: a
 * curvature that is large beside the slope says that the function changes faster, and a difference near rounding that it changes slower.
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
  /** Of each parameter what truncation leaves of differences, relative to them. */
  private readonly truncations: Float64Array;
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
    this.truncations = numbers();
    [this.powers, this.directions] = [new Int8Array(numParams), new Int8Array(numParams)];
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
      this.directions[at] = 0;
    }
    this.hasPrevious = true;
    this.clear();
  }

  /** Returns the step of a parameter for a relative size, which grows by two to the power `mostGrowth` at most. */
  step(at: number, relative: number, mostGrowth = MOST_GROWTH): number {
    return relative * (this.scales[at] as number) * 2 ** Math.min(this.powers[at] as number, mostGrowth);
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

  /** Corrects steps by the differences that were noted. Returns whether any was; those parameters alone are due then. */
  correct(): boolean {
    let isAny = false;
    this.keepTruncations();
    for (const at of this.positions) {
      if (this.isDue[at] === 0) continue;
      const power = this.correction(at);
      // A step that was too long and is too short now is as good as it gets.
      const isTurn = power * (this.directions[at] as number) < 0;
      this.isDue[at] = Number(power !== 0 && !isTurn);
      if (this.isDue[at] === 0) continue;
      this.directions[at] = Math.sign(power);
      this.powers[at]! += power;
      isAny = true;
    }
    this.clear();
    return isAny;
  }

  /** Keeps what the differences that were noted say of their truncation: the square of the ratio of second and first ones. */
  keepTruncations(): void {
    for (const at of this.positions) if (this.isDue[at] === 1) this.truncations[at] = (this.seconds[at] as number) / (this.firsts[at] as number) || 0;
  }

  /** What truncation leaves of central differences by a parameter, relative to them. */
  truncation(at: number): number {
    return this.truncations[at] as number;
  }

  /** Makes all parameters due. */
  takeAll(): void {
    for (const at of this.positions) this.isDue[at] = 1;
  }

  private correction(at: number): number {
    const [first, rounding] = [Math.sqrt(this.firsts[at] as number), Math.sqrt(this.roundings[at] as number)];
    let second = Math.sqrt(this.seconds[at] as number);
    if (!(first + second + rounding < Infinity)) return 0;
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

  private clear(): void {
    for (const at of this.positions) this.firsts[at] = this.seconds[at] = this.thirds[at] = this.roundings[at] = 0;
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
