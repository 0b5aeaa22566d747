//! Kernels as WGSL in f32.
//!
//! Generated kernels are emitted by a writer: functions that append declarations, statements and blocks. Hand-written shaders are
//! templates, the files of `shaders/`. Text is meant to be read: a header, named values, one line an operation, and below the entry point the
//! functions of `shaders/common` that it calls.
//!
//! | module | what |
//! |---|---|
//! | `declaration` | resource variables and uniform structures, declared once for Rust and WGSL |
//! | `kernel`, `recompute`, `fused` | entry points of the three kinds of generated kernels |
//! | `instance`, `body`, `pair_body`, `reads`, `angles`, `lookup` | straight-line code of an instance and of a graph, in single numbers and in pairs |
//! | `operation`, `pairs` | each op as an expression, in f32 and in pairs |
//! | `order` | which operands compilers must not see through, where the order of operations is kept |
//! | `value`, `total` | texts of nodes and types of totals in either width |
//! | `function`, `loops` | functions that are defined as graphs, and loops |
//! | `guard` | which kernels need a zero that compilers cannot derive |
//! | `template` | the preprocessor of hand-written shaders |
//! | `import`, `program` | the shader library, and modules of templates and generated functions |

mod angles;
mod body;
mod declaration;
mod function;
mod fused;
mod guard;
mod import;
mod inputs;
mod instance;
mod kernel;
mod literal;
mod lookup;
mod loops;
mod names;
mod operation;
mod order;
mod pair_body;
mod pairs;
mod program;
mod reads;
mod recompute;
mod template;
mod total;
mod value;
mod workgroup_sum;
mod writer;

pub use declaration::{AccessMode, Member, Resource, Structure, Word, declare_resources};
pub use fused::{FUSED_WORKGROUP_SIZE, FusedKernel, FusedPart};
pub use guard::reads_zero;
pub use import::PairForm;
pub use inputs::BoundInput;
pub use kernel::{Dispatch, PairDispatch, WORKGROUP_SIZE, kernel_resources, write};
pub use order::{Hidden, Operations, hidden};
pub use program::ProgramText;
pub use recompute::{PairRecomputeDispatch, RecomputeDispatch, recompute_resources, write_recompute};
pub use template::{Expansion, NoParameters, Parameters, Template, Value};
pub use writer::{Writer, comment};
