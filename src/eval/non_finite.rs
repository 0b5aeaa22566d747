//! The error that names what is NaN or infinite at a point.

use residua_base::decimal::scientific;
use residua_base::error::{Error, ErrorCode, Result};

use super::{Arithmetic, Functions};

impl Functions {
    /// The error for a start that is not finite in an arithmetic. It names the first residual, or derivative, that is NaN or infinite. Where none
    /// is, their sums or those of their squares are beyond the range, and it names the largest.
    pub async fn non_finite_error(&mut self, x: &[f64], arithmetic: Arithmetic) -> Result<Error> {
        let residuals = self.engine.values(&self.model, x).await?;
        let row = largest(&residuals);
        let mut found = (self.model.residual_name(row as u32), residuals.get(row).copied().unwrap_or_default());
        if found.1.is_finite() {
            let entries = self.evaluate_jacobian(Some(x)).await?.entries;
            let entry = largest(&entries);
            if let (Some(&partial), Some(pattern)) = (entries.get(entry), self.pattern())
                && (!partial.is_finite() || partial.abs() > found.1.abs())
            {
                let row = pattern.row_offsets.partition_point(|&offset| offset as usize <= entry) as u32 - 1;
                let residual = self.model.residual_name(row);
                let parameter = self.model.parameter_name(pattern.col_indices[entry]);
                found = (format!("the derivative of {residual} with respect to {parameter}"), partial);
            }
        }
        let (name, number) = found;
        let mut message = format!("{name} is {} at the start", scientific(number, Some(1)));
        if number.is_finite() {
            message += &format!(", too large for sums of squares in {}", arithmetic.name());
        }
        Ok(Error::new(ErrorCode::NonFinite, message))
    }
}

/// The position of the first number that is not finite, else of the largest one.
fn largest(numbers: &[f64]) -> usize {
    let size = |position: usize| if numbers[position].is_finite() { numbers[position].abs() } else { f64::INFINITY };
    (0..numbers.len()).reduce(|best, next| if size(next) > size(best) { next } else { best }).unwrap_or(0)
}
