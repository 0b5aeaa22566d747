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
