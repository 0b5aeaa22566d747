//! From a recipe to kernels: which operations have memory ([`storage`]), which are computed together ([`groups`]), and the kernel of each
//! group.

pub mod attention;
pub mod build;
pub mod elements;
pub mod group;
pub mod groups;
mod part;
pub mod product;
pub mod rows;
pub mod scan;
pub mod scatter;
pub mod siblings;
pub mod sort;
mod split;
pub mod storage;
pub mod tile;
mod unique;

pub use storage::Target;
pub use unique::unique;
