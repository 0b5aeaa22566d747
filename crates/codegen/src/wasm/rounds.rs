//! The rounds of a kernel's loop: several at a time, of which the operations alternate, so that none waits long for what it needs.

use std::ops::Range;

use super::addresses::Addresses;
use super::encoding::instructions as wasm;
use super::encoding::{Function, Instruction};
use super::expression::Expression;
use super::locals::Width;
use super::round::{Sum, write_round};
use crate::{CheckedKernel, Instances};
use residua_base::list::Listed;

/// Leaves the block if fewer instances than these are left.
pub(super) fn unless_left(function: &mut Function, of: (u32, u32), instances: i32) {
    unless_left_in(function, of, instances, 0);
}

/// The same for the block around so many others.
pub(super) fn unless_left_in(function: &mut Function, of: (u32, u32), instances: i32, depth: u32) {
    compare(function, of, instances, wasm::I32_LT_U, depth);
}

/// Leaves the block, or repeats the loop, around so many others by how the instances that are left compare with a number.
fn compare(function: &mut Function, (instance, end): (u32, u32), instances: i32, comparison: Instruction, depth: u32) {
    function.instructions(&[
        Instruction::LocalGet(end),
        Instruction::LocalGet(instance),
        wasm::I32_SUB,
        Instruction::I32Const(instances),
        comparison,
        Instruction::BrIf(depth),
    ]);
}

/// The code of one round, and of several whose operations alternate.
pub(super) struct Rounds {
    one: Vec<u8>,
    several: Vec<u8>,
    /// How many several are.
    pub count: u32,
}

impl Rounds {
    /// Writes them for an expression that has no code.
    pub fn write(
        kernel: &CheckedKernel,
        body: &mut Expression,
        addresses: &mut Addresses,
        total: u32,
        sums: &[Sum],
    ) -> Rounds {
        let state = body.state();
        body.marks.clear();
        addresses.start_over();
        let mut round = |number: u32, body: &mut Expression| {
            addresses.go_to(number * u32::from(body.width.lanes()));
            write_round(kernel, body, addresses, total, sums);
            (std::mem::take(&mut body.code), std::mem::take(&mut body.marks))
        };
        let mut rounds = vec![round(0, body)];
        let count = side_by_side(kernel, body, rounds[0].0.len());
        for number in 1..count {
            body.resume(state.clone());
            rounds.push(round(number, body));
        }
        let mut several = Vec::new();
        let mut from = vec![0; rounds.len()];
        for mark in 0..=rounds[0].1.len() {
            for ((code, marks), from) in rounds.iter().zip(&mut from) {
                let to = marks.get(mark).copied().unwrap_or(code.len());
                several.extend_from_slice(&code[*from..to]);
                *from = to;
            }
        }
        Rounds { one: rounds.swap_remove(0).0, several, count }
    }

    /// The addresses of the whole code.
    pub fn all(&self) -> Range<usize> {
        0..self.several.len()
    }

    /// The addresses of several functions in the code, of which some begin at cuts.
    pub fn parts(&self, cuts: &[usize]) -> Vec<Range<usize>> {
        let begins = [0].into_iter().chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([self.several.len()]);
        begins.zip(ends).map(|(begin, end)| begin..end).list()
    }

    /// Appends the loop over all instances that are left, of which there is a round, with a part of the code.
    pub fn repeat(&self, function: &mut Function, part: Range<usize>, (instance, end): (u32, u32), lanes: i32) {
        let write = |function: &mut Function, code: &[u8], instances: i32| {
            function.raw(code);
            function.instructions(&[
                Instruction::LocalGet(instance),
                Instruction::I32Const(instances),
                wasm::I32_ADD,
                Instruction::LocalSet(instance),
            ]);
        };
        let all = lanes * self.count as i32;
        function.instruction(&Instruction::Block);
        if self.count > 1 {
            // First what is left by rounds side by side, whose number is a power of two.
            function.instructions(&[
                Instruction::Block,
                Instruction::Loop,
                Instruction::LocalGet(end),
                Instruction::LocalGet(instance),
                wasm::I32_SUB,
                Instruction::I32Const(all - lanes),
                wasm::I32_AND,
                wasm::I32_EQZ,
                Instruction::BrIf(1),
            ]);
            write(function, &self.one, lanes);
            function.instructions(&[Instruction::Br(0), wasm::END, wasm::END]);
            unless_left(function, (instance, end), all);
        }
        function.instruction(&Instruction::Loop);
        write(function, &self.several[part], all);
        compare(function, (instance, end), all, wasm::I32_GE_U, 0);
        function.instructions(&[wasm::END, wasm::END]);
    }
}

/// How many rounds the loop makes at a time: a processor looks ahead less far than a round is long, and would wait for the results of one alone. Where
/// indices lead elsewhere in every instance, more than two take more addresses than there are registers. Numbers that do not fit are kept in memory,
/// from where they are soon fetched.
fn side_by_side(kernel: &CheckedKernel, body: &Expression, length: usize) -> u32 {
    if body.width == Width::Single
        || kernel.instances != Instances::Many
        || kernel.is_parted()
        || kernel.reads_what_it_writes()
        || !kernel.graph.graph().loops().is_empty()
    {
        return 1;
    }
    let finds_elements = kernel.elements().any(|element| element.index.loads().any(|(_, index)| !index.is_same()));
    let has_calls = body.has_calls && !kernel.calls.is_empty();
    match length {
        ..=SHORT if !has_calls && !finds_elements => 8,
        ..=MODERATE => 2,
        _ => 1,
    }
}

/// Bytes of code of a round, up to which there are eight at a time.
const SHORT: usize = 800;
/// The same for two.
const MODERATE: usize = 1600;
