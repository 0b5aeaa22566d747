//! Attention: templates for the loops, and generated functions for queries, keys, values, scores, and what becomes of the result.

use residua_base::error::Result;
use residua_base::list::Listed;
use residua_codegen::template_parameters;
use residua_codegen::wgsl::{Parameters, Template};

use super::batch;
use super::module::{GUARD_ZERO, Module, shader};
use super::text::KernelText;
use super::workgroups::{Factor, Workgroups};
use crate::kernel::{Attention, AttentionSchedule, CausalMask, Extent};

mod functions;

/// The score of a key that is not seen, as a literal: that of [`Attention::LEAST_SCORE`].
const LEAST: &str = "-0x1p+127f";

template_parameters! {
    /// Parameters of `attention.wgsl` and `attention_blocks.wgsl`.
    struct AttentionTemplate {
        queries: String,
        keys: String,
        size: u32,
        size_steps: u32,
        width: u32,
        value_vectors: u32,
        value_groups: u32,
        value_loads: u32,
        value_partial: bool,
        parts: u32,
        limited: bool,
        position: String,
        windowed: bool,
        window: u32,
        least: String,
        batches: String,
        batch_coordinates: String,
        batch_arguments: String,
    }
}

/// Writes the kernel.
pub fn write(mut module: Module, attention: &Attention) -> Result<KernelText> {
    let (functions, template, divisors) = match attention.schedule {
        AttentionSchedule::Tiles => (functions::of_tiles(&mut module, attention), shader!("attention"), [64, 0]),
        AttentionSchedule::Blocks => {
            (functions::of_blocks(&mut module, attention), shader!("attention_blocks"), [1, Attention::BLOCK])
        }
    };
    let parameters = parameters(&module, attention);
    Ok(finish(module, attention, template, &parameters, &functions, divisors))
}

fn parameters(module: &Module, attention: &Attention) -> AttentionTemplate {
    let Attention { queries, keys, size, width, limits, .. } = *attention;
    let value_vectors = width / 4;
    let position = match limits {
        Some(CausalMask { position: position @ Extent::Word(_), .. }) => {
            format!("bitcast<i32>({})", module.extent(position))
        }
        Some(CausalMask { position: Extent::Known(number), .. }) => format!("{number}i"),
        None => String::new(),
    };
    let window = limits.and_then(|limits| limits.window);
    AttentionTemplate {
        queries: module.extent(queries),
        keys: module.extent(keys),
        size,
        size_steps: size.div_ceil(16),
        width,
        value_vectors,
        value_groups: value_vectors.div_ceil(16),
        value_loads: (16 * value_vectors).div_ceil(128),
        value_partial: !value_vectors.is_multiple_of(8),
        parts: 128 / value_vectors,
        limited: limits.is_some(),
        position,
        windowed: window.is_some(),
        window: window.unwrap_or_default(),
        least: LEAST.to_owned(),
        batches: batch::count(module, &attention.batch),
        batch_coordinates: batch::coordinates(module, &attention.batch),
        batch_arguments: batch::arguments(&attention.batch),
    }
}

/// The text of a template and the functions that it calls, with workgroups for so many queries, and for so many keys if these are counted.
fn finish(
    mut module: Module,
    attention: &Attention,
    template: Template<'static>,
    parameters: &dyn Parameters,
    functions: &str,
    [queries, keys]: [u32; 2],
) -> KernelText {
    let (mut text, bindings) = module.head();
    module.program.read_guard_from(GUARD_ZERO);
    module.program.push("\n");
    module.program.push_template(template, &[], parameters);
    module.program.push(functions);
    text += &std::mem::take(&mut module.program).finish();
    let batch = attention.batch.iter().map(|extent| Factor { extent: *extent, divisor: 1 });
    let mut factors: Vec<Factor> = batch.list();
    factors.push(Factor { extent: attention.queries, divisor: queries });
    if keys > 0 {
        factors.push(Factor { extent: attention.keys, divisor: keys });
    }
    KernelText { text, bindings, workgroups: Workgroups::new(factors, 1) }
}
