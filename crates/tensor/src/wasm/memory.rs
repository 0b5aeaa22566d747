//! Elements of buffers: their addresses, loads and stores.
//!
//! An address that is linear in the coordinate of the innermost loop is a pointer, which the loop advances. Along the lanes, an address that is
//! linear gives a distance between lanes; that of one element is a vector in memory. Every other address is computed lane by lane.

use residua_base::list::Listed;
use residua_codegen::wasm::encoding::instructions::{self as wasm, shuffle};
use residua_codegen::wasm::encoding::{Instruction, ValType};

use super::code::Local;
use super::pointer::{Distance, Pointer};
use super::routine::Routine;
use super::values::{Form, Points, Values};
use crate::dtype::DType;
use crate::kernel::Store;
use crate::scalar::{Id, Type, TypedNode, TypedOp};

/// Where the elements of four points are.
enum Place {
    /// One element for all, at an address.
    Same(Local),
    /// At an address and a distance between lanes; the offset is that of the first lane.
    Line { address: Local, lane: Distance, offset: u32 },
    /// At the addresses in the lanes of a vector.
    Scattered(Local),
}

fn shift_of(dtype: DType) -> u32 {
    dtype.bytes().trailing_zeros()
}

impl Values<'_, '_> {
    /// The factor of a coordinate in an address that is linear in it; none otherwise. The code stands where the factor is known.
    pub fn factor(&mut self, id: Id, axis: u32) -> Option<Distance> {
        if !self.depends_on(id, axis) {
            return Some(Distance::Known(0));
        }
        match self.graph.node(id) {
            TypedNode::Coordinate(_) => Some(Distance::Known(1)),
            TypedNode::Apply(op @ (TypedOp::IntAdd | TypedOp::IntSub), [a, b, _]) => {
                let (x, y) = (self.factor(a, axis)?, self.factor(b, axis)?);
                Some(self.combine(op, x, y))
            }
            TypedNode::Apply(TypedOp::IntMul, [a, b, _]) => {
                let (factor, other) = match (self.depends_on(a, axis), self.depends_on(b, axis)) {
                    (true, false) => (self.factor(a, axis)?, b),
                    (false, true) => (self.factor(b, axis)?, a),
                    _ => return None,
                };
                // The code of a factor stands at the start of the function.
                if self.varies(other) {
                    return None;
                }
                let other = match self.graph.node(other) {
                    TypedNode::Literal(_, bits) => Distance::Known(bits as i32),
                    _ => Distance::Local(self.first(other)),
                };
                Some(self.combine(TypedOp::IntMul, factor, other))
            }
            _ => None,
        }
    }

    fn combine(&mut self, op: TypedOp, a: Distance, b: Distance) -> Distance {
        match (op, a, b) {
            (TypedOp::IntAdd, Distance::Known(a), Distance::Known(b)) => Distance::Known(a.wrapping_add(b)),
            (TypedOp::IntSub, Distance::Known(a), Distance::Known(b)) => Distance::Known(a.wrapping_sub(b)),
            (TypedOp::IntMul, Distance::Known(a), Distance::Known(b)) => Distance::Known(a.wrapping_mul(b)),
            (TypedOp::IntMul, Distance::Known(0), _) | (TypedOp::IntMul, _, Distance::Known(0)) => Distance::Known(0),
            (TypedOp::IntAdd, Distance::Known(0), other)
            | (TypedOp::IntAdd | TypedOp::IntSub, other, Distance::Known(0)) => other,
            (TypedOp::IntMul, Distance::Known(1), other) | (TypedOp::IntMul, other, Distance::Known(1)) => other,
            _ => {
                let instruction = match op {
                    TypedOp::IntAdd => wasm::I32_ADD,
                    TypedOp::IntSub => wasm::I32_SUB,
                    _ => wasm::I32_MUL,
                };
                // Factors are products and sums of sizes, which are known at the start.
                Distance::Local(self.code.keep(0, ValType::I32, &[a.get(), b.get(), instruction]))
            }
        }
    }

    /// A factor of an index as a distance in bytes.
    fn bytes(&mut self, factor: Distance, dtype: DType) -> Distance {
        self.combine(TypedOp::IntMul, factor, Distance::Known(dtype.bytes() as i32))
    }

    /// The address of the element of the first point of the first vector, in a block where it is known.
    fn address(&mut self, buffer: u32, index: Id) -> Local {
        let dtype = self.kernel.buffers[buffer as usize].dtype;
        if let Some(axis) = self.inner_axis
            && self.depends_on(index, axis)
            && let Some(factor) = self.factor(index, axis)
        {
            let known = self.pointers.iter().find(|pointer| (pointer.buffer, pointer.index) == (buffer, index));
            if let Some(pointer) = known {
                return pointer.at;
            }
            let start = self.at_start(index);
            let mut code = self.byte_offset(start, dtype);
            code.extend([self.base(buffer).get(), wasm::I32_ADD]);
            let at = self.code.keep(self.pointers_block, ValType::I32, &code);
            let step = self.bytes(factor, dtype);
            let step = if self.is_descending { self.combine(TypedOp::IntSub, Distance::Known(0), step) } else { step };
            self.pointers.push(Pointer { buffer, index, at, step });
            return at;
        }
        let first = self.first(index);
        let mut code = self.byte_offset(first, dtype);
        code.extend([self.base(buffer).get(), wasm::I32_ADD]);
        let block = self.block(index, Form::First);
        self.code.keep(block, ValType::I32, &code)
    }

    fn byte_offset(&self, index: Local, dtype: DType) -> Vec<Instruction> {
        let mut code = vec![index.get()];
        if shift_of(dtype) > 0 {
            code.extend([Instruction::I32Const(shift_of(dtype) as i32), wasm::I32_SHL]);
        }
        code
    }

    /// Advances the pointers of the innermost loop by a number of its coordinates.
    pub fn advance(&mut self, count: u32) {
        let block = self.code.innermost();
        for pointer in self.pointers.clone() {
            let step = match self.combine(TypedOp::IntMul, pointer.step, Distance::Known(count as i32)) {
                Distance::Known(0) => continue,
                step => step,
            };
            self.code.put(block, &[pointer.at.get(), step.get(), wasm::I32_ADD, pointer.at.set()]);
        }
    }

    /// Where the elements of four points are.
    fn place(&mut self, buffer: u32, index: Id) -> Place {
        if self.is_uniform(index) {
            return Place::Same(self.address(buffer, index));
        }
        let dtype = self.kernel.buffers[buffer as usize].dtype;
        let Some(factor) = self.factor(index, self.lane_axis) else {
            let indices = self.lanes(index);
            let base = self.base(buffer);
            let shift = Instruction::I32Const(shift_of(dtype) as i32);
            let code = [indices.get(), shift, wasm::I32X4_SHL, base.get(), wasm::I32X4_SPLAT, wasm::I32X4_ADD];
            let block = self.block(index, Form::Lanes);
            return Place::Scattered(self.code.vector(block, &code));
        };
        let lane = self.bytes(factor, dtype);
        let lane = match self.is_descending && self.inner_axis == Some(self.lane_axis) {
            true => self.combine(TypedOp::IntSub, Distance::Known(0), lane),
            false => lane,
        };
        let copy = std::mem::replace(&mut self.copy, 0);
        let address = self.address(buffer, index);
        self.copy = copy;
        match lane {
            Distance::Known(bytes) if bytes >= 0 => Place::Line { address, lane, offset: 4 * copy * bytes as u32 },
            _ if copy == 0 => Place::Line { address, lane, offset: 0 },
            _ => {
                let block = self.block(index, Form::Lanes);
                let far = self.combine(TypedOp::IntMul, lane, Distance::Known(4 * copy as i32));
                let code = [address.get(), far.get(), wasm::I32_ADD];
                let address = self.code.keep(block, ValType::I32, &code);
                Place::Line { address, lane, offset: 0 }
            }
        }
    }

    /// The address of each lane. Lanes without points repeat the last one if `repeats`.
    fn lane_addresses(&mut self, block: usize, place: &Place, repeats: bool) -> [(Local, u32); 4] {
        match *place {
            Place::Same(address) => [(address, 0); 4],
            Place::Scattered(addresses) => [0, 1, 2, 3].map(|lane| {
                let code = [addresses.get(), wasm::i32x4_extract_lane(lane)];
                (self.code.keep(block, ValType::I32, &code), 0)
            }),
            Place::Line { address, lane, offset } => {
                let mut at = (address, offset);
                [0, 1, 2, 3].map(|number| {
                    if number == 0 {
                        return at;
                    }
                    at = match (lane, self.points) {
                        (Distance::Known(bytes), Points::Four) if bytes >= 0 => (at.0, at.1 + bytes as u32),
                        (_, Points::Some(count)) if repeats => {
                            let is_point = [
                                lane.get(),
                                Instruction::I32Const(0),
                                Instruction::I32Const(number),
                                count.get(),
                                wasm::I32_LT_U,
                                wasm::SELECT,
                            ];
                            let mut code = vec![at.0.get()];
                            code.extend(is_point);
                            code.push(wasm::I32_ADD);
                            (self.code.keep(block, ValType::I32, &code), at.1)
                        }
                        _ => (self.code.keep(block, ValType::I32, &[at.0.get(), lane.get(), wasm::I32_ADD]), at.1),
                    };
                    at
                })
            }
        }
    }

    /// The elements of four points.
    pub fn load_lanes(&mut self, id: Id, buffer: u32, index: Id, block: usize) -> Local {
        let dtype = self.kernel.buffers[buffer as usize].dtype;
        let place = self.place(buffer, index);
        let raw = match place {
            Place::Same(address) => match dtype.bytes() {
                4 => self.code.vector(block, &[address.get(), wasm::v128_load32_splat(0)]),
                2 => self.code.vector(block, &[address.get(), wasm::i32_load16_u(0), wasm::I32X4_SPLAT]),
                _ => self.code.vector(block, &[address.get(), wasm::i32_load8_u(0), wasm::I32X4_SPLAT]),
            },
            Place::Line { address, lane: Distance::Known(bytes), offset } if bytes == dtype.bytes() as i32 => {
                let load = match bytes {
                    4 => wasm::v128_load(offset),
                    2 => wasm::v128_load64_zero(offset),
                    _ => wasm::v128_load32_zero(offset),
                };
                let packed = self.code.vector(block, &[address.get(), load]);
                self.widened(block, packed, dtype)
            }
            _ => {
                let addresses = self.lane_addresses(block, &place, true);
                let zero = self.code.word(0);
                let load = match dtype.bytes() {
                    4 => wasm::v128_load32_lane,
                    2 => wasm::v128_load16_lane,
                    _ => wasm::v128_load8_lane,
                };
                let packed = addresses.iter().zip(0..).fold(zero, |packed, ((address, offset), lane)| {
                    self.code.vector(block, &[address.get(), packed.get(), load(*offset, lane)])
                });
                self.widened(block, packed, dtype)
            }
        };
        debug_assert_eq!(self.graph.ty(id), Type::of(dtype));
        match dtype {
            DType::F32 | DType::I32 | DType::U32 | DType::U8 => raw,
            DType::Bool => {
                let zero = self.code.word(0);
                self.code.two(block, wasm::I32X4_NE, raw, zero)
            }
            DType::F16 => self.code.call(block, Routine::FromHalf, &[raw]),
        }
    }

    /// Elements that are packed in the low bytes, in a lane each.
    fn widened(&mut self, block: usize, packed: Local, dtype: DType) -> Local {
        match dtype.bytes() {
            4 => packed,
            2 => self.code.one(block, wasm::I32X4_EXTEND_LOW_I16X8_U, packed),
            _ => {
                let code = [packed.get(), wasm::I16X8_EXTEND_LOW_I8X16_U, wasm::I32X4_EXTEND_LOW_I16X8_U];
                self.code.vector(block, &code)
            }
        }
    }

    /// A uniform integer or bool.
    pub fn load_single(&mut self, buffer: u32, index: Id, block: usize) -> Local {
        let dtype = self.kernel.buffers[buffer as usize].dtype;
        let address = self.address(buffer, index);
        let load = match dtype.bytes() {
            4 => wasm::i32_load(0),
            _ => wasm::i32_load8_u(0),
        };
        self.code.keep(block, ValType::I32, &[address.get(), load])
    }

    /// Stores the values of points. All values are computed before any is stored, since what a point reads it may also write.
    pub fn store_all(&mut self, stores: &[Store]) {
        self.prepare(stores.iter().map(|store| store.value));
        let values: Vec<Local> = stores.iter().map(|store| self.stored_form(store)).list();
        for (store, value) in stores.iter().zip(values) {
            self.store(store, value);
        }
    }

    /// The value of a store as its buffer has it: packed in the low bytes.
    fn stored_form(&mut self, store: &Store) -> Local {
        let block = self.code.innermost();
        let value = self.lanes(store.value);
        // Every fourth byte, or every other pair of bytes.
        match self.kernel.buffers[store.buffer as usize].dtype {
            DType::F32 | DType::I32 | DType::U32 => value,
            DType::U8 => {
                let places = shuffle([0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
                self.code.two(block, places, value, value)
            }
            DType::Bool => {
                let places = shuffle([0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
                let one = self.code.word(1);
                let truth = self.code.two(block, wasm::V128_AND, value, one);
                self.code.two(block, places, truth, truth)
            }
            DType::F16 => {
                let places = shuffle([0, 1, 4, 5, 8, 9, 12, 13, 0, 0, 0, 0, 0, 0, 0, 0]);
                let halves = self.code.call(block, Routine::ToHalf, &[value]);
                self.code.two(block, places, halves, halves)
            }
        }
    }

    fn store(&mut self, store: &Store, value: Local) {
        let block = self.code.innermost();
        let bytes = self.kernel.buffers[store.buffer as usize].dtype.bytes();
        let place = self.place(store.buffer, store.index);
        let store_lane = match bytes {
            4 => wasm::v128_store32_lane,
            2 => wasm::v128_store16_lane,
            _ => wasm::v128_store8_lane,
        };
        if let (Place::Line { address, lane: Distance::Known(distance), offset }, Points::Four) = (&place, self.points)
            && *distance == bytes as i32
        {
            let instruction = match bytes {
                4 => wasm::v128_store(*offset),
                2 => wasm::v128_store64_lane(*offset, 0),
                _ => wasm::v128_store32_lane(*offset, 0),
            };
            self.code.put(block, &[address.get(), value.get(), instruction]);
            return;
        }
        if let Place::Same(address) = place {
            self.code.put(block, &[address.get(), value.get(), store_lane(0, 0)]);
            return;
        }
        let addresses = self.lane_addresses(block, &place, false);
        for ((address, offset), lane) in addresses.into_iter().zip(0u8..) {
            let code = [address.get(), value.get(), store_lane(offset, lane)];
            match self.points {
                Points::Some(count) if lane > 0 => {
                    let is_point = [count.get(), Instruction::I32Const(i32::from(lane) + 1), wasm::I32_GE_U];
                    self.code.put(block, &is_point);
                    self.code.put(block, &[Instruction::If]);
                    self.code.put(block, &code);
                    self.code.put(block, &[wasm::END]);
                }
                Points::Four | Points::Some(_) => self.code.put(block, &code),
            }
        }
    }
}
