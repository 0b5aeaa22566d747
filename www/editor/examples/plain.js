import { fit } from 'residua';

// A falling body with drag: its speed after t seconds, by steps of a millisecond.
const speedAfter = (drag, gravity, t) => {
  let v = 0;
  for (let time = 0; time < t - 1e-9; time += 1e-3) v += 1e-3 * (gravity - drag * v * Math.abs(v));
  return v;
};

// What was measured: the drag is 0.3, and the gravity 9.81.
const x = Array.from({ length: 24 }, (_, i) => (i + 1) / 8);
const y = x.map((t, i) => speedAfter(0.3, 9.81, t) + 0.02 * Math.sin(37 * i * i));

// The model runs as it is; its derivatives are differences.
const model = ({ drag, gravity }) => (t) => speedAfter(drag, gravity, t);
const result = await fit(model, { x, y }, { initialValues: { drag: 1, gravity: 5 } });

plot({ x, y, curve: model(result.parameters) });
console.log(result.report());
