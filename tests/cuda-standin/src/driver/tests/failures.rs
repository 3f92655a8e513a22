//! What goes wrong by itself or on request, and what is left after it.

use super::*;

#[test]
fn a_full_device_refuses_and_goes_on() {
    let mut bench = Bench::new(settings(&[("MEMORY", "64K")]));
    let at = bench.allocate(40_000).unwrap();
    assert_eq!(bench.allocate(40_000), Err(Status::OUT_OF_MEMORY));
    bench.copy_in(at, &[1; 40_000]).unwrap();
    bench.driver.free_on(bench.stream, at).unwrap();
    let again = bench.allocate(40_000).unwrap();
    assert_ne!(at, again);
    let counters = bench.counters();
    assert_eq!((counters.allocations, counters.failed_allocations, counters.frees), (2, 1, 1));
    assert_eq!(counters.copies_in, 1, "the free was waited for, and what came before it");
}

#[test]
fn any_allocation_copy_or_launch_can_be_made_to_fail() {
    let mut bench = Bench::new(settings(&[("FAIL_ALLOC", "2"), ("FAIL_COPY", "2"), ("FAIL_LAUNCH", "2")]));
    let at = bench.allocate(400).unwrap();
    assert_eq!(bench.allocate(400), Err(Status::OUT_OF_MEMORY));
    assert_eq!(bench.counters().refusals, ["failed because FAIL_ALLOC asked for it"]);
    assert_eq!(bench.last_fault(), "", "what was asked for is no mistake of the program");
    bench.allocate(400).unwrap();
    bench.copy_in(at, &[1; 400]).unwrap();
    assert_eq!(bench.copy_in(at, &[1; 400]), Err(Status::UNKNOWN));
    bench.copy_in(at, &[1; 400]).unwrap();
    let kernel = bench.kernel(COUNT_UP, "count_up");
    bench.launch(kernel, 1, at, 64).unwrap();
    bench.wait().unwrap();
    bench.launch(kernel, 1, at, 64).unwrap();
    assert_eq!(bench.wait(), Err(Status::LAUNCH_FAILED), "a launch fails when it runs, not when it is queued");
    assert_eq!(bench.counters().launches, 1);
}

#[test]
fn a_fault_ends_the_context_for_good() {
    let mut bench = Bench::new(Settings::default());
    let kernel = bench.kernel(COUNT_UP, "count_up");
    let (small, good) = (bench.allocate(4).unwrap(), bench.allocate(400).unwrap());
    bench.launch(kernel, 1, small, 64).unwrap();
    bench.launch(kernel, 1, good, 64).unwrap();
    for _ in 0..2 {
        assert_eq!(bench.wait(), Err(Status::ILLEGAL_ADDRESS));
        assert_eq!(bench.launch(kernel, 1, good, 64), Err(Status::ILLEGAL_ADDRESS));
        assert_eq!(bench.driver.enter(0), Err(Status::ILLEGAL_ADDRESS));
    }
    assert_eq!((bench.counters().launches, bench.counters().launches_in_flight), (1, 0));
    bench.driver.reset(0);
    assert_eq!(bench.driver.enter(0), Ok(()));
    assert_eq!(bench.counters().bytes_in_use, 0);
}

#[test]
fn a_lost_device_stays_lost_and_the_other_one_works() {
    let mut driver = Driver::new(settings(&[("DEVICES", "2"), ("LOSE_DEVICE", "3@1")])).unwrap();
    let answers: Vec<_> = [1, 0, 1, 0, 1, 0, 1].iter().map(|device| driver.enter(*device)).collect();
    let lost = Err(Status::DEVICE_UNAVAILABLE);
    assert_eq!(answers, [Ok(()), Ok(()), Ok(()), Ok(()), lost, Ok(()), lost]);
    driver.reset(1);
    assert_eq!(driver.enter(1), lost);
}

#[test]
fn addresses_that_are_not_allocated_are_refused_at_the_call() {
    let mut bench = Bench::new(Settings::default());
    let at = bench.allocate(100).unwrap();
    assert_eq!(bench.copy_in(at + 1, &[0; 100]), Err(Status::INVALID_VALUE));
    assert!(bench.last_fault().contains("not allocated"), "{}", bench.last_fault());
    assert_eq!(bench.copy_out(&mut [0; 101], at), Err(Status::INVALID_VALUE));
    assert_eq!(bench.driver.fill(bench.stream, 0x1000, &[0], 4), Err(Status::INVALID_VALUE));
    assert_eq!(bench.driver.free_on(bench.stream, at + 1), Err(Status::INVALID_VALUE));
    bench.driver.free_on(bench.stream, at).unwrap();
    assert_eq!(bench.driver.free_on(bench.stream, at), Err(Status::INVALID_VALUE), "freed twice");
    bench.copy_in(at, &[0; 100]).unwrap();
    assert_eq!(bench.wait(), Err(Status::ILLEGAL_ADDRESS), "the copy came after the free");
    assert!(bench.last_fault().contains("which was freed"), "{}", bench.last_fault());
}

#[test]
fn what_is_never_freed_is_counted_as_lost() {
    let mut bench = Bench::new(Settings::default());
    let (a, _b) = (bench.allocate(100).unwrap(), bench.allocate(10).unwrap());
    bench.driver.free_on(bench.stream, a).unwrap();
    assert!(bench.driver.counters_json().contains("\"leaked_bytes\": 10,"), "{}", bench.driver.counters_json());
    bench.driver.reset(0);
    assert!(bench.driver.counters_json().contains("\"leaked_bytes\": 10,"), "{}", bench.driver.counters_json());
    assert_eq!(bench.last_fault(), "10 bytes were never freed when the context was destroyed");

    let mut bench = Bench::new(Settings::default());
    bench.allocate(10).unwrap();
    bench.driver.end(0, Status::LAUNCH_FAILED);
    bench.driver.reset(0);
    assert!(bench.driver.counters_json().contains("\"leaked_bytes\": 0,"), "a dead context lets nobody free");
}

#[test]
fn the_counters_are_in_their_file_after_a_wait() {
    let path = std::env::temp_dir().join(format!("cuda-standin-{}.json", std::process::id()));
    let mut bench = Bench::new(settings(&[("STATS", path.to_str().unwrap())]));
    let at = bench.allocate(1000).unwrap();
    bench.copy_in(at, &[1; 600]).unwrap();
    bench.copy_out(&mut [0; 300], at).unwrap();
    bench.wait().unwrap();
    let json = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    for part in
        ["\"copies_in\": 1, \"bytes_in\": 600, ", "\"copies_out\": 1, \"bytes_out\": 300, ", "\"peak_bytes\": 1024, "]
    {
        assert!(json.contains(part), "{part} in {json}");
    }
}
