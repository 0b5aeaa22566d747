//! The error that names what is NaN or infinite at a point.

use residua_base::decimal;
use residua_base::error::{Error, ErrorCode, Result};

use super::Functions;

impl Functions {
    /// The error for a point at which something is NaN or infinite, naming the residual.
    pub async fn non_finite_error(&mut self, x: &[f64]) -> Result<Error> {
        let found = self.non_finite_place(x).await?;
        let message = "the objective is not finite at the start, although every residual and derivative is";
        Ok(found.unwrap_or_else(|| Error::new(ErrorCode::NonFinite, message.to_owned())))
    }

    /// The error that names the first residual or derivative that is NaN or infinite at a point, if there is one.
    pub async fn non_finite_place(&mut self, x: &[f64]) -> Result<Option<Error>> {
        let error = |message: String| Some(Error::new(ErrorCode::NonFinite, message));
        let residuals = self.engine.values(&self.model, x).await?;
        if let Some(row) = residuals.iter().position(|r| !r.is_finite()) {
            let name = self.model.residual_name(row as u32);
            return Ok(error(format!("{name} is {} at the start", decimal::shortest(residuals[row]))));
        }
        let linearisation = self.evaluate_jacobian(Some(x)).await?;
        let (Some(entry), Some(pattern)) = (linearisation.entries.iter().position(|e| !e.is_finite()), self.pattern())
        else {
            return Ok(None);
        };
        let row = pattern.row_offsets.partition_point(|&offset| offset as usize <= entry) as u32 - 1;
        Ok(error(format!(
            "the derivative of {} with respect to {} is {} at the start",
            self.model.residual_name(row),
            self.model.parameter_name(pattern.col_indices[entry]),
            decimal::shortest(linearisation.entries[entry])
        )))
    }
}
