//! Kernels whose points are independent: a thread takes one point or four.
//!
//! Where some operand has its neighbours along another axis than the innermost, as in a transposition, a workgroup takes a tile of both axes, so
//! that a line of memory is read by one workgroup alone.

use residua_base::error::Result;
use residua_base::list::Listed;

use super::code::Code;
use super::held::Held;
use super::module::Module;
use super::points::{self, Axes, count_of, goes_by_four, neighbours};
use super::text::KernelText;
use super::workgroups::Factor;
use super::workgroups::Workgroups;
use crate::kernel::{Elements, Extent, Store, WORKGROUP_THREADS};
use crate::scalar::{Id, TypedNode};

/// Threads of a tile along the innermost axis, where each has four points: a warp writes whole sectors of 64 bytes and reads some of 32.
const WIDE_COLUMNS: u32 = 4;
/// The same where each has one point.
const COLUMNS: u32 = 8;

/// Fewest fours of points of which a thread takes two: there are workgroups enough for any device.
const MANY: u32 = 1 << 19;
/// Fewest elements of a block.
const FEWEST_OF_BLOCK: usize = 4;
/// Largest graph that is written twice.
const MOST_WRITTEN_NODES: usize = 100;

/// Writes the kernel.
pub fn write(mut module: Module, elements: &Elements) -> Result<KernelText> {
    let Access { loads, lanes, axes } = declare(&mut module, elements);
    let across = across(&module, elements, &loads);
    let is_twice = across.is_none()
        && lanes.is_some()
        && !loads.is_empty()
        && axes.known(&module).is_some_and(|count| count >= MANY)
        && module.kernel.graph.len() <= MOST_WRITTEN_NODES;
    if is_twice {
        return write_twice(module, elements, &axes, lanes);
    }
    let mut code = Code::new(&mut module, lanes);
    let workgroups = match across {
        Some(across) => locate_in_tile(elements, across, lanes.is_some(), &mut code),
        None => {
            let count = axes.count(code.module);
            code.line(&format!("let point = workgroup * {WORKGROUP_THREADS}u + lane;"));
            code.open(&format!("if point >= {count}"));
            code.line("return;");
            code.close();
            axes.locate("point", &mut code);
            Workgroups::new(axes.factors(), WORKGROUP_THREADS)
        }
    };
    let mask = axes.mask(&mut code);
    code.store(&elements.stores, mask.as_ref());
    let body = code.finish();
    module.finish("", &body, WORKGROUP_THREADS, workgroups)
}

/// Writes the kernel of a long map: a thread loads two fours of points before it computes, so that more loads are under way.
fn write_twice(mut module: Module, elements: &Elements, axes: &Axes, lanes: Option<u32>) -> Result<KernelText> {
    let values = Store::roots(&elements.stores);
    let graph = &module.kernel.graph;
    let mut loads = graph.needed(values);
    loads.retain(|id| matches!(graph.node(*id), TypedNode::Load { .. }));
    let mut code = Code::new(&mut module, lanes);
    let count = axes.count(code.module);
    code.line(&format!("let point = workgroup * {}u + lane;", 2 * WORKGROUP_THREADS));
    code.open(&format!("if point >= {count}"));
    code.line("return;");
    code.close();
    let second = code.bind(&format!("point + {WORKGROUP_THREADS}u"));
    let exists = code.bind(&format!("{second} < {count}"));
    let places = [("point".to_owned(), None), (second, Some(exists))].map(|(place, exists)| {
        axes.locate(&place, &mut code);
        Held::here(&mut code, &loads, exists)
    });
    for held in places {
        let exists = held.enter(&mut code);
        if let Some(exists) = &exists {
            code.open(&format!("if {exists}"));
        }
        let mask = axes.mask(&mut code);
        code.store(&elements.stores, mask.as_ref());
        if exists.is_some() {
            code.close();
        }
        code.pop_values();
    }
    let body = code.finish();
    module.finish("", &body, WORKGROUP_THREADS, Workgroups::new(axes.factors(), 2 * WORKGROUP_THREADS))
}

/// Writes the kernel of several spaces: points of one are numbered after those of another.
pub fn write_several(mut module: Module, maps: &[Elements]) -> Result<KernelText> {
    let accesses: Vec<Access> = maps.iter().map(|elements| declare(&mut module, elements)).list();
    let mut body = format!("    var point = workgroup * {WORKGROUP_THREADS}u + lane;\n");
    let mut parts = Vec::with_capacity(maps.len());
    for (elements, Access { lanes, axes, .. }) in maps.iter().zip(&accesses) {
        let mut code = Code::new(&mut module, *lanes);
        let count = axes.count(code.module);
        code.open(&format!("if point < {count}"));
        axes.locate("point", &mut code);
        let mask = axes.mask(&mut code);
        code.store(&elements.stores, mask.as_ref());
        code.line("return;");
        code.close();
        code.line(&format!("point -= {count};"));
        body += &code.finish();
        parts.push(axes.factors());
    }
    module.finish("", &body, WORKGROUP_THREADS, Workgroups { parts, units: WORKGROUP_THREADS })
}

/// How a kernel goes through its points.
struct Access {
    /// What it loads.
    loads: Vec<(u32, Id)>,
    /// The axis along which a thread takes four points.
    lanes: Option<u32>,
    axes: Axes,
}

/// Declares the buffers of a kernel for what is done with them.
fn declare(module: &mut Module, elements: &Elements) -> Access {
    let roots: Vec<Id> = Store::roots(&elements.stores).list();
    let loads = module.kernel.graph.loads(roots);
    let innermost = elements.space.len().saturating_sub(1) as u32;
    // Several stores to one buffer are those of a block, of which a thread holds one.
    let of = |buffer: u32| elements.stores.iter().filter(|store| store.buffer == buffer).count();
    let is_block = elements.stores.iter().any(|store| of(store.buffer) >= FEWEST_OF_BLOCK);
    let lanes = (!is_block && goes_by_four(module, innermost, &loads, &elements.stores)).then_some(innermost);
    let axes = Axes::new(0, &elements.space, lanes);
    let masked = elements.space.last().is_some_and(|extent| !module.is_multiple_of_4(*extent));
    points::declare(module, lanes, &loads, &elements.stores, &[], masked);
    Access { loads, lanes, axes }
}

/// The axis along which an operand has its neighbours that varies along the innermost axis too; none where either axis is short.
fn across(module: &Module, elements: &Elements, loads: &[(u32, Id)]) -> Option<u32> {
    let innermost = elements.space.len().saturating_sub(1) as u32;
    let is_long = |axis: u32| {
        let known = module.kernel.known(elements.space[axis as usize]);
        known.is_none_or(|extent| extent >= COLUMNS)
    };
    let is_across = |axis: u32| {
        loads.iter().any(|load| module.depends_on(load.1, innermost) && neighbours(module, axis, &[*load], &[]) > 0)
            || neighbours(module, axis, &[], &elements.stores) > 0
    };
    (0..innermost).rev().find(|axis| is_across(*axis) && is_long(*axis) && is_long(innermost))
}

/// Writes the coordinates of a thread of a workgroup that has a tile of the innermost axis and another.
fn locate_in_tile(elements: &Elements, across: u32, by_four: bool, code: &mut Code) -> Workgroups {
    let innermost = elements.space.len() as u32 - 1;
    let (columns, points) = if by_four { (WIDE_COLUMNS, 4) } else { (COLUMNS, 1) };
    let divisor = |axis: u32| match axis {
        axis if axis == innermost => columns * points,
        axis if axis == across => WORKGROUP_THREADS / columns,
        _ => 1,
    };
    let mut factors = Vec::new();
    let mut rest = "workgroup".to_owned();
    let mut conditions = Vec::new();
    for (axis, extent) in elements.space.iter().enumerate().rev() {
        let axis = axis as u32;
        let factor = Factor { extent: *extent, divisor: divisor(axis) };
        factors.push(factor);
        let steps = count_of(factor, code.module);
        let mut place = rest.clone();
        if axis > 0 {
            place = code.bind(&format!("{rest} % {steps}"));
            rest = code.bind(&format!("{rest} / {steps}"));
        }
        if factor.divisor > 1 {
            let within = match axis == innermost {
                true => format!("lane % {columns}u * {points}u"),
                false => format!("lane / {columns}u"),
            };
            place = code.bind(&format!("{place} * {}u + {within}", factor.divisor));
        }
        if factor.divisor > 1 || axis == 0 {
            conditions.push(format!("{place} >= {}", code.module.extent(*extent)));
        }
        if *extent == Extent::Known(1) {
            place = "0u".to_owned();
        }
        code.set_coordinate(axis, place);
    }
    code.open(&format!("if {}", conditions.join(" || ")));
    code.line("return;");
    code.close();
    Workgroups::new(factors, 1)
}
