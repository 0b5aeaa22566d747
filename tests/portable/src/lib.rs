//! Shaders that every browser takes. naga, Firefox's own translator, parses and validates a text, without any optional feature; on top come rules
//! of WebKit's that it does not share, so that Safari is kept in mind where there is none to run. Every text that a native test looks at comes through here.

use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{AddressSpace, Expression, Module, TypeInner};

mod random;

pub use random::Random;

/// Bytes of a workgroup's memory, threads of a workgroup and storage buffers of a stage that every WebGPU device has.
const WORKGROUP_BYTES: u32 = 16_384;
const THREADS: u32 = 256;
const STORAGE_BUFFERS: usize = 8;

/// Parses and validates a shader, and asks for what [`breaches`] lists.
pub fn validated(text: &str) -> Module {
    let module =
        naga::front::wgsl::parse_str(text).unwrap_or_else(|error| panic!("{}\n{text}", error.emit_to_string(text)));
    // unpack2x16float belongs to every WebGPU; naga counts it as a capability for the sake of OpenGL alone.
    Validator::new(ValidationFlags::all(), Capabilities::SHADER_FLOAT16_IN_FLOAT32)
        .validate(&module)
        .unwrap_or_else(|error| panic!("{}\n{text}", error.emit_to_string(text)));
    let breaches = breaches(text, &module);
    assert!(breaches.is_empty(), "{}\n{text}", breaches.join("\n"));
    module
}

/// What of a shader some browser would refuse.
pub fn breaches(text: &str, module: &Module) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(line) = text.lines().find(|line| line.starts_with("enable ") || line.starts_with("requires ")) {
        found.push(format!("`{line}` asks for what not every browser has"));
    }
    // Safari takes no arrays in workgroup memory whose size is an override; we need none at all, since texts are written for their sizes.
    if !module.overrides.is_empty() {
        found.push("an override: sizes are written into the text".to_owned());
    }
    // What lets them point elsewhere is a language extension, `unrestricted_pointer_parameters`, which neither Firefox nor older Safaris have.
    for (_, function) in module.functions.iter() {
        for argument in &function.arguments {
            let space = match module.types[argument.ty].inner {
                TypeInner::Pointer { space, .. } | TypeInner::ValuePointer { space, .. } => space,
                _ => continue,
            };
            if !matches!(space, AddressSpace::Function | AddressSpace::Private) {
                found.push(format!("{:?} takes a pointer to {space:?}", function.name));
            }
        }
    }
    let bytes: u32 =
        variables(module, AddressSpace::WorkGroup).map(|ty| module.types[ty].inner.size(module.to_ctx())).sum();
    if bytes > WORKGROUP_BYTES {
        found.push(format!("{bytes} bytes of workgroup memory"));
    }
    let storage =
        module.global_variables.iter().filter(|(_, variable)| matches!(variable.space, AddressSpace::Storage { .. }));
    let buffers = storage.count();
    if buffers > STORAGE_BUFFERS {
        found.push(format!("{buffers} storage buffers"));
    }
    for entry in &module.entry_points {
        let threads: u32 = entry.workgroup_size.iter().product();
        if threads > THREADS {
            found.push(format!("{threads} threads a workgroup"));
        }
    }
    found
}

/// Asserts that a shader takes the guard's zero, if it has one, from a storage buffer, and that no uniform brings one: lavapipe compiles
/// the contents of uniform buffers into its shaders, and a guard by a known zero is none.
pub fn assert_guard_reads_storage(module: &Module) {
    let guards = module.functions.iter().filter(|(_, function)| function.name.as_deref() == Some("guard_zero"));
    for (_, function) in guards {
        let spaces: Vec<_> = function
            .expressions
            .iter()
            .filter_map(|(_, expression)| match expression {
                Expression::GlobalVariable(variable) => Some(module.global_variables[*variable].space),
                _ => None,
            })
            .collect();
        assert!(matches!(spaces[..], [AddressSpace::Storage { .. }]), "the guard reads {spaces:?}");
    }
    for uniform in variables(module, AddressSpace::Uniform) {
        if let TypeInner::Struct { members, .. } = &module.types[uniform].inner {
            assert!(members.iter().all(|member| member.name.as_deref() != Some("zero")), "a uniform has a zero");
        }
    }
}

fn variables(module: &Module, space: AddressSpace) -> impl Iterator<Item = naga::Handle<naga::Type>> {
    module.global_variables.iter().filter(move |(_, variable)| variable.space == space).map(|(_, variable)| variable.ty)
}

/// A text without the functions of `shaders/common` and of some other files, whose names it ends with: what golden texts keep. The libraries' own texts are
/// in their files.
pub fn without_libraries(text: &str, others: &[&str]) -> String {
    let (common, others) = (library(), others.join("\n"));
    let libraries = [("shaders/common", &common), ("shaders of tensors", &others)]
        .map(|(name, texts)| (name, texts.lines().filter_map(name_of).collect::<Vec<_>>()));
    let (mut own, mut imported) = (Vec::new(), [Vec::new(), Vec::new()]);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let name = name_of(line).unwrap_or_default();
        match libraries.iter().position(|(_, names)| names.contains(&name)) {
            Some(library) => {
                imported[library].push(name);
                // Its text, and the empty line behind it.
                let _ = lines.by_ref().find(|line| *line == "}");
                lines.next();
            }
            None => own.push(line),
        }
    }
    let mut own = own.join("\n").trim_end().to_owned();
    for ((name, _), imported) in libraries.iter().zip(imported).filter(|(_, imported)| !imported.is_empty()) {
        own += &format!("\n\n// of {name}: {}", imported.join(", "));
    }
    own + "\n"
}

/// The texts of the files of `shaders/common`.
fn library() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shaders/common");
    let files = std::fs::read_dir(folder).expect("the library has a folder");
    let text = |file: std::io::Result<std::fs::DirEntry>| {
        let path = file.expect("its files can be listed").path();
        std::fs::read_to_string(path).expect("its files can be read")
    };
    files.map(text).collect::<Vec<_>>().join("\n")
}

/// The name of the function or structure that begins at a line.
fn name_of(line: &str) -> Option<&str> {
    let definition = line.strip_prefix("fn ").or(line.strip_prefix("struct "))?;
    definition.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}
