//! Negatives that cost nothing. The negative of a value, if it is used once, is that value's local with a mark; sums subtract what is marked, products
//! hand the mark on, and for everybody else the sign is changed. Results are the same to the last bit.

use super::encoding::instructions as wasm;
use super::expression::{Expression, Slot};
use residua_ir::graph::{NodeId, Op};

impl Expression<'_> {
    /// Addresses the negative of a value without code, if it is used once.
    pub(super) fn negate(&mut self, node: NodeId, a: NodeId) -> bool {
        let Some(slot) = self.slots[a.index()].filter(|_| self.uses(node) == 1) else { return false };
        self.slots[node.index()] = Some(Slot { negative: !slot.negative, owner: Some(a), ..slot });
        true
    }

    /// Whether the local of a node holds its negative.
    fn is_negative(&self, node: NodeId) -> bool {
        self.slots[node.index()].is_some_and(|slot| slot.negative)
    }

    /// Pushes the value of a node, or its negative where that is what its local holds; says whether it is that.
    pub(super) fn push_either(&mut self, node: NodeId) -> bool {
        match self.slots[node.index()] {
            Some(slot) => self.get(slot.local),
            None => self.push(node),
        }
        self.is_negative(node)
    }

    /// Makes a local hold the value of a node.
    pub(super) fn settle(&mut self, node: NodeId) {
        if let Some(slot) = self.slots[node.index()].filter(|slot| slot.negative) {
            self.push(node);
            match slot.owner {
                None => {
                    self.set(slot.local);
                    self.slots[node.index()] = Some(Slot { negative: false, ..slot });
                }
                Some(owner) => {
                    self.assign(node);
                    self.release(owner);
                }
            }
        }
    }

    /// Changes the sign of the value on the stack.
    pub(super) fn change_sign(&mut self) {
        self.either(wasm::F64X2_NEG, wasm::F64_NEG);
    }

    /// Adds the two values on the stack, or subtracts the second.
    fn add(&mut self, subtract: bool) {
        match subtract {
            true => self.either(wasm::F64X2_SUB, wasm::F64_SUB),
            false => self.either(wasm::F64X2_ADD, wasm::F64_ADD),
        }
    }

    /// Adds the value of a node to the one on the stack, as one of its uses.
    pub(super) fn add_taken(&mut self, node: NodeId) {
        let subtract = self.push_either(node);
        self.add(subtract);
        self.release(node);
    }

    /// Adds one lane of a node's value to the number on the stack; the use is counted with the last lane.
    pub(super) fn add_lane(&mut self, node: NodeId, lane: u8) {
        let subtract = self.push_either(node);
        if self.width.lanes() > 1 {
            self.write(wasm::f64x2_extract_lane(lane));
        }
        self.write(if subtract { wasm::F64_SUB } else { wasm::F64_ADD });
        self.release_with_last(&[node], lane);
    }

    /// Adds one lane of two nodes' values, side by side, to the vector on the stack. The uses are counted with the last lane.
    pub(super) fn add_lane_of_two(&mut self, nodes: [NodeId; 2], lane: u8) {
        let subtract = nodes.iter().all(|node| self.is_negative(*node));
        if !subtract {
            nodes.iter().for_each(|node| self.settle(*node));
        }
        nodes.iter().for_each(|node| _ = self.push_either(*node));
        self.write(wasm::shuffle([lane, 2 + lane]));
        self.write(if subtract { wasm::F64X2_SUB } else { wasm::F64X2_ADD });
        self.release_with_last(&nodes, lane);
    }

    /// Pushes the sum of two nodes' values, or the difference.
    pub(super) fn sum(&mut self, op: Op, a: NodeId, b: NodeId) {
        let subtract = (op == Op::Sub) != self.is_negative(b);
        if self.is_negative(a) && !subtract {
            self.push_either(b);
            self.push_either(a);
            return self.add(true);
        }
        self.push(a);
        self.push_either(b);
        self.add(subtract);
    }

    /// Pushes the product of two nodes' values, or the quotient. Says whether it is the negative, which it may be where that is allowed.
    pub(super) fn product(&mut self, op: Op, a: NodeId, b: NodeId, may_be_negative: bool) -> bool {
        let negative = self.push_either(a) != self.push_either(b);
        match op {
            Op::Div => self.either(wasm::F64X2_DIV, wasm::F64_DIV),
            _ => self.either(wasm::F64X2_MUL, wasm::F64_MUL),
        }
        if negative && !may_be_negative {
            self.change_sign();
        }
        negative && may_be_negative
    }
}
