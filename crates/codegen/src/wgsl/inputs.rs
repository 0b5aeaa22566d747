//! What the inputs of a graph are in the text that is written for it.

use crate::{Kernel, Width};

/// What the inputs of a graph are.
#[derive(Clone, Copy)]
pub(super) enum Inputs<'a> {
    /// Parameters of the function whose body is written.
    Parameters {
        /// Their names.
        names: &'a [&'static str],
        /// Of all of them.
        width: Width,
    },
    /// Loads of a kernel.
    Loads(&'a Kernel),
    /// Expressions of the surrounding program, to be bound to names on first use.
    Bound(&'a [BoundInput]),
}

/// An input of a graph, as the program around it has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundInput {
    /// Its name in the generated code.
    pub name: String,
    /// An expression of the program, evaluated once, before the first use.
    pub expression: String,
    /// Of its value.
    pub width: Width,
}
