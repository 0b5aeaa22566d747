/** A worker of the application's own that uses tensors as the page does. */
import * as tensor from 'residua/tensor';
import { useTensors } from './use-tensors.js';

useTensors(tensor).then(postMessage, (error) => postMessage(String(error)));
