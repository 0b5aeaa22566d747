/** A worker of the application's own that uses tensors as the page does. */
import { Device, grad, scalar } from 'residua/tensor';
import { compileStep, fit, Sgd } from 'residua/tensor/train';
import { useTensors } from './use-tensors.js';

useTensors({ Device, grad, scalar, compileStep, fit, Sgd }).then(postMessage, (error) => postMessage(String(error)));
