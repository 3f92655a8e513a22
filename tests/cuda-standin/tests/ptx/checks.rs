//! The checks of shared memory: each of these kernels has a bug that a device might hide.

use crate::device::{BASE, Device};
use cuda::ptx::{Checks, FaultKind};

/// Sums 64 numbers through shared memory; `%BARRIER%`, `%SYNC%` and `%PLACE%` are filled in by the tests.
const SUM: &str = "
    .visible .entry k(.param .u64 out) {
        .reg .pred %p<4>; .reg .b32 %r<9>, %t; .reg .b64 %out;
        .shared .align 4 .b8 s[256];
        ld.param.u64 %out, [out];
        mov.u32 %t, %tid.x; mov.u32 %r1, s; mad.lo.u32 %r2, %t, 4, %r1;
        st.shared.u32 [%r2], %t;
        mov.u32 %r3, 128;
    loop:
        %BARRIER%
        shr.u32 %r4, %r3, 2; setp.ge.u32 %p1, %t, %r4; @%p1 bra skip;
        add.u32 %r5, %r2, %r3; ld.shared.u32 %r6, [%r5+%PLACE%]; ld.shared.u32 %r7, [%r2];
        add.u32 %r6, %r6, %r7; st.shared.u32 [%r2], %r6;
    skip:
        shr.u32 %r3, %r3, 1; setp.ge.u32 %p2, %r3, 4; @%p2 bra loop;
        setp.ne.u32 %p3, %t, 0; @%p3 bra end;
        ld.shared.u32 %r8, [s]; st.global.u32 [%out], %r8;
    end: ret;
    }";

fn run(barrier: &str, place: &str, checks: Checks, seed: Option<u64>) -> Result<u32, FaultKind> {
    let mut device = Device::new(64);
    (device.checks, device.seed) = (checks, seed);
    let source = SUM.replace("%BARRIER%", barrier).replace("%PLACE%", place);
    device.run(&source, [1, 1, 1], [64, 1, 1], &[BASE]).map(|_| device.u32(0)).map_err(|fault| fault.kind)
}

const ALL: Checks = Checks { races: true, uninitialized: true };

#[test]
fn a_correct_kernel_passes_every_check_in_every_order() {
    for seed in [None, Some(1), Some(2), Some(3)] {
        assert_eq!(run("bar.sync 0;", "0", ALL, seed), Ok(63 * 64 / 2));
    }
}

#[test]
fn a_missing_barrier_is_a_race() {
    for seed in [None, Some(1), Some(2)] {
        let races = Checks { races: true, uninitialized: false };
        assert_eq!(run("", "0", races, seed), Err(FaultKind::Race));
        // Order within the warp is not order between warps.
        assert_eq!(run("bar.warp.sync -1;", "0", races, seed), Err(FaultKind::Race));
    }
}

#[test]
fn an_access_one_too_far_is_out_of_bounds() {
    assert_eq!(run("bar.sync 0;", "4", Checks::default(), None), Err(FaultKind::OutOfBounds));
    assert_eq!(run("bar.sync 0;", "1", Checks::default(), None), Err(FaultKind::Misaligned));
}

fn faults(body: &str, checks: Checks) -> Option<FaultKind> {
    let mut device = Device::new(256);
    device.checks = checks;
    let source = format!(
        ".visible .entry k(.param .u64 out) {{
            .reg .pred %p<9>; .reg .b32 %r<9>, %t, %mine; .reg .b64 %out; .shared .align 4 .b8 s[256];
            mov.u32 %t, %tid.x; mov.u32 %mine, s; mad.lo.u32 %mine, %t, 4, %mine; {body} ret; }}"
    );
    device.run(&source, [1, 1, 1], [64, 1, 1], &[BASE]).err().map(|fault| fault.kind)
}

#[test]
fn races_are_told_from_order() {
    for (body, expected) in [
        // Two threads write other values to a byte.
        ("st.shared.u32 [s], %t;", Some(FaultKind::Race)),
        // All write the same: whoever wins, the result is one.
        ("st.shared.u32 [s], 5; bar.sync 0; ld.shared.u32 %r1, [s];", None),
        // One writes while others read, in the same warp.
        ("st.shared.u32 [%mine], %t; xor.b32 %r1, %mine, 4; ld.shared.u32 %r2, [%r1];", Some(FaultKind::Race)),
        ("st.shared.u32 [%mine], %t; bar.warp.sync -1; xor.b32 %r1, %mine, 4; ld.shared.u32 %r2, [%r1];", None),
        (
            "st.shared.u32 [%mine], %t; shfl.sync.idx.b32 %r3, %t, 0, 31, -1; xor.b32 %r1, %mine, 4; ld.shared.u32 %r2, [%r1];",
            None,
        ),
        // Read by the neighbour, then written, with nothing between.
        (
            "st.shared.u32 [%mine], %t; bar.sync 0; xor.b32 %r1, %mine, 4; ld.shared.u32 %r2, [%r1]; st.shared.u32 [%mine], 7;",
            Some(FaultKind::Race),
        ),
        // Atomics may meet; a plain write among them may not.
        ("setp.ne.u32 %p1, %t, 0; @!%p1 st.shared.u32 [s], 0; bar.sync 0; red.shared.add.u32 [s], 1;", None),
        ("setp.ne.u32 %p1, %t, 0; @!%p1 st.shared.u32 [s], 0; red.shared.add.u32 [s], 1;", Some(FaultKind::Race)),
    ] {
        assert_eq!(faults(body, ALL), expected, "{body}");
        assert_eq!(faults(body, Checks::default()), None, "{body}");
    }
}

#[test]
fn the_first_read_of_an_unwritten_byte_is_found() {
    let reads = "ld.shared.u32 %r1, [%mine];";
    assert_eq!(faults(reads, ALL), Some(FaultKind::Uninitialized));
    assert_eq!(faults(reads, Checks { races: true, uninitialized: false }), None);
    assert_eq!(faults("st.shared.u16 [%mine], 1; ld.shared.u32 %r1, [%mine];", ALL), Some(FaultKind::Uninitialized));
}

#[test]
fn a_seed_changes_the_order_and_nothing_else() {
    // Each block and warp takes a ticket: the tickets are the same, who has which is not.
    let source = ".global .align 4 .u32 next; .visible .entry k(.param .u64 out) {
        .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %q<4>;
        mov.u32 %r1, %laneid; setp.ne.u32 %p, %r1, 0; @%p bra end;
        atom.global.add.u32 %r2, [next], 1;
        mov.u32 %r3, %ctaid.x; mov.u32 %r4, %warpid; mad.lo.u32 %r5, %r3, 2, %r4;
        ld.param.u64 %q1, [out]; mul.wide.u32 %q2, %r5, 4; add.u64 %q1, %q1, %q2; st.global.u32 [%q1], %r2;
        end: ret; }";
    let tickets = |seed| {
        let mut device = Device::new(256);
        device.seed = seed;
        device.run(source, [16, 1, 1], [64, 1, 1], &[BASE]).unwrap();
        (0..32).map(|i| device.u32(i * 4)).collect::<Vec<_>>()
    };
    let plain: Vec<u32> = (0..32).collect();
    assert_eq!(tickets(None), plain);
    let mut seeded = tickets(Some(5));
    assert_eq!(seeded, tickets(Some(5)));
    assert_ne!(seeded, plain);
    seeded.sort_unstable();
    assert_eq!(seeded, plain);
}
