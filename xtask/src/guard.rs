//! The glue's answer to traps. A trap in a callback of the page (a microtask, a message, a timer) has no caller that could catch it: Node would end,
//! and promises of the module would stay pending. The glue asks a listener
//! whether an error is a trap, and does not throw that.

use crate::command::{Failure, Outcome};

/// What the glue of wasm-bindgen has, and what replaces it.
const REPLACEMENTS: [(&str, &str); 2] = [
    (
        "            return f(a, state.b, ...args);
        } finally {",
        "            return f(a, state.b, ...args);
        } catch (error) {
            if (trapListener === null || !trapListener(error)) throw error;
            // Nothing of the instance may be called any more, so the closure is never freed.
            state.cnt = Infinity;
        } finally {",
    ),
    // Callbacks of an instance that has failed may still be called.
    ("            throw new Error('Cannot invoke closure from previous WASM instance');", "            return;"),
];

const LISTENER: &str = "
let trapListener = null;

/**
 * Calls `listener` with an error that is thrown in a callback of the page. It returns whether the error is a trap; any other is thrown on.
 */
export function onTrap(listener) {
    trapListener = listener;
}
";

const DECLARATION: &str = "
/**
 * Calls `listener` with an error that is thrown in a callback of the page. It returns whether the error is a trap; any other is thrown on.
 */
export function onTrap(listener: (error: unknown) => boolean): void;
";

/// Guards callbacks in the glue and declares the listener.
pub fn guard(glue: &str, declarations: &str) -> Outcome<(String, String)> {
    let mut guarded = glue.to_owned();
    for (from, to) in REPLACEMENTS {
        if guarded.matches(from).count() != 1 {
            return Err(Failure(format!("the glue has no callbacks of the known form: {}", from.trim())));
        }
        guarded = guarded.replace(from, to);
    }
    if guarded.contains("function makeClosure(") {
        return Err(Failure("the glue has callbacks of a form that is not guarded: makeClosure".to_owned()));
    }
    Ok((guarded + LISTENER, declarations.to_owned() + DECLARATION))
}

/// Checks that the glue has no callbacks to guard: the page calls the module, which gives it no closures.
pub fn check_without_callbacks(glue: &str) -> Outcome {
    if glue.contains("makeMutClosure(") || glue.contains("makeClosure(") {
        return Err(Failure("the glue has callbacks, which are not guarded in this module".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLUE: &str = "
function makeMutClosure(arg0, arg1, f) {
        if (state.instance !== __wbg_instance_id) {
            throw new Error('Cannot invoke closure from previous WASM instance');
        }
        try {
            return f(a, state.b, ...args);
        } finally {
            real._wbg_cb_unref();
        }
}";

    #[test]
    fn callbacks_are_guarded_and_the_listener_is_declared() {
        let (glue, declarations) = guard(GLUE, "export function other(): void;\n").unwrap();
        assert!(glue.contains("!trapListener(error)) throw error;") && !glue.contains("previous WASM"));
        assert!(glue.contains("export function onTrap(") && declarations.contains("onTrap("));
    }

    #[test]
    fn callbacks_of_a_module_without_a_guard_are_refused() {
        assert!(check_without_callbacks("export function plan() {}").is_ok());
        assert!(check_without_callbacks(GLUE).is_err());
    }

    #[test]
    fn glue_of_another_form_is_refused() {
        assert!(guard("", "").is_err());
        assert!(guard(&GLUE.replace("finally", "after"), "").is_err());
        assert!(guard(&format!("{GLUE}\nfunction makeClosure() {{}}"), "").is_err());
    }
}
