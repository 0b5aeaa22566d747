//! What a solve on the device submits for a mixture of residuals, recorded without a device.

use crate::least_squares::{Edge, grid};
use crate::{landmarks, mixture};
use residua::eval::access_plan_cache::AccessPlanCache;
use residua::eval::layout::Layout;
use residua::eval::record::Kernels;
use residua::eval::texts::kernel_numbers;
use residua::gauss_newton::device::blocks::numbers_of_blocks;
use residua::gauss_newton::device::fused_lists::{FUSED_BELOW, FusedLists, Tables, is_wanted};
use residua::gauss_newton::device::{JtjProduct, ModelLayout, ModelRecorder};
use residua::model::Model;
use residua::model::access_plan::Entry;
use residua::model::incidence::fused::{MOST_LIGHT, fused_incidence};
use residua::solve::levenberg_marquardt::device::elimination::Elimination;
use residua::solve::levenberg_marquardt::device::record::{Recording, Segment};
use residua_base::cooperative::{Slices, run_synchronously};
use residua_codegen::Width;
use residua_codegen::wgsl::PairForm;
use residua_gpu::submission::{Encoded, Step};
use residua_gpu::{BindingKind, Limits, PipelineRequest, Submissions};
use residua_portable::{assert_guard_reads_storage, validated};

/// A model laid out, with the plans of its kernels.
struct LaidOut<'a> {
    model: &'a Model,
    evaluation: Layout,
    layout: ModelLayout,
    plans: AccessPlanCache,
    limits: Limits,
}

impl LaidOut<'_> {
    fn recorder(&self) -> ModelRecorder<'_, AccessPlanCache> {
        let LaidOut { model, evaluation, layout, plans, limits } = self;
        ModelRecorder { model, evaluation, layout, kernels: plans, limits }
    }
}

/// The model laid out, in chunks of so many instances, with fused lists where they are wanted.
fn laid_out<'a>(model: &'a Model, limits: &Limits, batch_size: Option<u32>) -> LaidOut<'a> {
    let (numbers, count) = kernel_numbers(model);
    let mut plans = AccessPlanCache::new(model, numbers, count, Width::Single);
    for entry in Entry::ALL {
        plans.make(model, entry).unwrap();
    }
    let evaluation = Layout::new(model, Width::Single, &vec![6; model.batches.len()], limits, batch_size).unwrap();
    let mut layout = ModelLayout::new(model, &evaluation);
    if is_wanted(model, &evaluation, &layout.local) {
        let chunks: Vec<_> = evaluation.chunks.iter().map(|chunk| (chunk.batch, chunk.range.clone())).collect();
        let lists = run_synchronously(fused_incidence(model, &chunks, &numbers_of_blocks(model), &Slices::unlimited()))
            .unwrap()
            .unwrap();
        let kernel = |batch: usize| Some((plans.number(batch), &plans.plan(batch, Entry::Product).unwrap().kernel));
        let tables = Tables { evaluation: &evaluation, local: &layout.local };
        layout.fused = FusedLists::new(model, tables, layout.scale, lists, &kernel);
    }
    LaidOut { model, evaluation, layout, plans, limits: *limits }
}

/// Checks a segment's bindings against the limits; gives its dispatches.
fn dispatches(segment: &Segment, limits: &Limits) -> usize {
    let plan = Submissions::new(&segment.list, limits).unwrap();
    let passes = plan.steps.iter().flat_map(|step| match step {
        Step::Submit(parts) => parts.as_slice(),
        Step::Write { .. } => &[],
    });
    passes
        .map(|part| match part {
            Encoded::Pass(dispatches) => dispatches.len(),
            Encoded::Copy { .. } | Encoded::Clear { .. } | Encoded::Download { .. } => 0,
        })
        .sum()
}

#[test]
fn an_iteration_over_all_residuals_is_one_dispatch_and_one_for_each_kind_of_blocks_and_level_of_the_longest_list() {
    let limits = Limits::default();
    let mut model = mixture::model([("squared", 1.0); 3]);
    for (batch_size, disabled, constrained) in
        [(None, None, false), (None, Some(1), true), (Some(37), None, true), (Some(37), Some(0), false)]
    {
        model.blocks.iter_mut().enumerate().for_each(|(block, info)| info.enabled = disabled != Some(block));
        let laid_out = laid_out(&model, &limits, batch_size);
        let fused = laid_out.layout.fused.as_ref().unwrap();
        assert!(fused.together.is_some());
        // The curve has 90 entries: segments of 32, and their sum.
        assert_eq!(fused.heavy.len(), 2);
        let recording = Recording::new(&laid_out.recorder(), constrained, None).unwrap();
        // Products, two levels for the curve, and an update of vertices, of poses and of the curve.
        assert_eq!(dispatches(&recording.iteration, &limits), 6);
        let chunks = laid_out
            .evaluation
            .chunks
            .iter()
            .filter(|chunk| model.blocks[model.batches[chunk.batch].block as usize].enabled)
            .count();
        // Gradient and curvature of each kind, two levels of both for the curve; begin for each kind, converge, settle.
        assert_eq!(dispatches(&recording.head, &limits), chunks + 3 + 4 + 3 + 2);
        // The last direction; retract twice (numbers by themselves, quaternions, numbers), measure, perhaps images, decide.
        assert_eq!(dispatches(&recording.tail, &limits), 1 + 3 + 3 + usize::from(constrained) * chunks + chunks + 1);
        for program in recording.iteration.own_programs().chain(recording.head.own_programs()) {
            let PipelineRequest { wgsl, entry, layout } = recording.request(program, PairForm::Split).unwrap();
            let module = validated(&wgsl);
            assert_eq!(module.entry_points[0].name, entry);
            assert_guard_reads_storage(&module);
            assert!(layout.iter().filter(|&&kind| kind != BindingKind::Uniform).count() <= 8);
        }
    }
}

#[test]
fn lists_hold_every_entry_of_every_block_once_and_leave_out_none_but_the_longest() {
    let model = mixture::model([("squared", 1.0); 3]);
    for batch_size in [None, Some(37)] {
        let laid_out = laid_out(&model, &Limits::default(), batch_size);
        let chunks: Vec<_> =
            laid_out.evaluation.chunks.iter().map(|chunk| (chunk.batch, chunk.range.clone())).collect();
        let numbers = numbers_of_blocks(&model);
        let lists =
            run_synchronously(fused_incidence(&model, &chunks, &numbers, &Slices::unlimited())).unwrap().unwrap();
        let blocks: u32 = model.arrays.iter().map(|array| array.count).sum();
        assert_eq!(lists.offsets.len() as u32, blocks + 1);
        // 100 springs with two ends, 24 turns of a vertex by a pose; 90 samples of the curve are too many for a list.
        assert_eq!(lists.entries.len(), 2 * 100 + 2 * 24);
        let longest = lists.offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!(longest <= MOST_LIGHT);
        assert_eq!(lists.heavy[0].entries.len(), 90);
        let mut starts = Vec::new();
        for array in &model.arrays {
            starts.extend((0..array.count).map(|block| array.offset + block * array.dim));
        }
        for (block, pair) in lists.offsets.windows(2).enumerate() {
            let entries = &lists.entries[pair[0] as usize..pair[1] as usize];
            assert!(entries.windows(2).all(|pair| pair[0] < pair[1]), "in order");
            for entry in entries {
                let slot = lists.slots[(entry >> lists.instance_bits) as usize];
                let instance = entry & ((1 << lists.instance_bits) - 1);
                let (batch, range) = &chunks[slot.chunk];
                let batch = &model.batches[*batch];
                let mut first = 0;
                let column = batch.class.block_dims.iter().position(|&dim| {
                    first += dim;
                    first - dim == slot.column
                });
                let addresses = &batch.column(column.unwrap() as u32)[range.clone()];
                assert_eq!(addresses[instance as usize], starts[block]);
            }
        }
    }
}

#[test]
fn one_kind_of_residuals_is_fused_unless_it_has_very_many_instances() {
    let limits = Limits::default();
    for (edge, side) in
        [Edge::Spring, Edge::Uneven, Edge::Differences].into_iter().flat_map(|edge| [(edge, 40), (edge, 184)])
    {
        let model = grid(side, edge);
        let is_fused = (model.batches[0].count as usize) < FUSED_BELOW;
        assert_eq!(is_fused, side == 40);
        let laid_out = laid_out(&model, &limits, None);
        let expected = match edge {
            _ if is_fused => JtjProduct::FusedParts { heavy: false, forms_direction: true },
            Edge::Spring => JtjProduct::LocalJvp { mirrored: true },
            Edge::Uneven => JtjProduct::LocalJvp { mirrored: false },
            Edge::Differences => JtjProduct::LocalParts,
        };
        assert_eq!(laid_out.recorder().jtj_product(), expected, "{edge:?} {side}");
        let recording = Recording::new(&laid_out.recorder(), false, None).unwrap();
        // Products and update; or product, update and direction.
        assert_eq!(dispatches(&recording.iteration, &limits), if is_fused { 2 } else { 3 });
        for program in recording.iteration.own_programs() {
            let request = recording.request(program, PairForm::Split).unwrap();
            assert_guard_reads_storage(&validated(&request.wgsl));
        }
    }
}

#[test]
fn chunks_that_no_binding_covers_are_gathered_one_after_the_other() {
    let limits = Limits { max_storage_buffer_binding_size: 1 << 21, ..Limits::default() };
    let model = grid(184, Edge::Spring);
    let laid_out = laid_out(&model, &limits, None);
    let chunks = laid_out.evaluation.chunks.len();
    assert!(chunks > 1 && laid_out.layout.fused.is_none());
    assert_eq!(laid_out.recorder().jtj_product(), JtjProduct::Vector);
    let recording = Recording::new(&laid_out.recorder(), true, None).unwrap();
    // The vector is cleared; a kernel and a gather for each chunk; update and direction.
    let passes: usize = laid_out.evaluation.chunks.iter().map(|chunk| chunk.passes.len()).sum();
    assert_eq!(dispatches(&recording.iteration, &limits), 1 + chunks + passes + 2);
    // Gradient and block diagonal are cleared; a kernel and two gathers for each chunk; begin, converge, settle.
    assert_eq!(dispatches(&recording.head, &limits), 2 + chunks + 2 * passes + 3);
    // Retract, measure, a jvp and a cost for each chunk, decide.
    assert_eq!(dispatches(&recording.tail, &limits), 2 + 2 * chunks + 1);
}

#[test]
fn an_elimination_is_one_product_of_its_own_or_two_and_a_substitution() {
    let limits = Limits::default();
    for (places, landmarks, has_heading, of_whole, of_reduced) in [
        // Products and an update of each kind of blocks; the product of the complement, an update and a step of the eliminated blocks.
        (8, 40, true, 3, 3),
        (8, 40, false, 2, 3),
        // Two levels of places with many entries, which landmarks could have as well: two products, and all else for each.
        (2, 60, false, 4, 9),
        // Lists of one gather: product, update, direction; product, two updates, product, substitution, direction.
        (5_000, 25_000, false, 3, 6),
    ] {
        let model = landmarks::model(places, landmarks, 5, has_heading);
        let laid_out = laid_out(&model, &limits, None);
        let elimination = Elimination::of(&model).unwrap();
        assert_eq!(elimination.is_eliminated, [false, true]);
        let [whole, reduced] = [None, Some(&elimination)]
            .map(|elimination| Recording::new(&laid_out.recorder(), false, elimination).unwrap());
        let count = |segment: &Segment| dispatches(segment, &limits);
        let about = format!("{places} {landmarks} {has_heading}");
        assert_eq!([&whole, &reduced].map(|recording| count(&recording.iteration)), [of_whole, of_reduced], "{about}");
        // Blocks of one kind are two groups if some of them are eliminated.
        assert_eq!(count(&reduced.head), count(&whole.head) + usize::from(!has_heading), "{about}");
        for program in reduced.iteration.own_programs().chain(reduced.head.own_programs()) {
            let PipelineRequest { wgsl, layout, .. } = reduced.request(program, PairForm::Split).unwrap();
            assert_guard_reads_storage(&validated(&wgsl));
            assert!(layout.iter().filter(|&&kind| kind != BindingKind::Uniform).count() <= 8);
        }
    }
}

#[test]
fn only_small_blocks_that_leave_others_are_eliminated() {
    use residua_base::error::ErrorCode;
    use residua_linalg::Kind;
    let eliminates = |model: &Model, solver| Elimination::for_solver(model, solver).map(|found| found.is_some());
    let many = landmarks::model(8, 80, 5, true);
    let few = landmarks::model(8, 12, 5, true);
    for (model, by_itself) in [(&many, true), (&few, false)] {
        assert_eq!(eliminates(model, None), Ok(by_itself));
        assert_eq!(eliminates(model, Some(Kind::Pcg)), Ok(false));
        assert_eq!(eliminates(model, Some(Kind::IterativeSchur)), Ok(true));
    }
    let springs = grid(10, Edge::Spring);
    assert_eq!(eliminates(&springs, None), Ok(false));
    let refusal = eliminates(&springs, Some(Kind::IterativeSchur)).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::InvalidArgument);
    assert!(refusal.message.contains("takes 'auto' or 'pcg'"), "{}", refusal.message);
}
