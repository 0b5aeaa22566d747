//! Per-block recompute kernels: one thread an *owner* (a parameter block), which goes through the lists of entries that are its own and
//! writes one sum.
//!
//! The values of an entry are those of a [`Kernel`], one kernel for each list that an owner has. Nothing is written in between, so an
//! entry is computed once for each owner in whose lists it stands, where that costs less than the memory traffic it saves.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;

use crate::{CheckedKernel, Element, Guard, Kernel, KernelBuffer, Load, Output, Space};

/// One kernel for each list of an owner, and what their sums are written to.
///
/// The kernels run over [`Space::Entries`](crate::Space::Entries): [`Index::column`](crate::Index::column) is a column of the table of
/// all entries, and [`Index::owned`](crate::Index::owned) a number of the owner, read once an owner. What they accumulate are numbers of
/// the owner in one buffer, summed over all entries of all lists.
#[derive(Clone, Debug)]
pub struct RecomputeKernel {
    /// Entry point in camelCase.
    pub name: String,
    /// What it computes, for the reader of the generated text; one comment line each.
    pub header: Vec<String>,
    /// When it runs.
    pub guard: Guard,
    /// The kernels of an owner's lists, in their order; all have the same buffers.
    pub lists: Vec<Kernel>,
}

impl RecomputeKernel {
    /// Checks the kernels of the lists as [`Kernel::check`] does, and that they fit together.
    pub fn check(self) -> Result<CheckedRecompute> {
        let RecomputeKernel { name, header, guard, lists } = self;
        let lists = lists.into_iter().map(Kernel::check).list_or_error()?;
        let wrong = |what: &str| Error::internal(format!("per-block recompute kernel '{name}': {what}"));
        let first = lists.first().ok_or_else(|| wrong("it has no list"))?;
        let Space::Entries { width } = first.space else { return Err(wrong("its instances are no entries")) };
        let result =
            lists.iter().flat_map(|list| &list.outputs).find_map(Output::element).map(|element| element.buffer);
        let result = result.ok_or_else(|| wrong("nothing is summed"))?;
        let width_of_first = first.outputs.first().map(Output::width);
        for list in &lists {
            if list.buffers != first.buffers || list.space != first.space || list.guard != Guard::None {
                return Err(wrong("lists differ in buffers or owners, or have gates of their own"));
            }
            if list.reduced().nth(1).is_some() {
                return Err(wrong("a list has two totals"));
            }
            if list.outputs.iter().filter_map(Output::element).any(|element| element.buffer != result) {
                return Err(wrong("sums are written to several buffers"));
            }
            if list.outputs.iter().any(|output| Some(output.width()) != width_of_first) {
                return Err(wrong("some sums are in pairs and others are not"));
            }
            let has_vector = |element: &Element| element.low.is_none() || element.vector().is_some();
            if !list.elements().filter(|element| element.index.as_owned().is_some()).all(has_vector) {
                return Err(wrong("a number of an owner has its low part elsewhere than in its vector"));
            }
            let reads_result = |load: &Load| matches!(load, Load::Read(element) if element.buffer == result);
            if list.loads.iter().any(reads_result) {
                return Err(wrong("sums are read"));
            }
        }
        Ok(CheckedRecompute { name, header, guard, lists, width, result })
    }
}

/// A per-block recompute kernel that [`RecomputeKernel::check`] has checked.
#[derive(Clone, Debug)]
pub struct CheckedRecompute {
    name: String,
    header: Vec<String>,
    guard: Guard,
    lists: Vec<CheckedKernel>,
    width: u32,
    result: u32,
}

impl CheckedRecompute {
    /// Leaves out the header of the generated text.
    pub fn clear_header(&mut self) {
        self.header.clear();
    }

    /// Entry point.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it computes, for the reader of the generated text.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// When it runs.
    pub fn guard(&self) -> Guard {
        self.guard
    }

    /// The kernels of an owner's lists.
    pub fn lists(&self) -> &[CheckedKernel] {
        &self.lists
    }

    /// Numbers an owner has.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Position of the buffer that the sums are written to.
    pub fn result(&self) -> u32 {
        self.result
    }

    /// The vector that the owners' sums are, if they are in pairs, see [`Constant::Low`](crate::Constant::Low).
    pub fn vector_of_result(&self) -> Option<u32> {
        self.lists.iter().flat_map(|list| &list.outputs).filter_map(Output::element).find_map(Element::vector)
    }

    /// The buffers, in binding order.
    pub fn buffers(&self) -> &[KernelBuffer] {
        &self.lists[0].buffers
    }

    /// Whether it reads or gives any pair.
    pub fn has_pairs(&self) -> bool {
        self.lists.iter().any(|list| list.has_pairs())
    }

    /// Whether a node is summed over all entries, beside the owners' sums.
    pub fn has_total(&self) -> bool {
        self.lists.iter().any(|list| list.has_total())
    }
}
