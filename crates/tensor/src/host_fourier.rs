//! Fourier transforms on the host, by loops of Rust.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_tensor_loops::fourier::{FourierTransform, Results, RowNumbers, TransformKind, TransformMemory};

use crate::expr::FourierKind;
use crate::host_strides::{Strides, strides};
use crate::kernel::{Extent, Fourier, TensorKernel};
use crate::scalar::{Id, TypedNode};

/// Numbers after which a call ends: some milliseconds.
const CALL_NUMBERS: usize = 1 << 18;
/// Rows that loops take at once: neighbours share lines of caches.
const ROWS: usize = 16;
/// Transforms whose roots are kept.
const KEPT: usize = 8;

/// The transforms of a module, with their roots and their memory. The last used stands last.
#[derive(Default)]
pub struct Transforms {
    known: Vec<((usize, TransformKind, u32), FourierTransform)>,
    memory: TransformMemory,
}

impl Transforms {
    fn of(
        &mut self,
        length: usize,
        kind: TransformKind,
        scale: f32,
    ) -> Result<(&FourierTransform, &mut TransformMemory)> {
        let key = (length, kind, scale.to_bits());
        let known = match self.known.iter().position(|(known, _)| *known == key) {
            Some(place) => self.known.remove(place),
            None => {
                let made = FourierTransform::new(length, kind, scale);
                (key, made.ok_or_else(|| Error::internal("a transform of a length with large prime factors"))?)
            }
        };
        if self.known.len() == KEPT {
            self.known.remove(0);
        }
        self.known.push(known);
        let Transforms { known, memory } = self;
        match known.last() {
            Some((_, loops)) => Ok((loops, memory)),
            None => Err(Error::internal("no transform")),
        }
    }
}

/// A buffer and its addresses.
struct Access {
    buffer: usize,
    strides: Strides,
}

impl Access {
    /// The place of a row's first number.
    fn start(&self, outer: &[usize], mut row: usize) -> usize {
        let mut place = self.strides.first;
        for (axis, extent) in outer.iter().enumerate().rev() {
            place += (row % extent) as i64 * self.strides.of_axes[axis];
            row /= extent;
        }
        place as usize
    }
}

/// Runs transforms from a row on, and gives the row where the next part begins, or 0 after the last.
///
/// # Safety
/// The words and the memory are those of this kernel, the memory as large as its buffers.
pub unsafe fn run(
    kernel: &TensorKernel,
    fourier: &Fourier,
    words: &[u32],
    buffers: &[*mut u8],
    part: usize,
    transforms: &mut Transforms,
) -> Result<usize> {
    let Fourier { of, re, im, .. } = fourier;
    let outer: Vec<usize> = fourier.outer.iter().map(|extent: &Extent| extent.of(words) as usize).list();
    let rows: usize = outer.iter().product();
    let axes = outer.len() + 2;
    let access = |buffer: u32, index: Id| -> Result<Access> {
        Ok(Access { buffer: buffer as usize, strides: strides(&kernel.graph, index, words, axes, 1)? })
    };
    let operand = |id: Id| match kernel.graph.node(id) {
        TypedNode::Load { buffer, index } => access(buffer, index),
        _ => Err(Error::internal("numbers of a transform that are not read as they are")),
    };
    let re = operand(*re)?;
    let im = im.map(operand).transpose()?;
    let (Some(store), true) = (fourier.elements.first(), fourier.elements.len() <= 2) else {
        return Err(Error::internal("a transform with an epilogue"));
    };
    let to = access(store.buffer, store.index)?;
    let kind = match of.kind {
        FourierKind::Forward | FourierKind::Inverse => {
            let inverse = of.kind == FourierKind::Inverse;
            if im.is_some() { TransformKind::Complex { inverse } } else { TransformKind::Whole { inverse } }
        }
        FourierKind::Half => TransformKind::Half,
        FourierKind::Real => TransformKind::Real,
    };
    let length = of.length as usize;
    let (loops, memory) = transforms.of(length, kind, of.scale as f32)?;
    let [from_axis, to_axis] = [outer.len(), outer.len() + 1];
    let end = rows.min(part + (CALL_NUMBERS / length).max(1));
    for first in (part..end).step_by(ROWS) {
        let rows = first..end.min(first + ROWS);
        let starts = |access: &Access| -> Vec<usize> { rows.clone().map(|row| access.start(&outer, row)).list() };
        let (re_starts, im_starts, to_starts) = (starts(&re), im.as_ref().map(starts).unwrap_or_default(), starts(&to));
        // SAFETY: by the caller: a kernel reads and writes numbers at these places alone, and does not read what it writes.
        unsafe {
            let reals = numbers(&re, buffers, &re_starts, from_axis, of.taken());
            let imaginaries = im.as_ref().map(|im| numbers(im, buffers, &im_starts, from_axis, of.taken()));
            let stride = to.strides.of_axes[to_axis] as usize;
            let count = end_of(&to_starts, stride, of.given()) + usize::from(of.is_complex());
            let values = std::slice::from_raw_parts_mut(buffers[to.buffer].cast::<f32>(), count);
            loops.run(reals, imaginaries, &mut Results { values, starts: &to_starts, stride }, memory);
        }
    }
    Ok(if end == rows { 0 } else { end })
}

/// Where so many numbers of each row end.
fn end_of(starts: &[usize], stride: usize, count: u32) -> usize {
    starts.iter().max().copied().unwrap_or_default() + (count as usize - 1) * stride + 1
}

/// Numbers of rows.
///
/// # Safety
/// They are in the memory, which nothing changes meanwhile.
unsafe fn numbers<'a>(
    access: &Access,
    buffers: &[*mut u8],
    starts: &'a [usize],
    axis: usize,
    count: u32,
) -> RowNumbers<'a> {
    let stride = access.strides.of_axes[axis] as usize;
    let memory = buffers[access.buffer].cast::<f32>();
    // SAFETY: by the caller.
    RowNumbers { values: unsafe { std::slice::from_raw_parts(memory, end_of(starts, stride, count)) }, starts, stride }
}
