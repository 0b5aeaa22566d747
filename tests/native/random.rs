//! Random expressions for property tests, and how many cases run.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;

use residua::model::Leaf;
use residua_ir::graph::Op;

/// So many cases, the same in every run; RESIDUA_CASES asks for more.
pub fn cases(few: u32) -> ProptestConfig {
    let asked = std::env::var("RESIDUA_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(few),
        rng_seed: RngSeed::Fixed(2026),
        failure_persistence: None,
        max_global_rejects: 1_000_000,
        ..ProptestConfig::default()
    }
}

/// One application, with its operands among the entries before it.
#[derive(Clone, Debug)]
pub struct Application {
    pub op: Op,
    pub operands: [Index; 3],
}

pub fn applications(ops: &'static [Op], most: usize) -> impl Strategy<Value = Vec<Application>> {
    let application = (select(ops), any::<[Index; 3]>()).prop_map(|(op, operands)| Application { op, operands });
    vec(application, 1..=most)
}

/// Applications and the outputs among all entries.
pub type Recording = (Vec<Application>, Vec<Index>);

pub fn random_tape(most: usize) -> impl Strategy<Value = Recording> {
    (applications(Op::ALL, most), vec(any::<Index>(), 1..5))
}

/// The arrays of a tape.
pub struct Columns {
    pub ops: Vec<u8>,
    pub operands: [Vec<u32>; 3],
    pub constants: Vec<f64>,
    pub outputs: Vec<u32>,
}

/// The tape of a recording over four parameters and two constants.
pub fn tape_of((applications, outputs): &Recording) -> Columns {
    let (mut ops, mut operands) = (Vec::new(), [Vec::new(), Vec::new(), Vec::new()]);
    let mut push = |code: u8, entries: [u32; 3]| {
        ops.push(code);
        operands.iter_mut().zip(entries).for_each(|(column, entry)| column.push(entry));
    };
    (0..4).for_each(|parameter| push(Leaf::Parameter as u8, [parameter, 0, 0]));
    (0..2).for_each(|constant| push(Leaf::Constant as u8, [constant, 0, 0]));
    for (application, before) in applications.iter().zip(6..) {
        push(application.op as u8, [0, 1, 2].map(|place| application.operands[place].index(before) as u32));
    }
    let entries = ops.len();
    let outputs = outputs.iter().map(|output| output.index(entries) as u32).collect();
    Columns { ops, operands, constants: vec![0.5, -3.0], outputs }
}
