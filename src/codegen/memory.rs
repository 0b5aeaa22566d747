//! The memory that a kernel runs over on the CPU: views of buffers, and which instances to run.
//!
//! [`Dispatch::check`] compares a kernel's plan with the views that a call brings, once per call and at a cost that does not
//! depend on the number of instances. What it lets pass touches memory outside the views in one way alone: by a number in an
//! index buffer. Back ends check those numbers as they read them.

use std::ops::Range;

use super::{Address, Element, Kernel, Load};
use crate::error::{Error, Result};

/// A buffer as a call on the CPU sees it.
#[derive(Debug)]
pub enum View<'a> {
    /// Numbers that the kernel only reads.
    Read(&'a [f64]),
    /// Numbers that the kernel writes, and may read.
    Write(&'a mut [f64]),
    /// Indices.
    Index(&'a [u32]),
}

impl View<'_> {
    /// How many elements it has.
    pub fn len(&self) -> usize {
        match self {
            View::Read(numbers) => numbers.len(),
            View::Write(numbers) => numbers.len(),
            View::Index(indices) => indices.len(),
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Which instances a call runs, and the figures that addresses depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The instances; may be part of all.
    pub instances: Range<u32>,
    /// Distance between the columns of a structure of arrays: at least the number of all instances.
    pub stride: u32,
    /// Where instance `origin` of an interleaved buffer stands.
    pub first: u32,
    /// The instance with which interleaved buffers begin, 0 if they are of all; none before it is run.
    pub origin: u32,
}

impl Dispatch {
    /// Checks that the views are those of the kernel's buffers, and long enough for every address that is not indexed.
    pub fn check(&self, kernel: &Kernel, views: &[View]) -> Result<()> {
        let wrong = |what: String| Err(Error::internal(format!("a call of kernel '{}': {what}", kernel.name)));
        if views.len() != kernel.buffers.len() {
            return wrong(format!("{} views of {} buffers", views.len(), kernel.buffers.len()));
        }
        for (buffer, view) in kernel.buffers.iter().zip(views) {
            let fits = match view {
                View::Read(_) => buffer.element == Element::Real && !buffer.written,
                View::Write(_) => buffer.element == Element::Real,
                View::Index(_) => buffer.element == Element::Index && !buffer.written,
            };
            if !fits {
                return wrong(format!("a view of another kind for {}", buffer.name));
            }
        }
        if self.instances.start > self.instances.end {
            return wrong(format!("instances {} to {}", self.instances.start, self.instances.end));
        }
        let Some(last) = self.instances.clone().last() else { return Ok(()) };
        if self.instances.start < self.origin {
            return wrong(format!("instance {} of buffers that begin with {}", self.instances.start, self.origin));
        }
        for (buffer, address) in kernel.addresses() {
            let (buffer, farthest) = match address {
                Address::Column(column) => (buffer, self.column(column, last)),
                Address::Fixed(position) | Address::Layer(position) => (buffer, u64::from(position)),
                Address::Interleaved { width, component } => (buffer, self.interleaved(width, component, last)),
                Address::Indexed { indices, column, component } => {
                    if component as usize >= views[buffer as usize].len() {
                        return wrong(format!("no component {component} in {}", kernel.buffers[buffer as usize].name));
                    }
                    (indices, self.column(column, last))
                }
                Address::Listed { .. } => return wrong("an address of lists".to_owned()),
            };
            let (length, name) = (views[buffer as usize].len(), kernel.buffers[buffer as usize].name);
            if farthest >= length as u64 {
                return wrong(format!("instance {last} is at {farthest} of {name}, which has {length} elements"));
            }
        }
        Ok(())
    }

    /// Checks every index that the instances read, and names the first that leads out of its buffer: to say why generated
    /// code stopped. The dispatch is checked.
    pub fn check_indices(&self, kernel: &Kernel, views: &[View]) -> Result<()> {
        for (buffer, address) in kernel.addresses() {
            let Address::Indexed { indices, column, component } = address else { continue };
            let View::Index(indices) = &views[indices as usize] else { continue };
            let length = views[buffer as usize].len();
            let start = self.column(column, 0) as usize;
            for index in &indices[start + self.instances.start as usize..start + self.instances.end as usize] {
                let place = u64::from(*index) + u64::from(component);
                if place >= length as u64 {
                    return Err(index_out_of_range(kernel, buffer, place, length));
                }
            }
        }
        Ok(())
    }

    /// Position of [`Address::Column`].
    pub(super) fn column(&self, column: u32, instance: u32) -> u64 {
        u64::from(column) * u64::from(self.stride) + u64::from(instance)
    }

    /// Position of [`Address::Interleaved`].
    pub(super) fn interleaved(&self, width: u32, component: u32, instance: u32) -> u64 {
        u64::from(self.first) + u64::from(instance - self.origin) * u64::from(width) + u64::from(component)
    }
}

impl Kernel {
    /// Whether an address leads all instances of a call on the CPU to one place.
    pub(super) fn is_same(&self, address: Address) -> bool {
        match address {
            Address::Fixed(_) | Address::Layer(_) => true,
            Address::Indexed { indices, column, .. } => self.pinned.contains(&(indices, column)),
            Address::Column(_) | Address::Interleaved { .. } | Address::Listed { .. } => false,
        }
    }

    /// Every buffer that the plan reads or writes a number in, with the address.
    pub(super) fn addresses(&self) -> impl Iterator<Item = (u32, Address)> {
        let loads = self.loads.iter().filter_map(|load| match *load {
            Load::Read { buffer, address } => Some((buffer, address)),
            Load::Call { .. } => None,
        });
        loads.chain(self.stores.iter().map(|store| (store.buffer, store.address)))
    }
}

/// The error of an index that leads out of its buffer; the same words from every back end that can say which one.
pub(super) fn index_out_of_range(kernel: &Kernel, buffer: u32, index: u64, length: usize) -> Error {
    let name = kernel.buffers[buffer as usize].name;
    Error::internal(format!("kernel '{}': index {index} into {name}, which has {length} elements", kernel.name))
}
