//! The text of a product: declarations, the template, and the functions that it calls.

use residua_base::list::Listed;
use residua_codegen::template_parameters;
use residua_codegen::wgsl::{Parameters, Template};

use super::functions::Side;
use super::roles::Roles;
use super::row;
use crate::kernel::{Product, Store};
use crate::scalar::Id;
use crate::wgsl::batch;
use crate::wgsl::module::{GUARD_ZERO, Module, shader};
use crate::wgsl::points;
use crate::wgsl::text::KernelText;
use crate::wgsl::workgroups::{Factor, Workgroups};

/// Files that the templates include.
const FILES: &[Template<'static>] = &[
    shader!("product_load"),
    shader!("product_compute"),
    shader!("product_store"),
    shader!("product_results"),
    shader!("product_depth_load"),
    shader!("product_depth_compute"),
    shader!("product_depth_store"),
    shader!("product_bytes_load"),
    shader!("product_bytes_compute"),
    shader!("product_bytes_store"),
];

template_parameters! {
    /// What the templates of all products have.
    pub struct Matrices {
        rows: String,
        columns: String,
        depth: String,
        batches: String,
        batch_coordinates: String,
        batch_arguments: String,
    }
}

impl Matrices {
    /// Those of a product in these roles.
    pub fn of(module: &Module, product: &Product, roles: Roles) -> Matrices {
        let [rows, columns, depth] = roles.extents.map(|extent| module.extent(extent));
        Matrices {
            rows,
            columns,
            depth,
            batches: batch::count(module, &product.batch),
            batch_coordinates: batch::coordinates(module, &product.batch),
            batch_arguments: batch::arguments(&product.batch),
        }
    }
}

/// Declares buffers for what is done with them: results and what they are computed from go by four along the columns, factors along the axis
/// of their vectors.
pub fn declare(module: &mut Module, product: &Product, roles: Roles, sides: &[&Side]) {
    let [_, column, _] = roles.axes;
    let roots: Vec<Id> = Store::roots(&product.elements).list();
    let loads = module.kernel.graph.loads(roots);
    let masked = !module.is_multiple_of_4(roles.extents[1]);
    points::declare(module, Some(column), &loads, &product.elements, &[], masked);
    for side in sides {
        let operands = if side.value == roles.left { row::operands(product) } else { Vec::new() };
        for (buffer, index) in module.kernel.graph.loads(operands.into_iter().chain([side.value])) {
            module.read_vectors(buffer, index, side.lanes());
        }
    }
}

/// The text from its templates and its functions. `tiles` counts the workgroups of each product.
pub fn finish(
    mut module: Module,
    templates: &[(Template<'static>, &dyn Parameters)],
    functions: &str,
    tiles: Vec<Vec<Factor>>,
) -> KernelText {
    let (mut text, bindings) = module.head();
    // The templates' entry points have no variable for it; an epilogue that reads it does so once an element of the result.
    module.program.read_guard_from(GUARD_ZERO);
    for (template, parameters) in templates {
        module.program.push("\n");
        module.program.push_template(*template, FILES, *parameters);
    }
    module.program.push(functions);
    text += &std::mem::take(&mut module.program).finish();
    KernelText { text, bindings, workgroups: Workgroups { parts: tiles, units: 1 } }
}

/// The tiles of a product, with so many rows and columns each.
pub fn tiles(product: &Product, roles: Roles, [rows, columns]: [u32; 2]) -> Vec<Factor> {
    let batch = product.batch.iter().map(|extent| Factor { extent: *extent, divisor: 1 });
    let tiles =
        [Factor { extent: roles.extents[0], divisor: rows }, Factor { extent: roles.extents[1], divisor: columns }];
    batch.chain(tiles).list()
}
