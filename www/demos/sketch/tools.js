/**
 * The drawing tools as small state machines with presses, moves and releases in millimetres as input. Takes the sheet (its content, edits);
 * returns a preview of the addition. A press and a release at different places count as two clicks, so that lines can be dragged on a
 * phone.
 */
import { addArc, addCircle, addConstraint, addLine, addPoint, curveOf, kindOf, pointOf } from './sketch.js';

/** A line within this angle of horizontal or vertical, in radians, is made so. */
const STRAIGHTEN = 0.06;
/** The least distance of a second click in pixels; a nearer one is ignored. */
const APART = 8;

/** The target of a click: an existing point, or a position, possibly on a curve. */
function landing(sheet, { place, hit }) {
  const kind = hit === null ? undefined : kindOf(sheet.sketch, hit);
  if (kind === 'point') return { point: hit, place: pointOf(sheet.sketch, hit) };
  return { point: null, on: kind === undefined || kind === 'constraint' ? null : hit, place };
}

/** The point of a target; created in `sketch` if it does not exist. */
function settle(sketch, at) {
  if (at.point !== null) return at.point;
  at.point = addPoint(sketch, at.place.x, at.place.y);
  if (at.on !== null && at.on !== undefined && curveOf(sketch, at.on) !== undefined) addConstraint(sketch, 'coincident', [at.point, at.on]);
  return at.point;
}

function straightened(from, to) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  if (Math.abs(dy) < STRAIGHTEN * Math.abs(dx)) return { place: { x: to.x, y: from.y }, kind: 'horizontal' };
  if (Math.abs(dx) < STRAIGHTEN * Math.abs(dy)) return { place: { x: from.x, y: to.y }, kind: 'vertical' };
  return { place: to, kind: null };
}

const SIGNS = { horizontal: '―', vertical: '|' };

/** @returns {{ click(where), move(where), preview(): object | null, idle: boolean }} */
export function makeTool(name, sheet) {
  /** The targets so far. */
  let clicked = [];
  let now = null;
  const needed = { point: 1, line: 2, circle: 2, arc: 3 }[name];

  function finish() {
    const landings = clicked;
    clicked = [];
    if (name === 'point') sheet.edit((sketch) => settle(sketch, landings[0]));
    else if (name === 'line') finishLine(landings);
    else if (name === 'circle') {
      const radius = Math.hypot(landings[1].place.x - landings[0].place.x, landings[1].place.y - landings[0].place.y);
      sheet.edit((sketch) => addCircle(sketch, settle(sketch, landings[0]), radius));
    } else finishArc(landings);
  }

  function finishLine([from, to]) {
    const free = to.point === null && to.on === null;
    const { place, kind } = free ? straightened(from.place, to.place) : { place: to.place, kind: null };
    to.place = place;
    const closes = to.point !== null;
    sheet.edit((sketch) => {
      const line = addLine(sketch, settle(sketch, from), settle(sketch, to));
      if (kind !== null) addConstraint(sketch, kind, [line]);
    });
    // Continues with the next line, unless this one ended at an existing point.
    if (!closes) clicked = [{ point: to.point, on: null, place: to.place }];
  }

  function finishArc([center, start, end]) {
    const c = center.place, radius = Math.hypot(start.place.x - c.x, start.place.y - c.y), length = Math.hypot(end.place.x - c.x, end.place.y - c.y) || 1;
    if (end.point === null) end.place = { x: c.x + ((end.place.x - c.x) * radius) / length, y: c.y + ((end.place.y - c.y) * radius) / length };
    const counterclockwise = (start.place.x - c.x) * (end.place.y - c.y) - (start.place.y - c.y) * (end.place.x - c.x) >= 0;
    sheet.edit((sketch) => {
      const [middle, a, b] = [center, start, end].map((at) => settle(sketch, at));
      addArc(sketch, middle, counterclockwise ? a : b, counterclockwise ? b : a);
    });
  }

  const apart = (a, b) => Math.hypot(a.x - b.x, a.y - b.y) * sheet.scale > APART;
  /** The position of the press: a line's end may have been moved from there, to make it horizontal or vertical. */
  let pressed = null;

  return {
    get idle() {
      return clicked.length === 0;
    },
    click(where) {
      pressed = where.place;
      const at = landing(sheet, where), last = clicked.at(-1);
      if (last !== undefined && ((at.point !== null && at.point === last.point) || !apart(at.place, last.place))) {
        // A second click at the same place ends a chain of lines.
        if (name === 'line') clicked = [];
        return;
      }
      clicked.push(at);
      if (clicked.length === needed) finish();
    },
    /** The release of a press that began with click(): at another place it is the next click. */
    release(where) {
      if (clicked.length > 0 && pressed !== null && apart(where.place, pressed)) this.click(where);
      pressed = null;
    },
    move(where) {
      now = landing(sheet, where);
    },
    preview() {
      if (now === null) return null;
      if (clicked.length === 0) return { kind: 'point', from: now.place, to: now.place };
      const from = clicked[0].place;
      if (name !== 'line') return { kind: name, from, to: now.place, start: clicked[1]?.place };
      const { place, kind } = now.point === null && now.on === null ? straightened(from, now.place) : { place: now.place, kind: null };
      return { kind: 'line', from, to: place, sign: SIGNS[kind] };
    },
  };
}
