/**
 * The suite. A benchmark is a job with contenders (runner.js), or a module that measures by itself: `name`, `title`, `run(query, tell,
 * progress, settings)`, which reports rows as they arrive; with `onDemand` it runs only when selected by name.
 */
import * as cpuEngine from './cpu-engine.js';
import * as bundleAdjustment from './bundle-adjustment.js';
import * as autoChoice from './jobs/auto-choice.js';
import { compile } from './jobs/compile.js';
import { developable } from './jobs/developable.js';
import { fits } from './jobs/fits.js';
import { gaussNewton } from './jobs/gauss-newton.js';
import { rigidGradient, rigidSteps } from './jobs/rigid.js';
import * as scale from './jobs/scale.js';
import { lbfgsSolve, lmSolve } from './jobs/solves.js';
import { springGradient, springGradientGpuTime } from './jobs/spring-gradient.js';
import * as decoder from './decoder.js';
import * as encoder from './encoder.js';
import * as integerProducts from './integer-products.js';
import * as many from './many.js';
import * as odeFits from './ode-fits.js';
import * as parametrisation from './parametrisation.js';
import * as springsLm from './springs-lm.js';
import * as tensors from './tensors.js';

export const REGISTRY = [springGradient, springGradientGpuTime, gaussNewton, rigidGradient, rigidSteps, developable, lmSolve, lbfgsSolve, compile, fits, cpuEngine, autoChoice, scale, springsLm, many, odeFits, bundleAdjustment, parametrisation, tensors, decoder, encoder, integerProducts];
