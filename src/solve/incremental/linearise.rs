//! The instances of a growing problem, and their linearisation a stage at a time.
//!
//! The model has a batch of a few instances for each template, the stage. To linearise instances their blocks' addresses and their data are copied there, and
//! the kernel runs over as many as there are.

use std::ops::Range;

use residua_base::error::{Error, ErrorCode, Result};
use residua_base::list::Listed;
use residua_linalg::JacobianFactor;

use super::blocks::{Blocks, NONE};
use crate::eval::cpu::{CpuEngine, Memory};
use crate::model::access_plan::Entry;
use crate::model::least_squares::{LocalTable, columns_of_entries};
use crate::model::losses::LossParameters;
use crate::model::{Batch, Model};

/// An instance: its template and its number among the template's.
pub(super) type Instance = (u32, u32);

/// The instances of a template.
struct Template {
    /// Blocks of an instance.
    slots: usize,
    columns: usize,
    /// Of each entry of J̃ that is not always 0 its output, its number among those of the blocks, its column in the local table, and whether that is to be negated.
    entries: Vec<(u32, u32, u32, bool)>,
    /// The local table of the stage.
    local: Vec<f64>,
    /// Instance after instance their blocks, data, numbers in the residual block, and factors.
    blocks: Vec<u32>,
    data: Vec<f64>,
    numbers: Vec<u32>,
    factors: Vec<u32>,
    is_removed: Vec<bool>,
}

/// All instances.
pub(super) struct InstanceSet {
    model: Model,
    engine: CpuEngine,
    templates: Vec<Template>,
    /// The instances of each block of parameters.
    of_block: Vec<Vec<Instance>>,
}

impl InstanceSet {
    pub async fn new(model: Model) -> Result<InstanceSet> {
        let mut engine = CpuEngine::new();
        engine.prepare(&model, Entry::Linearise).await?;
        let template = |batch: &Batch| {
            let table = LocalTable::of(&batch.class);
            let local = vec![0.0; table.corrected(table.outputs) as usize * batch.count as usize];
            Template {
                slots: batch.class.block_dims.len(),
                columns: batch.class.data as usize,
                entries: columns_of_entries(&batch.class),
                local,
                blocks: Vec::new(),
                data: Vec::new(),
                numbers: Vec::new(),
                factors: Vec::new(),
                is_removed: Vec::new(),
            }
        };
        let templates = model.batches.iter().map(template).list();
        Ok(InstanceSet { model, engine, templates, of_block: Vec::new() })
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    fn template(&mut self, template: u32) -> Result<&mut Template> {
        self.templates.get_mut(template as usize).ok_or_else(|| Error::internal("instances of no template"))
    }

    /// Adds instances of blocks of which there are so many; gives their numbers in the template.
    pub fn add(
        &mut self,
        template: u32,
        numbers: &[u32],
        blocks: &[u32],
        data: &[f64],
        all_blocks: usize,
    ) -> Result<Range<u32>> {
        let of = self.template(template)?;
        let count = numbers.len();
        let fits = blocks.len() == count * of.slots && data.len() == count * of.columns;
        if !fits || blocks.iter().any(|&block| block as usize >= all_blocks) {
            return Err(Error::internal("instances whose tables do not fit their template"));
        }
        let first = of.numbers.len() as u32;
        of.blocks.extend_from_slice(blocks);
        of.data.extend_from_slice(data);
        of.numbers.extend_from_slice(numbers);
        of.factors.resize(of.numbers.len(), NONE);
        of.is_removed.resize(of.numbers.len(), false);
        let slots = of.slots.max(1);
        self.of_block.resize(all_blocks, Vec::new());
        for (instance, blocks) in (first..).zip(blocks.chunks_exact(slots)) {
            for (slot, &block) in blocks.iter().enumerate() {
                if !blocks[..slot].contains(&block) {
                    self.of_block[block as usize].push((template, instance));
                }
            }
        }
        Ok(first..first + count as u32)
    }

    pub fn set_data(&mut self, template: u32, data: &[f64]) -> Result<()> {
        let of = self.template(template)?;
        if data.len() != of.data.len() {
            return Err(Error::internal("data for another number of instances"));
        }
        of.data.copy_from_slice(data);
        Ok(())
    }

    /// Changes the tables; gives the templates that read them.
    pub fn set_tables(&mut self, first: usize, numbers: &[f64]) -> Result<Vec<u32>> {
        let beyond = || Error::internal("numbers beyond the tables");
        self.model.tables.get_mut(first..first + numbers.len()).ok_or_else(beyond)?.copy_from_slice(numbers);
        let batches = (0..).zip(&self.model.batches);
        Ok(batches.filter(|(_, batch)| batch.class.tables > 0).map(|(number, _)| number).list())
    }

    pub fn set_block(&mut self, block: u32, weight: f64, loss: LossParameters, enabled: bool) -> Result<()> {
        let of = self.model.blocks.get_mut(block as usize).ok_or_else(|| Error::internal("settings of no block"))?;
        (of.weight, of.loss, of.enabled) = (weight, loss, enabled);
        Ok(())
    }

    /// All instances that are not removed, with their residual blocks.
    pub fn all(&self) -> impl Iterator<Item = (Instance, u32)> + '_ {
        (0..).zip(self.templates.iter().zip(&self.model.batches)).flat_map(|(number, (template, batch))| {
            let own = (0..).zip(&template.is_removed).filter(|(_, is_removed)| !**is_removed);
            own.map(move |(instance, _)| ((number, instance), batch.block))
        })
    }

    /// The instances of some blocks of parameters.
    pub fn of_blocks<'a>(&'a self, blocks: &'a [u32]) -> impl Iterator<Item = Instance> + 'a {
        let of = |block: &u32| self.of_block.get(*block as usize).map_or(&[][..], Vec::as_slice);
        blocks.iter().flat_map(move |block| of(block).iter().copied())
    }

    pub fn factor(&self, template: u32, instance: u32) -> u32 {
        self.templates[template as usize].factors[instance as usize]
    }

    pub fn set_factor(&mut self, template: u32, instance: u32, factor: u32) {
        self.templates[template as usize].factors[instance as usize] = factor;
    }

    /// An error unless each of the instances is there, once.
    pub fn check_removal(&mut self, instances: &[Instance]) -> Result<()> {
        let mut once = instances.to_vec();
        once.sort_unstable();
        let twice = once.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        let is_there = |&(template, instance): &Instance| {
            let of = self.templates.get(template as usize);
            of.and_then(|of| of.is_removed.get(instance as usize)) == Some(&false)
        };
        let gone = instances.iter().copied().find(|instance| !is_there(instance)).or(twice);
        let Some((template, instance)) = gone else { return Ok(()) };
        self.template(template)?;
        Err(Error::invalid_argument(format!(
            "remove: instances got {} a second time; it takes each instance once",
            self.name((template, instance))
        )))
    }

    /// What errors call an instance.
    pub fn name(&self, (template, instance): Instance) -> String {
        let number = self.templates[template as usize].numbers.get(instance as usize).copied().unwrap_or(instance);
        let block = self.model.batches[template as usize].block;
        format!("instance {number} of '{}'", self.model.blocks[block as usize].name)
    }

    /// Takes instances away; gives the factors that they have.
    pub fn remove(&mut self, instances: &[Instance]) -> Vec<u32> {
        let (mut blocks, mut factors) = (Vec::new(), Vec::new());
        for &(template, instance) in instances {
            let of = &mut self.templates[template as usize];
            blocks.extend_from_slice(&of.blocks[instance as usize * of.slots..][..of.slots]);
            of.is_removed[instance as usize] = true;
            factors.push(std::mem::replace(&mut of.factors[instance as usize], NONE));
        }
        // Once for each block: one may have all instances.
        blocks.sort_unstable();
        blocks.dedup();
        for block in blocks {
            let mut own = std::mem::take(&mut self.of_block[block as usize]);
            own.retain(|&instance| !self.is_removed(instance));
            self.of_block[block as usize] = own;
        }
        factors
    }

    pub fn is_removed(&self, (template, instance): Instance) -> bool {
        self.templates[template as usize].is_removed[instance as usize]
    }

    /// The factors of instances, in order of their templates; none for those without part in the cost or without variables.
    pub fn linearise(&mut self, instances: &[Instance], blocks: &Blocks) -> Result<Vec<Option<JacobianFactor>>> {
        let mut factors = Vec::with_capacity(instances.len());
        for of_template in instances.chunk_by(|a, b| a.0 == b.0) {
            let stage = of_template.first().and_then(|&(template, _)| self.model.batches.get(template as usize));
            for staged in of_template.chunks(stage.map_or(1, |stage| stage.count.max(1) as usize)) {
                self.linearise_stage(staged, blocks, &mut factors)?;
            }
        }
        Ok(factors)
    }

    fn linearise_stage(
        &mut self,
        staged: &[Instance],
        blocks: &Blocks,
        factors: &mut Vec<Option<JacobianFactor>>,
    ) -> Result<()> {
        let Some(&(number, _)) = staged.first() else { return Ok(()) };
        let InstanceSet { model, engine, templates, .. } = self;
        let (template, batch) = (&mut templates[number as usize], &mut model.batches[number as usize]);
        if !model.blocks[batch.block as usize].takes_part() {
            factors.resize_with(factors.len() + staged.len(), || None);
            return Ok(());
        }
        let stride = batch.count as usize;
        for (k, &(_, instance)) in staged.iter().enumerate() {
            let own = &template.blocks[instance as usize * template.slots..][..template.slots];
            own.iter().enumerate().for_each(|(slot, &block)| batch.indices[slot * stride + k] = blocks.address(block));
            let data = &template.data[instance as usize * template.columns..][..template.columns];
            data.iter().enumerate().for_each(|(column, &datum)| batch.data[column * stride + k] = datum);
        }
        let range = Some(0..staged.len() as u32);
        let memory = Memory { x: blocks.numbers(), local: &mut template.local, instances: range, ..Memory::default() };
        engine.run_prepared(model, number as usize, Entry::Linearise, memory)?;
        let batch = &model.batches[number as usize];
        for (k, &(_, instance)) in staged.iter().enumerate() {
            let factor = template.factor_of(batch, k, instance, blocks);
            if factor.as_ref().is_some_and(|factor| factor.numbers.iter().any(|x| !x.is_finite())) {
                return Err(Error::new(
                    ErrorCode::NonFinite,
                    format!(
                        "update: a residual or derivative of {} is not finite, so the estimates stay as they were; it takes finite ones, and remove() \
                         takes the instance away",
                        self.name((number, instance))
                    ),
                ));
            }
            factors.push(factor);
        }
        Ok(())
    }
}

impl Template {
    /// The factor of an instance from its place in the stage.
    fn factor_of(&self, batch: &Batch, k: usize, instance: u32, blocks: &Blocks) -> Option<JacobianFactor> {
        let own = &self.blocks[instance as usize * self.slots..][..self.slots];
        let class = &batch.class;
        let (table, rows, stride) = (LocalTable::of(class), class.outputs.len(), batch.count as usize);
        // The variables, each once, with their first columns; and for each number of the blocks its column.
        let mut variables: Vec<u32> = Vec::with_capacity(own.len());
        let mut firsts: Vec<u32> = Vec::with_capacity(own.len());
        let mut columns = vec![NONE; table.width as usize];
        let (mut next, mut place) = (0, 0);
        for (&block, &dim) in own.iter().zip(&class.block_dims) {
            let (variable, free) = (blocks.variable(block), blocks.free(block));
            if variable != NONE {
                let known = variables.iter().position(|&other| other == variable);
                let first = match known {
                    Some(position) => firsts[position],
                    None => {
                        variables.push(variable);
                        firsts.push(next);
                        next += free.len() as u32;
                        next - free.len() as u32
                    }
                };
                for (column, &coordinate) in (first..).zip(free) {
                    columns[place + coordinate as usize] = column;
                }
            }
            place += dim as usize;
        }
        if variables.is_empty() {
            return None;
        }
        let mut numbers = vec![0.0; rows * (next as usize + 1)];
        for &(output, place, column, is_negative) in &self.entries {
            let to = columns[place as usize];
            if to != NONE {
                let entry = self.local[column as usize * stride + k];
                numbers[to as usize * rows + output as usize] += if is_negative { -entry } else { entry };
            }
        }
        for output in 0..rows {
            let residual = self.local[table.corrected(output as u32) as usize * stride + k];
            numbers[next as usize * rows + output] = -residual;
        }
        Some(JacobianFactor { variables, rows, numbers })
    }
}
