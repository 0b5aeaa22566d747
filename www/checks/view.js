/**
 * The list of checks in the page: a section for each group, which unfolds to a row for each check. Takes groups and events of checks;
 * updates its elements.
 */
import { make } from '../make.js';
import { countsInWords, inMs, numbersOf } from './report.js';

const ENGINES = { gpu: 'GPU', cpu: 'CPU', both: 'GPU and CPU', none: '' };

/** The details of an outcome: the numbers of a failure, the reason of a skip, and notes. */
function behind({ status, reason, notes, failure }) {
  if (status === 'skipped') return [make('p', { textContent: `skipped: ${reason}` })];
  const parts = notes.map((note) => make('p', { textContent: note }));
  if (status !== 'failed') return parts;
  const numbers = make('dl');
  for (const [name, value] of numbersOf(failure)) numbers.append(make('dt', { textContent: name }), make('dd', { textContent: value }));
  const stack = failure.stack === undefined ? [] : [make('details', {}, make('summary', { textContent: 'Where' }), make('pre', { textContent: failure.stack, tabIndex: 0 }))];
  return [make('p', { className: 'claim', textContent: failure.claim }), ...(numbers.childElementCount > 0 ? [numbers] : []), ...stack, ...parts];
}

class Row {
  constructor(check, run) {
    this.state = make('span', { className: 'state', textContent: 'not run' });
    this.ms = make('span', { className: 'ms' });
    this.below = make('div', { className: 'behind' });
    const title = make('span', { className: 'title', textContent: check.name });
    if (ENGINES[check.engine] !== '') title.append(' ', make('span', { className: 'engine', textContent: ENGINES[check.engine] }));
    if (check.long) title.append(make('span', { className: 'engine', textContent: 'long' }));
    this.button = make('button', { type: 'button', className: 'small', textContent: 'Run' });
    this.button.setAttribute('aria-label', `Run: ${check.title}`);
    this.button.addEventListener('click', run);
    this.element = make('li', {}, this.state, title, this.ms, this.button, this.below);
    this.element.dataset.check = check.id;
  }

  show(told) {
    const status = told.running ? 'running' : told.status;
    this.element.dataset.status = status;
    this.state.textContent = told.running ? 'running…' : status;
    this.ms.textContent = told.running || status === 'skipped' ? '' : inMs(told.ms);
    this.below.replaceChildren(...(told.running ? [] : behind(told)));
  }
}

export class ChecksView {
  #rows = new Map();
  #groups = new Map();
  #buttons = [];

  /** @param {HTMLElement} place @param {object[]} groups @param {(checks: object[]) => void} run */
  constructor(place, groups, run) {
    for (const group of groups) {
      const counts = make('summary', { textContent: `${group.checks.length} checks` });
      const button = make('button', { type: 'button', className: 'small', textContent: 'Run group' });
      button.setAttribute('aria-label', `Run group: ${group.title}`);
      button.addEventListener('click', () => {
        folded.open = true;
        run(group.checks);
      });
      const list = make('ul', { className: 'checks' });
      for (const check of group.checks) {
        const row = new Row(check, () => run([check]));
        this.#rows.set(check.id, row);
        this.#buttons.push(row.button);
        list.append(row.element);
      }
      this.#buttons.push(button);
      const folded = make('details', {}, counts, list);
      this.#groups.set(group.id, { counts, folded, total: group.checks.length });
      const title = make('h2', { id: `group-${group.id}`, textContent: group.title });
      const section = make('section', { className: 'group' }, make('header', {}, title, button), make('p', { className: 'quiet', textContent: group.about }), folded);
      section.setAttribute('aria-labelledby', title.id);
      place.append(section);
    }
  }

  /** Shows that a check runs, or its outcome. */
  show(told) {
    this.#rows.get(told.id).show(told);
  }

  /** Shows the counts of a group. A group with a failure is unfolded. */
  count(groupId, outcomes) {
    const { counts, folded, total } = this.#groups.get(groupId);
    counts.textContent = countsInWords(outcomes, total);
    const failed = outcomes.some(({ status }) => status === 'failed');
    folded.dataset.status = failed ? 'failed' : outcomes.some(({ status }) => status === 'skipped') ? 'skipped' : outcomes.length === total ? 'passed' : '';
    if (failed) folded.open = true;
  }

  unfold(open) {
    for (const { folded } of this.#groups.values()) folded.open = open;
  }

  enable(enabled) {
    for (const button of this.#buttons) button.disabled = !enabled;
  }
}
