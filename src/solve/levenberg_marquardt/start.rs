//! Where a solve begins: the current parameters, on their manifolds and within their bounds; for both engines.

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
        let model = functions.model();
        let mut point = functions.values().to_vec();
        if let Some(parameter) = point.iter().position(|&value| !arithmetic.quantise(value).is_finite()) {
            let name = model.parameter_name(parameter as u32);
            let (value, precision) = (decimal::shortest(point[parameter]), arithmetic.precision.name());
            let message = format!("{name} is {value} at the start, which is not finite in {precision}");
            return Err(Error::new(ErrorCode::NonFinite, message));
        }
        let constant = functions.constant();
        let flags: Vec<u8> = constant.iter().map(|&constant| u8::from(constant)).list();
        let (lower, upper) = functions.bounds().unwrap_or_default();
        let feasible = FeasibleSet::new(point.len(), &flags, lower, upper, arithmetic)?;

        let mut preamble = String::new();
        for array in model.arrays.iter().filter(|array| array.manifold != Manifold::Euclidean) {
            preamble += &bring_on_manifold(array, &mut point, constant, (lower, upper))?;
        }
        let mut moved = 0;
        for (i, x) in point.iter_mut().enumerate() {
            *x = arithmetic.quantise(*x);
            if !feasible.is_constant(i) {
                let inside = feasible.project(i, *x);
                moved += u32::from(inside != *x);
                *x = inside;
            }
        }
        match moved {
            0 => {}
            1 => preamble += "1 starting value was out of bounds and was moved to the nearest bound. ",
            _ => {
                preamble += &format!("{moved} starting values were out of bounds and were moved to the nearest bound. ")
            }
        }
        Ok(Start { point, feasible, preamble })
    }
}

/// Normalises the blocks of an array that are free; says so if that was more than rounding.
fn bring_on_manifold(
    array: &ArrayInfo,
    point: &mut [f64],
    constant: &[bool],
    (lower, upper): (&[f64], &[f64]),
) -> Result<String> {
    let ArrayInfo { name, dim, count, offset, manifold } = array;
    let refuse = |block: u32, what: &str| {
        Err(Error::invalid_argument(format!("{name}[{block}] has manifold '{}' {what}", manifold.name())))
    };
    let mut normalised = 0;
    for block in 0..*count {
        let first = (offset + block * dim) as usize;
        let places = first..first + *dim as usize;
        let held = constant[places.clone()].iter().filter(|held| **held).count();
        if held > 0 && held < *dim as usize {
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
    Ok(match normalised {
        0 => String::new(),
        1 => format!("1 block of '{name}' started off its manifold '{}' and was normalised. ", manifold.name()),
        _ => format!(
            "{normalised} blocks of '{name}' started off their manifold '{}' and were normalised. ",
            manifold.name()
        ),
    })
}
