//! The preprocessor of hand-written shaders.
//!
//! A template is a WGSL file with directives, each on a line of its own, and placeholders:
//!
//! | in the file | in the expansion |
//! |---|---|
//! | `#import name` | nothing; the definitions of that file are part of the module, once |
//! | `#include name` | the text of that file, in this place |
//! | `#if A && !(B \|\| C)`, `#else if D`, `#else`, `#endif` | the lines of the first branch whose flags hold |
//! | `#for i in 0..N`, `#endfor` | the lines between once for each value of `i`; `(0..N).rev()` counts down |
//! | `{i}`, `{i * (i + 1) / 2}`, `{N}` | a number |
//! | `{NAME}` | a text that was generated for this place |
//!
//! A brace opens a placeholder where a letter, a digit or a parenthesis follows directly; a brace of WGSL has a space or the end of the
//! line after it. Names in capitals are parameters: the fields of a structure made by [`template_parameters!`](crate::template_parameters). Other names are
//! variables of the enclosing `#for`s. Parameters hold for the files that a template includes or imports, too.
//!
//! Directives and placeholders are parsed before anything is emitted, and what is emitted is not looked at again. A mistake in a template is
//! an error that names the file and the line.

mod expand;
mod parse;

use residua_base::error::{Error, Result};

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

/// For templates without parameters.
#[derive(Clone, Copy, Debug)]
pub struct NoParameters;

impl Parameters for NoParameters {
    fn values(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }
}

/// Declares the parameters of a template: a structure of flags (`bool`), numbers (`u32`) and texts (`String`). The template has their
/// names in capitals.
#[macro_export]
macro_rules! template_parameters {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident { $($(#[$about:meta])* $field:ident: $type:ty,)+ }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $visibility struct $name {
            $($(#[$about])* pub $field: $type,)+
        }

        impl $crate::wgsl::Parameters for $name {
            fn values(&self) -> Vec<(&'static str, $crate::wgsl::Value)> {
                vec![$((stringify!($field), $crate::wgsl::Value::from(self.$field.clone()))),+]
            }
        }
    };
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
    /// The template for some parameters. `file` finds a file that is included, by its name.
    ///
    /// # Errors
    /// Directives and placeholders that are malformed, out of place or not closed, names without a value, numbers that no `u32` holds.
    pub fn expand<'a>(
        &'a self,
        parameters: &dyn Parameters,
        file: &dyn Fn(&str) -> Option<Template<'a>>,
    ) -> Result<Expansion> {
        self.expand_values(&parameters.values(), file)
    }

    pub(super) fn expand_values<'a>(
        &'a self,
        values: &[(&'static str, Value)],
        file: &dyn Fn(&str) -> Option<Template<'a>>,
    ) -> Result<Expansion> {
        expand::expand(*self, values, file)
    }

    fn error(&self, line: u32, what: &str) -> Error {
        Error::internal(format!("{}.wgsl, line {line}: {what}", self.name))
    }
}

#[cfg(test)]
mod tests;
