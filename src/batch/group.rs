//! Grouping in the params form: from a tape with one expression a residual to batches of instances.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::graph::InputId;
use crate::list::Listed;
use crate::order;

use super::class::{Class, Local};
use super::model::{Batch, Manifold, Rows};
use super::signature::{Tracer, build_graph, fold_numbers};
use super::sums;
use super::tape::Tape;

/// Instances found so far of one signature; tables instance after instance.
struct Found {
    tokens: Vec<u32>,
    addends: bool,
    parameters_each: usize,
    constants_each: usize,
    parameters: Vec<u32>,
    constants: Vec<f64>,
    rows: Vec<u32>,
    /// Another signature of the same hash.
    next_of_hash: Option<u32>,
}

/// Groups the outputs of a tape by topology. Output `k` is residual `first_row + k` of residual block `block`.
pub fn group_tape(mut tape: Tape, parameters: u32, block: u32, first_row: u32) -> Result<Vec<Batch>> {
    fold_numbers(&mut tape);
    let uses = sums::uses(&tape);
    let mut tracer = Tracer::new(&tape, parameters);
    let mut found: Vec<Found> = Vec::new();
    let mut by_hash: FxHashMap<u64, u32> = FxHashMap::default();
    for (number, &output) in tape.outputs().iter().enumerate() {
        let row = first_row + number as u32;
        match sums::addends(&tape, &uses, output) {
            Some(addends) => {
                let scaled = addends.iter().any(|&(_, scale)| scale != 1.0);
                for (addend, scale) in addends {
                    tracer.trace(addend, scaled.then_some(scale));
                    add(&mut found, &mut by_hash, &tracer, row, true);
                }
            }
            None => {
                tracer.trace(output, None);
                add(&mut found, &mut by_hash, &tracer, row, false);
            }
        }
    }
    found.into_iter().map(|found| finish(found, block)).collect()
}

fn add(found: &mut Vec<Found>, by_hash: &mut FxHashMap<u64, u32>, tracer: &Tracer<'_>, row: u32, addends: bool) {
    let hash = tracer.tokens.iter().fold(u64::from(addends), |hash, &token| {
        (hash.rotate_left(5) ^ u64::from(token)).wrapping_mul(0x517C_C1B7_2722_0A95)
    });
    let first = by_hash.get(&hash).copied();
    let mut candidate = first;
    let known = loop {
        let Some(number) = candidate else { break None };
        let class = &found[number as usize];
        if class.addends == addends && class.tokens == tracer.tokens {
            break Some(number);
        }
        candidate = class.next_of_hash;
    };
    let class = known.unwrap_or_else(|| {
        let class = found.len() as u32;
        by_hash.insert(hash, class);
        found.push(Found {
            tokens: tracer.tokens.clone(),
            addends,
            parameters_each: tracer.parameters.len(),
            constants_each: tracer.constants.len(),
            parameters: Vec::new(),
            constants: Vec::new(),
            rows: Vec::new(),
            next_of_hash: first,
        });
        class
    });
    let class = &mut found[class as usize];
    class.parameters.extend_from_slice(&tracer.parameters);
    class.constants.extend_from_slice(&tracer.constants);
    class.rows.push(row);
}

fn finish(found: Found, block: u32) -> Result<Batch> {
    let count = found.rows.len();
    let (locals, block_dims, mut indices) = merge_neighbours(&found.parameters, found.parameters_each);

    // Constants on which all instances agree go into the uniform table, the others become columns of data.
    let mut constant_inputs = Vec::with_capacity(found.constants_each);
    let (mut data, mut uniforms) = (Vec::new(), Vec::new());
    let mut data_columns = 0;
    for constant in 0..found.constants_each {
        let column = found.constants[constant..].iter().step_by(found.constants_each);
        let first = found.constants[constant];
        if column.clone().all(|value| value.to_bits() == first.to_bits()) {
            constant_inputs.push((false, uniforms.len() as u32));
            uniforms.push(first);
        } else {
            constant_inputs.push((true, data_columns));
            data_columns += 1;
            data.extend(column);
        }
    }
    let parameters = found.parameters_each as u32;
    let constant_inputs: Vec<InputId> = constant_inputs
        .into_iter()
        .map(|(varies, number)| InputId(parameters + if varies { number } else { data_columns + number }))
        .list();
    let (graph, root) = build_graph(&found.tokens, &constant_inputs)?;
    let (graph, outputs) = graph.extract(&[root]);

    let consecutive = found.rows.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let rows = if consecutive && !found.addends {
        Rows::From(found.rows[0])
    } else {
        let column = block_dims.len() as u32;
        indices.extend_from_slice(&found.rows);
        if found.addends { Rows::Addends(column) } else { Rows::Column(column) }
    };
    let count = u32::try_from(count).map_err(|_| Error::internal("more than 2³² instances on one tape"))?;
    let uniform_count = uniforms.len() as u32;
    Ok(Batch {
        class: Rc::new(Class {
            graph: graph.check(parameters + data_columns + uniform_count)?,
            outputs,
            locals,
            manifolds: vec![Manifold::Euclidean; block_dims.len()],
            block_dims,
            data: data_columns,
            uniforms: uniform_count,
        }),
        count,
        block,
        indices,
        data,
        uniforms,
        rows,
        instances: None,
    })
}

/// Finds parameters that stand side by side in every instance (the coordinates of a point) and makes blocks of them, so that
/// one index serves them all. Takes the parameters of instance after instance; gives each local parameter's place, the
/// blocks' dimensions and the columns of first parameters.
fn merge_neighbours(parameters: &[u32], each: usize) -> (Vec<Local>, Vec<u32>, Vec<u32>) {
    let Some(first) = parameters.get(..each).filter(|first| !first.is_empty()) else {
        return (Vec::new(), Vec::new(), Vec::new());
    };
    let order = order::by_key(each, |local| first[local]);
    let stand_together = |a: usize, b: usize| {
        parameters.chunks_exact(each).all(|instance| instance[a].checked_add(1) == Some(instance[b]))
    };
    let mut locals = vec![Local { column: 0, component: 0 }; each];
    let (mut dims, mut heads): (Vec<u32>, Vec<usize>) = (Vec::new(), Vec::new());
    for (rank, &local) in order.iter().enumerate() {
        let joins = rank > 0 && dims.last().is_some_and(|&dim| dim < 4) && stand_together(order[rank - 1], local);
        match dims.last_mut() {
            Some(dim) if joins => *dim += 1,
            _ => {
                dims.push(1);
                heads.push(local);
            }
        }
        locals[local] = Local { column: dims.len() as u32 - 1, component: dims[dims.len() - 1] - 1 };
    }
    let columns =
        heads.iter().flat_map(|&head| parameters.chunks_exact(each).map(move |instance| instance[head])).list();
    (locals, dims, columns)
}
