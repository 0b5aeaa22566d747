//! Reductions and scans.

use super::{Array, Node, stored, visit};
use crate::dtype::DType;
use crate::expr::{Reduction, Rule};
use residua_base::list::Listed;

/// What a type's smallest or largest element is; infinite for reals.
fn extreme(dtype: DType, largest: bool) -> f64 {
    let (low, high) = match dtype {
        DType::F32 | DType::F16 => (f64::NEG_INFINITY, f64::INFINITY),
        DType::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        DType::U32 => (0.0, f64::from(u32::MAX)),
        DType::U8 => (0.0, 255.0),
        DType::Bool => (0.0, 1.0),
    };
    if largest { high } else { low }
}

/// The accumulation of nothing.
fn identity(reduction: Reduction, dtype: DType) -> f64 {
    match reduction {
        Reduction::Sum => 0.0,
        Reduction::Prod => 1.0,
        Reduction::Min => extreme(dtype, true),
        Reduction::Max => extreme(dtype, false),
        Reduction::ArgMin | Reduction::ArgMax | Reduction::Variance => unreachable!("these are no sums of elements"),
    }
}

/// One element more.
fn accumulate(reduction: Reduction, dtype: DType, sum: f64, element: f64) -> f64 {
    match reduction {
        Reduction::Sum if dtype.is_real() => sum + element,
        Reduction::Sum => stored(dtype, sum as i64 + element as i64),
        Reduction::Prod if dtype.is_real() => sum * element,
        Reduction::Prod => stored(dtype, (sum as i64).wrapping_mul(element as i64)),
        Reduction::Min | Reduction::Max if sum.is_nan() || element.is_nan() => f64::NAN,
        Reduction::Min => sum.min(element),
        Reduction::Max => sum.max(element),
        Reduction::ArgMin | Reduction::ArgMax | Reduction::Variance => unreachable!("these are no sums of elements"),
    }
}

/// The position of the first extreme; a NaN is the extreme. 0 of nothing.
fn position(elements: &[f64], largest: bool) -> f64 {
    let mut best = 0;
    for (place, element) in elements.iter().enumerate() {
        let known = elements[best];
        let is_better = if largest { *element > known } else { *element < known };
        if !known.is_nan() && (element.is_nan() || is_better) {
            best = place;
        }
    }
    best as f64
}

/// The mean of squared differences from the mean; NaN of nothing.
fn variance(elements: &[f64]) -> f64 {
    let count = elements.len() as f64;
    let mean = elements.iter().sum::<f64>() / count;
    elements.iter().map(|element| (element - mean).powi(2)).sum::<f64>() / count
}

/// The state of one more element.
fn merge(rule: &Rule, earlier: &[f64], later: &[f64]) -> Vec<f64> {
    let values = rule.merge.evaluate(&[earlier, later].concat());
    rule.results.iter().map(|result| values[result.index()]).list()
}

impl Node<'_> {
    /// Visits the points of the operands that have the coordinates of a point of the result along the axes that stay, in C order.
    fn visit_row(&self, at: &[usize], axes: &[u32], mut each: impl FnMut(&[usize])) {
        let shape = &self.operand(0).shape;
        let extents: Vec<usize> = axes.iter().map(|axis| shape[*axis as usize]).list();
        let stays = (0..shape.len()).filter(|axis| !axes.contains(&(*axis as u32)));
        let mut point = vec![0; shape.len()];
        for (axis, coordinate) in stays.zip(at) {
            point[axis] = *coordinate;
        }
        visit(&extents, |along| {
            for (axis, coordinate) in axes.iter().zip(along) {
                point[*axis as usize] = *coordinate;
            }
            each(&point);
        });
    }

    pub(super) fn reduce(&self, shape: Vec<usize>, reduction: Reduction, axes: &[u32]) -> Array {
        let (x, dtype) = (self.operand(0), self.tensor.dtype);
        Array::of(shape, |at| {
            let mut elements = Vec::new();
            self.visit_row(at, axes, |at| elements.push(x.at(at)));
            match reduction {
                Reduction::ArgMin => position(&elements, false),
                Reduction::ArgMax => position(&elements, true),
                Reduction::Variance => variance(&elements),
                Reduction::Sum | Reduction::Prod | Reduction::Min | Reduction::Max => {
                    let step = |sum: f64, element: &f64| accumulate(reduction, dtype, sum, *element);
                    elements.iter().fold(identity(reduction, dtype), step)
                }
            }
        })
    }

    pub(super) fn fold(&self, shape: Vec<usize>, rule: &Rule, axes: &[u32], result: usize) -> Array {
        Array::of(shape, |at| {
            let mut state = rule.identity.clone();
            self.visit_row(at, axes, |at| state = merge(rule, &state, &self.state(at)));
            state[result]
        })
    }

    /// The state of an element.
    fn state(&self, at: &[usize]) -> Vec<f64> {
        (0..self.tensor.operands.len()).map(|place| self.operand(place).at(at)).list()
    }

    pub(super) fn scan(
        &self,
        shape: Vec<usize>,
        reduction: Reduction,
        axis: usize,
        [exclusive, reverse]: [bool; 2],
    ) -> Array {
        let (x, dtype) = (self.operand(0), self.tensor.dtype);
        Array::of(shape, |at| {
            let step = |sum: f64, at: Vec<usize>| accumulate(reduction, dtype, sum, x.at(&at));
            self.up_to(at, axis, exclusive, reverse).fold(identity(reduction, dtype), step)
        })
    }

    pub(super) fn scan_by(
        &self,
        shape: Vec<usize>,
        rule: &Rule,
        axis: usize,
        [exclusive, reverse]: [bool; 2],
        result: usize,
    ) -> Array {
        Array::of(shape, |at| {
            let step = |state: Vec<f64>, at: Vec<usize>| merge(rule, &state, &self.state(&at));
            self.up_to(at, axis, exclusive, reverse).fold(rule.identity.clone(), step)[result]
        })
    }

    /// The points that a scan has accumulated at a point, in its order.
    fn up_to(&self, at: &[usize], axis: usize, exclusive: bool, reverse: bool) -> impl Iterator<Item = Vec<usize>> {
        let (own, extent) = (at[axis], self.operand(0).shape[axis]);
        let mut places: Vec<usize> = if reverse { (own..extent).rev().list() } else { (0..=own).list() };
        if exclusive {
            places.pop();
        }
        let at = at.to_vec();
        places.into_iter().map(move |place| {
            let mut point = at.clone();
            point[axis] = place;
            point
        })
    }
}
