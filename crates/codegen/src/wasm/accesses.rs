//! Reads and writes of elements, of one instance or of a pair. Neighbouring components behind a loaded index are read and written two at a
//! time.

use super::addresses::{Addresses, Varying};
use super::encoding::Instruction;
use super::encoding::instructions as wasm;
use super::expression::Expression;
use super::locals::Width;
use crate::{Element, ElementType, Index};
use residua_ir::graph::NodeId;

/// Where the numbers of a pair of instances stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spacing {
    /// Next to each other.
    Adjacent,
    /// In one element.
    Same,
    /// In two places.
    Apart,
}

impl Addresses<'_> {
    /// Pushes an element from memory as a number, one for each instance at a time.
    pub fn load(&mut self, to: &mut Expression, element: &Element) {
        let spacing = spacing(&element.index);
        match (self.dtype(element.buffer), to.width, spacing) {
            (ElementType::U32, Width::Single, _) => self.load_integer(to, element, 0),
            (ElementType::U32, Width::Pair, _) => {
                self.load_integer(to, element, 0);
                to.write(wasm::F64X2_SPLAT);
                if spacing != Spacing::Same {
                    self.load_integer(to, element, 1);
                    to.write(wasm::f64x2_replace_lane(1));
                }
            }
            (ElementType::Real, Width::Single, _) => {
                let at = self.push(to, element, 0);
                to.write(wasm::f64_load(at));
            }
            (ElementType::Real, Width::Pair, Spacing::Adjacent) => {
                let at = self.push(to, element, 0);
                to.write(wasm::v128_load(at));
            }
            (ElementType::Real, Width::Pair, Spacing::Same) => {
                let at = self.push(to, element, 0);
                to.write(wasm::v128_load64_splat(at));
            }
            (ElementType::Real, Width::Pair, Spacing::Apart) => {
                let second = self.push(to, element, 1);
                let first = self.push(to, element, 0);
                to.write(wasm::v128_load64_zero(first));
                to.write(wasm::v128_load64_lane(second, 1));
            }
        }
    }

    fn load_integer(&mut self, to: &mut Expression, element: &Element, lane: u8) {
        let at = self.push(to, element, lane);
        to.write(wasm::i32_load(at));
        to.write(wasm::F64_CONVERT_I32_U);
    }

    /// Reads a component and the next one of what an index names, in [`Width::Pair`], and leaves them to two nodes.
    pub fn load_two(&mut self, to: &mut Expression, element: &Element, nodes: [NodeId; 2]) {
        let halves = [to.borrow(), to.borrow()];
        for (lane, half) in (0..).zip(halves) {
            let at = self.push(to, element, lane);
            to.write(wasm::v128_load(at));
            to.write(Instruction::LocalSet(half));
        }
        for (lane, node) in (0..).zip(nodes) {
            for half in halves {
                to.write(Instruction::LocalGet(half));
            }
            to.write(wasm::shuffle([lane, 2 + lane]));
            to.assign(node);
        }
        halves.into_iter().for_each(|half| to.give_back(half));
    }

    /// Writes one lane of two nodes' values to a component and the next one of what an index names, in [`Width::Pair`].
    pub fn store_two(&mut self, to: &mut Expression, element: &Element, nodes: [NodeId; 2], lane: u8) {
        let at = self.push(to, element, lane);
        to.take_lane_of_two(nodes, lane);
        to.write(wasm::v128_store(at));
    }

    /// Adds one lane of two nodes' values to such components.
    pub fn accumulate_two(&mut self, to: &mut Expression, element: &Element, nodes: [NodeId; 2], lane: u8) {
        self.push(to, element, lane);
        let at = self.push(to, element, lane);
        to.write(wasm::v128_load(at));
        to.add_lane_of_two(nodes, lane);
        to.write(wasm::v128_store(at));
    }

    /// Writes a node's value to memory, as one of its uses; where both instances write to one element, the second stays.
    pub fn store(&mut self, to: &mut Expression, element: &Element, node: NodeId) {
        match (to.width, spacing(&element.index)) {
            (Width::Pair, Spacing::Adjacent) => {
                let at = self.push(to, element, 0);
                to.take(node);
                to.write(wasm::v128_store(at));
            }
            _ => {
                for lane in 0..to.width.lanes() {
                    let at = self.push(to, element, lane);
                    to.take_lane(node, lane);
                    to.write(wasm::f64_store(at));
                }
            }
        }
    }

    /// Adds one lane of a node's value to what stands in memory; the use is counted with the last lane.
    pub fn accumulate(&mut self, to: &mut Expression, element: &Element, node: NodeId, lane: u8) {
        self.push(to, element, lane);
        let at = self.push(to, element, lane);
        to.write(wasm::f64_load(at));
        to.add_lane(node, lane);
        to.write(wasm::f64_store(at));
    }

    /// Adds the sum of both lanes of a local to an element that is the same for all instances, after the loop.
    pub fn add(&mut self, to: &mut Expression, element: &Element, local: u32) {
        self.push(to, element, 0);
        let at = self.push(to, element, 0);
        to.write(wasm::f64_load(at));
        to.write(Instruction::LocalGet(local));
        if to.width == Width::Pair {
            to.write(wasm::f64x2_extract_lane(0));
            to.write(Instruction::LocalGet(local));
            to.write(wasm::f64x2_extract_lane(1));
            to.write(wasm::F64_ADD);
        }
        to.write(wasm::F64_ADD);
        to.write(wasm::f64_store(at));
    }
}

/// Where the elements of a pair of instances stand.
fn spacing(index: &Index) -> Spacing {
    match Varying::of(index) {
        Varying::Nothing => Spacing::Same,
        Varying::Loaded(_, index) if index.is_same() => Spacing::Same,
        Varying::Instance | Varying::Multiple { factor: 1, .. } => Spacing::Adjacent,
        Varying::Multiple { .. } | Varying::Loaded(..) => Spacing::Apart,
    }
}
