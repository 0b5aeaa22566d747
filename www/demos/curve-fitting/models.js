/**
 * Models to select from: each with a text that a visitor could type, example points, and a start estimated from the points. A start need
 * only be in the basin of the best minimum.
 */
import { seededNoise } from '../../problems/seeded-noise.js';

/** The data of a start: the points in order of x, and the range of both coordinates. */
function survey(points) {
  const sorted = points.toSorted((a, b) => a.x - b.x);
  const ys = sorted.map(({ y }) => y);
  const low = Math.min(...ys), high = Math.max(...ys);
  const [first, last] = [sorted[0], sorted.at(-1)];
  return { sorted, low, high, first, last, width: last.x - first.x || 1, mean: ys.reduce((a, b) => a + b, 0) / ys.length };
}

/** The point farthest from the line through both ends, with its height above it: a peak or a dip. */
function peak(points) {
  const { sorted, first, last, width } = survey(points);
  const base = (x) => first.y + ((last.y - first.y) * (x - first.x)) / width;
  const top = sorted.reduce((best, point) => (Math.abs(point.y - base(point.x)) > Math.abs(best.y - base(best.x)) ? point : best));
  return { at: top.x, height: top.y - base(top.x) || 1, base: base(top.x), width };
}

/** The angular frequency of a wave, from the number of crossings of its mean. */
function frequency(points) {
  const { sorted, mean, width } = survey(points);
  const crossings = sorted.slice(1).filter(({ y }, k) => (y - mean) * (sorted[k].y - mean) < 0).length;
  return (Math.PI * Math.max(1, crossings)) / width;
}

const slope = (points) => {
  const { first, last, width } = survey(points);
  return (last.y - first.y) / width;
};

/** @type {{ id: string, title: string, text: string, truth: number[], from: number, to: number, start: (points: { x: number, y: number }[]) => number[] }[]} */
export const MODELS = [
  { id: 'line', title: 'Line', text: 'a + b * x', truth: [1, 0.6], from: 0, to: 10, start: (points) => [survey(points).mean, slope(points)] },
  { id: 'parabola', title: 'Parabola', text: 'a + b * x + c * x^2', truth: [6, -2.2, 0.24], from: 0, to: 10, start: (points) => [survey(points).mean, slope(points), 0] },
  { id: 'cubic', title: 'Cubic', text: 'a + b * x + c * x^2 + d * x^3', truth: [1, 4.4, -1.1, 0.073], from: 0, to: 10, start: (points) => [survey(points).mean, slope(points), 0, 0] },
  {
    id: 'decay', title: 'Exponential decay', text: 'a * exp(-x / tau) + c', truth: [7, 2.2, 1], from: 0, to: 10,
    start: (points) => {
      const { first, last, width } = survey(points);
      return [first.y - last.y || 1, width / 4, last.y];
    },
  },
  {
    id: 'gaussian', title: 'Gaussian peak', text: 'h * exp(-((x - m) / s)^2 / 2) + c', truth: [6, 4.5, 1.1, 1], from: 0, to: 10,
    start: (points) => {
      const { at, height, base, width } = peak(points);
      return [height, at, width / 8, base];
    },
  },
  {
    id: 'lorentzian', title: 'Lorentzian peak', text: 'h / (1 + ((x - m) / w)^2) + c', truth: [6, 5.5, 0.8, 1], from: 0, to: 10,
    start: (points) => {
      const { at, height, base, width } = peak(points);
      return [height, at, width / 10, base];
    },
  },
  {
    id: 'logistic', title: 'Logistic', text: 'top / (1 + exp(-k * (x - m)))', truth: [7, 1.3, 4.8], from: 0, to: 10,
    start: (points) => {
      const { first, last, high, width } = survey(points);
      return [high, (last.y >= first.y ? 6 : -6) / width, (first.x + last.x) / 2];
    },
  },
  {
    id: 'damped-sine', title: 'Damped sine', text: 'a * exp(-d * x) * sin(w * x + p) + c', truth: [4, 0.22, 2.4, 0.6, 4], from: 0, to: 10,
    start: (points) => {
      const { low, high, mean, width } = survey(points);
      return [(high - low) / 2 || 1, 1 / width, frequency(points), 0, mean];
    },
  },
  { id: 'power', title: 'Power law', text: 'a * x^b', truth: [0.6, 1.15], from: 0.5, to: 10, start: (points) => [survey(points).mean / 2 || 1, 0.5] },
  {
    id: 'saturation', title: 'Saturation (Michaelis-Menten)', text: 'v * x / (k + x)', truth: [8.5, 1.8], from: 0.2, to: 10,
    start: (points) => {
      const { high, width } = survey(points);
      return [high || 1, width / 4];
    },
  },
];

/**
 * Points around the model's curve, with fixed noise.
 * @param {(typeof MODELS)[number]} model
 * @param {{ evaluate: (x: number, parameters: number[]) => number }} expression its text, parsed
 */
export function examplePoints({ truth, from, to }, expression, { count = 24, noise = 0.22, seed = 21 } = {}) {
  const { normal } = seededNoise(seed);
  return Array.from({ length: count }, (_, k) => {
    const x = from + ((to - from) * (k + 0.5)) / count;
    return { x, y: expression.evaluate(x, truth) + noise * normal() };
  });
}
