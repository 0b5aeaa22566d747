//! The choice of an engine over fake devices and engines.

use std::cell::{Cell, RefCell};

use residua_base::cooperative::run_synchronously as block_on;
use residua_base::error::{Error, ErrorCode, Result};
use residua_codegen::Width;
use residua_gpu::Speed;

use super::backend::{Assignment, Backend, Devices, EngineRequest, choose};
use super::engine::{EngineKit, make_engine};
use super::progress::{Progress, ProgressListener, Stage};
use crate::eval::choice::{Extent, Measured};

/// A page with or without WebGPU, whose request of a device ends as told: with whether the adapter is software, or with an error.
struct Page {
    has_webgpu: bool,
    answer: Result<bool>,
    requests: u32,
}

impl Devices for Page {
    type Device = bool;

    fn may_exist(&self) -> bool {
        self.has_webgpu
    }

    async fn request(&mut self) -> Result<bool> {
        self.requests += 1;
        self.answer.clone()
    }

    fn is_software(&self, device: &bool) -> bool {
        *device
    }
}

fn page(answer: Result<bool>) -> Page {
    Page { has_webgpu: true, answer, requests: 0 }
}

fn no_webgpu() -> Page {
    let answer = Err(Error::new(ErrorCode::GpuUnavailable, "no navigator.gpu"));
    Page { has_webgpu: false, answer, requests: 0 }
}

fn request(backend: Backend, workload: f64, threshold: Option<f64>) -> EngineRequest {
    EngineRequest { backend, workload, threshold, fewest: 100.0, width: Width::Single }
}

/// Whether the device is taken, and why not.
fn chosen(page: &mut Page, request: &EngineRequest) -> (bool, Option<String>) {
    let Assignment { device, reason, .. } = block_on(choose(request, page)).unwrap();
    (device.is_some(), reason)
}

#[test]
fn public_names_are_backends() {
    let found = ["auto", "gpu", "cpu", "tpu"].map(Backend::from_name);
    assert_eq!(found, [Some(Backend::Auto), Some(Backend::Device), Some(Backend::Host), None]);
}

#[test]
fn auto_without_webgpu_takes_the_host_and_names_what_is_missing_for_any_workload() {
    for workload in [1.0, 1e6] {
        let auto = request(Backend::Auto, workload, None);
        assert_eq!(chosen(&mut no_webgpu(), &auto), (false, Some("no navigator.gpu".to_owned())));
    }
}

#[test]
fn auto_takes_the_host_for_few_residuals_and_requests_no_device() {
    for (workload, threshold, least) in
        [(99.0, None, "100"), (1e6, Some(1e6 + 1.0), "1000001"), (5.0, Some(f64::INFINITY), "Infinity")]
    {
        let mut page = page(Ok(false));
        let (on_device, reason) = chosen(&mut page, &request(Backend::Auto, workload, threshold));
        let reason = reason.unwrap();
        assert!(!on_device && page.requests == 0);
        let words = format!("residuals: {workload}, fewer than the fallback threshold of {least} ");
        assert!(reason.starts_with(&words), "{reason}");
    }
}

#[test]
fn auto_takes_the_device_from_the_threshold_on_and_measures_where_the_caller_named_none() {
    for (threshold, workload) in [(None, 100.0), (Some(7.0), 7.0), (Some(0.0), 0.0)] {
        let mut page = page(Ok(false));
        let found = block_on(choose(&request(Backend::Auto, workload, threshold), &mut page)).unwrap();
        assert_eq!((found.device, found.reason, found.measures), (Some(false), None, threshold.is_none()));
    }
}

#[test]
fn auto_refuses_a_software_adapter_unless_the_caller_named_a_threshold() {
    let (on_device, reason) = chosen(&mut page(Ok(true)), &request(Backend::Auto, 1e6, None));
    assert!(!on_device && reason.unwrap().contains("emulated in software"));
    assert_eq!(chosen(&mut page(Ok(true)), &request(Backend::Auto, 1e6, Some(100.0))), (true, None));
    assert_eq!(chosen(&mut page(Ok(true)), &request(Backend::Device, 1.0, None)), (true, None));
}

#[test]
fn a_refused_request_is_a_reason_for_auto_and_an_error_for_gpu() {
    let refusal = || page(Err(Error::new(ErrorCode::GpuUnavailable, "no adapter")));
    let auto = request(Backend::Auto, 1e6, None);
    assert_eq!(chosen(&mut refusal(), &auto), (false, Some("no adapter".to_owned())));
    let error = block_on(choose(&request(Backend::Device, 1e6, None), &mut refusal())).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::GpuUnavailable, "no adapter"));
    // Any other error is an error of the call: a context that was disposed, an instance that has failed.
    for backend in [Backend::Auto, Backend::Device] {
        let mut page = page(Err(Error::new(ErrorCode::Disposed, "used after dispose()")));
        let error = block_on(choose(&request(backend, 1e6, None), &mut page)).unwrap_err();
        assert_eq!(error.code, ErrorCode::Disposed);
    }
}

#[test]
fn cpu_requests_nothing_and_has_no_reason() {
    let mut page = page(Ok(false));
    assert_eq!(chosen(&mut page, &request(Backend::Host, 1e9, None)), (false, None));
    assert_eq!(page.requests, 0);
}

/// Runs work that fails on a device with `code`. Returns the result, and where the work ran.
fn run(backend: Backend, code: ErrorCode) -> (Result<(u32, Option<String>)>, Vec<bool>) {
    let mut runs = Vec::new();
    let assignment = block_on(choose(&request(backend, 1e6, None), &mut page(Ok(false)))).unwrap();
    let result = block_on(assignment.run(async |device: Option<&bool>| {
        runs.push(device.is_some());
        if device.is_some() { Err(Error::new(code, "the figures")) } else { Ok(7) }
    }));
    (result, runs)
}

#[test]
fn auto_runs_on_the_host_what_exceeds_a_limit_of_the_device_or_what_its_arithmetic_does_not_hold() {
    for code in [ErrorCode::LimitExceeded, ErrorCode::GpuUnavailable] {
        let (result, runs) = run(Backend::Auto, code);
        assert_eq!((result.unwrap(), runs), ((7, Some("the figures".to_owned())), vec![true, false]));
        let (result, runs) = run(Backend::Device, code);
        assert_eq!((result.unwrap_err().code, runs), (code, vec![true]));
    }
}

#[test]
fn a_context_that_is_lost_meanwhile_rejects_with_device_lost() {
    for backend in [Backend::Auto, Backend::Device] {
        let (result, runs) = run(backend, ErrorCode::DeviceLost);
        assert_eq!((result.unwrap_err().code, runs), (ErrorCode::DeviceLost, vec![true]), "{backend:?}");
    }
}

#[test]
fn what_exceeds_a_limit_on_the_host_too_rejects() {
    let assignment = block_on(choose(&request(Backend::Auto, 1e6, None), &mut page(Ok(false)))).unwrap();
    let result: Result<((), _)> =
        block_on(assignment.run(async |_: Option<&bool>| Err(Error::new(ErrorCode::LimitExceeded, "anywhere"))));
    assert_eq!(result.unwrap_err().message, "anywhere");
}

/// An engine whose gradients take these times.
#[derive(Clone)]
struct Kit {
    host_ms: f64,
    device_ms: f64,
    residuals: f64,
    /// Which step fails, and with what.
    fails: Option<(&'static str, ErrorCode)>,
    steps: std::rc::Rc<RefCell<Vec<&'static str>>>,
}

fn kit(host_ms: f64, device_ms: f64) -> Kit {
    Kit { host_ms, device_ms, residuals: 1e5, fails: None, steps: std::rc::Rc::default() }
}

impl Kit {
    fn step(&self, name: &'static str) -> Result<()> {
        self.steps.borrow_mut().push(name);
        match self.fails {
            Some((step, code)) if step == name => Err(Error::new(code, name)),
            _ => Ok(()),
        }
    }
}

impl EngineKit for Kit {
    type Device = ();
    type Engine = &'static str;

    fn extent(&self) -> Extent {
        let residuals = self.residuals;
        Extent { params: residuals, residuals, entries: 6.0 * residuals, batches: 1.0, parts: 1.0 }
    }

    async fn measure(&mut self, (): &()) -> Result<Measured> {
        self.step("measure")?;
        let device = Speed { round_trip_ms: 0.15, dispatch_ms: 0.0037, moving_ms: 5.5 };
        Ok(Measured { device, cpu_gradient_ms: self.host_ms, gpu_gradient_ms: None })
    }

    async fn lay_out(&mut self, (): &()) -> Result<()> {
        self.step("lay out")
    }

    async fn compile_for_device(&mut self, progress: &Progress<'_>) -> Result<()> {
        self.step("device")?;
        progress.tell(0.5)
    }

    async fn device_gradient_ms(&mut self) -> Result<f64> {
        self.step("gradient")?;
        Ok(self.device_ms)
    }

    async fn compile_for_host(&mut self) -> Result<()> {
        self.step("host")
    }

    fn into_device_engine(self) -> Result<&'static str> {
        Ok("device")
    }

    fn into_host_engine(self) -> &'static str {
        "host"
    }
}

/// A listener that keeps what it receives, and cancels or throws at a figure.
#[derive(Default)]
struct Recording {
    reports: RefCell<Vec<(u32, u32, &'static str)>>,
    cancels_at: Option<u32>,
    throws_at: Option<u32>,
    calls: Cell<u32>,
}

impl ProgressListener for Recording {
    fn aborted(&self) -> bool {
        self.cancels_at.is_some_and(|figure| self.reports.borrow().last().is_some_and(|last| last.0 >= figure))
    }

    fn report(&self, done: u32, total: u32, stage: &'static str) -> Result<()> {
        self.calls.set(self.calls.get() + 1);
        self.reports.borrow_mut().push((done, total, stage));
        match self.throws_at {
            Some(figure) if done >= figure => Err(Error::new(ErrorCode::Aborted, "onProgress threw")),
            _ => Ok(()),
        }
    }
}

/// Makes an engine. Returns it with the reason, and the steps.
fn make(kit: &Kit, device: Option<&()>, measures: bool) -> (Result<(&'static str, Option<String>)>, Vec<&'static str>) {
    let listener = Recording::default();
    let progress = Progress::new(&listener);
    block_on(progress.enter(Stage::Tables)).unwrap();
    let made = block_on(make_engine(kit.clone(), device, measures, &progress));
    let steps = kit.steps.take();
    (made.map(|made| (made.engine, made.reason)), steps)
}

#[test]
fn an_engine_is_made_where_it_is_assigned_if_nothing_is_measured() {
    let (made, steps) = make(&kit(1.0, 1.0), None, false);
    assert_eq!((made.unwrap(), steps), (("host", None), vec!["host"]));
    let (made, steps) = make(&kit(1.0, 1.0), Some(&()), false);
    assert_eq!((made.unwrap(), steps), (("device", None), vec!["lay out", "device"]));
}

#[test]
fn a_host_that_is_faster_than_any_round_trip_is_taken_before_the_device_compiles() {
    let few = Kit { residuals: 20.0, ..kit(1e-4, 1.0) };
    let (made, steps) = make(&few, Some(&()), true);
    let (engine, reason) = made.unwrap();
    assert_eq!((engine, steps), ("host", vec!["measure", "host"]));
    let reason = reason.unwrap();
    assert!(reason.starts_with("the CPU is faster for every call; estimated milliseconds"), "{reason}");
}

#[test]
fn a_device_that_proves_slower_than_the_host_is_given_up() {
    let (made, steps) = make(&kit(3.0, 1e6), Some(&()), true);
    let (engine, reason) = made.unwrap();
    assert_eq!((engine, steps), ("host", vec!["measure", "lay out", "device", "gradient"]));
    assert!(reason.is_some());
    let (made, _) = make(&kit(300.0, 1.0), Some(&()), true);
    assert_eq!(made.unwrap(), ("device", None));
}

#[test]
fn an_error_of_any_step_is_that_of_the_compile() {
    for step in ["measure", "lay out", "device", "gradient"] {
        for code in [ErrorCode::DeviceLost, ErrorCode::LimitExceeded] {
            let kit = Kit { fails: Some((step, code)), ..kit(300.0, 1.0) };
            let (made, steps) = make(&kit, Some(&()), true);
            assert_eq!(made.unwrap_err().code, code);
            assert_eq!(steps.last(), Some(&step), "nothing is done after it");
        }
    }
}

#[test]
fn progress_never_falls_and_its_stages_are_timed() {
    let listener = Recording::default();
    let progress = Progress::new(&listener);
    for stage in Stage::ALL {
        block_on(progress.enter(stage)).unwrap();
        for done in [0.5, 0.25, 1.0] {
            progress.tell(done).unwrap();
        }
        progress.leave();
    }
    progress.set_apart("trial", 2.0);
    let reports = listener.reports.take();
    assert_eq!(reports.iter().map(|report| report.0).collect::<Vec<_>>(), [0, 50, 100, 100, 150, 200, 200, 250, 300]);
    assert!(reports.iter().all(|report| report.1 == 300));
    assert_eq!([reports[0].2, reports[4].2, reports[8].2], ["group", "tables", "pipelines"]);
    let names: Vec<_> = progress.into_times().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["group", "tables", "pipelines", "trial"]);
}

#[test]
fn a_cancelled_compile_and_a_listener_that_throws_end_with_aborted() {
    for listener in [
        Recording { cancels_at: Some(100), ..Recording::default() },
        Recording { throws_at: Some(100), ..Recording::default() },
    ] {
        let progress = Progress::new(&listener);
        let result = block_on(async {
            progress.enter(Stage::Group).await?;
            progress.tell(1.0)?;
            progress.tell(1.0)
        });
        assert_eq!(result.unwrap_err().code, ErrorCode::Aborted);
        assert_eq!(listener.calls.get(), 2, "no report follows");
    }
}
