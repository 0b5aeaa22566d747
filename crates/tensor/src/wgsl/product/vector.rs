//! Products with few rows.

use residua_base::error::Result;
use residua_codegen::template_parameters;
use residua_codegen::wgsl::Parameters;

use super::functions::{Side, batch_arguments, batch_coordinates, batches, store};
use super::roles::Roles;
use super::shape::VectorShape;
use super::text::{declare, finish, tiles};
use crate::kernel::Product;
use crate::scalar::Type;
use crate::wgsl::layout::type_name;
use crate::wgsl::module::{Module, shader};
use crate::wgsl::text::KernelText;

template_parameters! {
    /// Parameters of `product_vector.wgsl`.
    struct VectorTemplate {
        suffix: String,
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

template_parameters! {
    /// Parameters of `product_vector_main.wgsl`.
    struct MainTemplate {
        threads: u32,
        count: u32,
        in_sequence: bool,
    }
}

/// Writes the kernel of products with few rows in these roles. Those in sequence have the same extents, and one workgroup for the same elements.
pub fn write(mut module: Module, products: &[(&Product, Roles)], in_sequence: bool) -> Result<KernelText> {
    let mut parts = Vec::with_capacity(products.len());
    for (place, (product, roles)) in products.iter().enumerate() {
        let shape = VectorShape::of(&module, *roles);
        let mut left = Side::left(&module, *roles, true, [shape.rows, 4]);
        let mut right = Side::right(&module, *roles, shape.along_depth, [shape.columns(), 4]);
        let suffix = format!("_{place}");
        left.suffix.clone_from(&suffix);
        right.suffix.clone_from(&suffix);
        declare(&mut module, product, *roles, [&left, &right]);
        parts.push((shape, left, right, suffix));
    }
    let mut functions = String::new();
    let mut parameters = Vec::with_capacity(products.len());
    let mut workgroups = Vec::with_capacity(products.len());
    for ((product, roles), (shape, left, right, suffix)) in products.iter().zip(&parts) {
        parameters.push(template_of(&module, product, *roles, *shape, suffix));
        functions += &left.function(&mut module, product);
        functions += &right.function(&mut module, product);
        functions += &store(&mut module, product, *roles, suffix);
        if in_sequence && !workgroups.is_empty() {
            continue;
        }
        workgroups.push(tiles(product, *roles, [shape.rows, shape.columns()]));
    }
    let main = MainTemplate { threads: VectorShape::THREADS, count: products.len() as u32, in_sequence };
    let mut templates: Vec<(_, &dyn Parameters)> = vec![(shader!("product_vector_main"), &main)];
    templates.extend(parameters.iter().map(|parameters| (shader!("product_vector"), parameters as &dyn Parameters)));
    Ok(finish(module, &templates, &functions, workgroups))
}

fn template_of(module: &Module, product: &Product, roles: Roles, shape: VectorShape, suffix: &str) -> VectorTemplate {
    let ty = module.kernel.graph.ty(product.left);
    let name = type_name(ty);
    VectorTemplate {
        suffix: suffix.to_owned(),
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
        batches: batches(module, product),
        batch_coordinates: batch_coordinates(module, product),
        batch_arguments: batch_arguments(product),
    }
}
