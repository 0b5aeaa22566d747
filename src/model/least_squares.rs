//! The kernels of nonlinear least squares: a linearisation that stays, its products, and what a trial point brings.
//!
//! With weight w, loss ρ and an instance's residuals r, s = ‖r‖², the cost is Σ ½ w ρ(s). Its Gauss-Newton model at a point is
//! ½ ‖r̃ + J̃δ‖², with r̃ and J̃ corrected by B. Triggs et al., "Bundle Adjustment: A Modern Synthesis" (2000), section 4.3, as
//! Ceres Solver does it (corrector.cc): the second derivative of the loss counts only where it is positive, since elsewhere it
//! would make the model indefinite. Nor does it count where its correction would fill the rows of J̃ with more than [`MOST_FILL`] entries; the
//! gradient and the cost do not change by that. J̃ has *tangent* columns: for a block on a manifold those of [`crate::model::manifolds`], in the
//! first places of the block's columns, and for any other block its coordinates.
//!
//! | entry | reads | gives |
//! |---|---|---|
//! | `linearise` | a point | its cost; into the *local table* J̃ᵀr̃, r and J̃ (on the CPU r, J̃ and r̃) |
//! | `lineariseRows` | a point | the same for one residual an instance, but r̃, in the first column, in place of J̃ᵀr̃ (in pairs J̃ has low parts in place of J̃ᵀr̃, or J̃ᵀr̃ stays, see [`has_row_in_pairs`]); of a mirrored class nothing of the second block |
//! | `jvp` | a vector p, the local table | ‖J̃p‖²; into the first columns of the local table J̃p |
//! | `product` | the same | ‖J̃p‖²; into the local table J̃ᵀJ̃p |
//! | `normal` | the local table | on the CPU: J̃ᵀr̃ and the diagonal blocks of J̃ᵀJ̃ |
//! | `trial` | another point, the local table | cost there minus cost at the linearised point, negated: the reduction |
//!
//! Entries of J̃ that are the negatives of others (the two ends of an edge) are read once. On the CPU products and gradients add
//! straight into vectors of all parameters; where a matrix in compressed rows is needed, a [`super::scatter::Scatter`] brings J̃
//! there instead, and r̃ to all others.
//!
//! In pairs the cost, its reduction, r and J̃ᵀr̃ are pairs, and J̃ stays f32: it shapes the steps, and not where they end. J̃ᵀr̃ then comes of one reverse
//! sweep from the residuals. Made of the rounded rows of J̃ it would be off by their rounding, and the minimum by as much times its condition. Of one
//! residual with the squared loss the sweep gives the only row of J̃ in pairs, and who gathers multiplies it by r: that is two thirds of the bytes of J̃ᵀr̃ and J̃.
//!
//! The local table of a batch has columns as long as the batch (or the chunk of it), in the order of [`LocalTable`]. Its first
//! columns are gathered by [`super::incidence`] as local gradients are.

use residua_base::list::{Listed, PushAll};
use residua_codegen::{Element, Epilogue, Index, Load, Output, Width};
use residua_ir::graph::{NodeId, Op};

use super::batch::Rows;
use super::class::{Class, Losses};
use super::derivatives::{Derivatives, Row};
use super::entries::Entries;
use super::planner::{Planner, Target};
use super::role::Role;
use super::tangent::slots;

/// Columns of a local table: first one for each number of the instance's blocks (J̃ᵀr̃ or J̃ᵀJ̃p), then the residuals, then J̃
/// row by row, each row as wide as the blocks, and on the CPU the corrected residuals, or on a device in pairs the low parts of J̃ᵀr̃ (or of the only
/// row of J̃) and r.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTable {
    /// Numbers in the instance's blocks.
    pub width: u32,
    /// Residuals an instance has.
    pub outputs: u32,
}

impl LocalTable {
    /// The local table of a class.
    pub fn of(class: &Class) -> LocalTable {
        LocalTable { width: class.block_dims.iter().sum(), outputs: class.outputs.len() as u32 }
    }

    /// Column of a residual.
    pub fn residual(self, output: u32) -> u32 {
        self.width + output
    }

    /// Column of an entry of J̃; `place` is a [`Class::gradient_column`].
    pub fn partial(self, output: u32, place: u32) -> u32 {
        self.width + self.outputs + output * self.width + place
    }

    /// Column of a corrected residual. CPU alone.
    pub fn corrected(self, output: u32) -> u32 {
        self.partial(self.outputs, 0) + output
    }

    /// Column of the low part of a number of J̃ᵀr̃ or r, where these are pairs.
    pub fn low(self, column: u32) -> u32 {
        self.corrected(0) + column
    }

    /// Columns that it has on a device, where cost and gradient are held in numbers of this width.
    pub fn columns_on_device(self, width: Width) -> u32 {
        match width {
            Width::Single => self.corrected(0),
            Width::Pair => self.low(self.partial(0, 0)),
        }
    }

    /// Columns that it has for an engine, without pairs.
    pub fn columns(self, target: Target) -> u32 {
        match target {
            Target::Gpu => self.columns_on_device(Width::Single),
            Target::Cpu => self.corrected(self.outputs),
        }
    }
}

/// So many entries may the correction for a loss add to J̃ of an instance.
const MOST_FILL: usize = 1024;

impl Planner<'_> {
    pub(super) fn load_local(&mut self, column: u32) -> NodeId {
        let buffer = self.buffer(Role::Local);
        self.load(Load::read(buffer, Index::column(column)))
    }

    fn store_local(&mut self, column: u32, node: NodeId) {
        self.store(Role::Local, Index::column(column), node);
    }

    /// A number of J̃ᵀr̃ or r in the local table.
    fn in_local(&mut self, column: u32) -> Element {
        let low = (self.width == Width::Pair).then(|| Index::column(LocalTable::of(self.class).low(column)));
        Element { buffer: self.buffer(Role::Local), index: Index::column(column), low }
    }

    /// A residual of the local table.
    pub(super) fn load_residual(&mut self, output: u32) -> NodeId {
        let element = self.in_local(LocalTable::of(self.class).residual(output));
        self.load(Load::Read(element))
    }

    /// Stores a number of J̃ᵀr̃ or r.
    fn store_sum(&mut self, column: u32, node: NodeId) {
        let element = self.in_local(column);
        self.writes.push(Output { node, epilogue: Epilogue::Store(element) });
    }

    /// Stores the only row of J̃ in pairs, by a sweep from the residual, in place of that in f32.
    fn store_row_in_pairs(&mut self, table: LocalTable, scale: NodeId) {
        let before = |element: &Element| element.index.as_column().is_none_or(|column| column < table.partial(0, 0));
        self.writes.retain(|write| write.element().is_none_or(before));
        let buffer = self.buffer(Role::Local);
        for (place, node) in self.tangent_sweep(&[(self.class.outputs[0], scale)]) {
            let (index, low) = (Index::column(table.partial(0, place)), Some(Index::column(table.low(place))));
            self.writes.push(Output { node, epilogue: Epilogue::Store(Element { buffer, index, low }) });
        }
    }

    /// Stores the linearisation, or only its rows; gives the cost.
    pub(super) fn linearise(&mut self, target: Target, rows_alone: bool, partials: &mut Entries) -> NodeId {
        let class = self.class;
        let table = LocalTable::of(class);
        let outputs = class.outputs.clone();
        let rows = match self.derivatives.take() {
            Some(Derivatives { graph, rows, .. }) => {
                self.graph = graph;
                rows
            }
            None => self.tangent_jacobian(),
        };
        let zero = self.graph.literal(0.0);
        if matches!(self.rows, Rows::Addends(_)) {
            // The residual is only known when its addends are added up: what depends on it is left to the caller.
            for (output, row) in (0u32..).zip(&rows) {
                let r = outputs[output as usize];
                match self.scatter {
                    None => self.store_local(table.residual(output), r),
                    Some(_) => self.store_residual(output, r, true),
                }
                self.store_partials(table, output, row, target, partials);
            }
            return zero;
        }
        let (one, half) = (self.graph.literal(1.0), self.graph.literal(0.5));
        let s = self.squared_norm(&outputs);
        let [rho, slope] = self.loss(s);
        let weight = self.scaled_weight();
        let squared_scale = self.product_of(weight, slope);
        let scale = self.apply(Op::Sqrt, &[squared_scale]);

        // α is the root of ½α² − α − s ρ″/ρ′ = 0 that goes to 0 with s.
        let bend = is_bent(class, &rows).then(|| self.bend(s));
        let curved = bend.map(|bend| {
            let (convex, away) = (self.apply(Op::Lt, &[zero, bend]), self.apply(Op::Lt, &[zero, s]));
            let bends = self.product_of(convex, away);
            let relative = self.apply(Op::Div, &[bend, slope]);
            let product = self.product_of(s, relative);
            let twice = self.apply(Op::Add, &[product, product]);
            let discriminant = self.apply(Op::Add, &[one, twice]);
            let root = self.apply(Op::Sqrt, &[discriminant]);
            (bends, self.apply(Op::Select, &[bends, root, one]))
        });
        // 1 − α = √D
        let root = curved.map_or(one, |(_, root)| root);

        let residual_scale = self.apply(Op::Div, &[scale, root]);
        let columns = self.products_with_residuals(table, &rows);
        let row_in_pairs = rows_alone && self.width == Width::Pair && has_row_in_pairs(outputs.len(), class.losses);
        // Every column of the gradient is written, since a gather reads whole blocks.
        match (target, self.width) {
            (Target::Gpu, Width::Single) if !rows_alone => {
                for (place, column) in (0u32..).zip(&columns) {
                    let entry = column.map_or(zero, |column| self.product_of(squared_scale, column));
                    self.store_local(place, entry);
                }
            }
            (Target::Gpu, Width::Pair) if !row_in_pairs => {
                let mut entries = self.tangent_gradient(squared_scale).into_iter().peekable();
                for place in 0..table.width {
                    let entry = entries.next_if(|&(of, _)| of == place).map_or(zero, |(_, entry)| entry);
                    self.store_sum(place, entry);
                }
            }
            (Target::Gpu | Target::Cpu, Width::Single | Width::Pair) => {}
        }
        for (output, row) in (0u32..).zip(&rows) {
            let r = outputs[output as usize];
            self.store_sum(table.residual(output), r);
            let corrected: Row = if let (2.., Some((bends, _))) = (outputs.len(), curved) {
                let alpha = self.apply(Op::Sub, &[one, root]);
                let share = self.apply(Op::Div, &[alpha, s]);
                let share = self.apply(Op::Select, &[bends, share, zero]);
                let share = self.product_of(share, r);
                let mut partials = row.iter().peekable();
                (0u32..)
                    .zip(&columns)
                    .filter_map(|(place, column)| {
                        let correction = self.product_of(share, (*column)?);
                        // Where the residual does not depend on a coordinate, its row gets an entry from the correction alone.
                        let partial = partials.next_if(|&&(of, _)| of == place).map_or(zero, |&(_, partial)| partial);
                        let difference = self.apply(Op::Sub, &[partial, correction]);
                        Some((place, self.product_of(scale, difference)))
                    })
                    .list()
            } else {
                // r·rᵀJ = s J
                let scale = self.product_of(scale, root);
                row.iter().map(|&(place, partial)| (place, self.product_of(scale, partial))).list()
            };
            self.store_partials(table, output, &corrected, target, partials);
            if target == Target::Cpu {
                let corrected = self.product_of(residual_scale, r);
                match self.scatter {
                    None => self.store_local(table.corrected(output), corrected),
                    Some(_) => self.store_residual(output, corrected, false),
                }
            } else if rows_alone && self.width == Width::Single {
                let corrected = self.product_of(residual_scale, r);
                self.store_local(output, corrected);
            }
        }
        if row_in_pairs {
            self.store_row_in_pairs(table, scale);
        }
        if rows_alone && partials.are_mirrored(class) {
            let first = class.block_dims[0];
            // Without pairs the first columns have r̃.
            let sums = (if self.width == Width::Pair { first } else { table.width })..table.width;
            let is_read = |column: u32| column < table.partial(0, first) && !sums.contains(&column);
            let column = |element: &Element| element.index.as_column();
            self.writes.retain(|write| write.element().and_then(column).is_none_or(is_read));
        }
        let half_weight = self.product_of(half, weight);
        self.product_of(half_weight, rho)
    }

    /// Jᵀr, by [`Class::gradient_column`].
    fn products_with_residuals(&mut self, table: LocalTable, rows: &[Row]) -> Vec<Option<NodeId>> {
        let outputs = self.class.outputs.clone();
        let mut columns: Vec<Vec<(NodeId, NodeId)>> = vec![Vec::new(); table.width as usize];
        for (row, &r) in rows.iter().zip(&outputs) {
            row.iter().for_each(|&(place, partial)| columns[place as usize].push((r, partial)));
        }
        let product = |column: Vec<(NodeId, NodeId)>| {
            let terms = column.into_iter().map(|(r, partial)| self.product_of(r, partial)).list();
            (!terms.is_empty()).then(|| self.sum(terms))
        };
        columns.into_iter().map(product).list()
    }

    /// Columns that are zero whatever the point are not written: they are so from the start. Nor are, on the CPU, negatives of others:
    /// they are not read.
    fn store_partials(
        &mut self,
        table: LocalTable,
        output: u32,
        row: &[(u32, NodeId)],
        target: Target,
        partials: &mut Entries,
    ) {
        for &(place, node) in row {
            let number = partials.places.len();
            partials.push((output, place), node, &self.graph);
            if target == Target::Gpu || self.scatter.is_some() || partials.negatives[number].is_none() {
                self.store_partial(number, node, Role::Local, table.partial(output, place));
            }
        }
    }

    fn store_residual(&mut self, output: u32, node: NodeId, accumulate: bool) {
        let index = self.row_index(output);
        self.write(Role::Residuals, index, node, accumulate);
    }

    /// J̃'s entries, read from the local table.
    fn read_entries(&mut self, entries: &Entries) -> Vec<NodeId> {
        let table = LocalTable::of(self.class);
        let mut read: Vec<NodeId> = Vec::with_capacity(entries.places.len());
        for (&(output, place), negative) in entries.places.iter().zip(&entries.negatives) {
            read.push(match negative {
                Some(other) => self.apply(Op::Neg, &[read[*other as usize]]),
                None => self.load_local(table.partial(output, place)),
            });
        }
        read
    }

    /// Adds to a number of the instance's blocks in a vector of all parameters.
    fn add_to_vector(&mut self, column: u32, component: u32, terms: Vec<NodeId>) {
        let node = self.sum(terms);
        let index = Index::indexed(self.buffer(Role::Indices), column, component);
        self.write(Role::Gradient, index, node, true);
    }

    /// Adds up J̃ᵀr̃ and the diagonal blocks of J̃ᵀJ̃, each as wide as its block's tangent.
    pub(super) fn normal_equations(&mut self, entries: &Entries) {
        let class = self.class;
        let table = LocalTable::of(class);
        let read = self.read_entries(entries);
        let residuals: Vec<NodeId> = (0..table.outputs).map(|output| self.load_local(table.corrected(output))).list();
        // For each number of the blocks its entries, by output.
        let mut columns: Vec<Vec<(u32, NodeId)>> = vec![Vec::new(); table.width as usize];
        for (&(output, place), entry) in entries.places.iter().zip(read) {
            columns[place as usize].push((output, entry));
        }
        let slots = slots(class);
        for (column, &(first, dim)) in (0u32..).zip(&slots) {
            for component in 0..dim {
                let of_column = &columns[(first + component) as usize];
                if !of_column.is_empty() {
                    let terms = of_column
                        .iter()
                        .map(|&(output, entry)| self.product_of(entry, residuals[output as usize]))
                        .list();
                    self.add_to_vector(column, component, terms);
                }
            }
        }
        for (column, (&(first, dim), manifold)) in (0u32..).zip(slots.iter().zip(&class.manifolds)) {
            let width = manifold.tangent_dim(dim);
            for i in 0..width {
                for j in 0..=i {
                    let (of_i, of_j) = (&columns[(first + i) as usize], &columns[(first + j) as usize]);
                    let mut terms = Vec::new();
                    for &(output, a) in of_i {
                        for &(_, b) in of_j.iter().filter(|(of, _)| *of == output) {
                            terms.push(self.product_of(a, b));
                        }
                    }
                    if !terms.is_empty() {
                        let node = self.sum(terms);
                        let index = Index::indexed(self.buffer(Role::Places), column, i * width + j);
                        self.write(Role::JtjBlocks, index, node, true);
                    }
                }
            }
        }
    }

    /// The numbers of the blocks: column of the index table, and component.
    fn coordinates(&self) -> Vec<(u32, u32)> {
        let mut coordinates = Vec::new();
        for (column, &(_, dim)) in (0u32..).zip(&slots(self.class)) {
            for component in 0..dim {
                coordinates.push((column, component));
            }
        }
        coordinates
    }

    /// J̃'s entries, read from the local table, and J̃p.
    fn jvp_of(&mut self, entries: &Entries) -> (Vec<NodeId>, Vec<NodeId>) {
        let class = self.class;
        let table = LocalTable::of(class);
        let vector = self.coordinates();
        let mut loaded: Vec<Option<NodeId>> = vec![None; vector.len()];
        let mut products: Vec<Vec<NodeId>> = vec![Vec::new(); class.outputs.len()];
        let mut read: Vec<NodeId> = Vec::with_capacity(entries.places.len());
        for (&(output, place), negative) in entries.places.iter().zip(&entries.negatives) {
            let entry = match negative {
                Some(other) => self.apply(Op::Neg, &[read[*other as usize]]),
                None => self.load_local(table.partial(output, place)),
            };
            let p = match loaded[place as usize] {
                Some(node) => node,
                None => {
                    let (column, component) = vector[place as usize];
                    let (buffer, indices) = (self.buffer(Role::Vector), self.buffer(Role::Indices));
                    let index = Index::indexed(indices, column, component);
                    *loaded[place as usize].insert(self.load(Load::read(buffer, index)))
                }
            };
            let product = self.product_of(entry, p);
            products[output as usize].push(product);
            read.push(entry);
        }
        let jvp = products.into_iter().map(|terms| self.sum(terms)).list();
        (read, jvp)
    }

    /// Stores J̃p, on the GPU; gives ‖J̃p‖².
    pub(super) fn jvp(&mut self, entries: &Entries, target: Target) -> NodeId {
        let (_, jvp) = self.jvp_of(entries);
        if target == Target::Cpu {
            return self.squared_norm(&jvp);
        }
        for (output, &number) in (0u32..).zip(&jvp) {
            self.store_local(output, number);
        }
        self.squared_norm(&jvp)
    }

    /// Stores J̃ᵀJ̃p, on the CPU adds it to a vector; gives ‖J̃p‖².
    pub(super) fn normal_product(&mut self, entries: &Entries, target: Target) -> NodeId {
        let table = LocalTable::of(self.class);
        let (read, jvp) = self.jvp_of(entries);
        let mut columns: Vec<Vec<NodeId>> = vec![Vec::new(); table.width as usize];
        for (&(output, place), entry) in entries.places.iter().zip(read) {
            let product = self.product_of(entry, jvp[output as usize]);
            columns[place as usize].push(product);
        }
        let coordinates = self.coordinates();
        for ((place, terms), (column, component)) in (0u32..).zip(columns).zip(coordinates) {
            if target == Target::Gpu {
                let entry = self.sum(terms);
                self.store_local(place, entry);
            } else if !terms.is_empty() {
                self.add_to_vector(column, component, terms);
            }
        }
        self.squared_norm(&jvp)
    }
}

impl Derivatives {
    /// Differentiates a class.
    pub fn new(class: &Class, of: Rows) -> Derivatives {
        let mut planner = Planner::new(class, of, Width::Single);
        let rows = planner.tangent_jacobian();
        let is_full = rows.len() > 1 && !matches!(of, Rows::Addends(_)) && is_bent(class, &rows);
        let all = is_full.then(|| touched(LocalTable::of(class), &rows));
        let mut places = Vec::new();
        for (output, row) in (0..).zip(&rows) {
            match &all {
                Some(all) => places.push_all((0..).zip(all).filter(|(_, is)| **is).map(|(place, _)| (output, place))),
                None => places.push_all(row.iter().map(|&(place, _)| (output, place))),
            }
        }
        Derivatives { graph: planner.graph, rows, places }
    }
}

/// Whether the second derivative of a loss corrects J̃.
fn is_bent(class: &Class, rows: &[Row]) -> bool {
    class.losses != Losses::Squared && !is_filled(LocalTable::of(class), rows)
}

/// Of each number of the blocks whether a residual depends on it.
fn touched(table: LocalTable, rows: &[Row]) -> Vec<bool> {
    let mut touched = vec![false; table.width as usize];
    rows.iter().flatten().for_each(|&(place, _)| touched[place as usize] = true);
    touched
}

/// Whether the correction for a loss, which makes rows of J̃ as full as all of them together, would add more entries than [`MOST_FILL`].
fn is_filled(table: LocalTable, rows: &[Row]) -> bool {
    let full = rows.len() * touched(table, rows).into_iter().filter(|touched| *touched).count();
    full - rows.iter().map(Vec::len).sum::<usize>() > MOST_FILL
}

/// Whether [`Entry::LineariseRows`](super::access_plan::Entry::LineariseRows) in pairs leaves the row of J̃ in pairs, for residuals that are compiled with
/// these losses. With a loss the factor of r in J̃ᵀr̃ is not the same in all instances, and the parts of J̃ᵀr̃ stay.
pub fn has_row_in_pairs(outputs: usize, losses: Losses) -> bool {
    outputs == 1 && losses == Losses::Squared
}

/// Where the entries of J̃ of a class stand in the local table of the host: output, [`Class::gradient_column`], the column that has the number, and whether
/// it is its negative. Others are 0.
pub fn columns_of_entries(class: &Class) -> Vec<(u32, u32, u32, bool)> {
    let (mut entries, table) = (Entries::default(), LocalTable::of(class));
    Planner::new(class, Rows::From(0), Width::Single).linearise(Target::Cpu, false, &mut entries);
    let mut columns: Vec<(u32, u32, u32, bool)> = Vec::with_capacity(entries.places.len());
    for (&(output, place), negative) in entries.places.iter().zip(&entries.negatives) {
        columns.push(match negative {
            Some(other) => {
                let (_, _, column, is_negative) = columns[*other as usize];
                (output, place, column, !is_negative)
            }
            None => (output, place, table.partial(output, place), false),
        });
    }
    columns
}

/// Whether each instance of a class has two blocks, and each entry of J̃ for the second is the negative of the first's.
pub fn is_mirrored(class: &Class) -> bool {
    let mut entries = Entries::default();
    Planner::new(class, Rows::From(0), Width::Single).linearise(Target::Gpu, false, &mut entries);
    entries.are_mirrored(class)
}
