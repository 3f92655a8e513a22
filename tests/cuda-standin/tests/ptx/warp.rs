//! What lanes and warps do together.

use crate::device::{BASE, Device};
use cuda::ptx::{Fault, FaultKind};

/// A block of 64 threads that stores `%r0` for each.
fn run(body: &str) -> Result<Vec<u32>, Fault> {
    let device = Device::new(256);
    let source = format!(
        ".visible .entry k(.param .u64 out) {{
            .reg .pred %p<9>; .reg .b32 %r<20>, %t, %lane; .reg .b64 %q<9>, %out;
            ld.param.u64 %out, [out];
            mov.u32 %t, %tid.x; mov.u32 %lane, %laneid; mul.wide.u32 %q1, %t, 4; add.u64 %out, %out, %q1;
            mov.u32 %r0, 0;
            {body}
            st.global.u32 [%out], %r0;
            ret;
        }}"
    );
    device.run(&source, [1, 1, 1], [64, 1, 1], &[BASE])?;
    Ok((0..64).map(|t| device.u32(t * 4)).collect())
}

/// Runs a body and compares each thread's result.
fn check(body: &str, expected: impl Fn(u32) -> u32) {
    for (t, got) in (0..).zip(run(body).unwrap()) {
        assert_eq!(got, expected(t), "{body}: thread {t}");
    }
}

fn diverges(body: &str) {
    let fault = run(body).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Divergence, "{body}: {fault}");
}

#[test]
fn shuffles_take_from_the_lane_they_name() {
    let value = "add.u32 %r1, %t, 100;";
    check(&format!("{value} shfl.sync.idx.b32 %r0|%p1, %r1, 3, 31, -1;"), |t| 103 + t / 32 * 32);
    check(&format!("{value} shfl.sync.up.b32 %r0|%p1, %r1, 4, 0, -1; @!%p1 mov.u32 %r0, 7;"), |t| {
        if t % 32 >= 4 { 96 + t } else { 7 }
    });
    check(&format!("{value} shfl.sync.down.b32 %r0, %r1, 2, 31, -1;"), |t| if t % 32 < 30 { 102 + t } else { 100 + t });
    check(&format!("{value} shfl.sync.bfly.b32 %r0, %r1, 5, 31, -1;"), |t| 100 + (t ^ 5));
    // Segments of eight lanes: the clamp word is ((32 - 8) << 8) | 31.
    check(&format!("{value} shfl.sync.down.b32 %r0, %r1, 1, 6175, -1;"), |t| if t % 8 < 7 { 101 + t } else { 100 + t });
    check(&format!("{value} shfl.sync.idx.b32 %r0, %r1, %t, 6175, -1;"), |t| 100 + t);
}

#[test]
fn votes_count_the_lanes_of_the_mask() {
    let odd = "and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 1;";
    check(&format!("{odd} vote.sync.ballot.b32 %r0, %p1, -1;"), |_| 0xaaaa_aaaa);
    check(&format!("{odd} vote.sync.any.pred %p2, %p1, -1; selp.u32 %r0, 1, 0, %p2;"), |_| 1);
    check(&format!("{odd} vote.sync.all.pred %p2, !%p1, -1; selp.u32 %r0, 1, 0, %p2;"), |_| 0);
    check(&format!("{odd} vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r0, 1, 0, %p2;"), |_| 0);
    // Each half votes by itself, under divergence.
    check(
        &format!(
            "{odd} mov.u32 %r3, 0xaaaaaaaa; @%p1 bra odd; mov.u32 %r3, 0x55555555;
             odd: setp.gt.u32 %p3, %t, 40; vote.sync.ballot.b32 %r0, %p3, %r3;"
        ),
        |t| {
            let above = if t < 32 { 0 } else { 0xffff_fe00 };
            above & if t % 2 == 1 { 0xaaaa_aaaa } else { 0x5555_5555 }
        },
    );
}

#[test]
fn matches_find_equal_lanes() {
    check("rem.u32 %r1, %lane, 3; match.any.sync.b32 %r0, %r1, -1;", |t| {
        (0..32).filter(|i| i % 3 == t % 32 % 3).fold(0, |mask, i| mask | 1 << i)
    });
    check("shr.u32 %r1, %t, 5; match.all.sync.b32 %r0|%p1, %r1, -1; @!%p1 mov.u32 %r0, 9;", |_| u32::MAX);
    check(
        "cvt.u64.u32 %q2, %t; shl.b64 %q2, %q2, 40; match.all.sync.b64 %r0|%p1, %q2, -1; @!%p1 or.b32 %r0, %r0, 9;",
        |_| 9,
    );
    check("redux.sync.add.s32 %r0, %lane, -1;", |_| 31 * 32 / 2);
    check("redux.sync.max.u32 %r0, %t, -1;", |t| t / 32 * 32 + 31);
}

#[test]
fn barriers_order_the_warps_and_reduce_over_them() {
    let turned = ".shared .align 4 .b8 s[256];
        mov.u32 %r1, s; mad.lo.u32 %r2, %t, 4, %r1; st.shared.u32 [%r2], %t;
        bar.sync 0;
        sub.u32 %r3, 63, %t; mad.lo.u32 %r4, %r3, 4, %r1; ld.shared.u32 %r0, [%r4];";
    check(turned, |t| 63 - t);
    check("setp.lt.u32 %p1, %t, 37; bar.red.popc.u32 %r0, 0, %p1;", |_| 37);
    check("setp.lt.u32 %p1, %t, 37; barrier.cta.red.and.pred %p2, 0, %p1; selp.u32 %r0, 1, 2, %p2;", |_| 2);
    check("setp.lt.u32 %p1, %t, 37; bar.red.or.pred %p2, 0, %p1; selp.u32 %r0, 1, 2, %p2;", |_| 1);
    // A barrier for one warp of the two; both then meet at the other.
    check("setp.lt.u32 %p1, %t, 32; @!%p1 bra over; bar.sync 1, 32; over: barrier.sync 0;", |_| 0);
}

#[test]
fn lanes_wait_for_each_other_at_a_shuffle() {
    // Half of the lanes take a longer way before they come to the same instruction.
    check(
        "and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, 5; @%p1 bra meet;
         mov.u32 %r3, 0;
     more: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %t; @%p2 bra more;
         mov.u32 %r2, 6;
     meet: shfl.sync.bfly.b32 %r0, %r2, 1, 31, -1;",
        |t| if t % 2 == 0 { 6 } else { 5 },
    );
    // The waiting lanes are at a lower address than those that still work.
    check(
        "mov.u32 %r3, 0; setp.eq.u32 %p1, %lane, 0; @%p1 bra work; bra meet;
     meet: bar.warp.sync -1; shfl.sync.idx.b32 %r0, %r3, 0, 31, -1; bra end;
     work: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 10; @%p2 bra work; bra meet;
     end:",
        |_| 10,
    );
}

#[test]
fn exchanges_that_a_lane_cannot_reach_are_found() {
    let odd = "and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 1;";
    diverges(&format!("{odd} @%p1 shfl.sync.idx.b32 %r0, %t, 0, 31, -1;"));
    diverges(&format!("{odd} @%p1 bra skip; vote.sync.ballot.b32 %r0, %p1, -1; skip:"));
    diverges(&format!("{odd} @%p1 exit; bar.warp.sync -1;"));
    diverges(&format!(
        "{odd} @%p1 bra b; shfl.sync.idx.b32 %r0, %t, 0, 31, -1; bra e; b: shfl.sync.idx.b32 %r0, %t, 0, 31, -1; e:"
    ));
    diverges("match.any.sync.b32 %r0, %t, 0xff;");
    diverges("setp.lt.u32 %p1, %lane, 4; selp.b32 %r1, 0xf, -1, %p1; bar.warp.sync %r1;");
}

#[test]
fn barriers_under_divergence_are_found() {
    let odd = "and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 1;";
    diverges(&format!("{odd} @%p1 bra b; bar.sync 0; bra e; b: bar.sync 0; e:"));
    diverges("setp.lt.u32 %p1, %t, 32; @%p1 bra b; bar.sync 0; bra e; b: bar.sync 0; e:");
    diverges(&format!("{odd} @%p1 bra b; bar.sync 0; bra e; b: bar.warp.sync -1; e:"));
    // Threads that have ended are not waited for.
    let device = Device::new(64);
    let source = ".visible .entry k() { .reg .pred %p; .reg .b32 %t; mov.u32 %t, %tid.x;
        setp.gt.u32 %p, %t, 40; @%p exit; bar.sync 0; ret; }";
    device.run(source, [1, 1, 1], [64, 1, 1], &[]).unwrap();
}
