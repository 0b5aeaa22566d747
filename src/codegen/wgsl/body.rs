//! The straight-line code of a graph: one `let` per operation, each written just before its first use, so that few values
//! are alive at a time. Dead nodes are never reached.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use crate::codegen::wgsl::import::{Imports, function_names};
use crate::codegen::wgsl::program::Binding;
use crate::codegen::wgsl::{literal, operation};
use crate::codegen::{Address, Element, Kernel, Load};
use crate::graph::{Graph, InputId, Node, NodeId, Op};
use crate::list::Listed;
use crate::table::Table;
use crate::text::join;

/// The text that denotes a node that is written.
fn text_of(written: &[Option<String>], node: NodeId) -> &str {
    written[node.index()].as_deref().expect("what a node needs is written before it")
}

/// Names in use within one function or visible there.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// The names by their hashes, as keys of a kind of map of which the code is there anyway. Of two names with one hash the second only
    /// gets another than it need have.
    used: FxHashMap<u64, u32>,
    values: u32,
}

impl Names {
    /// No values yet; the given names and those of the imported functions are taken.
    pub fn with_reserved<'a>(reserved: impl IntoIterator<Item = &'a str>) -> Names {
        let mut names = Names { used: FxHashMap::default(), values: 0 };
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
        let mix = |hash: u64, byte: u8| (hash.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x517C_C1B7_2722_0A95);
        self.used.insert(name.bytes().fold(0, mix), 0).is_none()
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
    fn value(&mut self) -> String {
        let name = format!("v{}", self.values);
        self.values += 1;
        self.fresh(name)
    }
}

/// What the inputs of a graph are.
#[derive(Clone, Copy)]
pub(super) enum Inputs<'a> {
    /// Parameters of the function whose body is written.
    Parameters(&'a [&'static str]),
    /// Loads of a kernel.
    Loads(&'a Kernel),
    /// What the program around has, to be bound to names on first use.
    Bound(&'a [Binding]),
}

/// Writes the code of one graph.
pub(super) struct Body<'a> {
    graph: &'a Graph,
    inputs: Inputs<'a>,
    imports: &'a mut Imports,
    names: Names,
    indent: usize,
    /// That columns are those of a part of a joint dispatch, and which buffer is a function there, if one is. See [`super::joint`].
    pub part: Option<&'static str>,
    text: String,
    /// The operand text of every node written so far.
    written: Vec<Option<String>>,
    /// Names of what has been read, by buffer and address, and of indices, by buffer and column.
    reads: Table<(u32, Address), String>,
    /// Names of calls, by position.
    calls: Table<u32, String>,
    /// Angles whose sine and cosine are both wanted, and the name of the pair once it is written.
    pairs: Table<NodeId, Option<String>>,
}

impl<'a> Body<'a> {
    /// An empty body of the given indentation, in levels.
    pub fn new(
        graph: &'a Graph,
        inputs: Inputs<'a>,
        imports: &'a mut Imports,
        names: Names,
        indent: usize,
        roots: &[NodeId],
    ) -> Body<'a> {
        let mut body = Body {
            graph,
            inputs,
            imports,
            names,
            indent,
            part: None,
            text: String::new(),
            written: vec![None; graph.len()],
            reads: Table::default(),
            calls: Table::default(),
            pairs: Table::default(),
        };
        body.pairs = body.angles_of_pairs(roots);
        body
    }

    /// One line of code.
    pub fn line(&mut self, line: &str) {
        for _ in 0..self.indent {
            self.text.push_str("    ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// The return of results, as one value of their type.
    pub fn return_results(&mut self, results: &[NodeId], result_type: &str) {
        let texts: Vec<String> = results.iter().map(|node| self.require(*node)).list();
        match texts.as_slice() {
            [single] => self.line(&format!("return {single};")),
            several => self.line(&format!("return {result_type}({});", join(several, ", "))),
        }
    }

    /// A call of an imported function, as an expression.
    pub fn import(&mut self, function: &'static str, operands: &[&str]) -> String {
        self.imports.call(function, operands)
    }

    /// What has been written.
    pub fn finish(self) -> String {
        self.text
    }

    /// Writes what a node needs that is not written yet; returns the text that denotes the node.
    pub fn require(&mut self, root: NodeId) -> String {
        let mut pending = vec![(root, false)];
        while let Some((node, operands_written)) = pending.pop() {
            if self.written[node.index()].is_some() {
                continue;
            }
            if operands_written {
                let text = self.write(node);
                self.written[node.index()] = Some(text);
            } else {
                pending.push((node, true));
                pending.extend(self.dependencies(node).into_iter().rev().map(|operand| (operand, false)));
            }
        }
        text_of(&self.written, root).to_owned()
    }

    /// Writes a node of a schedule, unless it is a comparison: what takes it may need its outcome and not its value.
    pub fn compute(&mut self, node: NodeId) {
        if self.comparison(node).is_none() {
            self.require(node);
        }
    }

    /// The element of a buffer where an address points, as an expression.
    pub fn place(&mut self, kernel: &Kernel, buffer: u32, address: Address) -> String {
        let name = kernel.buffers[buffer as usize].name;
        let index = match address {
            Address::Column(column) if self.part.is_some() => {
                format!("part.first_{name} + {column}u * part.stride + instance")
            }
            Address::Column(0) => "instance".to_owned(),
            Address::Column(1) => "dispatch.stride + instance".to_owned(),
            Address::Column(column) => format!("{column}u * dispatch.stride + instance"),
            Address::Fixed(position) => format!("{position}u"),
            Address::Layer(first) => offset("layer".to_owned(), first),
            Address::Interleaved { width, component } => {
                let instance = if width == 1 { "instance".to_owned() } else { format!("instance * {width}u") };
                offset(format!("dispatch.first + {instance}"), component)
            }
            Address::Indexed { indices, column, component } => {
                offset(self.read(kernel, indices, Address::Column(column)), component)
            }
            Address::Listed { indices, column, of } => {
                let index = self.read(kernel, indices, Address::Column(column));
                match of {
                    0 => index,
                    1 => format!("dispatch.width + {index}"),
                    _ => format!("{of}u * dispatch.width + {index}"),
                }
            }
        };
        if self.part == Some(name) { format!("{name}_at({index})") } else { format!("{name}[{index}]") }
    }

    /// What stands at an address has been read already, and has this name.
    pub fn bind(&mut self, buffer: u32, address: Address, name: String) {
        self.reads.insert((buffer, address), name);
    }

    /// The name of what stands at an address, read on first use.
    fn read(&mut self, kernel: &Kernel, buffer: u32, address: Address) -> String {
        if let Some(name) = self.reads.get(&(buffer, address)) {
            return name.clone();
        }
        let place = self.place(kernel, buffer, address);
        let stem = kernel.buffers[buffer as usize].name;
        let name = self.names.fresh(match address {
            Address::Column(column) => format!("{stem}_{column}"),
            Address::Fixed(position) => format!("{stem}_at_{position}"),
            Address::Layer(first) => format!("{stem}_from_{first}"),
            Address::Interleaved { component, .. } => format!("{stem}_{component}"),
            Address::Indexed { column, component, .. } => format!("{stem}_{column}_{component}"),
            Address::Listed { column, of, .. } => format!("{stem}_{column}_{of}"),
        });
        self.line(&format!("let {name} = {place};"));
        self.reads.insert((buffer, address), name.clone());
        name
    }

    /// The nodes that must be written before a node, in the order in which they are.
    fn dependencies(&self, node: NodeId) -> Vec<NodeId> {
        match (self.graph.node(node), self.inputs) {
            (Node::Input(InputId(input)), Inputs::Loads(kernel)) => match kernel.loads[input as usize] {
                Load::Read { .. } => Vec::new(),
                Load::Call { call, .. } => {
                    let call = &kernel.calls[call as usize];
                    std::iter::once(call.selector).chain(call.arguments.iter().copied()).list()
                }
            },
            (Node::Apply(Op::Select, [condition, then, otherwise]), _) => match self.comparison(condition) {
                Some((_, [a, b])) => vec![a, b, then, otherwise],
                None => vec![condition, then, otherwise],
            },
            (node, _) => node.operands().to_vec(),
        }
    }

    /// The comparison that a node is, if it is one.
    fn comparison(&self, node: NodeId) -> Option<(Op, [NodeId; 2])> {
        match self.graph.node(node) {
            Node::Apply(op, [a, b, _]) if operation::is_comparison(op) => Some((op, [a, b])),
            Node::Apply(..) | Node::Literal(_) | Node::Input(_) => None,
        }
    }

    /// Writes a node whose dependencies are written; returns the text that denotes it.
    fn write(&mut self, node: NodeId) -> String {
        match self.graph.node(node) {
            Node::Literal(bits) => literal::text(f64::from_bits(bits), self.imports),
            Node::Input(InputId(input)) => match self.inputs {
                Inputs::Parameters(parameters) => parameters[input as usize].to_owned(),
                Inputs::Bound(bindings) => {
                    let Binding { name, expression } = &bindings[input as usize];
                    let name = self.names.fresh(name.clone());
                    self.line(&format!("let {name} = {expression};"));
                    name
                }
                Inputs::Loads(kernel) => match kernel.loads[input as usize] {
                    Load::Read { buffer, address } => self.read_number(kernel, buffer, address),
                    Load::Call { call, result } => self.call(kernel, call, result),
                },
            },
            Node::Apply(op, operands) => self.apply(op, &operands[..op.arity()]),
        }
    }

    fn read_number(&mut self, kernel: &Kernel, buffer: u32, address: Address) -> String {
        let name = self.read(kernel, buffer, address);
        match kernel.buffers[buffer as usize].element {
            Element::Real => name,
            Element::Index => format!("f32({name})"),
        }
    }

    fn call(&mut self, kernel: &Kernel, position: u32, result: u32) -> String {
        let call = &kernel.calls[position as usize];
        if !self.calls.contains_key(&position) {
            let mut operands = vec![match self.graph.literal_value(call.selector) {
                Some(selector) => format!("{}u", selector as u32),
                None => format!("u32({})", text_of(&self.written, call.selector)),
            }];
            operands.extend(call.arguments.iter().map(|argument| text_of(&self.written, *argument).to_owned()));
            let name = self.names.fresh(format!("{}_{position}", call.function.name));
            self.line(&format!("let {name} = {}({});", call.function.name, join(&operands, ", ")));
            self.calls.insert(position, name);
        }
        let name = self.calls.get(&position).expect("the call has just been written");
        match call.function.results {
            1 => name.clone(),
            _ => format!("{name}.{}", ["x", "y", "z", "w"][result as usize]),
        }
    }

    fn apply(&mut self, op: Op, operands: &[NodeId]) -> String {
        match op {
            Op::StopGradient => return text_of(&self.written, operands[0]).to_owned(),
            Op::Sin | Op::Cos if self.pairs.contains_key(&operands[0]) => {
                let pair = self.pair(operands[0]);
                return format!("{pair}.{}", if op == Op::Sin { "x" } else { "y" });
            }
            _ => {}
        }
        let mut texts: Vec<String> = Vec::with_capacity(operands.len());
        let mut rest = operands;
        if op == Op::Select {
            texts.push(self.condition(operands[0]));
            rest = &operands[1..];
        }
        texts.extend(rest.iter().map(|operand| text_of(&self.written, *operand).to_owned()));
        if let Some(value) = self.graph.literal_value(operands[0])
            && operands.iter().all(|operand| self.graph.literal_value(*operand).is_some())
            && op != Op::Select
        {
            texts[0] = literal::opaque(value);
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).list();
        let expression = operation::expression(op, &texts, self.imports);
        let name = self.names.value();
        self.line(&format!("let {name} = {expression};"));
        name
    }

    fn condition(&mut self, node: NodeId) -> String {
        match self.comparison(node) {
            Some((op, [a, b])) => {
                operation::comparison(op, text_of(&self.written, a), text_of(&self.written, b), self.imports)
            }
            None => format!("!({} == 0.0)", text_of(&self.written, node)),
        }
    }

    /// The name of the sine and cosine of an angle, written on first use.
    fn pair(&mut self, angle: NodeId) -> String {
        if let Some(Some(name)) = self.pairs.get(&angle) {
            return name.clone();
        }
        let name = self.names.value();
        let call = self.imports.call("sine_cosine", &[text_of(&self.written, angle)]);
        self.line(&format!("let {name} = {call};"));
        self.pairs.insert(angle, Some(name.clone()));
        name
    }

    /// The angles of which both sine and cosine are reached from the roots: one range reduction serves both.
    fn angles_of_pairs(&self, roots: &[NodeId]) -> Table<NodeId, Option<String>> {
        let mut reached = vec![false; self.graph.len()];
        let mut pending = roots.to_vec();
        let mut wanted = vec![[false; 2]; self.graph.len()];
        while let Some(node) = pending.pop() {
            if std::mem::replace(&mut reached[node.index()], true) {
                continue;
            }
            pending.extend(self.dependencies(node));
            match self.graph.node(node) {
                Node::Apply(Op::Sin, [angle, ..]) => wanted[angle.index()][0] = true,
                Node::Apply(Op::Cos, [angle, ..]) => wanted[angle.index()][1] = true,
                Node::Apply(..) | Node::Literal(_) | Node::Input(_) => {}
            }
        }
        let mut pairs = Table::default();
        for angle in self.graph.ids().filter(|angle| wanted[angle.index()] == [true; 2]) {
            pairs.insert(angle, None);
        }
        pairs
    }
}

fn offset(base: String, component: u32) -> String {
    match component {
        0 => base,
        _ => format!("{base} + {component}u"),
    }
}

/// Text for a comment: what WGSL takes for the end of a line, and what it refuses, become spaces.
pub(crate) fn comment(text: &str) -> String {
    let mut line = String::from("//");
    for part in text.split(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
        write!(line, " {part}").expect("writing to a string can't fail");
    }
    line
}
