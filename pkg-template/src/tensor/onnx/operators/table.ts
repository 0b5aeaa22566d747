/** All operators, by name: those of other domains than ONNX's with the domain before. */

import type { Operator } from '../call.js';
import { ARRANGING_OPERATORS } from './arranging.js';
import { ATTENTION_OPERATORS } from './attention.js';
import { CONTROL_OPERATORS } from './control.js';
import { ELEMENTWISE_OPERATORS } from './elementwise.js';
import { INDEXING_OPERATORS } from './indexing.js';
import { MICROSOFT_OPERATORS } from './microsoft.js';
import { NORMALISATION_OPERATORS } from './normalisations.js';
import { PICTURE_OPERATORS } from './pictures.js';
import { PRODUCT_OPERATORS } from './products.js';
import { QUANTISED_OPERATORS } from './quantised.js';
import { RECURRENT_OPERATORS } from './recurrent.js';
import { REDUCTION_OPERATORS } from './reductions.js';
import { RESIZING_OPERATORS } from './resizing.js';
import { SIGNAL_OPERATORS } from './signals.js';

/** The operators by name. */
export const OPERATORS: Readonly<Record<string, Operator>> = {
  ...ELEMENTWISE_OPERATORS, ...REDUCTION_OPERATORS, ...ARRANGING_OPERATORS, ...INDEXING_OPERATORS, ...PRODUCT_OPERATORS, ...PICTURE_OPERATORS, ...RESIZING_OPERATORS,
  ...NORMALISATION_OPERATORS, ...ATTENTION_OPERATORS, ...RECURRENT_OPERATORS, ...QUANTISED_OPERATORS, ...SIGNAL_OPERATORS, ...CONTROL_OPERATORS, ...MICROSOFT_OPERATORS,
};
