use residua_codegen::wgsl::Access;

use super::*;
use crate::interpret;

mod cases;
mod products;

#[test]
fn every_text_is_portable() {
    let texts = cases::all().into_iter().map(|case| write(&case.kernel, &Limits::default()).unwrap().text);
    for text in texts.collect::<std::collections::BTreeSet<String>>() {
        residua_portable::validated(&text);
    }
}

#[test]
fn texts_are_the_golden_ones() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/wgsl/tests/golden");
    for (name, kernel) in cases::golden().into_iter().chain(products::golden()) {
        let text = write(&kernel, &Limits::default()).unwrap().text;
        let path = folder.join(format!("{name}.wgsl"));
        if std::env::var_os("RESIDUA_BLESS").is_some_and(|value| value == "1") {
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text == golden, "{name}.wgsl differs; RESIDUA_BLESS=1 accepts it:\n{text}");
    }
}

/// Writes texts, inputs and expected outputs to the file that TENSOR_KERNELS names, for a page or a program that runs them.
#[test]
#[ignore = "writes a file"]
fn dump() {
    use std::fmt::Write;
    let Ok(path) = std::env::var("TENSOR_KERNELS") else { return };
    let mut out = String::from("[");
    for (position, case) in cases::all().iter().enumerate() {
        let text = write(&case.kernel, &Limits::default()).unwrap();
        let words = case.words();
        let inputs: Vec<Vec<u8>> = (0..case.lengths.len()).map(|buffer| case.bytes(buffer)).collect();
        let mut expected = inputs.clone();
        interpret::run(&case.kernel, &words, &mut expected).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let kinds: Vec<u32> = text
            .bindings
            .iter()
            .map(|access| match access {
                Access::Read => 0,
                Access::ReadWrite => 1,
                Access::Uniform => 2,
            })
            .collect();
        let dtypes: Vec<&str> = case.kernel.buffers.iter().map(|buffer| buffer.dtype.name()).collect();
        let hex = |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let (inputs, expected): (Vec<String>, Vec<String>) =
            (inputs.iter().map(hex).collect(), expected.iter().map(hex).collect());
        let mut uniform = words.clone();
        uniform.resize(uniform_bytes(&case.kernel) as usize / 4, 0);
        writeln!(
            out,
            "{}{{\"name\":{:?},\"text\":{:?},\"kinds\":{kinds:?},\"dtypes\":{dtypes:?},\"workgroups\":{:?},\"words\":{uniform:?},\
             \"inputs\":{inputs:?},\"expected\":{expected:?},\"lengths\":{:?},\"tolerance\":{}}}",
            if position == 0 { "" } else { "," },
            case.name,
            text.text,
            text.workgroups.count(&words).unwrap(),
            case.lengths,
            case.tolerance,
        )
        .unwrap();
    }
    std::fs::write(path, out + "]").unwrap();
}
