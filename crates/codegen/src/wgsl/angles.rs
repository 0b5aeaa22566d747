//! Sines and cosines of one angle in straight-line code: one range reduction serves both.

use residua_base::list::PushAll;
use residua_ir::graph::{Node, NodeId, Op};
use vecmap::VecMap;

use super::body::{Angle, Body};
use super::pairs;
use super::value::Value;
use crate::Width;

impl Body<'_> {
    /// The sine or the cosine of an angle of which both are used. Both are written on first use.
    pub(super) fn sine_or_cosine(&mut self, op: Op, angle: NodeId) -> Value {
        let width = self.angles.get(&angle).map_or(Width::Single, |known| known.width);
        let known = self.angles.get(&angle).and_then(|known| known.name.clone());
        let name = match known {
            Some(name) => name,
            None => {
                let call = match width {
                    Width::Single => {
                        let angle = self.single(angle);
                        self.import("sine_cosine", &[&angle])
                    }
                    Width::Pair => {
                        let angle = self.pair(angle);
                        pairs::sine_cosine(&angle, self.imports())
                    }
                };
                let name = self.named(&call);
                self.angles.insert(angle, Angle { width, name: Some(name.clone()) });
                name
            }
        };
        let part = match (width, op == Op::Sin) {
            (Width::Single, true) => "x",
            (Width::Single, false) => "y",
            (Width::Pair, true) => "xy",
            (Width::Pair, false) => "zw",
        };
        Value::of_width(width, format!("{name}.{part}"))
    }

    /// The angles of which both sine and cosine are reached from the roots: one range reduction serves both.
    pub(super) fn angles_of_pairs(&self, roots: &[NodeId]) -> VecMap<NodeId, Angle> {
        let mut reached = vec![false; self.graph.len()];
        let mut pending = roots.to_vec();
        let mut wanted = vec![[false; 2]; self.graph.len()];
        while let Some(node) = pending.pop() {
            if std::mem::replace(&mut reached[node.index()], true) {
                continue;
            }
            pending.push_all(self.dependencies(node));
            match self.graph.node(node) {
                Node::Apply(Op::Sin, [angle, ..]) => wanted[angle.index()][0] = true,
                Node::Apply(Op::Cos, [angle, ..]) => wanted[angle.index()][1] = true,
                Node::Apply(..) | Node::Literal(_) | Node::Input(_) | Node::Result(..) => {}
            }
        }
        let mut pairs = VecMap::new();
        for angle in self.graph.ids().filter(|angle| wanted[angle.index()] == [true; 2]) {
            pairs.insert(angle, Angle { width: Width::Single, name: None });
        }
        pairs
    }
}
