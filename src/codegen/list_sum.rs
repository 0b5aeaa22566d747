//! Sums over lists: one thread an *owner*, which goes through the lists of entries that are its own and writes one sum.
//!
//! What an entry adds is a [`Kernel`]'s business, one kernel for each list that an owner has; its instances are the entries.
//! Nothing is written in between, so an entry's values may be computed several times, once for each owner in whose lists it
//! stands, where that costs less than the traffic it saves.

use super::{Address, Buffer, Element, Kernel, Load};
use crate::error::{Error, Result};

/// One kernel a list, and what their sums are written to.
///
/// In the kernels, instance `i` is an entry, and [`Address::Column`] a column of the table of all entries. An
/// [`Address::Interleaved`] is the owner's: `first + owner · width + component`, and is read once an owner. By way of a table of
/// entries, [`Address::Indexed`] leads anywhere, and [`Address::Listed`] into tables that have other instances. Stores are
/// [`Address::Interleaved`] in one buffer, and mean that the node is summed over all entries of all lists.
#[derive(Clone, Debug)]
pub struct ListSum {
    /// Entry point in camelCase.
    pub name: String,
    /// What it computes, for the reader of the generated text; one comment line each.
    pub header: Vec<String>,
    /// The kernels of an owner's lists, in their order; all have the same buffers.
    pub lists: Vec<Kernel>,
    /// Numbers an owner has.
    pub width: u32,
    /// Whether the device itself decides if it runs.
    pub gated: bool,
}

impl ListSum {
    /// The buffers, in binding order.
    pub fn buffers(&self) -> &[Buffer] {
        self.lists.first().map_or(&[], |list| &list.buffers)
    }

    /// Position of the buffer that the sums are written to.
    pub fn result(&self) -> Option<u32> {
        self.lists.iter().flat_map(|list| &list.stores).map(|store| store.buffer).next()
    }

    /// Whether a node is summed over all entries, beside the owners' sums.
    pub fn has_total(&self) -> bool {
        self.lists.iter().any(|list| list.total.is_some())
    }

    /// Checks that the positions in the plan exist, and that everything is read and written as lists are.
    pub fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::internal(format!("sum over lists '{}': {what}", self.name)));
        let Some(result) = self.result() else { return wrong("nothing is summed") };
        let buffers = self.buffers();
        let is_index = |buffer: u32| buffers.get(buffer as usize).is_some_and(|b| b.element == Element::Index);
        let is_owners = |address: Address| match address {
            Address::Interleaved { width, component } => width == self.width && component < width,
            Address::Column(_)
            | Address::Fixed(_)
            | Address::Layer(_)
            | Address::Indexed { .. }
            | Address::Listed { .. } => false,
        };
        for list in &self.lists {
            if list.buffers != buffers || list.gated || list.layers.is_some() {
                return wrong("lists differ in buffers, or have gates or layers of their own");
            }
            if list.loads.len() < list.graph.input_count() as usize {
                return wrong("an input has no load");
            }
            for load in &list.loads {
                let sound = match *load {
                    Load::Read { buffer, address } => {
                        (buffer as usize) < buffers.len()
                            && buffer != result
                            && match address {
                                Address::Interleaved { .. } => is_owners(address),
                                Address::Indexed { indices, .. } | Address::Listed { indices, .. } => is_index(indices),
                                Address::Column(_) | Address::Fixed(_) => true,
                                Address::Layer(_) => false,
                            }
                    }
                    Load::Call { call, result } => {
                        list.calls.get(call as usize).is_some_and(|call| (result as usize) < call.function.results)
                    }
                };
                if !sound {
                    return wrong("a load is not one of lists");
                }
            }
            let nodes = list.graph.graph().len();
            for store in &list.stores {
                if store.buffer != result
                    || store.accumulate
                    || !is_owners(store.address)
                    || store.node.index() >= nodes
                {
                    return wrong("a store is not a sum of the owner's");
                }
            }
        }
        if is_index(result) || !buffers[result as usize].written {
            return wrong("sums are written to what is not written, or holds indices");
        }
        Ok(())
    }
}
