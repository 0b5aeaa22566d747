# Writes references.json: small models of `transformers` with made weights, and what they compute in double precision.
#
#   python3 -m venv venv && venv/bin/pip install torch transformers && venv/bin/python references.py
#
# A weight is a hash of its tensor's number and of its own, as made.mjs has it, so that the file holds shapes alone.
import json
import pathlib
import torch
import transformers as T

torch.set_default_dtype(torch.float64)


def made(number, shape, scale, offset=0.0):
    """Numbers in [offset − scale, offset + scale), by the finaliser of MurmurHash3, rounded to f32."""
    count = 1
    for size in shape:
        count *= size
    mask = 0xFFFFFFFF
    h = (torch.arange(count, dtype=torch.int64) * 0x9E3779B1 + number * 0x7F4A7C15) & mask
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & mask
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & mask
    h = h ^ (h >> 16)
    unit = (h >> 8).to(torch.float64) / 2**23 - 1
    return (unit * scale + offset).to(torch.float32).to(torch.float64).reshape(shape)


def fill(model):
    """Gives a model made weights; returns the shapes by name, in order."""
    shapes = {}
    with torch.no_grad():
        for number, (name, tensor) in enumerate(model.named_parameters()):
            is_norm = tensor.dim() == 1 and name.endswith('weight')
            scale = 0.3 if tensor.dim() < 2 else 2 / tensor[0].numel() ** 0.5
            tensor.copy_(made(number, list(tensor.shape), scale, 1.0 if is_norm else 0.0))
            shapes[name] = list(tensor.shape)
    return shapes


def config_of(config):
    return {k: v for k, v in config.to_dict().items() if v is not None and k not in ('id2label', 'label2id')}


SIZES = dict(vocab_size=80, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, bos_token_id=0, eos_token_id=1, pad_token_id=None)
IDS = [5, 17, 3, 79, 42, 8, 8, 31, 64, 2, 55, 21, 9, 70]

LLAMA3 = dict(rope_type='llama3', rope_theta=500.0, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
YARN = dict(rope_type='yarn', rope_theta=10000.0, factor=4.0, original_max_position_embeddings=16)
LONG = dict(rope_type='longrope', rope_theta=10000.0, short_factor=[1.0, 1.1, 1.3, 1.7], long_factor=[1.0, 2.0, 3.0, 4.0])

# Sizes of heads that are not width / heads, windows shorter than the text, fewer key heads, biases where a family has them.
# Windows of some layers and scales of their own are in no GGUF file.
WITHOUT_GGUF = ['qwen2 with windows', 'gemma2 with another scale']
DECODERS = {
    'llama': (T.LlamaConfig, T.LlamaForCausalLM, dict()),
    'llama with biases, tied, scaled': (T.LlamaConfig, T.LlamaForCausalLM, dict(attention_bias=True, mlp_bias=True, tie_word_embeddings=True, rope_parameters=LLAMA3)),
    'mistral': (T.MistralConfig, T.MistralForCausalLM, dict(sliding_window=5, head_dim=16)),
    'qwen2': (T.Qwen2Config, T.Qwen2ForCausalLM, dict(tie_word_embeddings=True)),
    'qwen2 with yarn': (T.Qwen2Config, T.Qwen2ForCausalLM, dict(rope_parameters=YARN)),
    'qwen2 with windows': (T.Qwen2Config, T.Qwen2ForCausalLM, dict(use_sliding_window=True, sliding_window=4, max_window_layers=1)),
    'qwen3': (T.Qwen3Config, T.Qwen3ForCausalLM, dict(head_dim=16)),
    'gemma2': (T.Gemma2Config, T.Gemma2ForCausalLM, dict(head_dim=16, query_pre_attn_scalar=16, sliding_window=5, attn_logit_softcapping=2.0, final_logit_softcapping=3.0)),
    'gemma2 with another scale': (T.Gemma2Config, T.Gemma2ForCausalLM, dict(head_dim=16, query_pre_attn_scalar=24, sliding_window=5)),
    'gemma3': (T.Gemma3TextConfig, T.Gemma3ForCausalLM, dict(head_dim=16, num_hidden_layers=7, query_pre_attn_scalar=16, sliding_window=5, rope_parameters=dict(full_attention=dict(rope_type='linear', factor=8.0, rope_theta=1000000.0), sliding_attention=dict(rope_type='default', rope_theta=10000.0)))),
    'phi3': (T.Phi3Config, T.Phi3ForCausalLM, dict(sliding_window=6)),
    'phi3 with long contexts': (T.Phi3Config, T.Phi3ForCausalLM, dict(rope_parameters=LONG, original_max_position_embeddings=16)),
    'phi3 beyond its first context': (T.Phi3Config, T.Phi3ForCausalLM, dict(rope_parameters=LONG, original_max_position_embeddings=8)),
    'phi3 in part rotated': (T.Phi3Config, T.Phi3ForCausalLM, dict(rope_parameters=dict(rope_type='default', rope_theta=10000.0, partial_rotary_factor=0.5))),
    'gpt2': (T.GPT2Config, T.GPT2LMHeadModel, dict()),
}


def decoder(make_config, make_model, options):
    sizes = dict(SIZES)
    if make_config is T.GPT2Config:
        sizes = dict(vocab_size=80, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=0, eos_token_id=1)
    config = make_config(**{**sizes, **options})
    config._attn_implementation = 'eager'
    model = make_model(config).eval()
    shapes = fill(model)
    # Buffers of frequencies are made in single precision by default.
    with torch.no_grad():
        logits = model(torch.tensor([IDS])).logits[0]
    return {'config': config_of(config), 'shapes': shapes, 'ids': IDS, 'logits': logits.tolist()}


# Of the three lists the second is padded in the batch; vectors are the mean or the first token's, of length 1.
SENTENCES = [[2, 17, 3, 79, 42, 8, 31, 1], [2, 55, 21, 1], [2, 9, 70, 64, 12, 5, 1]]
BERT = dict(vocab_size=80, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=20)
ENCODERS = {
    'bert, mean': (T.BertConfig, T.BertModel, dict(), 'mean'),
    'bert, first token': (T.BertConfig, T.BertModel, dict(hidden_act='gelu_new', layer_norm_eps=1e-5), 'cls'),
    'xlm-roberta': (T.XLMRobertaConfig, T.XLMRobertaModel, dict(pad_token_id=1, type_vocab_size=1), 'mean'),
}


def encoder(make_config, make_model, options, pooling):
    config = make_config(**{**BERT, **options})
    config._attn_implementation = 'eager'
    model = make_model(config, add_pooling_layer=False).eval()
    shapes = fill(model)
    vectors = []
    for ids in SENTENCES:
        # transformers takes the number of padding for padding.
        with torch.no_grad():
            state = model(torch.tensor([ids]), position_ids=torch.arange(len(ids))[None] + (0 if make_config is T.BertConfig else config.pad_token_id + 1)).last_hidden_state[0]
        vector = state[0] if pooling == 'cls' else state.mean(0)
        vectors.append((vector / vector.norm()).tolist())
    return {'config': config_of(config), 'shapes': shapes, 'pooling': pooling, 'sentences': SENTENCES, 'vectors': vectors}


TEXTS = [[2, 17, 3, 79], [2, 55, 21, 9, 70, 64, 79]]


def clip():
    config = T.CLIPConfig(
        text_config=dict(vocab_size=80, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=12, eos_token_id=79, bos_token_id=2, projection_dim=24),
        vision_config=dict(hidden_size=48, intermediate_size=64, num_hidden_layers=2, num_attention_heads=3, image_size=24, patch_size=8, projection_dim=24),
        projection_dim=24,
    )
    config.text_config._attn_implementation = config.vision_config._attn_implementation = 'eager'
    model = T.CLIPModel(config).eval()
    shapes = fill(model)
    unit = lambda x: (x / x.norm(dim=-1, keepdim=True))
    pictures = [((made(number, [24, 24, 4], 0.5, 0.5) * 255).round()) for number in (901, 902)]
    mean, deviation = (torch.tensor(x)[:, None, None] for x in ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]))
    with torch.no_grad():
        of = lambda state: state if torch.is_tensor(state) else state.pooler_output
        texts = [unit(of(model.get_text_features(torch.tensor([ids]))))[0].tolist() for ids in TEXTS]
        images = [unit(of(model.get_image_features(((x[:, :, :3].permute(2, 0, 1) / 255 - mean) / deviation)[None])))[0].tolist() for x in pictures]
    return {'config': config_of(config) | {'text_config': config_of(config.text_config), 'vision_config': config_of(config.vision_config)}, 'shapes': shapes, 'texts': TEXTS, 'pictures': [901, 902], 'textVectors': texts, 'pictureVectors': images, 'scale': model.logit_scale.exp().item()}


def whisper():
    config = T.WhisperConfig(
        vocab_size=80, num_mel_bins=20, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=40, max_source_positions=50, max_target_positions=24,
        pad_token_id=0, bos_token_id=1, eos_token_id=1, decoder_start_token_id=2, suppress_tokens=None, begin_suppress_tokens=None,
    )
    config._attn_implementation = 'eager'
    model = T.WhisperForConditionalGeneration(config).eval()
    shapes = fill(model)
    extractor = T.WhisperFeatureExtractor(feature_size=20, chunk_length=1)
    # Three tones and noise, of 0.7 seconds.
    time = torch.arange(11200) / 16000
    recording = 0.3 * torch.sin(2 * torch.pi * 440 * time) + 0.2 * torch.sin(2 * torch.pi * 1800 * time * (1 + time)) + made(999, [11200], 0.05)
    padded = torch.cat([recording.to(torch.float32), torch.zeros(16000 - 11200, dtype=torch.float32)]).to(torch.float64)
    # The extractor's own path in NumPy, which computes in double precision.
    features = torch.tensor(extractor._np_extract_fbank_features(padded[None].numpy(), 'cpu'), dtype=torch.float64)
    with torch.no_grad():
        logits = model(input_features=features, decoder_input_ids=torch.tensor([IDS])).logits[0]
    return {'config': config_of(config), 'shapes': shapes, 'ids': IDS, 'features': features[0].flatten()[::7].tolist(), 'logits': {str(at): logits[at].tolist() for at in (0, 6, len(IDS) - 1)}}


def rounded(value):
    if isinstance(value, float):
        return float(f'{value:.9g}')
    if isinstance(value, list):
        return [rounded(x) for x in value]
    if isinstance(value, dict):
        return {k: rounded(x) for k, x in value.items()}
    return value


result = {'transformers': T.__version__, 'decoders': {name: decoder(*parts) for name, parts in DECODERS.items()}}
result['encoders'] = {name: encoder(*parts) for name, parts in ENCODERS.items()}
result['clip'] = clip()
result['whisper'] = whisper()
for name, kind in result['decoders'].items():
    kind['gguf'] = name not in WITHOUT_GGUF
    # Frequencies are chosen by the length of the text there, and by the capacity here.
    kind['capacity'] = kind['config'].get('original_max_position_embeddings', 64) if name == 'phi3 with long contexts' else 64
    # The first, one in the middle and the last are enough.
    kind['logits'] = {str(at): kind['logits'][at] for at in (0, 6, len(IDS) - 1)}
path = pathlib.Path(__file__).parent / 'references.json'
path.write_text(json.dumps(rounded(result)).replace('"decoders"', '\n"decoders"').replace('"encoders"', '\n"encoders"').replace('"clip"', '\n"clip"', 1).replace('"whisper"', '\n"whisper"', 1) + '\n')
print(path.stat().st_size)
