import { fit, loss } from 'residua';

// A line; every fifth measurement is wrong.
const x = Array.from({ length: 40 }, (_, i) => i / 4);
const y = x.map((t, i) => 1 + 0.5 * t + 0.1 * Math.sin(i * i) + (i % 5 === 4 ? 6 : 0));

const model = ([offset, slope]) => (t) => offset + slope * t;

// Without the loss the line is drawn upwards: take it away and see.
const result = await fit(model, { x, y }, { initialValues: [0, 0], loss: loss.cauchy(0.2) });

plot({ x, y, curve: model(result.parameters) });
console.log(result.report());
