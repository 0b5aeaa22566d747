/**
 * A hanging cloth: a grid of vertices connected by springs, and one implicit time step as a least-squares problem. Takes the numbers of
 * vertices and the material; returns the Problem, whose minimum is the position one step later.
 *
 * Backward Euler is a minimisation (Martin et al., Example-Based Elastic Materials, 2011, section 5): with x̂ = x + h v + h² M⁻¹ f, the
 * positions without springs, the next positions minimise
 *
 *     m / 2h² Σ ‖xᵢ − x̂ᵢ‖²  +  k/2 Σ (|d| − L)²  +  b/2 Σ ‖xᵢ₋₁ − 2xᵢ + xᵢ₊₁‖²        d from one end of a spring to the other, L its rest
 *     length
 *
 * so a step of any length is stable: the objective never increases. x̂ is a data input, which prediction.js or prediction-on-device.js
 * computes, so that on the GPU a step transfers no positions.
 */
import { Problem, V } from 'residua';

/** The material, in metres, kilograms, seconds and newtons: a light cotton. */
export const STUFF = Object.freeze({
  /** Mass of a square metre. */
  density: 0.2,
  /**
   * Stiffness of a spring along the grid, N/m. A strip of any width stretches by half its weight over this, for every number of vertices.
   */
  stretch: 200,
  /** Stiffness of a diagonal spring, N/m. */
  shear: 40,
  /** Bending stiffness in newton metres: a square metre of curvature κ has the energy κ²/2 times this. */
  bending: 2e-5,
  gravity: 9.81,
});

/** The stiffness of the attachment to the pointer and to pins, N/m. */
const HOLD = 1000, PIN = 20000;

/**
 * A spring's residual, a vector along it with |r|² = (|d| − L)². The Gauss-Newton model of |d| − L alone has no stiffness across the
 * spring, where a taut one has 1 − L/|d| of that along it. The vertices of a fine cloth are so light that steps without it overshoot a
 * thousandfold. So a term is added that is always 0 and whose derivative is not: JᵀJ becomes Newton's matrix without its negative part
 * (Choi and Ko, Stable but Responsive Cloth, 2002), and Jᵀr remains the gradient.
 */
export function springResidual(a, b, restLength) {
  const d = b.sub(a);
  const length = d.magnitude;
  const along = [...d.normalized].map(V.stopGradient);
  const motion = [...d].map((component) => component.sub(V.stopGradient(component)));
  const across = V.sqrt(V.stopGradient(V.max(0, V.sub(1, V.div(restLength, V.max(length, restLength))))));
  const alongPart = V.sum(along.map((direction, axis) => direction.mul(motion[axis])));
  return along.map((direction, axis) => direction.mul(length.sub(restLength)).add(across.mul(motion[axis].sub(direction.mul(alongPart)))));
}

/** The second difference of three neighbours in a row. */
export const bendingResidual = (a, b, c) => a.add(c).sub(b.mul(2));

/** All runs in the grid of `count` vertices, each `down` rows and `across` columns from the previous one. */
function runs({ rows, columns }, down, across, count) {
  const [reachDown, reachAcross] = [down * (count - 1), across * (count - 1)];
  const [first, end] = [Math.max(0, -reachAcross), columns - Math.max(0, reachAcross)];
  const indices = new Uint32Array(Math.max(0, rows - reachDown) * Math.max(0, end - first) * count);
  let filled = 0;
  for (let row = 0; row < rows - reachDown; row++) {
    for (let column = first; column < end; column++) {
      for (let k = 0; k < count; k++) indices[filled++] = (row + down * k) * columns + column + across * k;
    }
  }
  return indices;
}

/** The runs of several directions, one after another. */
function joined(grid, count, directions) {
  const parts = directions.map(([down, across]) => runs(grid, down, across, count));
  const all = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let filled = 0;
  for (const part of parts) {
    all.set(part, filled);
    filled += part.length;
  }
  return all;
}

/**
 * A grid of vertices, row after row, with its first row at the top.
 * @param {number} rows
 * @param {number} columns
 * @param {number} width in metres, of the rows; of a single column its height. The spacing is the same both ways
 */
export function clothGrid(rows, columns = rows, width = 2) {
  const spacing = width / Math.max(1, (columns > 1 ? columns : rows) - 1);
  return { rows, columns, count: rows * columns, spacing, width: spacing * (columns - 1), height: spacing * (rows - 1) };
}

/**
 * Material and step for a cloth of side × side vertices, within the limits of single precision and of a frame's iterations. A position near
 * 1 m is rounded by 6e-8 m; times the stiffness this is a force that must stay below a vertex's weight, which decreases with the square of
 * the side, so a finer cloth is softer. Inertia must be large enough relative to springs for conjugate gradients to converge within a
 * frame, so a finer cloth has shorter steps.
 */
export function suited(side) {
  const coarse = Math.min(1, 320 / side);
  return { stretch: STUFF.stretch * coarse, bending: STUFF.bending * coarse ** 2, step: side <= 320 ? 1 / 60 : 1 / 120, iterations: side <= 128 ? 2 : 1 };
}

/** The initial positions: level, with the first row along x at the origin and the others behind it along −z. */
export function spreadOut({ rows, columns, spacing, width }) {
  const positions = new Float64Array(3 * rows * columns);
  for (let row = 0, at = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++, at += 3) {
      positions[at] = column * spacing - width / 2;
      positions[at + 2] = -row * spacing;
    }
  }
  return positions;
}

/** The ways of pinning a cloth. A corner is a patch, because a single vertex of a fine grid would be held by two springs. */
export const PINNINGS = Object.freeze({ 'two corners': twoCorners, 'four corners': fourCorners, 'upper edge': upperEdge, 'three rings': rings, none: () => [] });

function near(grid, corners) {
  const reach = Math.max(0, Math.round((0.02 * Math.max(grid.width, grid.height)) / grid.spacing));
  const found = new Set();
  for (const [row, column] of corners) {
    for (let r = Math.max(0, row - reach); r <= Math.min(grid.rows - 1, row + reach); r++) {
      for (let c = Math.max(0, column - reach); c <= Math.min(grid.columns - 1, column + reach); c++) found.add(r * grid.columns + c);
    }
  }
  return [...found];
}
function twoCorners(grid) {
  return near(grid, [[0, 0], [0, grid.columns - 1]]);
}
function fourCorners(grid) {
  return near(grid, [0, grid.rows - 1].flatMap((row) => [[row, 0], [row, grid.columns - 1]]));
}
function upperEdge(grid) {
  return Array.from({ length: grid.columns }, (_, column) => column);
}
function rings(grid) {
  return near(grid, [0, Math.floor((grid.columns - 1) / 2), grid.columns - 1].map((column) => [0, column]));
}

/**
 * The problem of one step.
 * @param {ReturnType<typeof clothGrid>} grid
 * @param {Float64Array} positions the current positions
 */
export function clothProblem(grid, positions) {
  const problem = new Problem();
  const vertices = problem.parameters('vertices', { dim: 3, values: positions });
  const inertia = problem.residuals('inertia', {
    inputs: {
      x: vertices.at(runs(grid, 0, 0, 1)), target: problem.data(positions, 3),
      // 1, and more where a vertex is pinned or dragged.
      grip: problem.data(new Float64Array(grid.count).fill(1)),
    },
    residual: ({ x, target, grip }) => x.sub(target).mul(grip),
  });
  const springs = (name, indices, restLength) => (indices.length === 0 ? null : problem.residuals(name, {
    inputs: { ends: vertices.at(indices, 2) },
    residual: ({ ends: [a, b] }) => springResidual(a, b, restLength),
  }));
  const straights = joined(grid, 3, [[0, 1], [1, 0]]);
  const blocks = {
    inertia,
    stretch: springs('stretch', joined(grid, 2, [[0, 1], [1, 0]]), grid.spacing),
    shear: springs('shear', joined(grid, 2, [[1, 1], [1, -1]]), Math.SQRT2 * grid.spacing),
    bending: straights.length === 0 ? null : problem.residuals('bending', {
      inputs: { row: vertices.at(straights, 3) },
      residual: ({ row: [a, b, c] }) => bendingResidual(a, b, c),
    }),
  };
  return { problem, vertices, ...blocks };
}

/** Mass of a vertex, kg. */
export const vertexMass = ({ spacing }, { density }) => density * spacing * spacing;

/** Sets the weights of a problem of clothProblem for a material and a time step, without recompiling. */
export function setStuff({ inertia, stretch, shear, bending }, grid, stuff, step) {
  inertia.setWeight(vertexMass(grid, stuff) / step ** 2);
  stretch?.setWeight(stuff.stretch);
  shear?.setWeight(stuff.shear);
  // κ is the second difference over spacing², and a vertex has the area spacing².
  bending?.setWeight(stuff.bending / grid.spacing ** 2);
}

/** The factors of the residuals of dragged and pinned vertices, relative to 1 of others. */
export function grips(grid, stuff, step) {
  const inertia = vertexMass(grid, stuff) / step ** 2;
  return { holdGrip: Math.sqrt(1 + HOLD / inertia), pinGrip: Math.sqrt(1 + PIN / inertia) };
}

/**
 * Options of Levenberg-Marquardt for a step. Damping acts like friction, so it begins far below inertia and grows only in steps that do not
 * decrease the objective.
 * @param {number} linearIterations maximum iterations of conjugate gradients; each propagates a force by one vertex
 */
export function stepOptions(grid, stuff, step, { iterations, linearIterations, linearTolerance = 0.02 }) {
  const stiffest = 6 * stuff.stretch + 4 * stuff.shear;
  return {
    maxIterations: iterations,
    maxLinearIterations: linearIterations,
    linearTolerance,
    initialDamping: Math.min(1e-4, (0.01 * (vertexMass(grid, stuff) / step ** 2)) / stiffest),
    costTolerance: 1e-4,
    gradientTolerance: 0,
    parameterTolerance: 0,
  };
}

/** Kinetic energy, and that of springs, bending and height, in joules; for tests. */
export function energies(grid, stuff, x, previous, step) {
  const mass = vertexMass(grid, stuff);
  let kinetic = 0, potential = 0;
  for (let k = 0; k < x.length; k++) kinetic += 0.5 * mass * ((x[k] - previous[k]) / step) ** 2;
  for (let k = 1; k < x.length; k += 3) potential += mass * stuff.gravity * x[k];
  const spring = (indices, restLength, stiffness) => {
    for (let k = 0; k < indices.length; k += 2) {
      const [a, b] = [3 * indices[k], 3 * indices[k + 1]];
      potential += 0.5 * stiffness * (Math.hypot(x[b] - x[a], x[b + 1] - x[a + 1], x[b + 2] - x[a + 2]) - restLength) ** 2;
    }
  };
  spring(joined(grid, 2, [[0, 1], [1, 0]]), grid.spacing, stuff.stretch);
  spring(joined(grid, 2, [[1, 1], [1, -1]]), Math.SQRT2 * grid.spacing, stuff.shear);
  const rows = joined(grid, 3, [[0, 1], [1, 0]]);
  for (let k = 0; k < rows.length; k += 3) {
    for (let axis = 0; axis < 3; axis++) {
      const [a, b, c] = [x[3 * rows[k] + axis], x[3 * rows[k + 1] + axis], x[3 * rows[k + 2] + axis]];
      potential += 0.5 * (stuff.bending / grid.spacing ** 2) * (a - 2 * b + c) ** 2;
    }
  }
  return { kinetic, potential };
}
