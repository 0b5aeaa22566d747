//! Work in pieces that threads share.
//!
//! Pieces are fixed by the size of a problem, and none depends on another, so that results have the same bits for every number of threads. In a page the
//! threads are workers with the module's memory (pkg-template/src/threads). They have no allocator, no panic hook and nothing of JavaScript: a piece
//! computes in memory that the caller has made.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;

/// Runs a task for every piece of a number of them, on whatever thread, and returns after the last: `share(task, data, pieces)` calls
/// [`run_piece`] with them.
pub type Share = fn(task: usize, data: usize, pieces: usize);

thread_local! {
    static SHARE: Cell<Option<Share>> = const { Cell::new(None) };
}

/// Has the work of this thread be shared, or no more.
pub fn set_share(share: Option<Share>) {
    SHARE.set(share);
}

/// Whether several threads share the work of this one.
pub fn are_several() -> bool {
    SHARE.get().is_some()
}

/// Calls `work` with each of the numbers 0 .. `pieces`, in any order and on any thread.
///
/// A piece neither allocates nor panics, and takes a stack of some kilobytes.
pub fn for_each_piece<W: Fn(usize) + Sync>(pieces: usize, work: W) {
    for_each_piece_if(true, pieces, work);
}

/// The same on this thread alone if all are too little work for several.
pub fn for_each_piece_if<W: Fn(usize) + Sync>(is_long: bool, pieces: usize, work: W) {
    for_each(is_long, pieces, run::<W>, (&raw const work).expose_provenance());
}

/// The same for all kinds of work: the module has this code once.
#[inline(never)]
fn for_each(is_long: bool, pieces: usize, task: Task, data: usize) {
    match SHARE.get() {
        Some(share) if is_long && pieces > 1 => {
            // Memory is that of all threads: a piece that has pieces itself runs them on its own thread.
            SHARE.set(None);
            share(task as *const () as usize, data, pieces);
            SHARE.set(Some(share));
        }
        _ => (0..pieces).for_each(|piece| task(data, piece)),
    }
}

/// Runs a piece of some work.
type Task = fn(data: usize, piece: usize);

/// A piece. Not inlined: the module has the code once, for one thread and for several.
#[inline(never)]
fn run<W: Fn(usize) + Sync>(data: usize, piece: usize) {
    // SAFETY: by the caller of `run_piece`, `data` is the address of such a closure, which lives until all pieces are done.
    let work = unsafe { &*std::ptr::with_exposed_provenance::<W>(data) };
    work(piece);
}

/// Runs a piece.
///
/// # Safety
/// Task and data are those of a call of [`Share`] that has not returned, and nothing else runs this piece.
pub unsafe fn run_piece(task: usize, data: usize, piece: usize) {
    // SAFETY: by the caller, it is the address of an instance of `run`.
    let task = unsafe { std::mem::transmute::<usize, Task>(task) };
    task(data, piece);
}

/// Numbers of which every piece writes others.
pub struct Divided<'a, T> {
    start: *mut T,
    length: usize,
    numbers: PhantomData<&'a mut [T]>,
}

// SAFETY: the users of its parts keep them apart.
unsafe impl<T: Send> Sync for Divided<'_, T> {}

impl<'a, T> Divided<'a, T> {
    /// All of them.
    pub fn new(numbers: &'a mut [T]) -> Divided<'a, T> {
        Divided { start: numbers.as_mut_ptr(), length: numbers.len(), numbers: PhantomData }
    }

    /// Some of them.
    ///
    /// # Safety
    /// The range is within them. Nothing else reads or writes the elements that the caller writes, as long as the slice is used.
    #[expect(clippy::mut_from_ref, reason = "pieces write different elements")]
    pub unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        debug_assert!(range.start <= range.end && range.end <= self.length, "a part within the numbers");
        // SAFETY: by the caller.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.end - range.start) }
    }

    /// Some of them as cells, for pieces whose elements lie between those of other pieces: slices that overlap would be wrong even where each piece
    /// uses its own elements alone.
    ///
    /// # Safety
    /// The range is within them. As long as the cells are used, no other thread writes elements that the caller reads or writes, and none reads those
    /// that it writes.
    pub unsafe fn cells(&self, range: Range<usize>) -> &[Cell<T>] {
        debug_assert!(range.start <= range.end && range.end <= self.length, "a part within the numbers");
        // SAFETY: by the caller; a cell has the layout of its content.
        unsafe { std::slice::from_raw_parts(self.start.add(range.start).cast(), range.end - range.start) }
    }
}

/// Neighbours in one cell, which are read and written together.
#[inline]
pub fn together<T, const N: usize>(cells: &[Cell<T>; N]) -> &Cell<[T; N]> {
    // SAFETY: a cell has the layout of its content.
    unsafe { &*std::ptr::from_ref(cells).cast() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three threads that take pieces in turns.
    fn on_threads(task: usize, data: usize, pieces: usize) {
        std::thread::scope(|scope| {
            for first in 0..3 {
                // SAFETY: each piece is run once, and the scope ends after the last.
                scope.spawn(move || {
                    (first..pieces).step_by(3).for_each(|piece| unsafe { run_piece(task, data, piece) })
                });
            }
        });
    }

    #[test]
    fn each_piece_is_run_once_on_one_thread_and_on_several() {
        for share in [None, Some(on_threads as Share)] {
            set_share(share);
            for pieces in [0, 1, 2, 100] {
                let mut counts = vec![0u32; pieces];
                let divided = Divided::new(&mut counts);
                for_each_piece(pieces, |piece| {
                    // SAFETY: each piece has an element of its own.
                    let own = unsafe { divided.part(piece..piece + 1) };
                    own[0] += 1;
                    let own = Divided::new(own);
                    // SAFETY: these pieces are on one thread.
                    for_each_piece(piece, |_| unsafe { own.part(0..1)[0] += 1 });
                });
                assert!(counts.iter().enumerate().all(|(piece, count)| *count == 1 + piece as u32));
            }
        }
        set_share(None);
    }
}
