// Inverse kinematics of an arm of seven joints with limits, for small-solves.mjs: as a problem of residua, and as a plain loop with derivatives by hand.
import { Problem, V } from 'residua';

/** Joints turn about z and y in turns; links run along z. */
const LINKS = [0.34, 0.2, 0.2, 0.2, 0.2, 0.19, 0.126];
const LIMIT = 2.1;
/** Weight of the distance of a joint from its middle, which makes the solution of seven joints for six numbers one. */
const REST = 0.01;
const N = LINKS.length;

/** Targets on a circle, each a place and the direction of the last link, six numbers. */
export function armTargets(count) {
  return Array.from({ length: count }, (_, k) => {
    const turn = (2 * Math.PI * k) / count;
    const direction = [0.3 * Math.cos(turn), 0.3 * Math.sin(turn), -1];
    const size = Math.hypot(...direction);
    return Float64Array.of(0.5 + 0.1 * Math.cos(turn), 0.1 * Math.sin(turn), 0.4, ...direction.map((part) => part / size));
  });
}

/** The problem with its joints and the block whose data is the target. */
export function armProblem(target) {
  const problem = new Problem();
  const joints = problem.parameters('joints', { dim: N, values: PlainArm.rest });
  joints.setBounds({ lower: -LIMIT, upper: LIMIT });
  const goal = problem.residuals('goal', {
    inputs: { joints: joints.shared(), target: problem.data(target, 6) },
    residual: ({ joints, target }) => {
      // Columns of the frame of the link.
      let [x, y, z] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
      let place = [0, 0, 0];
      const combine = (a, s, b, t) => a.map((part, d) => V.add(V.mul(part, s), V.mul(b[d], t)));
      for (let joint = 0; joint < N; joint++) {
        const angle = joints.at(joint);
        const [c, s] = [V.cos(angle), V.sin(angle)];
        if (joint % 2 === 0) [x, y] = [combine(x, c, y, s), combine(y, c, x, V.neg(s))];
        else [z, x] = [combine(z, c, x, s), combine(x, c, z, V.neg(s))];
        place = place.map((part, d) => V.add(part, V.mul(z[d], LINKS[joint])));
      }
      return [...place, ...z].map((part, k) => V.sub(part, target.at(k)));
    },
  });
  problem.residuals('rest', { inputs: { joints: joints.shared() }, residual: ({ joints }) => Array.from({ length: N }, (_, joint) => V.mul(joints.at(joint), REST)) });
  return { problem, joints, goal };
}

/** Levenberg-Marquardt with the damping of residua, a projection onto the limits and a 7 × 7 Cholesky factorisation. */
export class PlainArm {
  static rest = Float64Array.of(0.1, 0.6, 0.1, 1.2, 0.1, 0.8, 0.1);
  axes = new Float64Array(3 * N);
  origins = new Float64Array(3 * N);
  frame = new Float64Array(9);
  end = new Float64Array(6);
  residuals = new Float64Array(6 + N);
  jacobian = new Float64Array(6 * N);
  normal = new Float64Array(N * N);
  factor = new Float64Array(N * N);
  gradient = new Float64Array(N);
  step = new Float64Array(N);
  trial = new Float64Array(N);

  /** The cost; leaves axes, origins and the end of the arm. */
  cost(joints, target) {
    const { axes, origins, frame, end, residuals } = this;
    frame.fill(0);
    frame[0] = frame[4] = frame[8] = 1;
    let [px, py, pz] = [0, 0, 0];
    for (let joint = 0; joint < N; joint++) {
      const turnsZ = joint % 2 === 0, axis = turnsZ ? 6 : 3, from = turnsZ ? 0 : 6, to = turnsZ ? 3 : 0;
      const c = Math.cos(joints[joint]), s = Math.sin(joints[joint]);
      origins[3 * joint] = px;
      origins[3 * joint + 1] = py;
      origins[3 * joint + 2] = pz;
      for (let d = 0; d < 3; d++) {
        axes[3 * joint + d] = frame[axis + d];
        const a = frame[from + d], b = frame[to + d];
        frame[from + d] = a * c + b * s;
        frame[to + d] = b * c - a * s;
      }
      px += LINKS[joint] * frame[6];
      py += LINKS[joint] * frame[7];
      pz += LINKS[joint] * frame[8];
    }
    end[0] = px;
    end[1] = py;
    end[2] = pz;
    for (let d = 0; d < 3; d++) end[3 + d] = frame[6 + d];
    let sum = 0;
    for (let k = 0; k < 6; k++) sum += (residuals[k] = end[k] - target[k]) ** 2;
    for (let joint = 0; joint < N; joint++) sum += (residuals[6 + joint] = REST * joints[joint]) ** 2;
    return sum / 2;
  }

  linearise(joints, target) {
    const cost = this.cost(joints, target);
    const { axes, origins, end, residuals, jacobian, normal, gradient } = this;
    for (let joint = 0; joint < N; joint++) {
      const o = 3 * joint, a = axes[o], b = axes[o + 1], c = axes[o + 2];
      for (let part = 0; part < 2; part++) {
        const x = part ? end[3] : end[0] - origins[o], y = part ? end[4] : end[1] - origins[o + 1], z = part ? end[5] : end[2] - origins[o + 2];
        jacobian[6 * joint + 3 * part] = b * z - c * y;
        jacobian[6 * joint + 3 * part + 1] = c * x - a * z;
        jacobian[6 * joint + 3 * part + 2] = a * y - b * x;
      }
    }
    for (let i = 0; i < N; i++) {
      gradient[i] = REST * residuals[6 + i];
      for (let k = 0; k < 6; k++) gradient[i] += jacobian[6 * i + k] * residuals[k];
      for (let j = 0; j <= i; j++) {
        let sum = i === j ? REST * REST : 0;
        for (let k = 0; k < 6; k++) sum += jacobian[6 * i + k] * jacobian[6 * j + k];
        normal[N * i + j] = normal[N * j + i] = sum;
      }
    }
    return cost;
  }

  /** (JᵀJ + λ diag) step = −gradient, without the joints that a limit holds. */
  #solve(lambda, x) {
    const { normal, factor, gradient, step } = this;
    const isHeld = (k) => (x[k] >= LIMIT && gradient[k] < 0) || (x[k] <= -LIMIT && gradient[k] > 0);
    for (let k = 0; k < N; k++) {
      const held = isHeld(k);
      for (let l = 0; l <= k; l++) {
        let sum = held || isHeld(l) ? Number(k === l) : normal[N * k + l] * (k === l ? 1 + lambda : 1);
        for (let m = 0; m < l; m++) sum -= factor[N * k + m] * factor[N * l + m];
        factor[N * k + l] = k === l ? Math.sqrt(sum) : sum / factor[N * l + l];
      }
      let sum = held ? 0 : -gradient[k];
      for (let l = 0; l < k; l++) sum -= factor[N * k + l] * step[l];
      step[k] = sum / factor[N * k + k];
    }
    for (let k = N - 1; k >= 0; k--) {
      for (let l = k + 1; l < N; l++) step[k] -= factor[N * l + k] * step[l];
      step[k] /= factor[N * k + k];
    }
  }

  /** Solves in place, with the default tests of residua. */
  solve(x, target) {
    const { normal, gradient, step, trial } = this;
    let [lambda, growth, iterations] = [1e-4, 2, 0];
    let cost = this.linearise(x, target);
    while (iterations < 100) {
      let cosine = 0;
      for (let k = 0; k < N; k++) cosine = Math.max(cosine, Math.abs(gradient[k]) / Math.sqrt(normal[N * k + k] * 2 * cost));
      if (cosine <= 1e-8) break;
      iterations++;
      this.#solve(lambda, x);
      let [predicted, moved, size] = [0, 0, 0];
      for (let k = 0; k < N; k++) {
        trial[k] = Math.min(Math.max(x[k] + step[k], -LIMIT), LIMIT);
        step[k] = trial[k] - x[k];
      }
      for (let k = 0; k < N; k++) {
        let image = 0;
        for (let l = 0; l < N; l++) image += normal[N * k + l] * step[l];
        predicted -= step[k] * (gradient[k] + image / 2);
        moved += normal[N * k + k] * step[k] ** 2;
        size += normal[N * k + k] * x[k] ** 2;
      }
      const change = cost - this.cost(trial, target), gain = change / predicted;
      if (!(gain > 1e-3)) {
        if (predicted <= 1e-8 * cost) break;
        lambda *= growth;
        growth *= 2;
        continue;
      }
      lambda = Math.max(lambda * Math.max(1 / 3, 1 - (2 * gain - 1) ** 3), 1e-16);
      growth = 2;
      x.set(trial);
      const before = cost;
      cost = this.linearise(x, target);
      if ((change <= 1e-8 * before && predicted <= 1e-8 * before) || Math.sqrt(moved) <= 1e-8 * Math.sqrt(size)) break;
    }
    return { cost, iterations };
  }
}
