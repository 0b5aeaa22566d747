//! Loops in reverse sweeps: a sweep stops at a loop. What has come down to a result goes on to the inputs, times the tangents of the result, which
//! [`super::tangents`] makes before the sweep.

use residua_base::list::{Listed, PushAll};
use residua_base::sort::ascending;

use super::tangents::{Longer, Row};
use crate::graph::{Graph, LoopId, Node, NodeId};

/// The tangents of loops, as far as they have been found.
#[derive(Default)]
pub(super) struct Known {
    longer: Longer,
    tangents: Vec<Option<Vec<Row>>>,
    /// Nodes that have been looked at.
    visited: Vec<bool>,
}

impl Known {
    /// The loops that outputs depend on and that are not known, each after those that it depends on.
    pub fn missing(&mut self, graph: &Graph, active: &[bool], seeds: &[(NodeId, NodeId)]) -> Vec<LoopId> {
        if graph.loops().is_empty() {
            return Vec::new();
        }
        self.visited.resize(self.visited.len().max(active.len()), false);
        let mut found = Vec::new();
        let mut pending = seeds.iter().map(|(output, _)| *output).list();
        while let Some(node) = pending.pop() {
            let is_new =
                active.get(node.index()) == Some(&true) && !std::mem::replace(&mut self.visited[node.index()], true);
            if !is_new {
                continue;
            }
            if let Node::Result(of, _) = graph.node(node) {
                found.push(of);
            }
            pending.push_all(graph.operands(node).iter().copied());
        }
        ascending(&mut found);
        found.dedup();
        found.retain(|of| self.tangents.get(of.index()).is_none_or(Option::is_none));
        found
    }

    /// Adds the tangents of a loop's final state, from those of its inputs.
    pub fn add(&mut self, graph: &mut Graph, of: LoopId, rows: &[Row]) {
        let tangents = self.longer.differentiate(graph, of, rows);
        self.tangents.resize(self.tangents.len().max(of.index() + 1), None);
        self.tangents[of.index()] = Some(tangents);
    }

    /// The tangents of a loop's final state.
    pub fn of(&self, of: LoopId) -> &[Row] {
        self.tangents
            .get(of.index())
            .and_then(Option::as_deref)
            .expect("loops are differentiated before the sweep that meets them")
    }
}
