import { fit } from 'residua';

// What was measured: time and signal.
const x = Array.from({ length: 60 }, (_, i) => i / 6);
const noise = (i) => 0.2 * Math.sin(37 * i * i);
const y = x.map((t, i) =>
  3 * Math.exp(-0.3 * t) * Math.cos(2 * t) + noise(i));

// The model: change it, and the fit runs again.
const model = ({ height, rate, frequency }) => (t) =>
  height * Math.exp(-rate * t) * Math.cos(frequency * t);

const initialValues = { height: 1, rate: 1, frequency: 1.8 };
const result = await fit(model, { x, y }, { initialValues });

plot({ x, y, curve: model(result.parameters) });
console.log(result.report());
