/**
 * A sketch as a least-squares problem: each constraint is a residual in millimetres that is 0 where the constraint holds. Takes a sketch;
 * returns the Problem, the owner of each residual, and a pull for each point, which attracts it to the pointer or to its current position.
 *
 * Dimensions and directions are data, so they change without compiling. Adding or removing constraints compiles again.
 */
import { Problem, V } from 'residua';
import { anglePoints, curveOf, kindOf, pointOf, pointsOf, sharedEnds } from './sketch.js';

/** The weight of a radian in millimetres: about the size of a sketch's parts. */
const RADIAN = 50;

const unit = (a, b) => b.sub(a).normalized;
/** The signed distance of p from the line through a and b, positive on its left. */
const offLine = (p, a, b) => unit(a, b).cross(p.sub(a));

/** The residual functions: the numbers of points, radii and data of an instance, and the number of residuals. */
const RESIDUALS = {
  coincident: { points: 2, gives: 2, residual: ([p, q]) => p.sub(q) },
  horizontal: { points: 2, gives: 1, residual: ([a, b]) => b.y.sub(a.y) },
  vertical: { points: 2, gives: 1, residual: ([a, b]) => b.x.sub(a.x) },
  onLine: { points: 3, gives: 1, residual: ([p, a, b]) => offLine(p, a, b) },
  onCircle: { points: 2, radii: 1, gives: 1, residual: ([p, c], [r]) => p.distance(c).sub(r) },
  midpoint: { points: 3, gives: 2, residual: ([p, a, b]) => p.sub(a.lerp(b, 0.5)) },
  parallel: { points: 4, gives: 1, residual: ([a, b, c, d]) => unit(a, b).cross(unit(c, d)).mul(RADIAN) },
  perpendicular: { points: 4, gives: 1, residual: ([a, b, c, d]) => unit(a, b).dot(unit(c, d)).mul(RADIAN) },
  equalLength: { points: 4, gives: 1, residual: ([a, b, c, d]) => a.distance(b).sub(c.distance(d)) },
  equalRadius: { radii: 2, gives: 1, residual: (_, [r, s]) => r.sub(s) },
  /** For a line and a circle whose centre is on its left or right; the side does not change. */
  tangentLine: { points: 3, radii: 1, data: 1, gives: 1, residual: ([c, a, b], [r], [side]) => offLine(c, a, b).mul(side).sub(r) },
  /** Where a line ends on the arc, the distance is satisfied to first order without tangency; the angle is not. */
  tangentLineAt: { points: 4, gives: 1, residual: ([p, c, a, b]) => unit(p, c).dot(unit(a, b)).mul(RADIAN) },
  /** With signs +, + the curves touch from outside, otherwise from inside. */
  tangentCircles: { points: 2, radii: 2, data: 2, gives: 1, residual: ([c, d], [r, s], [signR, signS]) => c.distance(d).sub(r.mul(signR)).sub(s.mul(signS)) },
  tangentCirclesAt: { points: 3, gives: 1, residual: ([p, c, d]) => unit(p, c).cross(unit(p, d)).mul(RADIAN) },
  distance: { points: 2, data: 1, gives: 1, residual: ([p, q], _, [value]) => p.distance(q).sub(value) },
  lineDistance: { points: 3, data: 2, gives: 1, residual: ([p, a, b], _, [value, side]) => offLine(p, a, b).mul(side).sub(value) },
  radius: { radii: 1, data: 1, gives: 1, residual: (_, [r], [value]) => r.sub(value) },
  /** The difference of two angles in (−180°, 180°], so that full turns have no effect. */
  angle: {
    points: 4, data: 2, gives: 1,
    residual([a, b, c, d], _, [cos, sin]) {
      const [u, v] = [unit(a, b), unit(c, d)];
      const [x, y] = [u.dot(v), u.cross(v)];
      return V.atan2(y.mul(cos).sub(x.mul(sin)), x.mul(cos).add(y.mul(sin))).mul(RADIAN);
    },
  },
  fixed: { points: 1, data: 2, gives: 2, residual: ([p], _, [x, y]) => [p.x.sub(x), p.y.sub(y)] },
  /** The defining residual of an arc: both ends are at its radius. */
  arc: { points: 3, radii: 1, gives: 2, residual: ([c, a, b], [r]) => [a.distance(c).sub(r), b.distance(c).sub(r)] },
};

const sign = (value) => (value < 0 ? -1 : 1);

/** The residual function of a constraint, its points and radii (ids), and its data. */
function termOf(sketch, { kind, of, value }) {
  const places = of.flatMap((id) => (kindOf(sketch, id) === 'circle' || kindOf(sketch, id) === 'arc' ? [] : pointsOf(sketch, id)));
  const rounds = of.map((id) => curveOf(sketch, id)).filter((curve) => curve !== undefined && curve.kind !== 'line');
  const centers = rounds.map(({ center }) => center), radii = rounds.map(({ id }) => id);
  const side = ([p, a, b]) => {
    const [P, A, B] = [p, a, b].map((id) => pointOf(sketch, id));
    return sign((B.x - A.x) * (P.y - A.y) - (B.y - A.y) * (P.x - A.x));
  };
  switch (kind) {
    case 'coincident':
      if (rounds.length === 1) return { block: 'onCircle', points: [...places, ...centers], radii };
      return { block: places.length === 3 ? 'onLine' : 'coincident', points: places };
    case 'equal':
      return rounds.length === 2 ? { block: 'equalRadius', points: [], radii } : { block: 'equalLength', points: places };
    case 'tangent': {
      const shared = sharedEnds(sketch, of)?.[0];
      if (rounds.length === 2) {
        if (shared !== undefined) return { block: 'tangentCirclesAt', points: [shared, ...centers] };
        const [c, d] = centers.map((id) => pointOf(sketch, id)), [r, s] = rounds.map(({ radius }) => radius);
        const apart = Math.hypot(c.x - d.x, c.y - d.y), outside = Math.abs(apart - r - s) <= Math.abs(apart - Math.abs(r - s));
        return { block: 'tangentCircles', points: centers, radii, data: outside ? [1, 1] : [sign(r - s), -sign(r - s)] };
      }
      if (shared !== undefined) return { block: 'tangentLineAt', points: [shared, ...centers, ...places] };
      const points = [...centers, ...places];
      return { block: 'tangentLine', points, radii, data: [side(points)] };
    }
    case 'distance':
      return places.length === 2 ? { block: 'distance', points: places, data: [value] } : { block: 'lineDistance', points: places, data: [value, side(places)] };
    case 'radius':
      return { block: 'radius', points: [], radii, data: [value] };
    case 'angle':
      return { block: 'angle', points: anglePoints(sketch, of), data: [Math.cos((value * Math.PI) / 180), Math.sin((value * Math.PI) / 180)] };
    case 'fixed': {
      const { x, y } = pointOf(sketch, of[0]);
      return { block: 'fixed', points: places, data: [x, y] };
    }
    default:
      return { block: kind, points: places };
  }
}

/** Only round curves have radii. */
const rounds = (sketch) => sketch.curves.filter(({ kind }) => kind !== 'line');

/**
 * @param {ReturnType<typeof import('./sketch.js').emptySketch>} sketch with at least one point
 * @returns {{ problem: Problem, points, radii, pulls, owners: { constraint: number | null, curve: number | null, row: number, rows: number
 *   }[], setValues(sketch): void }}
 *   radii is null without round curves; `owners` maps residuals to constraints, or to the curve for the defining residuals of an arc
 */
export function sketchProblem(sketch) {
  const problem = new Problem();
  const points = problem.parameters('points', { dim: 2, values: sketch.points.flatMap(({ x, y }) => [x, y]) });
  const round = rounds(sketch);
  const radii = round.length === 0 ? null : problem.parameters('radii', { dim: 1, values: round.map(({ radius }) => radius) });
  const pointAt = new Map(sketch.points.map(({ id }, k) => [id, k])), radiusAt = new Map(round.map(({ id }, k) => [id, k]));

  const arcs = round.filter(({ kind }) => kind === 'arc').map(({ id, center, start, end }) => ({
    constraint: null, curve: id, term: { block: 'arc', points: [center, start, end], radii: [id] },
  }));
  const members = [...arcs, ...sketch.constraints.map((constraint) => ({ constraint: constraint.id, curve: null, term: termOf(sketch, constraint) }))];
  const owners = [], withData = [];
  for (const [name, { points: numPoints = 0, radii: numRadii = 0, data = 0, gives, residual }] of Object.entries(RESIDUALS)) {
    const instances = members.filter(({ term }) => term.block === name);
    if (instances.length === 0) continue;
    const inputs = {};
    if (numPoints > 0) inputs.p = points.at(instances.flatMap(({ term }) => term.points.map((id) => pointAt.get(id))), numPoints);
    if (numRadii > 0) inputs.r = radii.at(instances.flatMap(({ term }) => term.radii.map((id) => radiusAt.get(id))), numRadii);
    if (data > 0) inputs.v = problem.data(instances.flatMap(({ term }) => term.data), data);
    const block = problem.residuals(name, { inputs, residual: ({ p, r, v }) => residual(p, r, data === 1 ? [v] : data === 2 ? [v.x, v.y] : []) });
    instances.forEach(({ constraint, curve }, k) => owners.push({ constraint, curve, row: block.offset + k * gives, rows: gives }));
    if (data > 0) withData.push({ block, constraints: instances.map(({ constraint }) => constraint) });
  }
  // A pull for each number: its weight and target.
  const pulls = [{ array: points, dim: 2 }, ...(radii === null ? [] : [{ array: radii, dim: 1 }])].map(({ array, dim }) => ({
    array, dim,
    block: problem.residuals(`pull on ${array.name}`, {
      inputs: { at: array.at(Uint32Array.from({ length: array.count }, (_, k) => k)), target: problem.data(array.values(), dim), strength: problem.data(new Float64Array(array.count)) },
      residual: ({ at, target, strength }) => at.sub(target).mul(strength),
    }),
  }));
  return {
    problem, points, radii, pulls, owners, pointAt, radiusAt,
    /** Updates the values of dimensions and the sides of tangencies. */
    setValues(changed) {
      for (const { block, constraints } of withData) {
        block.setData('v', constraints.flatMap((id) => termOf(changed, changed.constraints.find((constraint) => constraint.id === id)).data));
      }
    },
  };
}

/** Writes the solved numbers to the sketch. */
export function takeOver(sketch, { points, radii }) {
  const xy = points.values();
  sketch.points.forEach((point, k) => Object.assign(point, { x: xy[2 * k], y: xy[2 * k + 1] }));
  const lengths = radii?.values();
  rounds(sketch).forEach((curve, k) => Object.assign(curve, { radius: lengths[k] }));
}

/** Writes the sketch's numbers to the problem. */
export function giveBack(sketch, { points, radii }) {
  points.set(sketch.points.flatMap(({ x, y }) => [x, y]));
  radii?.set(rounds(sketch).map(({ radius }) => radius));
}

/**
 * Weights of pulls, relative to 1 of a constraint: of the dragged point, which must yield to constraints, and of all others, which keep
 * their positions where possible.
 */
const PULL = 0.01, STAY = 0.0005;
/**
 * The weight of pulls while the constraints are solved to the last digit. A number that has almost no effect on a residual, such as the length
 * of a line on its direction, takes part in a damped step as any other, and would move far: damping is relative to columns of the Jacobian.
 */
const KEEP = 1e-6;

/**
 * Attracts everything to its current position, except the named points and radii, which are attracted to their targets.
 * @param {{ points?: Map<number, [number, number]>, radii?: Map<number, number> } | null} wanted by id; null: nothing is attracted
 * @param {number} [stay] the weight of what is not named
 */
export function setPulls({ pulls, points, radii, pointAt, radiusAt }, wanted, stay = STAY) {
  for (const { block, array, dim } of pulls) {
    block.setEnabled(wanted !== null);
    if (wanted === null) continue;
    const targets = array.values(), strengths = new Float64Array(array.count).fill(stay);
    const [named, places] = array === points ? [wanted.points, pointAt] : [wanted.radii, array === radii ? radiusAt : new Map()];
    for (const [id, value] of named ?? []) {
      targets.set([value].flat(), dim * places.get(id));
      strengths[places.get(id)] = PULL;
    }
    block.setData('target', targets);
    block.setData('strength', strengths);
  }
}

/** Options of Levenberg-Marquardt for a sketch: damping must be small relative to the weak pulls. */
export const SOLVE = Object.freeze({ maxIterations: 40, initialDamping: 1e-9, costTolerance: 1e-12, gradientTolerance: 1e-13, parameterTolerance: 1e-13 });
/** Single precision cannot reach smaller tolerances, and each iteration is a round trip to the device. */
const SOLVE_ON_GPU = Object.freeze({ maxIterations: 8, initialDamping: 1e-7, costTolerance: 1e-5, gradientTolerance: 1e-5, parameterTolerance: 1e-6 });
/** Residuals in pairs of f32 are exact enough for smaller ones. */
const SOLVE_IN_PAIRS = Object.freeze({ ...SOLVE_ON_GPU, costTolerance: 1e-12, gradientTolerance: 1e-10, parameterTolerance: 1e-10 });
/** The options for `functions.precision`. */
export const SOLVES = Object.freeze({ f32: SOLVE_ON_GPU, f32x2: SOLVE_IN_PAIRS, f64: SOLVE });

/** Damping far below the square of the weight of pulls, so that these decide what moves. */
const SETTLE = Object.freeze({ ...SOLVE, initialDamping: 1e-15 });

/**
 * Prepares the solve of the constraints to the last digit, in which what they leave free stays. Single precision has no digits for such weak
 * pulls, and linear systems in pairs are solved in it.
 * @param {ReturnType<typeof sketchProblem>} model
 * @param {'f32' | 'f32x2' | 'f64'} precision
 * @returns the options of Levenberg-Marquardt
 */
export function settle(model, precision) {
  if (precision !== 'f64') {
    setPulls(model, null);
    return SOLVES[precision];
  }
  setPulls(model, {}, KEEP);
  return SETTLE;
}
