//! Views at a point: the same elements at other points.

use residua_base::error::{Error, Result};

use super::{ElementIndex, Lowering};
use crate::expr::{Border, TensorId, TensorOp};
use crate::scalar::{Id, Type, TypedOp};
use crate::size::Size;

impl Lowering<'_> {
    /// The value of a view at a point.
    pub(super) fn view(&mut self, id: TensorId, index: &ElementIndex) -> Result<Id> {
        let expr = self.expr;
        let tensor = expr.tensor(id);
        let operand = tensor.operands[0];
        if matches!(tensor.op, TensorOp::Reshape) {
            return self.reshaped(id, operand, index);
        }
        let mut at = self.coordinates(index, id);
        match &tensor.op {
            TensorOp::Expand => self.broadcast(operand, id, index),
            TensorOp::Permute(axes) => {
                let mut coordinates = at.clone();
                for (axis, from) in axes.iter().enumerate() {
                    coordinates[*from as usize] = at[axis];
                }
                self.value(operand, ElementIndex::Coordinates(coordinates))
            }
            TensorOp::Slice { starts, steps } => {
                for ((coordinate, start), step) in at.iter_mut().zip(starts).zip(steps) {
                    *coordinate = self.affine(*coordinate, *step, start);
                }
                self.value(operand, ElementIndex::Coordinates(at))
            }
            TensorOp::Windows { axis, step, dilation } => {
                let within = at.pop().ok_or_else(|| Error::internal("windows without an axis"))?;
                let none = Size::constant(0);
                let place = self.affine(at[*axis as usize], i64::from(*step), &none);
                let within = self.affine(within, i64::from(*dilation), &none);
                at[*axis as usize] = self.graph.apply(TypedOp::IntAdd, &[place, within]);
                self.value(operand, ElementIndex::Coordinates(at))
            }
            TensorOp::SetSlice { starts, .. } => self.with_part(id, at, starts),
            TensorOp::Pad { before, border } => self.padded(id, &at, before, *border),
            TensorOp::Concat(axis) => self.concatenated(&tensor.operands, *axis as usize, &at),
            TensorOp::Gather(axis) => {
                let axis = *axis as usize;
                let indices = tensor.operands[1];
                let rank = expr.tensor(indices).shape.len();
                let within = at[axis..axis + rank].to_vec();
                let place = self.value(indices, ElementIndex::Coordinates(within))?;
                let mut coordinates = at[..axis].to_vec();
                coordinates.push(place);
                coordinates.extend_from_slice(&at[axis + rank..]);
                self.gathered(operand, axis, coordinates)
            }
            TensorOp::GatherElements(axis) => {
                let place = self.value(tensor.operands[1], ElementIndex::Coordinates(at.clone()))?;
                at[*axis as usize] = place;
                self.gathered(operand, *axis as usize, at)
            }
            _ => Err(Error::internal("an operation that is no view")),
        }
    }

    /// coordinate · step + start
    fn affine(&mut self, coordinate: Id, step: i64, start: &Size) -> Id {
        if let (true, Some(at), Some(first)) = (self.in_blocks, self.graph.literal_bits(coordinate), start.known()) {
            return self.graph.u32((i64::from(at) * step + first) as u32);
        }
        let factor = self.size(&Size::constant(step));
        let product = self.graph.apply(TypedOp::IntMul, &[coordinate, factor]);
        let start = self.size(start);
        self.graph.apply(TypedOp::IntAdd, &[product, start])
    }

    /// The same position in C order. Axes that only split or stay have coordinates without a division: those of one side are matched with those of
    /// the other where their products are equal.
    fn reshaped(&mut self, id: TensorId, operand: TensorId, index: &ElementIndex) -> Result<Id> {
        let expr = self.expr;
        let (from, to) = (&expr.tensor(operand).shape, &expr.tensor(id).shape);
        let at = match index {
            ElementIndex::Linear(_) => return self.value(operand, index.clone()),
            ElementIndex::Coordinates(at) => at,
        };
        let mut coordinates = Vec::with_capacity(from.len());
        let mut outer = 0;
        let mut inner = 0;
        while inner < from.len() {
            // The shortest runs of axes on both sides with one product.
            let (mut last, mut end) = (inner + 1, outer);
            let mut left = from[inner].clone();
            let mut right = Size::constant(1);
            loop {
                if left == right {
                    break;
                }
                let may_grow = end < to.len();
                let is_smaller = match (left.known(), right.known()) {
                    (Some(left), Some(right)) => right < left,
                    _ => may_grow,
                };
                if is_smaller && may_grow {
                    right = &right * &to[end];
                    end += 1;
                } else if last < from.len() {
                    left = &left * &from[last];
                    last += 1;
                } else if may_grow {
                    right = &right * &to[end];
                    end += 1;
                } else {
                    // Products of dims that are equal only as a whole.
                    let linear = self.linear(index, id);
                    return self.value(operand, ElementIndex::Linear(linear));
                }
            }
            if inner == 0 && last == from.len() && last - inner > 1 && end - outer > 1 {
                let linear = self.linear(index, id);
                return self.value(operand, ElementIndex::Linear(linear));
            }
            let linear = self.linear_of(&at[outer..end], &to[outer..end]);
            let part = self.coordinates_of(linear, &from[inner..last]);
            coordinates.extend(part);
            (inner, outer) = (last, end);
        }
        self.value(operand, ElementIndex::Coordinates(coordinates))
    }

    /// An element of the operand, or what stands beyond its border.
    fn padded(&mut self, id: TensorId, at: &[Id], before: &[Size], border: Border) -> Result<Id> {
        let expr = self.expr;
        let tensor = expr.tensor(id);
        let operand = tensor.operands[0];
        let (shape, whole) = (&expr.tensor(operand).shape, &tensor.shape);
        let mut is_within = self.graph.bool(true);
        // An axis without elements repeats none: what stands around it is 0.
        let mut exists = is_within;
        let mut coordinates = Vec::with_capacity(at.len());
        for (((coordinate, before), extent), padded) in at.iter().zip(before).zip(shape).zip(whole) {
            if extent == padded && before.is(0) {
                coordinates.push(*coordinate);
                continue;
            }
            // Where only elements are left out, nothing stands beyond a border.
            let is_part = before.known().is_some_and(|before| before <= 0)
                && (&(extent + before) - padded).known().is_some_and(|after| after >= 0);
            if is_part {
                let before = self.size(before);
                coordinates.push(self.graph.apply(TypedOp::IntSub, &[*coordinate, before]));
                continue;
            }
            let may_be_empty = may_be_empty(extent);
            let (before, extent) = (self.size(before), self.size(extent));
            let graph = &mut self.graph;
            if may_be_empty && border != Border::Constant {
                let zero = graph.u32(0);
                let has_elements = graph.apply(TypedOp::Lt, &[zero, extent]);
                exists = graph.apply(TypedOp::And, &[exists, has_elements]);
            }
            // Signed, since the place may lie before the first element.
            let place = graph.apply(TypedOp::IntSub, &[*coordinate, before]);
            let place = match border {
                Border::Constant => {
                    let zero = graph.u32(0);
                    // The first place of an axis that has elements is within it.
                    let within = match place == zero && !may_be_empty {
                        true => graph.bool(true),
                        false => graph.apply(TypedOp::Lt, &[place, extent]),
                    };
                    is_within = graph.apply(TypedOp::And, &[is_within, within]);
                    graph.apply(TypedOp::Select, &[within, place, zero])
                }
                Border::Clamp | Border::Wrap | Border::Mirror => self.within_border(place, extent, border),
            };
            coordinates.push(place);
        }
        let index = ElementIndex::Coordinates(coordinates);
        if border != Border::Constant {
            let value = self.value_where(exists, operand, index)?;
            let nothing = self.number(expr.tensor(operand).dtype, 0.0);
            return Ok(self.graph.apply(TypedOp::Select, &[exists, value, nothing]));
        }
        let value = self.present(shape.iter().any(may_be_empty), is_within, operand, index)?;
        // True where no axis has a border: what stands beyond is not read.
        if self.graph.literal_bits(is_within) == Some(1) {
            return Ok(value);
        }
        let beyond = self.value(tensor.operands[1], ElementIndex::Coordinates(Vec::new()))?;
        Ok(self.graph.apply(TypedOp::Select, &[is_within, value, beyond]))
    }

    /// An element of the part that replaces another, or of what it is put into.
    fn with_part(&mut self, id: TensorId, at: Vec<Id>, starts: &[Size]) -> Result<Id> {
        let expr = self.expr;
        let tensor = expr.tensor(id);
        let (base, part) = (tensor.operands[0], tensor.operands[1]);
        // A part without elements has no first one to read.
        if expr.tensor(part).shape.iter().any(|extent| extent.is(0)) {
            return self.value(base, ElementIndex::Coordinates(at));
        }
        let mut is_within = self.graph.bool(true);
        let mut places = at.clone();
        for (axis, (start, extent)) in starts.iter().zip(&expr.tensor(part).shape).enumerate() {
            if start.is(0) && *extent == tensor.shape[axis] {
                continue;
            }
            let (start, extent) = (self.size(start), self.size(extent));
            let graph = &mut self.graph;
            // A place before the part is a large u32.
            let place = graph.apply(TypedOp::IntSub, &[at[axis], start]);
            let within = graph.apply(TypedOp::Lt, &[place, extent]);
            is_within = graph.apply(TypedOp::And, &[is_within, within]);
            let zero = graph.u32(0);
            places[axis] = graph.apply(TypedOp::Select, &[within, place, zero]);
        }
        let is_rare = expr.tensor(part).shape.iter().any(may_be_empty);
        let inside = self.present(is_rare, is_within, part, ElementIndex::Coordinates(places))?;
        // True where the part is all of it: the rest is not read.
        if self.graph.literal_bits(is_within) == Some(1) {
            return Ok(inside);
        }
        let outside = self.value(base, ElementIndex::Coordinates(at))?;
        Ok(self.graph.apply(TypedOp::Select, &[is_within, inside, outside]))
    }

    /// The place of an axis that stands for one which may lie beyond its border.
    fn within_border(&mut self, place: Id, extent: Id, border: Border) -> Id {
        let graph = &mut self.graph;
        let (place, extent) = (graph.apply(TypedOp::ToI32, &[place]), graph.apply(TypedOp::ToI32, &[extent]));
        let (zero, one) = (graph.i32(0), graph.i32(1));
        let last = graph.apply(TypedOp::IntSub, &[extent, one]);
        let modulo = |graph: &mut crate::scalar::TypedGraph, value: Id, period: Id| {
            let remainder = graph.apply(TypedOp::IntRem, &[value, period]);
            let is_negative = graph.apply(TypedOp::Lt, &[remainder, zero]);
            let sum = graph.apply(TypedOp::IntAdd, &[remainder, period]);
            graph.apply(TypedOp::Select, &[is_negative, sum, remainder])
        };
        let place = match border {
            Border::Clamp | Border::Constant => {
                let below = graph.apply(TypedOp::IntMin, &[place, last]);
                graph.apply(TypedOp::IntMax, &[below, zero])
            }
            Border::Wrap => modulo(graph, place, extent),
            Border::Mirror => {
                // A period is there and back; of one element it is that element.
                let period = graph.apply(TypedOp::IntAdd, &[last, last]);
                let period = graph.apply(TypedOp::IntMax, &[period, one]);
                let there = modulo(graph, place, period);
                let back = graph.apply(TypedOp::IntSub, &[period, there]);
                let place = graph.apply(TypedOp::IntMin, &[there, back]);
                graph.apply(TypedOp::IntMin, &[place, last])
            }
        };
        graph.apply(TypedOp::ToU32, &[place])
    }

    /// The element of the part that the coordinate along the axis falls in.
    fn concatenated(&mut self, parts: &[TensorId], axis: usize, at: &[Id]) -> Result<Id> {
        let mut start = Size::constant(0);
        let mut values = Vec::with_capacity(parts.len());
        for part in parts {
            let extent = self.expr.tensor(*part).shape[axis].clone();
            if extent.is(0) {
                continue;
            }
            if let (true, Some(place)) = (self.in_blocks, self.graph.literal_bits(at[axis]))
                && let (Some(first), Some(extent)) = (start.known(), extent.known())
            {
                let place = i64::from(place) - first;
                if (0..extent).contains(&place) {
                    let mut coordinates = at.to_vec();
                    coordinates[axis] = self.graph.u32(place as u32);
                    return self.value(*part, ElementIndex::Coordinates(coordinates));
                }
                start = Size::constant(first + extent);
                continue;
            }
            let (from, size) = (self.size(&start), self.size(&extent));
            let place = self.graph.apply(TypedOp::IntSub, &[at[axis], from]);
            // A place before the part is a large u32.
            let within = self.graph.apply(TypedOp::Lt, &[place, size]);
            let zero = self.graph.u32(0);
            let mut coordinates = at.to_vec();
            coordinates[axis] = self.graph.apply(TypedOp::Select, &[within, place, zero]);
            let value = self.present(may_be_empty(&extent), within, *part, ElementIndex::Coordinates(coordinates))?;
            values.push((within, value));
            start = &start + &extent;
        }
        // Without elements there is no point, and any value will do.
        let Some((_, mut value)) = values.pop() else { return Ok(self.number(self.expr.tensor(parts[0]).dtype, 0.0)) };
        for (within, part) in values.into_iter().rev() {
            value = self.graph.apply(TypedOp::Select, &[within, part, value]);
        }
        Ok(value)
    }

    /// An element at an index of the user along an axis: negative counts from the end, out of range reads 0.
    fn gathered(&mut self, operand: TensorId, axis: usize, mut at: Vec<Id>) -> Result<Id> {
        let tensor = self.expr.tensor(operand);
        let (extent, dtype) = (tensor.shape[axis].clone(), tensor.dtype);
        let nothing = self.number(dtype, 0.0);
        if extent.is(0) {
            return Ok(nothing);
        }
        let may_be_empty = may_be_empty(&extent);
        let extent = self.size(&extent);
        let (place, within) = self.place(at[axis], extent);
        let zero = self.graph.u32(0);
        at[axis] = self.graph.apply(TypedOp::Select, &[within, place, zero]);
        let value = self.present(may_be_empty, within, operand, ElementIndex::Coordinates(at))?;
        Ok(self.graph.apply(TypedOp::Select, &[within, value, nothing]))
    }

    /// The value of a tensor at a point that is within it where a bool holds. Elsewhere it is at its first place, which is one unless the tensor
    /// may be empty.
    fn present(&mut self, may_be_empty: bool, within: Id, id: TensorId, index: ElementIndex) -> Result<Id> {
        if may_be_empty { self.value_where(within, id, index) } else { self.value(id, index) }
    }

    /// The place along an axis that an index of the user means, a u32, and whether it is within the axis.
    pub(crate) fn place(&mut self, index: Id, extent: Id) -> (Id, Id) {
        let graph = &mut self.graph;
        let place = match graph.ty(index) {
            Type::I32 => {
                let zero = graph.i32(0);
                let is_negative = graph.apply(TypedOp::Lt, &[index, zero]);
                let place = graph.apply(TypedOp::ToU32, &[index]);
                let from_end = graph.apply(TypedOp::IntAdd, &[place, extent]);
                graph.apply(TypedOp::Select, &[is_negative, from_end, place])
            }
            Type::F32 | Type::U32 | Type::Bool => index,
        };
        // One that is too negative is a large u32.
        let within = graph.apply(TypedOp::Lt, &[place, extent]);
        (place, within)
    }
}

/// Whether an axis has no elements, or may have none in a run.
fn may_be_empty(extent: &Size) -> bool {
    extent.known().is_none_or(|extent| extent == 0)
}
