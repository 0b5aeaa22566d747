import { Problem, solve } from 'residua';

// Four bars: a crank turns about (0, 0), a rocker about (1, 0), and a coupler joins them. Where the joint of coupler and rocker is:
const joint = ([crank, coupler, rocker], angle) => {
  const [x, y] = [crank * Math.cos(angle), crank * Math.sin(angle)], [dx, dy] = [1 - x, -y], d = Math.hypot(dx, dy);
  const along = (d * d + coupler ** 2 - rocker ** 2) / (2 * d), across = Math.sqrt(coupler ** 2 - along ** 2);
  return [x + (along * dx - across * dy) / d, y + (along * dy + across * dx) / d];
};
// A point of the coupler, u along it and v beside it.
const traced = (bars, [u, v], angle) => {
  const [x, y] = [bars[0] * Math.cos(angle), bars[0] * Math.sin(angle)], [jx, jy] = joint(bars, angle);
  return [x + u * (jx - x) - v * (jy - y), y + u * (jy - y) + v * (jx - x)];
};

// The path of an unknown linkage, at 36 angles of its crank.
const angles = Array.from({ length: 36 }, (_, k) => (Math.PI * k) / 18);
const path = angles.map((angle) => traced([0.35, 0.95, 0.8], [0.6, 0.45], angle));

// Bars, the point, and all joints are unknown; bars keep their lengths.
const guess = [0.3, 1, 0.9];
const problem = new Problem();
const bars = problem.parameters('bars', { dim: 3, values: guess });
const point = problem.parameters('point', { dim: 2, values: [0.5, 0.2] });
const joints = problem.parameters('joints', { dim: 2, values: angles.flatMap((angle) => joint(guess, angle)) });
const inputs = {
  bars: bars.shared(), point: point.shared(), joint: joints.at(angles.map((_, k) => k)),
  turn: problem.data(angles.flatMap((angle) => [Math.cos(angle), Math.sin(angle)]), 2), seen: problem.data(path.flat(), 2),
};
problem.residuals('path', {
  inputs,
  residual: ({ bars, point, joint, turn, seen }) => {
    const crank = turn.mul(bars.x), coupler = joint.sub(crank);
    return crank.add(coupler.mul(point.x)).add(coupler.perpendicular().mul(point.y)).sub(seen);
  },
});
problem.equalities('lengths', {
  inputs: { bars: inputs.bars, joint: inputs.joint, turn: inputs.turn },
  constraint: ({ bars, joint, turn }) => [
    joint.sub(turn.mul(bars.x)).sqrMagnitude.sub(bars.y.square()),
    joint.x.sub(1).square().add(joint.y.square()).sub(bars.z.square()),
  ],
});
const result = await solve(problem);

const curve = Array.from({ length: 181 }, (_, k) => traced(bars.values(), point.values(), (Math.PI * k) / 90));
plot({ x: path.map(([x]) => x), y: path.map(([, y]) => y), curve, equalAxes: true });
console.log('Bars', Array.from(bars.values(), (value) => value.toFixed(4)));
console.log(result.report());
