//! The memory that a kernel runs over on the CPU: views of buffers, and which instances to run.
//!
//! [`InstanceRange::check`] compares a kernel's plan with the views that a call brings, once per call and at a cost that does not
//! depend on the number of instances. A checked call touches memory outside the views in one way alone: by a number in an index
//! buffer. Back ends check those numbers as they read them.

use std::ops::Range;

use crate::{CheckedKernel, Constant, ElementType, Index, Instances, Variable};
use residua_base::error::{Error, Result};

/// A buffer as a call on the CPU accesses it.
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
pub struct InstanceRange {
    /// The instances; may be part of all.
    pub instances: Range<u32>,
    /// Distance between the columns of a structure of arrays: at least the number of all instances.
    pub stride: u32,
    /// Where instance `origin` of an interleaved buffer stands.
    pub first: u32,
    /// The instance with which interleaved buffers begin, 0 if they are of all; none before it is run.
    pub origin: u32,
}

impl InstanceRange {
    /// Checks that the views are those of the kernel's buffers, and long enough for every element that is not found by a loaded index.
    pub fn check(&self, kernel: &CheckedKernel, views: &[View]) -> Result<()> {
        let wrong = |what: String| Err(Error::internal(format!("a call of kernel '{}': {what}", kernel.name)));
        if kernel.instances == Instances::One && self.instances.len() > 1 {
            return wrong(format!("{} instances of a kernel for one", self.instances.len()));
        }
        if views.len() != kernel.buffers.len() {
            return wrong(format!("{} views of {} buffers", views.len(), kernel.buffers.len()));
        }
        for (buffer, view) in kernel.buffers.iter().zip(views) {
            let fits = match view {
                View::Read(_) => buffer.dtype == ElementType::Real && !buffer.written,
                View::Write(_) => buffer.dtype == ElementType::Real,
                View::Index(_) => buffer.dtype == ElementType::U32 && !buffer.written,
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
        if let Some(tables) = kernel.tables
            && views[tables.buffer as usize].len() < tables.numbers as usize
        {
            return wrong(format!("tables of {} numbers", views[tables.buffer as usize].len()));
        }
        for element in kernel.elements() {
            let of_buffer = |buffer: u32| (views[buffer as usize].len(), kernel.buffers[buffer as usize].name);
            let (buffer, index) = match element.index.as_loaded() {
                None => (element.buffer, &element.index),
                Some(loaded) => {
                    let (component, (length, name)) = (element.index.offset(), of_buffer(element.buffer));
                    if component as usize >= length {
                        return wrong(format!("no component {component} in {name}"));
                    }
                    loaded
                }
            };
            let ((length, name), farthest) = (of_buffer(buffer), self.farthest(index));
            match farthest {
                None => return wrong(format!("an index into {name} that the host does not know")),
                Some(farthest) if farthest >= length as u64 => {
                    return wrong(format!("instance {last} is at {farthest} of {name}, which has {length} elements"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Checks every index that the instances read, and names the first that leads out of its buffer: to say why generated
    /// code stopped. The dispatch is checked.
    pub fn check_indices(&self, kernel: &CheckedKernel, views: &[View]) -> Result<()> {
        for element in kernel.elements().filter(|element| element.index.as_loaded().is_some()) {
            let length = views[element.buffer as usize].len();
            for instance in self.instances.clone() {
                let index = self.evaluate(kernel, &element.index, instance, views)?;
                if index >= length as u64 {
                    return Err(index_out_of_range(kernel, element.buffer, index, length));
                }
            }
        }
        Ok(())
    }

    /// The largest value of an index that loads no other.
    fn farthest(&self, index: &Index) -> Option<u64> {
        let last = self.instances.end.saturating_sub(1);
        index.evaluate(&|constant| self.constant(constant), &|variable| self.variable(variable, last).ok_or(())).ok()
    }

    /// The value of an index for an instance.
    pub(crate) fn evaluate(&self, kernel: &CheckedKernel, index: &Index, instance: u32, views: &[View]) -> Result<u64> {
        index.evaluate(&|constant| self.constant(constant), &|variable| match variable {
            Variable::Loaded { buffer, index } => {
                let View::Index(indices) = &views[*buffer as usize] else {
                    return Err(Error::internal(format!("kernel '{}' takes indices from numbers", kernel.name)));
                };
                let element = self.evaluate(kernel, index, instance, views)?;
                let loaded = indices.get(element as usize).copied().map(u64::from);
                loaded.ok_or_else(|| index_out_of_range(kernel, *buffer, element, indices.len()))
            }
            other => self.variable(other, instance).ok_or_else(|| {
                Error::internal(format!("kernel '{}' has an index that the host does not know", kernel.name))
            }),
        })
    }

    fn constant(&self, constant: Constant) -> u64 {
        match constant {
            Constant::Stride => self.stride.into(),
            Constant::First => self.first.into(),
            // Of lists and of pairs, which the host does not run.
            Constant::Width | Constant::Low(_) => 0,
        }
    }

    /// The value of a variable that is not loaded.
    fn variable(&self, variable: &Variable, instance: u32) -> Option<u64> {
        match variable {
            Variable::Instance => Some(instance.into()),
            Variable::FirstInstance => Some(self.instances.start.into()),
            Variable::Position => Some((instance - self.origin).into()),
            Variable::Layer => Some(0),
            Variable::Owner | Variable::Loaded { .. } => None,
        }
    }
}

/// The error of an index that leads out of its buffer; the same words from every back end that can say which one.
pub(super) fn index_out_of_range(kernel: &CheckedKernel, buffer: u32, index: u64, length: usize) -> Error {
    let name = kernel.buffers[buffer as usize].name;
    Error::internal(format!("kernel '{}': index {index} into {name}, which has {length} elements", kernel.name))
}
