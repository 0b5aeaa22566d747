/**
 * An elastic body in the plane, in a box with a round obstacle. Each time step of backward Euler minimises an energy over the places x of all vertices:
 *
 *     Σ m/(2h²) |x − x̃|²  +  Σ A ψ(F)  +  κ Σ b(distance)  +  Σ k/2 |x − goal|²
 *
 * Inertia pulls each vertex to x̃ = x + h v + h² g, where it would go by itself. ψ is a neo-Hookean energy of the deformation F of a triangle (Bonet and Wood,
 * "Nonlinear Continuum Mechanics for Finite Element Analysis", 1997), infinite where a triangle turned over. b is the barrier of incremental potential contact
 * (Li et al. 2020), infinite where a vertex touched, so that no step goes through the floor. The last term holds what the pointer has taken. Metres, kilograms, seconds.
 */
import { Mat2, Problem, V, Vec2 } from 'residua';

/** The box from −width/2 to width/2 and from 0 upwards, the obstacle in it, and the distance within which the barrier pushes. */
export const BOX = { width: 3, height: 1.7 };
export const OBSTACLE = { x: 0.1, y: 0.32, radius: 0.3 };
export const RANGE = 0.02;
export const STEP = 1 / 60;
export const GRAVITY = 9.81;
const DENSITY = 100;
/** Newton per metre squared: of the size that holds the body's weight within a third of the range. */
const STIFFNESS_OF_CONTACT = 3000;
const POISSON = 0.4;
/** Newton per metre, of each vertex that is held. */
export const GRIP = 3000;

/** Lamé's parameters, in the plane, of Young's modulus. */
export const lame = (young) => ({ mu: young / (2 * (1 + POISSON)), lambda: (young * POISSON) / ((1 + POISSON) * (1 - POISSON)) });

/** A bar of cells that are cut into two triangles each, with diagonals by turns. Its lower left corner is at (x, y). */
export function bar({ columns, rows, width, height, x = -width / 2, y = 0 }) {
  const at = (column, row) => row * (columns + 1) + column;
  const positions = [], triangles = [], boundary = [];
  for (let row = 0; row <= rows; row++) {
    for (let column = 0; column <= columns; column++) {
      positions.push(x + (width * column) / columns, y + (height * row) / rows);
      if (row === 0 || row === rows || column === 0 || column === columns) boundary.push(at(column, row));
      if (row === rows || column === columns) continue;
      const [a, b, c, d] = [at(column, row), at(column + 1, row), at(column + 1, row + 1), at(column, row + 1)];
      triangles.push(...((row + column) % 2 === 0 ? [a, b, c, a, c, d] : [a, b, d, b, c, d]));
    }
  }
  return { positions: Float64Array.from(positions), triangles: Uint32Array.from(triangles), boundary: Uint32Array.from(boundary) };
}

/** Twice the area of a triangle, positive where it is counterclockwise. */
export function doubleArea(x, [a, b, c]) {
  return (x[2 * b] - x[2 * a]) * (x[2 * c + 1] - x[2 * a + 1]) - (x[2 * c] - x[2 * a]) * (x[2 * b + 1] - x[2 * a + 1]);
}

/** The least distance of vertices to the box and the obstacle; negative where one is inside. */
export const clearance = (x, vertices) =>
  vertices.reduce((least, v) => Math.min(least, x[2 * v + 1], BOX.width / 2 - Math.abs(x[2 * v]), Math.hypot(x[2 * v] - OBSTACLE.x, x[2 * v + 1] - OBSTACLE.y) - OBSTACLE.radius), Infinity);

/** @param {ReturnType<typeof bar>} mesh at rest, where it touches nothing @param {number} young Young's modulus in N/m */
export function elasticBody({ positions, triangles, boundary }, young) {
  const count = positions.length / 2;
  const corners = Array.from({ length: triangles.length / 3 }, (_, t) => [...triangles.subarray(3 * t, 3 * t + 3)]);
  const areas = corners.map((corner) => doubleArea(positions, corner) / 2);
  const masses = new Float64Array(count);
  corners.forEach((corner, t) => corner.forEach((vertex) => (masses[vertex] += (DENSITY * areas[t]) / 3)));
  const stuff = (modulus) => areas.flatMap((area) => [area * lame(modulus).mu, area * lame(modulus).lambda]);
  /** The inverse of the matrix of two edges at rest, column after column. */
  const inverses = corners.flatMap(([a, b, c], t) => {
    const edge = (to, axis) => positions[2 * to + axis] - positions[2 * a + axis];
    return [edge(c, 1), -edge(b, 1), -edge(c, 0), edge(b, 0)].map((value) => value / (2 * areas[t]));
  });

  const problem = new Problem();
  const places = problem.parameters('places', { dim: 2, values: positions });
  const each = places.at(Array.from({ length: count }, (_, v) => v));
  const inertia = problem.residuals('inertia', {
    inputs: { p: each, target: problem.data(positions, 2), factor: problem.data(masses.map((mass) => mass / (2 * STEP ** 2))) },
    residual: ({ p, target: [x, y], factor }) => p.x.sub(x).square().add(p.y.sub(y).square()).mul(factor),
  });
  const elasticity = problem.residuals('elasticity', {
    inputs: { p: places.at(triangles, 3), rest: problem.data(inverses, 4), stuff: problem.data(stuff(young), 2) },
    residual: ({ p: [a, b, c], rest: [r0, r1, r2, r3], stuff: [mu, lambda] }) => {
      const f = Mat2.fromColumns(b.sub(a), c.sub(a)).matmul(Mat2.fromColumns(new Vec2(r0, r1), new Vec2(r2, r3)));
      const stretch = V.log(f.determinant);
      const energy = f.squaredNorm.sub(2).sub(stretch.mul(2)).mul(mu).add(stretch.square().mul(lambda)).mul(0.5);
      return V.ifThenElse(f.determinant.gt(0), energy, Infinity);
    },
  });
  const skin = places.at(boundary);
  problem.residuals('contact', {
    inputs: { p: skin },
    residual: ({ p }) => {
      const round = V.sqrt(p.x.sub(OBSTACLE.x).square().add(p.y.sub(OBSTACLE.y).square())).sub(OBSTACLE.radius);
      const distances = [p.y, p.x.add(BOX.width / 2), p.x.neg().add(BOX.width / 2), round];
      return V.sum(distances.map((distance) => V.barrier(distance, RANGE))).mul(STIFFNESS_OF_CONTACT);
    },
  });
  // A goal's numbers are x, y and half the stiffness, which is 0 but for what is held.
  const goals = new Float64Array(3 * count);
  const grip = problem.residuals('grip', {
    inputs: { p: each, goal: problem.data(goals, 3) },
    residual: ({ p, goal: [x, y, half] }) => p.x.sub(x).square().add(p.y.sub(y).square()).mul(half),
  });

  let velocity = new Float64Array(2 * count);
  return {
    problem, places, masses, corners, areas, boundary,
    get velocity() {
      return velocity;
    },
    /** Adds to the speed of all vertices. */
    push(dx, dy) {
      velocity = velocity.map((value, i) => value + (i % 2 === 0 ? dx : dy));
    },
    setStiffness(modulus) {
      elasticity.setData('stuff', stuff(modulus));
    },
    /** Holds vertices at goals, a place each; without any it lets go. */
    hold(vertices, places) {
      goals.fill(0);
      vertices.forEach((vertex, k) => goals.set([...places[k], GRIP / 2], 3 * vertex));
      grip.setData('goal', goals);
    },
    /** Sets x̃ before a step, and gives a function that takes the velocity from what the step found. */
    begin(gravity) {
      const before = places.values();
      inertia.setData('target', before.map((x, i) => x + STEP * velocity[i] - (i % 2 === 1 ? STEP ** 2 * gravity : 0)));
      return () => {
        velocity = places.values().map((x, i) => (x - before[i]) / STEP);
      };
    },
    reset() {
      places.set(positions);
      velocity = new Float64Array(2 * count);
      this.hold([], []);
    },
  };
}
