//! Where a solve begins: the current parameters, on their manifolds and within their bounds; for both engines.

use std::ops::Range;

use crate::batch::{ArrayInfo, Manifold};
use crate::decimal;
use crate::error::{Error, ErrorCode, Result};
use crate::functions::Functions;
use crate::list::Listed;
use crate::solve::arithmetic::Arithmetic;
use crate::solve::feasible::FeasibleSet;

/// A block whose length is off by more than this was not meant to be on its manifold; up to here it is rounding of what was read from a
/// file or came from a device.
const OFF: f64 = 1e-6;

/// A point to begin at.
#[derive(Clone, Debug)]
pub struct Start {
    /// All parameters.
    pub point: Vec<f64>,
    /// Where they may go.
    pub feasible: FeasibleSet,
    /// What was done to the point, as sentences with a space after each; empty if nothing was.
    pub preamble: String,
}

impl Start {
    /// The start of a solve from the current parameters, for evaluations of an arithmetic.
    ///
    /// # Errors
    /// `non-finite` naming a parameter that is not; `invalid-argument` for a block on a manifold that has no nearest point there, that has
    /// bounds, or of which some coordinates are constant and some are not.
    pub fn of(functions: &Functions, arithmetic: Arithmetic) -> Result<Start> {
        let mut point = functions.values().to_vec();
        let mut moved = Moved::default();
        let feasible = moved.bring_in(functions, 0, &mut point, arithmetic)?;
        Ok(Start { point, feasible, preamble: moved.sentences(functions) })
    }
}

/// What was set since a solve left the other parameters on the device, brought onto its manifolds and within its bounds.
pub struct Changes {
    /// Numbers, and the parameter that the first of them is.
    pub places: Vec<(usize, Vec<f64>)>,
    /// What was done to them, as in [`Start`].
    pub preamble: String,
}

impl Changes {
    /// The changes since the last solve; `None` if they can't be looked at without the other parameters.
    ///
    /// # Errors
    /// As [`Start::of`].
    pub fn since_solve(functions: &Functions, arithmetic: Arithmetic) -> Result<Option<Changes>> {
        let Some(set) = functions.set_since_solve() else { return Ok(None) };
        let mut moved = Moved::default();
        let mut places = Vec::new();
        for place in set {
            if !has_whole_blocks(&functions.model().arrays, place) {
                return Ok(None);
            }
            let mut numbers = functions.values()[place.clone()].to_vec();
            moved.bring_in(functions, place.start, &mut numbers, arithmetic)?;
            places.push((place.start, numbers));
        }
        Ok(Some(Changes { places, preamble: moved.sentences(functions) }))
    }
}

/// Whether no block on a manifold is cut by the ends of a place among all parameters.
fn has_whole_blocks(arrays: &[ArrayInfo], place: &Range<usize>) -> bool {
    [place.start, place.end].into_iter().all(|end| {
        arrays.iter().filter(|array| array.manifold != Manifold::Euclidean).all(|array| {
            let (first, dim) = (array.offset as usize, array.dim as usize);
            end <= first || end >= first + dim * array.count as usize || (end - first).is_multiple_of(dim)
        })
    })
}

/// Counts what was moved to where it may be.
#[derive(Default)]
struct Moved {
    /// Numbers that were out of bounds.
    to_bounds: u32,
    /// Blocks that were off their manifolds, and their arrays, as they come.
    onto_manifolds: Vec<(usize, u32)>,
}

impl Moved {
    /// Brings parameters, which are those from `first` on, onto their manifolds and within their bounds.
    fn bring_in(
        &mut self,
        functions: &Functions,
        first: usize,
        point: &mut [f64],
        arithmetic: Arithmetic,
    ) -> Result<FeasibleSet> {
        let model = functions.model();
        if let Some(at) = point.iter().position(|&value| !arithmetic.quantise(value).is_finite()) {
            let name = model.parameter_name((first + at) as u32);
            let (value, precision) = (decimal::shortest(point[at]), arithmetic.precision.name());
            let message = format!("{name} is {value} at the start, which is not finite in {precision}");
            return Err(Error::new(ErrorCode::NonFinite, message));
        }
        let place = first..first + point.len();
        let constant = &functions.constant()[place.clone()];
        let flags: Vec<u8> = constant.iter().map(|&constant| u8::from(constant)).list();
        let (lower, upper) = match functions.bounds() {
            Some((lower, upper)) => (&lower[place.clone()], &upper[place.clone()]),
            None => Default::default(),
        };
        let feasible = FeasibleSet::new(point.len(), &flags, lower, upper, arithmetic)?;
        for (number, array) in model.arrays.iter().enumerate() {
            if array.manifold == Manifold::Euclidean {
                continue;
            }
            let normalised = bring_on_manifold(array, first, point, constant, (lower, upper))?;
            if normalised > 0 {
                self.onto_manifolds.push((number, normalised));
            }
        }
        for (i, x) in point.iter_mut().enumerate() {
            *x = arithmetic.quantise(*x);
            if !feasible.is_constant(i) {
                let inside = feasible.project(i, *x);
                self.to_bounds += u32::from(inside != *x);
                *x = inside;
            }
        }
        Ok(feasible)
    }

    /// What was moved, in sentences with a space after each.
    fn sentences(&self, functions: &Functions) -> String {
        let mut sentences = String::new();
        for (number, ArrayInfo { name, manifold, .. }) in functions.model().arrays.iter().enumerate() {
            let of_array = self.onto_manifolds.iter().filter(|(of, _)| *of == number);
            let manifold = manifold.name();
            sentences += &match of_array.map(|(_, blocks)| blocks).sum() {
                0_u32 => continue,
                1 => format!("1 block of '{name}' started off its manifold '{manifold}' and was normalised. "),
                many => {
                    format!("{many} blocks of '{name}' started off their manifold '{manifold}' and were normalised. ")
                }
            };
        }
        match self.to_bounds {
            0 => {}
            1 => sentences += "1 starting value was out of bounds and was moved to the nearest bound. ",
            many => {
                sentences += &format!("{many} starting values were out of bounds and were moved to the nearest bound. ")
            }
        }
        sentences
    }
}

/// Normalises the blocks of an array that are free and among `point`, the parameters from `first_of_point` on; gives how many were off by
/// more than rounding.
fn bring_on_manifold(
    array: &ArrayInfo,
    first_of_point: usize,
    point: &mut [f64],
    constant: &[bool],
    (lower, upper): (&[f64], &[f64]),
) -> Result<u32> {
    let ArrayInfo { name, dim, count, offset, manifold } = array;
    let refuse = |block: usize, what: &str| {
        Err(Error::invalid_argument(format!("{name}[{block}] has manifold '{}' {what}", manifold.name())))
    };
    let (dim, offset) = (*dim as usize, *offset as usize);
    let end_of_point = first_of_point + point.len();
    let first_block = first_of_point.saturating_sub(offset) / dim;
    let end_block = (end_of_point.saturating_sub(offset) / dim).min(*count as usize);
    let mut normalised = 0;
    for block in first_block..end_block {
        let first = offset + block * dim - first_of_point;
        let places = first..first + dim;
        let held = constant[places.clone()].iter().filter(|held| **held).count();
        if held > 0 && held < dim {
            return refuse(block, "and some constant coordinates; it takes all of them constant, or none");
        }
        let bounded = |bounds: &[f64]| bounds.get(places.clone()).is_some_and(|of| of.iter().any(|b| b.is_finite()));
        if bounded(lower) || bounded(upper) {
            return refuse(block, "and bounds; it takes none");
        }
        if held > 0 {
            continue;
        }
        match manifold.normalise(&mut point[places]) {
            Some(off) => normalised += u32::from(off > OFF),
            None => return refuse(block, "and starts at length 0; it takes a block with a direction"),
        }
    }
    Ok(normalised)
}
