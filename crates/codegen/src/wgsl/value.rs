//! The text that denotes a node, in the width in which it is computed.

use std::borrow::Cow;

use crate::Width;

/// The text of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// An expression of type `f32`.
    Single(String),
    /// An expression of type `vec2<f32>`.
    Pair(String),
}

impl Value {
    /// A text of a value of this width.
    pub fn of_width(width: Width, text: String) -> Value {
        match width {
            Width::Single => Value::Single(text),
            Width::Pair => Value::Pair(text),
        }
    }

    /// The value as an `f32`: of a pair its high part, which is the nearest.
    pub fn single(&self) -> Cow<'_, str> {
        match self {
            Value::Single(text) => Cow::Borrowed(text),
            Value::Pair(text) => Cow::Owned(format!("{text}.x")),
        }
    }

    /// The value as a pair.
    pub fn pair(&self) -> Cow<'_, str> {
        match self {
            Value::Single(text) => Cow::Owned(format!("vec2<f32>({text}, 0.0)")),
            Value::Pair(text) => Cow::Borrowed(text),
        }
    }
}

/// The type of a value of a width.
pub(super) fn number_type(width: Width) -> &'static str {
    match width {
        Width::Single => "f32",
        Width::Pair => "vec2<f32>",
    }
}
