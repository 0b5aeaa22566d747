// Frequencies of signals over time on the CPU, by the module that is packed; sizes that runs tell; and errors that name the argument, what it got and what it takes.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { SIGNALS } from '../../www/checks/tensors/signals.js';

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});
after(() => device.dispose());

for (const [name, run] of SIGNALS) test(name, () => run(T, device, (holds, claim) => assert.ok(holds, claim)));

const [x, z] = [T.zeros([2, 64]), T.rfft(T.zeros([2, 5, 16])).transpose(-1, -2)];
const mel = (more) => T.melSpectrogram(x, { size: 16, rate: 8000, ...more });
for (const [call, message] of [
  [() => T.stft(x), /^stft: options: got undefined/],
  [() => T.stft(x, {}), /^stft: size: got undefined; takes a whole number/],
  [() => T.stft(x, { size: 0 }), /^stft: size: got 0; takes a whole number/],
  [() => T.stft(x, { size: 16, hop: 0.5 }), /^stft: hop: got 0.5; takes a whole number/],
  [() => T.stft(x, { size: 16, hops: 4 }), /^stft: options: got the unknown option "hops"; did you mean 'hop'/],
  [() => T.stft(x, { size: 16, center: 1 }), /^stft: center: got 1; takes true or false/],
  [() => T.stft(x, { size: 16, border: 'reflect' }), /^stft: border: got "reflect"; takes 'mirror', 'zero' or 'clamp'/],
  [() => T.stft(x, { size: 16, norm: 'forward' }), /^stft: norm: got "forward"; takes 'backward' or 'ortho'/],
  [() => T.stft(x, { size: 16, window: T.zeros([17]) }), /^stft: window: got a tensor of f32 of shape \[17\]; takes a vector of f32 with at most 16 numbers/],
  [() => T.stft(x, { size: 16, window: 'hann' }), /^stft: window: got "hann"; takes a Tensor/],
  [() => T.stft(x, { size: 128 }), /^stft: got a tensor of f32 of shape \[2, 64\]; takes a tensor \[..., samples\] of at least 65 samples/],
  [() => T.stft(x, { size: 65, center: false }), /^stft: got .*at least 65 samples/],
  [() => T.stft(T.zeros([]), { size: 4 }), /^stft: got a tensor of f32 of shape \[\]/],
  [() => T.stft(x.cast('i32'), { size: 16 }), /^stft: got a tensor of i32/],
  [() => T.istft(x, { size: 16 }), /^istft: got a tensor of f32/],
  [() => T.istft(z, { size: 20 }), /^istft: got a tensor of c64 of shape \[2, 9, 5\]; takes a tensor \[..., 11, windows\] with at least one window, as the size is 20/],
  [() => T.istft(z, { size: 16, length: -1 }), /^istft: length: got -1/],
  [() => T.istft(z, { size: 16, border: 'zero' }), /^istft: options: got the unknown option "border"/],
  [() => mel({ rate: 0 }), /^melSpectrogram: rate: got 0; takes a number above 0/],
  [() => mel({ bands: 0 }), /^melSpectrogram: bands: got 0/],
  [() => mel({ low: 4000 }), /^melSpectrogram: high: got 4000; takes a number above 4000, the lowest frequency, up to 4000, half the rate/],
  [() => mel({ high: 5000 }), /^melSpectrogram: high: got 5000/],
  [() => mel({ low: 1000, high: 1001 }), /^melSpectrogram: bands: got 128 from 1000 to 1001 hertz; takes bands that are wider/],
  [() => mel({ scale: 'bark' }), /^melSpectrogram: scale: got "bark"; takes 'slaney' or 'htk'/],
  [() => mel({ height: 2 }), /^melSpectrogram: height: got 2; takes 'area' or 'one'/],
  [() => mel({ power: 0 }), /^melSpectrogram: power: got 0; takes a number above 0/],
]) {
  test(`${call.toString().slice(6)} is refused`, () => assert.throws(call, { name: 'ResiduaError', code: 'invalid-argument', message }));
}
