//! Kernels: that they run, that mistakes in them are found, and what a driver refuses to load or launch.

use super::*;

const REVERSE: &str = include_str!("reverse.ptx");
const MATRIX: &str = include_str!("matrix.ptx");

/// Runs a kernel with one block of 64 threads on 64 words; the words, or the fault.
fn run(ptx: &str, name: &str, changed: &[(&str, &str)], checks: &str) -> Result<Vec<u32>, String> {
    let mut text = ptx.to_string();
    for (from, to) in changed {
        assert!(text.contains(from), "{from} is not in {name}");
        text = text.replace(from, to);
    }
    let mut bench = Bench::new(settings(&[("CHECK", checks)]));
    let (kernel, at) = (bench.kernel(&text, name), bench.allocate(256).unwrap());
    bench.launch(kernel, 1, at, 64).unwrap();
    match bench.wait() {
        Ok(()) => Ok(bench.words(at, 64)),
        Err(_) => Err(bench.last_fault().to_string()),
    }
}

#[test]
fn right_kernels_run_and_are_counted() {
    let forwards: Vec<u32> = (0..64).collect();
    assert_eq!(run(COUNT_UP, "count_up", &[], "races,uninitialized"), Ok(forwards.clone()));
    assert_eq!(run(MATRIX, "matrix", &[], "races,uninitialized"), Ok(forwards.clone()));
    assert_eq!(run(REVERSE, "reverse", &[], "races,uninitialized"), Ok(forwards.into_iter().rev().collect()));

    let mut bench = Bench::new(Settings::default());
    let (kernel, at) = (bench.kernel(COUNT_UP, "count_up"), bench.allocate(4000).unwrap());
    for _ in 0..3 {
        bench.launch(kernel, 16, at, 1000).unwrap();
    }
    assert_eq!(bench.counters().launches, 0, "nothing runs before someone waits");
    bench.wait().unwrap();
    let counters = bench.counters();
    assert_eq!((counters.launches, counters.launches_by_kernel["count_up"]), (3, 3));
    assert_eq!((counters.most_launches_in_flight, counters.launches_in_flight), (3, 0));
    assert!(counters.lane_instructions >= 3 * 1024 * 7, "{}", counters.lane_instructions);
    assert_eq!(bench.words(at, 1000), (0..1000).collect::<Vec<_>>());
}

#[test]
fn a_count_that_is_one_off_is_caught_at_the_byte() {
    let mut bench = Bench::new(Settings::default());
    let kernel = bench.kernel(&COUNT_UP.replace("setp.ge.u32", "setp.gt.u32"), "count_up");
    let at = bench.allocate(50 * 4).unwrap();
    bench.launch(kernel, 1, at, 50).unwrap();
    assert_eq!(bench.wait(), Err(Status::ILLEGAL_ADDRESS));
    let fault = bench.last_fault();
    assert!(
        fault.contains("count_up") && fault.contains("0 bytes after the end of allocation 1 of 200 bytes"),
        "{fault}"
    );
}

#[test]
fn a_missing_barrier_is_caught() {
    let fault = run(REVERSE, "reverse", &[("bar.sync 0;", "")], "races").unwrap_err();
    assert!(fault.contains("Race"), "{fault}");
}

#[test]
fn a_wrong_stride_is_caught() {
    let narrow = [("mad.lo.s32 %r4, %r2, 8, %r3", "mad.lo.s32 %r4, %r2, 7, %r3")];
    let fault = run(MATRIX, "matrix", &narrow, "races").unwrap_err();
    assert!(fault.contains("Race") && fault.contains("byte 28 of allocation 1"), "{fault}");
    let wide = [("mad.lo.s32 %r4, %r2, 8, %r3", "mad.lo.s32 %r4, %r2, 9, %r3")];
    let fault = run(MATRIX, "matrix", &wide, "none").unwrap_err();
    assert!(fault.contains("OutOfBounds"), "{fault}");
}

#[test]
fn a_seed_gives_the_same_result_in_another_order() {
    for seed in ["1", "2", "99"] {
        let mut bench = Bench::new(settings(&[("SEED", seed)]));
        let (kernel, at) = (bench.kernel(COUNT_UP, "count_up"), bench.allocate(4000).unwrap());
        bench.launch(kernel, 16, at, 1000).unwrap();
        bench.wait().unwrap();
        assert_eq!(bench.words(at, 1000), (0..1000).collect::<Vec<_>>());
    }
}

#[test]
fn a_launch_that_does_not_end_is_stopped() {
    let mut bench = Bench::new(settings(&[("MAX_INSTRUCTIONS", "100000")]));
    let kernel = bench.kernel(&COUNT_UP.replace("@%p1 bra DONE;", "AGAIN: bra AGAIN;"), "count_up");
    let at = bench.allocate(400).unwrap();
    bench.launch(kernel, 1, at, 1).unwrap();
    assert_eq!(bench.wait(), Err(Status::LAUNCH_TIMEOUT));
}

#[test]
fn images_are_refused_as_a_driver_would() {
    let load = |pairs: &[(&str, &str)], image: &[u8]| {
        let mut driver = Driver::new(settings(pairs)).unwrap();
        driver.load_module(0, image).map(drop)
    };
    let newer = COUNT_UP.replace(".version 7.0", ".version 8.8");
    for (pairs, image, status, words) in [
        (&[][..], &b"\x7fELF"[..], Status::NO_BINARY_FOR_GPU, "the stand-in runs PTX only"),
        (&[], b"hello", Status::INVALID_IMAGE, "neither PTX"),
        (
            &[("CC", "6.1")],
            COUNT_UP.as_bytes(),
            Status::NO_BINARY_FOR_GPU,
            "sm_70 does not run on compute capability 6.1",
        ),
        (&[("DRIVER_VERSION", "12080")], newer.as_bytes(), Status::UNSUPPORTED_PTX_VERSION, "newer than 8.7"),
        (&[], b".version 7.0\n.target sm_70\nnonsense", Status::INVALID_PTX, "PTX: "),
    ] {
        let (found, message) = load(pairs, image).unwrap_err();
        assert_eq!(found, status, "{message}");
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(load(&[("DRIVER_VERSION", "12090")], newer.as_bytes()), Ok(()));
}

#[test]
fn launches_that_cannot_be_are_refused_and_the_context_lives_on() {
    let mut bench = Bench::new(Settings::default());
    let kernel = bench.kernel(COUNT_UP, "count_up");
    let mut refused = |grid: [u32; 3], block: [u32; 3], dynamic_shared_bytes: u32| {
        let shape = Shape { grid, block, dynamic_shared_bytes };
        bench.driver.launch(kernel, shape, bench.stream, vec![0; 12]).err()
    };
    assert_eq!(refused([0, 1, 1], [32, 1, 1], 0), Some(Status::INVALID_VALUE));
    assert_eq!(refused([1, 70_000, 1], [32, 1, 1], 0), Some(Status::INVALID_VALUE));
    assert_eq!(refused([1, 1, 1], [1025, 1, 1], 0), Some(Status::INVALID_VALUE));
    assert_eq!(refused([1, 1, 1], [64, 17, 1], 0), Some(Status::INVALID_VALUE));
    assert_eq!(refused([1, 1, 1], [1, 1, 65], 0), Some(Status::INVALID_VALUE));
    assert_eq!(refused([1, 1, 1], [0, 1, 1], 0), Some(Status::INVALID_VALUE));
    assert_eq!(refused([1, 1, 1], [32, 1, 1], 49153), Some(Status::INVALID_VALUE));
    assert_eq!(refused([1, 1, 1], [32, 1, 1], 49152), None);
}

#[test]
fn variables_of_a_module_are_on_the_device_and_go_with_it() {
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.global .align 4 .u32 four[4] = {1, 2, 3, 4};\n";
    let mut bench = Bench::new(Settings::default());
    let module = bench.driver.load_module(0, text.as_bytes()).unwrap();
    let (address, n_bytes) = bench.driver.global(module, "four").unwrap();
    assert_eq!(n_bytes, 16);
    assert_eq!(bench.words(address, 4), [1, 2, 3, 4]);
    assert_eq!(bench.driver.global(module, "five"), Err(Status::NOT_FOUND));
    assert_eq!(bench.driver.devices[0].unfreed_bytes(), 0);
    bench.driver.unload_module(module).unwrap();
    assert_eq!(bench.counters().bytes_in_use, 0);
}
