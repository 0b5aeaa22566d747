//! The one error type. Each variant carries a stable code of the public contract (`ErrorCode` in the npm package's types)
//! and a message that names the argument, what it got and what it takes.

/// Everything that can go wrong, by the code that JavaScript sees.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The stable code.
    pub code: ErrorCode,
    /// For a person: what was wrong, where, and what would be right.
    pub message: String,
    /// The kernel's text, with [`ErrorCode::ShaderCompilation`] alone.
    pub wgsl: Option<String>,
}

/// The stable codes of the public contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// Called before `init()`.
    NotInitialized,
    /// No `navigator.gpu`, no adapter, or an adapter that lacks what is needed.
    GpuUnavailable,
    /// The GPU device went away.
    DeviceLost,
    /// An allocation was refused.
    OutOfMemory,
    /// The work cannot be split to fit the limits.
    LimitExceeded,
    /// The browser refused a generated kernel: a bug of ours.
    ShaderCompilation,
    /// A wrong type, length, range or a NaN.
    InvalidArgument,
    /// A value from elsewhere, a cycle, an output that is no value.
    InvalidGraph,
    /// A residual or derivative is NaN or infinite at the start.
    NonFinite,
    /// Used after `dispose()`.
    Disposed,
    /// The caller's signal fired while compiling.
    Aborted,
    /// A bug of ours.
    Internal,
}

impl ErrorCode {
    /// The code as JavaScript sees it.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorCode::NotInitialized => "not-initialized",
            ErrorCode::GpuUnavailable => "gpu-unavailable",
            ErrorCode::DeviceLost => "device-lost",
            ErrorCode::OutOfMemory => "out-of-memory",
            ErrorCode::LimitExceeded => "limit-exceeded",
            ErrorCode::ShaderCompilation => "shader-compilation",
            ErrorCode::InvalidArgument => "invalid-argument",
            ErrorCode::InvalidGraph => "invalid-graph",
            ErrorCode::NonFinite => "non-finite",
            ErrorCode::Disposed => "disposed",
            ErrorCode::Aborted => "aborted",
            ErrorCode::Internal => "internal",
        }
    }
}

impl Error {
    /// An error of the given code, in the given words.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), wgsl: None }
    }

    /// [`ErrorCode::InvalidArgument`].
    pub fn invalid_argument(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::InvalidArgument, message)
    }

    /// [`ErrorCode::InvalidGraph`].
    pub fn invalid_graph(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::InvalidGraph, message)
    }

    /// [`ErrorCode::Internal`].
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::Internal, message)
    }
}

/// A result with the crate's [`struct@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
