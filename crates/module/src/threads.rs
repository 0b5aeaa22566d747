//! The threads of a module, which the facade starts (pkg-template/src/threads).

use std::cell::RefCell;

use residua_base::threads::{self, set_share};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// The threads.
    #[derive(Clone)]
    pub type Pool;
    /// Runs the pieces of a task on all threads.
    #[wasm_bindgen(method)]
    fn tasks(this: &Pool, task: u32, data: u32, pieces: u32);
}

thread_local! {
    static POOL: RefCell<Option<Pool>> = const { RefCell::new(None) };
}

/// Has work be shared by a pool.
#[wasm_bindgen(js_name = setPool)]
pub fn set_pool(pool: Pool) {
    POOL.set(Some(pool));
    set_share(Some(|task, data, pieces| {
        if let Some(pool) = POOL.with_borrow(Option::clone) {
            pool.tasks(task as u32, data as u32, pieces as u32);
        }
    }));
}

/// Runs a piece of a task, on the thread that calls the module and on others.
#[wasm_bindgen(js_name = runPiece)]
pub fn run_piece(task: u32, data: u32, piece: u32) {
    // SAFETY: the pool passes what it was called with, each piece once.
    unsafe { threads::run_piece(task as usize, data as usize, piece as usize) }
}
