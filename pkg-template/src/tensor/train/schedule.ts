/** Learning rates as functions of the step. A rate is a number that each run of a program gets, so that none of these compiles anything. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkFinite, checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkOptions, type OptionNames } from '../../arguments/options.js';

/** The learning rate of each step, of which the first one is 0. */
export type Schedule = (step: number) => number;

/** The peak and the ends of a one-cycle schedule. */
export interface OneCycleOptions {
  /** The share of the steps in which the rate rises. Default 0.3. */
  warmup?: number;
  /** The rate begins at the peak divided by this. Default 25. */
  startDivisor?: number;
  /** The rate ends at its beginning divided by this. Default 1e4. */
  endDivisor?: number;
}

const ONE_CYCLE: OptionNames<OneCycleOptions> = { warmup: true, startDivisor: true, endDivisor: true };

/** From one number to another by half a period of the cosine, for a share from 0 to 1. */
const annealed = (from: number, to: number, share: number) => to + ((from - to) / 2) * (1 + Math.cos(Math.PI * share));

/** Schedules of learning rates. Any other function of the step is one, too. */
export const schedule = {
  /** One rate for all steps. */
  constant: (rate: number): Schedule => {
    checkFinite('constant: rate', rate, 0);
    return () => rate;
  },

  /** Rises in a straight line from `from`, 0 unless told, times the first rate of `after` within so many steps; then `after` begins, a rate or a schedule. */
  warmup: (steps: number, after: number | Schedule, from = 0): Schedule => {
    checkWholeNumber('warmup: steps', steps, 0);
    const then = scheduleOf('warmup: after', after);
    checkFinite('warmup: from', from, 0);
    return (step) => (step < steps ? then(0) * (from + ((1 - from) * step) / steps) : then(step - steps));
  },

  /** Falls from `rate` to `end`, 0 unless told, by half a period of the cosine in so many steps, and stays there (Loshchilov and Hutter 2017, without restarts). */
  cosine: (rate: number, steps: number, end = 0): Schedule => {
    checkFinite('cosine: rate', rate, 0);
    checkWholeNumber('cosine: steps', steps, 1);
    checkFinite('cosine: end', end, 0);
    return (step) => annealed(rate, end, Math.min(step / steps, 1));
  },

  /** Multiplied by `factor`, 0.1 unless told, after each `every` steps. */
  steps: (rate: number, every: number, factor = 0.1): Schedule => {
    checkFinite('steps: rate', rate, 0);
    checkWholeNumber('steps: every', every, 1);
    checkFinite('steps: factor', factor, 0);
    return (step) => rate * factor ** Math.floor(step / every);
  },

  /** rate · factor^(step / every), where `every` is 1 unless told. */
  exponential: (rate: number, factor: number, every = 1): Schedule => {
    checkFinite('exponential: rate', rate, 0);
    checkFinite('exponential: factor', factor, 0);
    checkWholeNumber('exponential: every', every, 1);
    return (step) => rate * factor ** (step / every);
  },

  /** Rises to `peak` and falls to almost nothing, both by half a period of the cosine, within so many steps, at least two (Smith and Topin 2018). Later steps have the last rate. */
  oneCycle: (peak: number, steps: number, options: OneCycleOptions = {}): Schedule => {
    checkFinite('oneCycle: peak', peak, 0);
    checkWholeNumber('oneCycle: steps', steps, 2);
    checkOptions('oneCycle: options', options, ONE_CYCLE);
    const { warmup = 0.3, startDivisor = 25, endDivisor = 1e4 } = options;
    checkFinite('oneCycle: warmup', warmup, 0);
    if (warmup > 1) throw invalidArgument('oneCycle: warmup', describe(warmup), 'a number from 0 to 1');
    checkFinite('oneCycle: startDivisor', startDivisor, 1);
    checkFinite('oneCycle: endDivisor', endDivisor, 1);
    const start = peak / startDivisor;
    // The peak is a step, and so is the end.
    const top = Math.max(warmup * steps - 1, 0);
    const last = steps - 1;
    return (step) => {
      if (step < top) return annealed(start, peak, step / top);
      return top >= last ? peak : annealed(peak, start / endDivisor, Math.min((step - top) / (last - top), 1));
    };
  },
};

/** Returns a schedule of a rate or a schedule. Throws 'invalid-argument' for anything else. */
export function scheduleOf(argument: string, rate: unknown): Schedule {
  if (typeof rate === 'function') return rate as Schedule;
  if (typeof rate !== 'number' || !Number.isFinite(rate) || rate < 0) throw invalidArgument(argument, describe(rate), 'a finite number of at least 0, or a function of the step');
  return () => rate;
}
