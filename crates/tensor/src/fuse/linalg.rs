//! Kernels of factorisations and triangular systems.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;

use super::build::{Buffers, Built, Destinations, coordinates, extent, extents, roots_of, writes};
use crate::expr::{Expr, Op, TensorId};
use crate::kernel::{Body, Linalg};
use crate::lower::merge::{Merged, merge};
use crate::lower::{Index, Lowering};
use crate::scalar::Type;
use crate::size::Size;

/// The kernel.
pub fn linalg(
    expr: &Expr,
    stored: &[bool],
    id: TensorId,
    destinations: Destinations,
    most_dims: &[u32],
) -> Result<Built> {
    let tensor = expr.tensor(id);
    let Op::Linalg(kind) = tensor.op else { return Err(Error::internal("a group of linear algebra without it")) };
    let mut lowering = Lowering::of(expr, stored);
    let (leading, result) = tensor.shape.split_at(tensor.shape.len() - 2);
    let (at, batch) = coordinates(&mut lowering, leading, 0);
    let first = batch.len() as u32;
    let axes = [0, 1, 2, 3, 4, 5].map(|axis| lowering.graph.coordinate(first + axis));
    let point = |axis: usize| Index::Coordinates([at.as_slice(), &axes[axis..axis + 2]].concat());
    let matrix = lowering.value(tensor.operands[0], point(0))?;
    let second = tensor.operands.get(1).map(|second| lowering.value(*second, point(2))).transpose()?;
    let value = lowering.graph.folded(0, 0, Type::F32);
    let to = [at.as_slice(), &axes[4..]].concat();
    let mut all = Vec::new();
    writes(&mut lowering, id, &to, value, destinations, &mut all);

    let of = &expr.shape(tensor.operands[0])[leading.len()..];
    let (rows, columns) = (&of[0], &of[1]);
    let one = Size::constant(1);
    let width = tensor.operands.get(1).map_or(&one, |second| &expr.shape(*second)[leading.len() + 1]);
    let inner = [rows, columns, rows, width, &result[0], &result[1]].map(|size| vec![size.clone()]);
    let groups = [vec![batch], inner.to_vec()].concat();
    let roots = [vec![matrix], second.into_iter().list(), roots_of(&all)].concat();
    let own = roots.len() - 2 * all.len();
    let Merged { graph, mut sizes, groups, roots } = merge(&lowering.graph, &lowering.sizes, &groups, &roots);
    let mut buffers = Buffers::of(&lowering);
    let elements = buffers.stores(&all, &roots[own..]);
    let most = [rows, columns].map(|size| size.at(most_dims).max(0) as u32);
    let [rows, columns, width, height, length] =
        [1, 2, 4, 5, 6].map(|group: usize| extent(&groups[group][0], &mut sizes));
    let body = Body::Linalg(Linalg {
        kind,
        batch: extents(&groups[0], &mut sizes),
        rows,
        columns,
        width,
        height,
        length,
        most,
        matrix: roots[0],
        second: second.map(|_| roots[1]),
        elements,
    });
    Ok(buffers.built(kind.name().to_owned(), sizes, graph, body))
}
