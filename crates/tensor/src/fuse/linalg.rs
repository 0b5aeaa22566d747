//! Kernels of factorisations and triangular systems.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;

use super::build::{Buffers, Built, Destinations, Rounds, coordinates, extent, extents, roots_of, writes};
use crate::dtype::DType;
use crate::expr::{Expr, Linalg as Kind, TensorId, TensorOp};
use crate::kernel::{Body, Elements, Linalg, TensorBuffer, Turns};
use crate::lower::merge::{Merged, merge};
use crate::lower::{ElementIndex, Lowering, Memory};
use crate::scalar::{Type, TypedGraph};
use crate::size::Size;

/// The kernels.
pub fn linalg(
    expr: &Expr,
    stored: &[bool],
    id: TensorId,
    destinations: Destinations,
    most_dims: &[u32],
    scratch: &mut u32,
) -> Result<Vec<Built>> {
    let TensorOp::Linalg(kind) = expr.tensor(id).op else {
        return Err(Error::internal("a group of linear algebra without it"));
    };
    match kind {
        Kind::Diagonal | Kind::Orthogonal => turns(expr, stored, id, destinations, most_dims, scratch),
        _ => Ok(vec![factors(expr, stored, id, kind, destinations, most_dims)?]),
    }
}

/// The kernels of rotations: one that copies the first state to the memory of the last one, and the two of a round.
fn turns(
    expr: &Expr,
    stored: &[bool],
    id: TensorId,
    destinations: Destinations,
    most_dims: &[u32],
    scratch: &mut u32,
) -> Result<Vec<Built>> {
    let tensor = expr.tensor(id);
    let (leading, size) = tensor.shape.split_at(tensor.shape.len() - 2);
    let mut lowering = Lowering::of(expr, stored);
    let mut all = Vec::new();
    let (at, space) = coordinates(&mut lowering, &tensor.shape, 0);
    let value = lowering.value(tensor.operands[0], ElementIndex::Coordinates(at.clone()))?;
    writes(&mut lowering, id, &at, value, destinations, &mut all);
    let Merged { graph, mut sizes, groups, roots } = merge(&lowering.graph, &lowering.sizes, &[space], &roots_of(&all));
    let space = extents(&groups[0], &mut sizes);
    let mut buffers = Buffers::of(&lowering);
    let stores = buffers.stores(&all, &roots);
    let start = Elements { space, stores, fills: true };
    let mut built = vec![buffers.built("state".to_owned(), sizes, graph, Body::Elements(start))];
    let [write] = all.as_slice() else { return Err(Error::internal("rotations in several pieces of memory")) };
    let is_symmetric = tensor.op == TensorOp::Linalg(Kind::Diagonal);
    let most = size[1].at(most_dims).max(0) as u32;
    for applies in [false, true] {
        let (mut sizes, mut buffers) = (Vec::new(), Buffers::default());
        let state = TensorBuffer { dtype: DType::F32, written: true };
        let body = Body::Turns(Turns {
            applies,
            is_symmetric,
            batch: extents(leading, &mut sizes),
            rows: extent(&size[0], &mut sizes),
            columns: extent(&size[1], &mut sizes),
            most,
            state: buffers.position(write.memory, state),
            rotations: buffers.position(Memory::Scratch(*scratch), TensorBuffer { written: !applies, ..state }),
        });
        let name = if applies { "turn" } else { "rotations" };
        built.push(buffers.built(name.to_owned(), sizes, TypedGraph::default(), body));
    }
    *scratch += 1;
    let count = Turns::most_rounds(u64::from(most)) as usize;
    if let Some(last) = built.last_mut() {
        last.rounds = Some(Rounds { kernels: 2, count });
    }
    Ok(built)
}

/// The kernel of a factorisation or a system.
fn factors(
    expr: &Expr,
    stored: &[bool],
    id: TensorId,
    kind: Kind,
    destinations: Destinations,
    most_dims: &[u32],
) -> Result<Built> {
    let tensor = expr.tensor(id);
    let mut lowering = Lowering::of(expr, stored);
    let (leading, result) = tensor.shape.split_at(tensor.shape.len() - 2);
    let (at, batch) = coordinates(&mut lowering, leading, 0);
    let first = batch.len() as u32;
    let axes = [0, 1, 2, 3, 4, 5].map(|axis| lowering.graph.coordinate(first + axis));
    let point = |axis: usize| ElementIndex::Coordinates([at.as_slice(), &axes[axis..axis + 2]].concat());
    let matrix = lowering.value(tensor.operands[0], point(0))?;
    let is_sparse = kind == Kind::SparseSolve;
    let at_second = if is_sparse { ElementIndex::Coordinates(vec![axes[2]]) } else { point(2) };
    let second = tensor.operands.get(1).map(|second| lowering.value(*second, at_second)).transpose()?;
    let pattern = tensor.operands.get(2).filter(|_| is_sparse);
    let number =
        pattern.map(|pattern| lowering.value(*pattern, ElementIndex::Coordinates(vec![axes[3]]))).transpose()?;
    let value = lowering.graph.folded(0, 0, Type::F32);
    let to = [at.as_slice(), &axes[4..]].concat();
    let mut all = Vec::new();
    writes(&mut lowering, id, &to, value, destinations, &mut all);

    let of = &expr.shape(tensor.operands[0])[leading.len()..];
    let (rows, columns) = (&of[0], &of[1]);
    let one = Size::constant(1);
    let width = tensor.operands.get(1).and_then(|second| expr.shape(*second).last()).unwrap_or(&one);
    let last = pattern.map_or(width, |pattern| &expr.shape(*pattern)[0]);
    let height = if is_sparse { width } else { rows };
    let inner = [rows, columns, height, last, &result[0], &result[1]].map(|size| vec![size.clone()]);
    let groups = [vec![batch], inner.to_vec()].concat();
    let roots = [vec![matrix], second.into_iter().chain(number).list(), roots_of(&all)].concat();
    let own = roots.len() - 2 * all.len();
    let Merged { graph, mut sizes, groups, roots } = merge(&lowering.graph, &lowering.sizes, &groups, &roots);
    let mut buffers = Buffers::of(&lowering);
    let elements = buffers.stores(&all, &roots[own..]);
    let most = [rows, columns].map(|size| size.at(most_dims).max(0) as u32);
    let of_width = if is_sparse { 3 } else { 4 };
    let [rows, columns, width, last, height, length] =
        [1, 2, of_width, 4, 5, 6].map(|group: usize| extent(&groups[group][0], &mut sizes));
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
        pattern: number.map(|_| (roots[2], last)),
        elements,
    });
    Ok(buffers.built(kind.name().to_owned(), sizes, graph, body))
}
