//! The text of generated kernels: valid WGSL for whatever a kernel may hold, and as readable as the golden texts.

use crate::interpreter::validated;
use crate::kernels;
use residua::eval::shaders::{self, Shader};
use residua::gauss_newton::device::shaders::{self as model_shaders, GradientPairs, LocalEntries, ModelShader};
use residua_base::error::ErrorCode;
use residua_codegen::{Epilogue, Guard, Index, Kernel, Load, Output, Space, wgsl};
use residua_ir::graph::Op;
use residua_portable::breaches;

fn validated_kernel(kernel: Kernel) -> naga::Module {
    let module = validated(&wgsl::write(&kernel.check().unwrap(), wgsl::PairForm::Split).unwrap());
    residua_portable::assert_guard_reads_storage(&module);
    module
}

#[test]
fn every_op_alone_is_valid() {
    for op in Op::ALL {
        validated_kernel(kernels::of_ops(&[*op]));
    }
}

#[test]
fn all_ops_together_are_valid() {
    validated_kernel(kernels::of_ops(Op::ALL));
}

#[test]
fn every_place_call_and_total_is_valid() {
    for kernel in [kernels::places(), kernels::spring(), kernels::robust(), kernels::curve()] {
        validated_kernel(kernel);
    }
}

#[test]
fn operations_on_literals_are_no_constant_expressions() {
    let numbers = [0.0, -0.0, 1.0, -1.5, 1e-46, 1e-40, 3.4e38, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    for op in Op::ALL {
        for number in numbers {
            validated_kernel(kernels::of_literals(*op, &[number, 0.0, number][..op.arity()]));
            validated_kernel(kernels::of_literals(*op, &[3e38, number, 2.0][..op.arity()]));
        }
    }
}

#[test]
fn a_header_can_not_leave_its_comment() {
    let mut kernel = kernels::spring();
    kernel.header = vec!["name\nfn\u{2028}broken\u{85}(\r\0\u{b}\u{c}".to_owned()];
    validated_kernel(kernel.clone());
    assert!(
        wgsl::write(&kernel.check().unwrap(), wgsl::PairForm::Split)
            .unwrap()
            .starts_with("// name fn broken (    \n\n")
    );
}

#[test]
fn what_only_the_host_does_is_refused() {
    let mut kernel = kernels::spring();
    let Epilogue::Store(place) = kernel.outputs[0].epilogue.clone() else { panic!("a spring stores") };
    kernel.outputs[0].epilogue = Epilogue::Accumulate(place);
    assert_eq!(wgsl::write(&kernel.check().unwrap(), wgsl::PairForm::Split).unwrap_err().code, ErrorCode::Internal);
    let mut kernel = kernels::spring();
    kernel.share_columns(&|buffer, column| (buffer, column) == (1, 0));
    assert_eq!(wgsl::write(&kernel.check().unwrap(), wgsl::PairForm::Split).unwrap_err().code, ErrorCode::Internal);
}

#[test]
fn kernels_that_contradict_themselves_are_refused() {
    type Breach = fn(&mut Kernel);
    let breaches: [(&str, Breach); 13] = [
        ("no such buffer", |kernel| kernel.loads[0] = kernels::read(9, Index::column(0))),
        ("indices that are numbers", |kernel| kernel.loads[0] = kernels::read(0, Index::indexed(2, 0, 0))),
        ("indices of indices that are numbers", |kernel| {
            kernel.loads[0] = kernels::read(0, Index::loaded(1, Index::indexed(2, 0, 0)));
        }),
        ("a layer without layers", |kernel| kernel.loads[0] = kernels::read(0, Index::layer(0))),
        ("an owner without lists", |kernel| kernel.loads[0] = kernels::read(0, Index::owned(3, 0))),
        ("other tables without lists", |kernel| kernel.loads[0] = kernels::read(2, Index::column_of_other(1, 1, 0))),
        ("a store to what is not written", |kernel| {
            kernel.outputs[0] = kernels::store(0, Index::column(0), kernel.outputs[0].node);
        }),
        ("a store into indices", |kernel| {
            kernel.buffers[1].written = true;
            kernel.outputs[0] = kernels::store(1, Index::column(0), kernel.outputs[0].node);
        }),
        ("a missing load", |kernel| _ = kernel.loads.pop()),
        ("no such call", |kernel| kernel.loads[0] = Load::Call { call: 0, result: 0 }),
        ("layers that store", |kernel| {
            kernel.guard = Guard::Gate;
            kernel.space = Space::Layers { count: 3 };
        }),
        ("layers without a gate", |kernel| {
            kernel.outputs.retain(|output| matches!(output.epilogue, Epilogue::Reduce(_)));
            kernel.space = Space::Layers { count: 3 };
        }),
        ("three totals", |kernel| {
            let node = kernel.outputs[0].node;
            kernel.outputs.extend([Output::reduce(node), Output::reduce(node)]);
        }),
    ];
    for (name, breach) in breaches {
        let mut kernel = kernels::spring();
        breach(&mut kernel);
        assert_eq!(kernel.check().map(|_| ()).map_err(|error| error.code), Err(ErrorCode::Internal), "{name}");
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
    let kernel = wgsl::write(&kernels::spring().check().unwrap(), wgsl::PairForm::Split).unwrap();
    let table: [(String, Layout); 6] = [
        (
            ModelShader::AssembleFused { dim: 3, pairs: true, wide: false }.wgsl(),
            layout!(model_shaders::AssembleFusedUniforms, [rows, offsets, first, scale]),
        ),
        (
            ModelShader::Assemble { dim: 3, entries: LocalEntries::Parts, pairs: GradientPairs::None }.wgsl(),
            layout!(model_shaders::AssembleUniforms, [rows, stride, outputs, first_partial, row_stride, scale]),
        ),
        (kernel, layout!(wgsl::Dispatch, [count, stride, first, nan])),
        (Shader::ReduceSum.wgsl(), layout!(shaders::ReduceSumUniforms, [count, width, input_first, output_first])),
        (
            ModelShader::BlockDiagonal { fused: false }.wgsl(),
            layout!(
                model_shaders::BlockDiagonalUniforms,
                [rows, dim, numbers, outputs, first_partial, row_stride, stride, scale, add, pairs]
            ),
        ),
        (
            Shader::Gather { fused: false, gated: false, pairs: false }.wgsl(),
            layout!(shaders::GatherUniforms, [rows, dim, component_stride, add]),
        ),
    ];
    for (text, expected) in table {
        assert_eq!(uniform_layout(&validated(&text)), expected);
    }
    assert_eq!(wgsl::Dispatch { count: 1, stride: 2, first: 3, nan: 4 }.words(), [1, 2, 3, 4]);
    let gather = shaders::GatherUniforms { rows: 1, dim: 2, component_stride: 3, add: 4 };
    assert_eq!(gather.words(), [1, 2, 3, 4]);
}

#[test]
fn a_gate_is_the_last_storage_buffer_and_tested_first() {
    let gathers = [false, true].map(|fused| Shader::Gather { fused, gated: true, pairs: false });
    let of_model = [
        ModelShader::BlockDiagonal { fused: false },
        ModelShader::BlockDiagonal { fused: true },
        ModelShader::Assemble { dim: 2, entries: LocalEntries::Rows, pairs: GradientPairs::None },
        ModelShader::Assemble { dim: 2, entries: LocalEntries::MirroredRows, pairs: GradientPairs::Rows },
        ModelShader::AssembleFused { dim: 2, pairs: true, wide: false },
        ModelShader::Clear,
    ];
    let gathers = gathers.map(|shader| (shader.resources(), shader.wgsl()));
    for (resources, text) in gathers.into_iter().chain(of_model.map(|shader| (shader.resources(), shader.wgsl()))) {
        assert_eq!(resources[resources.len() - 2].name, "gate");
        let body = text.split_once("@compute").unwrap().1.split_once(") {").unwrap().1;
        assert!(body.trim_start().starts_with("if gate[0] == 0u {"), "{text}");
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
fn texts_are_as_the_golden_ones() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for (name, kernel) in [("spring", kernels::spring()), ("robust", kernels::robust()), ("curve", kernels::curve())] {
        let path = folder.join(format!("{name}.wgsl"));
        let text = wgsl::write(&kernel.check().unwrap(), wgsl::PairForm::Split).unwrap();
        validated(&text);
        let text = residua_portable::without_libraries(&text, &[]);
        if std::env::var_os("RESIDUA_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text == golden, "{name}.wgsl differs; RESIDUA_BLESS=1 accepts it:\n{text}");
    }
}
