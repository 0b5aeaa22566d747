//! Products with few rows.

use residua_base::error::Result;
use residua_codegen::template_parameters;

use super::functions::{Side, batch_arguments, batch_coordinates, batches, store};
use super::roles::Roles;
use super::shape::VectorShape;
use super::text::{declare, finish};
use crate::kernel::Product;
use crate::scalar::Type;
use crate::wgsl::layout::type_name;
use crate::wgsl::module::{Module, shader};
use crate::wgsl::text::KernelText;

template_parameters! {
    /// Parameters of `product_vector.wgsl`.
    struct VectorTemplate {
        type_name: String,
        sum_type: String,
        float: bool,
        threads: u32,
        places: u32,
        row_count: u32,
        column_count: u32,
        right_along_depth: bool,
        rows: String,
        columns: String,
        depth: String,
        batches: String,
        batch_coordinates: String,
        batch_arguments: String,
    }
}

/// Writes the kernel.
pub fn write(mut module: Module, product: &Product, roles: Roles) -> Result<KernelText> {
    let shape = VectorShape::of(&module, roles);
    let left = Side::left(&module, roles, true, [shape.rows, 4]);
    let right = Side::right(&module, roles, shape.along_depth, [shape.columns(), 4]);
    declare(&mut module, product, roles, [&left, &right]);
    let ty = module.kernel.graph.ty(product.left);
    let name = type_name(ty);
    let parameters = VectorTemplate {
        type_name: name.to_owned(),
        sum_type: if shape.along_depth { name.to_owned() } else { format!("vec4<{name}>") },
        float: ty == Type::F32,
        threads: shape.threads,
        places: shape.places,
        row_count: shape.rows,
        column_count: shape.columns(),
        right_along_depth: shape.along_depth,
        rows: module.extent(roles.extents[0]),
        columns: module.extent(roles.extents[1]),
        depth: module.extent(product.depth),
        batches: batches(&module, product),
        batch_coordinates: batch_coordinates(&module, product),
        batch_arguments: batch_arguments(product),
    };
    let functions =
        [left.function(&mut module, product), right.function(&mut module, product), store(&mut module, product, roles)]
            .concat();
    Ok(finish(
        module,
        product,
        roles,
        shader!("product_vector"),
        &parameters,
        &functions,
        [shape.rows, shape.columns()],
    ))
}
