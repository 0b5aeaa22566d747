//! The straight-line code of a graph: one `let` per operation, each written just before its first use, so that few values
//! are live at a time. Dead nodes are never reached.

use residua_base::list::{Listed, PushAll};
use rustc_hash::FxHashMap;
use vecmap::VecMap;

use crate::wgsl::import::Imports;
use crate::wgsl::inputs::{BoundInput, Inputs};
use crate::wgsl::names::Names;
use crate::wgsl::order::Hidden;
use crate::wgsl::value::Value;
use crate::wgsl::writer::Writer;
use crate::wgsl::{literal, loops, operation, pairs};
use crate::width::Widths;
use crate::{Element, Kernel, Load, Width};
use residua_ir::graph::{Graph, InputId, LoopId, Node, NodeId, Op};

/// The value of a node that is written.
fn value_of(written: &[Option<Value>], node: NodeId) -> &Value {
    written[node.index()].as_ref().expect("what a node needs is written before it")
}

/// The statements of a step of a loop, and the expressions of its next state.
fn write_step(step: loops::Step, imports: &mut Imports) -> (String, Vec<String>) {
    let loops::Step { body, inputs, names, depth, widths } = step;
    let code = Body::new(body.graph().graph(), Inputs::Bound(inputs), imports, names, depth, body.next());
    let mut code = code.in_widths(Widths::of_body(body, widths).0);
    let next = body.next().iter().zip(widths).map(|(next, width)| code.require_in(*next, *width)).list();
    (code.finish(), next)
}

/// Writes the code of one graph.
pub(super) struct Body<'a> {
    pub(super) graph: &'a Graph,
    pub(super) inputs: Inputs<'a>,
    imports: &'a mut Imports,
    pub(super) names: Names,
    writer: Writer,
    /// In a part of a fused kernel, the buffer that is a function there, see [`super::fused`].
    pub part: Option<&'static str>,
    /// In how many numbers each node is computed.
    pub(super) widths: Widths,
    /// Which nodes in pairs are left unnormalised.
    unnormalised: Vec<bool>,
    /// What the code is written for.
    roots: Vec<NodeId>,
    /// The value of every node written so far.
    written: Vec<Option<Value>>,
    /// Names of the elements that have been read.
    pub(super) reads: FxHashMap<Element, String>,
    /// Names of calls, by position.
    calls: VecMap<u32, String>,
    /// Names and widths of the final states of loops.
    loops: VecMap<LoopId, (String, Vec<Width>)>,
    /// Names of places in tables, by place and length.
    pub(super) places: VecMap<(NodeId, u32), String>,
    /// Angles whose sine and cosine are both used.
    pub(super) angles: VecMap<NodeId, Angle>,
}

/// An angle whose sine and cosine are both used.
pub(super) struct Angle {
    /// In how many numbers they are computed.
    pub width: Width,
    /// The name of both, once they are written.
    pub name: Option<String>,
}

impl Angle {
    /// Has both be computed in pairs where one of them is.
    fn take_width(&mut self, graph: &Graph, angle: NodeId, widths: &Widths) {
        let takes_angle = |node: NodeId| match graph.node(node) {
            Node::Apply(Op::Sin | Op::Cos, [of, ..]) => of == angle && widths.of(node) == Width::Pair,
            Node::Apply(..) | Node::Literal(_) | Node::Input(_) | Node::Result(..) => false,
        };
        if graph.ids().any(takes_angle) {
            self.width = Width::Pair;
        }
    }
}

impl<'a> Body<'a> {
    /// An empty body within so many blocks, of nodes that are computed in single numbers.
    pub fn new(
        graph: &'a Graph,
        inputs: Inputs<'a>,
        imports: &'a mut Imports,
        names: Names,
        depth: usize,
        roots: &[NodeId],
    ) -> Body<'a> {
        let mut body = Body {
            graph,
            inputs,
            imports,
            names,
            writer: Writer::at_depth(depth),
            part: None,
            widths: Widths::of_nodes(graph, std::iter::empty()),
            unnormalised: vec![false; graph.len()],
            roots: roots.to_vec(),
            written: vec![None; graph.len()],
            reads: FxHashMap::default(),
            calls: VecMap::new(),
            loops: VecMap::new(),
            places: VecMap::new(),
            angles: VecMap::new(),
        };
        body.angles = body.angles_of_pairs(roots);
        body
    }

    /// The same body of nodes that are computed in these widths.
    pub fn in_widths(mut self, widths: Widths) -> Body<'a> {
        self.angles.iter_mut().for_each(|(angle, found)| found.take_width(self.graph, *angle, &widths));
        self.widths = widths;
        self.unnormalised = self.unnormalised(&self.roots);
        self
    }

    /// One line of code.
    pub fn line(&mut self, line: &str) {
        self.writer.line(line);
    }

    /// The return of results in a width, as one value of their type.
    pub fn return_results(&mut self, results: &[NodeId], width: Width, result_type: &str) {
        let texts: Vec<String> = results.iter().map(|node| self.require_in(*node, width)).list();
        match texts.as_slice() {
            [single] => self.line(&format!("return {single};")),
            several => self.line(&format!("return {result_type}({});", several.join(", "))),
        }
    }

    /// What the text imports.
    pub(super) fn imports(&mut self) -> &mut Imports {
        self.imports
    }

    /// A call of an imported function, as an expression.
    pub fn import(&mut self, function: &'static str, operands: &[&str]) -> String {
        self.imports.call(function, operands)
    }

    /// What has been written.
    pub fn finish(self) -> String {
        self.writer.finish()
    }

    /// Writes what a node needs that is not written yet; returns the text that denotes the node as a single number.
    pub fn require(&mut self, root: NodeId) -> String {
        self.require_in(root, Width::Single)
    }

    /// The same in a width.
    pub fn require_in(&mut self, root: NodeId, width: Width) -> String {
        let mut pending = vec![(root, false)];
        while let Some((node, operands_written)) = pending.pop() {
            if self.written[node.index()].is_some() {
                continue;
            }
            if operands_written {
                let value = self.write(node);
                self.written[node.index()] = Some(value);
            } else {
                pending.push((node, true));
                pending.push_all(self.dependencies(node).into_iter().rev().map(|operand| (operand, false)));
            }
        }
        match width {
            Width::Single => self.single(root),
            Width::Pair => self.pair(root),
        }
    }

    /// The text of a node that is written, as a single number.
    pub(super) fn single(&self, node: NodeId) -> String {
        value_of(&self.written, node).single().into_owned()
    }

    /// The text of a node that is written, as a pair.
    pub(super) fn pair(&mut self, node: NodeId) -> String {
        match self.literal_of(node) {
            Some(number) => pairs::literal(number, self.imports),
            None => value_of(&self.written, node).pair().into_owned(),
        }
    }

    /// Writes a node of a schedule, unless it is a comparison: what takes it may need its outcome and not its value.
    pub fn compute(&mut self, node: NodeId) {
        if self.comparison(node).is_none() {
            self.require(node);
        }
    }

    /// The nodes that must be written before a node, in the order in which they are.
    pub(super) fn dependencies(&self, node: NodeId) -> Vec<NodeId> {
        match (self.graph.node(node), self.inputs) {
            (Node::Input(InputId(input)), Inputs::Loads(kernel)) => match &kernel.loads[input as usize] {
                Load::Read(_) => Vec::new(),
                Load::Call { call, .. } => {
                    let call = &kernel.calls[*call as usize];
                    std::iter::once(call.selector).chain(call.arguments.iter().copied()).list()
                }
            },
            (Node::Apply(Op::Select, [condition, then, otherwise]), _) => match self.comparison(condition) {
                Some((_, [a, b])) => vec![a, b, then, otherwise],
                None => vec![condition, then, otherwise],
            },
            _ => self.graph.operands(node).to_vec(),
        }
    }

    /// The comparison that a node is, if it is one.
    fn comparison(&self, node: NodeId) -> Option<(Op, [NodeId; 2])> {
        match self.graph.node(node) {
            Node::Apply(op, [a, b, _]) if operation::is_comparison(op) => Some((op, [a, b])),
            Node::Apply(..) | Node::Literal(_) | Node::Input(_) | Node::Result(..) => None,
        }
    }

    /// Writes a node whose dependencies are written; returns its value.
    fn write(&mut self, node: NodeId) -> Value {
        let width = self.widths.of(node);
        match self.graph.node(node) {
            Node::Literal(bits) => Value::Single(literal::text(f64::from_bits(bits), self.imports)),
            Node::Input(InputId(input)) => match self.inputs {
                Inputs::Parameters { names, width } => Value::of_width(width, names[input as usize].to_owned()),
                Inputs::Bound(bindings) => {
                    let BoundInput { name, expression, width } = &bindings[input as usize];
                    let name = self.names.fresh(name.clone());
                    self.line(&format!("let {name} = {expression};"));
                    Value::of_width(*width, name)
                }
                Inputs::Loads(kernel) => match &kernel.loads[input as usize] {
                    Load::Read(element) => self.read_number(kernel, element, width),
                    Load::Call { call, result } => self.call(kernel, *call, *result),
                },
            },
            Node::Apply(op, operands) => self.apply(node, op, &operands[..op.arity()]),
            Node::Result(of, number) => self.result(of, number),
        }
    }

    /// A result of a call, which is written in pairs where any of its results is a pair.
    fn call(&mut self, kernel: &Kernel, position: u32, result: u32) -> Value {
        let call = &kernel.calls[position as usize];
        let width = kernel.width_of_call(position, |node| self.widths.of(node));
        if !self.calls.contains_key(&position) {
            let mut operands = vec![match self.graph.literal_value(call.selector) {
                Some(selector) => format!("{}u", selector as u32),
                None => format!("u32({})", self.single(call.selector)),
            }];
            for &argument in &call.arguments {
                operands.push(match width {
                    Width::Single => self.single(argument),
                    Width::Pair => self.pair(argument),
                });
            }
            let name = self.names.fresh(format!("{}_{position}", call.function.name));
            let function = call.function.name_in(width);
            self.line(&format!("let {name} = {function}({});", operands.join(", ")));
            self.calls.insert(position, name);
        }
        let name = self.calls.get(&position).expect("the call has just been written");
        let text = match (call.function.results, width) {
            (1, _) => name.clone(),
            (_, Width::Single) => format!("{name}.{}", ["x", "y", "z", "w"][result as usize]),
            (_, Width::Pair) => format!("{name}[{result}]"),
        };
        Value::of_width(width, text)
    }

    /// A number of the final state of a loop, which is run on first use.
    fn result(&mut self, of: LoopId, number: u32) -> Value {
        if !self.loops.contains_key(&of) {
            let of_loop = self.graph.loop_of(of);
            let body = of_loop.body();
            let (_, widths) = Widths::of_body(body, &self.widths.of_results(self.graph, of));
            let mut operands = vec![self.single(of_loop.start()), self.single(of_loop.count())];
            for (input, width) in of_loop.inputs().iter().zip(&widths) {
                operands.push(match width {
                    Width::Single => self.single(*input),
                    Width::Pair => self.pair(*input),
                });
            }
            // The function of the loop reads the tables of the kernel.
            let tables = self.tables();
            self.imports.set_tables(tables);
            let call = loops::call(body, &widths, &operands, write_step, self.imports);
            let name = self.names.fresh(format!("state_{}", of.index()));
            self.line(&format!("let {name} = {call};"));
            self.loops.insert(of, (name, widths));
        }
        let (name, widths) = self.loops.get(&of).expect("the loop has just been run");
        Value::of_width(widths[number as usize], loops::member(name, number))
    }

    /// The number that a node's text is: a stopped gradient has the text of its operand.
    pub(super) fn literal_of(&self, node: NodeId) -> Option<f64> {
        match self.graph.node(node) {
            Node::Apply(Op::StopGradient, [operand, ..]) => self.literal_of(operand),
            _ => self.graph.literal_value(node),
        }
    }

    fn apply(&mut self, node: NodeId, op: Op, operands: &[NodeId]) -> Value {
        let width = self.widths.of(node);
        match op {
            Op::StopGradient => return value_of(&self.written, operands[0]).clone(),
            Op::Lookup => return self.look_up(operands, width),
            Op::Sin | Op::Cos if self.angles.contains_key(&operands[0]) => {
                return self.sine_or_cosine(op, operands[0]);
            }
            _ => {}
        }
        let expression = match width {
            Width::Single => self.operation(op, operands),
            Width::Pair => match self.operation_in_pairs(op, operands, !self.unnormalised[node.index()]) {
                Value::Pair(expression) => expression,
                // A comparison is 0 or 1.
                Value::Single(expression) => return Value::Single(self.named(&expression)),
            },
        };
        Value::of_width(width, self.named(&expression))
    }

    /// The name of a new value.
    pub(super) fn named(&mut self, expression: &str) -> String {
        let name = self.names.value();
        self.line(&format!("let {name} = {expression};"));
        name
    }

    /// An operation on single numbers.
    fn operation(&mut self, op: Op, operands: &[NodeId]) -> String {
        let mut texts: Vec<String> = Vec::with_capacity(operands.len());
        let mut rest = operands;
        if op == Op::Select {
            texts.push(self.condition(operands[0]));
            rest = &operands[1..];
        }
        texts.push_all(rest.iter().map(|operand| self.single(*operand)));
        if let Some(value) = self.literal_of(operands[0])
            && operands.iter().all(|operand| self.literal_of(*operand).is_some())
            && op != Op::Select
        {
            texts[0] = literal::opaque(value, self.imports);
        } else if let Some(order) = self.imports.order() {
            let hidden = order(self.graph, op, operands);
            for (place, _) in hidden.iter().enumerate().filter(|(_, hidden)| **hidden != Hidden::No) {
                texts[place] = match self.literal_of(operands[place]) {
                    Some(value) => literal::opaque(value, self.imports),
                    None => self.imports.call("rounded", &[&texts[place]]),
                };
            }
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).list();
        operation::expression(op, &texts, self.imports)
    }

    /// Whether a number is not 0, or whether a comparison holds.
    pub(super) fn condition(&mut self, node: NodeId) -> String {
        match self.comparison(node) {
            Some((op, [a, b])) if self.widths.of(node) == Width::Pair => {
                let [a, b] = [a, b].map(|operand| self.pair(operand));
                pairs::comparison(op, &a, &b, self.imports)
            }
            Some((op, [a, b])) => operation::comparison(op, &self.single(a), &self.single(b), self.imports),
            None => format!("!({} == 0.0)", self.single(node)),
        }
    }
}
