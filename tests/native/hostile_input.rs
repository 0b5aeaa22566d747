//! Input that is wrong in random ways: tapes and templates are read, or refused with the place of the error.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::random::{cases, random_tape, tape_of};
use residua::model::{CompileInput, Tape};
use residua_base::cooperative::{Slices, run_synchronously};
use residua_base::error::ErrorCode;
use residua_codegen::template_parameters;
use residua_codegen::wgsl::Template;

/// One edit of a column of a tape.
#[derive(Clone, Debug)]
enum Edit {
    Op(Index, u8),
    Operand(usize, Index, u32),
    Output(Index, u32),
    Shorten(usize),
    DropConstants(usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let number = || prop_oneof![0..80_u32, Just(u32::MAX), Just(1 << 31), any::<u32>()];
    let edit = prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(place, code)| Edit::Op(place, code)),
        (0..3_usize, any::<Index>(), number()).prop_map(|(column, place, entry)| Edit::Operand(column, place, entry)),
        (any::<Index>(), number()).prop_map(|(place, entry)| Edit::Output(place, entry)),
        (0..4_usize).prop_map(Edit::Shorten),
        (0..4_usize).prop_map(Edit::DropConstants),
    ];
    vec(edit, 0..4)
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_tape_that_is_wrong_in_any_way_is_compiled_or_refused_with_its_entry(recording in random_tape(30), edits in edits()) {
        let mut columns = tape_of(&recording);
        for edit in edits {
            match edit {
                Edit::Op(place, code) => *place.get_mut(&mut columns.ops) = code,
                Edit::Operand(column, place, entry) => *place.get_mut(&mut columns.operands[column]) = entry,
                Edit::Output(place, entry) => *place.get_mut(&mut columns.outputs) = entry,
                // An operand column that is shorter than the ops.
                Edit::Shorten(column) => drop(columns.operands[column % 3].pop()),
                Edit::DropConstants(left) => columns.constants.truncate(left),
            }
            if columns.operands.iter().any(Vec::is_empty) {
                break;
            }
        }
        let entries = columns.ops.len();
        match Tape::new(columns.ops, columns.operands, columns.constants, columns.outputs.clone(), 4, 2) {
            Ok(tape) => {
                prop_assert!(columns.outputs.iter().all(|output| (*output as usize) < entries));
                (0..entries as u32).for_each(|entry| _ = tape.node(entry));
                // Grouping either makes batches of all residuals or refuses; the params form has no data.
                let tape = CompileInput::params(4, Box::new(tape));
                if let Ok(model) = run_synchronously(tape.into_model(&Slices::unlimited())) {
                    prop_assert_eq!(model.num_residuals as usize, columns.outputs.len());
                }
            }
            Err(error) => {
                let words = &error.message;
                let has_place = words.starts_with("entry ") || words.starts_with("output ") || words.contains("differ in length");
                prop_assert!(has_place && error.code == ErrorCode::InvalidGraph, "{words}");
            }
        }
    }
}

template_parameters! {
    struct Sample {
        wide: bool,
        exact: bool,
        count: u32,
        size: u32,
        body: String,
    }
}

/// The project's own templates, which use every directive.
const TEMPLATES: [&str; 4] = [
    include_str!("../../shaders/levenberg_marquardt/decide.wgsl"),
    include_str!("../../shaders/limited_memory/decide.wgsl"),
    include_str!("../../shaders/solve_many.wgsl"),
    "#import a\n#if WIDE && !(EXACT || WIDE)\nx\n#else if EXACT\n{COUNT * (SIZE + 1) / 2 - 1}\n#else\n#for i in (1..COUNT).rev()\n#for j in 0..i\nl{i}_{j}\n#endfor\n#endfor\n#endif\n    {BODY}\n",
];

const PIECES: [&str; 24] = [
    "#if",
    "#if WIDE",
    "#else",
    "#else if EXACT",
    "#endif",
    "#for",
    "#for i in 0..COUNT",
    "#for i in 0..4294967295u",
    "#endfor",
    "#import ",
    "#import a",
    "{COUNT / 0}",
    "{SIZE - 1000}",
    "{COUNT * 4294967295}",
    "{((((",
    "}",
    "{BODY}",
    "{}",
    "{WIDE}",
    "{i}",
    "\u{0}",
    "é",
    "\r\n",
    "..",
];

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_template_that_is_wrong_in_any_way_is_expanded_or_refused_with_its_line(
        source in select(&TEMPLATES[..]),
        edits in vec((0..4_u8, any::<Index>(), any::<Index>(), select(&PIECES[..])), 1..5),
        count in 0..5_u32,
    ) {
        let mut lines: Vec<String> = source.lines().map(str::to_owned).collect();
        for (kind, place, other, piece) in edits {
            let (at, from) = (place.index(lines.len()), other.index(lines.len()));
            match kind {
                0 if lines.len() > 1 => drop(lines.remove(at)),
                1 => lines.swap(at, from),
                2 => lines.insert(at, piece.to_owned()),
                _ => {
                    let character = other.index(lines[at].chars().count() + 1);
                    let byte = lines[at].char_indices().nth(character).map_or(lines[at].len(), |(byte, _)| byte);
                    lines[at].insert_str(byte, piece);
                }
            }
        }
        let text = lines.join("\n");
        let template = Template { name: "hostile", source: &text };
        let sample = Sample { wide: true, exact: false, count, size: 2, body: "a = 1.0;\nb = 2.0;".to_owned() };
        if let Err(error) = template.expand(&sample, &|_| None) {
            let line = error.message.strip_prefix("hostile.wgsl, line ").and_then(|rest| rest.split(':').next());
            let line = line.and_then(|line| line.parse::<usize>().ok());
            let count = text.lines().count();
            prop_assert!(line.is_some_and(|line| 1 <= line && line <= count), "{} of {count} lines", error.message);
        }
    }
}
