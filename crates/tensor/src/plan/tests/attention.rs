//! Attention as plans against the reference.

use super::*;
use crate::expr::Attention;

/// A case: batch, heads, key heads, queries, keys, size, width of the values.
pub struct Case {
    pub name: &'static str,
    pub batch: i64,
    pub heads: [i64; 2],
    pub tokens: [i64; 2],
    pub sizes: [i64; 2],
    pub attention: Attention,
    /// The type of keys and values.
    pub dtype: DType,
    /// Type and shape.
    pub mask: Option<(DType, Vec<i64>)>,
}

fn plain() -> Attention {
    Attention { causal: false, position: size(0), scale: 0.3, window: None, softcap: None }
}

fn case(name: &'static str, heads: [i64; 2], tokens: [i64; 2], sizes: [i64; 2], attention: Attention) -> Case {
    Case { name, batch: 2, heads, tokens, sizes, attention, dtype: DType::F32, mask: None }
}

/// Cases for every way in which a query sees keys.
pub fn cases() -> Vec<Case> {
    let causal = |position: i64| Attention { causal: true, position: size(position), ..plain() };
    let masked = |dtype: DType, shape: &[i64]| Some((dtype, shape.to_vec()));
    vec![
        case("plain", [2, 2], [5, 7], [4, 6], plain()),
        case("one query", [4, 1], [1, 9], [4, 4], plain()),
        case("causal", [2, 2], [6, 6], [4, 4], causal(0)),
        case("causal after a past", [4, 2], [3, 8], [4, 4], causal(5)),
        case("queries before all keys", [2, 2], [5, 4], [4, 4], causal(-2)),
        case("window", [2, 1], [6, 6], [4, 4], Attention { window: Some(2), ..causal(0) }),
        case("window without causal", [2, 2], [6, 8], [4, 4], Attention { window: Some(1), ..plain() }),
        case("softcap", [3, 3], [4, 5], [4, 4], Attention { softcap: Some(0.5), ..plain() }),
        case("blocks of keys", [4, 2], [2, 300], [4, 4], causal(290)),
        case("many queries", [2, 1], [9, 140], [4, 20], causal(131)),
        case("other sizes", [1, 1], [3, 5], [3, 5], plain()),
        case("no keys", [2, 1], [3, 0], [4, 4], plain()),
        case("no queries", [2, 1], [0, 3], [4, 4], plain()),
        Case { dtype: DType::F16, ..case("half", [4, 2], [3, 6], [4, 8], causal(3)) },
        Case { mask: masked(DType::Bool, &[4, 6]), ..case("bools", [4, 2], [4, 6], [4, 4], plain()) },
        Case { mask: masked(DType::F32, &[2, 4, 1, 6]), ..case("terms", [4, 2], [4, 6], [4, 4], plain()) },
        Case { mask: masked(DType::F32, &[1, 4, 6]), ..case("terms of all heads", [4, 2], [4, 6], [4, 4], causal(2)) },
        Case {
            mask: masked(DType::F32, &[2, 4, 4, 6]),
            ..case(
                "all options",
                [4, 1],
                [4, 6],
                [4, 8],
                Attention { window: Some(3), softcap: Some(2.0), ..causal(1) },
            )
        },
    ]
}

impl Case {
    /// Adds it with its inputs, whose contents it gives. Masks leave out every third key, and all of the first query.
    pub fn build(&self, expr: &mut Expr) -> (TensorId, Vec<Vec<f64>>) {
        let mut contents = Vec::new();
        let mut input = |expr: &mut Expr, dtype: DType, extents: &[i64], numbers: Vec<f64>| {
            contents.push(numbers);
            expr.input(contents.len() as u32 - 1, dtype, &shape(extents))
        };
        let mut operands = Vec::new();
        let factors = [(0, 0, 0), (1, 1, 0), (1, 1, 1)];
        for (place, (heads, tokens, size)) in factors.into_iter().enumerate() {
            let extents = [self.batch, self.heads[heads], self.tokens[tokens], self.sizes[size]];
            let dtype = if place == 0 { DType::F32 } else { self.dtype };
            let numbers = halves(extents.iter().product::<i64>() as usize, place + 1);
            operands.push(input(expr, dtype, &extents, numbers));
        }
        if let Some((dtype, extents)) = &self.mask {
            let keys = self.tokens[1];
            let is_seen = |k: i64| k >= keys && k % 3 != 1;
            let count = extents.iter().product::<i64>();
            let numbers: Vec<f64> = match dtype {
                DType::Bool => (0..count).map(|k| f64::from(u8::from(is_seen(k)))).collect(),
                _ => (0..count).map(|k| if is_seen(k) { (k % 7) as f64 * 0.25 } else { f64::NEG_INFINITY }).collect(),
            };
            operands.push(input(expr, *dtype, extents, numbers));
        }
        (expr.attention(self.attention.clone(), &operands), contents)
    }
}

#[test]
fn attention_agrees_with_the_reference() {
    for case in cases() {
        let mut expr = Expr::default();
        let (y, contents) = case.build(&mut expr);
        println!("{}", case.name);
        check(expr, &[y], &contents, &[]);
    }
}

#[test]
fn attention_is_0_where_a_query_sees_no_key() {
    let mut expr = Expr::default();
    let case = case(
        "queries before all keys",
        [2, 2],
        [5, 4],
        [4, 4],
        Attention { causal: true, position: size(-2), ..plain() },
    );
    let (y, contents) = case.build(&mut expr);
    let values = evaluate(&expr, &[], &contents);
    let rows: Vec<bool> = values[y.0 as usize].data.chunks(4).map(|row| row.iter().all(|x| *x == 0.0)).collect();
    assert_eq!(rows[..5], [true, true, false, false, false]);
}

#[test]
fn tokens_of_attention_may_differ_from_run_to_run() {
    let mut expr = Expr::default();
    let (queries, keys) = (Size::dim(0), Size::dim(1));
    let q = expr.input(0, DType::F32, &[size(4), queries.clone(), size(4)]);
    let [k, v] = [1, 2].map(|slot| expr.input(slot, DType::F32, &[size(2), keys.clone(), size(4)]));
    let attention = Attention { causal: true, position: &keys - &queries, ..plain() };
    let y = expr.attention(attention, &[q, k, v]);
    for dims in [[1, 1], [1, 6], [3, 7], [5, 5], [4, 2], [12, 20], [3, 260], [2, 0]] {
        let counts = [16 * dims[0], 8 * dims[1], 8 * dims[1]];
        let contents: Vec<Vec<f64>> =
            counts.iter().enumerate().map(|(slot, count)| numbers(*count as usize, slot)).collect();
        check(expr.clone(), &[y], &contents, &dims);
    }
}

#[test]
fn the_states_of_blocks_are_a_vector_and_two_numbers() {
    let mut expr = Expr::default();
    let (y, _) = case("", [4, 2], [2, 300], [4, 16], plain()).build(&mut expr);
    let recipe = Recipe { expr, dims: Vec::new(), results: vec![y], assignments: Vec::new() };
    let plan = Plan::new(&recipe, &GPU).expect("a recipe that plans");
    let temporaries = plan.places.iter().filter_map(|place| match place {
        super::super::Place::Temporary { bytes } => Some(*bytes),
        _ => None,
    });
    // Two batches of four heads, two queries and three blocks of keys.
    assert_eq!(temporaries.collect::<Vec<u64>>(), [48 * 16 * 4, 48 * 4, 48 * 4]);
    let blocks = plan.kernels.iter().position(|kernel| kernel.name == "attention_of_blocks").expect("few queries");
    assert_eq!(plan.elements(blocks, &[])[3..], [48 * 16, 48, 48]);
}

#[test]
fn a_run_takes_the_kernels_for_its_queries() {
    let mut expr = Expr::default();
    let (queries, keys) = (Size::dim(0), Size::dim(1));
    let q = expr.input(0, DType::F32, &[size(4), queries.clone(), size(8)]);
    // Parts of a cache, from a place that a run tells.
    let cache = [1, 2].map(|slot| expr.input(slot, DType::F16, &shape(&[2, 300, 8])));
    let starts = vec![size(0), size(0), size(0)];
    let [k, v] = cache.map(|x| expr.slice(x, starts.clone(), vec![1; 3], vec![size(2), keys.clone(), size(8)]));
    let attention = Attention { causal: true, position: &keys - &queries, ..plain() };
    let y = expr.attention(attention, &[q, k, v]);
    let recipe = Recipe { expr: expr.clone(), dims: vec![40, 300], results: vec![y], assignments: Vec::new() };
    let plan = Plan::new(&recipe, &GPU).expect("a recipe that plans");
    let runs = |queries: u32| {
        let runs = plan.kernels.iter().filter(move |kernel| kernel.runs(&[queries, 140]));
        runs.map(|kernel| kernel.name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(plan.kernels.len(), 3, "{plan}");
    assert_eq!(runs(1), ["attention_of_blocks", "attention_merge"]);
    assert_eq!(runs(8), ["attention_of_blocks", "attention_merge"]);
    assert_eq!(runs(9), ["attention"]);
    for queries in [1, 9] {
        let inputs = [numbers(32 * queries as usize, 1), halves(4800, 2), halves(4800, 3)];
        check(expr.clone(), &[y], &inputs, &[queries, 140]);
    }
}

#[test]
fn other_numbers_of_tokens_and_heads_have_the_same_kernels() {
    let texts = |heads: [i64; 2], tokens: [i64; 2]| {
        let mut expr = Expr::default();
        let attention = Attention { causal: true, position: size(tokens[1] - tokens[0]), ..plain() };
        let (y, _) = case("", heads, tokens, [64, 64], attention).build(&mut expr);
        let recipe = Recipe { expr, dims: Vec::new(), results: vec![y], assignments: Vec::new() };
        let plan = Plan::new(&recipe, &GPU).expect("a recipe that plans");
        let text = |kernel| crate::wgsl::write(kernel, &crate::wgsl::DeviceLimits::default()).expect("a kernel").text;
        plan.kernels.iter().map(text).collect::<Vec<_>>()
    };
    // Words with equal sizes are one, so these sizes differ from one another.
    assert!(texts([15, 5], [70, 90]) == texts([32, 8], [2000, 4096]));
    // The merge of states has one of few schedules.
    assert!(texts([15, 5], [4, 700])[0] == texts([32, 8], [7, 5000])[0]);
}

#[test]
fn layers_of_one_program_have_the_same_kernels() {
    let mut expr = Expr::default();
    let shapes = [[4, 2, 8], [2, 300, 8], [2, 300, 8]];
    let mut slots = 0..;
    let layers = [(); 3].map(|()| {
        let operands = shapes.map(|sizes| expr.input(slots.next().unwrap(), DType::F32, &shape(&sizes)));
        expr.attention(plain(), &operands)
    });
    let recipe = Recipe { expr, dims: Vec::new(), results: layers.to_vec(), assignments: Vec::new() };
    let plan = Plan::new(&recipe, &GPU).expect("a recipe that plans");
    let names = |kernel: &crate::kernel::TensorKernel| kernel.name.clone();
    assert_eq!(plan.kernels.iter().map(names).collect::<Vec<_>>(), ["attention_of_blocks", "attention_merge"]);
    let is_run = |step: &&Step| matches!(step, Step::Dispatch { .. });
    assert_eq!(plan.steps.iter().filter(is_run).count(), 2 * layers.len());
}

#[test]
fn operands_of_many_tensors_fit_the_bindings() {
    for queries in [2, 9] {
        let mut expr = Expr::default();
        let mut contents = Vec::new();
        let mut sum = |expr: &mut Expr, extents: &[i64]| {
            let terms = [0, 1].map(|_| {
                contents.push(numbers(extents.iter().product::<i64>() as usize, contents.len()));
                expr.input(contents.len() as u32 - 1, DType::F32, &shape(extents))
            });
            expr.elementwise(E::Add, &terms)
        };
        let shapes: [&[i64]; 4] = [&[2, queries, 4], &[1, 7, 4], &[1, 7, 4], &[queries, 7]];
        let operands = shapes.map(|shape| sum(&mut expr, shape));
        let y = expr.attention(plain(), &operands);
        check(expr, &[y], &contents, &[]);
    }
}

/// Numbers that f16 has.
fn halves(count: usize, seed: usize) -> Vec<f64> {
    numbers(count, seed).iter().map(|x| (x * 64.0).round() / 64.0).collect()
}
