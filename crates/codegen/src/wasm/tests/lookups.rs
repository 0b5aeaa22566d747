//! Numbers of tables.

use super::*;
use crate::TableBuffer;
use crate::interpret;

/// Of a place in column 0: a number of a table of 5 from 2 on and one of a table of 5 from 3 on, and of a table of 3 from 8 on that at the place that the first
/// is. Stored, and summed.
fn lookups(instances: Instances) -> CheckedKernel {
    let mut graph = Graph::new();
    let place = graph.input(InputId(0));
    let [two, three, five, eight] = [2.0, 3.0, 5.0, 8.0].map(|number| graph.literal(number));
    let first = graph.apply_raw(Op::Lookup, &[place, two, five]);
    let second = graph.apply_raw(Op::Lookup, &[place, three, five]);
    let chained = graph.apply_raw(Op::Lookup, &[first, eight, three]);
    let product = graph.apply_raw(Op::Mul, &[second, chained]);
    let outputs = vec![
        Output::store(first, 1, Index::column(0)),
        Output::store(second, 1, Index::column(1)),
        Output::store(chained, 1, Index::column(2)),
        Output::reduce(product),
    ];
    Kernel {
        buffers: vec![real("places", false), real("results", true), real("tables", false)],
        loads: vec![Load::read(0, Index::column(0))],
        outputs,
        tables: Some(TableBuffer { buffer: 2, numbers: 11 }),
        instances,
        ..Kernel::new("lookups", graph.check(1).unwrap())
    }
    .check()
    .unwrap()
}

const TABLES: [f64; 11] = [9.0, 9.0, 0.0, 1.0, -1.0, 2.0, 7.5, -4.0, 10.0, 20.0, 30.0];

#[test]
fn places_are_rounded_down_and_kept_within_their_table() {
    let places =
        [0.0, 0.9, 1.0, 2.5, 3.999, 4.0, 5.0, 1e300, f64::INFINITY, -0.0, -0.5, -9.0, f64::NEG_INFINITY, f64::NAN, 2.0];
    for (count, instances) in [(places.len(), Instances::Many), (places.len(), Instances::Few), (1, Instances::One)] {
        let kernel = lookups(instances);
        let range = InstanceRange { instances: 0..count as u32, stride: count as u32, first: 0, origin: 0 };
        let buffers = [
            Contents::Reals(places[..count].into()),
            Contents::Reals(vec![f64::NAN; 3 * count]),
            Contents::Reals(TABLES.into()),
        ];
        let (mut compiled, mut interpreted) = (buffers.clone(), buffers);
        let total = run_compiled(&kernel, &mut compiled, &range).unwrap();
        assert_eq!(run_interpreted(&kernel, &mut interpreted, &range).unwrap(), total);
        assert_eq!(compiled[1], interpreted[1]);
        let Contents::Reals(results) = &compiled[1] else { unreachable!() };
        for (instance, place) in places[..count].iter().enumerate() {
            let kept = if place.is_nan() { 0.0 } else { place.floor().clamp(0.0, 4.0) } as usize;
            let chained = TABLES[2 + kept].clamp(0.0, 2.0) as usize;
            let expected = [TABLES[2 + kept], TABLES[3 + kept], TABLES[8 + chained]];
            assert_eq!([0, 1, 2].map(|column| results[column * count + instance]), expected, "at {place}");
        }
    }
}

#[test]
fn lookups_of_long_kernels_are_those_of_short_ones() {
    // Several functions, which share no locals: each step reads at the place that the step before has found.
    const STEPS: usize = 6_000;
    let table: Vec<f64> = (0..97).map(|place| f64::from((place * 31 + 7) % 97)).collect();
    let mut graph = Graph::new();
    let mut place = graph.input(InputId(0));
    let ([zero, length], ninety) = ([0.0, 90.0].map(|number| graph.literal(number)), graph.literal(7.0));
    let mut outputs = Vec::new();
    for step in 0..STEPS {
        let (a, b) = (
            graph.apply_raw(Op::Lookup, &[place, zero, length]),
            graph.apply_raw(Op::Lookup, &[place, ninety, length]),
        );
        let difference = graph.apply_raw(Op::Sub, &[a, b]);
        place = graph.apply_raw(Op::Abs, &[difference]);
        if step % 1_000 == 999 {
            outputs.push(Output::store(place, 1, Index::column(outputs.len() as u32)));
        }
    }
    for (count, instances) in [(3, Instances::Many), (1, Instances::One)] {
        let columns = outputs.len();
        let kernel = Kernel {
            buffers: vec![real("places", false), real("results", true), real("tables", false)],
            loads: vec![Load::read(0, Index::column(0))],
            outputs: outputs.clone(),
            tables: Some(TableBuffer { buffer: 2, numbers: 97 }),
            instances,
            ..Kernel::new("long", graph.clone().check(1).unwrap())
        };
        assert!(kernel.is_parted());
        let kernel = kernel.check().unwrap();
        let range = InstanceRange { instances: 0..count, stride: count, first: 0, origin: 0 };
        let starts = [5.0, 60.0, 13.0][..count as usize].to_vec();
        let buffers = [
            Contents::Reals(starts),
            Contents::Reals(vec![7.5; columns * count as usize]),
            Contents::Reals(table.clone()),
        ];
        let (mut compiled, mut interpreted) = (buffers.clone(), buffers);
        run_compiled(&kernel, &mut compiled, &range).unwrap();
        run_interpreted(&kernel, &mut interpreted, &range).unwrap();
        assert_eq!(compiled, interpreted);
    }
}

#[test]
fn bodies_of_loops_read_tables_at_their_counters_and_states() {
    // x + table[k] · other[x], of which the inner loop sums the places from k on.
    let mut inner = Graph::new();
    let [k, sum] = [0, 1].map(|input| inner.input(InputId(input)));
    let [two, four] = [2.0, 4.0].map(|number| inner.literal(number));
    let read = inner.apply(Op::Lookup, &[k, two, four]);
    let next_sum = inner.add(sum, read);
    let mut body = Graph::new();
    let [k, x] = [0, 1].map(|input| body.input(InputId(input)));
    let [nothing, first, length, places] = [0.0, 2.0, 4.0, 3.0].map(|number| body.literal(number));
    let [at_counter, at_state] =
        [[k, first, length], [x, nothing, places]].map(|operands| body.apply(Op::Lookup, &operands));
    let product = body.mul(at_counter, at_state);
    let sums = body.apply_loop(&inner, &[next_sum], &[k, places, product]);
    let next = body.add(x, sums[0]);
    let mut graph = Graph::new();
    let [count, start] = [0, 1].map(|input| graph.input(InputId(input)));
    let from = graph.literal(1.0);
    let state = graph.apply_loop(&body, &[next], &[from, count, start]);
    assert!(graph.reads_tables());
    let outputs = vec![Output::store(state[0], 1, Index::column(0)), Output::reduce(state[0])];
    let table = [0.5, -2.0, 0.25, 1.0, -1.0, 3.0];
    let expected = |count: f64, start: f64| {
        let place = |index: f64, length: usize| if index > 0.0 { (index as usize).min(length - 1) } else { 0 };
        (0..count as usize).fold(start, |x, step| {
            let k = 1.0 + step as f64;
            let product = table[2 + place(k, 4)] * table[place(x, 3)];
            x + (0..3).fold(product, |sum, of| sum + table[2 + place(k + f64::from(of), 4)])
        })
    };
    for instances in [Instances::Many, Instances::Few] {
        let kernel = Kernel {
            buffers: vec![real("data", false), real("results", true), real("tables", false)],
            loads: (0..2).map(|column| Load::read(0, Index::column(column))).collect(),
            outputs: outputs.clone(),
            tables: Some(TableBuffer { buffer: 2, numbers: 6 }),
            instances,
            ..Kernel::new("loops", graph.clone().check(2).unwrap())
        };
        let kernel = kernel.check().unwrap();
        let (counts, starts) = ([3.0, 0.0, 5.0, 9.0, 1.0], [0.5, 7.0, -3.0, 1.5, 2.0]);
        let buffers = [
            Contents::Reals([counts, starts].concat()),
            Contents::Reals(vec![f64::NAN; counts.len()]),
            Contents::Reals(table.into()),
        ];
        let range = InstanceRange { instances: 0..5, stride: 5, first: 0, origin: 0 };
        let (mut compiled, mut interpreted) = (buffers.clone(), buffers);
        run_compiled(&kernel, &mut compiled, &range).unwrap();
        run_interpreted(&kernel, &mut interpreted, &range).unwrap();
        let of_reference = counts.iter().zip(starts).map(|(count, start)| expected(*count, start)).collect();
        assert_eq!([&compiled[1], &interpreted[1]], [&Contents::Reals(of_reference); 2]);
    }
    let short = Kernel {
        buffers: vec![real("data", false), real("results", true), real("tables", false)],
        loads: (0..2).map(|column| Load::read(0, Index::column(column))).collect(),
        outputs,
        tables: Some(TableBuffer { buffer: 2, numbers: 5 }),
        ..Kernel::new("short", graph.check(2).unwrap())
    };
    assert!(short.check().is_err(), "a table of a loop that leads out of the buffer");
}

#[test]
fn tables_that_lead_out_of_their_buffer_are_refused() {
    let kernel = |first: f64, length: f64, tables: Option<TableBuffer>| {
        let mut graph = Graph::new();
        let place = graph.input(InputId(0));
        let [first, length] = [first, length].map(|number| graph.literal(number));
        let node = graph.apply_raw(Op::Lookup, &[place, first, length]);
        Kernel {
            buffers: vec![real("places", false), real("results", true), real("tables", false), indices("words")],
            loads: vec![Load::read(0, Index::column(0))],
            outputs: vec![Output::store(node, 1, Index::column(0))],
            tables,
            ..Kernel::new("wrong", graph.check(1).unwrap())
        }
        .check()
    };
    let of = |buffer: u32| Some(TableBuffer { buffer, numbers: 4 });
    assert!(kernel(0.0, 4.0, of(2)).is_ok() && kernel(3.0, 1.0, of(2)).is_ok());
    for (first, length, tables) in [
        (1.0, 4.0, of(2)),
        (0.0, 0.0, of(2)),
        (-1.0, 2.0, of(2)),
        (0.5, 2.0, of(2)),
        (0.0, f64::NAN, of(2)),
        (0.0, 4.0, None),
        (0.0, 4.0, of(1)),
        (0.0, 4.0, of(3)),
        (0.0, 4.0, of(4)),
    ] {
        assert!(kernel(first, length, tables).is_err(), "{first}, {length}, {tables:?}");
    }
    let mut views = [
        crate::View::Read(&[0.0]),
        crate::View::Write(&mut [0.0]),
        crate::View::Read(&[0.0; 3]),
        crate::View::Index(&[]),
    ];
    let range = InstanceRange { instances: 0..1, stride: 1, first: 0, origin: 0 };
    let refused = interpret::run(&kernel(0.0, 4.0, of(2)).unwrap(), &mut views, &range).unwrap_err();
    assert!(refused.message.contains("tables of 3 numbers"), "{}", refused.message);
}
