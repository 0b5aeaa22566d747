//! The library of shader functions, `shaders/common`, and what a module imports of it.
//!
//! A template names what it needs by `#import`, generated code by the functions that it calls; the module has each file once, after its
//! own text. Files that make a NaN call `not_a_number`, which reads `dispatch.nan`, a member of the module's uniform `dispatch`, or the guard's
//! zero: see [`Imports::make_nan_by_guard`]. Files that guard a rounding or make
//! an infinity call `guard_zero() -> u32`, which returns a zero that no compiler can derive. The module defines it: see
//! [`Imports::read_guard_from`]. Files of pairs (numbers as an f32 and what its rounding lost) call `product_with_error`, of which there are
//! two forms: see [`Imports::set_pair_form`].

use std::rc::Rc;

use super::order::Hidden;
use super::template::{Template, Value};
use crate::Width;
use residua_ir::graph::{Graph, LoopBody, NodeId, Op};

/// A file of `shaders/common`.
struct Library {
    template: Template<'static>,
    /// What it defines.
    functions: &'static [&'static str],
}

/// The library, which the build script lists.
const LIBRARY: &[Library] = &include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// The function of the guard's zero. Its text depends on the module, so it is imported by name and has no file.
const GUARD_ZERO: &str = "guard_zero";

/// The function of a product and its error. Which file defines it depends on the module, see [`PairForm`].
const PRODUCT_WITH_ERROR: &str = "product_with_error";

/// The file of the NaN, of which there are two forms.
const NOT_A_NUMBER: &str = "not_a_number";

/// How kernels compute what the rounding of a product loses, of which the arithmetic of pairs is made. A device's property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PairForm {
    /// By `fma`, on devices where it rounds once.
    Fused,
    /// By products of halves (Dekker 1971), on every device whose sums and products are rounded to nearest.
    #[default]
    Split,
}

fn library(name: &str) -> Option<Template<'static>> {
    LIBRARY.iter().map(|file| file.template).find(|template| template.name == name)
}

/// The names that imported files may define, which generated values must not hide.
pub(super) fn function_names() -> impl Iterator<Item = &'static str> {
    LIBRARY.iter().flat_map(|file| file.functions.iter().copied()).chain([GUARD_ZERO])
}

/// What the files that a template imports are expanded with.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Files beside those of the library.
    pub files: &'static [Template<'static>],
    /// The template's parameters.
    pub values: Vec<(&'static str, Value)>,
}

impl Scope {
    /// A file that is included or imported by its name.
    pub fn file(&self, name: &str) -> Option<Template<'static>> {
        self.files.iter().copied().find(|file| file.name == name).or_else(|| library(name))
    }
}

/// A loop that has been written.
#[derive(Debug)]
pub(super) struct LoopFunction {
    pub body: Rc<LoopBody>,
    /// Those of the state, and of what the body takes from outside.
    pub widths: Vec<Width>,
    /// Its definition.
    pub text: String,
}

/// The tables that code reads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tables {
    /// The array that they are in.
    pub array: &'static str,
    /// Where in it the first begins.
    pub first: u32,
    /// From a number to its low part.
    pub low: u32,
}

/// The files that a module imports, collected while its text is written.
#[derive(Debug, Default)]
pub(super) struct Imports {
    /// Names, and what their files are expanded with.
    files: Vec<(String, Rc<Scope>)>,
    /// What `guard_zero` returns.
    guard: Option<String>,
    /// How `product_with_error` is written.
    pair_form: PairForm,
    /// Where the tables are that straight-line code reads.
    tables: Tables,
    /// Whether a NaN is made by the guard's zero, and not from the uniform.
    nan_by_guard: bool,
    /// How operands of an operation are hidden, where generated code keeps the order of its operations.
    order: Option<Order>,
    /// The functions of loops.
    pub(super) loops: Vec<LoopFunction>,
}

/// How the operands of an operation of a graph are hidden: see [`super::order`].
pub type Order = fn(&Graph, Op, &[NodeId]) -> [Hidden; 2];

impl Imports {
    /// Sets what `guard_zero` returns: an expression of a `u32` that is zero in every run and unknown to compilers. It reads a storage
    /// buffer, since lavapipe compiles the contents of uniform buffers into its shaders.
    pub fn read_guard_from(&mut self, expression: &str) {
        self.guard = Some(expression.to_owned());
    }

    /// Sets how errors of products are computed.
    pub fn set_pair_form(&mut self, form: PairForm) {
        self.pair_form = form;
    }

    /// Sets where the tables are that straight-line code reads.
    pub fn set_tables(&mut self, tables: Tables) {
        self.tables = tables;
    }

    /// Where the tables are that straight-line code reads.
    pub fn tables(&self) -> Tables {
        self.tables
    }

    /// Makes a NaN by the guard's zero, in modules whose uniform has none.
    pub fn make_nan_by_guard(&mut self) {
        self.nan_by_guard = true;
    }

    /// Keeps the order of operations in generated code.
    pub fn keep_order(&mut self, order: Order) {
        self.order = Some(order);
    }

    /// How operands are hidden, where the order of operations is kept.
    pub fn order(&self) -> Option<Order> {
        self.order
    }

    /// A call of the guard's zero.
    pub fn guard_zero(&mut self) -> String {
        self.import(GUARD_ZERO, &Rc::default());
        format!("{GUARD_ZERO}()")
    }

    /// A call of a function of the library.
    pub fn call(&mut self, function: &str, arguments: &[&str]) -> String {
        let file = LIBRARY
            .iter()
            .find(|file| file.functions.contains(&function))
            .expect("a native test emits every function that the op table calls");
        self.import(file.template.name, &Rc::default());
        format!("{function}({})", arguments.join(", "))
    }

    /// A file by its name.
    pub fn import(&mut self, name: &str, scope: &Rc<Scope>) {
        if !self.files.iter().any(|(known, _)| known == name) {
            self.files.push((name.to_owned(), scope.clone()));
        }
    }

    /// The imported texts, with what they import in turn, each once.
    ///
    /// # Panics
    /// If a template imports a file that does not exist, or one that its parameters do not fit. Native tests expand every template.
    pub fn text(self) -> String {
        self.text_and_guard().0
    }

    /// The same, and whether `guard_zero` is called.
    pub fn text_and_guard(mut self) -> (String, bool) {
        let mut text = String::new();
        self.loops.iter().for_each(|function| append(&function.text, &mut text));
        let mut next = 0;
        while let Some((name, scope)) = self.files.get(next).cloned() {
            if name == GUARD_ZERO {
                let guard = self.guard.as_deref().expect("a native test expands every module that guards roundings");
                append(&format!("fn {GUARD_ZERO}() -> u32 {{\n    return {guard};\n}}\n"), &mut text);
            } else {
                let file = match (name.as_str(), self.pair_form) {
                    (PRODUCT_WITH_ERROR, PairForm::Fused) => "pair_product_fused",
                    (PRODUCT_WITH_ERROR, PairForm::Split) => "pair_product_split",
                    (NOT_A_NUMBER, _) if self.nan_by_guard => "not_a_number_by_guard",
                    (file, _) => file,
                };
                let template = scope.file(file).unwrap_or_else(|| panic!("no shader file is called {file}"));
                self.push(template, &scope, &mut text);
            }
            next += 1;
        }
        let is_guarded = self.files.iter().any(|(name, _)| name == GUARD_ZERO);
        (if text.is_empty() { text } else { format!("\n{text}") }, is_guarded)
    }

    /// Expands a template into `text` and notes what it imports.
    pub fn push(&mut self, template: Template<'static>, scope: &Rc<Scope>, text: &mut String) {
        let expansion = template.expand_values(&scope.values, &|name| scope.file(name));
        let expansion = expansion.unwrap_or_else(|error| panic!("{error}"));
        expansion.imports.iter().for_each(|name| self.import(name, scope));
        append(&expansion.text, text);
    }
}

/// Appends definitions after an empty line.
fn append(definitions: &str, text: &mut String) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(definitions);
}

#[cfg(test)]
mod tests {
    use super::super::ProgramText;
    use super::*;

    crate::template_parameters! {
        struct Sums {
            most_sums: u32,
        }
    }

    fn composed(template: Template<'static>) -> String {
        let mut program = ProgramText::new();
        program.read_guard_from("state[1]");
        program.push_template(template, &[], &Sums { most_sums: 3 });
        program.finish()
    }

    #[test]
    fn an_import_stands_once_however_often_it_is_named() {
        let source = "#import power\n#import sigmoid\n#import power\nfn f() {}\n";
        let text = composed(Template { name: "sample", source });
        assert!(text.starts_with("fn f() {}\n\n"));
        for function in ["power", "sigmoid", "exponential", "is_nan", "rounded", GUARD_ZERO] {
            assert_eq!(text.matches(&format!("fn {function}(")).count(), 1, "{function}");
        }
        assert!(!text.contains("#import"));
    }

    #[test]
    fn every_file_composes() {
        for file in LIBRARY {
            let last = file.functions.last().unwrap();
            assert!(composed(file.template).contains(&format!("fn {last}(")));
        }
    }
}
