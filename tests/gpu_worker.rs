//! The device layer in a worker, where solving belongs that must not hold a page up. Without WebGPU this test fails.
#![cfg(target_arch = "wasm32")]
#![allow(clippy::unwrap_used)]

use residua_gpu::{BufferRequest, CommandList, Context};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

#[wasm_bindgen_test]
async fn a_worker_has_a_context_of_its_own_and_reads_back() {
    let context = Context::create(None, None).await.expect("this test needs WebGPU");
    let buffers = context.allocate(&[BufferRequest::storage("a", 16)]).await.unwrap();
    let mut list = CommandList::new();
    let a = list.buffer("a", 16);
    let whole = list.whole(a);
    let argument = list.upload_argument(whole);
    assert_eq!(argument.index(), 0);
    let download = list.download(whole);
    let prepared = context.prepare(&list, &buffers, &[]).await.unwrap();
    for round in 0..3_u8 {
        let results = prepared.run(&[&[round; 16]]).await.unwrap();
        assert_eq!(results.words(download), [u32::from_ne_bytes([round; 4]); 4]);
    }
    context.dispose();
}
