/**
 * The suite. A benchmark is a job with contenders (runner.js), or a module that measures by itself: `name`, `title`, `run(parameters, tell, progress)`, which
 * tells rows of figures as they come.
 */
import { compile } from './jobs/compile.js';
import { developable } from './jobs/developable.js';
import { fits } from './jobs/fits.js';
import { gaussNewton } from './jobs/gauss-newton.js';
import { rigidGradient, rigidSteps } from './jobs/rigid.js';
import { springGradient } from './jobs/spring-gradient.js';
import * as many from './many.js';
import * as springsLm from './springs-lm.js';

export const REGISTRY = [springGradient, gaussNewton, rigidGradient, rigidSteps, developable, compile, fits, springsLm, many];
