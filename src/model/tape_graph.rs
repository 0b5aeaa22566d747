//! A tape of a residual function as a graph, its loops with bodies of their own.
//!
//! On the tape the entries of a body stand among all others; what a body takes from outside it simply refers to. An entry belongs to the innermost body whose
//! counter or state it depends on. Bodies are numbered in the order in which they were begun, so of the bodies that an entry depends on, the one with the
//! largest number is the innermost.

use residua_base::error::{Error, Result};
use residua_base::list::{Listed, PushAll};
use residua_base::sort::ascending;
use residua_ir::graph::{Graph, InputId, LoopBody, NodeId};
use rustc_hash::FxHashMap;

use super::tape::{Tape, TapeNode};

/// The expressions of a tape as a simplified graph; constants become batch constants in the order in which they are met.
pub(super) fn record_graph(tape: &Tape, parameters: u32, data_columns: u32) -> Result<(Graph, Vec<NodeId>, Vec<f64>)> {
    let mut needed = vec![false; tape.len()];
    for &output in tape.outputs() {
        needed[output as usize] = true;
    }
    for position in (0..tape.len() as u32).rev() {
        if needed[position as usize] {
            tape.visit_operands(position, &mut |operand| needed[operand as usize] = true);
        }
    }
    let mut recorder = Recorder::new(tape, &needed);
    let mut batch_constants = Vec::new();
    for position in (0..tape.len() as u32).filter(|&position| needed[position as usize]) {
        let graph = &mut recorder.scopes[0].graph;
        let input = |input: u32| InputId(input);
        let node = match tape.node(position) {
            TapeNode::Literal(value) => graph.literal(value),
            TapeNode::Constant(value) => {
                batch_constants.push(value);
                graph.input(input(parameters + data_columns + batch_constants.len() as u32 - 1))
            }
            TapeNode::Parameter(parameter) => graph.input(input(parameter)),
            TapeNode::Data(number) => graph.input(input(parameters + number)),
            TapeNode::Counter(_)
            | TapeNode::State(..)
            | TapeNode::Apply(..)
            | TapeNode::Link(..)
            | TapeNode::Loop(..)
            | TapeNode::Result(..) => {
                recorder.record(position)?;
                continue;
            }
        };
        recorder.scopes[0].built[position as usize] = Some(node);
    }
    let outputs = tape.outputs().iter().map(|&output| recorder.node_in(0, output)).list_or_error()?;
    Ok((recorder.scopes.swap_remove(0).graph, outputs, batch_constants))
}

/// The graph of a body, or of what is outside of all.
struct Scope {
    graph: Graph,
    built: Vec<Option<NodeId>>,
    /// Numbers of the state.
    states: usize,
    /// Entries from outside that it takes.
    captured: Vec<u32>,
}

struct Recorder<'a> {
    tape: &'a Tape,
    /// Of everything outside, and of each body.
    scopes: Vec<Scope>,
    /// The bodies that each entry depends on, ascending.
    depends: Vec<Vec<u32>>,
    /// The final states of loops.
    results: FxHashMap<u32, Vec<NodeId>>,
}

impl<'a> Recorder<'a> {
    fn new(tape: &'a Tape, needed: &[bool]) -> Recorder<'a> {
        let scope =
            |states: usize| Scope { graph: Graph::new(), built: vec![None; tape.len()], states, captured: Vec::new() };
        let mut scopes = vec![scope(0)];
        for position in (0..tape.len() as u32).filter(|&position| needed[position as usize]) {
            if let TapeNode::Loop(body, [_, next]) = tape.node(position) {
                while scopes.len() <= body as usize + 1 && scopes.len() <= tape.len() {
                    scopes.push(scope(0));
                }
                if let Some(scope) = scopes.get_mut(body as usize + 1) {
                    scope.states = tape.list(next).len();
                }
            }
        }
        Recorder { tape, scopes, depends: vec![Vec::new(); tape.len()], results: FxHashMap::default() }
    }

    /// The scope of an entry.
    fn home(&self, position: u32) -> usize {
        self.depends[position as usize].last().map_or(0, |body| *body as usize + 1)
    }

    /// Records an entry that is no number from outside.
    fn record(&mut self, position: u32) -> Result<()> {
        let tape = self.tape;
        let mut depends = Vec::new();
        match tape.node(position) {
            TapeNode::Counter(body) | TapeNode::State(body, _) => depends.push(body),
            _ => tape.visit_operands(position, &mut |operand| {
                depends.push_all(self.depends[operand as usize].iter().copied())
            }),
        }
        if let TapeNode::Loop(body, _) = tape.node(position) {
            depends.retain(|other| *other != body);
        }
        ascending(&mut depends);
        depends.dedup();
        self.depends[position as usize] = depends;
        let home = self.home(position);
        let node = match tape.node(position) {
            TapeNode::Counter(_) => self.scope(home)?.graph.input(LoopBody::COUNTER),
            TapeNode::State(_, number) => {
                let scope = self.scope(home)?;
                if number as usize >= scope.states {
                    return Err(unsound(position, "a number of a state that has fewer"));
                }
                scope.graph.input(LoopBody::state(number as usize))
            }
            TapeNode::Apply(op, operands) => {
                let operands =
                    operands[..op.arity()].iter().map(|operand| self.node_in(home, *operand)).list_or_error()?;
                self.scope(home)?.graph.apply(op, &operands)
            }
            TapeNode::Loop(body, lists) => return self.record_loop(position, home, body as usize + 1, lists),
            TapeNode::Result(of, number) => {
                let state = self.results.get(&of).and_then(|states| states.get(number as usize));
                *state.ok_or_else(|| unsound(position, "a number of a state that has fewer"))?
            }
            TapeNode::Link(..) => return Ok(()),
            TapeNode::Literal(_) | TapeNode::Constant(_) | TapeNode::Parameter(_) | TapeNode::Data(_) => return Ok(()),
        };
        self.scope(home)?.built[position as usize] = Some(node);
        Ok(())
    }

    fn record_loop(&mut self, position: u32, home: usize, body: usize, [operands, next]: [u32; 2]) -> Result<()> {
        let [operands, next] = [operands, next].map(|list| self.tape.list(list));
        if next.len() != self.scope(body)?.states || operands.len() != 2 + next.len() || home >= body {
            return Err(unsound(position, "a loop whose body has another state"));
        }
        let next = next.into_iter().map(|entry| self.node_in(body, entry)).list_or_error()?;
        let captured = self.scope(body)?.captured.clone();
        let operands = operands.into_iter().chain(captured).map(|entry| self.node_in(home, entry)).list_or_error()?;
        let inner = self.scope(body)?.graph.clone();
        let states = self.scope(home)?.graph.apply_loop(&inner, &next, &operands);
        self.results.insert(position, states);
        Ok(())
    }

    fn scope(&mut self, scope: usize) -> Result<&mut Scope> {
        self.scopes.get_mut(scope).ok_or_else(|| Error::invalid_graph("the tape has a body without a loop"))
    }

    /// The node of an entry in a scope: one that the scope takes from outside is an input there.
    fn node_in(&mut self, scope: usize, position: u32) -> Result<NodeId> {
        let home = self.home(position);
        if let Some(node) = self.scope(scope)?.built[position as usize] {
            return Ok(node);
        }
        let of_home = &self.scope(home)?;
        let Some(node) = of_home.built[position as usize] else {
            return Err(unsound(position, "no number, where one is taken"));
        };
        if home > scope {
            return Err(unsound(position, "a number of a loop's body, taken outside of it"));
        }
        let literal = of_home.graph.literal_value(node);
        let of_scope = self.scope(scope)?;
        let node = match literal {
            Some(value) => of_scope.graph.literal(value),
            None => {
                of_scope.captured.push(position);
                of_scope.graph.input(InputId((of_scope.states + of_scope.captured.len()) as u32))
            }
        };
        of_scope.built[position as usize] = Some(node);
        Ok(node)
    }
}

fn unsound(position: u32, what: &str) -> Error {
    Error::invalid_graph(format!("entry {position} of the tape is {what}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;
    use residua_ir::graph::{Op, leaf};

    /// Entries of a tape over one parameter, x, which is the first.
    #[derive(Default)]
    struct Entries {
        ops: Vec<u8>,
        operands: [Vec<u32>; 3],
    }

    impl Entries {
        fn new() -> Entries {
            let mut entries = Entries::default();
            entries.add(leaf::PARAMETER, [0; 3]);
            entries
        }

        fn add(&mut self, op: u8, operands: [u32; 3]) -> u32 {
            self.ops.push(op);
            self.operands.iter_mut().zip(operands).for_each(|(column, operand)| column.push(operand));
            self.ops.len() as u32 - 1
        }

        fn list(&mut self, items: &[u32]) -> u32 {
            items.iter().fold(0, |list, item| self.add(leaf::LINK, [*item, list, 0]) + 1)
        }

        /// A loop over a state of one number, twice from x, whose next one is an entry.
        fn run(&mut self, body: u32, next: u32) -> u32 {
            let two = self.add(leaf::LITERAL, [0; 3]);
            let (operands, next) = (self.list(&[two, two, 0]), self.list(&[next]));
            self.add(leaf::LOOP, [body, operands, next])
        }

        fn graph(self, output: u32) -> Result<(Graph, Vec<NodeId>, Vec<f64>)> {
            record_graph(&Tape::new(self.ops, self.operands, vec![2.0], vec![output], 1, 0)?, 1, 0)
        }
    }

    #[test]
    fn what_a_body_takes_from_outside_is_captured() {
        let mut entries = Entries::new();
        let state = entries.add(leaf::STATE, [0, 0, 0]);
        let product = entries.add(Op::Mul as u8, [state, 0, 0]);
        let of_loop = entries.run(0, product);
        let result = entries.add(leaf::RESULT, [of_loop, 0, 0]);
        let (graph, outputs, _) = entries.graph(result).unwrap();
        assert_eq!(graph.loops().len(), 1);
        // x · x · x
        assert_eq!(graph.check(1).unwrap().evaluate(&[3.0])[outputs[0].index()], 27.0);
    }

    #[test]
    fn unsound_loops_are_errors() {
        type Make = fn(&mut Entries) -> u32;
        let cases: &[(&str, Make)] = &[
            ("taken outside of it", |entries| {
                let state = entries.add(leaf::STATE, [0, 0, 0]);
                let of_loop = entries.run(0, state);
                let result = entries.add(leaf::RESULT, [of_loop, 0, 0]);
                entries.add(Op::Add as u8, [result, state, 0])
            }),
            ("a body without a loop", |entries| entries.add(leaf::STATE, [5, 0, 0])),
            ("a number of a state that has fewer", |entries| {
                let state = entries.add(leaf::STATE, [0, 1, 0]);
                let of_loop = entries.run(0, state);
                entries.add(leaf::RESULT, [of_loop, 0, 0])
            }),
            ("a number of a state that has fewer", |entries| {
                let of_loop = entries.run(0, 0);
                entries.add(leaf::RESULT, [of_loop, 1, 0])
            }),
            ("no number, where one is taken", |entries| {
                let of_loop = entries.run(0, 0);
                entries.add(Op::Neg as u8, [of_loop, 0, 0])
            }),
            ("whose body has another state", |entries| {
                let (operands, next) = (entries.list(&[0]), entries.list(&[0]));
                let of_loop = entries.add(leaf::LOOP, [0, operands, next]);
                entries.add(leaf::RESULT, [of_loop, 0, 0])
            }),
            ("takes what does not stand before it", |entries| entries.add(leaf::RESULT, [0, 0, 0])),
            ("takes what does not stand before it", |entries| entries.add(leaf::LOOP, [0, 1, 1])),
            ("takes what does not stand before it", |entries| entries.add(leaf::LINK, [0, 900, 0])),
        ];
        for (words, make) in cases {
            let mut entries = Entries::new();
            let output = make(&mut entries);
            let message = entries.graph(output).map(|_| String::new()).unwrap_or_else(|error| error.to_string());
            assert!(message.contains(words), "'{message}' should say '{words}'");
        }
    }
}
