// Files of tensors on the CPU, by the module that is packed: NumPy's arrays in Fortran's order, which kernels rearrange, and files of real models.
import assert from 'node:assert/strict';
import { openAsBlob } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { hasData, pathOf } from '../shared-data.mjs';

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});

test('arrays of NumPy in both orders are loaded', async () => {
  const { arrays } = JSON.parse(await readFile(new URL('../facade/tensor-files/numpy-files.json', import.meta.url), 'utf8'));
  assert.ok(arrays.filter(({ name }) => /Fortran/.test(name)).length >= 3);
  for (const { name, shape, values, file } of arrays) {
    const start = device.stats().tensorBytes;
    const tensor = await T.loadNpy(Buffer.from(file, 'base64'), { device });
    assert.deepEqual([tensor.shape, [...(await tensor.data())]], [shape, values.map(Number)], name);
    tensor.dispose();
    assert.equal(device.stats().tensorBytes, start, name);
  }
});

/** Names of a Llama in GGUF as Hugging Face has them. */
const PARTS = { attn_q: 'self_attn.q_proj', attn_k: 'self_attn.k_proj', attn_v: 'self_attn.v_proj', attn_output: 'self_attn.o_proj', ffn_gate: 'mlp.gate_proj', ffn_up: 'mlp.up_proj', ffn_down: 'mlp.down_proj', attn_norm: 'input_layernorm', ffn_norm: 'post_attention_layernorm' };
const ENDS = { 'token_embd.weight': 'model.embed_tokens.weight', 'output_norm.weight': 'model.norm.weight', 'output.weight': 'lm_head.weight' };
const nameOf = (name) => ENDS[name] ?? name.replace(/^blk\.(\d+)\.(\w+)\.weight$/, (_, layer, part) => `model.layers.${layer}.${PARTS[part]}.weight`);

/** Rows of queries and keys are in pairs in GGUF, in halves in the other file. */
function inPairs(rows, heads) {
  const [count, width] = rows.sizes;
  return rows.reshape([heads, 2, count / heads / 2, width]).permute([0, 2, 1, 3]).reshape([count, width]);
}

test('four files of one Llama hold the same numbers', async (t) => {
  const folder = 'tensor/tiny-llama';
  if (!hasData(t, `${folder}/model.gguf`)) return;
  const load = async (name) => T.loadGguf(await openAsBlob(pathOf(`${folder}/${name}`)), { device });
  const plain = await T.loadSafetensors(await openAsBlob(pathOf(`${folder}/model.safetensors`)), { device });
  const half = await load('model.gguf');
  assert.equal(half.metadata['general.architecture'], 'llama');
  assert.equal(half.metadata['tokenizer.ggml.tokens'].length, 1024);
  const heads = { attn_q: half.metadata['llama.attention.head_count'], attn_k: half.metadata['llama.attention.head_count_kv'] };
  const names = Object.keys(half.tensors);
  assert.deepEqual(names.map(nameOf).sort(), Object.keys(plain.tensors).sort());
  /** The largest difference of each block of 32 beside what its largest number allows. */
  const worst = async (a, b, allowed) => {
    const blocks = (x) => x.cast('f32').reshape([-1, 32]);
    const over = blocks(a).sub(blocks(b)).abs().max(-1).sub(blocks(b).abs().max(-1).mul(allowed)).max();
    return over.item();
  };
  const quantised = { q8_0: await load('model-q8_0.gguf'), q4_0: await load('model-q4_0.gguf') };
  for (const name of names) {
    const part = /attn_[qk]/.exec(name)?.[0];
    const other = plain.tensors[nameOf(name)];
    const expected = part === undefined ? other : inPairs(other, heads[part]);
    assert.equal(await half.tensors[name].cast('f32').sub(expected.cast('f32')).abs().max().item(), 0, name);
    for (const [type, { tensors }] of Object.entries(quantised)) {
      const tensor = tensors[name];
      if (half.tensors[name].rank === 1) {
        assert.deepEqual(await tensor.data(), await half.tensors[name].data(), name);
        continue;
      }
      assert.deepEqual([tensor.type, tensor.shape], [type, half.tensors[name].shape], name);
      // Half a step of the block's scale, which is rounded to half precision; the steps of q4_0 end at 7, so the other end is a whole one off.
      const allowed = type === 'q8_0' ? (0.5 / 127) * 1.01 + 127 * 2 ** -11 / 127 : 1 / 8 + 2 ** -11;
      assert.ok((await worst(tensor.dequantize(), expected, allowed)) <= 0, `${type} ${name}`);
    }
  }
  T.dispose(plain.tensors, half.tensors, ...Object.values(quantised).map(({ tensors }) => tensors));
  assert.equal(device.stats().tensors, 0);
});

test('an encoder of 91 MB is loaded from a stream, in f16 and in part too', async (t) => {
  const path = 'tensor/minilm/model.safetensors';
  if (!hasData(t, path)) return;
  const blob = await openAsBlob(pathOf(path));
  const { tensors } = await T.loadSafetensors(blob.stream(), { device });
  assert.deepEqual(tensors['embeddings.word_embeddings.weight'].shape, [30522, 384]);
  const part = await T.loadSafetensors(blob, { device, dtype: 'f16', select: (name) => name.includes('LayerNorm') });
  for (const [name, half] of Object.entries(part.tensors)) {
    assert.equal(half.dtype, 'f16');
    assert.deepEqual(await half.cast('f32').data(), await tensors[name].cast('f16').cast('f32').data(), name);
  }
  assert.equal(Object.keys(part.tensors).length, 26);
  T.dispose(tensors, part.tensors);
  assert.equal(device.stats().tensors, 0);
});
