//! Derivatives as expressions: graph → graph.
