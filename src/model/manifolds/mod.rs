//! The spaces that parameter blocks live in, as graphs, so that both engines get them from one definition.
//!
//! A solver moves a block x on a manifold by a tangent vector δ of [`Manifold::tangent_dim`] numbers: [`retract`] gives the point
//! x ⊞ δ, and [`tangent_partials`] turns derivatives with respect to the block's own numbers into derivatives with respect to δ at
//! δ = 0. Both stand for the same basis B(x) = ∂(x ⊞ δ)/∂δ, so a step is a step of the model that was linearised. The idea and the
//! conventions are those of Ceres Solver (*Modeling Non-linear Least Squares*, section *Manifold*).
//!
//! | manifold | dim | tangent | x ⊞ δ |
//! |---|---|---|---|
//! | euclidean | n | n | x + δ |
//! | unit quaternion (w, x, y, z) | 4 | 3 | (cos‖δ‖, δ sin‖δ‖/‖δ‖) · x, as Ceres' `QuaternionManifold` |
//! | unit vector | n ≥ 2 | n − 1 | cos‖δ‖ x + sin‖δ‖/‖δ‖ Bδ, as Ceres' `SphereManifold` |
//! | angle | 1 | 1 | x + δ, brought into (−π, π] |
//! | product | Σ nᵢ | Σ tᵢ | each part by itself, parts and their tangent coordinates one after the other |
//!
//! δ = 0 gives x back, bit for bit. Vectors of a solver have the layout of x: a block's tangent coordinates are its first
//! `tangent_dim` numbers, and what is left over is 0.

use residua_base::list::Listed;
use residua_ir::graph::{Graph, NodeId};

mod basis;
mod descent;
mod path;
mod product;
mod retraction;
mod size;

pub use product::{Part, Product};

pub use basis::tangent_partials;
pub use descent::{InPlace, in_place_kernel};
pub use path::{bends, path};
pub use retraction::{RetractionBuffer, retract, retraction_kernel};
pub use size::CoordinateSize;

/// The space of a parameter block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Manifold {
    /// All of ℝⁿ.
    Euclidean,
    /// Quaternions of length 1, in the order w, x, y, z.
    UnitQuaternion,
    /// Vectors of length 1.
    UnitVector,
    /// Angles in radians, modulo 2π.
    Angle,
    /// Parts one after the other, each on a manifold of its own.
    Product(&'static Product),
}

impl Manifold {
    /// All of them but products.
    pub const SIMPLE: [Manifold; 4] =
        [Manifold::Euclidean, Manifold::UnitQuaternion, Manifold::UnitVector, Manifold::Angle];

    /// The manifold of a name of the public contract; of a product, that of [`Product::of`].
    pub fn from_name(name: &str) -> Option<Manifold> {
        let simple = Manifold::SIMPLE.into_iter().find(|manifold| manifold.name() == name);
        simple.or_else(|| Product::of(name).map(Manifold::Product))
    }

    /// Whether blocks of `dim` numbers can lie on it.
    pub fn takes(self, dim: u32) -> bool {
        match self {
            Manifold::Euclidean => true,
            Manifold::UnitQuaternion => dim == 4,
            Manifold::UnitVector => dim >= 2,
            Manifold::Angle => dim == 1,
            Manifold::Product(product) => dim == product.dim(),
        }
    }

    /// Whether the tangent coordinates are the block's own numbers, so that B is the unit matrix.
    pub fn has_unit_basis(self) -> bool {
        match self {
            Manifold::Euclidean | Manifold::Angle => true,
            Manifold::UnitQuaternion | Manifold::UnitVector => false,
            Manifold::Product(product) => product.parts.iter().all(|part| part.manifold.has_unit_basis()),
        }
    }

    /// Its name in the public contract.
    pub fn name(self) -> &'static str {
        match self {
            Manifold::Euclidean => "euclidean",
            Manifold::UnitQuaternion => "unit-quaternion",
            Manifold::UnitVector => "unit-vector",
            Manifold::Angle => "angle",
            Manifold::Product(product) => product.name,
        }
    }

    /// Degrees of freedom of a block of `dim` numbers.
    pub fn tangent_dim(self, dim: u32) -> u32 {
        match self {
            Manifold::Euclidean | Manifold::Angle => dim,
            Manifold::UnitQuaternion | Manifold::UnitVector => dim - 1,
            Manifold::Product(product) => product.parts.iter().map(|part| part.manifold.tangent_dim(part.dim)).sum(),
        }
    }

    /// Brings a block onto the manifold: the nearest point of it. `None` if there is no nearest one (a vector of length 0, or one
    /// that is not finite); else by how much the block's length was off, 0 where every block is on the manifold. Of a product it is
    /// the largest of its parts'.
    pub fn normalise(self, block: &mut [f64]) -> Option<f64> {
        match self {
            Manifold::Euclidean | Manifold::Angle => Some(0.0),
            Manifold::UnitQuaternion | Manifold::UnitVector => {
                // The largest entry is taken out, so that no square overflows or vanishes.
                let largest = block.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
                let length = largest * block.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt();
                if !(length > 0.0 && length.is_finite()) {
                    return None;
                }
                // What rounding leaves is not touched, so that a point once normalised stays as it is.
                if (length - 1.0).abs() > 4.0 * f64::EPSILON {
                    block.iter_mut().for_each(|x| *x /= length);
                }
                Some((length - 1.0).abs())
            }
            Manifold::Product(product) => {
                let mut rest = block;
                let mut largest = 0.0f64;
                for part in product.parts {
                    let (own, others) = rest.split_at_mut(part.dim as usize);
                    largest = largest.max(part.manifold.normalise(own)?);
                    rest = others;
                }
                Some(largest)
            }
        }
    }
}

/// Degrees of freedom of a block of `dim` numbers on a manifold.
pub fn tangent_dim(manifold: Manifold, dim: u32) -> u32 {
    manifold.tangent_dim(dim)
}

/// Σ aᵢbᵢ, in order.
fn dot(g: &mut Graph, a: &[NodeId], b: &[NodeId]) -> NodeId {
    let products: Vec<NodeId> = a.iter().zip(b).map(|(&a, &b)| g.mul(a, b)).list();
    let sum = products.into_iter().reduce(|sum, product| g.add(sum, product));
    sum.unwrap_or_else(|| g.literal(0.0))
}

#[cfg(test)]
mod tests;
