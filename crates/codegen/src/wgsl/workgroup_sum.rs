//! Sums over the threads of a workgroup: the partial sums of a kernel's total.

use super::import::Imports;
use super::total::TotalType;
use super::writer::Writer;

/// Declares the workgroup's memory for sums of a type, for so many threads.
pub(super) fn declare(writer: &mut Writer, sum: &str, threads: u32) {
    writer.blank_line();
    writer.line(&format!("var<workgroup> sums: array<{sum}, {threads}>;"));
}

/// Sums every thread's `total` in a tree, and writes the workgroup's sum to `partials`. Threads beyond the count add zeros, since every
/// thread must reach the barriers. Workgroups of which the first thread's `start` is beyond the count write nothing; a dispatch in two
/// dimensions can have such.
pub(super) fn write(writer: &mut Writer, start: &str, threads: u32, totals: TotalType, imports: &mut Imports) {
    writer.blank_line();
    writer.line("sums[lane] = total;");
    writer.line("workgroupBarrier();");
    writer.open(&format!("for (var width = {}u; width > 0u; width /= 2u)", threads / 2));
    let statement = match totals.is_in_pairs() {
        false => "sums[lane] += sums[lane + width];".to_owned(),
        true => format!("sums[lane] = {};", totals.sum("sums[lane]", "sums[lane + width]", imports)),
    };
    writer.block("if lane < width", &statement);
    writer.line("workgroupBarrier();");
    writer.close();
    writer.block(&format!("if lane == 0u && {start} < dispatch.count"), "partials[group] = sums[0];");
}
