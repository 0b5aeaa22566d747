// A program of tensors as a user would write it. It is type-checked against the packed declarations and then run; `window.result` resolves with what it found.
import {
  Device, Random, StoredTensor, Tensor, concat, crossEntropy, dim, dispose, grad, layerNorm, map, scalar, spec, where, zeros,
  type DType, type Shape,
} from 'residua/tensor';
import { AdamW, compileStep, DataLoader, fit, samples, schedule, type EpochReport } from 'residua/tensor/train';

declare global {
  interface Window { result: Promise<{ backends: string[]; products: number[][]; refused: string }> }
}

/** Fails to compile unless both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** What is recorded has the types of its elements; nothing is computed. */
function types(): boolean[] {
  const x: Tensor<'f32'> = zeros([2, 3]);
  const labels = zeros([2], 'i32');
  const bytes = x.cast('u8');
  const comparison = x.gt(0);
  const chosen = where(comparison, x, 1);
  const joined = concat([x, chosen], 1);
  const loss = crossEntropy(layerNorm(joined), labels).mean();
  const [slope] = grad(loss, [x]);
  const scaled = map((a, b) => a.mul(b).add(1), x, 2);
  const exact: [Same<typeof bytes, Tensor<'u8'>>, Same<typeof comparison, Tensor<'bool'>>, Same<typeof chosen, Tensor<'f32'>>, Same<typeof slope, Tensor<'f32'>>, Same<typeof scaled, Tensor<'f32'>>] = [true, true, true, true, true];
  const shape: Shape = joined.shape;
  const dtype: DType = joined.dtype;
  return [...exact, shape.length === 2, dtype === 'f32', new Random(1).normal([3]).dtype === 'f32'];
}

/** Mistakes that the compiler finds. */
export function mistakes(x: Tensor<'f32'>, i: Tensor<'i32'>): void {
  // @ts-expect-error Types do not mix: one of both is cast.
  x.add(i);
  // @ts-expect-error Labels are integers.
  crossEntropy(x, x);
  // @ts-expect-error A recipe has no memory, so there is nothing to dispose.
  x.dispose();
  // @ts-expect-error There is no such type.
  x.cast('f64');
}

async function product(backend: 'gpu' | 'cpu'): Promise<{ backend: string; values: number[] }> {
  const device = await Device.create({ backend });
  const n = dim('n', 8);
  const program = await device.compile({ x: spec('f32', [n, 2]), rate: scalar }, ({ x, rate }) => x.T.matmul(x).mul(rate));
  const x: StoredTensor<'f32'> = device.tensor([[1, 2], [3, 4]]);
  const values = await x.matmul(x).data();
  program.dispose();
  dispose(x, [device]);
  return { backend: device.backend, values: [...values] };
}

/** Trains a weight; the names of what a step gives are known to the compiler. */
async function training(device: Device): Promise<EpochReport<'loss' | 'size'>[]> {
  const weights = { w: device.zeros([2, 1]) };
  const loader = new DataLoader({ x: samples.array(new Float32Array(8), [2]), y: new Int32Array(4), z: new Uint8Array(4) }, { batch: 2 });
  const step = await compileStep(new AdamW(weights, { rate: schedule.cosine(1e-3, 10) }), loader.inputs, ({ x, y, z }) => {
    const exact: [Same<typeof x, Tensor<'f32'>>, Same<typeof y, Tensor<'i32'>>, Same<typeof z, Tensor<'u8'>>] = [true, true, true];
    const difference = x.matmul(weights.w).flatten().sub(y.cast('f32')).add(z.cast('f32').mul(exact.length));
    return { loss: difference.square().mean(), size: difference.abs().mean() };
  });
  // @ts-expect-error A step has no input of this name.
  if (weights.w.rank === 0) step.run({ a: [1] });
  return fit(step, loader, { epochs: 1, onEpoch: ({ means }) => means.size > 1e9 });
}

async function refusal(): Promise<string> {
  try {
    zeros([2, 3]).add(zeros([4]));
  } catch (error) {
    return (error as { code: string }).code;
  }
  return 'nothing was refused';
}

async function main(): Promise<{ backends: string[]; products: number[][]; refused: string }> {
  if (!types().every(Boolean)) throw new Error('a type is wrong');
  const device = await Device.create({ backend: 'cpu' });
  if ((await training(device))[0]?.means.loss !== 0) throw new Error('the training of zeros has a loss');
  device.dispose();
  const found = [await product('gpu'), await product('cpu')];
  return { backends: found.map(({ backend }) => backend), products: found.map(({ values }) => values), refused: await refusal() };
}

window.result = main();
