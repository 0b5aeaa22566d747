//! Rules of views: an adjoint goes back to where its element came from.

use super::{Adjoint, Places, PullBack, Shares};
use crate::dtype::DType;
use crate::expr::{Border, Elementwise, Reduction, TensorId};
use crate::size::Size;
use residua_base::list::Listed;

/// An index that is beyond every axis, so that a gather reads 0.
const BEYOND: f64 = i32::MAX as f64;

/// The shortest window of which only the elements that a place has are looked at: of shorter ones all, which are one gather.
const LONG_WINDOW: i64 = 32;

impl PullBack<'_> {
    pub(super) fn slice(&mut self, starts: &[Size], steps: &[i64]) -> Shares {
        let shape = self.shape(0);
        let mut node = self.adjoint.node;
        // Axes with gaps: each place reads the element that came from it.
        for axis in (0..shape.len()).filter(|axis| steps[*axis].abs() > 1) {
            let count = self.sweep.expr.shape(node)[axis].clone();
            let indices = self.element_from(&shape[axis], &starts[axis], steps[axis], &count);
            node = self.expr().gather(node, indices, axis as u32);
        }
        // The others go forwards from their first place; those backwards are turned around.
        let between = self.sweep.expr.shape(node).to_vec();
        let (zero, one) = (Size::constant(0), Size::constant(1));
        let is_backwards = |axis: usize| steps[axis] == -1;
        let last = |axis: usize| &between[axis] - &one;
        if (0..shape.len()).any(is_backwards) {
            let part = |axis: usize| if is_backwards(axis) { (last(axis), -1) } else { (zero.clone(), 1) };
            let (starts, steps) = (0..shape.len()).map(part).unzip();
            node = self.expr().slice(node, starts, steps, between.clone());
        }
        let before = |axis: usize| match steps[axis] {
            1 => starts[axis].clone(),
            -1 => &starts[axis] - &last(axis),
            _ => zero.clone(),
        };
        let before = (0..shape.len()).map(before).list();
        let node = self.expr().pad_with_zeros(node, before, &shape);
        self.only_guarded(node)
    }

    /// The first operand gets what stands outside of the part, the second what stands in it.
    pub(super) fn set_slice(&mut self, starts: &[Size]) -> Shares {
        let (adjoint, dtype, part) = (self.adjoint.node, self.dtype(), self.shape(1));
        let outside = self.wanted[0].then(|| {
            let zeros = self.expr().full(0.0, dtype, &part);
            Adjoint { node: self.expr().set_slice(adjoint, starts.to_vec(), zeros), guarded: true }
        });
        let inside = self.wanted[1].then(|| {
            let steps = vec![1; part.len()];
            let node = self.expr().slice(adjoint, starts.to_vec(), steps, part);
            Adjoint { node, guarded: self.adjoint.guarded }
        });
        vec![outside, inside]
    }

    /// For each place p of an axis the i < count with start + i · step = p, else an index beyond.
    fn element_from(&mut self, extent: &Size, start: &Size, step: i64, count: &Size) -> TensorId {
        let places = self.expr().iota(0, DType::I32, std::slice::from_ref(extent));
        let start = self.expr().extent(start, DType::I32);
        let distance = self.apply(Elementwise::Sub, &[places, start]);
        let step = self.expr().constant(step as f64, DType::I32);
        let element = self.apply(Elementwise::Div, &[distance, step]);
        let rest = self.apply(Elementwise::Mod, &[distance, step]);
        let zero = self.expr().constant(0.0, DType::I32);
        let is_whole = self.apply(Elementwise::Eq, &[rest, zero]);
        self.where_within(element, count, is_whole, element)
    }

    /// `x` where an element is one of so many and a condition holds, else an index beyond every axis.
    fn where_within(&mut self, element: TensorId, count: &Size, condition: TensorId, x: TensorId) -> TensorId {
        let zero = self.expr().constant(0.0, DType::I32);
        let count = self.expr().extent(count, DType::I32);
        let beyond = self.expr().constant(BEYOND, DType::I32);
        let is_first = self.apply(Elementwise::Ge, &[element, zero]);
        let is_last = self.apply(Elementwise::Lt, &[element, count]);
        let is_within = self.apply(Elementwise::And, &[is_first, is_last]);
        let holds = self.apply(Elementwise::And, &[is_within, condition]);
        self.apply(Elementwise::Select, &[holds, x, beyond])
    }

    pub(super) fn pad(&mut self, before: &[Size], border: Border) -> Shares {
        let shape = self.shape(0);
        let mut node = self.adjoint.node;
        if border == Border::Constant {
            let back = before.iter().map(|before| &Size::constant(0) - before).list();
            let share = |node: TensorId| Some(Adjoint { node, guarded: true });
            let inner = if self.wanted[0] { share(self.expr().pad_with_zeros(node, back, &shape)) } else { None };
            let beyond = if self.wanted[1] { share(self.beyond_border(before)) } else { None };
            return vec![inner, beyond];
        }
        for (axis, before) in before.iter().enumerate() {
            let mut target = self.sweep.expr.shape(node).to_vec();
            if before.is(0) && target[axis] == shape[axis] {
                continue;
            }
            let places = self.places_of_border(&target[axis], before, &shape[axis], border);
            target[axis] = shape[axis].clone();
            node = self.added_to_zeros(Places::Slices, axis as u32, &target, places, node);
        }
        self.only(node)
    }

    /// The sum of the adjoint where the number beyond the border stands.
    fn beyond_border(&mut self, before: &[Size]) -> TensorId {
        let (dtype, shape) = (self.dtype(), self.shape(0));
        let whole = self.sweep.expr.shape(self.result).to_vec();
        let ones = self.expr().full(1.0, dtype, &shape);
        let inner = self.expr().pad_with_zeros(ones, before.to_vec(), &whole);
        let zero = self.number(0.0);
        let is_beyond = self.apply(Elementwise::Eq, &[inner, zero]);
        let adjoints = self.where_holds(is_beyond, self.adjoint.node);
        let axes: Vec<u32> = (0..whole.len() as u32).list();
        self.expr().reduce(Reduction::Sum, adjoints, &axes)
    }

    /// The place of the operand's axis that each place of a padded axis repeats.
    fn places_of_border(&mut self, padded: &Size, before: &Size, extent: &Size, border: Border) -> TensorId {
        let [before, extent] = [before, extent].map(|size| self.expr().extent(size, DType::I32));
        let [zero, one] = [0.0, 1.0].map(|number| self.expr().constant(number, DType::I32));
        let places = self.expr().iota(0, DType::I32, std::slice::from_ref(padded));
        let place = self.apply(Elementwise::Sub, &[places, before]);
        let last = self.apply(Elementwise::Sub, &[extent, one]);
        match border {
            Border::Constant | Border::Clamp => {
                let place = self.apply(Elementwise::Maximum, &[place, zero]);
                self.apply(Elementwise::Minimum, &[place, last])
            }
            Border::Wrap => self.apply(Elementwise::FloorMod, &[place, extent]),
            // A period goes there and back; of one element it is that element.
            Border::Mirror => {
                let period = self.apply(Elementwise::Add, &[last, last]);
                let period = self.apply(Elementwise::Maximum, &[period, one]);
                let there = self.apply(Elementwise::FloorMod, &[place, period]);
                let back = self.apply(Elementwise::Sub, &[period, there]);
                let place = self.apply(Elementwise::Minimum, &[there, back]);
                self.apply(Elementwise::Minimum, &[place, last])
            }
        }
    }

    /// Each part gets its part.
    pub(super) fn concat(&mut self, axis: u32) -> Shares {
        let mut start = Size::constant(0);
        let mut shares = Vec::new();
        for (place, wanted) in self.wanted.iter().enumerate() {
            let shape = self.shape(place);
            let mut starts = vec![Size::constant(0); shape.len()];
            starts[axis as usize] = start.clone();
            start = &start + &shape[axis as usize];
            let steps = vec![1; shape.len()];
            let adjoint = self.adjoint;
            shares.push(
                wanted.then(|| Adjoint { node: self.expr().slice(adjoint.node, starts, steps, shape), ..adjoint }),
            );
        }
        shares
    }

    /// Each place of the axis sums over the windows that it is in: for each place within a window there is at most one.
    pub(super) fn windows(&mut self, axis: u32, step: u32, dilation: u32) -> Shares {
        let shape = self.shape(0);
        let adjoint = self.adjoint.node;
        let of = self.sweep.expr.shape(adjoint).to_vec();
        let (count, size) = (&of[axis as usize], &of[shape.len()]);
        // The place within a window beside the window, and both as one axis.
        let last = shape.len() as u32;
        let order: Vec<u32> = (0..=axis).chain([last]).chain(axis + 1..last).list();
        let beside = self.expr().permute(adjoint, &order);
        let mut merged = shape.clone();
        merged[axis as usize] = count * size;
        let merged = self.expr().reshape(beside, &merged);
        // Of long windows without gaps a place has one element in each of a few, and those beyond the window are none.
        let long = size.known().filter(|size| *size >= LONG_WINDOW && step > 1 && dilation == 1);
        let terms =
            long.map_or_else(|| size.clone(), |size| Size::constant((size - 1).div_euclid(i64::from(step)) + 1));
        let square = [shape[axis as usize].clone(), terms];
        let places = self.expr().iota(0, DType::I32, &square);
        let term = self.expr().iota(1, DType::I32, &square);
        let [step, dilation, zero] =
            [step, dilation, 0].map(|number| self.expr().constant(f64::from(number), DType::I32));
        let within = if long.is_some() {
            let first = self.apply(Elementwise::Mod, &[places, step]);
            let others = self.apply(Elementwise::Mul, &[term, step]);
            self.apply(Elementwise::Add, &[first, others])
        } else {
            term
        };
        let offset = self.apply(Elementwise::Mul, &[within, dilation]);
        let start = self.apply(Elementwise::Sub, &[places, offset]);
        let window = self.apply(Elementwise::Div, &[start, step]);
        let rest = self.apply(Elementwise::Mod, &[start, step]);
        let is_whole = self.apply(Elementwise::Eq, &[rest, zero]);
        let extent = self.expr().extent(size, DType::I32);
        let is_inside = self.apply(Elementwise::Lt, &[within, extent]);
        let is_whole = if long.is_some() { self.apply(Elementwise::And, &[is_whole, is_inside]) } else { is_whole };
        let first = self.apply(Elementwise::Mul, &[window, extent]);
        let element = self.apply(Elementwise::Add, &[first, within]);
        let indices = self.where_within(window, count, is_whole, element);
        let read = self.expr().gather(merged, indices, axis);
        let node = self.expr().reduce(Reduction::Sum, read, &[axis + 1]);
        self.only_guarded(node)
    }
}
