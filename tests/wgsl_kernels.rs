//! The text of generated kernels: valid WGSL for whatever a kernel may hold, and as readable as the golden texts.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod interpreter;
mod kernels;

use interpreter::portable::breaches;
use interpreter::validated;
use residua::codegen::{Address, Kernel, wgsl};
use residua::error::ErrorCode;
use residua::gpu::shaders::{self, Parts};
use residua::graph::Op;

fn validated_kernel(kernel: &Kernel) -> naga::Module {
    validated(&wgsl::write(kernel).unwrap())
}

#[test]
fn every_op_alone_is_valid() {
    for op in Op::ALL {
        validated_kernel(&kernels::of_ops(&[*op]));
    }
}

#[test]
fn all_ops_together_are_valid() {
    validated_kernel(&kernels::of_ops(Op::ALL));
}

#[test]
fn every_address_call_and_total_is_valid() {
    for kernel in [kernels::addresses(), kernels::spring(), kernels::robust(), kernels::curve()] {
        validated_kernel(&kernel);
    }
}

#[test]
fn operations_on_literals_are_no_constant_expressions() {
    let numbers = [0.0, -0.0, 1.0, -1.5, 1e-46, 1e-40, 3.4e38, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    for op in Op::ALL {
        for number in numbers {
            validated_kernel(&kernels::of_literals(*op, &[number, 0.0, number][..op.arity()]));
            validated_kernel(&kernels::of_literals(*op, &[3e38, number, 2.0][..op.arity()]));
        }
    }
}

#[test]
fn a_header_can_not_leave_its_comment() {
    let mut kernel = kernels::spring();
    kernel.header = vec!["name\nfn\u{2028}broken\u{85}(\r\0\u{b}\u{c}".to_owned()];
    validated_kernel(&kernel);
    assert!(wgsl::write(&kernel).unwrap().starts_with("// name fn broken (    \n\n"));
}

#[test]
fn what_only_the_cpu_does_is_refused() {
    let mut kernel = kernels::spring();
    kernel.stores[0].accumulate = true;
    assert_eq!(wgsl::write(&kernel).unwrap_err().code, ErrorCode::Internal);
}

#[test]
fn plans_that_contradict_themselves_are_refused() {
    type Breach = fn(&mut Kernel);
    let breaches: [(&str, Breach); 5] = [
        ("no such buffer", |kernel| kernel.loads[0] = kernels::read(9, Address::Column(0))),
        ("indices that are numbers", |kernel| {
            kernel.loads[0] = kernels::read(0, Address::Indexed { indices: 2, column: 0, component: 0 });
        }),
        ("a store to what is not written", |kernel| kernel.stores[0].buffer = 0),
        ("a missing load", |kernel| _ = kernel.loads.pop()),
        ("no such call", |kernel| kernel.loads[0] = residua::codegen::Load::Call { call: 0, result: 0 }),
    ];
    for (name, breach) in breaches {
        let mut kernel = kernels::spring();
        breach(&mut kernel);
        assert_eq!(wgsl::write(&kernel).map_err(|error| error.code), Err(ErrorCode::Internal), "{name}");
    }
}

/// Names and offsets of a uniform's members, and its size.
type Layout = (Vec<(String, usize)>, usize);

/// The layout of a Rust structure of words.
macro_rules! layout {
    ($type:ty, [$($member:ident),+]) => {
        (vec![$((stringify!($member).to_owned(), std::mem::offset_of!($type, $member))),+], size_of::<$type>())
    };
}

#[test]
fn uniforms_have_the_layout_of_their_rust_twins() {
    let kernel = wgsl::write(&kernels::spring()).unwrap();
    let table: [(String, Layout); 6] = [
        (shaders::assemble_joint(3, true), layout!(shaders::AssembleJoint, [rows, offsets, first, scale, zero])),
        (
            shaders::assemble(3, Parts::Whole),
            layout!(shaders::Assemble, [rows, stride, outputs, first_partial, row_stride, scale, zero]),
        ),
        (kernel, layout!(wgsl::Dispatch, [count, stride, first, nan, zero])),
        (shaders::reduce_sum(), layout!(shaders::ReduceSum, [count, width, input_first, output_first, zero])),
        (
            shaders::curvature(),
            layout!(
                shaders::Curvature,
                [rows, dim, numbers, outputs, first_partial, row_stride, stride, scale, add, pairs, zero]
            ),
        ),
        (shaders::gather(), layout!(shaders::Gather, [rows, dim, component_stride, add, zero])),
    ];
    for (text, expected) in table {
        assert_eq!(uniform_layout(&validated(&text)), expected);
    }
    assert_eq!(wgsl::Dispatch { count: 1, stride: 2, first: 3, nan: 4, zero: 5 }.words(), [1, 2, 3, 4, 5]);
    assert_eq!(
        shaders::ReduceSum { count: 1, width: 2, input_first: 3, output_first: 4, zero: 5 }.words(),
        [1, 2, 3, 4, 5]
    );
    assert_eq!(shaders::AssembleJoint { rows: 1, offsets: 2, first: 3, scale: 4, zero: 5 }.words(), [1, 2, 3, 4, 5]);
    assert_eq!(shaders::Gather { rows: 1, dim: 2, component_stride: 3, add: 4, zero: 5 }.words(), [1, 2, 3, 4, 5]);
}

#[test]
fn a_gate_is_one_more_binding_and_the_first_thing_asked() {
    let parts = [Parts::Whole, Parts::Weighted, Parts::Mirrored];
    let blocks = (1..=4).flat_map(|dim| parts.map(|parts| shaders::assemble(dim, parts)));
    let joint = (1..=10).flat_map(|dim| [true, false].map(|pairs| shaders::assemble_joint(dim, pairs)));
    let others = [
        shaders::gather(),
        shaders::curvature(),
        shaders::gather_joint(),
        shaders::curvature_joint(),
        shaders::clear(),
        shaders::reduce_sum(),
    ];
    for text in blocks.chain(joint).chain(others) {
        let gated = shaders::gated(&text);
        let module = validated(&gated);
        assert_eq!(module.global_variables.len(), validated(&text).global_variables.len() + 1);
        let body = gated.split_once("@compute").unwrap().1.split_once(") {").unwrap().1;
        assert!(body.trim_start().starts_with("if gate[0] == 0u {"), "{gated}");
    }
}

/// The layout of a module's one uniform.
fn uniform_layout(module: &naga::Module) -> Layout {
    let uniform = module
        .global_variables
        .iter()
        .find(|(_, variable)| variable.space == naga::AddressSpace::Uniform)
        .map(|(_, variable)| variable.ty)
        .unwrap();
    let naga::TypeInner::Struct { members, span } = &module.types[uniform].inner else { panic!("not a struct") };
    let names = members.iter().map(|member| (member.name.clone().unwrap(), member.offset as usize));
    (names.collect(), *span as usize)
}

#[test]
fn what_some_browser_would_refuse_is_noticed() {
    const MAIN: &str = "@compute @workgroup_size(64) fn main() { shared_numbers[0] = 1.0; }\n";
    let array = |size: &str| format!("var<workgroup> shared_numbers: array<f32, {size}>;\n");
    let storage = |count: usize| -> String {
        (0..count).map(|i| format!("@group(0) @binding({i}) var<storage> buffer_{i}: array<f32>;\n")).collect()
    };
    let breached = |text: &str| breaches(text, &naga::front::wgsl::parse_str(text).unwrap()).join("; ");
    let pointer = |to: &str| format!("{}fn take(number: ptr<{to}>) {{ *number = 1.0; }}\n{MAIN}", array("64"));
    for (text, reason) in [
        (format!("override size: u32 = 64;\n{}{MAIN}", array("size")), "an override"),
        (pointer("storage, f32, read_write"), "takes a pointer to Storage"),
        (pointer("workgroup, f32"), "takes a pointer to WorkGroup"),
        (format!("{}{MAIN}", array("4097")), "16388 bytes of workgroup memory"),
        (format!("{}{}{MAIN}", storage(9), array("64")), "9 storage buffers"),
        (format!("{}{}", array("64"), MAIN.replace("64", "257")), "257 threads"),
        (format!("enable f16;\n{}{MAIN}", array("64")), "enable f16"),
    ] {
        assert!(breached(&text).contains(reason), "{reason}: {}\n{text}", breached(&text));
    }
    for text in [format!("{}{}{MAIN}", storage(8), array("4096")), pointer("function, f32"), pointer("private, f32")] {
        assert_eq!(breached(&text), "", "{text}");
    }
}

#[test]
fn static_shaders_without_a_gate_are_valid() {
    for text in [shaders::hold(), shaders::spread_data()] {
        validated(&text);
    }
}

#[test]
fn the_golden_texts_are_what_every_browser_takes() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 4);
    for file in files {
        validated(&std::fs::read_to_string(file).unwrap());
    }
}

#[test]
fn texts_are_as_the_golden_ones() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for (name, kernel) in [("spring", kernels::spring()), ("robust", kernels::robust()), ("curve", kernels::curve())] {
        let path = folder.join(format!("{name}.wgsl"));
        let text = wgsl::write(&kernel).unwrap();
        if std::env::var_os("RESIDUA_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text == golden, "{name}.wgsl differs; RESIDUA_BLESS=1 accepts it:\n{text}");
    }
}
