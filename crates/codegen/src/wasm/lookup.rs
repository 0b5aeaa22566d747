//! Numbers of tables. The address of a place is kept, so that what reads a place of several tables of one length (the surroundings of a point in a table, as
//! tables that begin at different numbers) computes it once.

use super::addresses::{AddressValue, Addresses};
use super::encoding::instructions as wasm;
use super::encoding::{Instruction, MemArg, ValType};
use super::expression::Expression;
use super::frame;
use super::locals::Width;
use residua_ir::graph::NodeId;

impl Addresses<'_> {
    /// Computes a node that is a number of a table.
    pub fn look_up(&mut self, to: &mut Expression, node: NodeId, operands: [NodeId; 3]) {
        let [place, first, length] = operands;
        let [first, length] = [first, length].map(|operand| to.graph.literal_value(operand).unwrap_or_default() as u32);
        let mut locals = [0; 2];
        for lane in 0..to.width.lanes() {
            locals[usize::from(lane)] = self.place(to, place, length, lane);
        }
        load(to, first, locals);
        operands.into_iter().for_each(|operand| to.release(operand));
        to.assign(node);
    }

    /// Leaves the address of all tables to the functions of loops.
    pub fn hand_tables_on(&mut self, to: &mut Expression) {
        let pointer = self.tables(to);
        to.write(Instruction::LocalGet(pointer));
        to.write(Instruction::GlobalSet(to.functions.tables()));
    }

    /// The local of the address of all tables.
    fn tables(&mut self, to: &mut Expression) -> u32 {
        let buffer = self.kernel.tables.map_or(0, |tables| tables.buffer);
        self.word(to, frame::pointer(buffer))
    }

    /// The local of the address of a lane's place.
    fn place(&mut self, to: &mut Expression, node: NodeId, length: u32, lane: u8) -> u32 {
        let value = AddressValue::Place { node, length, lane };
        if let Some(local) = self.computed.get(&value) {
            return *local;
        }
        let pointer = self.tables(to);
        let local = match self.passing {
            None => to.locals.add(ValType::I32),
            Some(passing) if lane == 0 => passing.named,
            Some(passing) => passing.loaded,
        };
        write_place(to, (node, lane), length, local, Instruction::LocalGet(pointer));
        self.set_varying(to, local, value)
    }
}

/// The locals of addresses of places in the function of a loop, by node, length and lane.
pub(super) type Places = Vec<((NodeId, u32, u8), u32)>;

/// Computes a node of a loop's body that is a number of a table.
pub(super) fn look_up_in_loop(to: &mut Expression, places: &mut Places, node: NodeId, operands: [NodeId; 3]) {
    let [place, first, length] = operands;
    let [first, length] = [first, length].map(|operand| to.graph.literal_value(operand).unwrap_or_default() as u32);
    let mut locals = [0; 2];
    for lane in 0..to.width.lanes() {
        let value = (place, length, lane);
        let known = places.iter().find(|(known, _)| *known == value).map(|(_, local)| *local);
        locals[usize::from(lane)] = known.unwrap_or_else(|| {
            let local = to.locals.add(ValType::I32);
            let tables = Instruction::GlobalGet(to.functions.tables());
            write_place(to, (place, lane), length, local, tables);
            to.write(Instruction::LocalSet(local));
            places.push((value, local));
            local
        });
    }
    load(to, first, locals);
    operands.into_iter().for_each(|operand| to.release(operand));
    to.assign(node);
}

/// Pushes the address of a lane's place, a number of an index within a table, by a local for the index.
fn write_place(to: &mut Expression, (node, lane): (NodeId, u8), length: u32, local: u32, tables: Instruction) {
    let last = Instruction::I32Const(length as i32 - 1);
    to.push_lane(node, lane);
    to.write(wasm::I32_TRUNC_SAT_F64_U);
    to.write(Instruction::LocalTee(local));
    to.write(last.clone());
    to.write(Instruction::LocalGet(local));
    to.write(last);
    to.write(wasm::I32_LT_U);
    to.write(wasm::SELECT);
    to.write(Instruction::I32Const(3));
    to.write(wasm::I32_SHL);
    to.write(tables);
    to.write(wasm::I32_ADD);
}

/// Pushes the numbers of a table at places whose addresses in the first table are in locals, one for each lane.
fn load(to: &mut Expression, first: u32, [address, second]: [u32; 2]) {
    let at = MemArg { offset: first << 3, align: 3 };
    match to.width {
        Width::Single => {
            to.write(Instruction::LocalGet(address));
            to.write(wasm::f64_load(at));
        }
        Width::Pair => {
            to.write(Instruction::LocalGet(second));
            to.write(Instruction::LocalGet(address));
            to.write(wasm::v128_load64_zero(at));
            to.write(wasm::v128_load64_lane(at, 1));
        }
    }
}
