//! Keeps the recorder in TypeScript on the same codes: generates `pkg-template/src/expressions/op-codes.ts` from the op table and compares.
//! With `RESIDUA_BLESS=1` in the environment it rewrites the file instead.

use residua_base::list::Listed;
use std::fmt::Write;
use std::path::PathBuf;

use super::{Op, leaf};

const HEADER: &str = "\
/**
 * What stands on the tape: the codes of leaves and operations.
 *
 * Generated from crates/ir/src/graph/op.rs; never edit. The native test graph::op_codes::typescript_has_the_codes_of_the_op_table
 * checks it, and rewrites it when run with RESIDUA_BLESS=1.
 */
";

fn typescript() -> String {
    let leaves = leaf::ALL.iter().copied();
    let ops = Op::ALL.iter().chain([&Op::Lookup]).map(|op| (op.name(), *op as u8));
    let mut text = format!("{HEADER}export const Op = {{\n");
    for (name, code) in leaves.chain(ops) {
        writeln!(text, "  {name}: {code},").expect("writing to a string cannot fail");
    }
    text + "} as const;\n\n/** A code of the table. */\nexport type OpCode = (typeof Op)[keyof typeof Op];\n"
}

#[test]
fn typescript_has_the_codes_of_the_op_table() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../pkg-template/src/expressions/op-codes.ts");
    let expected = typescript();
    if std::env::var_os("RESIDUA_BLESS").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().expect("the path has a folder")).unwrap();
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(found, expected, "{} is not what the op table says; run with RESIDUA_BLESS=1", path.display());
}

#[test]
fn every_code_and_name_is_used_once() {
    let all: Vec<(&str, u8)> =
        leaf::ALL.iter().copied().chain(Op::ALL.iter().chain([&Op::Lookup]).map(|op| (op.name(), *op as u8))).list();
    for (position, (name, code)) in all.iter().enumerate() {
        for (other_name, other_code) in &all[position + 1..] {
            assert!(name != other_name && code != other_code, "{name} = {code} and {other_name} = {other_code}");
        }
    }
    for op in Op::ALL {
        assert_eq!(Op::from_code(*op as u8), Some(*op));
    }
}
