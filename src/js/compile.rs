//! A compile: engines and progress on their way in.

use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::convert::TryFromJsValue;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::compile::backend::{Backend, Devices, EngineRequest};
use crate::compile::progress::ProgressListener;
use crate::eval::Arithmetic;
use residua_base::error::{Error, ErrorCode, Result};
use residua_codegen::Width;
use residua_gpu::Context;

use super::context::RawContext;
use super::error::from_js;
use super::value::{number, property, text};

/// The listener and the cancellation of the facade.
pub(super) struct Callbacks {
    pub report: Option<Function>,
    pub aborted: Option<Function>,
}

impl ProgressListener for Callbacks {
    fn aborted(&self) -> bool {
        let Some(aborted) = &self.aborted else { return false };
        aborted.call0(&JsValue::NULL).is_ok_and(|answer| answer.is_truthy())
    }

    fn report(&self, done: u32, total: u32, stage: &'static str) -> Result<()> {
        let Some(report) = &self.report else { return Ok(()) };
        report
            .call3(&JsValue::NULL, &done.into(), &total.into(), &stage.into())
            .map(drop)
            .map_err(|_| Error::new(ErrorCode::Aborted, "onProgress threw"))
    }
}

/// The devices of the page: `requestContext` of the facade resolves with a `RawContext`.
pub(super) struct Page(Function);

impl Devices for Page {
    type Device = Context;

    fn may_exist(&self) -> bool {
        let gpu = property(&js_sys::global(), "navigator").and_then(|navigator| property(&navigator, "gpu"));
        gpu.is_ok_and(|gpu| !gpu.is_undefined() && !gpu.is_null())
    }

    async fn request(&mut self) -> Result<Context> {
        let request = self.0.call0(&JsValue::NULL).map_err(|thrown| from_js(&thrown))?;
        let context = JsFuture::from(Promise::resolve(&request)).await.map_err(|thrown| from_js(&thrown))?;
        let context = RawContext::try_from_js_value(context)
            .map_err(|_| Error::internal("requestContext did not resolve with a context"))?;
        Ok(context.context())
    }

    fn is_software(&self, device: &Context) -> bool {
        device.adapter().is_software
    }
}

/// The engine that is asked for, `{ backend, precision, workload, fewest, fallbackThreshold, requestContext }`.
pub(super) fn engine_request(engine: &JsValue) -> Result<(EngineRequest, Page)> {
    let backend = text(engine, "backend").and_then(|name| Backend::from_name(&name));
    let is_in_pairs = text(engine, "precision").is_some_and(|name| name == Arithmetic::F32x2.as_str());
    let request = EngineRequest {
        backend: backend.ok_or_else(|| Error::internal("a backend of an unknown name"))?,
        workload: number(engine, "workload")?.unwrap_or_default(),
        threshold: number(engine, "fallbackThreshold")?,
        fewest: number(engine, "fewest")?.unwrap_or_default(),
        width: if is_in_pairs { Width::Pair } else { Width::Single },
    };
    let request_context = Reflect::get(engine, &"requestContext".into())
        .and_then(wasm_bindgen::JsCast::dyn_into)
        .map_err(|_| Error::internal("requestContext is not a function"))?;
    Ok((request, Page(request_context)))
}
