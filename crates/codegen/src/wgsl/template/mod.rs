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
mod source;

pub use source::{Expansion, NoParameters, Parameters, Template, Value};

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

#[cfg(test)]
mod tests;
