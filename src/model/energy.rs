//! What of an instance is differentiated twice, and by what.

/// What of an instance is differentiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Energy {
    /// Σ weight·f.
    Sum,
    /// ½ weight·ρ(‖r‖²).
    Cost,
    /// Σ seed·f.
    Seeded,
}

/// By what it is differentiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coordinates {
    /// The numbers of the parameters.
    Numbers,
    /// Tangent coordinates δ of x ⊞ δ at δ = 0.
    Tangent,
}
