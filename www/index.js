/**
 * The front page: shows the state of WebGPU with the limits and features that matter to residua. Where WebGPU does not work, it shows the reason and what to do.
 * The example is that of editor/.
 */
import { make } from './make.js';
import { deviceFacts } from './webgpu-device.js';
import { showStatus, webGpuStatus } from './webgpu-status.js';

/** A table whose first column is a header: a name, with its purpose below. */
function tableOf(caption, heads, rows) {
  const head = make('tr', {}, ...heads.map((text) => make('th', { scope: 'col', textContent: text })));
  const body = rows.map(({ name, purpose, cells, enough = true }) => {
    const first = make('th', { scope: 'row' }, make('code', { textContent: name }), ...(purpose === undefined ? [] : [make('span', { className: 'quiet', textContent: purpose })]));
    const row = make('tr', {}, first, ...cells.map((text) => make('td', { textContent: text })));
    row.dataset.enough = enough ? 'yes' : 'no';
    return row;
  });
  return make('table', {}, make('caption', { textContent: caption }), make('thead', {}, head), make('tbody', {}, ...body));
}

function showFacts(place, { limits, features, otherLimits, otherFeatures }, isSoftware) {
  const yesNo = (is) => (is ? 'yes' : 'no');
  place.append(
    tableOf('Limits that matter to residua', ['limit', 'here', 'residua needs'], limits.map(({ name, here, needs, enough, purpose }) => ({ name, purpose, cells: [enough ? here : `${here}: too little`, needs], enough }))),
    tableOf('Features', ['feature', 'here'], [
      ...features.map(({ name, here, purpose }) => ({ name, purpose, cells: [yesNo(here)] })),
      { name: 'software adapter', purpose: isSoftware ? 'the CPU emulates a GPU: results are right, and slow' : 'this one is a GPU', cells: [yesNo(isSoftware)] },
    ]),
    make('details', {}, make('summary', { textContent: 'All other limits and features' }),
      tableOf('Other limits', ['limit', 'here'], otherLimits.map(({ name, here }) => ({ name, cells: [here] }))),
      make('p', {}, make('strong', { textContent: 'Other features: ' }), otherFeatures.length > 0 ? otherFeatures.join(', ') : 'none')),
  );
  place.hidden = false;
}

/** A status whose advice is a list of steps. */
function showWithSteps(element, status) {
  const { sentences, steps } = status;
  showStatus(element, { ...status, sentences: sentences.filter((sentence) => !steps.includes(sentence)) });
  if (steps.length === 0) return;
  const list = make(steps.length > 1 ? 'ol' : 'ul', {}, ...steps.map((step) => make('li', { textContent: step })));
  element.insertBefore(list, element.lastElementChild);
}

const status = await webGpuStatus(async () => (await import('residua')).GpuContext.default());
const adapter = status.context === null ? null : await navigator.gpu.requestAdapter();
const facts = adapter === null ? null : deviceFacts(adapter);
if (facts !== null && facts.lacking.length > 0) {
  status.state = 'warning';
  status.sentences.push(`It has less than WebGPU promises: ${facts.lacking.join('; ')}. What does not fit is computed on the CPU or refused.`);
}
showWithSteps(document.querySelector('#status'), status);
if (facts !== null) showFacts(document.querySelector('#facts'), facts, status.context.adapter.isSoftware);
document.documentElement.dataset.ready = 'yes';
