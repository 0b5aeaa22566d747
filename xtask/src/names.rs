//! Short names for what the module imports from its glue: wasm-bindgen's own make up a fiftieth of the module, and no user reads
//! them. Takes the module and the glue as wasm-bindgen writes them, and gives both with names that agree again.

use crate::binary::{FUNCTION, IMPORTS, Reader, number, sized};
use crate::command::{Failure, Outcome};

/// What replaces the name under which the glue hands over all imports.
const SHORT_GLUE: &str = "glue";

/// Renames the imports of a module in it and in its glue. `name` is that of the glue's file.
pub fn shorten(module: &[u8], glue: &str, name: &str) -> Outcome<(Vec<u8>, String)> {
    let from = format!("./{name}_bg.js");
    let mut reader = Reader { bytes: module, position: 0 };
    let mut shortened = reader.take(8)?.to_vec();
    let mut glue = glue.to_owned();
    while reader.position < module.len() {
        let id = reader.take(1)?[0];
        let content = reader.sized()?;
        shortened.push(id);
        if id == IMPORTS {
            sized(&mut shortened, &imports(content, &from, &mut glue)?);
        } else {
            sized(&mut shortened, content);
        }
    }
    Ok((shortened, replace_once(&glue, &format!("\"{from}\":"), &format!("\"{SHORT_GLUE}\":"))?))
}

fn imports(content: &[u8], expected: &str, glue: &mut String) -> Outcome<Vec<u8>> {
    let mut reader = Reader { bytes: content, position: 0 };
    let count = reader.number()?;
    let mut written = Vec::new();
    number(&mut written, count);
    for position in 0..count {
        let (from, name) = (reader.text()?, reader.text()?);
        let kind = reader.take(1)?[0];
        if from != expected || kind != FUNCTION {
            return Err(Failure(format!(
                "the module imports {from} {name} of kind {kind}; its imports are functions of {expected}"
            )));
        }
        let signature = reader.number()?;
        let short = short_name(position);
        *glue = replace_once(glue, &format!("\n        {name}:"), &format!("\n        {short}:"))?;
        sized(&mut written, SHORT_GLUE.as_bytes());
        sized(&mut written, short.as_bytes());
        written.push(kind);
        number(&mut written, signature);
    }
    Ok(written)
}

fn replace_once(text: &str, from: &str, to: &str) -> Outcome<String> {
    match text.matches(from).count() {
        1 => Ok(text.replace(from, to)),
        times => Err(Failure(format!("the glue has {times} times what it has once: {}", from.trim()))),
    }
}

/// a, b, … z, ba, …
fn short_name(mut position: u32) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(b'a' + (position % 26) as u8));
        position /= 26;
        if position == 0 {
            return letters.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLUE: &str = "./residua_bg.js";

    fn module(from: &str, names: &[&str]) -> Vec<u8> {
        let mut imports = vec![names.len() as u8];
        for name in names {
            sized(&mut imports, from.as_bytes());
            sized(&mut imports, name.as_bytes());
            imports.extend([FUNCTION, 5]);
        }
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        module.push(IMPORTS);
        sized(&mut module, &imports);
        module.extend([10, 1, 0]);
        module
    }

    #[test]
    fn module_and_glue_agree_on_the_short_names() {
        let glue = "{\n        __wbg_now_1: f,\n        __wbg_now_12: g,\n    };\n    \"./residua_bg.js\": import0,";
        let (shortened, glue) =
            shorten(&module(GLUE, &["__wbg_now_1", "__wbg_now_12"]), glue, "residua").expect("both names are there");
        assert_eq!(shortened, module(SHORT_GLUE, &["a", "b"]));
        assert_eq!(glue, "{\n        a: f,\n        b: g,\n    };\n    \"glue\": import0,");
    }

    #[test]
    fn what_is_not_as_expected_is_refused() {
        for (from, glue) in [(GLUE, "\"./residua_bg.js\": import0"), ("env", "\n        now: f\n\"./residua_bg.js\":")]
        {
            assert!(shorten(&module(from, &["now"]), glue, "residua").is_err());
        }
        assert!(shorten(b"\0asm\x01\0\0\0\x02\x09", "", "residua").is_err());
        // The glue of another module.
        let glue = "\n        now: f\n\"./residua_bg.js\":";
        assert!(shorten(&module(GLUE, &["now"]), glue, "residua_tensor").is_err());
    }

    #[test]
    fn names_are_all_different() {
        let names: std::collections::HashSet<String> = (0..2000).map(short_name).collect();
        assert_eq!(names.len(), 2000);
    }
}
