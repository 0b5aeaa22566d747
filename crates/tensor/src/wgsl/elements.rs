//! Kernels whose points are independent: a thread takes one point or four.

use residua_base::error::Result;

use super::code::Code;
use super::module::Module;
use super::points::{self, Axes, goes_by_four};
use super::{KernelText, Workgroups};
use crate::kernel::Elements;
use crate::scalar::Id;

/// Threads a workgroup.
const THREADS: u32 = 256;

/// Writes the kernel.
pub fn write(mut module: Module, elements: &Elements) -> Result<KernelText> {
    let roots: Vec<Id> = elements.stores.iter().flat_map(|store| [store.index, store.value]).collect();
    let loads = points::loads(&module, &roots);
    let innermost = elements.space.len().saturating_sub(1) as u32;
    let lanes = goes_by_four(&module, innermost, &loads, &elements.stores).then_some(innermost);
    let axes = Axes::new(0, &elements.space, lanes);
    let masked = elements.space.last().is_some_and(|extent| !module.is_multiple_of_4(*extent));
    points::declare(&mut module, lanes, &loads, &elements.stores, &[], masked);

    let count = axes.count(&module);
    let mut code = Code::new(&mut module, lanes);
    code.line(&format!("let point = workgroup * {THREADS}u + lane;"));
    code.open(&format!("if point >= {count}"));
    code.line("return;");
    code.close();
    axes.locate("point", &mut code);
    let mask = axes.mask(&mut code);
    code.store(&elements.stores, mask.as_ref());
    let body = code.finish();
    module.finish("", &body, THREADS, Workgroups { factors: axes.factors(), units: THREADS })
}
