/** Sentences of a text, and the text that the page opens with. */

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

/** The sentences of a text in their order; a line break ends one too. */
export function sentencesOf(text) {
  return text.split(/\n+/).flatMap((line) => Array.from(segmenter.segment(line), ({ segment }) => segment.trim())).filter((sentence) => /\p{L}/u.test(sentence));
}

export const SAMPLE = `A nonlinear least squares problem asks for the parameters that make a sum of squared residuals as small as possible.
Each residual compares a model with a measurement. The Levenberg-Marquardt method solves a linear problem in each step and limits how far the step may go.
When a step makes the sum larger, it is rejected and the next one is shorter. L-BFGS needs gradients alone and suits energies with many parameters.
Bounds hold a parameter between two numbers, for example above zero. A robust loss lets a few wrong measurements count less.
Rotations are stored as unit quaternions, and a manifold keeps their length. The graphics card computes in single precision, which has about seven digits.
Where that is not enough, pairs of numbers give about fourteen digits. A page without a graphics card computes on the processor instead.
The weather in the mountains changes within an hour. Bread rises because yeast turns sugar into gas.
A sonata usually has three or four movements. The train to the coast leaves every morning at six.
Cats sleep for most of the day. Tomatoes want sun, water and patience.`;
