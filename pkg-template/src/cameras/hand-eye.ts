/**
 * Hand-eye calibration, AX = XB: the rotation by the linear equations of its matrix (N. Andreff, R. Horaud, B. Espiau, "On-line Hand-Eye Calibration",
 * 1999), then the translation by least squares.
 */

import { invalidArgument } from '../arguments/errors.js';
import type { Numbers } from '../arguments/numeric-arguments.js';
import { logarithm, nearestRotation, product, rotationOf, sum, transpose } from '../graphs/pose-numbers.js';
import { copyPoses, type Motion } from './checks.js';
import { eigen, solveBy } from './symmetric.js';

/** Where the eye is on the hand. */
export interface HandEye {
  /** The pose that takes points of the eye's frame into the hand's, as a block of `problem.poses`: the unit quaternion w, x, y, z, then x, y, z. */
  readonly pose: Float64Array;
  /** Root mean square of the angles of A X (X B)⁻¹ over all motions, in radians. */
  readonly rotationError: number;
  /** Root mean square of the lengths of the differences of the translations of A X and X B over all motions. */
  readonly translationError: number;
}

/** Eigenvalues below this share of the largest are 0 but for rounding. */
const SINGULAR = 1e-12;
/** So many pairs are those of some 300 positions. */
const MOST_PAIRS = 50_000;

/**
 * Returns the pose X of a camera, the eye, on a moving part, the hand, from a list of positions. `hands` are poses of the hand in a fixed frame, as a robot
 * tells them; `eyes` are poses of a fixed target in the camera's frame, as `solvePnp` gives them: 7 numbers each, as blocks of `problem.poses`. X solves AX
 * = XB for the motions between all pairs of positions, A = H₂⁻¹ H₁ and B = E₂ E₁⁻¹, which have equal weights; of some 50,000 of them at most. For a camera
 * that is fixed and sees a target on the hand, take the inverses of the hands: X is then its pose in the fixed frame.
 *
 * Throws 'invalid-argument' for numbers and lengths that do not fit, and for motions that leave X undetermined: there must be at least three positions,
 * turned about axes that are not parallel. Noise in turns about parallel axes does not determine X either.
 */
export function handEye(hands: Numbers, eyes: Numbers): HandEye {
  const [first, second] = [copyPoses('handEye: hands', hands), copyPoses('handEye: eyes', eyes)];
  if (first.length !== second.length) throw invalidArgument('handEye: eyes', `${second.length} poses`, `${first.length}, as there are hands`);
  if (first.length < 3) throw invalidArgument('handEye: hands', `${first.length} poses`, 'at least 3');
  const pairs = motionsOf(first, second);
  // Σ (A ⊗ I − I ⊗ Bᵀ)ᵀ (A ⊗ I − I ⊗ Bᵀ) = Σ 2 I − (A ⊗ B) − (A ⊗ B)ᵀ
  const matrix = new Float64Array(81);
  for (const { a, b } of pairs) {
    for (let i = 0; i < 9; i++) {
      (matrix[10 * i] as number) += 2;
      for (let j = 0; j < 9; j++) {
        const entry = (a.rotation[3 * Math.floor(i / 3) + Math.floor(j / 3)] as number) * (b.rotation[3 * (i % 3) + (j % 3)] as number);
        (matrix[9 * i + j] as number) -= entry;
        (matrix[9 * j + i] as number) -= entry;
      }
    }
  }
  const { values, vectors } = eigen(matrix, 9);
  // Noise of the motions is what the least value has. Where the next one has no more, it is noise too.
  const isDetermined = (values[1] as number) > Math.max(SINGULAR * (values[8] as number), 4 * (values[0] as number));
  if (!isDetermined) throw invalidArgument('handEye: hands', 'motions that turn about parallel axes, or not at all', 'turns about two axes or more');
  const vector = [...(vectors[0] as Float64Array)];
  const sign = determinant(vector) < 0 ? -1 : 1;
  const quaternion = nearestRotation(3, vector.map((entry) => sign * entry)) as Float64Array;
  const rotation = rotationOf(3, quaternion, 0);
  // (A − I) t = R t_B − t_A
  const normal = new Float64Array(9);
  const right = [0, 0, 0];
  for (const { a, b } of pairs) {
    const turned = product(3, rotation, b.translation);
    const left = a.rotation.map((entry, k) => entry - (k % 4 === 0 ? 1 : 0));
    const across = transpose(3, left);
    product(3, across, left).forEach((entry, k) => ((normal[k] as number) += entry));
    product(3, across, sum(turned, a.translation, -1)).forEach((entry, k) => ((right[k] as number) += entry));
  }
  const translation = solveBy(eigen(normal, 3), right);
  let [angles, lengths] = [0, 0];
  for (const { a, b } of pairs) {
    const [there, back] = [compose(a, { rotation, translation }), compose({ rotation, translation }, b)];
    angles += Math.hypot(...logarithm(3, product(3, transpose(3, back.rotation), there.rotation))) ** 2;
    lengths += Math.hypot(...sum(there.translation, back.translation, -1)) ** 2;
  }
  return {
    pose: Float64Array.from([...quaternion, ...translation]),
    rotationError: Math.sqrt(angles / pairs.length),
    translationError: Math.sqrt(lengths / pairs.length),
  };
}

/** The motions between all pairs of positions, or of many positions between a part of the pairs. */
function motionsOf(hands: readonly Motion[], eyes: readonly Motion[]): { a: Motion; b: Motion }[] {
  const pairs: { a: Motion; b: Motion }[] = [];
  const stride = Math.ceil((hands.length * (hands.length - 1)) / 2 / MOST_PAIRS);
  let next = 0;
  for (let i = 0; i < hands.length; i++) {
    for (let j = i + 1; j < hands.length; j++) {
      if (next++ % stride !== 0) continue;
      const [one, other] = [hands[i] as Motion, hands[j] as Motion];
      pairs.push({ a: compose(inverse(other), one), b: compose(eyes[j] as Motion, inverse(eyes[i] as Motion)) });
    }
  }
  return pairs;
}

function compose(a: Motion, b: Motion): Motion {
  return { rotation: product(3, a.rotation, b.rotation), translation: sum(product(3, a.rotation, b.translation), a.translation) };
}

function inverse({ rotation, translation }: Motion): Motion {
  const back = transpose(3, rotation);
  return { rotation: back, translation: product(3, back, translation).map((entry) => -entry) };
}

function determinant(m: readonly number[]): number {
  const at = (k: number): number => m[k] as number;
  return at(0) * (at(4) * at(8) - at(5) * at(7)) - at(1) * (at(3) * at(8) - at(5) * at(6)) + at(2) * (at(3) * at(7) - at(4) * at(6));
}
