//! The allocator of the module: that of the standard library, which here notes the size of a refused request. After an abort for want of memory
//! that size tells it from other traps.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use wasm_bindgen::prelude::wasm_bindgen;

struct Noting;

#[global_allocator]
static ALLOCATOR: Noting = Noting;

/// Bytes of the latest request, if it was refused; else 0.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

fn note(address: *mut u8, bytes: usize) -> *mut u8 {
    REFUSED.store(if address.is_null() { bytes } else { 0 }, Ordering::Relaxed);
    address
}

// SAFETY: every method passes its arguments to the allocator of the standard library and returns its result.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        unsafe { System.dealloc(address, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(unsafe { System.realloc(address, layout, size) }, size)
    }
}

/// Bytes of the latest request for memory, if it was refused; else 0. Safe to call after a trap.
#[wasm_bindgen(js_name = refusedBytes)]
pub fn refused_bytes() -> f64 {
    REFUSED.load(Ordering::Relaxed) as f64
}

/// Bytes of the module's memory. Safe to call after a trap.
#[wasm_bindgen(js_name = memoryBytes)]
pub fn memory_bytes() -> f64 {
    65_536.0 * core::arch::wasm32::memory_size(0) as f64
}
