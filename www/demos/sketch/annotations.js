/**
 * The positions of a sketch's signs and dimensions in the picture. Takes a sketch and the map from millimetres to pixels; returns for each
 * constraint its lines, text and position, in pixels with y down.
 */
import { anglePoints, CONSTRAINTS, constraintOf, curveOf, pointOf } from './sketch.js';

/** Pixels. */
const GAP = 24, SIGN = 17, ARROW = 7;

const minus = ([a, b], [c, d]) => [a - c, b - d];
const plus = ([a, b], [c, d], factor = 1) => [a + factor * c, b + factor * d];
const middle = (a, b) => plus(a, minus(b, a), 0.5);
const unit = ([x, y]) => {
  const length = Math.hypot(x, y) || 1;
  return [x / length, y / length];
};
const left = ([x, y]) => [-y, x];
const dot = ([a, b], [c, d]) => a * c + b * d;
const text = ([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`;

/** Lengths to a hundredth, angles to a tenth, without trailing zeros. */
export const inDigits = (value, unitName) => String(Number(value.toFixed(unitName === '°' ? 1 : 2)));

/** An arrow head at `at` with direction `direction`. */
function head(at, direction) {
  const back = plus(at, direction, -ARROW), side = left(direction);
  return `M${text(plus(back, side, 0.38 * ARROW))}L${text(at)}L${text(plus(back, side, -0.38 * ARROW))}`;
}

/** A dimension from a to b, drawn `gap` pixels to one side. */
function between(a, b, side, gap) {
  const along = unit(minus(b, a));
  const [p, q] = [plus(a, side, gap), plus(b, side, gap)];
  const wide = Math.hypot(...minus(q, p)) > 3 * ARROW;
  const heads = wide ? head(p, [-along[0], -along[1]]) + head(q, along) : head(p, along) + head(q, [-along[0], -along[1]]);
  const over = gap === 0 ? '' : `M${text(plus(a, side, Math.sign(gap) * 3))}L${text(plus(p, side, Math.sign(gap) * 4))}M${text(plus(b, side, Math.sign(gap) * 3))}L${text(plus(q, side, Math.sign(gap) * 4))}`;
  return { path: `M${text(p)}L${text(q)}${heads}`, help: over, at: middle(p, q) };
}

/**
 * @param {ReturnType<typeof import('./sketch.js').emptySketch>} sketch
 * @param {(point: { x: number, y: number }) => [number, number]} toPixels
 * @param {number} scale pixels per millimetre
 * @returns {{ id: number, sign?: string, label?: string, at: [number, number], path?: string, help?: string }[]}
 */
export function annotations(sketch, toPixels, scale) {
  const place = (id) => toPixels(pointOf(sketch, id));
  const center = sketch.points.length === 0 ? [0, 0] : sketch.points.reduce((sum, point) => plus(sum, toPixels(point), 1 / sketch.points.length), [0, 0]);
  /** The side of a line that is away from the rest. */
  const outward = (a, b) => {
    const normal = left(unit(minus(b, a)));
    return dot(normal, minus(middle(a, b), center)) >= 0 ? normal : normal.map((value) => -value);
  };
  const ends = (line) => {
    const { a, b } = curveOf(sketch, line);
    return [place(a), place(b)];
  };
  const isLine = (id) => curveOf(sketch, id)?.kind === 'line';
  const isRound = (id) => curveOf(sketch, id) !== undefined && !isLine(id);

  /** The direction from the centre to the middle of an arc, in pixels; `otherwise` for a circle. */
  function middleOf({ kind, center: c, start, end }, otherwise) {
    if (kind !== 'arc') return otherwise;
    const [s, e] = [start, end].map((point) => minus(place(point), place(c))).map(([x, y]) => Math.atan2(-y, x));
    return -(s + ((((e - s) % (2 * Math.PI)) + 2 * Math.PI) % (2 * Math.PI)) / 2);
  }

  /** The number of signs beside an object so far. */
  const beside = new Map();
  const stack = (key) => {
    const count = beside.get(key) ?? 0;
    beside.set(key, count + 1);
    return count;
  };
  /** On the inner side of a line, from its middle on; dimensions are on the outer side. */
  const byLine = (line) => {
    const [a, b] = ends(line);
    const along = unit(minus(b, a)), count = stack(line);
    const shift = (Math.ceil(count / 2) * (count % 2 === 0 ? 1 : -1)) * (SIGN + 2);
    return plus(plus(middle(a, b), outward(a, b), -13), along, shift);
  };
  const byPoint = (at, key) => plus(at, [14 + stack(key) * (SIGN + 2), -14]);
  const byRound = (round) => {
    const { center: c, radius } = curveOf(sketch, round);
    const angle = middleOf(curveOf(sketch, round), -0.6) - 0.5 * stack(round);
    return plus(place(c), [Math.cos(angle), Math.sin(angle)], radius * scale + 12);
  };
  const by = (id) => (isLine(id) ? byLine(id) : isRound(id) ? byRound(id) : byPoint(place(id), id));

  function dimension({ id, kind, of, value }) {
    const { unit: unitName } = CONSTRAINTS[kind];
    const label = inDigits(value, unitName) + (unitName === '°' ? '°' : '');
    if (kind === 'radius') {
      const { center: c, radius } = curveOf(sketch, of[0]);
      const angle = middleOf(curveOf(sketch, of[0]), -Math.PI / 4);
      const way = [Math.cos(angle), Math.sin(angle)];
      const rim = plus(place(c), way, radius * scale), out = plus(rim, way, 22);
      return { id, label: `R${label}`, at: plus(out, [14 * Math.sign(way[0] || 1), 0]), path: `M${text(place(c))}L${text(out)}${head(rim, way)}`, help: '' };
    }
    if (kind === 'angle') return { id, label, ...angle(of) };
    const points = of.filter((other) => !isLine(other)).map(place);
    const [a, b] = points.length === 2 ? points : points.length === 0 ? ends(of[0]) : [points[0], foot(points[0], ends(of.find(isLine)))];
    const side = points.length === 1 ? left(unit(minus(b, a))) : outward(a, b);
    const { path, help, at } = between(a, b, side, points.length === 1 ? 0 : GAP);
    return { id, label, at, path, help };
  }

  function foot(p, [a, b]) {
    const along = unit(minus(b, a));
    return plus(a, along, dot(minus(p, a), along));
  }

  /** The arc of an angle, around the intersection of the lines. */
  function angle(of) {
    const [a, b, c, d] = anglePoints(sketch, of).map(place);
    const u = unit(minus(b, a)), v = unit(minus(d, c));
    const turn = u[0] * v[1] - u[1] * v[0];
    let apex = middle(middle(a, b), middle(c, d));
    if (Math.abs(turn) > 0.02) {
      const w = minus(c, a);
      apex = plus(a, u, (w[0] * v[1] - w[1] * v[0]) / turn);
    }
    const [from, to] = [Math.atan2(u[1], u[0]), Math.atan2(v[1], v[0])];
    const size = Math.atan2(Math.sin(to - from), Math.cos(to - from));
    const radius = 30;
    const at = (part) => plus(apex, [Math.cos(from + part * size), Math.sin(from + part * size)], radius);
    const arrow = (part, way) => head(at(part), left([Math.cos(from + part * size), Math.sin(from + part * size)]).map((value) => value * way * Math.sign(size)));
    const long = Math.abs(size) * radius > 3 * ARROW;
    return {
      path: `M${text(at(0))}A${radius} ${radius} 0 0 ${size > 0 ? 1 : 0} ${text(at(1))}${long ? arrow(0, -1) + arrow(1, 1) : ''}`,
      help: `M${text(apex)}L${text(plus(apex, u, radius + 5))}M${text(apex)}L${text(plus(apex, v, radius + 5))}`,
      at: plus(apex, [Math.cos(from + size / 2), Math.sin(from + size / 2)], radius + 17),
    };
  }

  return sketch.constraints.flatMap((constraint) => {
    const { id, kind, of } = constraint;
    const { sign, unit: unitName } = CONSTRAINTS[kind];
    if (unitName !== undefined) return [dimension(constraint)];
    // One sign beside each of two lines or circles; otherwise one at the object.
    if (kind === 'parallel' || kind === 'equal') return of.map((other) => ({ id, sign, at: by(other) }));
    if (kind === 'perpendicular') return [{ id, sign, at: byLine(of[0]) }];
    if ((kind === 'horizontal' || kind === 'vertical') && of.length === 2) return [{ id, sign, at: plus(middle(place(of[0]), place(of[1])), [0, -2]), help: `M${text(place(of[0]))}L${text(place(of[1]))}` }];
    if (kind === 'tangent') return [{ id, sign, at: touching(of) }];
    return [{ id, sign, at: by(of[0]) }];
  });

  /** Slightly inside the round curve, at the point of tangency. */
  function touching(of) {
    const round = curveOf(sketch, of.at(-1)), c = place(round.center);
    const towards = isLine(of[0]) ? foot(c, ends(of[0])) : place(curveOf(sketch, of[0]).center);
    return plus(c, unit(minus(towards, c)), Math.max(4, round.radius * scale - 12));
  }
}

/** The ids of a constraint's curves and points, for highlighting. */
export const about = (sketch, id) => constraintOf(sketch, id)?.of ?? [];
