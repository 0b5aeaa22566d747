//! What a call of a page does to a session before and after its work.

use super::occupancy::Callable;
use crate::eval::Job;
use crate::eval::gpu::NewSharedData;
use crate::solve::session::Session;
use residua_base::error::Result;

/// What a call on a session begins with: data that the application writes on the device from now on, and the kind of call if an engine was
/// chosen by kinds.
pub struct SessionCall {
    /// Data to take over.
    pub new_data: Vec<NewSharedData>,
    /// The kind of call.
    pub job: Option<Job>,
}

impl Callable for Box<Session> {
    type Call = SessionCall;

    async fn begin(&mut self, SessionCall { new_data, job }: SessionCall) -> Result<()> {
        for new in new_data {
            self.functions.share_data(new).await?;
        }
        match job {
            Some(job) => self.functions.enter(job).await,
            None => Ok(()),
        }
    }

    fn end(&mut self) {
        self.functions.leave();
    }
}
