use std::rc::Rc;

use residua_ir::graph::{Graph as RuleGraph, InputId, Op as Real};

use super::module::{
    BYTES, COMPARE, CONVERT, EXPONENTIAL, EXTREME, HALF, HIDDEN, HIGH_PRODUCT, MOMENTS, PLACE, PRODUCT, QUANTISED, SUM,
};
use super::*;
use crate::dtype::DType;
use crate::expr::Rule;
use crate::kernel::{Combine, Rows};
use crate::sample::{Lines, Sample, fold, store};
use crate::scalar::Type;

mod cases;
mod elements;
mod products;
mod rows;
mod scans;
mod sorts;

#[test]
fn every_text_is_portable() {
    let kernels = cases::all().into_iter().chain(products::of_quantised());
    let texts = kernels.map(|kernel| write(&kernel, &DeviceLimits::default()).unwrap().text);
    for text in texts.collect::<std::collections::BTreeSet<String>>() {
        residua_portable::validated(&text);
    }
}

#[test]
fn windows_are_read_and_written_by_their_functions_alone() {
    let limits = DeviceLimits::default();
    let in_turn = cases::all().into_iter().enumerate().map(|(number, kernel)| (number % kernel.buffers.len(), kernel));
    // Templates that read words of their own have each of their buffers in windows.
    let all_of_each = products::of_quantised()
        .into_iter()
        .flat_map(|kernel| (0..kernel.buffers.len()).map(move |k| (k, kernel.clone())));
    let mut texts = std::collections::BTreeSet::new();
    for (position, kernel) in in_turn.chain(all_of_each) {
        let count = kernel.buffers.len();
        if count == limits.storage_buffers as usize {
            continue;
        }
        let counts = (0..count).map(|other| if other == position { 2 } else { 1 }).collect();
        let text = write_in_windows(&kernel, &limits, &Windows { bytes: 256, counts }).unwrap();
        assert_eq!(text.bindings.len(), count + 2);
        texts.insert((text.text, position));
    }
    for (text, position) in texts {
        let module = residua_portable::validated(&text);
        let windows = [format!("b{position}"), format!("b{position}_1")];
        let functions = module.functions.iter().map(|(_, function)| function);
        for function in functions.chain(module.entry_points.iter().map(|entry| &entry.function)) {
            let name = function.name.as_deref().unwrap_or("main");
            if !name.ends_with(&format!("_b{position}")) {
                assert!(!accesses(&module, function, &windows), "{name} reads or writes {windows:?}\n{text}");
            }
        }
    }
}

#[test]
fn no_value_is_compared_with_itself() {
    // Compilers may assume that there is no NaN: x != x is then false.
    use naga::{BinaryOperator::*, Expression};
    let mut seen = 0;
    for kernel in cases::all() {
        let text = write(&kernel, &DeviceLimits::default()).unwrap().text;
        let module = residua_portable::validated(&text);
        let functions = module.functions.iter().map(|(_, function)| function);
        for function in functions.chain(module.entry_points.iter().map(|entry| &entry.function)) {
            for (_, expression) in function.expressions.iter() {
                let Expression::Binary { op, left, right } = expression else { continue };
                if matches!(op, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual) {
                    seen += 1;
                    assert!(left != right, "a comparison of a value with itself\n{text}");
                }
            }
        }
    }
    assert!(seen > 1000);
}

#[test]
fn rules_of_users_keep_the_order_of_their_operations() {
    // A sum and what its rounding lost: (a + b) - a is b where nothing is rounded.
    let mut graph = RuleGraph::new();
    let [a, e, b, f] = [0, 1, 2, 3].map(|input| graph.input(InputId(input)));
    let sum = graph.apply_raw(Real::Add, &[a, b]);
    let part = graph.apply_raw(Real::Sub, &[sum, a]);
    let lost = graph.apply_raw(Real::Sub, &[b, part]);
    let errors = graph.apply_raw(Real::Add, &[e, f]);
    let error = graph.apply_raw(Real::Add, &[errors, lost]);
    let merge = graph.check(4).unwrap();
    let rule = Combine::By(Rc::new(Rule { identity: vec![0.0, 0.0], merge, results: vec![sum, error] }));
    let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true)]);
    let Lines { outer, row, place, index, .. } = sample.lines([4, 100], 1);
    let x = sample.load(0, index);
    let zero = sample.f32(0.0);
    let value = sample.folded(0, 1, Type::F32);
    let folds = vec![fold(rule, vec![x, zero])];
    let body = Rows {
        outer: vec![outer],
        row: vec![row],
        valid: None,
        folds,
        elements: vec![],
        results: vec![store(1, place, value)],
    };
    let text = write(&sample.kernel("sum", Body::Rows(body)), &DeviceLimits::default()).unwrap().text;
    residua_portable::validated(&text);
    let function = text.split("fn merged_0").nth(1).unwrap().split("return").next().unwrap();
    assert_eq!(function.matches("rounded(").count(), 4, "{function}");
}

/// Whether a function reads or writes elements of global variables.
fn accesses(module: &naga::Module, function: &naga::Function, variables: &[String]) -> bool {
    use naga::Expression;
    function.expressions.iter().any(|(_, expression)| match expression {
        Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => match function.expressions[*base] {
            Expression::GlobalVariable(variable) => {
                module.global_variables[variable].name.as_ref().is_some_and(|name| variables.contains(name))
            }
            _ => false,
        },
        _ => false,
    })
}

#[test]
fn more_windows_than_bindings_are_refused() {
    let kernel = cases::all().into_iter().find(|kernel| kernel.buffers.len() == 3).unwrap();
    let windows = Windows { bytes: 256, counts: vec![3, 3, 3] };
    let error = write_in_windows(&kernel, &DeviceLimits::default(), &windows).unwrap_err();
    assert_eq!(error.code, ErrorCode::LimitExceeded);
    assert!(error.message.contains("bound in 9 parts of at most 256 bytes; the device binds 8"), "{}", error.message);
}

#[test]
fn texts_are_the_golden_ones() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/wgsl/tests/golden");
    let shaders = [
        BYTES,
        COMPARE,
        CONVERT,
        EXPONENTIAL,
        EXTREME,
        HALF,
        HIDDEN,
        HIGH_PRODUCT,
        MOMENTS,
        PLACE,
        PRODUCT,
        QUANTISED,
        SUM,
    ];
    let shaders = shaders.map(|file| file.source);
    for (name, kernel) in cases::golden().into_iter().chain(products::golden()).chain(sorts::golden()) {
        let text = write(&kernel, &DeviceLimits::default()).unwrap().text;
        let text = residua_portable::without_libraries(&text, &shaders);
        let path = folder.join(format!("{name}.wgsl"));
        if std::env::var_os("RESIDUA_BLESS").is_some_and(|value| value == "1") {
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text == golden, "{name}.wgsl differs; RESIDUA_BLESS=1 accepts it:\n{text}");
    }
}
