//! Sums over vectors, always in index order, so that a run repeats bit for bit.

/// aᵀb.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Euclidean norm of what `entries` gives, scaled by the largest so that squares neither overflow nor vanish.
pub(super) fn norm(entries: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = max_norm(entries.clone());
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * entries.map(|entry| (entry / largest) * (entry / largest)).sum::<f64>().sqrt()
}

/// Largest magnitude of what `entries` gives.
pub(super) fn max_norm(entries: impl Iterator<Item = f64>) -> f64 {
    entries.fold(0.0, |largest: f64, entry| largest.max(entry.abs()))
}
