// Draws docs/measurements/engines.svg from docs/measurements/engines.json: where the GPU begins to pay. `node docs/measurements/engines.mjs`
import { readFileSync, writeFileSync } from 'node:fs';

const at = (name) => new URL(name, import.meta.url);
const { panels } = JSON.parse(readFileSync(at('engines.json'), 'utf8'));

const PANEL = { width: 250, height: 250, left: 46, top: 40, gap: 30 };
const VERTICES = [10, 1e6];
const MS = [1e-2, 1e4];
const COLOURS = { cpu: '#c2410c', gpu: '#1d4ed8', auto: '#111827' };

const part = (value, [low, high]) => Math.log(value / low) / Math.log(high / low);
const x = (vertices) => (part(Math.max(vertices, VERTICES[0]), VERTICES) * PANEL.width).toFixed(1);
const y = (ms) => ((1 - part(Math.max(ms, MS[0]), MS)) * PANEL.height).toFixed(1);
const decades = ([low, high]) => Array.from({ length: Math.round(Math.log10(high / low)) + 1 }, (_, i) => low * 10 ** i);
const words = (value) => (value >= 1e6 ? `${value / 1e6} M` : value >= 1e3 ? `${value / 1e3} k` : String(Number(value.toPrecision(1))));

function panel({ title, sizes, cpu, gpu, auto }, number) {
  const shift = `translate(${PANEL.left + number * (PANEL.width + PANEL.gap)} ${PANEL.top})`;
  const line = (name, figures) => {
    const points = figures.map((ms, i) => (ms === null ? null : `${x(sizes[i])},${y(ms)}`)).filter((point) => point !== null);
    return `<polyline points="${points.join(' ')}" fill="none" stroke="${COLOURS[name]}" stroke-width="2"/>`;
  };
  const dots = auto.map((ms, i) => (ms === null ? '' : `<circle cx="${x(sizes[i])}" cy="${y(ms)}" r="3.5" fill="none" stroke="${COLOURS.auto}" stroke-width="1.4"/>`));
  const grid = [
    ...decades(VERTICES).map((value) => `<path d="M${x(value)} 0V${PANEL.height}"/>`),
    ...decades(MS).map((value) => `<path d="M0 ${y(value)}H${PANEL.width}"/>`),
  ];
  const below = decades(VERTICES).map((value) => `<text x="${x(value)}" y="${PANEL.height + 15}" text-anchor="middle">${words(value)}</text>`);
  const beside = number > 0 ? [] : decades(MS).map((value) => `<text x="-6" y="${Number(y(value)) + 4}" text-anchor="end">${words(value)}</text>`);
  return [
    `<g transform="${shift}">`, `<text x="0" y="-10" font-weight="600">${title}</text>`, `<g stroke="#d1d5db" stroke-width="0.7">`, ...grid, '</g>',
    ...below, ...beside, line('cpu', cpu), line('gpu', gpu), ...dots, '</g>',
  ].join('\n');
}

const width = PANEL.left + panels.length * (PANEL.width + PANEL.gap);
const height = PANEL.top + PANEL.height + 50;
const key = ['cpu', 'gpu', 'auto'].map((name, i) => {
  const left = PANEL.left + i * 150;
  const mark = name === 'auto' ? `<circle cx="${left + 12}" cy="${height - 14}" r="3.5" fill="none" stroke="${COLOURS.auto}" stroke-width="1.4"/>` : `<path d="M${left} ${height - 14}h24" stroke="${COLOURS[name]}" stroke-width="2"/>`;
  return `${mark}<text x="${left + 30}" y="${height - 10}">${{ cpu: 'CPU', gpu: 'GPU', auto: "backend: 'auto'" }[name]}</text>`;
});
writeFileSync(
  at('engines.svg'),
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11" fill="#111827">
<title>Milliseconds by vertices, on the CPU, on the GPU, and as backend 'auto' chooses</title>
<rect width="100%" height="100%" fill="#ffffff"/>
${panels.map(panel).join('\n')}
${key.join('\n')}
<text x="${width - PANEL.gap}" y="${height - 10}" text-anchor="end">milliseconds against vertices; both axes are logarithmic</text>
</svg>
`,
);
