//! Kernels of rounds of rotations over blocks of columns: one has a workgroup for each pair of blocks, the other one for some rows of each pair.

use residua_base::error::{Error, ErrorCode, Result};
use residua_codegen::wgsl::Template;

use super::code::Code;
use super::linalg::{PAIRS, PRODUCTS, ROUNDS, TURNED};
use super::module::{Module, shader};
use super::points::Axes;
use super::text::KernelText;
use super::workgroups::{Factor, Workgroups};
use crate::kernel::Turns;

const TURNS: Template<'static> = shader!("turns");
/// Threads of a workgroup: each has two columns of two rows of a pair's matrix.
const THREADS: u32 = Turns::BLOCK * Turns::BLOCK;

/// Most columns, so that no browser takes its device for lost: some half a second of a large GPU.
const MOST_COLUMNS: u32 = 2048;

/// Writes the kernel.
pub fn write(mut module: Module, turns: &Turns) -> Result<KernelText> {
    let Turns { applies, is_symmetric, rows, columns, state, rotations, .. } = *turns;
    if turns.most > MOST_COLUMNS {
        let message = format!(
            "linalg: eigh and svd of matrices of {} columns take the GPU too long; a device with backend 'cpu' takes them",
            turns.most
        );
        return Err(Error::new(ErrorCode::LimitExceeded, message));
    }
    let (block, pair) = (Turns::BLOCK, Turns::PAIR);
    let mut text = format!(
        "const THREADS = {THREADS}u;\nconst BLOCK = {block}u;\nconst WIDTH = {pair}u;\nconst TILE = {}u;\nconst IS_SYMMETRIC = {is_symmetric};\n",
        pair * pair
    );
    let [held, turned] = [state, rotations].map(|buffer| module.place(buffer));
    let access = |text: &mut String, line: String| *text += &line;
    access(&mut text, format!("fn held(at: u32) -> f32 {{ return {}; }}\n", held.load("at")));
    access(&mut text, format!("fn hold(at: u32, x: f32) {{ {} }}\n", held.store("at", "x", &mut module).concat()));
    if applies {
        access(&mut text, format!("fn rotation(at: u32) -> f32 {{ return {}; }}\n", turned.load("at")));
    } else {
        let put = turned.store("at", "x", &mut module).concat();
        access(&mut text, format!("fn put_rotation(at: u32, x: f32) {{ {put} }}\n"));
        // Rows of the matrices of a pair are so far apart.
        let pitch = pair + 1;
        text += &format!(
            "const TEAM = {THREADS}u;\nconst TEAMS = 1u;\nconst PITCH = {pitch}u;\nconst MATRIX = {}u;\nvar<workgroup> work: array<f32, {}>;\n\
             var<private> own_lane: u32;\nfn load(at: u32) -> f32 {{ return work[at]; }}\nfn meet() {{ workgroupBarrier(); }}\n",
            pair * pitch,
            3 * pair * pitch,
        );
    }
    module.push_shader(PAIRS);
    module.push_shader(TURNS);
    if applies {
        module.push_shader(shader!("turns_apply"));
    } else {
        module.push_shader(ROUNDS);
        module.push_shader(TURNED);
        if is_symmetric {
            module.push_shader(shader!("turns_symmetric"));
        } else {
            module.push_shader(PRODUCTS);
            module.push_shader(shader!("turns_columns"));
        }
        module.push_shader(shader!("turns_find"));
    }
    let outer = Axes::new(0, &turns.batch, None);
    let mut code = Code::new(&mut module, None);
    let count = outer.count(code.module);
    let [height, width] = [rows, columns].map(|extent| code.module.extent(extent));
    let mut factors = outer.factors();
    code.line(&format!("let pairs = {width} / {pair}u;"));
    code.line("let of_rows = workgroup / pairs;");
    if applies {
        factors.push(Factor { extent: rows, divisor: pair });
        code.line(&format!("let parts = ({height} + {}u) / {pair}u;", pair - 1));
    } else {
        code.line("let parts = 1u;");
    }
    factors.push(Factor { extent: columns, divisor: pair });
    code.open(&format!("if of_rows >= {count} * parts"));
    code.line("return;");
    code.close();
    code.line(&match applies {
        true => format!("apply(lane, of_rows / parts, of_rows % parts, workgroup % pairs, {height}, {width});"),
        false => format!("find(lane, of_rows, workgroup % pairs, {height}, {width});"),
    });
    let body = code.finish();
    module.finish(&text, &body, THREADS, Workgroups::new(factors, 1))
}
