//! Products in tiles.

use residua_base::error::Result;
use residua_codegen::template_parameters;

use super::functions::{Side, store};
use super::roles::{Roles, is_along_depth};
use super::shape::TileShape;
use super::text::{Matrices, declare, finish, tiles};
use crate::kernel::Product;
use crate::scalar::Type;
use crate::wgsl::layout::type_name;
use crate::wgsl::module::{Module, shader};
use crate::wgsl::text::KernelText;

template_parameters! {
    /// Parameters of `product.wgsl`.
    struct TileTemplate {
        type_name: String,
        float: bool,
        lanes_split: bool,
        threads: u32,
        step: u32,
        unrolled: bool,
        rows_guarded: bool,
        columns_guarded: bool,
        left_vectors: u32,
        left_along_depth: bool,
        left_vectors_a_load: u32,
        left_divided: bool,
        left_known: u32,
        left_blocks: u32,
        left_loads: u32,
        left_partial: bool,
        left_ahead: bool,
        left_steps: u32,
        right_vectors: u32,
        right_along_depth: bool,
        right_vectors_a_load: u32,
        right_divided: bool,
        right_known: u32,
        right_blocks: u32,
        right_loads: u32,
        right_partial: bool,
        right_ahead: bool,
        right_steps: u32,
    }
}

/// How a factor comes into workgroup memory, in vectors of 4 rows or columns, or in blocks of 4 × 4 where its vectors are along the depth.
struct Loads {
    /// Vectors or blocks of a step.
    blocks: u32,
    /// How many of them a thread loads.
    a_thread: u32,
    /// Whether some threads load fewer.
    is_partial: bool,
    /// How many steps the threads load at once, where a step has fewer blocks than there are threads.
    steps: u32,
}

impl Loads {
    fn of(module: &Module, shape: TileShape, side: &Side, vectors: u32) -> Loads {
        let threads = shape.x * shape.y;
        let blocks = vectors * if side.along_depth { shape.step / 4 } else { shape.step };
        // Blocks that are loaded element by element take long: all threads load some.
        let loads_ahead = shape.loads_ahead || !side.has_vectors(module);
        let steps = if loads_ahead && threads.is_multiple_of(blocks) { threads / blocks } else { 1 };
        Loads { blocks, a_thread: blocks.div_ceil(threads), is_partial: !blocks.is_multiple_of(threads), steps }
    }
}

/// How many loads of a thread are of rows or columns of their own.
fn known_loads(shape: TileShape, vectors: u32, loads: u32) -> u32 {
    if (shape.x * shape.y).is_multiple_of(vectors) { 1 } else { loads }
}

/// Writes the kernel with a tile.
pub fn write(mut module: Module, product: &Product, shape: TileShape) -> Result<KernelText> {
    let roles = Roles::of(product);
    let [row, column, depth] = roles.axes;
    let left_along_depth = is_along_depth(&module, product.left, row, depth);
    let right_along_depth = is_along_depth(&module, product.right, column, depth);
    let mut left_side = Side::left(&module, roles, left_along_depth, [shape.rows(), shape.step]);
    let mut right_side = Side::right(&module, roles, right_along_depth, [shape.columns(), shape.step]);
    let (left_vectors, right_vectors) = (shape.rows() / 4, shape.columns() / 4);
    let left = Loads::of(&module, shape, &left_side, left_vectors);
    let right = Loads::of(&module, shape, &right_side, right_vectors);
    left_side.is_depth_guarded = !module.kernel.is_multiple(product.depth, shape.step * left.steps);
    right_side.is_depth_guarded = !module.kernel.is_multiple(product.depth, shape.step * right.steps);
    declare(&mut module, product, roles, &[&left_side, &right_side]);
    let [left_divided, right_divided] = [&left_side, &right_side].map(|side| side.divided(&mut module));
    let ty = module.kernel.graph.ty(product.left);
    let parameters = TileTemplate {
        type_name: type_name(ty).to_owned(),
        float: ty == Type::F32,
        lanes_split: shape.lanes != shape.x,
        threads: shape.x * shape.y,
        step: shape.step,
        unrolled: shape.unrolled,
        rows_guarded: left_side.is_outer_guarded,
        columns_guarded: right_side.is_outer_guarded,
        left_vectors,
        left_along_depth,
        left_vectors_a_load: if left_along_depth { 4 } else { 1 },
        left_divided: !left_divided.is_empty(),
        left_known: known_loads(shape, left_vectors, left.a_thread),
        left_blocks: left.blocks,
        left_loads: left.a_thread,
        left_partial: left.is_partial,
        left_ahead: left.steps > 1,
        left_steps: left.steps,
        right_vectors,
        right_along_depth,
        right_vectors_a_load: if right_along_depth { 4 } else { 1 },
        right_divided: !right_divided.is_empty(),
        right_known: known_loads(shape, right_vectors, right.a_thread),
        right_blocks: right.blocks,
        right_loads: right.a_thread,
        right_partial: right.is_partial,
        right_ahead: right.steps > 1,
        right_steps: right.steps,
    };
    let functions = [
        left_side.functions(&mut module, product, &left_divided),
        right_side.functions(&mut module, product, &right_divided),
        store(&mut module, product, roles, ""),
    ]
    .concat();
    let tiles = tiles(product, roles, [shape.rows(), shape.columns()]);
    let parameters = ((Matrices::of(&module, product, roles), shape.template()), parameters);
    Ok(finish(module, &[(shader!("product"), &parameters)], &functions, vec![tiles]))
}
