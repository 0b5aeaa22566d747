//! Memory of a run: each tensor that kernels leave for others has a place from its first write to its last use, and then another has it.

use residua_base::list::Listed;
use rustc_hash::FxHashMap;
use vecmap::VecMap;

use super::dispatches::Dispatches;
use super::prepare::Prepared;
use super::steps::{Place, Plan, Step, padded};
use crate::expr::{Digit, Expr, Linalg, TensorId, TensorOp, memory_dtype};
use crate::fuse::build::Rounds;
use crate::kernel::{Attention, Body, Combine, Extent, Fold, Product, Store, TensorKernel, Turns};
use crate::lower::Memory;
use crate::roots;
use crate::scalar::TypedNode;
use crate::size::Size;

/// Gives every buffer of every kernel a place.
pub fn place(prepared: &Prepared, dispatches: Dispatches, most_dims: &[u32]) -> Plan {
    let Prepared { expr, results, .. } = prepared;
    let Dispatches { built, copies } = dispatches;
    let mut plan = Plan::default();
    let mut places: FxHashMap<Memory, u32> = FxHashMap::default();
    for id in results {
        let place = plan.places.len() as u32;
        let known = *places.entry(Memory::Tensor(*id)).or_insert(place);
        if known == place {
            plan.places.push(Place::Result { bytes: most_bytes(expr, *id, most_dims) });
        }
        plan.results.push(known);
    }
    let mut last_use: FxHashMap<Memory, usize> = FxHashMap::default();
    for (step, built) in built.iter().enumerate() {
        for memory in &built.memories {
            last_use.insert(*memory, step);
        }
    }
    for (id, _) in &copies {
        last_use.insert(Memory::Tensor(*id), usize::MAX);
    }
    let slots = contents_of_slots(prepared);
    // How many elements each piece of scratch memory has.
    let mut scratch: VecMap<u32, u64> = VecMap::default();
    let mut free: Vec<(u64, u32)> = Vec::new();
    for (step, built) in built.into_iter().enumerate() {
        let mut of_step = Vec::with_capacity(built.memories.len());
        for (buffer, memory) in (0..).zip(&built.memories) {
            let place = match (places.get(memory), memory) {
                (Some(place), _) => *place,
                (None, Memory::Slot(slot)) => {
                    plan.places.push(Place::Slot(*slot));
                    plan.places.len() as u32 - 1
                }
                (None, Memory::Roots(length)) => {
                    plan.places.push(Place::Roots(*length));
                    plan.places.len() as u32 - 1
                }
                (None, Memory::Tensor(id)) => temporary(&mut plan, &mut free, most_bytes(expr, *id, most_dims)),
                (None, Memory::Scratch(number)) => {
                    let elements = stored_elements(&built.kernel, buffer, most_dims);
                    scratch.insert(*number, elements);
                    temporary(&mut plan, &mut free, padded(elements, 4))
                }
            };
            places.insert(*memory, place);
            of_step.push(place);
        }
        // What nobody reads later is free for the kernels after this one.
        for (memory, place) in built.memories.iter().zip(&of_step) {
            if let Place::Temporary { bytes } = plan.places[*place as usize]
                && last_use.get(memory) == Some(&step)
            {
                free.push((bytes, *place));
            }
        }
        let count = |memory: &Memory| match memory {
            Memory::Tensor(id) => expr.count(*id),
            Memory::Roots(length) => Size::constant(2 * i64::from(roots::count(*length))),
            Memory::Slot(slot) => slots.get(slot).map(|id| expr.count(*id)).unwrap_or_default(),
            Memory::Scratch(number) => Size::constant(scratch.get(number).copied().unwrap_or_default() as i64),
        };
        let counts = built.memories.iter().map(count).list();
        let kernel = plan.add_kernel(built.kernel, counts);
        plan.steps.push(Step::Dispatch { kernel, places: of_step });
        if let Some(Rounds { kernels, count }) = built.rounds {
            let round = plan.steps[plan.steps.len() - kernels..].to_vec();
            (1..count).for_each(|_| plan.steps.extend_from_slice(&round));
        }
    }
    for (id, slot) in copies {
        let from = places[&Memory::Tensor(id)];
        let to = *places.entry(Memory::Slot(slot)).or_insert_with(|| {
            plan.places.push(Place::Slot(slot));
            plan.places.len() as u32 - 1
        });
        let count = expr.count(id);
        let bytes = &count * &i64::from(expr.tensor(id).dtype.bytes()).into();
        plan.steps.push(Step::Copy { from, to, bytes });
    }
    plan
}

/// What each slot holds or is assigned.
fn contents_of_slots(Prepared { expr, assignments, .. }: &Prepared) -> FxHashMap<u32, TensorId> {
    let inputs = (0..).zip(&expr.nodes).filter_map(|(place, tensor)| match tensor.op {
        TensorOp::Input(slot) => Some((slot, TensorId(place))),
        _ => None,
    });
    assignments.iter().copied().chain(inputs).collect()
}

impl Plan {
    /// The position of a kernel whose buffers have these numbers of elements, and that of an equal one where there is one.
    fn add_kernel(&mut self, kernel: TensorKernel, counts: Vec<Size>) -> u32 {
        let is_same = |place: &usize| self.kernels[*place] == kernel && self.counts[*place] == counts;
        if let Some(place) = (0..self.kernels.len()).find(is_same) {
            return place as u32;
        }
        self.kernels.push(kernel);
        self.counts.push(counts);
        self.kernels.len() as u32 - 1
    }

    /// For values of the dims, the number of elements of each buffer of a kernel that have a meaning by themselves: none where it writes what
    /// the rounding of sums left, which stands beside the sums, or vectors of which others are as right. Of numbers that kernels leave for others of their group all that there may be,
    /// written or not.
    pub fn elements(&self, kernel: usize, dims: &[u32]) -> Vec<u64> {
        let of_buffer = |(buffer, count): (usize, &Size)| match is_rounding(&self.kernels[kernel], buffer)
            || is_any_of_several(&self.kernels[kernel], buffer)
        {
            true => 0,
            false => count.at(dims).max(0) as u64,
        };
        self.counts[kernel].iter().enumerate().map(of_buffer).list()
    }
}

/// Whether a kernel writes vectors to a buffer of which others are as right: those with other signs, and of equal values any of their span.
fn is_any_of_several(kernel: &TensorKernel, buffer: usize) -> bool {
    let has_vectors = match &kernel.body {
        Body::Linalg(linalg) => matches!(linalg.kind, Linalg::Eigh | Linalg::Svd | Linalg::Rotations),
        Body::Turns(_) => true,
        _ => false,
    };
    has_vectors && kernel.buffers[buffer].written
}

/// Whether a kernel writes to a buffer what the rounding of sums left.
fn is_rounding(kernel: &TensorKernel, buffer: usize) -> bool {
    let (stores, folds): (Vec<&Store>, &[Fold]) = match &kernel.body {
        Body::Rows(rows) => (rows.elements.iter().chain(&rows.results).list(), &rows.folds),
        Body::Scan(scan) => (scan.elements.iter().list(), std::slice::from_ref(&scan.fold)),
        Body::Elements(_) | Body::Maps(_) | Body::Product(_) | Body::Products(_) | Body::Sequence(_) => return false,
        Body::Sort(_) | Body::DigitCounts(_) | Body::DigitSort(_) => return false,
        Body::Attention(_) | Body::Fourier(_) | Body::Linalg(_) | Body::Turns(_) => return false,
    };
    stores.iter().any(|store| {
        store.buffer as usize == buffer
            && matches!(kernel.graph.node(store.value), TypedNode::Folded { fold, result: 1, .. } if matches!(folds[fold as usize], Fold { combine: Combine::Sum, keeps_state: true, .. }))
    })
}

/// Memory of so many bytes: the smallest free place that is large enough and not much larger, or a new one.
fn temporary(plan: &mut Plan, free: &mut Vec<(u64, u32)>, bytes: u64) -> u32 {
    let fits = |(_, (size, _)): &(usize, &(u64, u32))| *size >= bytes && *size <= bytes.saturating_mul(4);
    let smallest = free.iter().enumerate().filter(fits).min_by_key(|(_, (size, _))| *size).map(|(place, _)| place);
    if let Some(place) = smallest {
        return free.swap_remove(place).1;
    }
    plan.places.push(Place::Temporary { bytes });
    plan.places.len() as u32 - 1
}

/// How many elements a kernel writes into a scratch buffer: one for each of its points outside of rows, or for each point of a scan.
fn stored_elements(kernel: &TensorKernel, buffer: u32, most_dims: &[u32]) -> u64 {
    let count = |extents: &[Extent]| -> u64 {
        extents.iter().map(|extent| u64::from(kernel.extent(*extent, most_dims))).product()
    };
    match &kernel.body {
        Body::Elements(elements) => count(&elements.space),
        Body::Rows(rows) => count(&rows.outer),
        Body::Scan(scan) => count(&scan.outer) * count(&[scan.length]),
        Body::Product(product) => count(&product.batch) * count(&[product.rows, product.columns]),
        // Results of one row, one after another.
        Body::Products(products) => {
            let writes = |product: &&Product| product.elements.iter().any(|store| store.buffer == buffer);
            products.iter().filter(writes).map(|product| count(&[product.columns])).sum()
        }
        // Others that write scratch memory are not joined.
        Body::Sequence(_) | Body::Maps(_) => 0,
        // Transforms leave nothing for others of their group.
        Body::Fourier(_) | Body::Linalg(_) => 0,
        Body::Turns(turns) => count(&turns.batch) * count(&[turns.columns]) * u64::from(Turns::PAIR),
        Body::Sort(sort) => count(&sort.outer) * count(&[sort.kept]),
        Body::DigitCounts(counts) => count(&counts.outer) * u64::from(Digit::VALUES) * u64::from(counts.blocks),
        Body::DigitSort(sort) => count(&sort.outer) * count(&[sort.length]),
        Body::Attention(attention) => {
            // A kernel for few queries never has more.
            let queries = match kernel.bound(attention.queries) {
                Some(most) => count(&[attention.queries]).min(u64::from(most)),
                None => count(&[attention.queries]),
            };
            let blocks = count(&[attention.keys]).div_ceil(u64::from(Attention::BLOCK)).max(1);
            // The first of three numbers of a state is a vector.
            let is_vector = attention.elements.first().is_some_and(|store| store.buffer == buffer);
            count(&attention.batch) * queries * blocks * if is_vector { u64::from(attention.width) } else { 1 }
        }
    }
}

/// Bytes that a tensor has in memory with the largest dims.
fn most_bytes(expr: &Expr, id: TensorId, most_dims: &[u32]) -> u64 {
    padded(expr.count(id).at(most_dims).max(0) as u64, memory_dtype(expr, id).bytes())
}
