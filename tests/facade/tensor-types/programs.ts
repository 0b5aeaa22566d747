// Programs that must compile, with the types that the package infers.
import type { Value } from 'residua';
import {
  Device, Random, Tensor, adaptiveAvgPool, arange, attention, avgPool, batchNorm, complex, concat, conv2d, crossEntropy, dim, dispose, einsum, embedding, eye, fft, fold, full, grad, gridSample, ifft, iota, irfft, layerNorm,
  linear, loadGguf, loadNpy, loadNpz, loadSafetensors, map, maxPool, oneHot, resize, rfft, rope, saveNpy, saveSafetensors, scalar, scan, segmentMax, spec, stack, where, zeros, type ConvOptions, type DType, type FileSource,
  type Operand, type Padding, type QuantizedTensor, type Selection, type StoredTensor,
} from 'residua/tensor';

/** Compiles where both types are the same. */
declare function same<A, B>(...none: [A] extends [B] ? ([B] extends [A] ? [] : [never]) : [never]): void;

/** A linear classifier that is trained by gradient descent with momentum. */
export async function train(pixels: Uint8Array, classes: Uint8Array, size: number): Promise<number> {
  using device = await Device.create({ backend: 'cpu' });
  const count = classes.length;
  const images = device.tensor(pixels, [count, size], 'u8');
  const labels = device.tensor(classes, [count], 'i32');
  const random = new Random(1n);
  const { weight, bias } = await device.store({ weight: random.normal([size, 10], 0, 0.1), bias: zeros([10]) });
  same<typeof weight, StoredTensor<'f32'>>();
  const speeds = [device.zeros(weight.shape), device.zeros(bias.shape)] as const;

  const logits = (input: Tensor<'u8'>) => input.cast('f32').div(255).matmul(weight).add(bias);
  const step = await device.compile({ rate: scalar }, ({ rate }) => {
    const rows = random.integers([64], 0, count);
    const loss = crossEntropy(logits(images.indexSelect(rows)), labels.indexSelect(rows)).mean();
    grad(loss, [weight, bias]).forEach((slope, k) => {
      const [parameter, speed] = [[weight, bias][k]!, speeds[k]!];
      const [next, moved] = map((w, v, g, r) => [v.mul(0.9).add(g), w.sub(r.mul(v.mul(0.9).add(g)))], parameter, speed, slope, rate);
      speed.assign(next);
      parameter.assign(moved);
    });
    return { loss };
  });
  for (let k = 0; k < 10; k++) step.run({ rate: 0.1 });
  const [[loss]] = await device.read(step.outputs.loss);
  dispose(step, weight, bias, speeds);
  return loss!;
}

/** Types of results. */
export async function types(device: Device, f: Tensor<'f32'>, h: Tensor<'f16'>, i: Tensor<'i32'>, b: Tensor<'bool'>) {
  const bytes = i.cast('u8');
  same<typeof bytes, Tensor<'u8'>>();
  const isLess = f.lt(0);
  same<typeof isLess, Tensor<'bool'>>();
  const norm = h.norm();
  same<typeof norm, Tensor<'f32'>>();
  const place = h.argmax(-1, { keep: true });
  same<typeof place, Tensor<'i32'>>();
  const chosen = where(b, 1, h);
  same<typeof chosen, Tensor<'f16'>>();
  const [one, other] = grad(f.sum(), [f, h]);
  same<typeof one, Tensor<'f32'>>();
  same<typeof other, Tensor<'f16'>>();
  const both = map((x, k) => [x.mul(k), 2], f, i);
  same<typeof both, [Tensor<'f32'>, Tensor<'f32'>]>();
  const single = map((x: Value, y: Value) => x.add(y), f, 3);
  same<typeof single, Tensor<'f32'>>();
  const selected = h.maskedSelect(b);
  same<typeof selected, Selection<'f16'>>();
  const compacted = await device.compact(selected);
  same<typeof compacted, StoredTensor<'f16'>>();
  const kept = await device.store(i.nonzero());
  same<typeof kept.values, StoredTensor<'i32'>>();
  const again = await device.compact((await device.compile({}, () => h.maskedSelect(b))).run());
  same<typeof again, StoredTensor<'f16'>>();
  const largest = segmentMax(h, i, 3);
  same<typeof largest, Tensor<'f16'>>();
  const photo = device.image(document.createElement('video'));
  same<typeof photo, StoredTensor<'u8'>>();
  const filter = await device.compile({ frame: spec('u8', [720, 1280, 4]) }, ({ frame }) => frame.cast('f32').div(255));
  filter.run({ frame: new OffscreenCanvas(1280, 720) }).draw(document.createElement('canvas'));
  const numbers = await i.data();
  same<typeof numbers, Int32Array>();
  const [reals, flags] = await device.read(h, b);
  same<typeof reals, Float32Array>();
  same<typeof flags, Uint8Array>();
  const { y, mean } = batchNorm(h, { epsilon: 1e-3 });
  same<typeof y, Tensor<'f16'>>();
  same<typeof mean, Tensor<'f32'>>();
  const ids = arange(3, 'u32');
  same<typeof ids, Tensor<'u32'>>();
  const rows: Tensor<'f32'> = embedding(ids, h).add(linear(h, h)).add(oneHot(ids, 3));
  const parts: Tensor<'i32'>[] = i.split([1, 2]);
  const n = dim('n', 16);
  const grown: Tensor<'f32'> = concat([zeros([n, 2]), eye(2)]).slice([n.plus(-1), null], [0, 1, 1]).reshape([-1]);
  const total: Operand<'f32'> = fold(f, [0, -1], {
    identity: [0, 0],
    lift: (x, index) => [x, index],
    merge: ([p, q], [r, s]) => [p.add(r), q.max(s)],
    finish: ([sum, last]) => sum.div(last),
  });
  const running = scan(f, 0, { identity: [0], lift: (x) => [x], merge: ([p], [q]) => [p.add(q)] }, { exclusive: true });
  const any: DType = (stack([f, f]) as Tensor).dtype;
  return [rows, parts, grown, total, running, any, layerNorm(h, { weight: f }), einsum('i,j->ij', f, f), full([2], 1), iota([2], 0), f.scatter(i, 1, { combine: 'max' }), spec('f32', [n])];
}

/** A step of a decoder with one layer: keys and values in a cache, positions that each run tells. */
export async function decoderStep(device: Device, weights: Readonly<Record<'q' | 'k' | 'v', Tensor>>): Promise<number> {
  const [heads, size] = [2, 4];
  using cache = device.kvCache({ layers: 1, heads, size, capacity: 64 });
  const tokens = device.zeros([65], 'i32');
  const [position, count] = [dim('position', 64), dim('count', 8)];
  const split = (y: Tensor<'f32'>) => y.reshape([count, heads, size]).transpose(0, 1);
  const step = await device.compile({}, () => {
    const x = embedding(tokens.slice([position, position.plus(count)]), weights.q);
    const [q, k, v] = [weights.q, weights.k, weights.v].map((weight) => split(linear(x, weight))) as [Tensor<'f32'>, Tensor<'f32'>, Tensor<'f32'>];
    const seen = cache.append(0, rope(k, { position, layout: 'pairs' }), v, position);
    const mixed = attention(rope(q, { position, layout: 'pairs' }), seen.k, seen.v, { causal: true, position });
    const token = mixed.slice(null, [-1]).flatten().argmax().expandDims(0);
    tokens.assignAt([position.plus(count)], token);
    return { token };
  });
  step.run({}, { position: 0, count: 8 });
  return step.outputs.token.item();
}

/** Files: sources, options, and the types of what is loaded. */
export async function files(device: Device, response: Promise<Response>, blob: Blob, stream: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<Blob[]> {
  const { tensors, metadata } = await loadSafetensors(response, { device, select: (name) => name !== '', dtype: 'f16', onProgress: (loaded, total) => void (loaded / total), signal });
  same<typeof tensors, Record<string, StoredTensor>>();
  same<typeof metadata, Record<string, string>>();
  const model = await loadGguf(new URL('model.gguf', 'https://example.org'));
  same<typeof model.tensors, Record<string, StoredTensor | QuantizedTensor>>();
  const one = await loadNpy(blob);
  same<typeof one, StoredTensor>();
  const all = await loadNpz(stream);
  const more: FileSource[] = ['a.npz', new Uint8Array(1), new ArrayBuffer(1), new DataView(new ArrayBuffer(1))];
  void more;
  return [await saveSafetensors({ ...all, sum: one.sum() }, { words: 'x' }), await saveNpy(one)];
}

/** A picture through a small network. */
export function classes(picture: Tensor<'f16'>, weight: Tensor<'f32'>, grid: Tensor<'f32'>, padding: Padding = 'same'): Tensor<'f16'> {
  const options: ConvOptions = { stride: [2, 2], padding, dilation: 1, groups: 1, bias: zeros([8]) };
  const deep = maxPool(conv2d(picture, weight, options).relu(), [3, 3], { stride: 2, padding: [[0, 1], [0, 1]] });
  same<typeof deep, Tensor<'f16'>>();
  const small = resize(gridSample(avgPool(deep, [2, 2], { countPadding: true }), grid, { mode: 'linear', border: 'mirror' }), [4, 4], { mode: 'cubic', alignCorners: true });
  return adaptiveAvgPool(small, [1, 1]).flatten(1);
}

/** A filter over a camera's pictures, onto a canvas. */
export async function filter(device: Device, video: HTMLVideoElement, canvas: HTMLCanvasElement, strength: number): Promise<void> {
  const blur = await device.compile({ frame: spec('u8', [72, 128, 4]), strength: scalar }, (inputs) => {
    const planes = map((byte) => byte.div(255).pow(2.2), inputs.frame.slice(null, null, [0, 3])).permute([2, 0, 1]).expandDims(0);
    const kernel = map((k) => k.sub(2).square().neg().exp(), iota([5], 0)).reshape([1, 1, -1, 1]).repeat(3, 0);
    const smooth = conv2d(conv2d(planes, kernel, { groups: 3, padding: 'same' }), kernel.transpose(2, 3), { groups: 3, padding: 'same' });
    return map((x, y, amount) => x.add(x.sub(y).mul(amount)).clamp(0, 1).pow(1 / 2.2), planes, smooth, inputs.strength).squeeze(0).permute([1, 2, 0]);
  });
  const shown = blur.run({ frame: video, strength });
  same<typeof shown, StoredTensor<'f32'>>();
  shown.draw(canvas);
}

/** Complex numbers and transforms. */
export async function spectra(device: Device, f: Tensor<'f32'>) {
  const z = device.tensor([1, 2, 3, 4], [2], 'c64');
  same<typeof z, StoredTensor<'c64'>>();
  const spectrum = fft(f, { axes: [0, 1], norm: 'ortho' });
  same<typeof spectrum, Tensor<'c64'>>();
  const [size, angle, whole] = [z.abs(), z.angle(), f.abs()];
  same<typeof size, Tensor<'f32'>>();
  same<typeof angle, Tensor<'f32'>>();
  same<typeof whole, Tensor<'f32'>>();
  const [slope] = grad(ifft(fft(z)).mul(2).conj().real().sum(), [z]);
  same<typeof slope, Tensor<'c64'>>();
  const back = irfft(rfft(f), { length: 5 });
  same<typeof back, Tensor<'f32'>>();
  const chosen = where(z.real().gt(0), z, 0);
  same<typeof chosen, Tensor<'c64'>>();
  const program = await device.compile({ z: spec('c64', [2]) }, ({ z: input }) => input.add(complex(f, f)));
  const [numbers] = await device.read(program.run({ z }));
  same<typeof numbers, Float32Array>();
}
