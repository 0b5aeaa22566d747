/**
 * Example sketches: a bracket, a four-bar linkage, a slot, a triangle, and an empty one. Each is made by the edits of the user interface.
 */
import { addArc, addCircle, addConstraint, addLine, addPoint, emptySketch } from './sketch.js';

/** A closed chain of lines through points. */
const outline = (sketch, corners) => corners.map((corner, k) => addLine(sketch, corner, corners[(k + 1) % corners.length]));

function bracket() {
  const sketch = emptySketch();
  const corners = [[-60, -35], [60, -35], [60, 35], [-60, 35]].map(([x, y]) => addPoint(sketch, x, y));
  const [bottom, right, top, left] = outline(sketch, corners);
  for (const line of [bottom, top]) addConstraint(sketch, 'horizontal', [line]);
  for (const line of [left, right]) addConstraint(sketch, 'vertical', [line]);
  addConstraint(sketch, 'fixed', [corners[0]]);
  addConstraint(sketch, 'distance', [bottom], 120);
  addConstraint(sketch, 'distance', [right], 70);
  const centers = [[-40, 15], [40, 15], [40, -15]].map(([x, y]) => addPoint(sketch, x, y));
  const holes = centers.map((center) => addCircle(sketch, center, 8));
  addConstraint(sketch, 'radius', [holes[0]], 8);
  addConstraint(sketch, 'equal', [holes[0], holes[1]]);
  addConstraint(sketch, 'equal', [holes[1], holes[2]]);
  addConstraint(sketch, 'distance', [centers[0], top], 20);
  addConstraint(sketch, 'distance', [centers[0], left], 20);
  addConstraint(sketch, 'horizontal', [centers[0], centers[1]]);
  addConstraint(sketch, 'vertical', [centers[1], centers[2]]);
  addConstraint(sketch, 'distance', [centers[1], right], 20);
  return sketch;
}

function fourBar() {
  const sketch = emptySketch();
  const [o, c, a, b] = [[-40, -30], [50, -30], [-55, 10], [35, 45]].map(([x, y]) => addPoint(sketch, x, y));
  const crank = addLine(sketch, o, a), coupler = addLine(sketch, a, b), rocker = addLine(sketch, b, c);
  addConstraint(sketch, 'fixed', [o]);
  addConstraint(sketch, 'fixed', [c]);
  addConstraint(sketch, 'distance', [crank], 35);
  addConstraint(sketch, 'distance', [coupler], 95);
  addConstraint(sketch, 'distance', [rocker], 70);
  // A tracing point on the coupler.
  const tip = addPoint(sketch, 0, 75);
  const toA = addLine(sketch, a, tip), toB = addLine(sketch, b, tip);
  addConstraint(sketch, 'distance', [toA], 80);
  addConstraint(sketch, 'distance', [toB], 50);
  return sketch;
}

function slot() {
  const sketch = emptySketch();
  const [left, right] = [[-40, 0], [40, 0]].map(([x, y]) => addPoint(sketch, x, y));
  const [a, b, c, d] = [[-40, -20], [40, -20], [40, 20], [-40, 20]].map(([x, y]) => addPoint(sketch, x, y));
  const bottom = addLine(sketch, a, b), top = addLine(sketch, c, d);
  const round = addArc(sketch, right, b, c), other = addArc(sketch, left, d, a);
  for (const [line, arc] of [[bottom, round], [top, round], [top, other], [bottom, other]]) addConstraint(sketch, 'tangent', [line, arc]);
  addConstraint(sketch, 'equal', [round, other]);
  addConstraint(sketch, 'fixed', [left]);
  addConstraint(sketch, 'horizontal', [left, right]);
  const hole = addCircle(sketch, right, 10);
  addConstraint(sketch, 'radius', [hole], 10);
  return sketch;
}

function overConstrained() {
  const sketch = emptySketch();
  const [a, b, c] = [[-50, -30], [50, -30], [0, 45]].map(([x, y]) => addPoint(sketch, x, y));
  const [ab, bc, ca] = outline(sketch, [a, b, c]);
  addConstraint(sketch, 'fixed', [a]);
  addConstraint(sketch, 'horizontal', [ab]);
  addConstraint(sketch, 'distance', [ab], 100);
  addConstraint(sketch, 'equal', [ab, bc]);
  addConstraint(sketch, 'equal', [bc, ca]);
  // A redundant and a contradictory constraint in an equilateral triangle.
  addConstraint(sketch, 'angle', [ab, ca], 60);
  addConstraint(sketch, 'angle', [ab, bc], 70);
  return sketch;
}

export const EXAMPLES = Object.freeze({ 'bracket with holes': bracket, 'four-bar linkage': fourBar, 'tangent slot': slot, 'triangle, over-constrained': overConstrained, 'empty sheet': emptySketch });
