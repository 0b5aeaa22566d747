// The sketch: the effect of each constraint on points that violate it, degrees of freedom, and redundant and contradictory constraints.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { residua } from './residua.mjs';
const { addArc, addCircle, addConstraint, addLine, addPoint, constraintsFor, CONSTRAINTS, copyOf, curveOf, emptySketch, measure, nameOf, pointOf, readSketch, remove, writeSketch } =
  await import('../../www/demos/sketch/sketch.js');
const { giveBack, setPulls, settle, sketchProblem, SOLVE, takeOver } = await import('../../www/demos/sketch/model.js');
const { dependentRows, diagnose } = await import('../../www/demos/sketch/diagnosis.js');
const { EXAMPLES } = await import('../../www/demos/sketch/examples.js');

/** Solves as the page does; the sketch gets the result. */
async function solved(sketch, { wanted = {}, use = () => {} } = {}) {
  const model = sketchProblem(sketch);
  const functions = await residua.GpuCompiledFunctions.compile(model.problem, { backend: 'cpu' });
  try {
    setPulls(model, wanted);
    await residua.levenbergMarquardt(functions, SOLVE);
    const result = await residua.levenbergMarquardt(functions, settle(model, functions.precision));
    takeOver(sketch, model);
    await use(functions, model);
    return { cost: result.finalCost, diagnosis: await diagnose(functions, model) };
  } finally {
    functions.dispose();
  }
}

/** An irregular quadrilateral with an arc, a circle and a separate point. */
function crooked() {
  const sketch = emptySketch();
  const [p, q, r, s] = [[0, 0], [41, 3], [38, 29], [-4, 33]].map(([x, y]) => addPoint(sketch, x, y));
  const lines = [addLine(sketch, p, q), addLine(sketch, q, r), addLine(sketch, r, s), addLine(sketch, s, p)];
  const [center, other] = [addPoint(sketch, 70, 10), addPoint(sketch, 75, 50)];
  const circle = addCircle(sketch, center, 12);
  const [start, end] = [addPoint(sketch, 88, 50), addPoint(sketch, 75, 62)];
  const arc = addArc(sketch, other, start, end);
  return { sketch, points: [p, q, r, s], lines, circle, center, arc, arcPoints: [other, start, end], stray: addPoint(sketch, -20, 8) };
}

// Millimetres, or millimetres per radian at 50 mm: the last solve converges to double precision, and its pulls are too weak to be seen.
const TOLERANCE = 1e-9;
const at = (sketch, id) => pointOf(sketch, id);
const apart = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);
const direction = (sketch, line) => {
  const { a, b } = curveOf(sketch, line);
  const [p, q] = [at(sketch, a), at(sketch, b)];
  return [(q.x - p.x) / apart(p, q), (q.y - p.y) / apart(p, q)];
};
const off = (sketch, point, line) => {
  const [x, y] = direction(sketch, line), from = at(sketch, curveOf(sketch, line).a), p = at(sketch, point);
  return x * (p.y - from.y) - y * (p.x - from.x);
};
const crossed = ([a, b], [c, d]) => a * d - b * c;

const cases = [
  ['coincident', ({ points: [p], stray }) => [p, stray], (s, [a, b]) => apart(at(s, a), at(s, b))],
  ['coincident', ({ stray, lines: [line] }) => [stray, line], (s, [p, line]) => off(s, p, line)],
  ['coincident', ({ stray, circle }) => [stray, circle], (s, [p, c]) => apart(at(s, p), at(s, curveOf(s, c).center)) - curveOf(s, c).radius],
  ['horizontal', ({ lines: [line] }) => [line], (s, [line]) => direction(s, line)[1]],
  ['vertical', ({ points: [p], stray }) => [p, stray], (s, [a, b]) => at(s, a).x - at(s, b).x],
  ['parallel', ({ lines: [a, , b] }) => [a, b], (s, [a, b]) => crossed(direction(s, a), direction(s, b))],
  ['perpendicular', ({ lines: [a, , b] }) => [a, b], (s, [a, b]) => direction(s, a)[0] * direction(s, b)[0] + direction(s, a)[1] * direction(s, b)[1]],
  ['equal', ({ lines: [a, b] }) => [a, b], (s, [a, b]) => measure(s, 'distance', [a]) - measure(s, 'distance', [b])],
  ['equal', ({ circle, arc }) => [circle, arc], (s, [a, b]) => curveOf(s, a).radius - curveOf(s, b).radius],
  ['tangent', ({ lines: [line], circle }) => [line, circle], (s, [line, c]) => Math.abs(off(s, curveOf(s, c).center, line)) - curveOf(s, c).radius],
  ['tangent', ({ circle, arc }) => [circle, arc], (s, [a, b]) => apart(at(s, curveOf(s, a).center), at(s, curveOf(s, b).center)) - curveOf(s, a).radius - curveOf(s, b).radius],
  ['midpoint', ({ stray, lines: [line] }) => [stray, line], (s, [p, line]) => apart(at(s, p), { x: (at(s, curveOf(s, line).a).x + at(s, curveOf(s, line).b).x) / 2, y: (at(s, curveOf(s, line).a).y + at(s, curveOf(s, line).b).y) / 2 })],
  ['fixed', ({ points: [p] }) => [p], (s, [p]) => apart(at(s, p), { x: 0, y: 0 })],
  ['distance', ({ lines: [line] }) => [line], (s, of) => measure(s, 'distance', of) - 55, 55],
  ['distance', ({ points: [p], stray }) => [p, stray], (s, of) => measure(s, 'distance', of) - 12.5, 12.5],
  ['distance', ({ stray, lines: [line] }) => [stray, line], (s, of) => measure(s, 'distance', of) - 31, 31],
  ['radius', ({ arc }) => [arc], (s, [arc]) => curveOf(s, arc).radius - 20, 20],
  ['angle', ({ lines: [a, b] }) => [a, b], (s, of) => ((measure(s, 'angle', of) - 135) * Math.PI) / 180, 135],
];
for (const [kind, of, error, value] of cases) {
  const names = of(crooked()).map((id) => nameOf(crooked().sketch, id)[0]).join(' and ');
  test(`${kind} holds for ${names}`, async () => {
    const drawing = crooked(), { sketch } = drawing;
    const ids = of(drawing);
    assert.ok(Math.abs(error(sketch, ids)) > 1e-2 || kind === 'fixed', 'it does not hold before');
    addConstraint(sketch, kind, ids, value);
    const { of: stored } = sketch.constraints[0];
    // With a pull, so that a fixed point has a force against it.
    const { diagnosis } = await solved(sketch, { wanted: { points: new Map([[drawing.stray, [-25, 3]], [drawing.points[0], [2, 3]]]) } });
    assert.ok(Math.abs(error(sketch, stored)) < TOLERANCE, `${error(sketch, stored)}`);
    // An arc's ends are at its radius.
    const [center, start, end] = drawing.arcPoints.map((id) => at(sketch, id));
    for (const place of [start, end]) assert.ok(Math.abs(apart(center, place) - curveOf(sketch, drawing.arc).radius) < TOLERANCE);
    // 9 points, a circle's radius, an arc's minus its two conditions; each constraint removes as many as it has equations.
    const equations = kind === 'fixed' || kind === 'midpoint' || (kind === 'coincident' && names === 'P and P') ? 2 : 1;
    assert.equal(diagnosis.degreesOfFreedom, 18 + 1 - 1 - equations);
    assert.equal(diagnosis.redundant.length + diagnosis.conflicting.size, 0);
  });
}

function rectangle() {
  const sketch = emptySketch();
  const corners = [[0, 0], [50, 2], [49, 30], [-1, 31]].map(([x, y]) => addPoint(sketch, x, y));
  const sides = corners.map((corner, k) => addLine(sketch, corner, corners[(k + 1) % 4]));
  return { sketch, corners, sides };
}

test('a free rectangle has 8 degrees of freedom, and each constraint removes its own', async () => {
  const { sketch, corners, sides: [bottom, right, top, left] } = rectangle();
  const freedom = async () => (await solved(sketch)).diagnosis;
  assert.equal((await freedom()).degreesOfFreedom, 8);
  for (const side of [bottom, top]) addConstraint(sketch, 'horizontal', [side]);
  for (const side of [left, right]) addConstraint(sketch, 'vertical', [side]);
  assert.equal((await freedom()).degreesOfFreedom, 4);
  addConstraint(sketch, 'fixed', [corners[0]]);
  addConstraint(sketch, 'distance', [bottom], 50);
  const oneLeft = await freedom();
  assert.equal(oneLeft.degreesOfFreedom, 1);
  // Its height is free: the upper corners move.
  assert.deepEqual(oneLeft.moving, new Set([corners[2], corners[3]]));
  addConstraint(sketch, 'distance', [right], 30);
  const none = await freedom();
  assert.deepEqual([none.degreesOfFreedom, none.moving.size, none.redundant.length, none.conflicting.size], [0, 0, 0, 0]);
});

test('a constraint that others imply is named with them, and nothing else is', async () => {
  const { sketch, sides: [bottom, right, top, left] } = rectangle();
  const first = addConstraint(sketch, 'horizontal', [bottom]), parallel = addConstraint(sketch, 'parallel', [bottom, top]);
  addConstraint(sketch, 'vertical', [left]);
  addConstraint(sketch, 'perpendicular', [bottom, right]);
  assert.equal((await solved(sketch)).diagnosis.redundant.length, 0);
  const again = addConstraint(sketch, 'horizontal', [top]);
  const { diagnosis } = await solved(sketch);
  assert.deepEqual(diagnosis.redundant.map(({ constraint }) => constraint), [again]);
  assert.deepEqual(new Set(diagnosis.redundant[0].with), new Set([first, parallel]));
  assert.equal(diagnosis.conflicting.size, 0);
  assert.equal(diagnosis.degreesOfFreedom, 4);
});

test('two lengths of one line contradict each other, and others do not', async () => {
  const { sketch, sides: [bottom, right] } = rectangle();
  addConstraint(sketch, 'horizontal', [bottom]);
  addConstraint(sketch, 'distance', [right], 30);
  const [long, short] = [60, 50].map((length) => addConstraint(sketch, 'distance', [bottom], length));
  const { diagnosis } = await solved(sketch);
  assert.deepEqual(diagnosis.conflicting, new Set([long, short]));
  assert.deepEqual(diagnosis.broken, new Set([long, short]));
  assert.equal(diagnosis.redundant.length, 0);
  // Least squares: the mean.
  assert.ok(Math.abs(measure(sketch, 'distance', [bottom]) - 55) < 1e-6);
});

test('a triangle whose sides cannot meet is contradictory in all three', async () => {
  const sketch = emptySketch();
  const [a, b, c] = [[0, 0], [30, 0], [10, 12]].map(([x, y]) => addPoint(sketch, x, y));
  const sides = [[a, b], [b, c], [c, a]].map(([p, q]) => addLine(sketch, p, q));
  const lengths = sides.map((side, k) => addConstraint(sketch, 'distance', [side], [100, 20, 30][k]));
  const { diagnosis } = await solved(sketch);
  assert.deepEqual(diagnosis.conflicting, new Set(lengths));
});

test('a four-bar linkage has one degree of freedom, and a dragged crank keeps every length', async () => {
  const sketch = EXAMPLES['four-bar linkage']();
  const { diagnosis } = await solved(sketch);
  assert.equal(diagnosis.degreesOfFreedom, 1);
  const lengths = sketch.constraints.filter(({ kind }) => kind === 'distance');
  const crank = sketch.points[2], pivot = sketch.points[0];
  for (let turn = 0; turn < 12; turn++) {
    const angle = (turn * Math.PI) / 6;
    await solved(sketch, { wanted: { points: new Map([[crank.id, [pivot.x + 35 * Math.cos(angle), pivot.y + 35 * Math.sin(angle)]]]) } });
    for (const { of, value } of lengths) assert.ok(Math.abs(measure(sketch, 'distance', of) - value) < 1e-6);
  }
});

test('a drag moves only what it names', async () => {
  const { sketch, points: [p], stray } = crooked();
  const before = copyOf(sketch);
  await solved(sketch, { wanted: { points: new Map([[stray, [-30, -5]]]) } });
  assert.ok(apart(at(sketch, stray), { x: -30, y: -5 }) < 1e-6);
  assert.ok(apart(at(sketch, p), at(before, p)) < TOLERANCE);
});

test('the tangent slot keeps its arcs tangent while an end is dragged', async () => {
  const sketch = EXAMPLES['tangent slot']();
  const { diagnosis } = await solved(sketch);
  assert.deepEqual([diagnosis.degreesOfFreedom, diagnosis.redundant.length, diagnosis.conflicting.size], [2, 0, 0]);
  await solved(sketch, { wanted: { points: new Map([[sketch.points[1].id, [70, 25]]]) } });
  const [first, second] = sketch.curves.filter(({ kind }) => kind === 'arc');
  assert.ok(Math.abs(first.radius - second.radius) < TOLERANCE);
  for (const line of sketch.curves.filter(({ kind }) => kind === 'line')) {
    for (const arc of [first, second]) assert.ok(Math.abs(Math.abs(off(sketch, arc.center, line.id)) - arc.radius) < 1e-6);
  }
});

test('dimensions change without compiling', async () => {
  const { sketch, sides: [bottom] } = rectangle();
  const length = addConstraint(sketch, 'distance', [bottom], 50);
  await solved(sketch, {
    async use(functions, model) {
      sketch.constraints.find(({ id }) => id === length).value = 80;
      model.setValues(sketch);
      await residua.levenbergMarquardt(functions, settle(model, functions.precision));
      takeOver(sketch, model);
      assert.ok(Math.abs(measure(sketch, 'distance', [bottom]) - 80) < TOLERANCE);
      pointOf(sketch, sketch.points[0].id).x = -7;
      giveBack(sketch, model);
      assert.equal(model.points.values()[0], -7);
    },
  });
});

test('a dependent row is found with the rows of its combination', () => {
  const rows = [[1, 0, 2], [0, 1, 1], [2, -3, 1], [0, 0, 1]].map((row) => Float64Array.from(row));
  assert.deepEqual(dependentRows(rows), [{ row: 2, of: [0, 1] }]);
  assert.deepEqual(dependentRows([Float64Array.of(0, 0)]), [{ row: 0, of: [] }]);
});

test('a selection is offered the constraints that apply', () => {
  const { sketch, lines, circle, points, stray } = crooked();
  const offered = (ids) => Object.keys(CONSTRAINTS).filter((kind) => constraintsFor(sketch, kind, ids).length > 0);
  assert.deepEqual(offered([lines[0]]), ['horizontal', 'vertical', 'distance']);
  assert.deepEqual(offered([circle, lines[0]]), ['tangent']);
  assert.deepEqual(offered([stray, points[0]]), ['coincident', 'horizontal', 'vertical', 'fixed', 'distance']);
  assert.deepEqual(constraintsFor(sketch, 'equal', lines), [[lines[0], lines[1]], [lines[1], lines[2]], [lines[2], lines[3]]]);
  assert.deepEqual(constraintsFor(sketch, 'horizontal', lines.slice(0, 2)), [[lines[0]], [lines[1]]]);
  assert.deepEqual(offered([]), []);
});

test('removing an object removes what depends on it', () => {
  const { sketch, points, lines } = crooked();
  addConstraint(sketch, 'parallel', [lines[0], lines[2]]);
  const kept = addConstraint(sketch, 'equal', [lines[1], lines[2]]);
  remove(sketch, [points[0]]);
  assert.deepEqual(sketch.curves.map(({ id }) => id).filter((id) => lines.includes(id)), [lines[1], lines[2]]);
  assert.deepEqual(sketch.constraints.map(({ id }) => id), [kept]);
});

test('a file holds the whole sketch, and an invalid one is refused with the reason', () => {
  for (const make of Object.values(EXAMPLES)) assert.deepEqual(readSketch(writeSketch(make())), make());
  const point = { id: 1, x: 0, y: 0 };
  // A distance of two points at one place is created with the value 0.
  const together = { points: [point, { ...point, id: 2 }], curves: [], constraints: [] };
  addConstraint(together, 'distance', [1, 2]);
  assert.deepEqual(readSketch(writeSketch(together)), together);
  const broken = [
    ['{', /not a sketch/],
    [JSON.stringify({ points: {} }), /"points" should be a list/],
    [JSON.stringify({ points: [point, point] }), /has the id 1/],
    [JSON.stringify({ points: [{ ...point, x: 'a' }] }), /x of point 1 is "a"/],
    [JSON.stringify({ points: [point], curves: [{ id: 2, kind: 'line', a: 1, b: 9 }] }), /b of line 2 is point 9/],
    [JSON.stringify({ points: [point], curves: [{ id: 2, kind: 'spline' }] }), /a curve is a "spline"/],
    [JSON.stringify({ points: [{ ...point, x: 1e308 }] }), /x of point 1 is 1e\+308; it takes at most 1,000,000 either way/],
    [JSON.stringify({ points: [{ ...point, y: -2e6 }] }), /y of point 1 is -2000000; it takes at most/],
    ['{ "points": [{ "id": 1, "x": 1e999, "y": 0 }] }', /x of point 1 is Infinity, not a finite number/],
    [JSON.stringify({ points: [point], curves: [{ id: 2, kind: 'line', a: 1, b: 1 }] }), /line 2 has 1 twice/],
    [JSON.stringify({ points: [point, { ...point, id: 2 }], curves: [{ id: 3, kind: 'arc', center: 2, start: 1, end: 2, radius: 1 }] }), /arc 3 has 2 twice/],
    ...[0, -3].map((radius) => [JSON.stringify({ points: [point], curves: [{ id: 2, kind: 'circle', center: 1, radius }] }), /the radius of circle 2 is (0|-3); it takes more than 0/]),
    [JSON.stringify({ points: [point], curves: [{ id: 2, kind: 'circle', center: 1, radius: 1e7 }] }), /the radius of circle 2 is 10000000; it takes at most/],
    ...[[1e300, /it takes at most 1,000,000/], [-1, /it takes none below 0/]].map(([value, message]) => [
      JSON.stringify({ points: [point, { ...point, id: 2 }], curves: [], constraints: [{ id: 3, kind: 'distance', of: [1, 2], value }] }), new RegExp(`the value of distance 3 is .*${message.source}`)]),
    [JSON.stringify({ points: [point, { ...point, id: 2 }], curves: [], constraints: [{ id: 3, kind: 'distance', of: [1, 1], value: 1 }] }), /distance 3 has 1 twice/],
    [JSON.stringify({ points: [point, { ...point, id: 2 }, { ...point, id: 3, x: 1 }], curves: [{ id: 4, kind: 'line', a: 1, b: 3 }, { id: 5, kind: 'line', a: 2, b: 3 }], constraints: [{ id: 6, kind: 'angle', of: [4, 5], value: 361 }] }),
      /the value of angle 6 is 361; it takes at most 360 either way/],
    [JSON.stringify({ points: [point], curves: [], constraints: [{ id: 2, kind: 'radius', of: [1], value: 1 }] }), /radius 2 is of point; it takes round/],
    [JSON.stringify({ points: [point], curves: [], constraints: [{ id: 2, kind: 'coincident', of: [1, 7] }] }), /not all there/],
  ];
  for (const [text, message] of broken) assert.throws(() => readSketch(text), message, text);
});

test('what constraints leave free stays where it is, where a length has almost no effect on them', async () => {
  const sketch = emptySketch();
  const [a, b, c] = [[-40.005, -20.034], [39.984, -20.034], [29.962, 30.064]].map(([x, y]) => addPoint(sketch, x, y));
  const first = addLine(sketch, a, b), second = addLine(sketch, b, c);
  addConstraint(sketch, 'horizontal', [first]);
  await solved(sketch);
  addConstraint(sketch, 'perpendicular', [first, second]);
  const before = copyOf(sketch);
  const { cost } = await solved(sketch);
  assert.ok(cost < TOLERANCE ** 2, `${cost}`);
  // Half of 10 mm, by which the ends of the second line are out of plumb; the length of the first line changes by that.
  const moved = [a, b, c].map((id) => apart(at(sketch, id), at(before, id)));
  assert.ok(moved[0] < 0.01 && moved[1] < 5.1 && moved[2] < 5.1, `moved by ${moved}`);
});
