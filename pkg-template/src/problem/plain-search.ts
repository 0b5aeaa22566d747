/**
 * Search for the steps of central differences where one step is not known to be good: by steps that are longer by powers of two, and shorter ones where the
 * first was the best.
 *
 * Of each step the error of the derivatives is estimated from it and the next longer one. Second differences S of a smooth function grow with the square of the
 * step; what S(h) has beyond S(4h)/16 is noise, rounding or a kink, and is as much of the first difference. The third derivative leaves a fifteenth of what
 * both derivatives differ by. Noise that a shorter step shows is there for a longer one. So a step that errs has a large estimate whether the function is
 * smooth, rounded, noisy or bent, and the least estimate says how exact the best one is.
 */

/** Steps differ by two to this power. */
const POWER = 2;

/** Estimates below are as good as differences get, and above are no derivatives. */
const [GOOD, SEEN] = [2 ** -44, 0.3];

/** This estimate needs no steps that are longer than the scale of the parameter, which two to this power makes of the first one. */
const [ENOUGH, TO_SCALE] = [2 ** -8, 18];

/** Without noise some step has this estimate. */
const CLEAR = 2 ** -17;

/** From this estimate on shorter steps are tried where noise does not forbid it. */
const DOUBTFUL = 0.03;

/** Steps without a better estimate, after which there is none. */
const MOST_WORSE = 2;

/** What second differences have of a residual at least, though they may be 0. */
const ROUNDING = 2 ** -51;

/** The power of a step by which nothing changes. */
const UNCHANGED = 127;

/** Steps shrink by two to this power at most. */
const MOST_SHRINKING = -40;

/** A search for some parameters, step after step. */
export class StepSearch {
  /** Whether a parameter is to be differentiated by its step of the search. */
  readonly isDue: Uint8Array;
  /** The powers of the parameters' steps. */
  readonly powers: Int8Array;
  /** The best ones, and their estimated errors, relative to the derivatives. */
  readonly best: Int8Array;
  readonly errors: Float64Array;
  /** The first ones by which anything changed. */
  readonly changed: Int8Array;
  private readonly firsts: Int8Array;
  private readonly directions: Int8Array;
  private readonly worse: Uint8Array;
  private readonly isNoisy: Uint8Array;
  private readonly noises: Float64Array;
  /** Of each parameter sums of squares over its residuals: of derivatives of the shorter step, of what its second differences have beyond, and of changes. */
  private readonly sizes: Float64Array;
  private readonly excesses: Float64Array;
  private readonly changes: Float64Array;
  /** By place of a derivative: derivatives, and second differences, of the step before. */
  private readonly derivatives: Float64Array;
  private readonly seconds: Float64Array;

  constructor(numParams: number, places: number) {
    const [numbers, powers] = [() => new Float64Array(numParams), () => new Int8Array(numParams)];
    [this.isDue, this.worse, this.isNoisy] = [new Uint8Array(numParams), new Uint8Array(numParams), new Uint8Array(numParams)];
    [this.powers, this.best, this.changed, this.firsts, this.directions] = [powers(), powers(), powers(), powers(), powers()];
    [this.errors, this.noises, this.sizes, this.excesses, this.changes] = [numbers(), numbers(), numbers(), numbers(), numbers()];
    [this.derivatives, this.seconds] = [new Float64Array(places), new Float64Array(places)];
  }

  /** Begins with a parameter, at a power. `isNoisy`: whether residuals are known to have noise, which hides what shorter steps show. */
  begin(at: number, power: number, isNoisy: boolean): void {
    this.isNoisy[at] = Number(isNoisy);
    [this.isDue[at], this.errors[at], this.noises[at], this.worse[at]] = [1, Infinity, 0, 0];
    [this.powers[at], this.best[at], this.firsts[at], this.directions[at]] = [power, power, power, 0];
    this.changed[at] = UNCHANGED;
    this.clear(at);
  }

  /** Whether anything changed by a step. */
  hasChanged(at: number): boolean {
    return this.changed[at] !== UNCHANGED;
  }

  /** Takes derivatives of residuals by a parameter, from the place `first` on, and second differences of the step. */
  take(at: number, first: number, residuals: Float64Array, derivatives: Float64Array, seconds: Float64Array): void {
    const direction = this.directions[at] as number;
    for (let i = 0, place = first; i < derivatives.length; i++, place++) {
      const [derivative, second] = [derivatives[i] as number, Math.abs(seconds[i] as number)];
      if ((derivative !== 0 || second !== 0) && !this.hasChanged(at)) this.changed[at] = this.powers[at] as number;
      if (direction !== 0) {
        const [lastDerivative, lastSecond] = [this.derivatives[place] as number, this.seconds[place] as number];
        const shorter = direction > 0 ? lastDerivative : derivative;
        const [near, far] = direction > 0 ? [lastSecond, second] : [second, lastSecond];
        this.sizes[at]! += shorter * shorter;
        // A residual that does not change has no rounding.
        const rounding = shorter === 0 && near === 0 ? 0 : ROUNDING * Math.abs(residuals[i] as number);
        this.excesses[at]! += Math.max(near - far / 4 ** POWER, rounding) ** 2;
        this.changes[at]! += (derivative - lastDerivative) ** 2;
      }
      [this.derivatives[place], this.seconds[place]] = [derivative, second];
    }
  }

  /** Goes on to the next steps, of at most two to the power `most`. `step`: that of a parameter. Returns whether there are any. */
  advance(positions: Uint32Array, most: (at: number) => number, step: (at: number, power: number) => number): boolean {
    let isAny = false;
    for (const at of positions) {
      if (this.isDue[at] === 0) continue;
      this.isDue[at] = Number(this.next(at, most(at), step));
      isAny ||= this.isDue[at] === 1;
    }
    return isAny;
  }

  /** Whether some step has shown a derivative. */
  isSeen(at: number): boolean {
    return (this.errors[at] as number) < SEEN;
  }

  private next(at: number, most: number, step: (at: number, power: number) => number): boolean {
    const direction = this.directions[at] as number;
    const power = this.powers[at] as number;
    if (direction === 0) {
      // The first step, to which longer ones are compared, or after those shorter ones.
      this.directions[at] = this.errors[at] === Infinity && this.worse[at] === 0 ? 1 : -1;
      this.worse[at] = 0;
      return this.move(at, this.directions[at] as number, most);
    }
    const shorter = direction > 0 ? power - POWER : power;
    const error = this.error(at, step(at, shorter));
    const isBetter = error < (this.errors[at] as number);
    if (isBetter) [this.errors[at], this.best[at], this.worse[at]] = [error, shorter, 0];
    else if (this.isSeen(at) || Number.isNaN(error)) this.worse[at]!++;
    this.clear(at);
    if ((this.errors[at] as number) <= GOOD) return false;
    // Steps that fit a period of a function show no scale of it: where there is no noise shorter ones do.
    const isOver = (this.worse[at] as number) >= MOST_WORSE && (direction > 0 || this.isNoisy[at] === 1 || (this.errors[at] as number) <= CLEAR);
    if (!isOver && this.move(at, direction, most)) return true;
    // Steps that are shorter than one by which nothing changes change nothing.
    if (direction < 0 || this.changed[at] !== this.firsts[at]) return false;
    if (this.best[at] !== this.firsts[at] && (this.errors[at] as number) < DOUBTFUL) return false;
    // Once more the first step, for shorter ones.
    [this.powers[at], this.directions[at], this.worse[at]] = [this.firsts[at] as number, 0, 1];
    return true;
  }

  private move(at: number, direction: number, most: number): boolean {
    const power = (this.powers[at] as number) + direction * POWER;
    if (power < MOST_SHRINKING || power > ((this.errors[at] as number) > ENOUGH ? most : Math.min(most, TO_SCALE))) return false;
    this.powers[at] = power;
    return true;
  }

  /** The estimated error of derivatives by the shorter one of two steps. */
  private error(at: number, step: number): number {
    const [size, change] = [Math.sqrt(this.sizes[at] as number), Math.sqrt(this.changes[at] as number)];
    if (size === 0) return Infinity;
    // Second differences of noise ν are √6 ν, derivatives ν/√2 over the step. What longer steps have beyond is none of shorter ones.
    const known = (this.directions[at] as number) > 0 ? (this.noises[at] as number) : 0;
    this.noises[at] = Math.max(known, Math.sqrt((this.excesses[at] as number) / 12));
    return Math.hypot((this.noises[at] as number) / step, change / (4 ** POWER - 1)) / size;
  }

  private clear(at: number): void {
    this.sizes[at] = this.excesses[at] = this.changes[at] = 0;
  }
}
