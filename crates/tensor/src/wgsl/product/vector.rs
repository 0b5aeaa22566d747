//! Products with few rows.

use residua_base::error::Result;
use residua_base::list::Listed;
use residua_codegen::template_parameters;
use residua_codegen::wgsl::{Parameters, Template};

use super::blocks::Blocks;
use super::functions::{Side, store};
use super::roles::Roles;
use super::row;
use super::shape::VectorShape;
use super::text::{Matrices, declare, finish, tiles};
use crate::kernel::{Product, WORKGROUP_THREADS};
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
    }
}

template_parameters! {
    /// Parameters of `product_vector_main.wgsl`.
    struct MainTemplate {
        threads: u32,
        count: u32,
        in_sequence: bool,
        row_kept: bool,
    }
}

/// How the right factor of a product is read.
enum Right {
    /// By vectors of four numbers.
    Vectors(VectorShape, Side),
    /// By whole blocks along the depth.
    Blocks(Blocks),
}

/// A product of the kernel.
struct Part<'a> {
    product: &'a Product,
    roles: Roles,
    suffix: String,
    /// Threads of a workgroup of the kernel.
    threads: u32,
    left: Side,
    right: Right,
}

impl<'a> Part<'a> {
    fn new(
        module: &mut Module,
        (product, roles): (&'a Product, Roles),
        blocks: Option<Blocks>,
        threads: u32,
        suffix: String,
    ) -> Part<'a> {
        let side = |side: Side| Side { suffix: suffix.clone(), ..side };
        match blocks {
            Some(blocks) => {
                let left = side(Side::left(module, roles, true, [blocks.rows(), 4]));
                declare(module, product, roles, &[&left]);
                blocks.declare(module);
                Part { product, roles, left, right: Right::Blocks(blocks), threads, suffix }
            }
            None => {
                let shape = VectorShape::of(module, roles);
                let left = side(Side::left(module, roles, true, [shape.rows, 4]));
                let right = side(Side::right(module, roles, shape.along_depth, [shape.columns(), 4]));
                declare(module, product, roles, &[&left, &right]);
                Part { product, roles, left, right: Right::Vectors(shape, right), threads, suffix }
            }
        }
    }

    /// Rows and columns of a workgroup.
    fn tile(&self) -> [u32; 2] {
        match &self.right {
            Right::Vectors(shape, _) => [shape.rows, shape.columns()],
            Right::Blocks(blocks) => [blocks.rows(), blocks.columns(self.threads)],
        }
    }

    fn functions(&self, module: &mut Module) -> String {
        let Part { product, roles, suffix, left, right, threads } = self;
        let left = if product.folds.is_empty() { left.function(module, product, &[]) } else { row::left(suffix) };
        let right = match right {
            Right::Vectors(_, right) => right.function(module, product, &[]),
            Right::Blocks(blocks) => blocks.functions(module, product, *roles, *threads, suffix),
        };
        [left, right, store(module, product, *roles, suffix)].concat()
    }

    fn template(&self, module: &Module) -> (Template<'static>, Box<dyn Parameters>) {
        let Part { product, roles, suffix, right, threads, .. } = self;
        let matrices = Matrices::of(module, product, *roles);
        match right {
            Right::Vectors(shape, _) => {
                (shader!("product_vector"), Box::new((matrices, template_of(module, product, *shape, suffix))))
            }
            Right::Blocks(blocks) => {
                (shader!("product_blocks"), Box::new((matrices, blocks.template(module, *threads, suffix))))
            }
        }
    }
}

/// Writes the kernel of products with few rows in these roles. Those in sequence have the same extents and factors of one form, and one workgroup
/// for the same elements.
pub fn write(mut module: Module, products: &[(&Product, Roles)], in_sequence: bool) -> Result<KernelText> {
    let blocks: Vec<Option<Blocks>> = products.iter().map(|(_, roles)| Blocks::of(&module, *roles)).list();
    let threads = if blocks.iter().all(Option::is_some) { Product::BLOCK_THREADS } else { WORKGROUP_THREADS };
    let mut parts = Vec::with_capacity(products.len());
    for (place, (product, blocks)) in products.iter().zip(blocks).enumerate() {
        parts.push(Part::new(&mut module, *product, blocks, threads, format!("_{place}")));
    }
    let mut functions: String = parts.iter().map(|part| part.functions(&mut module)).collect();
    let row_kept = products.iter().any(|(product, _)| !product.folds.is_empty());
    if row_kept {
        functions += &row::functions(&mut module, products[0].0, products[0].1, threads);
    }
    let counted = if in_sequence { &parts[..1] } else { &parts[..] };
    let workgroups = counted.iter().map(|part| tiles(part.product, part.roles, part.tile())).list();
    let main = MainTemplate { threads, count: products.len() as u32, in_sequence, row_kept };
    let of_parts: Vec<(Template<'static>, Box<dyn Parameters>)> =
        parts.iter().map(|part| part.template(&module)).list();
    let mut templates: Vec<(_, &dyn Parameters)> = vec![(shader!("product_vector_main"), &main)];
    templates.extend(of_parts.iter().map(|(template, parameters)| (*template, parameters.as_ref())));
    Ok(finish(module, &templates, &functions, workgroups))
}

fn template_of(module: &Module, product: &Product, shape: VectorShape, suffix: &str) -> VectorTemplate {
    let ty = module.kernel.graph.ty(product.left);
    let name = type_name(ty);
    VectorTemplate {
        suffix: suffix.to_owned(),
        type_name: name.to_owned(),
        sum_type: if shape.along_depth { name.to_owned() } else { format!("vec4<{name}>") },
        float: ty == Type::F32,
        threads: WORKGROUP_THREADS,
        places: shape.places,
        row_count: shape.rows,
        column_count: shape.columns(),
        right_along_depth: shape.along_depth,
    }
}
