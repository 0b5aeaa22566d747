//! The tape: how the facade hands a recipe to this module. A sequence of f64 numbers.
//!
//! ```text
//! tape       = version, dims, sizes, rules, nodes, results, assignments
//! version    = 1
//! dims       = how many dims the sizes refer to
//! sizes      = count, then for each: count of terms, then for each: coefficient, count of dims, dims
//! rules      = count, then for each: rule
//! rule       = count of numbers of a state, identity, count of scalar nodes, scalar nodes, results (as many as numbers of a state)
//! scalar     = 0, number             a literal
//!            | 3, position           an input: 0 … s−1 of the earlier state, s … 2s−1 of the later one
//!            | code, operands        an operation of `residua_ir::graph::Op`
//! nodes      = count, then for each: op, dtype, rank, shape (positions in sizes), count of operands, operands, count of attributes, attributes
//! results    = count, nodes
//! assignments = count, then for each: slot of the input that is written, node
//! ```
//!
//! | op | attributes |
//! |---|---|
//! | 0 input | slot |
//! | 1 constant | number |
//! | 2 extent | position in sizes |
//! | 3 iota | axis |
//! | 4 random bits | stream |
//! | 5 elementwise | code of [`Elementwise`](crate::expr::Elementwise) |
//! | 6 reshape, 7 expand | |
//! | 8 permute | axes |
//! | 9 slice | starts (positions in sizes), steps |
//! | 10 pad | border (0 constant, 1 clamp, 2 wrap, 3 mirror), befores (positions in sizes) |
//! | 11 concat | axis |
//! | 12 windows | axis, step, dilation |
//! | 13 gather, 14 gather elements | axis |
//! | 15 reduce | reduction (0 sum, 1 prod, 2 min, 3 max, 4 argMin, 5 argMax, 6 variance), axes |
//! | 16 scan | reduction, axis, 1 if exclusive, 1 if reverse |
//! | 17 fold | position in rules, result, axes |
//! | 18 scan by | position in rules, result, axis, 1 if exclusive, 1 if reverse |
//! | 19 matmul | |
//! | 20 scatter, 21 index put | axis, combine (0 set, 1 add, 2 mul, 3 min, 4 max) |
//! | 22 gradient | |
