/**
 * The form of the model: a text field that shows errors with their position, and a table of starts, which can be edited, estimates with
 * standard errors, and checkboxes that make a parameter constant. Takes the parent element; calls back when a reader changes something.
 */
import { make } from '../../make.js';
import { ExpressionError, parseExpression } from './expression.js';

/** As many digits as are significant, two of them uncertain. */
export function withError(value, error) {
  if (!Number.isFinite(value)) return String(value);
  if (!(error > 0) || !Number.isFinite(error)) return Number(value.toPrecision(6)).toString();
  const place = Math.floor(Math.log10(error)) - 1;
  if (place < -9 || Math.abs(value) >= 1e7) return `${value.toPrecision(6)} ± ${error.toPrecision(2)}`;
  const digits = Math.max(0, -place);
  return `${value.toFixed(digits)} ± ${error.toFixed(digits)}`;
}

export class ModelForm {
  #input;
  #message;
  #body;
  #note;
  #listeners;
  #starts = [];
  #estimates = [];

  /**
   * @param {HTMLElement} parent
   * @param {{ model: (expression: ReturnType<typeof parseExpression>) => void, start: (index: number, value: number) => void, hold: (index: number, held: boolean) => void }} listeners
   */
  constructor(parent, listeners) {
    this.#listeners = listeners;
    this.#input = make('input', { type: 'text', id: 'model-text', spellcheck: false, autocomplete: 'off', autocapitalize: 'none' });
    this.#input.setAttribute('aria-describedby', 'model-message');
    this.#message = make('p', { id: 'model-message', className: 'model-message', role: 'status' });
    this.#body = make('tbody');
    this.#note = make('p', { className: 'quiet' });
    const head = make('tr', {}, ...['Parameter', 'Start', 'Hold', 'Estimate ± standard error'].map((textContent) => make('th', { scope: 'col', textContent })));
    const table = make('table', {}, make('caption', { className: 'hidden', textContent: 'Parameters' }), make('thead', {}, head), this.#body);
    const form = make('form', { className: 'model-form' }, make('label', { htmlFor: 'model-text', textContent: 'Model, y =' }), this.#input, this.#message, make('div', { className: 'parameters' }, table), this.#note);
    form.addEventListener('submit', (event) => event.preventDefault());
    this.#input.addEventListener('input', () => this.#read());
    // Keys typed here must not trigger shortcuts of the page.
    form.addEventListener('keydown', (event) => event.stopPropagation());
    parent.append(form);
  }

  /** Parses the text; an invalid text changes only the message. */
  #read() {
    try {
      const expression = parseExpression(this.#input.value);
      this.#complain(null);
      this.#listeners.model(expression);
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      this.#complain(error);
    }
  }

  #complain(error) {
    this.#input.setAttribute('aria-invalid', String(error !== null));
    this.#message.replaceChildren();
    if (error === null) return;
    const { position, length, message } = error, text = this.#input.value;
    const marked = text.slice(position, position + length).trim() === '' ? '␣' : text.slice(position, position + length);
    this.#message.append(
      make('code', {}, text.slice(Math.max(0, position - 24), position), make('mark', { textContent: marked }), text.slice(position + length, position + length + 24)),
      ` At character ${position + 1}: ${message}.`,
    );
  }

  /** The error message of the field, or ''. */
  get message() {
    return this.#message.textContent;
  }

  /** Sets another model from outside the field. */
  showModel({ text, parameters }, starts) {
    if (this.#input.value !== text) {
      this.#input.value = text;
      this.#complain(null);
    }
    this.#body.replaceChildren();
    this.#starts = [];
    this.#estimates = [];
    parameters.forEach((name, k) => {
      const start = make('input', { type: 'number', step: 'any' });
      start.setAttribute('aria-label', `Start of ${name}`);
      const hold = make('input', { type: 'checkbox' });
      hold.setAttribute('aria-label', `Hold ${name} at its start`);
      start.addEventListener('change', () => Number.isFinite(start.valueAsNumber) && this.#listeners.start(k, start.valueAsNumber));
      hold.addEventListener('change', () => this.#listeners.hold(k, hold.checked));
      const estimate = make('td');
      this.#body.append(make('tr', {}, make('th', { scope: 'row', textContent: name }), make('td', {}, start), make('td', {}, hold), estimate));
      this.#starts.push(start);
      this.#estimates.push(estimate);
    });
    this.showStarts(starts);
  }

  showStarts(starts) {
    starts.forEach((value, k) => (this.#starts[k].value = Number(value.toPrecision(4))));
  }

  /** @param {Awaited<ReturnType<import('./model.js').CurveFit['estimates']>>} estimates */
  showEstimates({ rows, reason }) {
    rows.forEach(({ value, error, held }, k) => (this.#estimates[k].textContent = held ? 'held' : withError(value, error)));
    this.#note.textContent = reason === null ? '' : `No standard errors: ${reason}.`;
  }
}
