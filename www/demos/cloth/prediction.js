/**
 * Where the vertices of a cloth would go in a time step if nothing joined them: x̂ = x + h v + h² (gravity + wind), which the step's problem takes as its target.
 * Here in JavaScript, for the CPU engine; prediction-on-device.js has the same for the GPU, in the same order of operations.
 *
 * Wind is what a plate feels: a vertex with area A (a vector along the normal, from its neighbours) that air meets at speed u is pushed along the normal
 * by ½ρ C |uₙ| uₙ |A|. It is taken implicitly, so that no gust makes a light cloth faster than the air.
 */

/** ½ρ C, kg/m³: air at 20 °C, and the drag coefficient 1.3 of a plate across the stream. */
export const AIR = 0.5 * 1.2 * 1.3;

/** What a prediction takes beside the positions: speeds in m/s, seconds, metres. */
export const CALM = Object.freeze({ step: 1 / 60, lastStep: 1 / 60, gravity: 9.81, density: 0.2, air: AIR, damping: 0.3, wind: [0, 0, 0], gusts: 0, time: 0, held: -1, heldAt: [0, 0, 0], holdGrip: 1, pinGrip: 1 });

/** What is asked of a vertex: nothing, to stay where it is told to, to stay where it is now. */
export const FREE = 0, PINNED = 1, PIN_HERE = 2;

/**
 * Gusts: the wind at a place and time, as a factor and as a swerve. Waves that travel with incommensurable lengths never look alike twice.
 * @returns {[number, number]}
 */
export function gust(x, y, z, time, gusts) {
  const a = Math.sin(1.3 * x + 0.7 * y + 2.1 * time) * Math.sin(0.9 * z - 1.1 * x + 1.3 * time);
  const b = Math.sin(2.9 * y - 1.7 * x + 3.7 * time + 1) * Math.sin(0.53 * time);
  return [1 + gusts * (0.8 * a + 0.4 * b), gusts * 0.5 * Math.sin(1.9 * x + 1.1 * z - 1.7 * time)];
}

/**
 * Writes x̂ into `target`, how strongly each vertex is drawn to it into `grip` (1, and more for what is pinned or held), and x into `previous`. Pins are targets, not
 * constants: so nothing about them ever has to be brought from the device.
 * @param {{ rows: number, columns: number, spacing: number }} grid
 * @param {{ x: Float64Array, previous: Float64Array, target: Float64Array, grip: Float64Array, pins: Uint32Array }} numbers positions now, one step ago, wanted; FREE, PINNED or
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
      // Neighbours; at an edge the vertex itself, which halves the area as it should.
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
      // What is pinned already keeps its target.
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
