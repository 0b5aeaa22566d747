// The sketch's drawing tools: the results of presses and releases, at one pixel per millimetre.
import assert from 'node:assert/strict';
import { test } from 'node:test';
const { makeTool } = await import('../../www/demos/sketch/tools.js');
const { emptySketch } = await import('../../www/demos/sketch/sketch.js');

/** A sheet with a tool; clicks and drags at positions, with hit testing within 5 mm. */
function sheetWith(name) {
  const sheet = { sketch: emptySketch(), scale: 1, edit: (change) => change(sheet.sketch) };
  const tool = makeTool(name, sheet);
  const where = (x, y) => ({ place: { x, y }, hit: sheet.sketch.points.find((point) => Math.hypot(point.x - x, point.y - y) < 5)?.id ?? null });
  const drag = (from, to) => {
    tool.click(where(...from));
    tool.release(where(...to));
  };
  return { ...sheet, tool, drag, click: (x, y) => drag([x, y], [x, y]) };
}

const counts = ({ sketch }) => [sketch.points.length, sketch.curves.length, sketch.constraints.map(({ kind }) => kind).join(' ')];

test('clicks make a chain of lines that share their points; a second click at the last place ends it', () => {
  const sheet = sheetWith('line');
  sheet.click(0, 0);
  // Nine millimetres off horizontal over 200: the release is at the pointer's position, not at the line's adjusted end.
  sheet.click(200, 9);
  assert.deepEqual(counts(sheet), [2, 1, 'horizontal']);
  assert.equal(sheet.sketch.points[1].y, 0);
  sheet.click(150, 80);
  assert.deepEqual(counts(sheet), [3, 2, 'horizontal']);
  assert.equal(sheet.tool.idle, false);
  sheet.click(150, 81);
  assert.equal(sheet.tool.idle, true);
  assert.deepEqual(counts(sheet), [3, 2, 'horizontal']);
});

test('a press and a release at different places make a line, and a line that ends at a point ends the chain', () => {
  const sheet = sheetWith('line');
  sheet.drag([0, 0], [60, 80]);
  assert.deepEqual(counts(sheet), [2, 1, '']);
  sheet.click(120, 20);
  sheet.click(1, 1);
  assert.deepEqual(counts(sheet), [3, 3, '']);
  assert.equal(sheet.sketch.curves[2].b, sheet.sketch.points[0].id);
  assert.equal(sheet.tool.idle, true);
});

test('an arc runs counter-clockwise for either order of clicks, and both ends are on it', () => {
  for (const [first, second] of [[[50, 0], [0, 40]], [[0, 50], [40, 0]]]) {
    const sheet = sheetWith('arc');
    sheet.click(0, 0);
    sheet.click(...first);
    sheet.click(...second);
    const [arc] = sheet.sketch.curves, at = (id) => sheet.sketch.points.find((point) => point.id === id);
    const [start, end] = [at(arc.start), at(arc.end)];
    assert.ok(start.x * end.y - start.y * end.x > 0);
    for (const { x, y } of [start, end]) assert.ok(Math.abs(Math.hypot(x, y) - 50) < 1e-12);
  }
});

test('a click on a curve makes a point on it', () => {
  const sheet = sheetWith('circle');
  sheet.click(0, 0);
  sheet.click(30, 0);
  const [circle] = sheet.sketch.curves;
  assert.equal(circle.radius, 30);
  const point = makeTool('point', sheet);
  point.click({ place: { x: 0, y: 30 }, hit: circle.id });
  assert.deepEqual(counts(sheet), [2, 1, 'coincident']);
});
