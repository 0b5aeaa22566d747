//! Element types of tensors.

/// How an element of a tensor is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DType {
    /// IEEE single precision.
    F32 = 0,
    /// IEEE half precision. A type of storage: kernels compute in f32.
    F16 = 1,
    /// Signed 32-bit integer.
    I32 = 2,
    /// Unsigned 32-bit integer.
    U32 = 3,
    /// Unsigned byte. Kernels compute with it as a `u32` and keep its low 8 bits.
    U8 = 4,
    /// A byte that is 0 or 1.
    Bool = 5,
}

impl DType {
    /// All of them, by code.
    pub const ALL: [DType; 6] = [DType::F32, DType::F16, DType::I32, DType::U32, DType::U8, DType::Bool];

    /// The type of a code on the tape.
    pub fn from_code(code: u32) -> Option<DType> {
        DType::ALL.get(code as usize).copied()
    }

    /// Its name in the public contract.
    pub fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F16 => "f16",
            DType::I32 => "i32",
            DType::U32 => "u32",
            DType::U8 => "u8",
            DType::Bool => "bool",
        }
    }

    /// Bytes of an element.
    pub fn bytes(self) -> u32 {
        match self {
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::F16 => 2,
            DType::U8 | DType::Bool => 1,
        }
    }

    /// Whether it holds real numbers.
    pub fn is_real(self) -> bool {
        matches!(self, DType::F32 | DType::F16)
    }

    /// Whether it holds integers that are no truth values.
    pub fn is_integer(self) -> bool {
        matches!(self, DType::I32 | DType::U32 | DType::U8)
    }
}
