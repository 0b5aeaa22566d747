//! Products of matrices: tiles, layouts, types and extents about those of tiles.

use residua_ir::graph::Op as Real;

use crate::dtype::DType;
use crate::kernel::{Body, Extent, Product, TensorKernel, Tile};
use crate::quantised::Form;
use crate::sample::{Sample, store};
use crate::scalar::{Id, Type, TypedOp};
use crate::wgsl::{DeviceLimits, PRODUCT_WORDS, Windows, words_of_product, write};

/// A product [batch, rows, depth] × [batch, depth, columns].
#[derive(Clone, Copy)]
struct Description {
    extents: [u32; 4],
    tile: Tile,
    /// Whether the last two axes of each factor are swapped in memory.
    transposed: [bool; 2],
    /// Of the left factor, the right one and the result.
    dtypes: [DType; 3],
    /// Whether the left factor is scaled, and a bias and another matrix are added to the result.
    has_more: bool,
    /// Whether extents are words of the uniform.
    has_words: bool,
}

impl Description {
    fn kernel(self) -> TensorKernel {
        let Description { extents, tile, transposed, dtypes, has_more, has_words } = self;
        let mut buffers = vec![(dtypes[0], false), (dtypes[1], false), (dtypes[2], true)];
        if has_more {
            buffers.extend([(DType::F32, false); 2]);
        }
        let mut sample = Sample::new(&buffers);
        let [batch, rows, columns, depth] =
            extents.map(|extent| if has_words { sample.word(i64::from(extent)) } else { Extent::Known(extent) });
        let outer = if extents[0] == 1 { vec![] } else { vec![batch] };
        let first = outer.len() as u32;
        let [row, column, place] = [0, 1, 2].map(|axis| sample.coordinate(first + axis));
        let matrix = |sample: &mut Sample, at: [Id; 2], of: [Extent; 2], swapped: bool| {
            let (at, of) = if swapped { ([at[1], at[0]], [of[1], of[0]]) } else { (at, of) };
            let start = if first == 0 {
                at[0]
            } else {
                let batch = sample.coordinate(0);
                sample.affine(batch, of[0], at[0])
            };
            sample.affine(start, of[1], at[1])
        };
        let left = matrix(&mut sample, [row, place], [rows, depth], transposed[0]);
        let right = matrix(&mut sample, [place, column], [depth, columns], transposed[1]);
        let result = matrix(&mut sample, [row, column], [rows, columns], false);
        let (mut left, right) = (sample.load(0, left), sample.load(1, right));
        let ty = sample.graph.ty(left);
        let mut value = sample.folded(0, 0, ty);
        if has_more {
            let scale = sample.f32(0.5);
            left = sample.real(Real::Mul, &[left, scale]);
            let (bias, other) = (sample.load(3, column), sample.load(4, result));
            value = sample.real(Real::Add, &[value, bias]);
            value = sample.real(Real::Add, &[value, other]);
        }
        if Type::of(dtypes[2]) != ty {
            value = sample.apply(TypedOp::ToU32, &[value]);
        }
        let elements = vec![store(2, result, value)];
        sample.kernel(
            "product",
            Body::Product(Product { batch: outer, rows, columns, depth, folds: vec![], left, right, elements, tile }),
        )
    }
}

/// Each tile with extents of 1 to more than a tile, in all layouts over the table.
pub fn all() -> Vec<TensorKernel> {
    let mut cases = Vec::new();
    let f32s = [DType::F32; 3];
    let types = [
        f32s,
        [DType::F16, DType::F32, DType::F32],
        f32s,
        [DType::I32; 3],
        [DType::F32, DType::F32, DType::F16],
        [DType::U32; 3],
        f32s,
        [DType::F32, DType::F32, DType::U8],
    ];
    let layouts = [[false, false], [true, false], [false, true], [true, true]];
    let mut number = 0;
    for tile in [Tile::Large, Tile::Medium, Tile::Small, Tile::Vector, Tile::LargeOf64, Tile::Wide] {
        for [rows, columns, depth] in [
            [1, 1, 1],
            [1, 3, 5],
            [5, 64, 130],
            [8, 33, 16],
            [31, 128, 1],
            [33, 31, 36],
            [65, 68, 30],
            [128, 128, 64],
            [129, 130, 17],
            [4, 4, 0],
            [70, 1, 21],
        ] {
            let dtypes = types[number % types.len()];
            let description = Description {
                extents: [if number % 3 == 1 { 3 } else { 1 }, rows, columns, depth],
                tile,
                transposed: layouts[(number + number / 4) % 4],
                dtypes,
                has_more: dtypes[0].is_real() && dtypes[1].is_real() && number % 2 == 0,
                has_words: number % 5 != 2,
            };
            cases.push(description.kernel());
            number += 1;
        }
        for transposed in layouts {
            let extents = [1, 64, 64, 32];
            cases.push(
                Description { extents, tile, transposed, dtypes: f32s, has_more: false, has_words: true }.kernel(),
            );
        }
    }
    cases
}

/// Rows times a quantised matrix [columns, depth], transposed. The rows are f32, or bytes.
fn quantised(form: Form, tile: Tile, [rows, columns, depth]: [u32; 3], has_bytes: bool) -> TensorKernel {
    let depth = depth.next_multiple_of(form.multiple());
    let left_buffers: &[DType] = if has_bytes { &[DType::U32, DType::F32] } else { &[DType::F32] };
    let dtypes = left_buffers.iter().copied().chain([DType::U32, form.side_dtype()]);
    let buffers: Vec<(DType, bool)> = dtypes.map(|dtype| (dtype, false)).chain([(DType::F32, true)]).collect();
    let mut sample = Sample::new(&buffers);
    let [row, column, place] = [0, 1, 2].map(|axis| sample.coordinate(axis));
    let number = |sample: &mut Sample, form: Form, buffer: u32, outer: Id| {
        let element = |sample: &mut Sample, buffer: u32, length: u32, within| {
            let length = sample.word(i64::from(length));
            let index = sample.affine(outer, length, within);
            sample.load(buffer, index)
        };
        let count = sample.u32(form.a_word().trailing_zeros());
        let within = sample.apply(TypedOp::Shr, &[place, count]);
        let word = element(sample, buffer, depth / form.a_word(), within);
        let places = sample.graph.side_places(form, place);
        let side: Vec<Id> =
            places.iter().map(|within| element(sample, buffer + 1, form.side(depth), *within)).collect();
        sample.graph.dequantized(form, word, &side, place)
    };
    let count = left_buffers.len() as u32;
    let right = number(&mut sample, form, count, column);
    let left = has_bytes.then(|| number(&mut sample, Form::BYTES, 0, row));
    let [rows, columns, depth] = [rows, columns, depth].map(|extent| sample.word(i64::from(extent)));
    let (at, result) = (sample.affine(row, depth, place), sample.affine(row, columns, column));
    let left = left.unwrap_or_else(|| sample.load(0, at));
    let value = sample.folded(0, 0, Type::F32);
    let elements = vec![store(count + 2, result, value)];
    let body = Product { batch: Vec::new(), rows, columns, depth, folds: vec![], left, right, elements, tile };
    sample.kernel("product", Body::Product(body))
}

/// Texts of products with quantised factors.
pub fn of_quantised() -> Vec<TensorKernel> {
    let extents = [
        [1, 256, 512],
        [8, 70, 96],
        [3, 33, 32],
        [200, 130, 96],
        [64, 64, 64],
        [256, 128, 64],
        [257, 255, 160],
        [300, 40, 64],
    ];
    let all = |form| {
        let tile = |[rows, ..]: &[u32; 3]| match *rows {
            0..=Tile::MOST_ROWS => Tile::Vector,
            9..=255 => Tile::Medium,
            256..=257 => Tile::Large,
            258.. => Tile::LargeOf64,
        };
        let kernel =
            move |extents: [u32; 3]| [false, true].map(|bytes| quantised(form, tile(&extents), extents, bytes));
        extents.into_iter().flat_map(kernel)
    };
    Form::all().flat_map(all).collect()
}

/// The texts that are compared with golden ones: a tile with transposed and guarded factors, and few rows.
pub fn golden() -> Vec<(&'static str, TensorKernel)> {
    let plain = Description {
        extents: [1, 128, 64, 96],
        tile: Tile::Small,
        transposed: [false, false],
        dtypes: [DType::F32; 3],
        has_more: false,
        has_words: true,
    };
    let guarded = Description { extents: [2, 33, 30, 17], transposed: [true, true], has_more: true, ..plain };
    let vector = Description { extents: [1, 1, 256, 512], tile: Tile::Vector, ..plain };
    vec![
        ("product", plain.kernel()),
        ("product_guarded", guarded.kernel()),
        ("product_vector", vector.kernel()),
        ("product_quantised", quantised(Form::Q4_0, Tile::Vector, [1, 256, 512], false)),
        ("product_along_depth", quantised(Form::Q4_0, Tile::Large, [256, 128, 64], false)),
        ("product_of_bytes", quantised(Form::Q4_0, Tile::Small, [64, 64, 64], true)),
    ]
}

const PLAIN: Description = Description {
    extents: [1, 96, 60, 64],
    tile: Tile::Small,
    transposed: [false, false],
    dtypes: [DType::F32; 3],
    has_more: false,
    has_words: true,
};

/// The numbers here are those of `TILES`, `DTYPES` and `PRODUCT_WORDS` in pkg-template/src/tensor/device/tiles.ts: they change together.
#[test]
fn numbers_of_tiles_and_types_are_those_of_the_facade() {
    for (number, tile) in [(0, Tile::Large), (1, Tile::LargeOf64), (2, Tile::Medium), (3, Tile::Small), (4, Tile::Wide)]
    {
        assert_eq!(Tile::EXCHANGEABLE[number], tile);
    }
    assert_eq!(Tile::EXCHANGEABLE.len(), 5);
    assert_eq!([Type::F32, Type::I32, Type::U32].map(|ty| ty as u32), [0, 1, 2]);
    assert_eq!(PRODUCT_WORDS, 10);
    let words = |kernel: &TensorKernel| words_of_product(7, kernel, &Windows::default(), &[]);
    assert_eq!(words(&PLAIN.kernel()), Some([7, 3, 0, 1, 0, 32, 1, 96, 60, 64]));
    let batch = Description { extents: [5, 33, 30, 17], tile: Tile::Medium, transposed: [true, true], ..PLAIN };
    assert_eq!(words(&batch.kernel()), Some([7, 2, 0, 0, 1, 32, 5, 33, 30, 17]));
    // Products of integers have tiles of their own.
    assert_eq!(words(&quantised(Form::Q4_0, Tile::Large, [256, 128, 64], true)), None);
    // A product with few rows has an order of sums of its own.
    assert_eq!(words(&Description { tile: Tile::Vector, ..PLAIN }.kernel()), None);
}

#[test]
fn the_form_of_a_product_has_its_type_its_layouts_and_its_packing() {
    let form = |kernel: &TensorKernel| words_of_product(0, kernel, &Windows::default(), &[]).unwrap()[2..6].to_vec();
    assert_eq!(form(&PLAIN.kernel()), [0, 1, 0, 32]);
    assert_eq!(form(&Description { transposed: [true, true], ..PLAIN }.kernel()), [0, 0, 1, 32]);
    assert_eq!(form(&Description { dtypes: [DType::I32; 3], ..PLAIN }.kernel()), [1, 1, 0, 32]);
    assert_eq!(form(&Description { dtypes: [DType::U32; 3], ..PLAIN }.kernel()), [2, 1, 0, 32]);
    let halves = Description { dtypes: [DType::F32, DType::F16, DType::F32], transposed: [false, true], ..PLAIN };
    assert_eq!(form(&halves.kernel()), [0, 1, 1, 16]);
    assert_eq!(form(&quantised(Form::Q4_0, Tile::Large, [64, 64, 64], false)), [0, 1, 1, 65]);
    assert_eq!(form(&quantised(Form::Q8_0, Tile::Large, [64, 64, 64], false)), [0, 1, 1, 64]);
}

/// The page check of tiles (www/checks/groups/tensor-tuning.js) counts the texts by this rule.
#[test]
fn both_large_tiles_differ_where_real_factors_lie_along_the_depth_without_a_batch() {
    let large = Description { tile: Tile::Large, extents: [1, 256, 256, 64], transposed: [false, true], ..PLAIN };
    let halves = Description { dtypes: [DType::F32, DType::F16, DType::F32], ..large };
    for (description, differs) in [
        (large, true),
        (halves, true),
        (Description { extents: [3, 256, 256, 64], ..large }, false),
        (Description { transposed: [false, false], ..large }, false),
        (Description { dtypes: [DType::I32; 3], ..large }, false),
    ] {
        let text = |tile| write(&Description { tile, ..description }.kernel(), &DeviceLimits::default()).unwrap().text;
        assert_eq!(text(Tile::Large) != text(Tile::LargeOf64), differs, "{:?}", description.extents);
    }
}

#[test]
fn products_of_bytes_take_a_packed_product_where_the_language_has_it() {
    for form in Form::all() {
        let kernel = quantised(form, Tile::Medium, [64, 64, 64], true);
        let text =
            |has_packed_dot| write(&kernel, &DeviceLimits { has_packed_dot, ..DeviceLimits::default() }).unwrap().text;
        residua_portable::validated(&text(true));
        assert_eq!([true, false].map(|has| text(has).contains("dot4I8Packed")), [true, false]);
    }
}
