//! What a template is expanded from and into.

use residua_base::error::Error;
use residua_base::list::PushAll;

/// A file of WGSL with directives.
#[derive(Clone, Copy, Debug)]
pub struct Template<'a> {
    /// Its name in directives: the path of the file in its folder, without `.wgsl`.
    pub name: &'a str,
    /// Its text.
    pub source: &'a str,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// For `#if`.
    Flag(bool),
    /// For placeholders and `#for`.
    Number(u32),
    /// For a placeholder.
    Text(String),
}

impl From<bool> for Value {
    fn from(flag: bool) -> Value {
        Value::Flag(flag)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Value {
        Value::Number(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

/// What templates are expanded with; made by [`template_parameters!`](crate::template_parameters).
pub trait Parameters {
    /// All values, by the names of the fields.
    fn values(&self) -> Vec<(&'static str, Value)>;
}

/// Those of both.
impl<A: Parameters, B: Parameters> Parameters for (A, B) {
    fn values(&self) -> Vec<(&'static str, Value)> {
        let mut values = self.0.values();
        values.push_all(self.1.values());
        values
    }
}

/// For templates without parameters.
#[derive(Clone, Copy, Debug)]
pub struct NoParameters;

impl Parameters for NoParameters {
    fn values(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }
}

/// A template as it stands for its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expansion {
    /// The text.
    pub text: String,
    /// The names that it imports, in the order of their first directives.
    pub imports: Vec<String>,
}

impl Template<'_> {
    pub(super) fn error(&self, line: u32, what: &str) -> Error {
        Error::internal(format!("{}.wgsl, line {line}: {what}", self.name))
    }
}
