use super::*;

mod cases;
mod elements;
mod products;
mod rows;
mod scans;
mod sorts;

#[test]
fn every_text_is_portable() {
    let kernels = cases::all().into_iter().chain(products::of_quantised());
    let texts = kernels.map(|kernel| write(&kernel, &Limits::default()).unwrap().text);
    for text in texts.collect::<std::collections::BTreeSet<String>>() {
        residua_portable::validated(&text);
    }
}

#[test]
fn every_text_is_portable_with_a_buffer_in_windows() {
    let limits = Limits::default();
    let mut texts = std::collections::BTreeSet::new();
    for (number, kernel) in cases::all().into_iter().chain(products::of_quantised()).enumerate() {
        let count = kernel.buffers.len();
        if count == limits.storage_buffers as usize {
            continue;
        }
        // Each kernel has one in turn.
        let counts = (0..count).map(|position| if position == number % count { 2 } else { 1 }).collect();
        let text = write_in_windows(&kernel, &limits, &Windows { bytes: 256, counts }).unwrap();
        assert_eq!(text.bindings.len(), count + 2);
        texts.insert(text.text);
    }
    for text in texts {
        residua_portable::validated(&text);
    }
}

#[test]
fn more_windows_than_bindings_are_refused() {
    let kernel = cases::all().into_iter().find(|kernel| kernel.buffers.len() == 3).unwrap();
    let windows = Windows { bytes: 256, counts: vec![3, 3, 3] };
    let error = write_in_windows(&kernel, &Limits::default(), &windows).unwrap_err();
    assert_eq!(error.code, ErrorCode::LimitExceeded);
    assert!(error.message.contains("bound in 9 parts of at most 256 bytes; the device binds 8"), "{}", error.message);
}

#[test]
fn texts_are_the_golden_ones() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/wgsl/tests/golden");
    for (name, kernel) in cases::golden().into_iter().chain(products::golden()).chain(sorts::golden()) {
        let text = write(&kernel, &Limits::default()).unwrap().text;
        let path = folder.join(format!("{name}.wgsl"));
        if std::env::var_os("RESIDUA_BLESS").is_some_and(|value| value == "1") {
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text == golden, "{name}.wgsl differs; RESIDUA_BLESS=1 accepts it:\n{text}");
    }
}
