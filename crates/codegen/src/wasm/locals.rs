//! The locals of a function, and how many numbers a value is.

use super::encoding::ValType;

/// How many instances a function computes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Width {
    /// Two, in the lanes of a vector.
    Pair,
    /// One.
    Single,
}

impl Width {
    /// Type of a value.
    pub fn value(self) -> ValType {
        match self {
            Width::Pair => ValType::V128,
            Width::Single => ValType::F64,
        }
    }

    /// How many instances.
    pub fn lanes(self) -> u8 {
        match self {
            Width::Pair => 2,
            Width::Single => 1,
        }
    }
}

/// The locals of a function beyond its parameters.
#[derive(Debug, Default)]
pub(super) struct Locals {
    parameters: u32,
    types: Vec<ValType>,
    /// Those that hold nothing.
    pub free: Vec<u32>,
}

impl Locals {
    /// No local yet, beside so many parameters.
    pub fn after(parameters: u32) -> Locals {
        Locals { parameters, ..Locals::default() }
    }

    /// A local that is never given back.
    pub fn add(&mut self, kind: ValType) -> u32 {
        self.types.push(kind);
        self.parameters + self.types.len() as u32 - 1
    }

    /// One of a type that holds nothing, to be given back.
    pub fn borrow(&mut self, kind: ValType) -> u32 {
        let is_such = |local: &u32| self.types[(local - self.parameters) as usize] == kind;
        match self.free.iter().rposition(is_such) {
            Some(position) => self.free.swap_remove(position),
            None => self.add(kind),
        }
    }

    /// The types, in order.
    pub fn types(&self) -> &[ValType] {
        &self.types
    }
}
