/** Rows of measurements as a table that grows. */

const WORDS = new Set(['timing', 'reason', 'notes']);

/** A value as text: numbers with five digits, objects as `name: value` lists. */
export function inWords(value) {
  if (value === undefined || value === null) return '';
  if (typeof value === 'number') {
    if (value !== 0 && Number.isFinite(value) && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e15)) return value.toExponential(1);
    return Number(value.toPrecision(5)).toLocaleString('en-US', { maximumFractionDigits: 6 });
  }
  if (typeof value === 'object') return Object.entries(value).map(([name, figure]) => `${name}: ${inWords(figure)}`).join(', ');
  return String(value);
}

/** All columns of the rows, in order of first occurrence; those in `order` come first. */
export function columnsOf(rows, order = []) {
  const present = new Set(rows.flatMap((row) => Object.keys(row).filter((column) => row[column] !== undefined)));
  return [...order.filter((column) => present.has(column)), ...[...present].filter((column) => !order.includes(column))];
}

/** Fills a table element. */
export function fill(table, rows, order) {
  const columns = columnsOf(rows, order);
  const cell = (tag, text, properties = {}) => Object.assign(document.createElement(tag), { textContent: text, ...properties });
  const head = document.createElement('tr');
  head.append(...columns.map((column) => cell('th', column, { scope: 'col' })));
  const lines = rows.map((row) => {
    const line = document.createElement('tr');
    if (row.status !== undefined) line.dataset.status = row.status;
    line.append(...columns.map((column) => cell('td', inWords(row[column]), { className: WORDS.has(column) ? 'words' : '' })));
    return line;
  });
  table.replaceChildren(head, ...lines);
}
