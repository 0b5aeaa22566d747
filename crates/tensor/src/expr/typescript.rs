//! Keeps the recorder in TypeScript on the same operations: generates `pkg-template/src/tensor/recipe/elementwise-codes.ts` from the table and
//! compares. With `RESIDUA_BLESS=1` in the environment it rewrites the file instead.

use std::fmt::Write;
use std::path::PathBuf;

use super::{Elementwise, Takes};

const HEADER: &str = "\
/**
 * Elementwise operations: their codes on the tape, how many operands they take, and of which types.
 *
 * Generated from crates/tensor/src/expr/elementwise.rs; never edit. The native test
 * expr::typescript::recorder_has_the_codes_of_the_table checks it, and rewrites it when run with RESIDUA_BLESS=1.
 */
";

const TYPE: &str = "
/** The name of an elementwise operation. */
export type ElementwiseName = keyof typeof ELEMENTWISE;

/** Which element types an operation takes: bits are integers and truth values. */
export type Takes = (typeof ELEMENTWISE)[ElementwiseName]['takes'];
";

fn takes(takes: Takes) -> &'static str {
    match takes {
        Takes::Reals => "reals",
        Takes::Numbers => "numbers",
        Takes::Bits => "bits",
        Takes::Integers => "integers",
        Takes::Any => "any",
    }
}

fn typescript() -> String {
    let mut text = format!("{HEADER}export const ELEMENTWISE = {{\n");
    for op in Elementwise::ALL {
        let (name, code, arity, takes) = (op.name(), *op as u8, op.arity(), takes(op.takes()));
        writeln!(text, "  {name}: {{ code: {code}, arity: {arity}, takes: '{takes}' }},")
            .expect("writing to a string cannot fail");
    }
    text + "} as const;\n" + TYPE
}

#[test]
fn recorder_has_the_codes_of_the_table() {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../pkg-template/src/tensor/recipe/elementwise-codes.ts");
    let expected = typescript();
    if std::env::var_os("RESIDUA_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(found, expected, "{} is not what the table says; run with RESIDUA_BLESS=1", path.display());
}
