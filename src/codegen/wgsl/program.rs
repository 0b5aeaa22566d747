//! Programs that are written around generated code: whoever composes one writes the loops, and has here the straight-line code
//! of graphs, the functions that they call, and every import once.

use super::body::{Body, Inputs, Names};
use super::import::{Imports, indent, split};
use super::static_shader::write_plain_function;
use crate::codegen::Function;
use crate::graph::{Graph, NodeId};
use crate::list::Listed;

/// An input of a graph, as the program around it has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// What the code calls it.
    pub name: String,
    /// Where the program has it: an expression, evaluated once, before the first use.
    pub expression: String,
}

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

    /// Adds a static text of `shaders/`, and what it imports.
    pub fn push_shader(&mut self, source: &'static str) {
        let (names, body) = split(source);
        names.into_iter().for_each(|name| self.imports.import(name));
        indent(body, &mut self.text);
    }

    /// Adds a function that is defined as a graph: `fn name(parameters…) -> f32`, or a vector of its results; one of several cases
    /// takes the selector, a `u32`, first.
    pub fn push_function(&mut self, function: &Function) {
        let text = match function.cases.as_slice() {
            [_] => write_plain_function(function, &mut self.imports),
            _ => super::write_function(function, &mut self.imports),
        };
        self.push(&text);
    }

    /// The code of some nodes of a graph, to stand in a function of the program, and the texts that denote them there. `inputs`
    /// says what each input of the graph is; `taken` are names visible there that generated values must not hide.
    pub fn straight_line(
        &mut self,
        graph: &Graph,
        inputs: &[Binding],
        nodes: &[NodeId],
        taken: &[&str],
        indent: usize,
    ) -> (String, Vec<String>) {
        let names = Names::with_reserved(taken.iter().copied().chain(["dispatch"]));
        let mut body = Body::new(graph, Inputs::Bound(inputs), &mut self.imports, names, indent, nodes);
        let texts = nodes.iter().map(|node| body.require(*node)).list();
        (body.finish(), texts)
    }

    /// The whole program.
    pub fn finish(self) -> String {
        self.text + &self.imports.text()
    }
}
