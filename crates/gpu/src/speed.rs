//! How fast a device answers. Measured at the first request, in a few milliseconds (some tens with a clock of whole ones), and kept until the context is disposed.
//!
//! Every figure is the least of several, so that a machine that is busy with something else in between does not count.

#[cfg(target_arch = "wasm32")]
use residua_base::list::Listed;
#[cfg(target_arch = "wasm32")]
use std::future::Future;
#[cfg(target_arch = "wasm32")]
use std::pin::{Pin, pin};

#[cfg(target_arch = "wasm32")]
use super::commands::{BindingKind, CommandList, DownloadId};
#[cfg(target_arch = "wasm32")]
use super::{BufferRequest, Context, PipelineRequest, PreparedList, raw::now};
#[cfg(target_arch = "wasm32")]
use residua_base::Result;
#[cfg(target_arch = "wasm32")]
use residua_base::clock::tick_ms;
#[cfg(target_arch = "wasm32")]
#[cfg(target_arch = "wasm32")]
use residua_base::cooperative::join;

/// Milliseconds of what calls on a device are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Speed {
    /// From a submission until a few words of its result are here.
    pub round_trip_ms: f64,
    /// One more dispatch of a small kernel that waits for the one before.
    pub dispatch_ms: f64,
    /// A million numbers to the device or back, conversions from and to double precision included.
    pub moving_ms: f64,
}

/// Numbers that are moved for the measurement.
#[cfg(target_arch = "wasm32")]
const NUMBERS: u32 = 1 << 15;

/// Steps of the clock that a measurement takes at least: it is wrong by one of them.
#[cfg(target_arch = "wasm32")]
const TICKS: f64 = 4.0;

/// Dispatches in a row.
#[cfg(target_arch = "wasm32")]
const DISPATCHES: u32 = 65;

/// What a measurement runs.
#[cfg(target_arch = "wasm32")]
struct Workload {
    /// One small dispatch, and [`DISPATCHES`] of them.
    touching: [PreparedList; 2],
    /// Numbers to the device and back.
    moving: PreparedList,
    moved: DownloadId,
}

#[cfg(target_arch = "wasm32")]
impl Context {
    /// The device's speed. `meanwhile` is done before it is measured, while the device compiles what it is measured by.
    pub async fn speed(&self, meanwhile: Pin<&mut dyn Future<Output = ()>>) -> Result<Speed> {
        if let Some(speed) = self.0.speed.get() {
            meanwhile.await;
            return Ok(speed);
        }
        let (workload, ()) = join(pin!(self.workload()), meanwhile).await;
        let speed = workload?.measure().await?;
        self.0.speed.set(Some(speed));
        Ok(speed)
    }

    async fn workload(&self) -> Result<Workload> {
        const LAYOUT: [BindingKind; 1] = [BindingKind::StorageReadWrite];
        let wgsl = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64) fn touch(@builtin(global_invocation_id) id: vec3u) { x[id.x] = x[id.x] + 1.0; }
";
        let requests = [PipelineRequest { wgsl: wgsl.to_owned(), entry: "touch".to_owned(), layout: LAYOUT.to_vec() }];
        let size = 4 * u64::from(NUMBERS);
        let numbers = [BufferRequest::storage("numbers", size)];
        let pipelines = self.pipelines(&requests, &mut |_, _| Ok(())).await?;
        let buffers = self.allocate(&numbers).await?;
        let touching = |dispatches: u32| {
            let mut list = CommandList::new();
            let x = list.buffer("numbers", size);
            let touch = list.pipeline("touch", &LAYOUT);
            for _ in 0..dispatches {
                list.dispatch(touch, &[list.whole(x)], [1, 1]);
            }
            list.download(list.whole(x).part(0, 16));
            self.bind(&list, &buffers, &pipelines)
        };
        let (one, first) = touching(1)?;
        let (many, second) = touching(DISPATCHES)?;
        let mut list = CommandList::new();
        let x = list.buffer("numbers", size);
        list.upload_argument(list.whole(x));
        let moved = list.download(list.whole(x));
        let (moving, third) = self.bind(&list, &buffers, &[])?;
        for binding in [first, second, third] {
            self.bound(binding).await?;
        }
        Ok(Workload { touching: [one, many], moving, moved })
    }
}

#[cfg(target_arch = "wasm32")]
impl Workload {
    async fn measure(&self) -> Result<Speed> {
        let Workload { touching: [one, many], moving, moved } = self;
        let numbers = vec![1.0_f64; NUMBERS as usize];
        let enough = TICKS * tick_ms();
        let all = least(enough, async || {
            let single: Vec<f32> = numbers.iter().map(|&number| number as f32).list();
            let results = moving.run(&[bytemuck::cast_slice(&single)]).await?;
            let back: Vec<f64> = results.reals(*moved).iter().map(|&number| f64::from(number)).list();
            drop(back);
            Ok(())
        })
        .await?;
        let round_trip = least(enough, async || one.run(&[]).await.map(drop)).await?;
        let chain = least(enough, async || many.run(&[]).await.map(drop)).await?;
        Ok(Speed {
            round_trip_ms: round_trip,
            dispatch_ms: (chain - round_trip).max(0.0) / f64::from(DISPATCHES - 1),
            moving_ms: (all - round_trip).max(0.0) / (2.0 * f64::from(NUMBERS)) * 1e6,
        })
    }
}

/// Milliseconds of a run, the least of a few. Several follow each other where one takes less than `enough` milliseconds.
#[cfg(target_arch = "wasm32")]
async fn least(enough: f64, work: impl AsyncFn() -> Result<()>) -> Result<f64> {
    const ROUNDS: u32 = 4;
    /// Whatever the clock says, which may stand in tests that bring their own.
    const MOST_RUNS: u32 = 256;
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let began = now();
        let mut runs = 0;
        let mut elapsed = 0.0;
        while runs == 0 || (elapsed < enough && runs < MOST_RUNS) {
            work().await?;
            runs += 1;
            elapsed = now() - began;
        }
        least = least.min(elapsed / f64::from(runs));
    }
    Ok(least)
}
