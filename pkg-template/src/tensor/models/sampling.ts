/** The choice of the next token from logits, on the device. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkOptions, type OptionNames } from '../../arguments/options.js';
import type { Device } from '../device/device.js';
import { scalar, spec, type Program, type Spec } from '../device/program.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { where } from '../functions.js';
import { Random } from '../random.js';
import { dim } from '../size.js';
import { arange, zeros } from '../sources.js';
import type { Tensor } from '../tensor.js';

/** How a token is chosen. */
export interface SamplingOptions {
  /** Logits are divided by it. 0 takes the likeliest token. Default 0.8. */
  temperature?: number;
  /** So many of the likeliest tokens are drawn from, at most `likeliest` of {@link compileDecoder}, which is the default. */
  topK?: number;
  /** Of these so many, the likeliest first, as together have this probability. Default 0.95. */
  topP?: number;
  /** Of these those that are at least this share as probable as the likeliest. Default 0. */
  minP?: number;
  /** Logits of tokens that the text has are divided by it where they are positive, else multiplied (Keskar et al. 2019). Default 1. */
  repetitionPenalty?: number;
  /** Is taken from the logits of tokens that the text has. Default 0. */
  presencePenalty?: number;
  /** Is taken from the logit of a token for each time that the text has it. Default 0. */
  frequencyPenalty?: number;
}

export const SAMPLING_OPTIONS: OptionNames<SamplingOptions> = {
  temperature: true, topK: true, topP: true, minP: true, repetitionPenalty: true, presencePenalty: true, frequencyPenalty: true,
};

const INPUTS: Readonly<Record<keyof SamplingOptions, Spec<'f32'>>> = { temperature: scalar, topK: scalar, topP: scalar, minP: scalar, repetitionPenalty: scalar, presencePenalty: scalar, frequencyPenalty: scalar };

type Numbers = Readonly<Record<keyof typeof INPUTS, number>>;

/** The numbers of sampling. Throws 'invalid-argument' for one that is out of its range. */
function numbersOf(argument: string, options: SamplingOptions, likeliest: number): Numbers {
  checkOptions(argument, options, SAMPLING_OPTIONS);
  const { temperature = 0.8, topK = likeliest, topP = 0.95, minP = 0, repetitionPenalty = 1, presencePenalty = 0, frequencyPenalty = 0 } = options;
  const check = (name: keyof SamplingOptions, value: unknown, takes: string, fits: (x: number) => boolean) => {
    if (typeof value !== 'number' || !Number.isFinite(value) || !fits(value)) throw invalidArgument(`${argument}.${name}`, describe(value), takes);
  };
  check('temperature', temperature, 'a number from 0', (x) => x >= 0);
  check('topK', topK, `a whole number from 1 to ${likeliest}`, (x) => Number.isInteger(x) && x >= 1 && x <= likeliest);
  check('topP', topP, 'a number from 0 to 1', (x) => x >= 0 && x <= 1);
  check('minP', minP, 'a number from 0 to 1', (x) => x >= 0 && x <= 1);
  check('repetitionPenalty', repetitionPenalty, 'a positive number', (x) => x > 0);
  check('presencePenalty', presencePenalty, 'a number', () => true);
  check('frequencyPenalty', frequencyPenalty, 'a number', () => true);
  return { temperature, topK, topP, minP, repetitionPenalty, presencePenalty, frequencyPenalty };
}

/** Draws tokens for the rows of logits [sequences, vocabulary]: of `counts`, how often a text has each token, and of `allowed`, which may come. */
export function draw(logits: Tensor<'f32'>, counts: Tensor<'f32'> | null, allowed: Tensor<'bool'>, options: Readonly<Record<keyof typeof INPUTS, Tensor<'f32'>>>, likeliest: number, random: Random): Tensor<'i32'> {
  const { temperature, topK, topP, minP, repetitionPenalty, presencePenalty, frequencyPenalty } = options;
  let scores = logits;
  if (counts !== null) {
    const punished = where(logits.gt(0), logits.div(repetitionPenalty), logits.mul(repetitionPenalty)).sub(presencePenalty).sub(counts.mul(frequencyPenalty));
    scores = where(counts.gt(0), punished, logits);
  }
  const { values, indices } = where(allowed, scores, -Infinity).topk(likeliest);
  const hot = values.div(temperature.maximum(1e-6));
  const first = where(arange(likeliest).lt(topK), hot, -Infinity);
  const shares = first.softmax();
  const isIn = shares.cumsum(-1, { exclusive: true }).lt(topP.maximum(1e-6)).and(shares.gte(shares.slice(null, [0, 1]).mul(minP)));
  const drawn = where(temperature.gt(0), random.categorical(where(isIn, first, -Infinity)), 0);
  return indices.gather(drawn.expandDims(-1), 1).squeeze(-1);
}

/** What chooses the tokens of a decoder. */
export interface Sampler {
  /** Which tokens may come, a byte each, in rows of sequences: all, until another mask is written. */
  readonly allowed: StoredTensor<'u8'>;
  /** Where drawing begins anew. */
  readonly random: Random;
  /** Chooses a token for each sequence, of which `end` tokens are there, and puts it where the next run reads it. */
  choose(logits: StoredTensor<'f32'>, end: number, options: SamplingOptions): StoredTensor<'i32'>;
  /** Frees it. */
  dispose(): void;
}

/** Compiles the choice of tokens. `history` has the tokens of each sequence, and at places that do not count a number that is no token; `next` takes the choice. */
export async function compileSampler(
  device: Device,
  { vocabulary, history, next, likeliest }: { vocabulary: number; history: StoredTensor<'i32'>; next: StoredTensor<'i32'>; likeliest: number },
): Promise<Sampler> {
  const [sequences, capacity] = history.shape as [number, number];
  const allowed = device.tensor(new Uint8Array(sequences * vocabulary).fill(1), [sequences, vocabulary], 'u8');
  const random = new Random(0);
  const most = Math.min(likeliest, vocabulary);
  const end = dim('end', capacity);
  type Choice = (logits: Tensor<'f32'>, numbers: Readonly<Record<keyof SamplingOptions, Tensor<'f32'>>>) => Tensor<'i32'>;
  const compile = (choice: Choice) =>
    device.compile({ logits: spec('f32', [sequences, vocabulary]), ...INPUTS }, ({ logits, ...numbers }) => {
      const token = choice(logits, numbers);
      next.assign(token);
      return { token };
    });
  const drawn = (hasPenalties: boolean): Choice => (logits, numbers) => {
    const counts = hasPenalties ? zeros([sequences, vocabulary]).scatter(history.slice(null, [0, end]), 1, { axis: 1, combine: 'add' }) : null;
    return draw(logits, counts, allowed.cast('bool'), numbers, most, random);
  };
  // Without a draw nothing has to be sorted.
  const likeliestToken = await compile((logits) => where(allowed.cast('bool'), logits, -Infinity).argmax(-1));
  const plain = await compile(drawn(false));
  const punishing = await compile(drawn(true));
  return {
    allowed,
    random,
    choose(logits, at, options) {
      const numbers = numbersOf('sampling', options, most);
      const hasPenalties = numbers.repetitionPenalty !== 1 || numbers.presencePenalty !== 0 || numbers.frequencyPenalty !== 0;
      const program: Program<any, { token: Tensor<'i32'> }> = hasPenalties ? punishing : numbers.temperature === 0 ? likeliestToken : plain;
      return program.run({ logits, ...numbers }, hasPenalties ? { end: at } : {}).token;
    },
    dispose: () => [allowed, likeliestToken, plain, punishing].forEach((thing) => thing.dispose()),
  };
}
