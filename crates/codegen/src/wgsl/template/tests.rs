use super::{NoParameters, Template};

template_parameters! {
    struct Sample {
        wide: bool,
        exact: bool,
        count: u32,
        body: String,
    }
}

fn sample() -> Sample {
    Sample { wide: true, exact: false, count: 3, body: "a = 1.0;\nb = 2.0;".to_owned() }
}

fn expanded(source: &str) -> String {
    template(source).expand(&sample(), &|_| None).unwrap().text
}

fn template(source: &str) -> Template<'_> {
    Template { name: "sample", source }
}

#[test]
fn branches_stand_where_their_flags_hold() {
    for (condition, holds) in [
        ("WIDE", true),
        ("EXACT", false),
        ("!EXACT", true),
        ("WIDE && EXACT", false),
        ("WIDE || EXACT", true),
        ("EXACT && EXACT || WIDE", true),
        ("EXACT && (EXACT || WIDE)", false),
        ("!(WIDE && !EXACT)", false),
    ] {
        let text = expanded(&format!("#if {condition}\nyes\n#else\nno\n#endif\n"));
        assert_eq!(text, if holds { "yes\n" } else { "no\n" }, "{condition}");
    }
    assert_eq!(expanded("#if EXACT\na\n#else if WIDE\nb\n#else\nc\n#endif\nd\n"), "b\nd\n");
    assert_eq!(expanded("#if EXACT\na\n#else if !WIDE\nb\n#else\nc\n#endif\n"), "c\n");
    assert_eq!(expanded("#if WIDE\n#if EXACT\na\n#else\nb\n#endif\n#endif\n"), "b\n");
}

#[test]
fn lines_are_repeated_with_the_values_of_their_variables() {
    assert_eq!(
        expanded("#for i in 0..COUNT\nlet x{i} = y[{i}u];\n#endfor\n"),
        "let x0 = y[0u];\nlet x1 = y[1u];\nlet x2 = y[2u];\n"
    );
    assert_eq!(
        expanded("#for i in (1..COUNT).rev()\n#for j in 0..i\nl{i}_{j}\n#endfor\n#endfor\n"),
        "l2_0\nl2_1\nl1_0\n"
    );
    assert_eq!(expanded("#for i in COUNT..COUNT\nx\n#endfor\n#for i in COUNT..2\nx\n#endfor\n"), "");
}

#[test]
fn placeholders_are_numbers_and_texts() {
    assert_eq!(expanded("{COUNT * (COUNT + 1) / 2 - 1}u {2 + 3 * 4} {(2 + 3) * 4}\n"), "5u 14 20\n");
    assert_eq!(expanded("    {BODY}\n"), "    a = 1.0;\nb = 2.0;\n");
    // Braces of WGSL.
    assert_eq!(expanded("if x { y = 1; } else {\n}\nstruct S {}\n"), "if x { y = 1; } else {\n}\nstruct S {}\n");
}

#[test]
fn files_are_imported_by_name_once_and_included_in_place() {
    let files = |name: &str| (name == "part").then_some(Template { name: "part", source: "#import b\nq{COUNT}\n" });
    let main = template("#import a\np\n#if WIDE\n#include part\n#import a\n#endif\nr\n#if EXACT\n#import c\n#endif\n");
    let expansion = main.expand(&sample(), &files).unwrap();
    assert_eq!(expansion.text, "p\nq3\nr\n");
    assert_eq!(expansion.imports, ["a", "b"]);
}

#[test]
fn mistakes_are_named_with_their_file_and_line() {
    for (source, message) in [
        ("x\n#if MISSING\n#endif\n", "line 2: MISSING has no value"),
        ("#if WIDE || MISSING\n#endif\n", "line 1: MISSING has no value"),
        ("#if COUNT\n#endif\n", "line 1: COUNT is no flag"),
        ("\n\n{MISSING}\n", "line 3: MISSING has no value"),
        ("{count}\n", "line 1: count has no value"),
        ("{i}\n", "line 1: i has no value"),
        ("{WIDE}\n", "line 1: WIDE is a flag: only #if takes it"),
        ("{BODY + 1}\n", "line 1: BODY is no number"),
        ("{COUNT - 4}\n", "line 1: no u32 is the result of 3 - 4"),
        ("{COUNT / 0}\n", "line 1: no u32 is the result of 3 / 0"),
        ("{COUNT * 4000000000}\n", "line 1: no u32 is the result of 3 * 4000000000"),
        ("{COUNT\n", "line 1: the placeholder '{COUNT' is not closed"),
        ("{COUNT +}\n", "line 1: 'COUNT +' cannot be read from '' on"),
        ("{COUNT; x}\n", "line 1: 'COUNT; x' cannot be read from '; x' on"),
        ("#if WIDE\nx\n", "line 2: the #if of line 1 has no #endif"),
        ("#if WIDE\n#else\nx\n", "line 3: the #else of the #if of line 1 has no #endif"),
        ("#if WIDE\n#else\n#else\n#endif\n", "line 3: the #else of the #if of line 1 has no #endif"),
        ("#for i in 0..2\n#if WIDE\n#endfor\n#endif\n", "line 3: the #if of line 2 has no #endif"),
        ("#for i in 0..2\nx\n", "line 2: the #for of line 1 has no #endfor"),
        ("#endif\n", "line 1: #endif without #if"),
        ("x\n#else\n", "line 2: #else without #if"),
        ("#endfor\n", "line 1: #endfor without #for"),
        ("#endif WIDE\n", "line 1: #endif takes nothing, not 'WIDE'"),
        ("#else WIDE\n", "line 1: #else takes 'if' and a condition, or nothing, not 'WIDE'"),
        ("#if\n#endif\n", "line 1: '' cannot be read from '' on"),
        ("#if WIDE EXACT\n#endif\n", "line 1: 'WIDE EXACT' cannot be read from 'EXACT' on"),
        ("#for N in 0..2\n#endfor\n", "line 1: #for takes 'name in first..end', not 'N in 0..2'"),
        ("#for i of 0..2\n#endfor\n", "line 1: #for takes 'name in first..end', not 'i of 0..2'"),
        ("#for i in 2\n#endfor\n", "line 1: #for takes 'name in first..end', not 'i in 2'"),
        ("#for i in 0..2\n#for i in 0..2\n#endfor\n#endfor\n", "line 2: i is the variable of an enclosing #for"),
        ("#for i in 0..5000\n#endfor\n", "line 1: a #for of 5000 turns; at most 4096 are possible"),
        ("#ifdef WIDE\n#endif\n", "line 1: no directive is called #ifdef"),
        ("#import\n", "line 1: '' is not the name of a file"),
        ("#include two words\n", "line 1: 'two words' is not the name of a file"),
        ("x\n#include absent\n", "line 2: there is no file 'absent'"),
    ] {
        let error = template(source).expand(&sample(), &|_| None).expect_err(source);
        assert!(error.to_string().ends_with(&format!("sample.wgsl, {message}")), "{source:?}: {error}");
    }
    let error = template("#include sample\n").expand(&sample(), &|name| {
        Some(Template { name: "sample", source: "#include sample\n" }).filter(|_| name == "sample")
    });
    assert!(error.expect_err("a file includes itself").to_string().contains("more than 8 files include one another"));
}

#[test]
fn neither_depth_nor_length_has_no_limit() {
    let nested = "#if WIDE\n".repeat(1000);
    let parentheses = format!("{{{}1{}}}\n", "(".repeat(1000), ")".repeat(1000));
    let negated = format!("#if {}WIDE\n#endif\n", "!".repeat(1000));
    let chain = format!("#if EXACT\n{}#endif\n", "#else if EXACT\n".repeat(1000));
    let long = "#for i in 0..4096\n#for j in 0..4096\nx\n#endfor\n#endfor\n";
    for source in [&nested, &parentheses, &negated, &chain, long] {
        assert!(template(source).expand(&sample(), &|_| None).is_err());
    }
}

#[test]
fn damaged_templates_are_errors_and_no_panics() {
    let source = "#import a\n#for i in (0..COUNT).rev()\n#if WIDE && !EXACT\nlet x{i * (i + 1) / 2} = y[{i}u];\n#else if EXACT\n{BODY}\n#else\nz\n#endif\n#endfor\n";
    let mut failed = 0;
    for position in 0..source.len() {
        for replacement in ["", "#", "{", "}", "(", "\n", "é", "9999999999"] {
            let damaged = [&source[..position], replacement, &source[position + 1..]].concat();
            failed += u32::from(template(&damaged).expand(&sample(), &|_| None).is_err());
        }
    }
    assert!(failed > 500, "{failed}");
    assert!(template(source).expand(&NoParameters, &|_| None).is_err());
}
