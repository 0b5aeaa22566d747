//! Kernels of linear algebra. A team of threads has a matrix, in workgroup memory where it fits, else in the memory of the result; many small matrices have
//! a thread each. Triangular systems have a thread for each column.

use residua_base::error::{Error, ErrorCode, Result};
use residua_base::list::Listed;
use residua_codegen::wgsl::Template;

use super::code::Code;
use super::module::{Module, bit, shader};
use super::operation::Text;
use super::points::Axes;
use super::sort::{declare, hoist};
use super::text::KernelText;
use super::workgroups::{Factor, Workgroups};
use crate::expr::Linalg as Kind;
use crate::kernel::{Linalg, WORKGROUP_THREADS};
use crate::scalar::{Id, Type};

/// Work of one workgroup for a matrix, rows times columns times the fewer of both, so that no browser takes its device for lost: about a second of a large
/// GPU. Rotations go over a matrix some ten times, with fewer threads.
const MOST_WORK: u64 = 1 << 33;
const MOST_ITERATED: u64 = 1 << 30;
/// Numbers of workgroup memory that every device has.
const MEMORY: u32 = 4096;
/// Teams of more threads hold the at most 64 columns of a matrix that is factored by itself.
const TILED_TEAM: u32 = 16;
/// Threads a workgroup of matrices that have one each, and of systems.
const LONE_THREADS: u32 = 64;

/// Pairs of a round.
pub(super) const PAIRS: Template<'static> = shader!("linalg_pairs");
/// Whether a sweep turns any.
pub(super) const ROUNDS: Template<'static> = shader!("linalg_rounds");
/// Products of columns.
pub(super) const PRODUCTS: Template<'static> = shader!("column_products");
/// A rotation.
pub(super) const TURNED: Template<'static> = shader!("linalg_turned");

/// How matrices are divided among threads.
struct Teams {
    /// Threads of a matrix: a power of 4.
    team: u32,
    /// Matrices of a workgroup.
    count: u32,
    /// Numbers of a matrix in workgroup memory; none where it has the memory of the result.
    size: Option<u32>,
    /// Numbers that its threads share besides.
    shared: u32,
}

impl Teams {
    /// For the largest matrices of a kernel.
    fn of(linalg: &Linalg) -> Teams {
        let [rows, columns] = linalg.most.map(u64::from);
        let size = match linalg.kind {
            Kind::Cholesky | Kind::TriangularSolve => rows * columns,
            Kind::SparseSolve => 0,
            Kind::Lu => rows * (columns + 2),
            Kind::Qr | Kind::Reflections => (rows + columns) * columns,
            Kind::Eigh => 2 * rows * rows,
            Kind::Svd | Kind::Rotations | Kind::PseudoInverse => (rows + columns + 1) * columns,
            Kind::Diagonal | Kind::Orthogonal => 0,
        };
        let team = match rows.max(columns) {
            0..=8 => 1,
            9..=20 => 16,
            21..=32 => 64,
            _ => 256,
        };
        // Odd, so that neighbouring threads have other banks.
        let padded = size | u64::from(team == 1);
        let shared = |team: u32| match linalg.kind {
            Kind::Cholesky | Kind::TriangularSolve | Kind::SparseSolve => 0,
            Kind::Lu => 2 * u64::from(team),
            Kind::Qr | Kind::Reflections => u64::from(team),
            Kind::Diagonal | Kind::Orthogonal => 0,
            Kind::Eigh => rows.div_ceil(2) * 2 + 4,
            Kind::Svd | Kind::Rotations | Kind::PseudoInverse => 4,
        };
        let whole = padded + shared(team);
        let most = u64::from(LONE_THREADS / team.min(LONE_THREADS));
        match u64::from(MEMORY) / whole.max(1) {
            count if count == 0 || linalg.kind == Kind::Reflections => {
                Teams { team: 256, count: 1, size: None, shared: shared(256).min(u64::from(u32::MAX)) as u32 }
            }
            count => {
                let count = count.min(most.max(1)) as u32;
                Teams { team, count, size: Some(padded as u32), shared: shared(team) as u32 }
            }
        }
    }
}

/// Writes the kernel.
pub fn write(mut module: Module, linalg: &Linalg) -> Result<KernelText> {
    let pattern = linalg.pattern.map(|(pattern, _)| pattern);
    let values = [linalg.matrix].into_iter().chain(linalg.second).chain(pattern).list();
    declare(&mut module, &values, &linalg.elements);
    let [store] = linalg.elements.as_slice() else { return Err(Error::internal("linear algebra with an epilogue")) };
    if let (Some(values), Some((pattern, _))) = (linalg.second, linalg.pattern) {
        return write_sparse(module, linalg, values, pattern, store.buffer);
    }
    if linalg.kind == Kind::TriangularSolve {
        return write_solve(module, linalg, store.buffer);
    }
    let teams = Teams::of(linalg);
    let [rows, columns] = linalg.most;
    let is_iterated = matches!(linalg.kind, Kind::Eigh | Kind::Rotations);
    let most = if is_iterated { MOST_ITERATED } else { MOST_WORK };
    if teams.shared > MEMORY || u64::from(rows) * u64::from(columns) * u64::from(columns.min(rows)) > most {
        return Err(Error::new(
            ErrorCode::LimitExceeded,
            format!(
                "linalg: {} of matrices of {rows} × {columns} takes one workgroup of the GPU too long; a device with backend 'cpu' takes them",
                linalg.kind.name()
            ),
        ));
    }
    let template = match linalg.kind {
        // As few as a thread holds.
        Kind::Cholesky if teams.team > TILED_TEAM && teams.size.is_some() => shader!("linalg_cholesky_tile"),
        Kind::Cholesky | Kind::TriangularSolve | Kind::SparseSolve => shader!("linalg_cholesky"),
        Kind::Diagonal | Kind::Orthogonal => return Err(Error::internal("rotations are kernels of their own")),
        Kind::Lu => shader!("linalg_lu"),
        Kind::Qr => shader!("linalg_qr"),
        Kind::Reflections => shader!("linalg_panel"),
        Kind::Eigh => shader!("linalg_eigh"),
        Kind::Svd | Kind::Rotations | Kind::PseudoInverse => shader!("linalg_rotations"),
    };
    if matches!(linalg.kind, Kind::Eigh | Kind::Rotations) {
        module.push_shader(PAIRS);
        module.push_shader(ROUNDS);
    }
    match linalg.kind {
        Kind::Eigh => {
            module.push_shader(TURNED);
            module.push_shader(shader!("linalg_sweep"));
        }
        Kind::Qr => module.push_shader(shader!("linalg_reflections")),
        Kind::Reflections => {
            module.push_shader(shader!("linalg_reflections"));
            module.push_shader(PRODUCTS);
        }
        _ => {}
    }
    module.push_shader(template);
    let declarations = declarations(&mut module, linalg, &teams, store.buffer);
    let Teams { team, count: together, size, .. } = teams;
    let threads = team * together;

    let first_axis = linalg.batch.len() as u32;
    let inner = (0..Kind::AXES as u32).fold(0, |bits, axis| bits | bit(first_axis + axis));
    let outer = Axes::new(0, &linalg.batch, None);
    let mut code = Code::new(&mut module, None);
    let [rows, columns, height, length] =
        [linalg.rows, linalg.columns, linalg.height, linalg.length].map(|extent| code.module.extent(extent));
    let count = outer.count(code.module);
    code.line(&format!("let first = workgroup * {together}u;"));
    code.open(&format!("if first >= {count}"));
    code.line("return;");
    code.close();
    code.line("own_lane = lane;");
    // Elements of all matrices of the workgroup in turn. `within` names the number of an element of its matrix.
    let each = |code: &mut Code, numbers: &str, body: &mut dyn FnMut(&mut Code)| {
        code.line(&format!(
            "let {numbers}s = {};",
            if numbers == "read" { format!("{rows} * {columns}") } else { format!("{height} * {length}") }
        ));
        code.open(&format!("for (var e = lane; e < {together}u * {numbers}s; e += {threads}u)"));
        let (matrix, within) = match together {
            1 => ("first".to_owned(), "e".to_owned()),
            _ => (format!("first + e / {numbers}s"), format!("e % {numbers}s")),
        };
        code.line(&format!("let matrix = {matrix};"));
        code.line(&format!("let within = {within};"));
        code.line(&match size {
            Some(size) => format!("base = (matrix - first) * {size}u;"),
            None => format!("base = matrix * ({height} * {length});"),
        });
        code.open(&format!("if matrix < {count}"));
        outer.locate("matrix", code);
        hoist(code, &values, &linalg.elements, inner);
        body(code);
        code.close();
        code.close();
    };
    each(&mut code, "read", &mut |code| {
        code.line(&format!("let row = within / {columns};"));
        code.line(&format!("let column = within % {columns};"));
        code.set_coordinate(first_axis, "row".to_owned());
        code.set_coordinate(first_axis + 1, "column".to_owned());
        let element = code.value(linalg.matrix).text;
        let place = match linalg.kind {
            Kind::Lu => format!("row * ({columns} + 2u) + column"),
            Kind::Eigh => format!("{rows} * {columns} + within"),
            _ => "within".to_owned(),
        };
        code.line(&format!("store({place}, {element});"));
    });
    code.line("meet();");
    code.line(&match size {
        Some(size) => format!("base = (lane / {team}u) * {size}u;"),
        None => format!("base = first * ({height} * {length});"),
    });
    code.line(&format!("factor(lane % {team}u, {rows}, {columns});"));
    if size.is_some() {
        code.line("meet();");
        each(&mut code, "written", &mut |code| {
            code.line(&format!("let row = within / {length};"));
            code.line(&format!("let column = within % {length};"));
            code.set_coordinate(first_axis + 4, "row".to_owned());
            code.set_coordinate(first_axis + 5, "column".to_owned());
            let element = code.bind("load(within)");
            code.set_folded(0, 0, Text { text: element, ty: Type::F32, is_vector: false, literal: None });
            code.store(&linalg.elements, None);
        });
    }
    let body = code.finish();
    module.finish(&declarations, &body, threads, Workgroups::new(outer.factors(), together))
}

/// Constants of a template, and how it reads and writes the numbers of a matrix.
fn declarations(module: &mut Module, linalg: &Linalg, teams: &Teams, buffer: u32) -> String {
    let Teams { team, count, size, .. } = *teams;
    let threads = team * count;
    let pairs = linalg.most[0].div_ceil(2).max(1) * count;
    let place = module.place(buffer);
    let (read, write, barrier) = match size {
        Some(_) => ("work[base + at]".to_owned(), "work[base + at] = x;".to_owned(), ""),
        None => (place.load("(base + at)"), place.store("(base + at)", "x", module).concat(), " storageBarrier();"),
    };
    let mut text = format!(
        "const TEAM = {team}u;\nconst SIDE = {}u;\nconst ACROSS = {}u;\nconst TEAMS = {count}u;\nconst THREADS = {threads}u;\nconst PAIRS = {pairs}u;\n",
        team.isqrt(),
        team.min(32),
    );
    if let Some(size) = size {
        text += &format!("var<workgroup> work: array<f32, {}>;\n", (size * count).max(1));
    }
    text += &format!(
        "var<private> base: u32;\nvar<private> own_lane: u32;\nfn load(at: u32) -> f32 {{ return {read}; }}\nfn store(at: u32, x: f32) {{ {write} \
         }}\nfn meet() {{ workgroupBarrier();{barrier} }}\n"
    );
    text
}

/// Rows of a triangular system whose sums a thread has in registers.
const SOLVED_ROWS: u32 = 8;
/// Rows that it reads at once; divides them.
const READ_ROWS: u32 = 4;

/// Writes the kernel of triangular systems: a thread has a column of the solution, and takes some rows at a time. Each number of the column that is known
/// counts in the sums of all of them, which wait for no other, and only what is left is solved row after row.
fn write_solve(mut module: Module, linalg: &Linalg, buffer: u32) -> Result<KernelText> {
    let Some(second) = linalg.second else { return Err(Error::internal("a system without a right side")) };
    let first_axis = linalg.batch.len() as u32;
    let inner = (0..Kind::AXES as u32).fold(0, |bits, axis| bits | bit(first_axis + axis));
    let outer = Axes::new(0, &linalg.batch, None);
    let known_rows = module.kernel.known(linalg.rows);
    let together = known_rows.map_or(SOLVED_ROWS, |rows| rows.clamp(1, SOLVED_ROWS));
    let is_whole = known_rows.is_some_and(|rows| rows.is_multiple_of(together));
    let mut code = Code::new(&mut module, None);
    let [rows, width] = [linalg.rows, linalg.width].map(|extent| code.module.extent(extent));
    let count = outer.count(code.module);
    code.line(&format!("let point = workgroup * {LONE_THREADS}u + lane;"));
    code.open(&format!("if point >= {count} * {width}"));
    code.line("return;");
    code.close();
    code.line(&format!("let of_batch = point / {width};"));
    code.line(&format!("let column = point % {width};"));
    outer.locate("of_batch", &mut code);
    hoist(&mut code, &[linalg.matrix, second], &linalg.elements, inner);
    code.line(&format!("let base = of_batch * {rows} * {width} + column;"));
    code.set_coordinate(first_axis + 3, "column".to_owned());
    code.open(&format!("for (var first = 0u; first < {rows}; first += {together}u)"));
    // Rows beyond the last are the last one again, which is not written.
    for i in 0..together {
        let row = format!("first + {i}u");
        code.line(&format!("let row_{i} = {};", if is_whole { row } else { format!("min({row}, {rows} - 1u)") }));
    }
    // An element at other places, which are not known in what comes after.
    let element = |code: &mut Code, value: Id, [row, column]: [&str; 2], axes: [u32; 2]| {
        code.push_values(Default::default());
        code.set_coordinate(first_axis + axes[0], row.to_owned());
        code.set_coordinate(first_axis + axes[1], column.to_owned());
        let text = code.value(value).text;
        let name = code.bind(&text);
        code.pop_values();
        name
    };
    for i in 0..together {
        let right = element(&mut code, second, [&format!("row_{i}"), "column"], [2, 3]);
        code.line(&format!("var sum_{i} = {right};"));
    }
    let place = code.module.place(buffer);
    if known_rows != Some(together) {
        // What is read is asked for at once: a thread waits for it as long as for one number.
        code.open(&format!("for (var k = 0u; k < first; k += {READ_ROWS}u)"));
        for j in 0..READ_ROWS {
            let known = place.load(&format!("(base + (k + {j}u) * {width})"));
            code.line(&format!("let known_{j} = {known};"));
        }
        for j in 0..READ_ROWS {
            for i in 0..together {
                let factor = element(&mut code, linalg.matrix, [&format!("row_{i}"), &format!("(k + {j}u)")], [0, 1]);
                code.line(&format!("let factor_{i}_{j} = {factor};"));
            }
        }
        for j in 0..READ_ROWS {
            for i in 0..together {
                code.line(&format!("sum_{i} -= factor_{i}_{j} * known_{j};"));
            }
        }
        code.close();
    }
    for i in 0..together {
        for k in 0..i {
            let factor = element(&mut code, linalg.matrix, [&format!("row_{i}"), &format!("row_{k}")], [0, 1]);
            code.line(&format!("sum_{i} -= {factor} * sum_{k};"));
        }
        let pivot = element(&mut code, linalg.matrix, [&format!("row_{i}"), &format!("row_{i}")], [0, 1]);
        code.line(&format!("sum_{i} /= {pivot};"));
    }
    for i in 0..together {
        let is_guarded = i > 0 && !is_whole;
        if is_guarded {
            code.open(&format!("if first + {i}u < {rows}"));
        }
        for line in place.store(&format!("(base + row_{i} * {width})"), &format!("sum_{i}"), code.module) {
            code.line(&line);
        }
        if is_guarded {
            code.close();
        }
    }
    code.close();
    let body = code.finish();
    let factors = outer.factors().into_iter().chain([Factor { extent: linalg.width, divisor: 1 }]).list();
    module.finish("", &body, LONE_THREADS, Workgroups::new(factors, LONE_THREADS))
}

/// Columns of a workgroup of sparse systems with several.
const SPARSE_COLUMNS: u32 = 4;

/// Writes the kernel of sparse triangular systems: a workgroup has some columns, and solves the rows of a level side by side before those of the next.
fn write_sparse(mut module: Module, linalg: &Linalg, values: Id, pattern: Id, buffer: u32) -> Result<KernelText> {
    let axis = linalg.batch.len() as u32;
    let across = if module.kernel.known(linalg.columns) == Some(1) { 1 } else { SPARSE_COLUMNS };
    let mut code = Code::new(&mut module, None);
    let width = code.module.extent(linalg.columns);
    let word = |code: &mut Code, place: &str| {
        // A number of the pattern is not that of another place.
        code.push_values(Default::default());
        code.set_coordinate(axis + 3, place.to_owned());
        let value = code.value(pattern).text;
        let name = code.bind(&value);
        code.pop_values();
        name
    };
    let at = |code: &mut Code, place: &str| {
        let place = code.bind(place);
        word(code, &place)
    };
    code.open(&format!("if workgroup * {across}u >= {width}"));
    code.line("return;");
    code.close();
    // A thread beyond the last column meets the others at the barriers.
    code.line(&format!("let column = workgroup * {across}u + lane % {across}u;"));
    let levels = word(&mut code, "0u");
    let count = word(&mut code, "1u");
    code.line(&format!("let order = 3u + {levels};"));
    code.line(&format!("let offsets = order + {count};"));
    code.line(&format!("let entries = offsets + {count} + 1u;"));
    code.open(&format!("for (var level = 0u; level < {levels}; level++)"));
    let [first, end] = ["2u + level", "3u + level"].map(|place| at(&mut code, place));
    code.open(&format!("if column < {width}"));
    let step = WORKGROUP_THREADS / across;
    code.open(&format!("for (var p = {first} + lane / {across}u; p < {end}; p += {step}u)"));
    let [row, begin, last] = ["order + p", "offsets + p", "offsets + p + 1u"].map(|place| at(&mut code, place));
    code.set_coordinate(axis, row.clone());
    code.set_coordinate(axis + 1, "column".to_owned());
    let right = code.value(linalg.matrix).text;
    code.line(&format!("var sum = {right};"));
    code.line("var pivot = 0.0;");
    code.open(&format!("for (var e = {begin}; e < {last}; e++)"));
    let [entry, other] = ["entries + 2u * e", "entries + 2u * e + 1u"].map(|place| at(&mut code, place));
    code.set_coordinate(axis + 2, entry.clone());
    let value = code.value(values).text;
    // A place beyond all values stands for 1.
    let count = code.module.extent(linalg.width);
    let value = code.bind(&format!("select({value}, 1.0, {entry} >= {count})"));
    let place = code.module.place(buffer);
    let known = place.load(&format!("({other} * {width} + column)"));
    code.open(&format!("if {other} == {row}"));
    code.line(&format!("pivot += {value};"));
    code.close();
    code.open(&format!("if {other} != {row}"));
    code.line(&format!("sum -= {value} * {known};"));
    code.close();
    code.close();
    for line in place.store(&format!("({row} * {width} + column)"), "sum / pivot", code.module) {
        code.line(&line);
    }
    code.close();
    code.close();
    code.line("storageBarrier();");
    code.close();
    let body = code.finish();
    let factors = vec![Factor { extent: linalg.columns, divisor: across }];
    module.finish("", &body, WORKGROUP_THREADS, Workgroups { parts: vec![factors], units: 1 })
}
