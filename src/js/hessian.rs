//! Hessians of compiled functions.

use js_sys::{Float64Array, Object, Promise, Uint32Array};
use wasm_bindgen::prelude::*;

use crate::eval::Objective;
use crate::solve::Session;

use super::error::to_js;
use super::functions::RawFunctions;
use super::value::set;

fn objective(least_squares: bool) -> Objective {
    if least_squares { Objective::LeastSquares } else { Objective::Sum }
}

#[wasm_bindgen]
impl RawFunctions {
    /// Resolves with `{ entries }`, and with `pattern` with `rowOffsets` and `colIndices` too, which are the same at every call for an objective.
    #[wasm_bindgen(js_name = evaluateHessian)]
    pub fn evaluate_hessian(&self, x: Option<Vec<f64>>, least_squares: bool, pattern: bool) -> Promise {
        self.call(async move |mut session: Box<Session>| {
            let functions = &mut session.functions;
            let entries = functions.evaluate_hessian(objective(least_squares), x.as_deref()).await;
            let result = entries.map(|entries| {
                let object = Object::new();
                set(&object, "entries", Float64Array::from(entries.as_slice()));
                if let (true, Some(pattern)) = (pattern, functions.hessian_pattern(objective(least_squares))) {
                    set(&object, "rowOffsets", Uint32Array::from(pattern.row_offsets.as_slice()));
                    set(&object, "colIndices", Uint32Array::from(pattern.col_indices.as_slice()));
                }
                object.into()
            });
            (session, result.map_err(to_js))
        })
    }

    /// Resolves with the product of the Hessian and a vector.
    #[wasm_bindgen(js_name = evaluateHessianProduct)]
    pub fn evaluate_hessian_product(&self, x: Option<Vec<f64>>, vector: Vec<f64>, least_squares: bool) -> Promise {
        self.call(async move |mut session: Box<Session>| {
            let functions = &mut session.functions;
            let product = functions.evaluate_hessian_product(objective(least_squares), x.as_deref(), &vector).await;
            (session, product.map(|product| Float64Array::from(product.as_slice()).into()).map_err(to_js))
        })
    }
}
