//! Covariance and rank of compiled functions.

use js_sys::{Float64Array, Object, Promise, Uint32Array};
use wasm_bindgen::prelude::*;

use crate::solve::Session;
use crate::solve::{CovarianceOptions, Rank, covariance, rank};

use super::error::to_js;
use super::functions::RawFunctions;
use super::value::set;

#[wasm_bindgen]
impl RawFunctions {
    /// Resolves with the covariance of the blocks that begin at the given parameters, of all blocks if there are none: a square
    /// matrix, row after row. `absoluteSigma` and `robust` are those of the public options.
    pub fn covariance(&self, blocks: Option<Vec<u32>>, absolute_sigma: bool, robust: Option<bool>) -> Promise {
        let options = CovarianceOptions { absolute_sigma, robust };
        self.call(async move |mut session: Box<Session>| {
            let Session { functions, host, .. } = &mut *session;
            let result = covariance(functions, &mut host.model, blocks.as_deref(), options).await;
            (session, result.map(|values| Float64Array::from(values.as_slice()).into()).map_err(to_js))
        })
    }

    /// Resolves with `{ rank, columns, offsets, parameters, values }`: free direction `k` has the entries
    /// `offsets[k] .. offsets[k + 1]` of the last two.
    pub fn rank(&self, tolerance: f64) -> Promise {
        self.call(async move |mut session: Box<Session>| {
            let result = rank(&mut session.functions, &mut session.host.model, tolerance).await;
            (session, result.map(|rank| rank_to_js(&rank)).map_err(to_js))
        })
    }
}

fn rank_to_js(rank: &Rank) -> JsValue {
    let (mut offsets, mut parameters, mut values) = (vec![0u32], Vec::new(), Vec::new());
    for &(parameter, value) in rank.free.iter().flatten() {
        parameters.push(parameter);
        values.push(value);
    }
    for direction in &rank.free {
        offsets.push(offsets.last().map_or(0, |end| end + direction.len() as u32));
    }
    let object = Object::new();
    set(&object, "rank", rank.rank as f64);
    set(&object, "columns", rank.columns as f64);
    set(&object, "offsets", Uint32Array::from(offsets.as_slice()));
    set(&object, "parameters", Uint32Array::from(parameters.as_slice()));
    set(&object, "values", Float64Array::from(values.as_slice()));
    object.into()
}
