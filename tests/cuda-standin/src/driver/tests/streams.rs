//! Streams, events, pinned memory, graphs: what a program may rely on, and what it must not.

use super::*;

#[test]
fn pinned_memory_is_written_when_someone_waits_and_not_before() {
    for (eager, early) in [("0", 0), ("1", 7)] {
        let mut bench = Bench::new(settings(&[("EAGER", eager)]));
        let at = bench.allocate(4).unwrap();
        bench.copy_in(at, &[7; 4]).unwrap();
        let mut out = vec![0; 4];
        bench.pin(&out);
        bench.copy_out(&mut out, at).unwrap();
        assert_eq!(out, [early; 4], "eager {eager}");
        bench.wait().unwrap();
        assert_eq!(out, [7; 4]);
    }
}

#[test]
fn pageable_memory_is_taken_at_once_and_pinned_memory_when_the_copy_runs() {
    let mut bench = Bench::new(Settings::default());
    let (pageable, pinned) = (bench.allocate(4).unwrap(), bench.allocate(4).unwrap());
    let (mut a, mut b) = (vec![1; 4], vec![1; 4]);
    bench.pin(&b);
    bench.copy_in(pageable, &a).unwrap();
    bench.copy_in(pinned, &b).unwrap();
    a.fill(2);
    b.fill(2);
    let mut out = vec![0; 4];
    bench.copy_out(&mut out, pageable).unwrap();
    assert_eq!(out, [1; 4]);
    bench.copy_out(&mut out, pinned).unwrap();
    assert_eq!(out, [2; 4]);
}

#[test]
fn streams_run_apart_unless_an_event_joins_them() {
    for joined in [false, true] {
        let mut bench = Bench::new(Settings::default());
        let other = bench.driver.create_stream(0, false, 0);
        let (kernel, at) = (bench.kernel(COUNT_UP, "count_up"), bench.allocate(256).unwrap());
        bench.launch(kernel, 1, at, 64).unwrap();
        let event = bench.driver.create_event(0, 0);
        bench.driver.record_event(event, bench.stream).unwrap();
        if joined {
            bench.driver.wait_event(other, event).unwrap();
        }
        bench.driver.synchronize_stream(other).unwrap();
        assert_eq!(bench.counters().launches, u64::from(joined));
        bench.driver.synchronize_event(event).unwrap();
        assert_eq!(bench.counters().launches, 1);
    }
}

#[test]
fn an_event_is_over_after_as_many_questions_as_there_is_work() {
    let mut bench = Bench::new(Settings::default());
    let at = bench.allocate(4).unwrap();
    bench.copy_in(at, &[1; 4]).unwrap();
    let event = bench.driver.create_event(0, 0);
    assert_eq!(bench.driver.poll_event(event), Ok(()), "never recorded");
    bench.driver.record_event(event, bench.stream).unwrap();
    assert_eq!(bench.driver.elapsed_ms(event, event), Err(Status::NOT_READY));
    assert_eq!(bench.driver.poll_event(event), Err(Status::NOT_READY));
    assert_eq!(bench.driver.poll_event(event), Err(Status::NOT_READY));
    assert_eq!(bench.driver.poll_event(event), Ok(()));
    assert_eq!(bench.driver.elapsed_ms(event, event), Ok(0.0));
    assert_eq!(bench.driver.poll_stream(bench.stream), Ok(()));
}

#[test]
fn the_default_stream_and_blocking_streams_wait_for_each_other() {
    let mut driver = Driver::new(Settings::default()).unwrap();
    let (default, blocking) = (driver.devices[0].default_stream, driver.create_stream(0, true, 0));
    let at = driver.allocate(0, 4, Owner::Plain).unwrap();
    driver.fill(blocking, at, &[1], 4).unwrap();
    driver.fill(default, at, &[2], 4).unwrap();
    driver.fill(blocking, at, &[3], 4).unwrap();
    driver.synchronize_stream(default).unwrap();
    assert_eq!(driver.devices[0].counters.memsets, 2);
    driver.synchronize_stream(blocking).unwrap();
    assert_eq!(driver.devices[0].counters.memsets, 3);
    let mut out = [0; 4];
    driver.devices[0].memory.load(at, &mut out).unwrap();
    assert_eq!(out, [3; 4]);
}

#[test]
fn a_graph_runs_what_was_recorded_each_time_it_is_launched() {
    let mut bench = Bench::new(Settings::default());
    let (kernel, at) = (bench.kernel(COUNT_UP, "count_up"), bench.allocate(256).unwrap());
    let (mut input, mut out) = (vec![9; 256], vec![0; 256]);
    bench.pin(&input);
    bench.pin(&out);
    bench.driver.begin_capture(bench.stream).unwrap();
    assert_eq!(bench.driver.capture_status(bench.stream), Ok(CaptureStatus::Active));
    bench.copy_in(at, &input).unwrap();
    bench.launch(kernel, 1, at, 32).unwrap();
    bench.copy_out(&mut out, at).unwrap();
    let graph = bench.driver.end_capture(bench.stream).unwrap();
    assert_eq!(bench.driver.capture_status(bench.stream), Ok(CaptureStatus::None));
    let runnable = bench.driver.instantiate(0, graph).unwrap();
    bench.wait().unwrap();
    assert_eq!(bench.counters().launches, 0, "recording runs nothing");
    for value in [9, 5] {
        input.fill(value);
        bench.driver.launch_graph(runnable, bench.stream).unwrap();
        bench.wait().unwrap();
        assert_eq!((out[4 * 31], out[255]), (31, value));
    }
    let counters = bench.counters();
    assert_eq!((counters.graph_launches, counters.launches, counters.copies_in, counters.copies_out), (2, 2, 2, 2));
}

#[test]
fn waiting_and_allocating_spoil_a_capture() {
    let mut bench = Bench::new(Settings::default());
    let event = bench.driver.create_event(0, 0);
    bench.driver.record_event(event, bench.stream).unwrap();
    bench.driver.begin_capture(bench.stream).unwrap();
    assert_eq!(bench.driver.wait_event(bench.stream, event), Err(Status::STREAM_CAPTURE_ISOLATION));
    assert_eq!(bench.driver.capture_status(bench.stream), Ok(CaptureStatus::Invalidated));
    assert_eq!(bench.driver.end_capture(bench.stream), Err(Status::STREAM_CAPTURE_INVALIDATED));
    bench.driver.begin_capture(bench.stream).unwrap();
    assert_eq!(bench.wait(), Err(Status::STREAM_CAPTURE_UNSUPPORTED));
    assert_eq!(bench.driver.end_capture(bench.stream), Err(Status::STREAM_CAPTURE_INVALIDATED));
}

#[test]
fn a_stream_joins_a_capture_through_an_event() {
    let mut bench = Bench::new(Settings::default());
    let other = bench.driver.create_stream(0, false, 0);
    let (event, at) = (bench.driver.create_event(0, 0), bench.allocate(4).unwrap());
    bench.driver.begin_capture(bench.stream).unwrap();
    bench.driver.record_event(event, bench.stream).unwrap();
    bench.driver.wait_event(other, event).unwrap();
    bench.driver.fill(other, at, &[1], 4).unwrap();
    let graph = bench.driver.end_capture(bench.stream).unwrap();
    assert_eq!(bench.driver.graphs[&graph].len(), 1);
    assert_eq!(bench.driver.capture_status(other), Ok(CaptureStatus::None));
}

#[test]
fn devices_have_their_own_memory_and_counters() {
    let mut driver = Driver::new(settings(&[("MEMORY", "4K,8K")])).unwrap();
    let a = driver.allocate(0, 4096, Owner::Plain).unwrap();
    assert_eq!(driver.allocate(0, 1, Owner::Plain), Err(Status::OUT_OF_MEMORY));
    let b = driver.allocate(1, 4096, Owner::Plain).unwrap();
    assert_eq!((driver.device_of(a), driver.device_of(b), driver.device_of(7)), (Some(0), Some(1), None));
    let stream = driver.create_stream(1, false, 0);
    driver.fill(driver.devices[0].default_stream, a, &[3], 4096).unwrap();
    driver.synchronize_device(0).unwrap();
    driver.copy_within(stream, b, a, 4096).unwrap();
    driver.synchronize_stream(stream).unwrap();
    let mut out = [0; 2];
    driver.devices[1].memory.load(b + 4094, &mut out).unwrap();
    assert_eq!(out, [3; 2]);
    let of = |device: usize| &driver.devices[device].counters;
    assert_eq!((of(0).memsets, of(0).copies_within, of(1).memsets, of(1).copies_within), (1, 0, 0, 1));
    assert_eq!((of(0).peak_bytes, of(1).peak_bytes), (4096, 4096));
}
