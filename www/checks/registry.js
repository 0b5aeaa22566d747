/** All checks that need only a page and the package, by group, in the order in which the page shows and runs them. */
import { numbered } from './define.js';
import { group as append } from './groups/append.js';
import { group as badInput } from './groups/bad-input.js';
import { group as bundleAdjustment } from './groups/bundle-adjustment.js';
import { group as calls } from './groups/calls.js';
import { group as constraints } from './groups/constraints.js';
import { group as covariance } from './groups/covariance.js';
import { group as device } from './groups/device.js';
import { group as energies } from './groups/energies.js';
import { group as enginesTogether } from './groups/engines-together.js';
import { group as errorCodes } from './groups/error-codes.js';
import { group as expressions } from './groups/expressions.js';
import { group as gradientOnDevice } from './groups/gradient-on-device.js';
import { group as grids } from './groups/grids.js';
import { group as grouping } from './groups/grouping.js';
import { group as growth } from './groups/growth.js';
import { group as jacobian } from './groups/jacobian.js';
import { group as knownMinima } from './groups/known-minima.js';
import { group as levenbergMarquardt } from './groups/levenberg-marquardt.js';
import { group as loops } from './groups/loops.js';
import { group as losses } from './groups/losses.js';
import { group as manifolds } from './groups/manifolds.js';
import { group as memory } from './groups/memory.js';
import { group as newton } from './groups/newton.js';
import { group as ownDevice } from './groups/own-device.js';
import { group as profile } from './groups/profile.js';
import { group as range } from './groups/range.js';
import { group as readBack } from './groups/read-back.js';
import { group as solveMany } from './groups/solve-many.js';
import { group as solve } from './groups/solve.js';
import { group as tensorCache } from './groups/tensor-cache.js';
import { group as tensorAttention } from './groups/tensor-attention.js';
import { group as tensorConvolutions } from './groups/tensor-convolutions.js';
import { group as tensorDevices } from './groups/tensor-devices.js';
import { group as tensorElementwise } from './groups/tensor-elementwise.js';
import { group as tensorFourier } from './groups/tensor-fourier.js';
import { group as tensorLinalg } from './groups/tensor-linalg.js';
import { group as tensorLoops } from './groups/tensor-loops.js';
import { group as tensorFiles } from './groups/tensor-files.js';
import { group as tensorIndexing } from './groups/tensor-indexing.js';
import { group as tensorLarge } from './groups/tensor-large.js';
import { group as tensorNumerics } from './groups/tensor-numerics.js';
import { group as tensorPictures } from './groups/tensor-pictures.js';
import { group as tensorProducts } from './groups/tensor-products.js';
import { group as tensorPrograms } from './groups/tensor-programs.js';
import { group as tensorQuantised } from './groups/tensor-quantised.js';
import { group as tensorRandom } from './groups/tensor-random.js';
import { group as tensorReductions } from './groups/tensor-reductions.js';
import { group as tensorSelection } from './groups/tensor-selection.js';
import { group as tensorSort } from './groups/tensor-sort.js';
import { group as tensorSpecialValues } from './groups/tensor-special-values.js';
import { group as tensorTraining } from './groups/tensor-training.js';
import { group as tensorTransforms } from './groups/tensor-transforms.js';
import { group as tensorTuning } from './groups/tensor-tuning.js';
import { group as tensorVerification } from './groups/tensor-verification.js';
import { group as tensorViews } from './groups/tensor-views.js';
import { group as tensorWindows } from './groups/tensor-windows.js';
import { group as traps } from './groups/traps.js';
import { group as weights } from './groups/weights.js';

export const REGISTRY = [
  device, ownDevice, expressions, loops, losses, jacobian, grouping, readBack, gradientOnDevice, solve, levenbergMarquardt, bundleAdjustment, knownMinima, enginesTogether, manifolds, constraints, newton, solveMany, weights, grids, range, covariance, energies, calls, append, badInput,
  errorCodes, traps, profile, growth, memory,
  tensorElementwise, tensorSpecialValues, tensorNumerics, tensorReductions, tensorViews, tensorIndexing, tensorSelection, tensorSort, tensorProducts, tensorConvolutions, tensorPictures, tensorQuantised, tensorAttention, tensorRandom, tensorPrograms, tensorFourier, tensorLinalg, tensorLoops, tensorTransforms, tensorTraining, tensorCache, tensorDevices, tensorFiles, tensorVerification, tensorLarge, tensorWindows, tensorTuning,
].map((group) => ({ ...group, checks: numbered(group) }));
