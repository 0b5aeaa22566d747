//! Grouping in the params form: from a tape with one expression a residual to batches of instances.

use residua_base::list::Listed;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use residua_base::cooperative::Slices;
use residua_base::error::{Error, Result};
use residua_ir::graph::InputId;

use super::batch::{Batch, Manifold, Rows};
use super::class::{Class, Local, Losses};
use super::signature::{TapeAnalysis, Tracer, build_graph};
use super::sums::Sums;
use super::tape::Tape;

/// Instances found so far of one signature; tables instance after instance.
struct Found {
    tokens: Vec<u32>,
    hash: u64,
    addends: bool,
    parameters_each: usize,
    constants_each: usize,
    parameters: Vec<u32>,
    constants: Vec<f64>,
    rows: Vec<u32>,
    /// Another signature of the same hash.
    next_of_hash: Option<u32>,
}

/// The signatures found so far.
#[derive(Default)]
struct Classes {
    found: Vec<Found>,
    by_hash: FxHashMap<u64, u32>,
    /// The one found last: often the next one's too.
    last: usize,
}

/// How much longer an entry, an expression or a parameter takes than a copy.
const ENTRY_WEIGHT: usize = 4;
const EXPRESSION_WEIGHT: usize = 32;

/// Groups the outputs of a tape by topology. Output `k` is residual `k` of the one residual block, which has the squared loss.
pub(super) async fn group_tape(mut tape: Tape, parameters: u32, slices: &Slices<'_>) -> Result<Vec<Batch>> {
    let mut analysis = TapeAnalysis::with_capacity(tape.len());
    slices.set_part(0.2, 0.5);
    slices
        .for_each(tape.len(), ENTRY_WEIGHT, &mut |range| {
            analysis.extend(&mut tape, range.len());
            Ok(())
        })
        .await?;
    slices
        .for_each(parameters as usize, 1, &mut |range| {
            analysis.extend_parameters(range.len());
            Ok(())
        })
        .await?;
    let outputs = tape.outputs().len();
    slices
        .for_each(outputs, 1, &mut |range| {
            tape.outputs()[range].iter().for_each(|&output| analysis.ask_for(output));
            Ok(())
        })
        .await?;

    let mut classes = Classes::default();
    let mut sums = Sums::default();
    slices.set_part(0.5, 0.9);
    // Expressions differ in length: that of all together is the tape's.
    let weight = EXPRESSION_WEIGHT.max(2 * ENTRY_WEIGHT * (tape.len() / outputs.max(1)));
    let mut next = 0;
    while next < outputs {
        let end = outputs.min(next.saturating_add(slices.length(weight)));
        let mut is_long_sum = false;
        {
            let mut tracer = Tracer::new(&tape, &mut analysis);
            while next < end && !is_long_sum {
                let output = tape.outputs()[next];
                is_long_sum = sums.find(&tape, tracer.uses(), output);
                if !is_long_sum {
                    tracer.trace(output, None);
                    classes.add(&tracer, next as u32, false);
                    next += 1;
                }
            }
        }
        if is_long_sum {
            let scaled = sums.addends.iter().any(|&(_, scale)| scale != 1.0);
            slices
                .for_each(sums.addends.len(), EXPRESSION_WEIGHT, &mut |range| {
                    let mut tracer = Tracer::new(&tape, &mut analysis);
                    for &(addend, scale) in &sums.addends[range] {
                        tracer.trace(addend, scaled.then_some(scale));
                        classes.add(&tracer, next as u32, true);
                    }
                    Ok(())
                })
                .await?;
            next += 1;
        }
        slices.checkpoint(next as f64 / outputs as f64).await?;
    }
    drop(tape);
    drop(analysis);

    let count = classes.found.len() as f64;
    let mut batches = Vec::new();
    for (number, found) in classes.found.into_iter().enumerate() {
        slices.set_part(0.9 + 0.1 * number as f64 / count, 0.9 + 0.1 * (number + 1) as f64 / count);
        batches.push(finish(found, slices).await?);
    }
    Ok(batches)
}

impl Classes {
    /// Enters the instance that was traced last.
    fn add(&mut self, tracer: &Tracer<'_>, row: u32, addends: bool) {
        let hash = tracer.hash ^ u64::from(addends);
        let is_known =
            |class: &Found| class.hash == hash && class.addends == addends && are_equal(&class.tokens, tracer.tokens());
        let mut class = self.last;
        if !self.found.get(class).is_some_and(is_known) {
            class = self.find(hash, &is_known).unwrap_or_else(|| self.enter(hash, tracer, addends));
            self.last = class;
        }
        let class = &mut self.found[class];
        class.parameters.extend_from_slice(&tracer.parameters);
        class.constants.extend_from_slice(&tracer.constants);
        class.rows.push(row);
    }

    fn find(&self, hash: u64, is_known: &dyn Fn(&Found) -> bool) -> Option<usize> {
        let mut candidate = self.by_hash.get(&hash).copied();
        while let Some(number) = candidate {
            let class = &self.found[number as usize];
            if is_known(class) {
                return Some(number as usize);
            }
            candidate = class.next_of_hash;
        }
        None
    }

    fn enter(&mut self, hash: u64, tracer: &Tracer<'_>, addends: bool) -> usize {
        let class = self.found.len();
        let next_of_hash = self.by_hash.insert(hash, class as u32);
        self.found.push(Found {
            tokens: tracer.tokens().to_vec(),
            hash,
            addends,
            parameters_each: tracer.parameters.len(),
            constants_each: tracer.constants.len(),
            parameters: Vec::new(),
            constants: Vec::new(),
            rows: Vec::new(),
            next_of_hash,
        });
        class
    }
}

/// Whether two signatures are the same. WebAssembly compares memory byte by byte, this word by word.
fn are_equal(a: &[u32], b: &[u32]) -> bool {
    let length = a.len();
    if b.len() != length {
        return false;
    }
    let mut position = 0;
    while position < length && a[position] == b[position] {
        position += 1;
    }
    position == length
}

/// The batch of a class. Takes its tables apart: column after column in place of instance after instance.
async fn finish(found: Found, slices: &Slices<'_>) -> Result<Batch> {
    let count = found.rows.len();
    let Found { tokens, addends, parameters_each: each, constants_each, parameters, constants, rows, .. } = found;
    let together = neighbours(&parameters, each, count, slices).await?;
    let (locals, block_dims, heads) = merge_neighbours(&together, each);
    let is_column = |head: usize| move |instance: usize| instance * each + head;
    let mut indices = Vec::with_capacity((heads.len() + 1) * count);
    for &head in &heads {
        let place = is_column(head);
        slices
            .for_each(count, 1, &mut |range| {
                for instance in range {
                    indices.push(parameters.as_slice()[place(instance)]);
                }
                Ok(())
            })
            .await?;
    }
    drop(parameters);

    // Constants on which all instances agree go into the uniform table, the others become columns of data.
    let mut constant_inputs = Vec::with_capacity(constants_each);
    let (mut data, mut batch_constants) = (Vec::new(), Vec::new());
    let mut data_columns = 0;
    for constant in 0..constants_each {
        let first = constants[constant];
        let mut varies = false;
        slices
            .for_each(count, 1, &mut |range| {
                let constants = constants.as_slice();
                varies = varies
                    || range
                        .into_iter()
                        .any(|instance| constants[instance * constants_each + constant].to_bits() != first.to_bits());
                Ok(())
            })
            .await?;
        if !varies {
            constant_inputs.push((false, batch_constants.len() as u32));
            batch_constants.push(first);
            continue;
        }
        constant_inputs.push((true, data_columns));
        data_columns += 1;
        data.reserve_exact(count);
        slices
            .for_each(count, 1, &mut |range| {
                for instance in range {
                    data.push(constants.as_slice()[instance * constants_each + constant]);
                }
                Ok(())
            })
            .await?;
    }
    let parameters = each as u32;
    let constant_inputs: Vec<InputId> = constant_inputs
        .into_iter()
        .map(|(varies, number)| InputId(parameters + if varies { number } else { data_columns + number }))
        .list();
    let (graph, root) = build_graph(&tokens, &constant_inputs)?;
    let (graph, outputs) = graph.extract(&[root]);

    let mut consecutive = true;
    slices
        .for_each(count, 1, &mut |range| {
            let (rows, first) = (rows.as_slice(), rows[0]);
            consecutive = consecutive
                && range.into_iter().all(|instance| rows[instance].wrapping_sub(first) as usize == instance);
            Ok(())
        })
        .await?;
    let rows = if consecutive && !addends {
        Rows::From(rows[0])
    } else {
        let column = block_dims.len() as u32;
        indices.extend_from_slice(&rows);
        if addends { Rows::Addends(column) } else { Rows::Column(column) }
    };
    let count = u32::try_from(count).map_err(|_| Error::internal("more than 2³² instances on one tape"))?;
    let uniform_count = batch_constants.len() as u32;
    Ok(Batch {
        class: Rc::new(Class {
            graph: graph.check(parameters + data_columns + uniform_count)?,
            outputs,
            locals,
            manifolds: vec![Manifold::Euclidean; block_dims.len()],
            block_dims,
            data: data_columns,
            batch_constants: uniform_count,
            tables: 0,
            losses: Losses::Squared,
            weight: None,
        }),
        count,
        block: 0,
        indices,
        data,
        batch_constants,
        rows,
        instances: None,
        plain: None,
    })
}

/// The local parameters by ascending parameter of the first instance, each with whether it stands in every instance one after the one
/// before it. Takes the parameters of instance after instance.
async fn neighbours(parameters: &[u32], each: usize, count: usize, slices: &Slices<'_>) -> Result<Vec<(usize, bool)>> {
    let Some(first) = parameters.get(..each) else { return Ok(Vec::new()) };
    // The parameter in the upper half, its place in the lower.
    let mut keys = first.iter().zip(0u64..).map(|(&first, local)| u64::from(first) << 32 | local).list();
    keys.sort_unstable();
    let mut order = keys.into_iter().map(|key| (key as u32 as usize, true)).list();
    if let Some(least) = order.first_mut() {
        least.1 = false;
    }
    slices
        .for_each(count, each, &mut |range| {
            let mut before = 0;
            for (local, together) in &mut order {
                if *together {
                    *together = range.clone().all(|instance| {
                        parameters[instance * each + before].checked_add(1)
                            == Some(parameters[instance * each + *local])
                    });
                }
                before = *local;
            }
            Ok(())
        })
        .await?;
    Ok(order)
}

/// Makes blocks of parameters that stand side by side in every instance (the coordinates of a point), so that one index serves them
/// all. Gives each local parameter's place, the blocks' dimensions and the local parameters that blocks begin with.
fn merge_neighbours(together: &[(usize, bool)], each: usize) -> (Vec<Local>, Vec<u32>, Vec<usize>) {
    let mut locals = vec![Local { column: 0, component: 0 }; each];
    let (mut dims, mut heads): (Vec<u32>, Vec<usize>) = (Vec::new(), Vec::new());
    for &(local, joins) in together {
        match dims.last_mut() {
            Some(dim) if joins && *dim < 4 => *dim += 1,
            _ => {
                dims.push(1);
                heads.push(local);
            }
        }
        locals[local] = Local { column: dims.len() as u32 - 1, component: dims[dims.len() - 1] - 1 };
    }
    (locals, dims, heads)
}
