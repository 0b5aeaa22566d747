// A program of tensors as a user would write it. It is type-checked against the packed declarations and then run; `window.result` resolves with what it found.
import {
  Device, Random, StoredTensor, Tensor, concat, crossEntropy, dim, dispose, grad, layerNorm, map, scalar, spec, where, zeros,
  type DType, type Shape,
} from 'residua/tensor';

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
  const found = [await product('gpu'), await product('cpu')];
  return { backends: found.map(({ backend }) => backend), products: found.map(({ values }) => values), refused: await refusal() };
}

window.result = main();
