//! Submissions, run on a device that is a few vectors of bytes.

use super::*;
use residua_base::ErrorCode;

/// Runs a plan on host memory. A kernel of this device adds 1 to every word of its first binding and writes to its last.
fn run(submissions: &Submissions, buffers: &mut [Vec<u8>], arguments: &[&[u8]]) -> Vec<Vec<u8>> {
    fn bytes(buffers: &[Vec<u8>], slice: Slice) -> Vec<u8> {
        buffers[slice.buffer.0 as usize][slice.offset as usize..][..slice.size as usize].to_vec()
    }
    fn write(buffers: &mut [Vec<u8>], slice: Slice, data: &[u8]) {
        buffers[slice.buffer.0 as usize][slice.offset as usize..][..slice.size as usize].copy_from_slice(data);
    }
    let mut downloads = vec![Vec::new(); submissions.downloads.len()];
    for step in &submissions.steps {
        let parts = match step {
            Step::Write { to, source: Source::Data(data) } => {
                write(buffers, *to, data);
                continue;
            }
            Step::Write { to, source: Source::Argument(argument) } => {
                write(buffers, *to, arguments[argument.index()]);
                continue;
            }
            Step::Submit(parts) => parts,
        };
        for part in parts {
            match part {
                Encoded::Pass(dispatches) => {
                    for dispatch in dispatches {
                        let bindings = &submissions.bind_groups[dispatch.bind_group as usize].bindings;
                        let data = bytes(buffers, bindings[0]).iter().map(|byte| byte + 1).collect::<Vec<u8>>();
                        write(buffers, bindings[bindings.len() - 1], &data);
                    }
                }
                Encoded::Copy { from, to } => {
                    let data = bytes(buffers, *from);
                    write(buffers, *to, &data);
                }
                Encoded::Clear { what } => write(buffers, *what, &vec![0; what.size as usize]),
                Encoded::Download { from, to } => downloads[to.index()] = bytes(buffers, *from),
            }
        }
    }
    downloads
}

fn small_limits() -> Limits {
    Limits { max_storage_buffer_binding_size: 1024, max_compute_workgroups_per_dimension: 100, ..Limits::default() }
}

const MAP: [BindingKind; 2] = [BindingKind::StorageRead, BindingKind::StorageReadWrite];

#[test]
fn commands_take_effect_in_order() {
    let mut list = CommandList::new();
    let (a, b) = (list.buffer("a", 8), list.buffer("b", 8));
    let (whole_a, whole_b) = (list.whole(a), list.whole(b));
    let increment = list.pipeline("increment", &MAP);
    let argument = list.upload_argument(whole_a);
    list.dispatch(increment, &[whole_a, whole_b], [1, 1]);
    list.dispatch(increment, &[whole_b, whole_a], [1, 1]);
    let twice = list.download(whole_a);
    list.upload(a, 0, vec![9, 9, 9, 9]);
    list.copy(whole_a.part(0, 4), b, 4);
    list.clear(whole_a.part(4, 4));
    let (cleared, copied) = (list.download(whole_a), list.download(whole_b));

    let submissions = Submissions::new(&list, &Limits::default()).unwrap();
    let mut buffers = vec![vec![0; 8], vec![0; 8]];
    for start in [10, 20] {
        let input = [start; 8];
        let mut arguments: [&[u8]; 1] = [&[]];
        arguments[argument.index()] = &input;
        let results = run(&submissions, &mut buffers, &arguments);
        assert_eq!(results[twice.index()], [start + 2; 8]);
        assert_eq!(results[cleared.index()], [9, 9, 9, 9, 0, 0, 0, 0]);
        let first = start + 1;
        assert_eq!(results[copied.index()], [first, first, first, first, 9, 9, 9, 9]);
    }
}

#[test]
fn consecutive_dispatches_share_a_pass_and_equal_bindings_a_bind_group() {
    let mut list = CommandList::new();
    let (a, b) = (list.buffer("a", 8), list.buffer("b", 8));
    let (a, b) = (list.whole(a), list.whole(b));
    let increment = list.pipeline("increment", &MAP);
    for _ in 0..3 {
        list.dispatch(increment, &[a, b], [1, 1]);
        list.dispatch(increment, &[b, a], [1, 1]);
    }
    list.clear(a);
    list.dispatch(increment, &[a, b], [0, 1]);
    list.dispatch(increment, &[a, b], [2, 1]);

    let submissions = Submissions::new(&list, &Limits::default()).unwrap();
    assert_eq!(submissions.bind_groups.len(), 2);
    let [Step::Submit(parts)] = &submissions.steps[..] else { panic!("one submission: {:?}", submissions.steps) };
    let [Encoded::Pass(first), Encoded::Clear { .. }, Encoded::Pass(second)] = &parts[..] else {
        panic!("pass, clear, pass: {parts:?}")
    };
    assert_eq!(first.iter().map(|dispatch| dispatch.bind_group).collect::<Vec<_>>(), [0, 1, 0, 1, 0, 1]);
    assert_eq!(second.iter().map(|dispatch| dispatch.workgroups).collect::<Vec<_>>(), [[2, 1]]);
}

#[test]
fn what_a_browser_would_refuse_is_refused_by_name() {
    use BindingKind::{StorageRead, StorageReadWrite, Uniform};
    type Record = fn(&mut CommandList, Slice, Slice);
    let cases: [(&str, ErrorCode, &[&str], Record); 11] = [
        ("beyond the end", ErrorCode::Internal, &["large", "4096"], |list, large, _| {
            list.clear(large.part(4096, 4));
        }),
        ("not whole words", ErrorCode::Internal, &["small", "words"], |list, _, small| {
            list.upload(small.buffer, 0, vec![0; 3]);
        }),
        ("copy within a buffer", ErrorCode::Internal, &["large"], |list, large, _| {
            list.copy(large.part(0, 4), large.buffer, 8);
        }),
        ("binding too large", ErrorCode::LimitExceeded, &["large of f", "4096", "1024"], |list, large, _| {
            let f = list.pipeline("f", &[StorageRead]);
            list.dispatch(f, &[large], [1, 1]);
        }),
        ("unaligned binding", ErrorCode::Internal, &["large of f", "256"], |list, large, _| {
            let f = list.pipeline("f", &[Uniform]);
            list.dispatch(f, &[large.part(128, 16)], [1, 1]);
        }),
        ("too many workgroups", ErrorCode::LimitExceeded, &["f", "101", "100"], |list, _, small| {
            let f = list.pipeline("f", &[StorageRead]);
            list.dispatch(f, &[small], [1, 101]);
        }),
        ("bindings missing", ErrorCode::Internal, &["f", "1", "2"], |list, _, small| {
            let f = list.pipeline("f", &MAP);
            list.dispatch(f, &[small], [1, 1]);
        }),
        ("read and written", ErrorCode::Internal, &["f", "large"], |list, large, _| {
            let f = list.pipeline("f", &MAP);
            list.dispatch(f, &[large.part(0, 16), large.part(256, 16)], [1, 1]);
        }),
        ("written twice", ErrorCode::Internal, &["f", "small"], |list, _, small| {
            let f = list.pipeline("f", &[StorageReadWrite, StorageReadWrite]);
            list.dispatch(f, &[small, small], [1, 1]);
        }),
        ("download beyond the end", ErrorCode::Internal, &["small"], |list, _, small| {
            list.download(small.part(4, 64));
        }),
        ("offset overflows", ErrorCode::Internal, &["small"], |list, _, small| {
            list.clear(Slice { offset: u64::MAX - 3, size: 8, ..small });
        }),
    ];
    for (case, code, words, record) in cases {
        let mut list = CommandList::new();
        let (large, small) = (list.buffer("large", 4096), list.buffer("small", 64));
        let (large, small) = (list.whole(large), list.whole(small));
        record(&mut list, large, small);
        let error = Submissions::new(&list, &small_limits()).expect_err(case);
        assert_eq!(error.code, code, "{case}: {error}");
        for word in words {
            assert!(error.message.contains(word), "{case}: {word} in {error}");
        }
    }
}

#[test]
fn disjoint_parts_of_a_buffer_may_both_be_written_or_both_be_read() {
    use BindingKind::{StorageRead, StorageReadWrite};
    for kind in [StorageRead, StorageReadWrite] {
        let mut list = CommandList::new();
        let buffer = list.buffer("buffer", 4096);
        let whole = list.whole(buffer);
        let f = list.pipeline("f", &[kind, kind]);
        list.dispatch(f, &[whole.part(0, 256), whole.part(256, 256)], [1, 1]);
        assert!(Submissions::new(&list, &small_limits()).is_ok());
    }
}

#[test]
fn arguments_of_another_number_or_length_are_refused() {
    let mut list = CommandList::new();
    let buffer = list.buffer("buffer", 8);
    list.upload_argument(list.whole(buffer));
    let submissions = Submissions::new(&list, &Limits::default()).unwrap();
    assert!(submissions.check_arguments([8].into_iter()).is_ok());
    for sizes in [&[][..], &[4], &[8, 8]] {
        assert!(submissions.check_arguments(sizes.iter().copied()).is_err(), "{sizes:?}");
    }
}

#[test]
fn nothing_to_do_makes_no_step() {
    let mut list = CommandList::new();
    let empty = list.buffer("empty", 0);
    let whole = list.whole(empty);
    let f = list.pipeline("f", &[BindingKind::StorageRead]);
    list.upload(empty, 0, Vec::new());
    list.clear(whole);
    list.dispatch(f, &[whole], [0, 1]);
    list.download(whole);
    assert_eq!(Submissions::new(&list, &Limits::default()).unwrap().steps, []);
}

#[test]
fn a_kernel_with_more_buffers_than_the_device_binds_is_refused() {
    let layout = [BindingKind::StorageRead; 9];
    assert!(check_layout("gradient", &layout[..8], &Limits::default()).is_ok());
    let error = check_layout("gradient", &layout, &Limits::default()).unwrap_err();
    assert_eq!(error.code, ErrorCode::LimitExceeded);
    assert_eq!(
        error.message,
        "gradient needs 9 storage buffers, and the device's maxStorageBuffersPerShaderStage is 8"
    );
}
