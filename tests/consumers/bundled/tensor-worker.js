/** A worker of the application's own that uses tensors as the page does. */
import * as tensor from 'residua/tensor';
import * as train from 'residua/tensor/train';
import { useTensors } from './use-tensors.js';

useTensors({ ...tensor, ...train }).then(postMessage, (error) => postMessage(String(error)));
