//! Kernels as a WebAssembly module with vectors of 128 bits.
//!
//! [`module`] takes kernels and gives the bytes of a module that imports a memory (`env.memory`) and exports a function for each kernel, named
//! by its position (`0`, `1`, …). It takes the address of a frame: words of 32 bits, first the addresses of the kernel's buffers in binding
//! order, then the words of its uniform. Its second parameter is the number of a part: a call does a range of the outermost axis, and gives the
//! number of the next part, or 0 after the last. Buffers begin at multiples of 16 bytes and are padded to such a multiple; what lies up to 12
//! bytes beyond the padding may be read.
//!
//! ```text
//! kernel ─▶ loops (elements, rows, scan) ─▶ values (each node where it does not vary) ─▶ lanes, integers, memory ─▶ code
//!                                                                  functions (elementary functions as formulas) ─▶ code
//! ```
//!
//! Reals are f32 in four lanes and integers i32: the results are those of [`crate::scalar`] but for elementary functions and the order of
//! reductions. Matrix products, transforms and sorts have no code here: loops of Rust run them.

use residua_base::cooperative::run_synchronously;
use residua_base::error::{Error, ErrorCode, Result};

use self::module::Shared;
use crate::kernel::{Body, TensorKernel};
use crate::turns;

mod code;
mod copies;
mod count;
mod elements;
mod functions;
mod integers;
mod lanes;
mod loops;
mod memory;
mod module;
mod partial;
mod parts;
mod pointer;
mod routine;
mod rows;
mod scan;
mod schedule;
mod signs;
mod states;
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;
mod values;
mod wide;

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use tests::machine::{run_generated, run_loop};

/// How many locals of a function engines take (WebAssembly JavaScript Interface, "Implementation-defined Limits").
const MOST_LOCALS: usize = 50_000;

/// The bytes of a module with a function for each kernel that is no loop of the host.
///
/// An error with [`residua_base::error::ErrorCode::LimitExceeded`] if a kernel is longer than engines take.
pub fn module(kernels: &[TensorKernel]) -> Result<Vec<u8>> {
    run_synchronously(module_in_turns(kernels))
}

/// The same in parts.
pub async fn module_in_turns(kernels: &[TensorKernel]) -> Result<Vec<u8>> {
    let mut shared = Shared::new();
    for (position, kernel) in kernels.iter().enumerate() {
        let function = match &kernel.body {
            Body::Elements(elements) => elements::function(kernel, elements, &mut shared),
            Body::Rows(rows) => rows::function(kernel, rows, &mut shared)?,
            Body::Scan(scan) => scan::function(kernel, scan, &mut shared)?,
            Body::Product(_) | Body::Products(_) | Body::Sequence(_) => continue,
            Body::Sort(_) | Body::Fourier(_) | Body::Linalg(_) => continue,
            Body::Maps(_) => return Err(Error::internal("several maps of one kernel on the host")),
            Body::DigitCounts(_) | Body::DigitSort(_) => {
                return Err(Error::internal("a sort by digits on the host"));
            }
            Body::Turns(_) => return Err(Error::internal("rounds of rotations on the host")),
            Body::Attention(_) => return Err(Error::internal("attention on the host is other operations")),
        };
        if shared.most_locals > MOST_LOCALS {
            return Err(Error::new(
                ErrorCode::LimitExceeded,
                format!(
                    "kernel '{}' takes {} values, and an engine has at most {MOST_LOCALS}",
                    kernel.name, shared.most_locals
                ),
            ));
        }
        shared.kernel(&position.to_string(), &function);
        turns::checkpoint().await;
    }
    Ok(shared.finish())
}
