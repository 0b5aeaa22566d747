/** All layers by the names of their classes. */

import { ACTIVATION_LAYERS } from './activations.js';
import type { Layer } from './call.js';
import { MASK_LAYERS } from './masks.js';
import { PICTURE_LAYERS } from './pictures.js';
import { PLAIN_LAYERS } from './plain.js';
import { RECURRENT_LAYERS } from './recurrent.js';

export const LAYERS: Readonly<Record<string, Layer>> = { ...PLAIN_LAYERS, ...ACTIVATION_LAYERS, ...PICTURE_LAYERS, ...RECURRENT_LAYERS, ...MASK_LAYERS };

/** Classes that are models of their own. */
export const MODELS: readonly string[] = ['Sequential', 'Model', 'Functional'];
