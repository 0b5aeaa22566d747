//! How far a compile is, and whether its caller has cancelled it.

use std::cell::{Cell, RefCell};

use residua_base::clock::now_ms;
use residua_base::cooperative::Yielder;
use residua_base::error::{Error, ErrorCode, Result};

/// A stage of compiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Residuals are grouped by topology.
    Group,
    /// Tables are laid out.
    Tables,
    /// Kernels are compiled.
    Pipelines,
}

impl Stage {
    /// The stages in their order.
    pub const ALL: [Stage; 3] = [Stage::Group, Stage::Tables, Stage::Pipelines];

    /// The name that listeners receive.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Group => "group",
            Stage::Tables => "tables",
            Stage::Pipelines => "pipelines",
        }
    }
}

/// Each stage counts so much.
const STAGE: f64 = 100.0;

/// Receives the progress of a compile.
pub trait ProgressListener {
    /// Whether the caller has cancelled the compile.
    fn aborted(&self) -> bool;
    /// So much of `total` is done, in a stage of this name. An error ends the compile.
    fn report(&self, done: u32, total: u32, stage: &'static str) -> Result<()>;
}

/// The progress of one compile.
pub struct Progress<'a> {
    listener: &'a dyn ProgressListener,
    /// Milliseconds by stage.
    times: RefCell<Vec<(&'static str, f64)>>,
    began: Cell<f64>,
    stage: Cell<Stage>,
    /// The last reported figure. The listener receives no smaller one.
    most: Cell<f64>,
    yielder: Cell<Yielder>,
}

impl<'a> Progress<'a> {
    /// Nothing is done yet.
    pub fn new(listener: &'a dyn ProgressListener) -> Progress<'a> {
        Progress {
            listener,
            times: RefCell::default(),
            began: Cell::new(0.0),
            stage: Cell::new(Stage::Group),
            most: Cell::new(0.0),
            yielder: Cell::default(),
        }
    }

    /// The next stage begins.
    pub async fn enter(&self, stage: Stage) -> Result<()> {
        // The caller's signal can only fire between tasks of the page; a small compile ends before that.
        let mut yielder = self.yielder.take();
        yielder.yield_if_due().await;
        self.yielder.set(yielder);
        self.stage.set(stage);
        self.began.set(now_ms());
        self.tell(0.0)
    }

    /// The stage has ended.
    pub fn leave(&self) {
        self.times.borrow_mut().push((self.stage.get().name(), now_ms() - self.began.get()));
    }

    /// A part of the stage is recorded as a time of its own.
    pub fn set_apart(&self, name: &'static str, ms: f64) {
        self.times.borrow_mut().push((name, ms));
        self.began.set(self.began.get() + ms);
    }

    /// So much of the stage is done, from 0 to 1.
    ///
    /// # Errors
    /// `aborted` when the caller has cancelled the compile; those of the listener.
    pub fn tell(&self, done: f64) -> Result<()> {
        if self.listener.aborted() {
            return Err(Error::new(ErrorCode::Aborted, "the signal fired while compiling"));
        }
        let stage = self.stage.get();
        let done = STAGE * (f64::from(stage as u8) + done);
        if done >= self.most.get() {
            self.most.set(done);
            self.listener.report(done as u32, STAGE as u32 * Stage::ALL.len() as u32, stage.name())?;
        }
        Ok(())
    }

    /// Milliseconds by stage.
    pub fn into_times(self) -> Vec<(&'static str, f64)> {
        self.times.into_inner()
    }
}
