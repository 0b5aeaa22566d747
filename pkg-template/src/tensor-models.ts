/// <reference lib="esnext.disposable" preserve="true" />
/**
 * residua/tensor/models: language models as recipes and programs of residua/tensor: decoders that generate text, encoders of sentences, CLIP for pictures with texts, and Whisper for speech.
 *
 * A model is loaded from its file, which says what it is, and compiled for a device. All are made of the same layers; one graph serves all families of decoders, which differ by settings.
 *
 * @packageDocumentation
 */

export { chatForm, chatPrompt, type ChatForm, type ChatMessage } from './tensor/models/chat.js';
export { Clip, compileClip, loadClip, type ClipLoadOptions, type ClipModel, type ClipOptions, type ClipSettings, type ClipTower } from './tensor/models/clip.js';
export { decoderLogits, loadDecoder, type DecoderLoadOptions, type DecoderModel } from './tensor/models/decoder-graph.js';
export { decoderSettings, type DecoderSettings } from './tensor/models/decoder-settings.js';
export { compileDecoder, Decoder, type DecoderOptions, type GenerateOptions } from './tensor/models/decoder.js';
export { compileEncoder, Encoder, loadEncoder, sentenceVectors, type EncoderLoadOptions, type EncoderModel, type EncoderOptions, type EncoderSettings, type Pooling } from './tensor/models/encoder.js';
export { Grammar, jsonGrammar, type GrammarState } from './tensor/models/grammar.js';
export type { RotaryScaling, RotarySettings } from './tensor/models/rotary.js';
export type { SamplingOptions } from './tensor/models/sampling.js';
export { ggufTokenizer, tokenBytes, wordPieceTokenizer, type TextTokenizer, type TokenizerLibrary } from './tensor/models/tokens.js';
export type { Activation, BlockShape } from './tensor/models/transformer.js';
export { compileWhisper, loadWhisper, Whisper, type WhisperLoadOptions, type WhisperModel, type WhisperOptions, type WhisperSettings } from './tensor/models/whisper.js';
export type { ModelSource, Naming, Weight, WeightTable } from './tensor/models/weights.js';
