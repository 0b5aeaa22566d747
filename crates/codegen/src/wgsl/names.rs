//! Names in generated text.

use rustc_hash::FxHashSet;

use super::import::function_names;
use crate::{Constant, Index, Term, Variable};

/// Names in use within one function or visible there.
#[derive(Clone, Debug)]
pub(super) struct Names {
    used: FxHashSet<String>,
    values: u32,
}

impl Names {
    /// No values yet; the given names and those of the imported functions are taken.
    pub fn with_reserved<'a>(reserved: impl IntoIterator<Item = &'a str>) -> Names {
        let mut names = Names { used: FxHashSet::default(), values: 0 };
        for name in reserved {
            names.take(name);
        }
        for name in function_names() {
            names.take(name);
        }
        names
    }

    /// Takes a name; false if it is taken.
    fn take(&mut self, name: &str) -> bool {
        self.used.insert(name.to_owned())
    }

    /// The given name, or one like it that is free.
    pub fn fresh(&mut self, base: String) -> String {
        let mut name = base.clone();
        let mut copies = 1;
        while !self.take(&name) {
            copies += 1;
            name = format!("{base}_again{copies}");
        }
        name
    }

    /// The next of v0, v1, …
    pub fn value(&mut self) -> String {
        let name = format!("v{}", self.values);
        self.values += 1;
        self.fresh(name)
    }
}

/// What distinguishes the reads of a buffer in the text: column, component, or both of a loaded index.
pub(super) fn label(index: &Index) -> String {
    let factor_of = |constant| {
        let of_constant = |term: &&Term| term.variable.is_none() && term.constant == Some(constant);
        index.terms().iter().find(of_constant).map_or(0, |term| term.factor)
    };
    let variable = index.terms().iter().find_map(|term| term.variable.as_ref());
    let offset = index.offset();
    match variable {
        None => format!("at_{offset}"),
        Some(Variable::Layer) => format!("from_{offset}"),
        Some(Variable::Instance | Variable::FirstInstance) => format!("{}", factor_of(Constant::Stride)),
        Some(Variable::Position | Variable::Owner) => format!("{offset}"),
        Some(Variable::Loaded { index: by, .. }) => format!("{}_{}", label(by), factor_of(Constant::Width) + offset),
    }
}
