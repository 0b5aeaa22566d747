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
        let at = MemArg { offset: first << 3, align: 3 };
        let address = self.place(to, place, length, 0);
        match to.width {
            Width::Single => {
                to.write(Instruction::LocalGet(address));
                to.write(wasm::f64_load(at));
            }
            Width::Pair => {
                let second = self.place(to, place, length, 1);
                to.write(Instruction::LocalGet(second));
                to.write(Instruction::LocalGet(address));
                to.write(wasm::v128_load64_zero(at));
                to.write(wasm::v128_load64_lane(at, 1));
            }
        }
        operands.into_iter().for_each(|operand| to.release(operand));
        to.assign(node);
    }

    /// The local of the address of a lane's place.
    fn place(&mut self, to: &mut Expression, node: NodeId, length: u32, lane: u8) -> u32 {
        let value = AddressValue::Place { node, length, lane };
        if let Some(local) = self.computed.get(&value) {
            return *local;
        }
        let buffer = self.kernel.tables.map_or(0, |tables| tables.buffer);
        let pointer = self.word(to, frame::pointer(buffer));
        let local = match self.passing {
            None => to.locals.add(ValType::I32),
            Some(passing) if lane == 0 => passing.named,
            Some(passing) => passing.loaded,
        };
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
        to.write(Instruction::LocalGet(pointer));
        to.write(wasm::I32_ADD);
        self.set_varying(to, local, value)
    }
}
