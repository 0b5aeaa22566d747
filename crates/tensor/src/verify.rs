//! Kernels of a plan for the GPU as code for the host, with which `Program.verify` compares what they compute.
//!
//! The WebAssembly back end takes most kernels. The host's loops of matrix products take no factors that are computed and no epilogue, so a
//! product becomes rows: a sum along the depth for each element. Sorts, attention and linear algebra, which have loops or other
//! operations on the host, are interpreted.

use std::borrow::Cow;

use residua_base::error::Result;
use residua_base::list::Listed;
use residua_ir::graph::Op as Real;

use crate::kernel::{Body, Combine, Fold, Product, Rows, TensorKernel};
use crate::scalar::{Type, TypedOp};
use crate::wasm;

/// For each kernel of a plan how many functions compute it; none for one that is interpreted.
pub fn functions(kernels: &[TensorKernel]) -> Vec<u32> {
    kernels.iter().map(|kernel| generated(kernel).map_or(0, |parts| parts.len() as u32)).list()
}

/// The bytes of a module with the functions of all kernels in order, as [`wasm::module`] describes them.
///
/// An error with [`residua_base::error::ErrorCode::LimitExceeded`] if a kernel is longer than engines take.
pub fn module(kernels: &[TensorKernel]) -> Result<Vec<u8>> {
    let parts: Vec<TensorKernel> = kernels.iter().filter_map(generated).flat_map(Cow::into_owned).list();
    wasm::module(&parts)
}

/// Kernels with the same buffers and words that compute, one after the other, what a kernel computes. None if the WebAssembly back end does
/// not take them, so that the kernel is to be interpreted: it has no rows whose valid points are not the first ones.
pub fn generated(kernel: &TensorKernel) -> Option<Cow<'_, [TensorKernel]>> {
    let rows = |products: &[Product]| Cow::Owned(products.iter().map(|product| rows_of(kernel, product)).list());
    let parts = match &kernel.body {
        Body::Elements(_) | Body::Rows(_) | Body::Scan(_) => Cow::Borrowed(std::slice::from_ref(kernel)),
        Body::Maps(maps) => {
            maps.iter().map(|map| TensorKernel { body: Body::Elements(map.clone()), ..kernel.clone() }).collect()
        }
        Body::Product(product) => rows(std::slice::from_ref(product)),
        Body::Products(products) | Body::Sequence(products) => rows(products),
        Body::Sort(_) | Body::DigitCounts(_) | Body::DigitSort(_) => return None,
        Body::Attention(_) | Body::Fourier(_) | Body::Linalg(_) | Body::Turns(_) => return None,
    };
    wasm::module(&parts).is_ok().then_some(parts)
}

/// A product of a kernel as rows. Axes of both forms are numbered alike: batch, row, column, depth.
fn rows_of(kernel: &TensorKernel, product: &Product) -> TensorKernel {
    let Product { batch, rows, columns, depth, folds, left, right, elements, .. } = product;
    let mut graph = kernel.graph.clone();
    let (term, combine) = match graph.ty(*left) {
        Type::F32 => (graph.real(Real::Mul, &[*left, *right]), Combine::Sum),
        _ => (graph.apply(TypedOp::IntMul, &[*left, *right]), Combine::PlainSum),
    };
    let sum = Fold { combine, operands: vec![term], merges_states: false, keeps_state: false };
    let body = Body::Rows(Rows {
        outer: batch.iter().chain([rows, columns]).copied().list(),
        row: vec![*depth],
        valid: None,
        folds: folds.iter().cloned().chain([sum]).list(),
        elements: Vec::new(),
        results: elements.clone(),
    });
    TensorKernel { graph, body, ..kernel.clone() }
}
