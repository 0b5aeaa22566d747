//! What the kernels do to a block, written out coordinate by coordinate so that it stays in registers: lines that stand once for each, the
//! factorisation A = LDLᵀ of the damped block, and the solution of A z = r.

use std::fmt::Write;

use crate::list::Listed;
use crate::text::join;

/// Numbers of a block's lower triangle.
pub(super) fn triangle(tangent: u32) -> u32 {
    tangent * (tangent + 1) / 2
}

/// Writes a line of a kernel's body.
pub(super) fn line(text: &mut String, code: std::fmt::Arguments) {
    writeln!(text, "        {code}").expect("writing to a string can't fail");
}

/// A line as it stands for a coordinate.
pub(super) fn of_coordinate(code: &str, k: u32) -> String {
    let diagonal = (triangle(k) + k).to_string();
    code.replace("#diagonal$", &diagonal).replace('$', &k.to_string())
}

/// Writes a line for each coordinate.
pub(super) fn each(tangent: u32, code: &str, text: &mut String) {
    (0..tangent).for_each(|k| line(text, format_args!("{}", of_coordinate(code, k))));
}

/// A = LDLᵀ in f32: l_i_j, w_i_j = l_i_j·d_j, and the inverse pivots v_j.
pub(super) fn factor(tangent: u32, constrained: bool, text: &mut String) {
    for j in 0..tangent {
        let mut pivot = format!("a{j}");
        let damped = format!("c{j} + damping * d{j}");
        let entry = if constrained { format!("select(1.0, {damped}, free{j})") } else { damped };
        line(text, format_args!("let a{j} = {entry};"));
        for k in 0..j {
            pivot += &format!(" - w{j}_{k} * l{j}_{k}");
        }
        // What rounding leaves of a pivot must stay positive.
        line(text, format_args!("let v{j} = 1.0 / max({pivot}, 1e-6 * a{j});"));
        for i in j + 1..tangent {
            let read = format!("curvature[place + {}u]", triangle(i) + j);
            let mut entry = if constrained { format!("select(0.0, {read}, free{i} && free{j})") } else { read };
            for k in 0..j {
                entry += &format!(" - w{i}_{k} * l{j}_{k}");
            }
            line(text, format_args!("let w{i}_{j} = {entry};"));
            line(text, format_args!("let l{i}_{j} = w{i}_{j} * v{j};"));
        }
    }
}

/// LDLᵀz = r in f32.
pub(super) fn solve(tangent: u32, text: &mut String) {
    for i in 0..tangent {
        let terms: String = (0..i).map(|k| format!(" - l{i}_{k} * y{k}")).collect();
        line(text, format_args!("let y{i} = r{i}{terms};"));
    }
    for i in (0..tangent).rev() {
        let terms: String = (i + 1..tangent).map(|k| format!(" - l{k}_{i} * z{k}")).collect();
        line(text, format_args!("let z{i} = y{i} * v{i}{terms};"));
    }
    let terms: Vec<String> = (0..tangent).map(|i| format!("y{i} * y{i} * v{i}")).list();
    line(text, format_args!("let energy = vec2<f32>({}, 0.0);", join(&terms, " + ")));
}

/// The same by the factors in memory.
pub(super) fn solve_pairs(tangent: u32, text: &mut String) {
    line(text, format_args!("var right: array<f32, TANGENT>;"));
    each(tangent, "right[$] = r$;", text);
    line(text, format_args!("let solution = solve_block(factors, right);"));
    each(tangent, "let z$ = solution[$].x;", text);
    line(text, format_args!("let energy = solution[{tangent}];"));
}
