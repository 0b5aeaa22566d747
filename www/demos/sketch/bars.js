/**
 * The user interface around the sheet: the tools, the constraints that apply to the selection, the degrees of freedom, and the list of all
 * constraints with their values. Takes the overlay, the panel and callbacks of the buttons; shows the given state.
 */
import { inDigits } from './annotations.js';
import { CONSTRAINTS, constraintsFor, nameOf } from './sketch.js';

export const TOOLS = Object.freeze({
  select: { title: 'Select and drag', key: '1', icon: '<path d="M6 4l12 7-5.5 1.5L10 18z"/>' },
  point: { title: 'Point', key: '2', icon: '<circle cx="12" cy="12" r="2.5" fill="currentColor"/>' },
  line: { title: 'Lines', key: '3', icon: '<path d="M5 19L19 5"/><circle cx="5" cy="19" r="1.6" fill="currentColor"/><circle cx="19" cy="5" r="1.6" fill="currentColor"/>' },
  circle: { title: 'Circle', key: '4', icon: '<circle cx="12" cy="12" r="8"/><circle cx="12" cy="12" r="1.2" fill="currentColor"/>' },
  arc: { title: 'Arc: centre, start, end', key: '5', icon: '<path d="M20 17A12 12 0 0 0 7 5"/><circle cx="7" cy="17" r="1.2" fill="currentColor"/><circle cx="20" cy="17" r="1.6" fill="currentColor"/><circle cx="7" cy="5" r="1.6" fill="currentColor"/>' },
});
const ACTIONS = {
  undo: { title: 'Undo', key: 'Z', icon: '<path d="M8 5L4 9l4 4"/><path d="M4 9h9a6 6 0 0 1 0 12h-3"/>' },
  redo: { title: 'Redo', key: 'Y', icon: '<path d="M16 5l4 4-4 4"/><path d="M20 9h-9a6 6 0 0 0 0 12h3"/>' },
  remove: { title: 'Delete', key: 'Delete', icon: '<path d="M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13"/>' },
};

function button({ title, key, icon, sign }, onClick) {
  const made = Object.assign(document.createElement('button'), { type: 'button', title: `${title} (${key.toUpperCase()})`, onclick: onClick });
  made.setAttribute('aria-label', title);
  if (icon === undefined) made.textContent = sign;
  else made.innerHTML = `<svg viewBox="0 0 24 24" aria-hidden="true">${icon}</svg>`;
  return made;
}

function bar(className, label) {
  const made = Object.assign(document.createElement('div'), { className: `sketch-tools ${className}` });
  made.setAttribute('role', 'toolbar');
  made.setAttribute('aria-label', label);
  // The camera's controls would capture the pointer, and the click with it.
  for (const kind of ['pointerdown', 'wheel', 'keydown']) made.addEventListener(kind, (event) => event.stopPropagation());
  return made;
}

export class Bars {
  #tools = new Map();
  #actions = new Map();
  #constraints = new Map();
  #freedom;
  #list;
  #does;

  /**
   * @param {HTMLElement} overlay
   * @param {HTMLElement} panel
   * @param {{ tool(name), action(name), constrain(kind), select(id), value(id, number), remove(id) }} does
   */
  constructor(overlay, panel, does) {
    this.#does = does;
    const draw = bar('draw', 'Tools'), constrain = bar('constrain', 'Constraints');
    for (const [name, entry] of Object.entries(TOOLS)) this.#tools.set(name, button(entry, () => does.tool(name)));
    for (const [name, entry] of Object.entries(ACTIONS)) this.#actions.set(name, button(entry, () => does.action(name)));
    for (const [kind, entry] of Object.entries(CONSTRAINTS)) this.#constraints.set(kind, button(entry, () => does.constrain(kind)));
    draw.append(...this.#tools.values(), document.createElement('hr'), ...this.#actions.values());
    constrain.append(...this.#constraints.values());
    this.#freedom = Object.assign(document.createElement('p'), { className: 'sketch-freedom' });
    this.#freedom.setAttribute('role', 'status');
    overlay.append(draw, constrain, this.#freedom);
    this.#list = Object.assign(document.createElement('ul'), { className: 'sketch-list' });
    this.#list.setAttribute('aria-label', 'Constraints of the sketch');
    panel.append(this.#list);
  }

  /** @param {{ sketch, selection: Set<number>, tool: string, diagnosis, canUndo: boolean, canRedo: boolean }} now */
  show({ sketch, selection, tool, diagnosis, canUndo, canRedo }) {
    for (const [name, made] of this.#tools) made.setAttribute('aria-pressed', String(name === tool));
    this.#actions.get('undo').disabled = !canUndo;
    this.#actions.get('redo').disabled = !canRedo;
    this.#actions.get('remove').disabled = selection.size === 0;
    for (const [kind, made] of this.#constraints) made.disabled = constraintsFor(sketch, kind, [...selection]).length === 0;
    this.#showFreedom(sketch, diagnosis);
    this.#showList(sketch, selection, diagnosis);
  }

  #showFreedom(sketch, diagnosis) {
    const { text, state } = freedomOf(sketch, diagnosis);
    if (this.#freedom.textContent !== text) this.#freedom.textContent = text;
    this.#freedom.className = `sketch-freedom ${state}`;
  }

  #showList(sketch, selection, diagnosis) {
    const redundant = new Map(diagnosis?.redundant.map(({ constraint, with: others }) => [constraint, others]) ?? []);
    const focused = document.activeElement?.closest?.('.sketch-list') === this.#list ? document.activeElement.id : null;
    this.#list.replaceChildren(...sketch.constraints.map((constraint) => {
      const { id, kind, value } = constraint, { sign, unit } = CONSTRAINTS[kind];
      const conflicting = diagnosis?.conflicting.has(id) === true;
      const row = Object.assign(document.createElement('li'), { className: `${conflicting ? 'conflicting' : redundant.has(id) ? 'redundant' : ''} ${selection.has(id) ? 'selected' : ''}` });
      const mark = Object.assign(document.createElement('span'), { textContent: sign, ariaHidden: 'true' });
      const name = Object.assign(document.createElement('button'), {
        type: 'button', className: 'name', id: `constraint-${id}`, textContent: nameOf(sketch, id) + (conflicting ? ': contradicts others' : redundant.has(id) ? ': said already' : ''),
        title: redundant.has(id) ? `Follows from ${redundant.get(id).map((other) => nameOf(sketch, other)).join(', ')}` : '', onclick: () => this.#does.select(id),
      });
      name.setAttribute('aria-pressed', String(selection.has(id)));
      row.append(mark, name);
      if (unit === undefined) row.append(document.createElement('span'));
      else {
        const input = Object.assign(document.createElement('input'), { type: 'text', inputMode: 'decimal', id: `value-${id}`, value: inDigits(value, unit) });
        input.setAttribute('aria-label', `${nameOf(sketch, id)}, ${unit === '°' ? 'degrees' : 'millimetres'}`);
        input.addEventListener('change', () => this.#does.value(id, input.value));
        row.append(input);
      }
      const out = Object.assign(document.createElement('button'), { type: 'button', className: 'remove', textContent: '×', title: 'Delete', onclick: () => this.#does.remove(id) });
      out.setAttribute('aria-label', `Delete ${nameOf(sketch, id)}`);
      row.append(out);
      return row;
    }));
    if (sketch.constraints.length === 0) this.#list.append(Object.assign(document.createElement('li'), { className: 'empty', textContent: 'No constraints yet: select things, then press one of the buttons above the sheet.' }));
    if (focused !== null) document.getElementById(focused)?.focus();
  }
}

/** The degrees of freedom of a sketch, in words. */
export function freedomOf(sketch, diagnosis) {
  if (sketch.points.length === 0) return { text: 'Empty sheet: choose a tool, then click', state: '' };
  if (diagnosis === null) return { text: 'Solving…', state: '' };
  const { degreesOfFreedom: freedom, redundant, conflicting } = diagnosis;
  if (conflicting.size > 0) return { text: `Over-constrained: ${conflicting.size} constraints contradict each other`, state: 'conflicting' };
  const said = freedom === 0 ? 'Fully constrained' : `${freedom} degree${freedom === 1 ? '' : 's'} of freedom`;
  if (redundant.length === 0) return { text: said, state: freedom === 0 ? '' : 'free' };
  return { text: `${said}; ${redundant.length} constraint${redundant.length === 1 ? ' says' : 's say'} nothing new`, state: 'redundant' };
}
