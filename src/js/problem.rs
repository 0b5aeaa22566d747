//! Problems on their way in: recorded expressions, tables, names.

use wasm_bindgen::prelude::*;

use crate::batch::{ArrayInfo, BlockInfo, Manifold, Model, Recipe, Tape, group_tape};
use crate::error::{Error, ErrorCode, Result};
use crate::losses::LossParameters;

use super::error::to_js;

/// What is to be compiled.
#[wasm_bindgen]
pub struct RawProblem {
    arrays: Vec<ArrayInfo>,
    blocks: Vec<BlockInfo>,
    form: Form,
    num_params: u32,
}

enum Form {
    /// One tape, one expression a residual.
    Params(Tape),
    /// One expression for each combination of star lengths of each residual block.
    Problem(Vec<Recipe>),
}

impl RawProblem {
    /// Groups what was recorded.
    pub(super) fn into_model(self) -> Result<Model> {
        let RawProblem { arrays, blocks, form, num_params } = self;
        let num_residuals = blocks.iter().map(|block| block.rows).sum();
        let batches = match form {
            Form::Params(tape) => group_tape(tape, num_params, 0, 0)?,
            Form::Problem(recipes) => {
                recipes.into_iter().map(|recipe| recipe.into_batch(&arrays)).collect::<Result<Vec<_>>>()?
            }
        };
        Ok(Model { arrays, blocks, batches, num_params, num_residuals })
    }

    /// Residuals.
    pub(super) fn num_residuals(&self) -> u32 {
        self.blocks.iter().map(|block| block.rows).sum()
    }
}

fn block_info(name: String, instances: u32, first_row: u32, rows: u32) -> BlockInfo {
    BlockInfo { name, instances, first_row, rows, weight: 1.0, loss: LossParameters::squared(), enabled: true }
}

#[wasm_bindgen]
impl RawProblem {
    /// An empty problem.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> RawProblem {
        RawProblem { arrays: Vec::new(), blocks: Vec::new(), form: Form::Problem(Vec::new()), num_params: 0 }
    }

    /// The params form: `paramCount` scalar parameters, and the tape's outputs as residuals.
    #[wasm_bindgen(js_name = fromTape)]
    pub fn from_tape(
        param_count: u32,
        ops: Vec<u8>,
        a: Vec<u32>,
        b: Vec<u32>,
        c: Vec<u32>,
        constants: Vec<f64>,
        outputs: Vec<u32>,
    ) -> Result<RawProblem, JsValue> {
        let rows = outputs.len() as u32;
        let tape = Tape::new(ops, [a, b, c], constants, outputs, param_count, 0).map_err(to_js)?;
        Ok(RawProblem {
            arrays: vec![ArrayInfo {
                name: String::new(),
                dim: 1,
                count: param_count,
                offset: 0,
                manifold: Manifold::Euclidean,
            }],
            blocks: vec![block_info(String::new(), rows, 0, rows)],
            form: Form::Params(tape),
            num_params: param_count,
        })
    }

    /// Adds a parameter array and gives its number.
    #[wasm_bindgen(js_name = addArray)]
    pub fn add_array(&mut self, name: String, dim: u32, count: u32, manifold: &str) -> Result<u32, JsValue> {
        let Some(manifold) = Manifold::from_name(manifold) else {
            return Err(to_js(Error::invalid_argument(format!(
                "parameter array '{name}' has manifold '{manifold}'; it takes 'euclidean', 'unit-quaternion', \
                 'unit-vector' or 'angle'"
            ))));
        };
        let offset = self.num_params;
        let end = count.checked_mul(dim).and_then(|numbers| numbers.checked_add(offset));
        self.num_params = end.ok_or_else(|| {
            to_js(Error::new(
                ErrorCode::LimitExceeded,
                format!("with parameter array '{name}' the problem has more than {} parameters", u32::MAX),
            ))
        })?;
        self.arrays.push(ArrayInfo { name, dim, count, offset, manifold });
        Ok(self.arrays.len() as u32 - 1)
    }

    /// Adds a residual block and gives its number.
    #[wasm_bindgen(js_name = addBlock)]
    pub fn add_block(&mut self, name: String, instances: u32, first_row: u32, rows: u32) -> u32 {
        self.blocks.push(block_info(name, instances, first_row, rows));
        self.blocks.len() as u32 - 1
    }

    /// Adds an expression with its instances to a residual block and gives its number.
    #[wasm_bindgen(js_name = addRecipe)]
    #[allow(clippy::too_many_arguments)]
    pub fn add_recipe(
        &mut self,
        block: u32,
        instances: Vec<u32>,
        rows: Vec<u32>,
        outputs_per_instance: u32,
        slot_arrays: Vec<u32>,
        indices: Vec<u32>,
        data_columns: u32,
        data: Vec<f64>,
        ops: Vec<u8>,
        a: Vec<u32>,
        b: Vec<u32>,
        c: Vec<u32>,
        constants: Vec<f64>,
        outputs: Vec<u32>,
    ) -> Result<u32, JsValue> {
        self.push_recipe(outputs_per_instance, block, |arrays| {
            let parameters = Recipe::parameter_count(&slot_arrays, arrays)?;
            let tape = Tape::new(ops, [a, b, c], constants, outputs, parameters, data_columns)?;
            Ok(Recipe { block, instances, rows, slots: slot_arrays, indices, data_columns, data, tape })
        })
        .map_err(to_js)
    }
}

impl RawProblem {
    fn push_recipe(
        &mut self,
        outputs: u32,
        block: u32,
        make: impl FnOnce(&[ArrayInfo]) -> Result<Recipe>,
    ) -> Result<u32> {
        if block as usize >= self.blocks.len() {
            return Err(Error::internal(format!("a recipe for residual block {block} of {}", self.blocks.len())));
        }
        let recipe = make(&self.arrays)?;
        if recipe.tape.outputs().len() != outputs as usize {
            return Err(Error::internal(format!(
                "a recipe with {outputs} outputs has a tape with {}",
                recipe.tape.outputs().len()
            )));
        }
        let total = self.num_residuals();
        if recipe.rows.iter().any(|&row| row.checked_add(outputs).is_none_or(|end| end > total)) {
            return Err(Error::internal(format!("a recipe has rows beyond the problem's {total} residuals")));
        }
        match &mut self.form {
            Form::Problem(recipes) => {
                recipes.push(recipe);
                Ok(recipes.len() as u32 - 1)
            }
            Form::Params(_) => Err(Error::internal("a recipe was added to a problem in the params form")),
        }
    }
}
