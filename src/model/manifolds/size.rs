//! The size of a point in each tangent coordinate, which the length of a step is compared with.
//!
//! A step along a coordinate of a Euclidean part has the unit of that number, and is compared with it. A step on a sphere is an angle, and the
//! sphere has the radius 1: its t coordinates together have the size 1. A number of one part is never compared with a step of another, whose unit may differ.

use super::{Manifold, Part};
use residua_base::list::{Listed, PushAll};

/// The size of a point in a tangent coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoordinateSize {
    /// That of the number at this place of the block.
    Number(u32),
    /// The root of the inverse of this.
    InverseSquare(u32),
}

impl CoordinateSize {
    /// The square, for a block that begins with these numbers.
    pub fn squared(self, block: &[f64]) -> f64 {
        match self {
            CoordinateSize::Number(place) => block[place as usize].powi(2),
            CoordinateSize::InverseSquare(square) => 1.0 / f64::from(square),
        }
    }
}

impl Manifold {
    /// The sizes in the tangent coordinates of a block of `dim` numbers.
    pub fn coordinate_sizes(self, dim: u32) -> Vec<CoordinateSize> {
        match self {
            Manifold::Euclidean | Manifold::Angle => (0..dim).map(CoordinateSize::Number).list(),
            Manifold::UnitQuaternion | Manifold::UnitVector => {
                let tangent = self.tangent_dim(dim);
                vec![CoordinateSize::InverseSquare(tangent); tangent as usize]
            }
            Manifold::Product(product) => {
                let (mut sizes, mut first) = (Vec::new(), 0);
                for &Part { manifold, dim } in product.parts {
                    sizes.push_all(manifold.coordinate_sizes(dim).into_iter().map(|size| match size {
                        CoordinateSize::Number(place) => CoordinateSize::Number(first + place),
                        size => size,
                    }));
                    first += dim;
                }
                sizes
            }
        }
    }
}
