//! Steps of all parameters at once on the CPU: the kernels of [`crate::model::manifolds`], an array after the other.

use residua_base::list::{Listed, PushAll};
use std::cell::RefCell;
use std::rc::Rc;

use crate::model::ArrayInfo;
use crate::model::manifolds::{CoordinateSize, Manifold, retraction_kernel};
use residua_base::error::Result;
use residua_codegen::Width;
use residua_codegen::memory::{InstanceRange, View};
use residua_cpu::CompiledKernels;

/// Makes steps.
pub struct Retraction {
    program: Rc<CompiledKernels>,
    /// Kernel, first number and blocks of each array.
    arrays: Vec<(usize, u32, u32)>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    /// For each coordinate its block's first number and its size; empty where all are those of the coordinate's own number.
    sizes: Vec<(u32, CoordinateSize)>,
}

impl Retraction {
    /// For parameters in these arrays, with bounds on all of them.
    pub async fn new(arrays: &[ArrayInfo], lower: Vec<f64>, upper: Vec<f64>) -> Result<Retraction> {
        let mut shapes: Vec<(Manifold, u32)> = Vec::new();
        let mut places = Vec::new();
        for array in arrays {
            // Where every number moves by itself, its block does not matter.
            let (dim, count) = match array.manifold {
                Manifold::Euclidean => (1, array.count * array.dim),
                _ => (array.dim, array.count),
            };
            let shape = (array.manifold, dim);
            let kernel = shapes.iter().position(|known| *known == shape).unwrap_or_else(|| {
                shapes.push(shape);
                shapes.len() - 1
            });
            places.push((kernel, array.offset, count));
        }
        Ok(Retraction { program: program_of(shapes).await?, arrays: places, lower, upper, sizes: sizes(arrays) })
    }

    /// The square of the size of x in a coordinate.
    pub fn squared_size(&self, x: &[f64], coordinate: usize) -> f64 {
        match self.sizes.get(coordinate) {
            None => x[coordinate] * x[coordinate],
            Some(&(first, size)) => size.squared(&x[first as usize..]),
        }
    }

    /// The trial point x ⊞ δ within the bounds, and the step that was really made.
    pub fn make(&self, x: &[f64], step: &[f64], trial: &mut [f64], made: &mut [f64]) -> Result<()> {
        for &(kernel, first, count) in &self.arrays {
            let mut views = [
                View::Read(x),
                View::Read(step),
                View::Read(&self.lower),
                View::Read(&self.upper),
                View::Write(trial),
                View::Write(made),
            ];
            self.program.run(
                kernel,
                &mut views,
                &InstanceRange { instances: 0..count, stride: count, first, origin: 0 },
            )?;
        }
        Ok(())
    }
}

/// The manifolds of arrays and the dimensions of their blocks, each pair once.
type Shapes = Vec<(Manifold, u32)>;

thread_local! {
    /// Kernels by their shapes.
    static KNOWN: RefCell<Vec<(Shapes, Rc<CompiledKernels>)>> = const { RefCell::new(Vec::new()) };
}

/// Programs that are kept. Those of most pages fit.
const MOST: usize = 32;

/// The kernels of some shapes, in place of those that were made first if there are many. To write and compile them takes longer than a small solve.
async fn program_of(shapes: Shapes) -> Result<Rc<CompiledKernels>> {
    let find = |known: &Vec<(Shapes, Rc<CompiledKernels>)>| {
        known.iter().find(|known| known.0 == shapes).map(|known| known.1.clone())
    };
    if let Some(known) = KNOWN.with_borrow(find) {
        return Ok(known);
    }
    let of_shape = |&(manifold, dim): &(Manifold, u32)| retraction_kernel(manifold, dim, true, Width::Single);
    let kernels = shapes.iter().map(of_shape).list_or_error()?;
    let program = Rc::new(CompiledKernels::compile(kernels).await?);
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= MOST {
            known.remove(0);
        }
        known.push((shapes, program.clone()));
    });
    Ok(program)
}

fn sizes(arrays: &[ArrayInfo]) -> Vec<(u32, CoordinateSize)> {
    if arrays.iter().all(|array| array.manifold.tangent_dim(array.dim) == array.dim) {
        return Vec::new();
    }
    let mut sizes = Vec::new();
    for array in arrays {
        let of_block = array.manifold.coordinate_sizes(array.dim);
        for block in 0..array.count {
            let first = array.offset + block * array.dim;
            sizes.push_all(of_block.iter().map(|&size| (first, size)));
            // What is left over of a block is no coordinate.
            sizes.resize((first + array.dim) as usize, (first, CoordinateSize::Number(0)));
        }
    }
    sizes
}
