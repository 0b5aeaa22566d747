/**
 * A sketch in the plane as plain data, which is also the file format: points, curves over them, constraints over both. Takes edits; returns
 * the constraints that apply to a selection, names for people, and a checked sketch of a file's text. It contains no solving or drawing.
 * Lengths are millimetres, angles degrees; y is up.
 *
 *     { points: [{ id, x, y }],
 *       curves: [{ id, kind: 'line', a, b } | { id, kind: 'circle', center, radius } | { id, kind: 'arc', center, start, end, radius }],
 *       constraints: [{ id, kind, of: [ids], value? }] }
 *
 * Ids are distinct whole numbers, and the points of a curve are distinct. Coordinates, lengths and radii are at most a kilometre. An arc
 * runs counter-clockwise from start to end; its radius is the distance of these from its centre, up to the solver's tolerance.
 */

/**
 * The constraints: the required selection ('round' is a circle or an arc), the key, whether they have a value. `each`: one constraint for
 * each of several objects; else one for each consecutive pair.
 */
export const CONSTRAINTS = Object.freeze({
  coincident: { title: 'Coincident', sign: '•', key: 'c', takes: ['point point', 'point line', 'point round'] },
  horizontal: { title: 'Horizontal', sign: '―', key: 'h', takes: ['line', 'point point'], each: true },
  vertical: { title: 'Vertical', sign: '|', key: 'v', takes: ['line', 'point point'], each: true },
  parallel: { title: 'Parallel', sign: '∥', key: 'p', takes: ['line line'] },
  perpendicular: { title: 'Perpendicular', sign: '⊥', key: 'o', takes: ['line line'] },
  equal: { title: 'Equal', sign: '=', key: 'e', takes: ['line line', 'round round'] },
  tangent: { title: 'Tangent', sign: '⌒', key: 't', takes: ['line round', 'round round'] },
  midpoint: { title: 'Midpoint', sign: '÷', key: 'm', takes: ['point line'] },
  fixed: { title: 'Fixed', sign: '⚓', key: 'f', takes: ['point'], each: true },
  distance: { title: 'Distance', sign: '↔', key: 'd', takes: ['line', 'point point', 'point line'], each: true, unit: 'mm' },
  radius: { title: 'Radius', sign: 'R', key: 'r', takes: ['round'], each: true, unit: 'mm' },
  angle: { title: 'Angle', sign: '∠', key: 'a', takes: ['line line'], unit: '°' },
});

const CURVES = { line: ['a', 'b'], circle: ['center'], arc: ['center', 'start', 'end'] };
const LETTERS = { point: 'P', line: 'L', circle: 'C', arc: 'A' };

/** Millimetres: a kilometre, where the spacing of single precision is 0.06 mm. */
export const LARGEST = 1e6;

export const emptySketch = () => ({ points: [], curves: [], constraints: [] });

export const copyOf = (sketch) => structuredClone(sketch);

const everything = ({ points, curves, constraints }) => [...points, ...curves, ...constraints];

const nextId = (sketch) => everything(sketch).reduce((most, { id }) => Math.max(most, id), 0) + 1;

export const pointOf = (sketch, id) => sketch.points.find((point) => point.id === id);
export const curveOf = (sketch, id) => sketch.curves.find((curve) => curve.id === id);
export const constraintOf = (sketch, id) => sketch.constraints.find((constraint) => constraint.id === id);

/** 'point', 'line', 'circle', 'arc' or 'constraint'; undefined for an unknown id. */
export function kindOf(sketch, id) {
  if (pointOf(sketch, id) !== undefined) return 'point';
  return curveOf(sketch, id)?.kind ?? (constraintOf(sketch, id) === undefined ? undefined : 'constraint');
}

/** Ids of the points of a curve or constraint. */
export function pointsOf(sketch, id) {
  const curve = curveOf(sketch, id);
  return curve === undefined ? (pointOf(sketch, id) === undefined ? [] : [id]) : CURVES[curve.kind].map((end) => curve[end]);
}

/** 'L3', or for a constraint 'Distance of L3'. */
export function nameOf(sketch, id) {
  const constraint = constraintOf(sketch, id);
  if (constraint === undefined) return `${LETTERS[kindOf(sketch, id)] ?? '?'}${id}`;
  return `${CONSTRAINTS[constraint.kind].title} ${constraint.of.map((other) => nameOf(sketch, other)).join(', ')}`;
}

// ---------------------------------------------------------------- edits; each changes the sketch and returns the id of a new object

export function addPoint(sketch, x, y) {
  const id = nextId(sketch);
  sketch.points.push({ id, x, y });
  return id;
}

export function addLine(sketch, a, b) {
  return addCurve(sketch, { kind: 'line', a, b });
}

export function addCircle(sketch, center, radius) {
  return addCurve(sketch, { kind: 'circle', center, radius });
}

export function addArc(sketch, center, start, end) {
  const [c, s] = [pointOf(sketch, center), pointOf(sketch, start)];
  return addCurve(sketch, { kind: 'arc', center, start, end, radius: Math.hypot(s.x - c.x, s.y - c.y) });
}

function addCurve(sketch, curve) {
  const id = nextId(sketch);
  sketch.curves.push({ id, ...curve });
  return id;
}

export function addConstraint(sketch, kind, of, value) {
  const id = nextId(sketch);
  const ordered = inOrder(sketch, of);
  // The smaller angle, counter-clockwise.
  if (kind === 'angle' && measure(sketch, kind, ordered) < 0) ordered.reverse();
  sketch.constraints.push({ id, kind, of: ordered, ...(CONSTRAINTS[kind].unit === undefined ? {} : { value: value ?? measure(sketch, kind, ordered) }) });
  return id;
}

/** Removes objects with everything that depends on them. */
export function remove(sketch, ids) {
  const gone = new Set(ids);
  sketch.points = sketch.points.filter(({ id }) => !gone.has(id));
  sketch.curves = sketch.curves.filter((curve) => !gone.has(curve.id) && CURVES[curve.kind].every((end) => !gone.has(curve[end])));
  const left = new Set([...sketch.points, ...sketch.curves].map(({ id }) => id));
  sketch.constraints = sketch.constraints.filter(({ id, of }) => !gone.has(id) && of.every((other) => left.has(other)));
}

// ---------------------------------------------------------------- queries of a selection

/** 'line round': its kinds, points first, then lines, then round curves. */
const ORDER = ['point', 'line', 'round'];
const role = (sketch, id) => {
  const kind = kindOf(sketch, id);
  return kind === 'circle' || kind === 'arc' ? 'round' : kind;
};
const inOrder = (sketch, ids) => [...ids].sort((a, b) => ORDER.indexOf(role(sketch, a)) - ORDER.indexOf(role(sketch, b)));
const patternOf = (sketch, ids) => inOrder(sketch, ids).map((id) => role(sketch, id)).join(' ');

/** The constraints of a kind for a selection: lists of ids, one list for each constraint. Empty where the kind does not apply. */
export function constraintsFor(sketch, kind, selection) {
  const { takes, each = false } = CONSTRAINTS[kind];
  const ids = inOrder(sketch, selection);
  if (ids.length === 0 || ids.some((id) => role(sketch, id) === undefined || role(sketch, id) === 'constraint')) return [];
  const suits = (group) => takes.includes(patternOf(sketch, group));
  if (ids.length <= 2 && suits(ids)) return [ids];
  const found = each ? ids.map((id) => [id]) : ids.slice(1).map((id, k) => [ids[k], id]);
  return found.length > 0 && found.every(suits) ? found : [];
}

/** The common end point of two curves: the same point, or two that are coincident, the first one's first. Undefined if there is none. */
export function sharedEnds(sketch, [first, second]) {
  const ends = (id) => {
    const curve = curveOf(sketch, id);
    return curve.kind === 'circle' ? [] : curve.kind === 'arc' ? [curve.start, curve.end] : [curve.a, curve.b];
  };
  const joined = (p, q) => p === q || sketch.constraints.some(({ kind, of }) => kind === 'coincident' && of.includes(p) && of.includes(q));
  return ends(first).flatMap((p) => ends(second).filter((q) => joined(p, q)).map((q) => [p, q]))[0];
}

/** The ends of two lines that enclose an angle: from their common point outward, if there is one. */
export function anglePoints(sketch, [first, second]) {
  const [u, v] = [first, second].map((id) => curveOf(sketch, id));
  const [p, q] = sharedEnds(sketch, [first, second]) ?? [u.a, v.a];
  return [p, p === u.a ? u.b : u.a, q, q === v.a ? v.b : v.a];
}

/** The current value of a dimension of this kind; null for constraints without a value. */
export function measure(sketch, kind, of) {
  const places = (kind === 'angle' ? anglePoints(sketch, of) : of.flatMap((id) => pointsOf(sketch, id))).map((id) => pointOf(sketch, id));
  if (kind === 'radius') return curveOf(sketch, of[0]).radius;
  if (kind === 'angle') {
    const [a, b, c, d] = places;
    const turn = Math.atan2(d.y - c.y, d.x - c.x) - Math.atan2(b.y - a.y, b.x - a.x);
    return (Math.atan2(Math.sin(turn), Math.cos(turn)) * 180) / Math.PI;
  }
  if (kind !== 'distance') return null;
  const [p, a, b] = places;
  if (b === undefined) return Math.hypot(a.x - p.x, a.y - p.y);
  return Math.abs((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x)) / Math.hypot(b.x - a.x, b.y - a.y);
}

// ---------------------------------------------------------------- files

const inThousands = (value) => value.toLocaleString('en-US');

/** A sketch from a file's text. Throws an Error with the reason for an invalid one. */
export function readSketch(text) {
  let read;
  try {
    read = JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not a sketch: ${error.message}`, { cause: error });
  }
  const fail = (what) => {
    throw new Error(`This is not a sketch: ${what}`);
  };
  const list = (name) => (Array.isArray(read?.[name]) ? read[name] : fail(`"${name}" should be a list`));
  const sketch = emptySketch();
  const seen = new Set();
  const fresh = (id, what) => {
    if (!Number.isSafeInteger(id) || id < 1 || seen.has(id)) fail(`${what} has the id ${JSON.stringify(id)}; it takes a whole number from 1 that nothing else has`);
    seen.add(id);
    return id;
  };
  const number = (value, what, most) => {
    if (!Number.isFinite(value)) fail(`${what} is ${typeof value === 'number' ? value : JSON.stringify(value)}, not a finite number`);
    return Math.abs(value) <= most ? value : fail(`${what} is ${value}; it takes at most ${inThousands(most)} either way`);
  };
  const radius = (value, what) => (number(value, what, LARGEST) > 0 ? value : fail(`${what} is ${value}; it takes more than 0`));
  /** 0 is valid for a distance: two points at one place have it. */
  const distance = (value, what) => (number(value, what, LARGEST) >= 0 ? value : fail(`${what} is ${value}; it takes none below 0`));
  const dimensions = { radius, distance, angle: (value, what) => number(value, what, 360) };
  const different = (ids, what) => (new Set(ids).size === ids.length ? ids : fail(`${what} has ${ids.find((id, k) => ids.indexOf(id) < k)} twice`));
  for (const { id, x, y } of list('points')) sketch.points.push({ id: fresh(id, 'a point'), x: number(x, `x of point ${id}`, LARGEST), y: number(y, `y of point ${id}`, LARGEST) });
  for (const curve of list('curves')) {
    const ends = Object.hasOwn(CURVES, curve?.kind) ? CURVES[curve.kind] : fail(`a curve is a ${JSON.stringify(curve?.kind)}; it takes ${Object.keys(CURVES).join(', ')}`);
    const id = fresh(curve.id, `a ${curve.kind}`);
    for (const end of ends) if (pointOf(sketch, curve[end]) === undefined) fail(`${end} of ${curve.kind} ${id} is point ${JSON.stringify(curve[end])}, which is not there`);
    different(ends.map((end) => curve[end]), `${curve.kind} ${id}`);
    const kept = { id, kind: curve.kind, ...Object.fromEntries(ends.map((end) => [end, curve[end]])) };
    sketch.curves.push(curve.kind === 'line' ? kept : { ...kept, radius: radius(curve.radius, `the radius of ${curve.kind} ${id}`) });
  }
  for (const { id, kind, of, value } of list('constraints')) {
    if (!Object.hasOwn(CONSTRAINTS, kind)) fail(`a constraint is ${JSON.stringify(kind)}; it takes ${Object.keys(CONSTRAINTS).join(', ')}`);
    fresh(id, `${kind}`);
    if (!Array.isArray(of) || of.some((other) => kindOf(sketch, other) === undefined)) fail(`${kind} ${id} is of ${JSON.stringify(of)}, which is not all there`);
    if (!CONSTRAINTS[kind].takes.includes(patternOf(sketch, of))) fail(`${kind} ${id} is of ${patternOf(sketch, of)}; it takes ${CONSTRAINTS[kind].takes.join(', or ')}`);
    different(of, `${kind} ${id}`);
    sketch.constraints.push({ id, kind, of: inOrder(sketch, of), ...(CONSTRAINTS[kind].unit === undefined ? {} : { value: dimensions[kind](value, `the value of ${kind} ${id}`) }) });
  }
  return sketch;
}

export const writeSketch = (sketch) => `${JSON.stringify(sketch, null, 1)}\n`;
