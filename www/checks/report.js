/** A run of checks as text for an issue. Takes the facts of the page and the outcomes; returns Markdown. */

const inMs = (ms) => (ms < 950 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

/** The number of outcomes of each status. */
export function counts(outcomes) {
  const count = (status) => outcomes.filter((outcome) => outcome.status === status).length;
  return { passed: count('passed'), failed: count('failed'), skipped: count('skipped') };
}

/** In words; zeros are omitted, except for failures. */
export function countsInWords(outcomes, total = outcomes.length) {
  const { passed, failed, skipped } = counts(outcomes);
  const left = total - outcomes.length;
  return [`${passed} passed`, `${failed} failed`, ...(skipped > 0 ? [`${skipped} skipped`] : []), ...(left > 0 ? [`${left} not run`] : [])].join(', ');
}

/** Text within a cell or a line. */
const plain = (text) => String(text).replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ');

/** The numbers of a failure, each with its name. */
export function numbersOf({ expected, got, error, allowed, because }) {
  return Object.entries({ expected, got, difference: error, allowed, because }).filter(([, value]) => value !== undefined).map(([name, value]) => [name, typeof value === 'number' ? String(Number(value.toPrecision(6))) : value]);
}

/**
 * @param {{ date: string, userAgent: string, webgpu: string[], facts: ReturnType<import('../webgpu-device.js').deviceFacts> | null, groups:
 *   { id: string, title: string }[] }} about
 * @param {object[]} outcomes
 * @param {number} total the number of checks
 */
export function markdownReport(about, outcomes, total) {
  const lines = [
    '# residua: checks in the browser', '',
    `${countsInWords(outcomes, total)}, in ${inMs(outcomes.reduce((sum, { ms }) => sum + ms, 0))}.`, '',
    `- Date: ${about.date}`, `- Browser: ${about.userAgent}`, ...about.webgpu.map((sentence) => `- ${sentence}`), '',
  ];
  if (about.facts !== null) {
    lines.push('| limit or feature | here | residua needs |', '|---|---|---|');
    for (const { name, here, needs, enough } of about.facts.limits) lines.push(`| ${name} | ${here}${enough ? '' : ' (too little)'} | ${needs} |`);
    for (const { name, here } of about.facts.features) lines.push(`| ${name} | ${here ? 'yes' : 'no'} | |`);
    lines.push('');
  }
  const failures = outcomes.filter(({ status }) => status === 'failed');
  if (failures.length > 0) {
    lines.push('## Failures', '');
    for (const { id, title, failure } of failures) {
      lines.push(`### ${title}`, '', `\`${id}\``, '', plain(failure.claim), '');
      for (const [name, value] of numbersOf(failure)) lines.push(`- ${name}: ${plain(value)}`);
      if (failure.stack !== undefined) lines.push('', '```', failure.stack, '```');
      lines.push('');
    }
  }
  for (const group of about.groups) {
    const own = outcomes.filter((outcome) => outcome.group === group.id);
    if (own.length === 0) continue;
    lines.push(`## ${group.title}`, '', '| check | outcome | time |', '|---|---|---|');
    for (const { title, status, ms, reason } of own) lines.push(`| ${plain(title)} | ${status}${reason === undefined ? '' : `: ${plain(reason)}`} | ${status === 'skipped' ? '' : inMs(ms)} |`);
    lines.push('');
    const notes = own.flatMap(({ title, notes }) => notes.map((note) => `- ${plain(title)}: ${plain(note)}`));
    if (notes.length > 0) lines.push(...notes, '');
  }
  return lines.join('\n');
}

export { inMs };
