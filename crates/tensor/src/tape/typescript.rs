//! Keeps the recorder in TypeScript on the same codes: generates `pkg-template/src/tensor/tape-codes.ts` and
//! `pkg-template/src/tensor/recipe/elementwise-codes.ts` from the tables and compares. With `RESIDUA_BLESS=1` in the environment it rewrites
//! the files instead.

use std::fmt::{Debug, Write};
use std::path::PathBuf;

use super::codes::{BORDERS, COMBINES, OPERATIONS, REDUCTIONS};
use crate::dtype::DType;
use crate::expr::{Elementwise, Linalg, Takes};

const ELEMENTWISE: &str = "\
/**
 * Elementwise operations: their codes on the tape, how many operands they take, and of which types.
 *
 * Generated from crates/tensor/src/expr/elementwise.rs; never edit. The native test
 * tape::typescript::recorder_has_the_codes_of_the_table checks it, and rewrites it when run with RESIDUA_BLESS=1.
 */
";

const CODES: &str = "\
/**
 * Codes of the tape.
 *
 * Generated from crates/tensor/src/tape/codes.rs; never edit. The native test
 * tape::typescript::recorder_has_the_codes_of_the_table checks it, and rewrites it when run with RESIDUA_BLESS=1.
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

/// The elementwise operations.
fn elementwise() -> String {
    let mut text = format!("{ELEMENTWISE}export const ELEMENTWISE = {{\n");
    for op in Elementwise::ALL {
        let (name, code, arity, takes) = (op.name(), *op as u8, op.arity(), takes(op.takes()));
        writeln!(text, "  {name}: {{ code: {code}, arity: {arity}, takes: '{takes}' }},")
            .expect("writing to a string cannot fail");
    }
    text + "} as const;\n" + TYPE
}

/// The other codes.
fn codes() -> String {
    let by_place = |names: Vec<String>| names.into_iter().zip(0..).collect();
    let types = DType::ALL.iter().map(|dtype| dtype.name().to_owned()).collect();
    type Codes = Vec<(String, u32)>;
    let tables: [(&str, &str, Codes); 6] = [
        ("OP", "Operations.", OPERATIONS.iter().map(|(name, code)| ((*name).to_owned(), *code)).collect()),
        ("REDUCTION", "Reductions.", by_place(REDUCTIONS.iter().map(name).collect())),
        ("COMBINE", "How elements at one place combine.", by_place(COMBINES.iter().map(name).collect())),
        ("LINALG", "Linear algebra.", by_place(Linalg::ALL.iter().map(name).collect())),
        ("BORDER", "What stands beyond a border.", by_place(BORDERS.iter().map(name).collect())),
        ("DTYPE_CODE", "Element types.", by_place(types)),
    ];
    let mut text = CODES.to_owned();
    for (table, doc, entries) in tables {
        let mut write = |line: String| writeln!(text, "{line}").expect("writing to a string cannot fail");
        write(format!("/** {doc} */\nexport const {table} = {{"));
        entries.iter().for_each(|(name, code)| write(format!("  {name}: {code},")));
        write("} as const;\n".to_owned());
    }
    text.trim_end().to_owned() + "\n"
}

/// The name of a variant in the facade.
fn name(variant: &impl Debug) -> String {
    let name = format!("{variant:?}");
    name[..1].to_lowercase() + &name[1..]
}

#[test]
fn recorder_has_the_codes_of_the_table() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../pkg-template/src/tensor");
    for (file, expected) in [("recipe/elementwise-codes.ts", elementwise()), ("tape-codes.ts", codes())] {
        let path = folder.join(file);
        if std::env::var_os("RESIDUA_BLESS").is_some_and(|value| value == "1") {
            std::fs::write(&path, &expected).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(found, expected, "{} is not what the table says; run with RESIDUA_BLESS=1", path.display());
    }
}
