//! How buffers are declared, and the names of buffers and types.

use crate::dtype::DType;
use crate::scalar::Type;

/// How a buffer is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// An array of its elements, which are words.
    Scalars,
    /// An array of vectors of four elements, which are words.
    Vectors,
    /// An array of pairs of elements, which are words. It is bound whole.
    Pairs,
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
        let scalar = self.scalar(dtype);
        match self {
            Layout::Scalars | Layout::Packed => scalar.to_owned(),
            Layout::Vectors | Layout::PackedVectors => format!("vec4<{scalar}>"),
            Layout::Pairs => format!("vec2<{scalar}>"),
            Layout::Atomic => format!("atomic<{scalar}>"),
        }
    }

    /// The type of the numbers that the array consists of.
    pub fn scalar(self, dtype: DType) -> &'static str {
        match self {
            Layout::Scalars | Layout::Vectors | Layout::Pairs => type_name(Type::of(dtype)),
            Layout::Packed | Layout::PackedVectors | Layout::Atomic => type_name(Type::U32),
        }
    }

    /// Whether the array has vectors of four numbers.
    pub fn is_vector(self) -> bool {
        matches!(self, Layout::Vectors | Layout::PackedVectors)
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

/// The variable of a buffer.
pub fn name_of_buffer(buffer: u32) -> String {
    format!("b{buffer}")
}
