//! Coordinates of points from their number, and whether a thread takes one point at a time or four.

use super::code::Code;
use super::layout::Layout;
use super::module::{Module, bit};
use super::operation::Text;
use super::workgroups::Factor;
use crate::kernel::{Extent, Store};
use crate::scalar::{Access, Id, Type};
use residua_base::list::Listed;

/// Axes of an iteration space whose points are numbered, the innermost fastest.
#[derive(Clone, Debug)]
pub struct Axes {
    /// Coordinate and extent of each.
    axes: Vec<(u32, Extent)>,
    /// Whether four neighbours along the innermost have one number.
    by_four: bool,
}

impl Axes {
    /// Axes from a coordinate on.
    pub fn new(first: usize, extents: &[Extent], lanes: Option<u32>) -> Axes {
        let axes: Vec<(u32, Extent)> = (first as u32..).zip(extents.iter().copied()).list();
        let by_four = axes.last().is_some_and(|(axis, _)| lanes == Some(*axis));
        Axes { axes, by_four }
    }

    /// The bits of their coordinates.
    pub fn bits(&self) -> u32 {
        self.axes.iter().fold(0, |bits, (axis, _)| bits | bit(*axis))
    }

    /// How many numbers there are, for the dispatch.
    pub fn factors(&self) -> Vec<Factor> {
        let divisor = |position: usize| if self.by_four && position + 1 == self.axes.len() { 4 } else { 1 };
        let factor =
            |(position, (_, extent)): (usize, &(u32, Extent))| Factor { extent: *extent, divisor: divisor(position) };
        self.axes.iter().enumerate().map(factor).list()
    }

    /// How many numbers there are, if that does not depend on dims.
    pub fn known(&self, module: &Module) -> Option<u32> {
        let factor = |factor: Factor| module.kernel.known(factor.extent).map(|extent| extent.div_ceil(factor.divisor));
        self.factors().into_iter().map(factor).try_fold(1u32, |product, extent| product.checked_mul(extent?))
    }

    /// How many numbers there are, as an expression.
    pub fn count(&self, module: &Module) -> String {
        let factors: Vec<String> = self.factors().into_iter().map(|factor| count_of(factor, module)).list();
        let factors: Vec<String> = factors.into_iter().filter(|factor| factor != "1u").list();
        if factors.is_empty() { "1u".to_owned() } else { factors.join(" * ") }
    }

    /// Writes the coordinates of the points of a number, the value of a name.
    pub fn locate(&self, number: &str, code: &mut Code) {
        let mut rest = number.to_owned();
        for (position, factor) in self.factors().into_iter().enumerate().rev() {
            let (axis, extent) = self.axes[position];
            let steps = count_of(factor, code.module);
            let mut place = if extent == Extent::Known(1) && factor.divisor == 1 {
                "0u".to_owned()
            } else if position == 0 {
                rest.clone()
            } else {
                let place = code.bind(&format!("{rest} % {steps}"));
                rest = code.bind(&format!("{rest} / {steps}"));
                place
            };
            if factor.divisor > 1 {
                place = code.bind(&format!("{place} * {}u", factor.divisor));
            }
            code.set_coordinate(axis, place);
        }
    }

    /// Which of four points there are, if some may be missing: the vector of bools, of the coordinate of the first.
    pub fn mask(&self, code: &mut Code) -> Option<Text> {
        let (axis, extent) = *self.axes.last().filter(|_| self.by_four)?;
        if code.module.is_multiple_of_4(extent) {
            return None;
        }
        let extent = code.module.extent(extent);
        let first = code.coordinate(axis);
        let text = code.bind(&format!("({first} + vec4<u32>(0u, 1u, 2u, 3u)) < vec4<u32>({extent})"));
        Some(Text { text, ty: Type::Bool, is_vector: true, literal: None })
    }

    /// Which of the present points there are, if some may be missing, and where a bool holds: a bool, or the vector of four.
    pub fn present(&self, valid: Option<Id>, code: &mut Code) -> Option<Text> {
        let own = self.mask(code);
        let valid = valid.map(|valid| code.value(valid));
        match (own, valid) {
            (Some(own), Some(valid)) => {
                let text = code.bind(&format!("{} & {}", own.text, valid.vector()));
                Some(Text { text, ..own })
            }
            (own, valid) => own.or(valid),
        }
    }
}

/// The text of a factor.
pub fn count_of(factor: Factor, module: &Module) -> String {
    match factor.extent {
        Extent::Known(number) => format!("{}u", number.div_ceil(factor.divisor)),
        Extent::Word(_) if factor.divisor == 1 => module.extent(factor.extent),
        Extent::Word(_) => {
            format!("(({} + {}u) / {}u)", module.extent(factor.extent), factor.divisor - 1, factor.divisor)
        }
    }
}

/// Whether some load or store goes through whole vectors or words along an axis, so that a thread should take four points along it.
pub fn goes_by_four(module: &Module, axis: u32, loads: &[(u32, Id)], stores: &[Store]) -> bool {
    let access = |index: Id| module.access(index, axis);
    loads.iter().any(|(_, index)| access(*index) == Access::Vector)
        || stores.iter().any(|store| access(store.index) == Access::Vector)
}

/// How many loads and stores have neighbours along an axis.
pub fn neighbours(module: &Module, axis: u32, loads: &[(u32, Id)], stores: &[Store]) -> usize {
    let indices = loads.iter().map(|(_, index)| *index).chain(stores.iter().map(|store| store.index));
    let access = |index: Id| module.access(index, axis);
    indices.filter(|index| matches!(access(*index), Access::Vector | Access::Consecutive)).count()
}

/// Declares buffers for what is done with them along the axis of lanes. `stores` are those of points; `others` are written once for many
/// points; `masked` says whether some of four points may be missing.
pub fn declare(
    module: &mut Module,
    lanes: Option<u32>,
    loads: &[(u32, Id)],
    stores: &[Store],
    others: &[Store],
    masked: bool,
) {
    let access = |index: Id| match lanes {
        Some(axis) => module.access(index, axis),
        None => Access::Other,
    };
    let mut layouts = module.layouts.clone();
    for (buffer, layout) in layouts.iter_mut().enumerate() {
        let is_word = module.kernel.buffers[buffer].dtype.bytes() == 4;
        let mut own = stores.iter().filter(|store| store.buffer as usize == buffer).peekable();
        let is_other = others.iter().any(|store| store.buffer as usize == buffer);
        if own.peek().is_some() || is_other {
            // Written whole, or else element by element. Two stores of parts of one vector would race.
            let is_whole =
                !is_other && own.clone().count() <= 1 && own.all(|store| access(store.index) == Access::Vector);
            *layout = match (is_word, is_whole) {
                (true, true) => Layout::Vectors,
                (true, false) => Layout::Scalars,
                (false, true) if !masked => Layout::Packed,
                (false, _) => Layout::Atomic,
            };
        } else if is_word && !matches!(layout, Layout::Vectors) {
            let by_four = loads.iter().any(|(of, index)| *of as usize == buffer && access(*index) == Access::Vector);
            *layout = if by_four { Layout::Vectors } else { Layout::Scalars };
        }
    }
    module.layouts = layouts;
}
