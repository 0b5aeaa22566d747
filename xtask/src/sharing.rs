//! What the glue needs for memory that threads share. A module makes its memory itself, and the facade may change its bytes so that it imports one
//! (pkg-template/src/threads/shared-module.ts): the glue then hands over the memory that the facade gives. Views of memory that is shared keep their
//! length when it grows, and decoders and encoders of text refuse them.

use crate::command::{Failure, Outcome};

/// How the glue finds that a view is of memory that has grown since. The other form of the same finds shared memory, too.
const GROWN: &str = ".byteLength === 0) {";
const GROWN_OR_SHARED: &str = ".byteLength === 0 || (memoryImport !== null && {view}.buffer !== wasm.memory.buffer)) {";

/// What the glue has once, and what replaces it.
const REPLACEMENTS: [(&str, &str); 3] = [
    (
        "        \"glue\": import0,\n",
        "        \"glue\": import0,\n        ...(memoryImport !== null && { env: { memory: memoryImport() } }),\n",
    ),
    (
        "    return cachedTextDecoder.decode(bytes);",
        "    return cachedTextDecoder.decode(memoryImport === null ? bytes : bytes.slice());",
    ),
    ("module_or_path = new URL('{name}_bg.wasm', import.meta.url);", "module_or_path = wasmAddress();"),
];

/// The same where a module is given texts with other letters than those of ASCII.
const ENCODE: (&str, &str) = (
    "        const ret = cachedTextEncoder.encodeInto(arg, view);",
    "        const ret = memoryImport === null ? cachedTextEncoder.encodeInto(arg, view) : encodeShared(arg, view);",
);

const ENCODE_SHARED: &str = "
function encodeShared(arg, view) {
    const buf = cachedTextEncoder.encode(arg);
    view.set(buf);
    return { written: buf.length };
}
";

const EXPORTS: &str = "
let memoryImport = null;

/**
 * Has instances of a module that imports its memory import what `memory` gives.
 */
export function importMemory(memory) {
    memoryImport = memory;
}

/**
 * The address of the module beside this file.
 */
export function wasmAddress() {
    return new URL('{name}_bg.wasm', import.meta.url);
}
";

const DECLARATIONS: &str = "
/**
 * Has instances of a module that imports its memory import what `memory` gives.
 */
export function importMemory(memory: () => WebAssembly.Memory): void;

/**
 * The address of the module beside this file.
 */
export function wasmAddress(): URL;
";

/// Makes the glue of a module ready for shared memory, and declares what that adds. `name` is that of the glue's file.
pub fn prepare(glue: &str, declarations: &str, name: &str) -> Outcome<(String, String)> {
    let mut prepared = views(glue)?;
    for (from, to) in REPLACEMENTS {
        let from = from.replace("{name}", name);
        if prepared.matches(&from).count() != 1 {
            return Err(Failure(format!("the glue has not once what shared memory changes: {}", from.trim())));
        }
        prepared = prepared.replace(&from, to);
    }
    if prepared.contains("encodeInto(arg, view)") {
        if prepared.matches(ENCODE.0).count() != 1 {
            return Err(Failure("the glue encodes texts in an unknown form".to_owned()));
        }
        prepared = prepared.replace(ENCODE.0, ENCODE.1) + ENCODE_SHARED;
    }
    Ok((prepared + &EXPORTS.replace("{name}", name), declarations.to_owned() + DECLARATIONS))
}

/// Has each view that is kept be made anew where shared memory has grown.
fn views(glue: &str) -> Outcome<String> {
    let mut prepared = String::with_capacity(glue.len());
    for line in glue.split_inclusive('\n') {
        let kept = line.trim().strip_prefix("if (cached").and_then(|rest| rest.split_once(' '));
        match kept {
            Some((view, _)) if line.contains(GROWN) => {
                prepared.push_str(&line.replace(GROWN, &GROWN_OR_SHARED.replace("{view}", &format!("cached{view}"))));
            }
            _ => prepared.push_str(line),
        }
    }
    if prepared.contains(GROWN) || !prepared.contains("memoryImport !== null && cached") {
        return Err(Failure("the glue keeps views of memory in an unknown form".to_owned()));
    }
    Ok(prepared)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLUE: &str = "
    return {
        \"glue\": import0,
    };
    if (cachedUint8ArrayMemory0 === null || cachedUint8ArrayMemory0.byteLength === 0) {
    return cachedTextDecoder.decode(bytes);
        const ret = cachedTextEncoder.encodeInto(arg, view);
        module_or_path = new URL('a_bg.wasm', import.meta.url);
";

    #[test]
    fn views_texts_imports_and_the_address_are_those_of_shared_memory() {
        let (glue, declarations) = prepare(GLUE, "", "a").unwrap();
        for part in [
            "|| (memoryImport !== null && cachedUint8ArrayMemory0.buffer !== wasm.memory.buffer)) {",
            "{ env: { memory: memoryImport() } }",
            "bytes.slice()",
            ": encodeShared(arg, view);",
            "module_or_path = wasmAddress();",
            "return new URL('a_bg.wasm', import.meta.url);",
        ] {
            assert!(glue.contains(part), "{part}");
        }
        assert!(declarations.contains("importMemory(") && declarations.contains("wasmAddress("));
    }

    #[test]
    fn glue_of_another_form_is_refused() {
        assert!(prepare("", "", "a").is_err());
        assert!(prepare(GLUE, "", "b").is_err());
        assert!(prepare(&GLUE.replace("=== 0", "== 0"), "", "a").is_err());
        assert!(prepare(&GLUE.replace("(bytes)", "(view)"), "", "a").is_err());
        assert!(prepare(&GLUE.replace("const ret =", "const { written } ="), "", "a").is_err());
    }
}
