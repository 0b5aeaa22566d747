//! Incremental smoothing.

use js_sys::{Float64Array, Object, Promise};
use residua_base::list::Listed;
use wasm_bindgen::prelude::*;

use crate::model::losses::LossParameters;
use crate::solve::Smoother;
use residua_base::cooperative::Slices;

use super::error::to_js;
use super::problem::RawProblem;
use super::value::{promise, set};

/// The state of an incremental solve. All calls but its making are done when they return.
#[wasm_bindgen]
pub struct RawSmoother(Smoother);

#[wasm_bindgen]
impl RawSmoother {
    /// Compiles the kernels of a problem with a stage of instances in each template, for [`Smoother::new`].
    pub fn create(problem: RawProblem, threshold: f64, interval: u32) -> Promise {
        promise(async move {
            let create = async {
                let model = problem.into_input().into_model(&Slices::unlimited()).await?;
                Smoother::new(model, threshold, interval).await
            };
            create.await.map(|smoother| RawSmoother(smoother).into()).map_err(to_js)
        })
    }

    /// Adds blocks to an array, of which those with other numbers than 0 in `constant` are constant; gives the number of the first.
    #[wasm_bindgen(js_name = addBlocks)]
    pub fn add_blocks(&mut self, array: u32, numbers: &[f64], constant: &[u8]) -> Result<u32, JsValue> {
        self.0.add_blocks(array, numbers, constant).map_err(to_js)
    }

    /// Adds instances to a template: for each its number in the residual block, its blocks, and its data.
    #[wasm_bindgen(js_name = addInstances)]
    pub fn add_instances(
        &mut self,
        template: u32,
        numbers: &[u32],
        blocks: &[u32],
        data: &[f64],
    ) -> Result<(), JsValue> {
        self.0.add_instances(template, numbers, blocks, data).map_err(to_js)
    }

    /// Gives all instances of a template other data, instance after instance.
    #[wasm_bindgen(js_name = setData)]
    pub fn set_data(&mut self, template: u32, data: &[f64]) -> Result<(), JsValue> {
        self.0.set_data(template, data).map_err(to_js)
    }

    /// Changes the numbers of tables, from `first` on.
    #[wasm_bindgen(js_name = setTables)]
    pub fn set_tables(&mut self, first: u32, numbers: &[f64]) -> Result<(), JsValue> {
        self.0.set_tables(first, numbers).map_err(to_js)
    }

    /// Changes the settings of a residual block.
    #[wasm_bindgen(js_name = setBlock)]
    #[allow(clippy::too_many_arguments, reason = "numbers, which pass without an object around them")]
    pub fn set_block(
        &mut self,
        block: u32,
        weight: f64,
        kind: &str,
        a: f64,
        b: f64,
        factor: f64,
        enabled: bool,
    ) -> Result<(), JsValue> {
        let loss = LossParameters::new(kind, a, b, factor).map_err(to_js)?;
        self.0.set_block(block, weight, loss, enabled).map_err(to_js)
    }

    /// Takes instances away, each given by its template and its number there.
    pub fn remove(&mut self, templates: &[u32], instances: &[u32]) -> Result<(), JsValue> {
        let instances = templates.iter().copied().zip(instances.iter().copied()).list();
        self.0.remove(&instances).map_err(to_js)
    }

    /// Takes blocks away, and leaves what their instances say of the others.
    pub fn marginalise(&mut self, blocks: &[u32]) -> Result<(), JsValue> {
        self.0.marginalise(blocks).map_err(to_js)
    }

    /// Takes in all changes; gives `{ relinearised, eliminated, solved }`.
    pub fn update(&mut self) -> Result<JsValue, JsValue> {
        let report = self.0.update().map_err(to_js)?;
        let object = Object::new();
        set(&object, "relinearised", report.relinearised as f64);
        set(&object, "eliminated", report.eliminated as f64);
        set(&object, "solved", report.solved as f64);
        Ok(object.into())
    }

    /// The estimates of blocks of one array.
    pub fn estimate(&self, blocks: &[u32]) -> Result<Float64Array, JsValue> {
        self.0.estimate(blocks).map(|numbers| Float64Array::from(numbers.as_slice())).map_err(to_js)
    }

    /// The joint covariance of blocks, row after row.
    pub fn covariance(&mut self, blocks: &[u32]) -> Result<Float64Array, JsValue> {
        self.0.covariance(blocks).map(|numbers| Float64Array::from(numbers.as_slice())).map_err(to_js)
    }
}
