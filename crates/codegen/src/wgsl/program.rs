//! A module under construction: declarations, templates, functions and straight-line code that are generated from graphs, and every
//! file of the library that any of them imports, once.

use residua_base::list::Listed;
use std::rc::Rc;

use super::body::Body;
use super::declaration::{Resource, Structure, declare_resources};
use super::function::{write_function, write_plain_function};
use super::import::{Imports, Order, PairForm, Scope, Tables};
use super::inputs::{BoundInput, Inputs};
use super::names::Names;
use super::template::{Parameters, Template};
use super::{literal, operation, pairs};
use crate::width::Widths;
use crate::{Function, Width};
use residua_ir::graph::{Graph, NodeId, Op};

/// A program under construction.
#[derive(Debug, Default)]
pub struct ProgramText {
    imports: Imports,
    text: String,
}

impl ProgramText {
    /// An empty program.
    pub fn new() -> ProgramText {
        ProgramText::default()
    }

    /// Adds text as it is.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Declares uniform structures and resources; a resource's binding number is its position.
    pub fn declare(&mut self, structures: &[&Structure], resources: &[Resource]) {
        for structure in structures {
            self.text += &structure.declaration();
            self.text.push('\n');
        }
        self.text += &declare_resources(resources);
    }

    /// Sets what `guard_zero()` returns, which imported functions call: an expression of a `u32` in a storage buffer that is zero in
    /// every run.
    pub fn read_guard_from(&mut self, expression: &str) {
        self.imports.read_guard_from(expression);
    }

    /// Sets how imported functions of pairs compute errors of products.
    pub fn set_pair_form(&mut self, form: PairForm) {
        self.imports.set_pair_form(form);
    }

    /// Sets in which array, and from where on, the tables are that straight-line code reads, and how far from a number of them its low part is.
    pub fn set_tables(&mut self, array: &'static str, first: u32, low: u32) {
        self.imports.set_tables(Tables { array, first, low });
    }

    /// Makes a NaN by the guard's zero, in programs whose uniform is not `dispatch` with a member `nan`.
    pub fn make_nan_by_guard(&mut self) {
        self.imports.make_nan_by_guard();
    }

    /// Keeps the order of operations in generated code: no operand of a sum or product is rearranged with what it is made of. `order` is
    /// [`super::hidden`]; a module that does not keep the order is without it.
    pub fn keep_order(&mut self, order: Order) {
        self.imports.keep_order(order);
    }

    /// The value of an op on `f32`, as an expression; what it calls becomes part of the program. A selection takes its condition as a `bool`.
    pub fn operation(&mut self, op: Op, operands: &[&str]) -> String {
        operation::expression(op, operands, &mut self.imports)
    }

    /// A comparison of two `f32` as a `bool`, which with a NaN is false but for `Ne`.
    ///
    /// # Panics
    /// If the op is no comparison.
    pub fn comparison(&mut self, op: Op, a: &str, b: &str) -> String {
        operation::comparison(op, a, b, &mut self.imports)
    }

    /// A call of a function of the library, which becomes part of the program.
    ///
    /// # Panics
    /// If the library has no such function.
    pub fn call(&mut self, function: &str, arguments: &[&str]) -> String {
        self.imports.call(function, arguments)
    }

    /// A number as an operand of type `f32`, which no compiler refuses.
    pub fn number(&mut self, value: f64) -> String {
        literal::text(value, &mut self.imports)
    }

    /// A number that compilers do not take for a constant: for operations on nothing but literals.
    pub fn opaque_number(&mut self, value: f64) -> String {
        literal::opaque(value, &mut self.imports)
    }

    /// A call of the guard's zero.
    pub fn guard_zero(&mut self) -> String {
        self.imports.guard_zero()
    }

    /// The value of an op on pairs, `vec2<f32>`, as an expression; what it calls becomes part of the program. A selection takes its
    /// condition as a `bool`.
    pub fn pair_operation(&mut self, op: Op, operands: &[&str]) -> String {
        pairs::expression(op, operands, &mut self.imports)
    }

    /// Adds a template. `files` are those that it may import and include beside the library; the parameters hold for all of them.
    ///
    /// # Panics
    /// If the template does not expand; the message names the file and the line. Native tests expand every template.
    pub fn push_template(
        &mut self,
        template: Template<'static>,
        files: &'static [Template<'static>],
        parameters: &dyn Parameters,
    ) {
        let scope = Rc::new(Scope { files, values: parameters.values() });
        self.imports.push(template, &scope, &mut self.text);
    }

    /// Adds a function that is defined as a graph: `fn name(parameters…) -> f32`, or a vector of its results; one of several cases
    /// takes the selector, a `u32`, first.
    pub fn push_function(&mut self, function: &Function) {
        self.push_function_in(function, Width::Single);
    }

    /// The same in a width. In pairs its name ends in `_of_pairs`, its parameters are `vec2<f32>`, and its result is one or an array of them.
    pub fn push_function_in(&mut self, function: &Function, width: Width) {
        let text = match function.cases.as_slice() {
            [_] => write_plain_function(function, width, &mut self.imports),
            _ => write_function(function, width, &mut self.imports),
        };
        self.push(&text);
    }

    /// The code of some nodes of a graph, to stand in a function of the program, and the texts that denote them there, each in the width that is
    /// wanted. `inputs` says what each input of the graph is; `taken` are names visible there that generated values must not hide.
    pub fn straight_line(
        &mut self,
        graph: &Graph,
        inputs: &[BoundInput],
        nodes: &[(NodeId, Width)],
        taken: &[&str],
        indent: usize,
    ) -> (String, Vec<String>) {
        let names = Names::with_reserved(taken.iter().copied().chain(["dispatch"]));
        let roots: Vec<NodeId> = nodes.iter().map(|(node, _)| *node).list();
        let body = Body::new(graph, Inputs::Bound(inputs), &mut self.imports, names, indent, &roots);
        let mut body = body.in_widths(Widths::of_nodes(graph, nodes.iter().copied()));
        let texts = nodes.iter().map(|(node, width)| body.require_in(*node, *width)).list();
        (body.finish(), texts)
    }

    /// Operations of such code, see [`CheckedKernel::text_operations`](crate::CheckedKernel::text_operations).
    pub fn operations_of(graph: &Graph, nodes: &[(NodeId, Width)]) -> usize {
        Widths::of_nodes(graph, nodes.iter().copied()).text_operations(graph)
    }

    /// The whole program.
    pub fn finish(self) -> String {
        self.finish_with_guard().0
    }

    /// The whole program, and whether it calls `guard_zero`.
    pub fn finish_with_guard(self) -> (String, bool) {
        let (imported, is_guarded) = self.imports.text_and_guard();
        (self.text + &imported, is_guarded)
    }
}
