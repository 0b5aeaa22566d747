/** A new frame with a module of the package of its own, for checks of what comes before the load or after a failure. */

/**
 * Runs `code(residua, ...values)` in a new frame, where nothing is loaded, and resolves with `{ answer, complaints }`: its result, and the
 * uncaught errors, unhandled rejections and lines of console.error of the frame. `code` is passed as text, so it can use nothing around it.
 */
export function inFreshPage(check, code, ...values) {
  return inFreshPageOf(import.meta.resolve('residua'), check, code, ...values);
}

/** The same with the module of the package at an address. */
export function inFreshPageOf(address, check, code, ...values) {
  return new Promise((resolve, reject) => {
    const frame = document.createElement('iframe');
    frame.hidden = true;
    frame.title = 'a fresh page';
    const hear = ({ source, data }) => {
      if (source !== frame.contentWindow) return;
      if ('failure' in data) reject(new Error(`in the frame: ${data.failure}`));
      else resolve(data);
    };
    addEventListener('message', hear);
    check.defer(() => {
      removeEventListener('message', hear);
      frame.remove();
    });
    frame.addEventListener('error', () => reject(new Error('the frame did not load')));
    frame.srcdoc = `<!doctype html><script type="module">
      import * as residua from ${JSON.stringify(address)};
      const complaints = [];
      addEventListener('error', ({ message }) => complaints.push('uncaught: ' + message));
      addEventListener('unhandledrejection', ({ reason }) => complaints.push('unhandled rejection: ' + (reason?.message ?? reason)));
      console.error = (...words) => void complaints.push('console.error: ' + words.join(' '));
      try {
        const answer = await (${code})(residua, ...${JSON.stringify(values)});
        // Unhandled rejections are reported at the end of the turn in which they happen.
        await new Promise((resolve) => setTimeout(resolve, 20));
        parent.postMessage({ answer, complaints }, '*');
      } catch (error) {
        parent.postMessage({ failure: String(error?.stack ?? error) }, '*');
      }
    </script>`;
    document.body.append(frame);
  });
}
