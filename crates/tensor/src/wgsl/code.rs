//! Straight-line code of a graph at a point, or at four points that are neighbours along one axis.
//!
//! Each value is written once, before what needs it; what is the same for the four points is a scalar. An address of neighbours is written
//! for the first of them.

use residua_base::list::Listed;
use residua_base::sort::ascending;
use residua_codegen::wgsl::{Writer, hidden};
use rustc_hash::{FxHashMap, FxHashSet};
use vecmap::VecMap;

use super::module::{COMPONENTS, Module, bit, size};
use super::operation::{self, Text};
use crate::kernel::{Store, TensorKernel};
use crate::scalar::{Access, Id, Type, TypedNode, TypedOp};

/// A value: a node, and whether at the first of four points alone where it differs between them.
pub type Key = (Id, bool);

/// The code of one entry point.
pub struct Code<'m, 'a> {
    /// The text that it is part of.
    pub module: &'m mut Module<'a>,
    /// Its lines.
    pub writer: Writer,
    /// The axis along which a thread has four points; none if it has one.
    pub lanes: Option<u32>,
    /// Whether results of reductions differ between the four points.
    pub folds_vary: bool,
    /// The text of each coordinate: of the first of four points.
    coordinates: Vec<String>,
    /// For each node whether it is the same at the four points.
    same: Vec<bool>,
    /// Results of reductions.
    folded: VecMap<(u32, u32), Text>,
    /// Values by the block that has them, the innermost last.
    scopes: Vec<FxHashMap<Key, Text>>,
    names: u32,
}

impl<'m, 'a> Code<'m, 'a> {
    /// No lines yet.
    pub fn new(module: &'m mut Module<'a>, lanes: Option<u32>) -> Code<'m, 'a> {
        let TensorKernel { graph, sizes, .. } = module.kernel;
        let same = lanes.map_or_else(Vec::new, |axis| graph.same_of(4, axis, graph.len(), sizes));
        Code {
            same,
            module,
            writer: Writer::at_depth(1),
            lanes,
            folds_vary: false,
            coordinates: Vec::new(),
            folded: VecMap::default(),
            scopes: vec![FxHashMap::default()],
            names: 0,
        }
    }

    /// A line.
    pub fn line(&mut self, line: &str) {
        self.writer.line(line);
    }

    /// The head of a block; values that are written within it are unknown after it.
    pub fn open(&mut self, head: &str) {
        self.writer.open(head);
        self.scopes.push(FxHashMap::default());
    }

    /// The end of the innermost block.
    pub fn close(&mut self) {
        self.scopes.pop();
        self.writer.close();
    }

    /// Continues with values of other points, which are known while these are.
    pub fn push_values(&mut self, values: FxHashMap<Key, Text>) {
        self.scopes.push(values);
    }

    /// The values of those points.
    pub fn pop_values(&mut self) -> FxHashMap<Key, Text> {
        self.scopes.pop().unwrap_or_default()
    }

    /// A new name.
    pub fn name(&mut self) -> String {
        let name = format!("v{}", self.names);
        self.names += 1;
        name
    }

    /// Binds an expression to a new name.
    pub fn bind(&mut self, expression: &str) -> String {
        let name = self.name();
        self.line(&format!("let {name} = {expression};"));
        name
    }

    /// Says what a coordinate is: a name, of the first of four points along their axis.
    pub fn set_coordinate(&mut self, axis: u32, text: String) {
        let axis = axis as usize;
        if self.coordinates.len() <= axis {
            self.coordinates.resize(axis + 1, String::new());
        }
        self.coordinates[axis] = text;
    }

    /// The text of a coordinate.
    pub fn coordinate(&self, axis: u32) -> String {
        self.coordinates[axis as usize].clone()
    }

    /// The texts of all coordinates so far.
    pub fn coordinates(&self) -> &[String] {
        &self.coordinates
    }

    /// Goes to other points.
    pub fn set_coordinates(&mut self, coordinates: &[String]) {
        self.coordinates = coordinates.to_vec();
    }

    /// Says what a result of a reduction is.
    pub fn set_folded(&mut self, fold: u32, result: u32, text: Text) {
        self.folded.insert((fold, result), text);
    }

    /// How an address varies between the four points.
    pub fn access(&self, index: Id) -> Access {
        match self.lanes {
            Some(axis) if !(self.folds_vary && self.module.dependence(index).folds != 0) => {
                self.module.access(index, axis)
            }
            Some(_) => Access::Other,
            None => Access::Same,
        }
    }

    /// Whether a value differs between the four points.
    pub fn varies(&self, id: Id) -> bool {
        self.lanes.is_some() && (!self.same[id.index()] || self.folds_vary && self.module.dependence(id).folds != 0)
    }

    /// Writes the code of values that is still missing.
    pub fn require(&mut self, roots: &[Id]) {
        let keys: Vec<Key> = roots.iter().map(|root| (*root, false)).list();
        self.require_keys(&keys);
    }

    /// The value of a node, with the code that it needs.
    pub fn value(&mut self, id: Id) -> Text {
        self.require(&[id]);
        self.known((id, false))
    }

    /// An address: of the first of four points if they are neighbours, and how it varies.
    pub fn address(&mut self, index: Id) -> (Text, Access) {
        let access = self.access(index);
        let key = self.key_of_address(index, access);
        self.require_keys(&[key]);
        (self.known(key), access)
    }

    /// Writes what values and addresses need that depends on none of some coordinates and reductions, by bits: before a loop over those.
    pub fn hoist(&mut self, values: &[Id], indices: &[Id], coordinates: u32, folds: u32) {
        let values = values.iter().map(|value| (*value, false));
        let indices = indices.iter().map(|index| self.key_of_address(*index, self.access(*index)));
        let found = self.independent(values.chain(indices).list(), coordinates, folds);
        self.require_keys(&found);
    }

    /// What a value needs that depends on no coordinate of an axis, reads nothing, and has a division, which takes as long as twenty operations.
    pub fn divided_without(&self, value: Id, axis: u32) -> Vec<Key> {
        let graph = &self.module.kernel.graph;
        let mut found = self.independent(vec![(value, false)], bit(axis), 0);
        found.retain(|(id, _)| {
            let nodes = graph.needed([*id]).into_iter().map(|id| graph.node(id)).list();
            let is_division = |node: &TypedNode| matches!(node, TypedNode::Apply(TypedOp::IntDiv | TypedOp::IntRem, _));
            nodes.iter().any(is_division) && !nodes.iter().any(|node| matches!(node, TypedNode::Load { .. }))
        });
        found
    }

    /// Writes the code of some values, and gives their texts.
    pub fn texts(&mut self, keys: &[Key]) -> Vec<Text> {
        self.require_keys(keys);
        keys.iter().map(|key| self.known(*key)).list()
    }

    /// The largest parts of values that depend on none of some coordinates and reductions.
    fn independent(&self, mut pending: Vec<Key>, coordinates: u32, folds: u32) -> Vec<Key> {
        let mut seen = FxHashSet::default();
        let mut found = Vec::new();
        while let Some(key) = pending.pop() {
            if !seen.insert(key) {
                continue;
            }
            let dependence = self.module.dependence(key.0);
            if dependence.coordinates & coordinates == 0 && dependence.folds & folds == 0 {
                found.push(key);
            } else {
                pending.extend(self.operands(key));
            }
        }
        ascending(&mut found);
        found
    }

    fn key_of_address(&self, index: Id, access: Access) -> Key {
        let is_first = access != Access::Other;
        (index, is_first && self.varies(index))
    }

    fn find(&self, key: Key) -> Option<&Text> {
        self.scopes.iter().rev().find_map(|scope| scope.get(&key))
    }

    fn known(&self, key: Key) -> Text {
        self.find(key).cloned().unwrap_or_else(|| unreachable!("values are required before they are used"))
    }

    /// The keys that a value needs.
    fn operands(&self, (id, is_first): Key) -> Vec<Key> {
        let graph = &self.module.kernel.graph;
        match graph.node(id) {
            TypedNode::Load { index, .. } if self.is_at_first(id, is_first) => vec![self.first(index)],
            TypedNode::Load { index, .. } => vec![self.key_of_address(index, self.access(index))],
            _ if self.is_at_first(id, is_first) => {
                graph.operands(id).into_iter().map(|operand| self.first(operand)).list()
            }
            _ => graph.operands(id).into_iter().map(|operand| (operand, false)).list(),
        }
    }

    /// Whether a value is computed from those at the first of four points: it is that at the first, or the same at all while its operands are not.
    fn is_at_first(&self, id: Id, is_first: bool) -> bool {
        is_first || !self.varies(id)
    }

    /// The value at the first of four points.
    fn first(&self, id: Id) -> Key {
        (id, self.varies(id))
    }

    fn require_keys(&mut self, roots: &[Key]) {
        let mut pending: Vec<Key> = roots.to_vec();
        let mut missing: FxHashSet<Key> = FxHashSet::default();
        while let Some(key) = pending.pop() {
            if self.find(key).is_none() && missing.insert(key) {
                pending.extend(self.operands(key));
            }
        }
        let mut missing: Vec<Key> = missing.into_iter().list();
        // Operands stand before their users.
        ascending(&mut missing);
        for key in missing {
            let text = self.write(key);
            if let Some(scope) = self.scopes.last_mut() {
                scope.insert(key, text);
            }
        }
    }

    /// Writes the code of a value whose operands are known.
    fn write(&mut self, key: Key) -> Text {
        let (id, is_first) = key;
        let kernel = self.module.kernel;
        let ty = kernel.graph.ty(id);
        let is_vector = !is_first && self.varies(id);
        let is_at_first = self.is_at_first(id, is_first);
        let text = |text: String, is_vector: bool, literal: Option<u32>| Text { text, ty, is_vector, literal };
        match kernel.graph.node(id) {
            TypedNode::Literal(Type::F32, bits) => {
                text(self.module.program.number(f64::from(f32::from_bits(bits))), false, Some(bits))
            }
            TypedNode::Literal(ty, bits) => text(operation::number(ty, bits), false, Some(bits)),
            TypedNode::Size(word) => text(size(word), false, None),
            TypedNode::Coordinate(axis) => {
                let first = self.coordinates[axis as usize].clone();
                if is_vector {
                    let vector = self.bind(&format!("{first} + vec4<u32>(0u, 1u, 2u, 3u)"));
                    text(vector, true, None)
                } else {
                    text(first, false, None)
                }
            }
            TypedNode::Folded { fold, result } => {
                let known = self.folded.get(&(fold, result)).cloned();
                let known = known.unwrap_or_else(|| unreachable!("the reduction is written before what needs it"));
                if is_first && known.is_vector { text(known.component(0), false, None) } else { known }
            }
            TypedNode::Load { buffer, index } => {
                let place = self.module.place(buffer);
                let expression = if is_vector {
                    let access = self.access(index);
                    let index = self.known(self.key_of_address(index, access));
                    place.load_vector(&index.text, access)
                } else {
                    let key = if is_at_first { self.first(index) } else { (index, false) };
                    place.load(&self.known(key).text)
                };
                text(self.bind(&expression), is_vector, None)
            }
            TypedNode::Apply(op, operands) => {
                let ids = &operands[..op.arity()];
                let mut operands: Vec<Text> = ids
                    .iter()
                    .map(|operand| self.known(if is_at_first { self.first(*operand) } else { (*operand, false) }))
                    .list();
                if let TypedOp::Real(op) = op {
                    let hidden = hidden(&kernel.graph, op, ids);
                    for (operand, how) in operands.iter_mut().zip(hidden) {
                        *operand = operation::hidden(operand, how, self.module);
                    }
                }
                let operands: Vec<&Text> = operands.iter().list();
                let expression = operation::expression(op, &operands, self.module);
                text(self.bind(&expression), is_vector, None)
            }
        }
    }

    /// Writes stores at the present point or points: all values first. `mask` is the name of a bool, or of the bools of four points, where it is
    /// to be written; none: everywhere.
    pub fn store(&mut self, stores: &[Store], mask: Option<&Text>) {
        let written: Vec<(u32, (Text, Access), Text)> = stores
            .iter()
            .map(|store| {
                let address = self.address(store.index);
                (store.buffer, address, self.value(store.value))
            })
            .list();
        if self.lanes.is_none() {
            if let Some(mask) = mask {
                self.writer.open(&format!("if {}", mask.text));
            }
            for (buffer, (index, _), value) in &written {
                let lines = self.module.place(*buffer).store(&index.text, &value.text, self.module);
                lines.iter().for_each(|line| self.writer.line(line));
            }
            if mask.is_some() {
                self.writer.close();
            }
            return;
        }
        if let Some(mask) = mask {
            let all = if mask.is_vector { format!("all({})", mask.text) } else { mask.text.clone() };
            self.writer.open(&format!("if {all}"));
        }
        for (buffer, (index, access), value) in &written {
            let lines = self.module.place(*buffer).store_vector(&index.text, *access, value, self.module);
            lines.iter().for_each(|line| self.writer.line(line));
        }
        let Some(mask) = mask else { return };
        self.writer.close();
        if !mask.is_vector {
            return;
        }
        // Not `else`, which would be one more level; the lanes are tested one by one.
        self.writer.open(&format!("if !all({})", mask.text));
        for (lane, component) in COMPONENTS.iter().enumerate() {
            self.writer.open(&format!("if {}.{component}", mask.text));
            for (buffer, (index, access), value) in &written {
                let index = super::buffers::index_of_lane(&index.text, *access, lane);
                let lines = self.module.place(*buffer).store(&index, &value.component(lane), self.module);
                lines.iter().for_each(|line| self.writer.line(line));
            }
            self.writer.close();
        }
        self.writer.close();
    }

    /// The lines.
    pub fn finish(self) -> String {
        self.writer.finish()
    }
}
