/**
 * The positions of a cloth's vertices after a time step without springs: x̂ = x + h v + h² (gravity + wind), which is the target of the
 * step's problem. This is the JavaScript version for the CPU engine; prediction-on-device.js has the same for the GPU, in the same order of
 * operations.
 *
 * Wind is the drag of a plate: a vertex with area A (a vector along the normal, from its neighbours) with air at relative speed u has the
 * force ½ρ C |uₙ| uₙ |A| along the normal. It is implicit, so that no gust makes a light cloth faster than the air.
 */

/** ½ρ C, kg/m³: air at 20 °C, and the drag coefficient 1.3 of a plate across the flow. */
export const AIR = 0.5 * 1.2 * 1.3;

/** The conditions of a prediction: speeds in m/s, seconds, metres. */
export const CALM = Object.freeze({ step: 1 / 60, lastStep: 1 / 60, gravity: 9.81, density: 0.2, air: AIR, damping: 0.3, wind: [0, 0, 0], gusts: 0, time: 0, held: -1, heldAt: [0, 0, 0], holdGrip: 1, pinGrip: 1 });

/** The states of a vertex: free, pinned at its target, to be pinned at its current position. */
export const FREE = 0, PINNED = 1, PIN_HERE = 2;

/**
 * Gusts: the wind at a place and time, as a factor and a sideways component. They are waves of incommensurable lengths, so the pattern does
 * not repeat.
 * @returns {[number, number]}
 */
export function gust(x, y, z, time, gusts) {
  const a = Math.sin(1.3 * x + 0.7 * y + 2.1 * time) * Math.sin(0.9 * z - 1.1 * x + 1.3 * time);
  const b = Math.sin(2.9 * y - 1.7 * x + 3.7 * time + 1) * Math.sin(0.53 * time);
  return [1 + gusts * (0.8 * a + 0.4 * b), gusts * 0.5 * Math.sin(1.9 * x + 1.1 * z - 1.7 * time)];
}

/**
 * Writes x̂ to `target`, the weight of each vertex's inertia to `grip` (1, and more for pinned or dragged vertices), and x to `previous`.
 * Pins are targets, not constants, so they never have to be read from the device.
 * @param {{ rows: number, columns: number, spacing: number }} grid
 * @param {{ x: Float64Array, previous: Float64Array, target: Float64Array, grip: Float64Array, pins: Uint32Array }} numbers current
 *   positions, those one step ago, targets; FREE, PINNED or
 *   PIN_HERE, which becomes PINNED
 * @param {typeof CALM} conditions
 */
export function predict({ rows, columns, spacing }, { x, previous, target, grip, pins }, { step, lastStep, gravity, density, air, damping, wind, gusts, time, held, heldAt, holdGrip, pinGrip }) {
  const mass = density * spacing * spacing;
  const keep = 1 / (1 + damping * step);
  const calm = wind[0] === 0 && wind[1] === 0 && wind[2] === 0;
  for (let row = 0, at = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++, at += 3) {
      let vx = (keep * (x[at] - previous[at])) / lastStep, vy = (keep * (x[at + 1] - previous[at + 1])) / lastStep, vz = (keep * (x[at + 2] - previous[at + 2])) / lastStep;
      vy -= step * gravity;
      // Neighbours; at an edge the vertex itself, which gives half the area.
      const left = column > 0 ? at - 3 : at, right = column + 1 < columns ? at + 3 : at;
      const up = row > 0 ? at - 3 * columns : at, down = row + 1 < rows ? at + 3 * columns : at;
      const ax = x[right] - x[left], ay = x[right + 1] - x[left + 1], az = x[right + 2] - x[left + 2];
      const bx = x[down] - x[up], by = x[down + 1] - x[up + 1], bz = x[down + 2] - x[up + 2];
      const nx = 0.25 * (ay * bz - az * by), ny = 0.25 * (az * bx - ax * bz), nz = 0.25 * (ax * by - ay * bx);
      const area = Math.sqrt(nx * nx + ny * ny + nz * nz);
      if (area > 0) {
        const [factor, swerve] = calm ? [0, 0] : gust(x[at], x[at + 1], x[at + 2], time, gusts);
        const ux = factor * wind[0] - swerve * wind[2] - vx, uy = factor * wind[1] - vy, uz = factor * wind[2] + swerve * wind[0] - vz;
        const across = (ux * nx + uy * ny + uz * nz) / area;
        const push = (step * air * area * Math.abs(across)) / mass;
        const change = (across * push) / (1 + push) / area;
        vx += change * nx;
        vy += change * ny;
        vz += change * nz;
      }
      previous[at] = x[at];
      previous[at + 1] = x[at + 1];
      previous[at + 2] = x[at + 2];
      const vertex = at / 3, pinned = pins[vertex] !== FREE;
      grip[vertex] = pinned ? pinGrip : 1;
      // A pinned vertex keeps its target.
      if (pins[vertex] !== PINNED) {
        const free = pinned ? 0 : step;
        target[at] = x[at] + free * vx;
        target[at + 1] = x[at + 1] + free * vy;
        target[at + 2] = x[at + 2] + free * vz;
      }
      if (pinned) pins[vertex] = PINNED;
    }
  }
  if (held < 0) return;
  target.set(heldAt, 3 * held);
  grip[held] = holdGrip;
}
