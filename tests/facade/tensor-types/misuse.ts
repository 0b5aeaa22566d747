// Misuse that must not compile.
import { Random, Tensor, complex, crossEntropy, fft, fold, grad, ifft, linear, loadNpy, map, rfft, rope, saveSafetensors, where, zeros, type Device, type StoredTensor } from 'residua/tensor';

export function misuse(f: Tensor<'f32'>, i: Tensor<'i32'>, b: Tensor<'bool'>, stored: StoredTensor<'f32'>, device: Device): void {
  // @ts-expect-error complex numbers and real ones
  complex(f, f).mul(f);
  // @ts-expect-error parts are real
  complex(complex(f, f), f);
  // @ts-expect-error the inverse is of complex numbers
  ifft(f);
  // @ts-expect-error of real numbers
  rfft(complex(f, f));
  // @ts-expect-error integers
  fft(i);
  // @ts-expect-error a scale that is not there
  fft(f, { norm: 'unitary' });
  // @ts-expect-error tensors of two types
  f.mul(i);
  // @ts-expect-error text
  f.mul('2');
  // @ts-expect-error indices are integers
  f.gather(f);
  // @ts-expect-error a condition is of bools
  where(i, f, f);
  // @ts-expect-error both are numbers
  where(b, 1, 2);
  // @ts-expect-error no type of elements
  f.cast('f64');
  // @ts-expect-error only types of 32 bits
  f.bitcast('u8');
  // @ts-expect-error an option that is not there
  f.sum(0, { keepDims: true });
  // @ts-expect-error an approximation that is not there
  f.gelu('fast');
  // @ts-expect-error logits are floats
  crossEntropy(i, i);
  // @ts-expect-error a function of Values gives Values or numbers
  map((x) => x > 0, f);
  // @ts-expect-error a state of two numbers
  fold(f, 0, { identity: [0, 0], lift: (x) => [x], merge: (p, q) => [p[0].add(q[0]), 0] });
  // @ts-expect-error a scalar of floats
  grad(i.sum(), [f]);
  // @ts-expect-error a list
  grad(f.sum(), f);
  // @ts-expect-error tensors are made by operations
  void new Tensor(f);
  // @ts-expect-error shapes are lists
  zeros(3);
  // @ts-expect-error a size is no fraction of a string
  zeros(['2']);
  // @ts-expect-error a recipe has no memory
  f.dispose();
  // @ts-expect-error a recipe is not assigned to
  f.assign(f);
  // @ts-expect-error of another type
  stored.assign(i);
  // @ts-expect-error a border that is not there
  f.shift([1], 'nearest');
  // @ts-expect-error an element type that is not there
  device.zeros([2], 'f64');
  // @ts-expect-error without a position
  rope(f, { base: 500000 });
  // @ts-expect-error positions are whole numbers
  rope(f, { position: f });
  // @ts-expect-error a type that keys are not stored in
  device.kvCache({ layers: 1, heads: 1, size: 4, capacity: 8, dtype: 'u8' });
  // @ts-expect-error a weight is a tensor
  linear(f, 3);
  // @ts-expect-error a seed is a number
  void new Random('1');
  // @ts-expect-error a type that no option gives
  void loadNpy('x.npy', { dtype: 'i32' });
  // @ts-expect-error numbers are no source
  void loadNpy([1, 2]);
  // @ts-expect-error a tensor has no name
  void saveSafetensors(f);
}
