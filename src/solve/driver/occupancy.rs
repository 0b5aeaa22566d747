//! Whether compiled functions are free: one call at a time, changes between calls, nothing after dispose.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use residua_base::error::{Error, ErrorCode, Result};

/// Something that takes one call at a time. Clones are handles of one state.
pub struct Occupancy<T>(Rc<RefCell<State<T>>>);

enum State<T> {
    Idle(T),
    /// A call has taken the content and will put it back.
    Busy,
    Disposed,
}

/// What takes calls.
#[allow(async_fn_in_trait, reason = "futures stay on one thread")]
pub trait Callable {
    /// What a call begins with.
    type Call;
    /// Prepares for a call.
    async fn begin(&mut self, call: Self::Call) -> Result<()>;
    /// Ends a call, successful or not.
    fn end(&mut self);
}

impl<T> Clone for Occupancy<T> {
    fn clone(&self) -> Occupancy<T> {
        Occupancy(self.0.clone())
    }
}

impl<T> Occupancy<T> {
    /// Content that is free.
    pub fn new(content: T) -> Occupancy<T> {
        Occupancy(Rc::new(RefCell::new(State::Idle(content))))
    }

    /// Works on the content between calls.
    ///
    /// # Errors
    /// `disposed` after [`Occupancy::dispose`]; `internal` during a call, which the facade prevents; those of the work.
    pub fn change<R>(&self, work: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        match &mut *self.0.borrow_mut() {
            State::Idle(content) => work(content),
            State::Disposed => Err(disposed()),
            State::Busy => Err(Error::internal("changed while a call was running")),
        }
    }

    /// Frees the content. A call that is running frees it when it ends.
    pub fn dispose(&self) {
        let old = self.0.replace(State::Disposed);
        drop(old);
    }

    fn take(&self) -> Result<T> {
        let mut state = self.0.borrow_mut();
        match std::mem::replace(&mut *state, State::Busy) {
            State::Idle(content) => Ok(content),
            State::Busy => Err(Error::internal("a second call began before the first had ended")),
            State::Disposed => {
                *state = State::Disposed;
                Err(disposed())
            }
        }
    }

    fn put_back(&self, content: T) {
        let mut state = self.0.borrow_mut();
        if matches!(*state, State::Busy) {
            *state = State::Idle(content);
        }
    }
}

impl<T: Callable> Occupancy<T> {
    /// Runs a call: takes the content out, prepares it for what `begin` returns, and puts it back with the result of `work`. `refuse` converts
    /// an error before the work: `disposed` after [`Occupancy::dispose`], `internal` during another call, which the facade prevents, and an
    /// error of the preparation.
    pub async fn call<R, E, F: Future<Output = (T, Result<R, E>)>>(
        &self,
        begin: impl FnOnce() -> T::Call,
        refuse: fn(Error) -> E,
        work: impl FnOnce(T) -> F,
    ) -> Result<R, E> {
        let mut content = self.take().map_err(refuse)?;
        let (mut content, result) = match content.begin(begin()).await {
            Ok(()) => work(content).await,
            Err(error) => (content, Err(refuse(error))),
        };
        content.end();
        self.put_back(content);
        result
    }
}

fn disposed() -> Error {
    Error::new(ErrorCode::Disposed, "the compiled functions are disposed")
}

#[cfg(test)]
mod tests {
    use std::convert::identity;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use residua_base::cooperative::run_synchronously as block_on;

    use super::*;

    /// Content that notes what happens to it.
    struct Noting(Rc<RefCell<Vec<&'static str>>>);

    impl Callable for Noting {
        type Call = Option<ErrorCode>;

        async fn begin(&mut self, refusal: Option<ErrorCode>) -> Result<()> {
            self.0.borrow_mut().push("begin");
            refusal.map_or(Ok(()), |code| Err(Error::new(code, "refused")))
        }

        fn end(&mut self) {
            self.0.borrow_mut().push("end");
        }
    }

    impl Drop for Noting {
        fn drop(&mut self) {
            self.0.borrow_mut().push("drop");
        }
    }

    type Notes = Rc<RefCell<Vec<&'static str>>>;

    fn noting() -> (Occupancy<Noting>, Notes) {
        let notes = Notes::default();
        (Occupancy::new(Noting(notes.clone())), notes)
    }

    fn call(occupancy: &Occupancy<Noting>, refusal: Option<ErrorCode>, result: Result<u32>) -> Result<u32> {
        block_on(occupancy.call(|| refusal, identity, async |content| (content, result)))
    }

    fn code<T>(result: Result<T>) -> Option<ErrorCode> {
        result.err().map(|error| error.code)
    }

    #[test]
    fn calls_follow_each_other_whatever_they_end_with() {
        let (occupancy, notes) = noting();
        assert_eq!(call(&occupancy, None, Ok(1)), Ok(1));
        assert_eq!(code(call(&occupancy, None, Err(Error::internal("wrong")))), Some(ErrorCode::Internal));
        assert_eq!(call(&occupancy, None, Ok(2)), Ok(2));
        assert_eq!(*notes.borrow(), ["begin", "end"].repeat(3));
    }

    #[test]
    fn a_call_and_a_change_during_a_call_are_refused_and_do_not_disturb_it() {
        let (occupancy, notes) = noting();
        let mut is_first = true;
        let waiting =
            std::future::poll_fn(move |_| if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) });
        let mut running = pin!(occupancy.call(
            || None,
            identity,
            async |content| {
                waiting.await;
                (content, Result::Ok(3))
            }
        ));
        let mut task = Context::from_waker(Waker::noop());
        assert!(running.as_mut().poll(&mut task).is_pending());
        assert_eq!(code(call(&occupancy, None, Ok(4))), Some(ErrorCode::Internal));
        assert_eq!(code(occupancy.change(|_| Ok(()))), Some(ErrorCode::Internal));
        assert_eq!(running.as_mut().poll(&mut task), Poll::Ready(Ok(3)));
        assert_eq!(call(&occupancy, None, Ok(5)), Ok(5));
        assert!(occupancy.change(|_| Ok(())).is_ok());
        assert!(!notes.borrow().contains(&"drop"));
    }

    #[test]
    fn after_dispose_calls_and_changes_reject_with_disposed() {
        let (occupancy, notes) = noting();
        occupancy.dispose();
        assert_eq!(*notes.borrow(), ["drop"]);
        for _ in 0..2 {
            assert_eq!(code(call(&occupancy, None, Ok(1))), Some(ErrorCode::Disposed));
            assert_eq!(code(occupancy.change(|_| Ok(()))), Some(ErrorCode::Disposed));
        }
        occupancy.dispose();
        assert_eq!(notes.borrow().len(), 1, "freed once");
    }

    #[test]
    fn a_call_that_was_running_at_dispose_ends_and_frees_the_content() {
        let (occupancy, notes) = noting();
        let disposed_within = occupancy.clone();
        let result: Result<u32> = block_on(occupancy.call(
            || None,
            identity,
            async |content| {
                disposed_within.dispose();
                (content, Ok(6))
            },
        ));
        assert_eq!(result, Ok(6));
        assert_eq!(*notes.borrow(), ["begin", "end", "drop"]);
        assert_eq!(code(call(&occupancy, None, Ok(1))), Some(ErrorCode::Disposed));
    }

    #[test]
    fn after_a_loss_every_call_says_so_until_dispose() {
        let (occupancy, notes) = noting();
        for _ in 0..2 {
            assert_eq!(code(call(&occupancy, Some(ErrorCode::DeviceLost), Ok(1))), Some(ErrorCode::DeviceLost));
        }
        assert_eq!(*notes.borrow(), ["begin", "end"].repeat(2));
        occupancy.dispose();
        assert_eq!(code(call(&occupancy, Some(ErrorCode::DeviceLost), Ok(1))), Some(ErrorCode::Disposed));
    }
}
