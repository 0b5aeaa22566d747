/**
 * Registration of a picture: of each of the camera's pixels
 *
 *     gain · scene(frame(a, b)) + offset − seen
 *
 * with the scene as a grid that residuals read between its pixels. Eight parameters: the affine frame, gain and offset. Blurred pictures have minima that reach
 * further, so a registration that has lost its place goes from blurred to sharp; the grid and the data are set between solves, and nothing is compiled again.
 */
import { levenbergMarquardt, Problem } from 'residua';
import { blurred, CAMERA, cameraPlaces, SCENE, scenePixels } from './picture.js';

/** Standard deviations of the blurs in pixels of the scene, one after the other. */
export const BLURS = [10, 4, 0];
/** Iterations with each blur; the next step goes on from there. */
const ITERATIONS = 5;
/** Shares of the variance of what is seen. With less than the first the search goes on with blurred pictures; with less than the second after that it is lost. */
const EXPLAINED = { well: 0.9, lost: 0.5 };

/** @param {ArrayLike<number>} start the frame that is searched from */
export function registration(start) {
  const sharp = scenePixels();
  /** The scene by its blur; each is made when it is needed. */
  const scenes = new Map([[0, sharp]]);
  const sceneOf = (sigma) => {
    if (!scenes.has(sigma)) scenes.set(sigma, blurred(sharp, SCENE, sigma));
    return scenes.get(sigma);
  };
  const problem = new Problem();
  const scene = problem.grid('scene', { size: [SCENE.width, SCENE.height], values: sharp, prefilter: true, border: 'mirror' });
  const frame = problem.parameters('frame', { dim: 3, values: Float64Array.from(start) });
  const tone = problem.parameters('tone', { dim: 2, values: [1, 0] });
  const pixels = problem.residuals('pixels', {
    inputs: { x: frame.shared(0), y: frame.shared(1), tone: tone.shared(), at: problem.data(cameraPlaces(), 2), seen: problem.data(new Float64Array(CAMERA.width * CAMERA.height)) },
    residual: ({ x, y, tone: [gain, offset], at: [a, b], seen }) => scene.at(x[1].mul(a).add(x[2].mul(b)).add(x[0]), y[1].mul(a).add(y[2].mul(b)).add(y[0])).mul(gain).add(offset).sub(seen),
  });
  let seen = null;
  /** The camera's picture by its blur, until another is seen. */
  let views = new Map();
  let shown = null;

  /** Makes both pictures as blurred as this. Pixels of the camera are not those of the scene. */
  function blur(sigma) {
    if (shown === sigma) return;
    shown = sigma;
    const [, x1, , , y1] = frame.values();
    const pixel = (2 * Math.hypot(x1, y1)) / CAMERA.width;
    if (!views.has(sigma)) views.set(sigma, blurred(seen, CAMERA, sigma / pixel));
    scene.setValues(sceneOf(sigma));
    pixels.setData('seen', views.get(sigma));
  }

  /**
   * Searches on from the present frame; `blurs` from the strongest to the last, 0. Returns the result of the last solve, with `iterations` of all.
   * @param {import('residua').GpuCompiledFunctions} functions
   */
  async function search(functions, { blurs = BLURS, ...options } = {}) {
    let iterations = 0, result = null;
    for (const sigma of blurs) {
      blur(sigma);
      result = await levenbergMarquardt(functions, { maxIterations: ITERATIONS, ...options });
      iterations += result.iterations;
      if (result.termination === 'aborted') break;
    }
    return { ...result, iterations };
  }

  /** The share of the sharp picture's variance that a result leaves none of. */
  function explainedBy({ finalCost }) {
    const mean = seen.reduce((sum, value) => sum + value, 0) / seen.length;
    return 1 - (2 * finalCost) / seen.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  }

  function reset() {
    frame.set(start);
    tone.set([1, 0]);
  }

  return {
    problem, frame, tone,
    /** What the camera sees now. */
    setSeen(picture) {
      seen = picture;
      views = new Map();
      shown = null;
    },
    search,
    /**
     * One step of following the camera: sharp pictures first, then, where these are lost, all of them. Begins anew at the start where that finds nothing.
     * Returns the result of the last solve, with `iterations` of all, `explained`, the share of the variance, and `isLost`.
     */
    async follow(functions, options = {}) {
      let result = await search(functions, { ...options, blurs: [0] });
      let { iterations } = result;
      if (result.termination !== 'aborted' && explainedBy(result) < EXPLAINED.well) {
        result = await search(functions, options);
        iterations += result.iterations;
      }
      const explained = explainedBy(result), isLost = result.termination !== 'aborted' && !(explained >= EXPLAINED.lost);
      if (isLost) reset();
      return { ...result, iterations, explained, isLost };
    },
    reset,
  };
}
