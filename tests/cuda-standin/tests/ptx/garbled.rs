//! Text that is not quite PTX: refused or run, but never a panic.

use crate::device::{BASE, Device, HEAD};
use cuda::ptx::Module;

const SOURCE: &str = ".global .align 4 .u32 n = 7; .extern .shared .align 16 .b8 dyn[];
.func (.param .b64 r) twice(.param .b64 a) { .reg .b64 %x<3>; ld.param.u64 %x1, [a]; add.u64 %x2, %x1, %x1; st.param.b64 [r], %x2; ret; }
.visible .entry k(.param .u64 .ptr .align 16 out, .param .u32 m) .maxntid 64, 1, 1 {
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %q<8>; .reg .f64 %d<4>; .shared .align 4 .b8 s[256]; .local .align 8 .b8 l[16];
    ld.param.u64 %q1, [out]; ld.param.u32 %r2, [m]; mov.u32 %r1, %tid.x; mul.wide.u32 %q2, %r1, 4; add.u64 %q1, %q1, %q2;
    mov.u64 %q3, s; add.u64 %q3, %q3, %q2; st.shared.u32 [%q3], %r1; bar.sync 0; ld.shared.v2.u16 {%r3, _}, [%q3+0];
    setp.lt.and.u32 %p1|%p2, %r1, 40, %p3; @!%p1 bra over; atom.shared.add.u32 %r4, [s+252], 1;
    targets: .branchtargets over, end; brx.idx 0, targets;
over: shfl.sync.bfly.b32 %r5|%p3, %r3, 1, 31, -1; vote.sync.ballot.b32 %r6, %p3, -1; prmt.b32 %r5, %r5, %r6, 0x5140;
    { .param .b64 p0; st.param.b64 [p0], %q2; .param .b64 r0; call.uni (r0), twice, (p0); ld.param.b64 %q4, [r0]; }
    cvt.rn.f64.u64 %d1, %q4; fma.rn.f64 %d2, %d1, 0d3FF8000000000000, 1.5; cvt.rzi.s32.f64 %r7, %d2; st.local.v2.u32 [l+8], {%r5, %r7};
    bfe.s32 %r3, %r7, 3, 40; st.global.u32 [%q1], %r7;
end: ret;
}";

#[test]
fn no_garbled_module_makes_the_interpreter_panic() {
    let mut state = 1u64;
    let mut random = move |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let whole = format!("{HEAD}{SOURCE}");
    let words: Vec<&str> = whole.split_inclusive(|c: char| !c.is_ascii_alphanumeric()).collect();
    let (mut n_refused, mut n_faults, mut n_run) = (0, 0, 0);
    for round in 0..3000 {
        let mut garbled: Vec<&str> = words.clone();
        for _ in 0..random(4) {
            let (from, to) = (random(garbled.len()), random(garbled.len()));
            match random(4) {
                0 => drop(garbled.remove(from)),
                1 => garbled.insert(to, garbled[from]),
                2 => garbled.swap(from, to),
                _ => garbled[from] = ["-", "0", "4294967295", "%", "[", "{", ".u8", "99999999999"][random(8)],
            }
        }
        let mut text = garbled.concat();
        if round % 10 == 0 {
            text.truncate((0..=random(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0));
        }
        let mut device = Device::new(4096);
        (device.max_instructions, device.dynamic_shared_bytes) = (200_000, 64);
        match Module::parse(&text) {
            Err(_) => n_refused += 1,
            Ok(module) if module.kernels().is_empty() => n_refused += 1,
            Ok(module) => match device.run_module(&module, [2, 1, 1], [64, 1, 1], &[BASE, 5]) {
                Ok(_) => n_run += 1,
                Err(_) => n_faults += 1,
            },
        }
    }
    // All three ends must have been met, or the garbling is too weak or too strong.
    assert!(n_refused > 100 && n_faults > 100 && n_run > 100, "{n_refused} refused, {n_faults} faults, {n_run} ran");
}

#[test]
fn what_is_too_deep_or_too_large_is_refused() {
    let kernel = |body: &str| Module::parse(&format!("{HEAD}.visible .entry k() {{ {body} ret; }}"));
    for body in [
        &format!("bra {};", "[".repeat(100_000)),
        &format!("bra {}%p;", "!".repeat(100_000)),
        &format!("bra {};", "a|".repeat(100_000)),
        ".reg .b32 %r<4000000000>;",
        ".local .b8 l[99999999999999];",
        ".local .b8 l[1000000000];",
        ".shared .align 3 .b8 s[4];",
    ] {
        assert!(kernel(body).is_err(), "{}", &body[..30.min(body.len())]);
    }
    assert!(kernel("").is_ok());
}
