//! The one error type. Each variant carries a stable code of the public contract (`ErrorCode` in the npm package's types)
//! and a message that names the argument, what it got and what it takes.

/// Everything that can go wrong, by the code that JavaScript sees. One pointer, so that a [`Result`] costs no more than its
/// value.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Details>);

/// What an [`Error`] says.
#[derive(Clone, PartialEq, Eq)]
pub struct Details {
    /// The stable code.
    pub code: ErrorCode,
    /// For a person: what was wrong, where, and what would be right.
    pub message: String,
    /// The kernel's text, with [`ErrorCode::ShaderCompilation`] alone.
    pub wgsl: Option<String>,
}

impl std::ops::Deref for Error {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

impl std::fmt::Debug for Error {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.code.as_str(), self.message)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

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
    /// The browser refused a generated kernel: an error in this library.
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
    /// An error in this library.
    Internal,
}

impl ErrorCode {
    /// All codes.
    pub const ALL: [ErrorCode; 12] = [
        ErrorCode::NotInitialized,
        ErrorCode::GpuUnavailable,
        ErrorCode::DeviceLost,
        ErrorCode::OutOfMemory,
        ErrorCode::LimitExceeded,
        ErrorCode::ShaderCompilation,
        ErrorCode::InvalidArgument,
        ErrorCode::InvalidGraph,
        ErrorCode::NonFinite,
        ErrorCode::Disposed,
        ErrorCode::Aborted,
        ErrorCode::Internal,
    ];

    /// The code that JavaScript sees under this name.
    pub fn from_name(name: &str) -> Option<ErrorCode> {
        ErrorCode::ALL.into_iter().find(|code| code.as_str() == name)
    }

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
    #[cold]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error::of(code, message.into())
    }

    // Its own function, so that the many kinds of message share the rest.
    #[cold]
    #[inline(never)]
    fn of(code: ErrorCode, message: String) -> Error {
        Error(Box::new(Details { code, message, wgsl: None }))
    }

    /// [`ErrorCode::ShaderCompilation`], with the kernel's text.
    pub fn shader_compilation(message: impl Into<String>, wgsl: String) -> Error {
        let (code, message) = (ErrorCode::ShaderCompilation, message.into());
        Error(Box::new(Details { code, message, wgsl: Some(wgsl) }))
    }

    /// [`ErrorCode::InvalidArgument`].
    #[cold]
    pub fn invalid_argument(message: impl Into<String>) -> Error {
        Error::of(ErrorCode::InvalidArgument, message.into())
    }

    /// [`ErrorCode::InvalidGraph`].
    #[cold]
    pub fn invalid_graph(message: impl Into<String>) -> Error {
        Error::of(ErrorCode::InvalidGraph, message.into())
    }

    /// [`ErrorCode::Internal`].
    #[cold]
    pub fn internal(message: impl Into<String>) -> Error {
        Error::of(ErrorCode::Internal, message.into())
    }
}

/// A result with the crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
