//! The wasm-bindgen boundary, and nothing else. Each file mirrors one of the TypeScript facade, which alone talks to it:
//! names here begin with `Raw`, the facade gives the clean ones.
//!
//! Three rules hold for everything here. No borrow is held across an await or a call into JavaScript: exported types are
//! handles, and a call takes what it works on out of its handle and puts it back. Typed arrays are copied in and out, never
//! views of this memory. Errors cross as JavaScript `Error` objects with the properties `code`, `message` and `wgsl`.

mod compile;
mod context;
mod covariance;
mod error;
mod evaluate;
mod expression;
mod functions;
mod hessian;
mod incremental;
mod many;
mod problem;
mod solve;
mod threads;
mod value;
