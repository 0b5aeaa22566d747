//! Batches of matrices and of heads: templates count them, and generated functions take their coordinates, `batch_0` and on.

use super::code::Code;
use super::module::Module;
use crate::kernel::Extent;
use residua_base::list::Listed;

/// How many there are.
pub fn count(module: &Module, batch: &[Extent]) -> String {
    let extents: Vec<String> = batch.iter().map(|extent| module.extent(*extent)).list();
    if extents.is_empty() { "1u".to_owned() } else { extents.join(" * ") }
}

/// Lines that find the coordinates from a number, `batch`.
pub fn coordinates(module: &Module, batch: &[Extent]) -> String {
    let mut lines = Vec::new();
    let mut divisors = String::new();
    for (axis, extent) in batch.iter().enumerate().rev() {
        let extent = module.extent(*extent);
        let remainder = if axis == 0 { String::new() } else { format!(" % {extent}") };
        lines.push(format!("    let batch_{axis} = batch{divisors}{remainder};"));
        divisors += &format!(" / {extent}");
    }
    lines.join("\n")
}

/// The coordinates as leading arguments.
pub fn arguments(batch: &[Extent]) -> String {
    (0..batch.len()).map(|axis| format!("batch_{axis}, ")).collect()
}

/// The coordinates as leading parameters.
pub fn parameters(batch: &[Extent]) -> String {
    (0..batch.len()).map(|axis| format!("batch_{axis}: u32, ")).collect()
}

/// Names the coordinates within a function. Those of other axes are 0 until they are set where they are used.
pub fn set_coordinates(code: &mut Code, batch: &[Extent], others: &[u32]) {
    for axis in 0..batch.len() as u32 {
        code.set_coordinate(axis, format!("batch_{axis}"));
    }
    for axis in others {
        code.set_coordinate(*axis, "0u".to_owned());
    }
}
