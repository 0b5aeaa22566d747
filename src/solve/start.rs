//! The start of a solve: the current parameters, normalised on their manifolds and projected onto their bounds.

use residua_base::list::Listed;
use std::ops::Range;

use crate::eval::Arithmetic;
use crate::eval::Functions;
use crate::model::{ArrayInfo, Manifold};
use crate::solve::feasible::FeasibleSet;
use crate::solve::findings::Finding;
use residua_base::decimal;
use residua_base::error::{Error, ErrorCode, Result};

/// A block whose length differs from 1 by more than this is reported; a smaller difference is rounding of a file or of a device.
const REPORTED_DEVIATION: f64 = 1e-6;

/// A point to start from.
#[derive(Clone, Debug)]
pub struct Start {
    /// All parameters.
    pub point: Vec<f64>,
    /// Constants and bounds.
    pub feasible: FeasibleSet,
    /// The corrections made to the point.
    pub corrections: Vec<Finding>,
}

impl Start {
    /// A start at `point`, none of whose blocks is on a manifold: rounded to the arithmetic and projected onto the bounds, constant
    /// coordinates excepted.
    ///
    /// # Errors
    /// `invalid-argument` for a point that is empty, of another length than the set, or not finite.
    pub fn new(mut point: Vec<f64>, feasible: FeasibleSet, arithmetic: Arithmetic) -> Result<Start> {
        let n = point.len();
        if n == 0 || n != feasible.dimension() {
            let takes = feasible.dimension().max(1);
            return Err(Error::invalid_argument(format!("x: got {n} numbers, takes {takes}")));
        }
        let mut projected = 0;
        for (i, x) in point.iter_mut().enumerate() {
            let rounded = arithmetic.quantise(*x);
            if !rounded.is_finite() {
                let takes = arithmetic.name();
                let message = format!(
                    "x: got {} at position {i}, takes numbers that are finite in {takes}",
                    decimal::shortest(*x)
                );
                return Err(Error::invalid_argument(message));
            }
            if !feasible.is_constant(i) {
                *x = feasible.project(i, rounded);
                projected += u32::from(feasible.is_outside(i, rounded));
            }
        }
        Ok(Start { point, feasible, corrections: projection(projected).list() })
    }

    /// The start of a solve from the current parameters, for evaluations of an arithmetic.
    ///
    /// # Errors
    /// `non-finite` naming a parameter that is not; `invalid-argument` for a block on a manifold that has no nearest point there, that has
    /// bounds, or of which some coordinates are constant and some are not.
    pub fn of(functions: &Functions, arithmetic: Arithmetic) -> Result<Start> {
        let mut point = functions.values().to_vec();
        let mut corrections = Corrections::default();
        let feasible = corrections.apply(functions, 0, &mut point, arithmetic)?;
        Ok(Start { point, feasible, corrections: corrections.findings(functions) })
    }
}

/// The current parameters in f64, with free blocks normalised on their manifolds. Bounds are left aside.
///
/// A solve on a device leaves quaternions whose lengths differ from 1 by rounding in f32. At such a point residuals that turn vectors by them are
/// not invariant under a rotation of everything, so that J̃ would have a rank that is too large.
///
/// # Errors
/// `invalid-argument` as [`Start::of`] for a block on a manifold.
pub fn on_manifolds(functions: &Functions) -> Result<Vec<f64>> {
    let mut point = functions.values().to_vec();
    for array in functions.model().arrays.iter().filter(|array| array.manifold != Manifold::Euclidean) {
        normalise_blocks(array, 0, &mut point, functions.constant(), (&[], &[]))?;
    }
    Ok(point)
}

/// The parameters set since a solve left the others on the device, normalised on their manifolds and projected onto their bounds.
pub struct Changes {
    /// Numbers, and the parameter that the first of them is.
    pub places: Vec<(usize, Vec<f64>)>,
    /// The corrections made to them, as in [`Start`].
    pub corrections: Vec<Finding>,
}

impl Changes {
    /// The changes since the last solve; `None` if they cannot be checked without the other parameters.
    ///
    /// # Errors
    /// As [`Start::of`].
    pub fn since_solve(functions: &Functions, arithmetic: Arithmetic) -> Result<Option<Changes>> {
        let Some(set) = functions.set_since_solve() else { return Ok(None) };
        let mut corrections = Corrections::default();
        let mut places = Vec::new();
        for place in set {
            if !has_whole_blocks(&functions.model().arrays, place) {
                return Ok(None);
            }
            let mut numbers = functions.values()[place.clone()].to_vec();
            corrections.apply(functions, place.start, &mut numbers, arithmetic)?;
            places.push((place.start, numbers));
        }
        Ok(Some(Changes { places, corrections: corrections.findings(functions) }))
    }
}

/// Whether a range of parameters begins and ends between blocks of the arrays on manifolds.
fn has_whole_blocks(arrays: &[ArrayInfo], place: &Range<usize>) -> bool {
    [place.start, place.end].into_iter().all(|end| {
        arrays.iter().filter(|array| array.manifold != Manifold::Euclidean).all(|array| {
            let (first, dim) = (array.offset as usize, array.dim as usize);
            end <= first || end >= first + dim * array.count as usize || (end - first).is_multiple_of(dim)
        })
    })
}

/// Counts the corrections made to parameters.
#[derive(Default)]
struct Corrections {
    /// Numbers that were out of bounds.
    projected: u32,
    /// Positions of arrays, and how many of their blocks were normalised, in the order of the calls.
    normalised: Vec<(usize, u32)>,
}

impl Corrections {
    /// Normalises and projects `point`, the parameters from `first` on.
    fn apply(
        &mut self,
        functions: &Functions,
        first: usize,
        point: &mut [f64],
        arithmetic: Arithmetic,
    ) -> Result<FeasibleSet> {
        let model = functions.model();
        if let Some(at) = point.iter().position(|&value| !arithmetic.quantise(value).is_finite()) {
            let name = model.parameter_name((first + at) as u32);
            let (value, precision) = (decimal::shortest(point[at]), arithmetic.name());
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
            let normalised = normalise_blocks(array, first, point, constant, (lower, upper))?;
            if normalised > 0 {
                self.normalised.push((number, normalised));
            }
        }
        for (i, x) in point.iter_mut().enumerate() {
            *x = arithmetic.quantise(*x);
            if !feasible.is_constant(i) {
                self.projected += u32::from(feasible.is_outside(i, *x));
                *x = feasible.project(i, *x);
            }
        }
        Ok(feasible)
    }

    /// All corrections.
    fn findings(&self, functions: &Functions) -> Vec<Finding> {
        let of_array = |(number, array): (usize, &ArrayInfo)| {
            let of_array = self.normalised.iter().filter(|(of, _)| *of == number);
            let blocks = of_array.map(|(_, blocks)| blocks).sum();
            let (array, manifold) = (array.name.clone(), array.manifold.name());
            (blocks > 0).then_some(Finding::Normalised { array, manifold, blocks })
        };
        let normalised = functions.model().arrays.iter().enumerate().filter_map(of_array);
        normalised.chain(projection(self.projected)).list()
    }
}

/// That so many numbers were projected onto their bounds; nothing for none.
fn projection(projected: u32) -> impl Iterator<Item = Finding> {
    (projected > 0).then_some(Finding::Projected(projected)).into_iter()
}

/// Normalises the free blocks of an array among `point`, the parameters from `first_of_point` on. Returns the number of blocks whose length
/// differed from 1 by more than [`REPORTED_DEVIATION`].
fn normalise_blocks(
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
        let constants = constant[places.clone()].iter().filter(|constant| **constant).count();
        if constants > 0 && constants < dim {
            return refuse(block, "and some constant coordinates; it takes all of them constant, or none");
        }
        let bounded = |bounds: &[f64]| bounds.get(places.clone()).is_some_and(|of| of.iter().any(|b| b.is_finite()));
        if bounded(lower) || bounded(upper) {
            return refuse(block, "and bounds; it takes none");
        }
        if constants > 0 {
            continue;
        }
        match manifold.normalise(&mut point[places]) {
            Some(deviation) => normalised += u32::from(deviation > REPORTED_DEVIATION),
            None => return refuse(block, "and starts at length 0; it takes a block with a direction"),
        }
    }
    Ok(normalised)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_at_a_bound_is_not_out_of_bounds_in_any_arithmetic() {
        for arithmetic in [Arithmetic::F32, Arithmetic::F32x2, Arithmetic::F64] {
            let set = || FeasibleSet::new(2, &[], &[0.9, -5.0], &[7.0, 0.3], arithmetic).unwrap();
            let at_bounds = Start::new(vec![0.9, 0.3], set(), arithmetic).unwrap();
            assert_eq!(at_bounds.corrections, [], "{arithmetic:?}");
            assert!(at_bounds.point[0] >= 0.9 && at_bounds.point[1] <= 0.3, "{arithmetic:?}: {:?}", at_bounds.point);
            let outside = Start::new(vec![0.8999, 0.3001], set(), arithmetic).unwrap();
            assert_eq!(outside.corrections, [Finding::Projected(2)], "{arithmetic:?}");
        }
    }
}
