//! How buffers are declared, and the names of types.

use crate::dtype::DType;
use crate::scalar::Type;

/// How a buffer is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// An array of its elements, which are words.
    Scalars,
    /// An array of vectors of four elements, which are words.
    Vectors,
    /// An array of words of several elements.
    Packed,
    /// An array of vectors of four such words, which is read alone.
    PackedVectors,
    /// An array of words of several elements, of which single ones are written.
    Atomic,
}

impl Layout {
    /// The layout of a buffer that is read or written by single elements, or by whole words.
    pub fn scalars(dtype: DType) -> Layout {
        if dtype.bytes() == 4 { Layout::Scalars } else { Layout::Packed }
    }

    /// The element of the array.
    pub fn element(self, dtype: DType) -> String {
        let name = type_name(Type::of(dtype));
        match self {
            Layout::Scalars => name.to_owned(),
            Layout::Vectors => format!("vec4<{name}>"),
            Layout::Packed => "u32".to_owned(),
            Layout::PackedVectors => "vec4<u32>".to_owned(),
            Layout::Atomic => "atomic<u32>".to_owned(),
        }
    }
}

/// The name of a type in WGSL.
pub fn type_name(ty: Type) -> &'static str {
    match ty {
        Type::F32 => "f32",
        Type::I32 => "i32",
        Type::U32 => "u32",
        Type::Bool => "bool",
    }
}
