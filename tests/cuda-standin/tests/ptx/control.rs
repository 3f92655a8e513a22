//! Branches, loops, calls: where lanes go and where they meet again.

use crate::device::{BASE, Device};
use cuda::ptx::{FaultKind, Module};

/// A kernel that stores `%q0` for each thread of a block of 64.
fn run(functions: &str, body: &str) -> Vec<u64> {
    let device = Device::new(1024);
    let source = format!(
        "{functions}
        .visible .entry k(.param .u64 out) {{
            .reg .pred %p<9>; .reg .b32 %r<20>, %t; .reg .b64 %q<20>, %out;
            ld.param.u64 %out, [out];
            mov.u32 %t, %tid.x; cvt.u64.u32 %q1, %t; mul.lo.u64 %q2, %q1, 8; add.u64 %out, %out, %q2;
            mov.u64 %q0, 0;
            {body}
            st.global.u64 [%out], %q0;
            ret;
        }}"
    );
    device.run(&source, [1, 1, 1], [64, 1, 1], &[BASE]).unwrap();
    (0..64).map(|t| device.u64(t * 8)).collect()
}

#[test]
fn lanes_that_part_meet_again() {
    // After the branches, all 32 lanes are active at once: the ballot sees them.
    let got = run(
        "",
        "setp.lt.u32 %p1, %t, 40; @%p1 bra low;
         add.u64 %q0, %q0, 1; bra.uni join;
     low: and.b32 %r1, %t, 1; setp.eq.u32 %p2, %r1, 0; @%p2 bra join; add.u64 %q0, %q0, 2;
     join: activemask.b32 %r2; cvt.u64.u32 %q3, %r2; shl.b64 %q3, %q3, 8; or.b64 %q0, %q0, %q3;",
    );
    for (t, got) in got.iter().enumerate() {
        let own = if t >= 40 {
            1
        } else if t % 2 == 1 {
            2
        } else {
            0
        };
        assert_eq!(*got, 0xffff_ffff << 8 | own, "thread {t}");
    }
}

#[test]
fn each_lane_loops_as_long_as_it_wants() {
    let got = run(
        "",
        "mov.u32 %r1, 0;
     loop: setp.ge.u32 %p1, %r1, %t; @%p1 bra done;
         cvt.u64.u32 %q3, %r1; add.u64 %q0, %q0, %q3; add.u32 %r1, %r1, 1; bra loop;
     done:",
    );
    for (t, got) in (0u64..).zip(got) {
        assert_eq!(got, t * t.saturating_sub(1) / 2);
    }
}

#[test]
fn a_table_of_branches_is_followed_lane_by_lane() {
    let got = run(
        "",
        "rem.u32 %r1, %t, 3;
     targets: .branchtargets one, two, three;
         brx.idx %r1, targets;
     one: mov.u64 %q0, 11; bra end;
     two: mov.u64 %q0, 22; bra end;
     three: mov.u64 %q0, 33;
     end:",
    );
    for (t, got) in got.iter().enumerate() {
        assert_eq!(*got, [11, 22, 33][t % 3]);
    }
}

const FUNCTIONS: &str = "
    .func (.param .b64 r) twice(.param .b64 a) {
        .reg .b64 %x<3>;
        ld.param.u64 %x1, [a]; add.u64 %x2, %x1, %x1; st.param.b64 [r], %x2; ret;
    }
    .func (.param .align 8 .b8 r[16]) both(.param .b32 a, .param .b64 b) {
        .reg .pred %p; .reg .b32 %w; .reg .b64 %x<5>; .local .align 8 .b8 spill[8];
        ld.param.u32 %w, [a]; ld.param.u64 %x1, [b];
        st.local.u64 [spill], %x1;
        setp.gt.u32 %p, %w, 5;
        @%p bra skip;
        { .param .b64 p0; st.param.b64 [p0], %x1; .param .b64 r0; call.uni (r0), twice, (p0); ld.param.b64 %x1, [r0]; }
    skip: ld.local.u64 %x3, [spill];
        st.param.b64 [r], %x1; st.param.b64 [r+8], %x3; ret;
    }";

#[test]
fn functions_call_functions_in_loops_and_under_divergence() {
    let got = run(
        FUNCTIONS,
        "rem.u32 %r1, %t, 8; mov.u32 %r2, 0;
     loop:
         { .param .b32 p0; st.param.b32 [p0], %r1; .param .b64 p1; st.param.b64 [p1], %q1;
           .param .align 8 .b8 r0[16]; call.uni (r0), both, (p0, p1);
           ld.param.b64 %q3, [r0]; ld.param.b64 %q4, [r0+8]; }
         mad.lo.u64 %q0, %q4, 1000, %q0; add.u64 %q0, %q0, %q3;
         add.u32 %r2, %r2, 1; setp.le.u32 %p1, %r2, %r1; @%p1 bra loop;",
    );
    for (t, got) in (0u64..).zip(got) {
        let own = t % 8;
        let once = t * 1000 + if own > 5 { t } else { 2 * t };
        assert_eq!(got, once * (own + 1), "thread {t}");
    }
}

#[test]
fn recursion_is_refused_and_a_missing_function_faults_where_it_is_called() {
    let head = crate::device::HEAD;
    let recursive = format!("{head}.func f() {{ call f; ret; }}");
    assert!(Module::parse(&recursive).err().unwrap().contains("recursion"));
    let device = Device::new(64);
    let missing =
        ".extern .func g(); .visible .entry k() { .reg .pred %p; setp.eq.u32 %p, 1, 2;\n @%p call g;\n call g; ret; }";
    let fault = device.run(missing, [1, 1, 1], [1, 1, 1], &[]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::UnknownInstruction);
    assert!(fault.message.contains("line 6: `call g; ret; }`"), "{fault}");
}

#[test]
fn an_unknown_instruction_is_named_with_its_line() {
    let device = Device::new(64);
    let source = ".visible .entry k() { .reg .b32 %r<3>;\n add.u32 %r1, %r1, 1;\n wmma.load.weird %r1, [%r2];\n ret; }";
    let fault = device.run(source, [1, 1, 1], [1, 1, 1], &[]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::UnknownInstruction);
    assert!(fault.message.contains("line 6: `wmma.load.weird %r1, [%r2];`"), "{fault}");
}

#[test]
fn traps_and_endless_loops_end() {
    let mut device = Device::new(64);
    let trap = ".visible .entry k() { .reg .pred %p; setp.eq.u32 %p, 1, 1; @%p trap; ret; }";
    assert_eq!(device.run(trap, [1, 1, 1], [1, 1, 1], &[]).unwrap_err().kind, FaultKind::Trap);
    let brkpt = ".visible .entry k() { brkpt; ret; }";
    assert_eq!(device.run(brkpt, [1, 1, 1], [1, 1, 1], &[]).unwrap_err().kind, FaultKind::Trap);
    device.max_instructions = 10_000;
    let endless = ".visible .entry k() { again: bra again; }";
    assert_eq!(device.run(endless, [1, 1, 1], [32, 1, 1], &[]).unwrap_err().kind, FaultKind::TooManyInstructions);
}

#[test]
fn launches_that_no_device_takes_are_refused() {
    let device = Device::new(64);
    let source = ".visible .entry k(.param .u64 a) { membar.gl; fence.acq_rel.gpu; nanosleep.u32 20; ret; }";
    for (grid, block) in [([0, 1, 1], [1, 1, 1]), ([1, 1, 1], [1025, 1, 1]), ([1, 1, 1], [32, 0, 1])] {
        assert_eq!(device.run(source, grid, block, &[0]).unwrap_err().kind, FaultKind::InvalidLaunch);
    }
    device.run(source, [1, 1, 1], [32, 32, 1], &[0]).unwrap();
}

#[test]
fn threads_and_blocks_are_numbered_in_three_dimensions() {
    let device = Device::new(8 * 2 * 3 * 2 * 4);
    let source = ".visible .entry k(.param .u64 out) { .reg .b32 %r<20>; .reg .b64 %q<4>;
        mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.z;
        mov.u32 %r5, %nctaid.x; mov.u32 %r6, %ntid.y; mov.u32 %r7, %ntid.x;
        mad.lo.u32 %r8, %r4, %r5, %r3; mad.lo.u32 %r8, %r8, %r6, %r2; mad.lo.u32 %r8, %r8, %r7, %r1;
        ld.param.u64 %q1, [out]; mul.wide.u32 %q2, %r8, 8; add.u64 %q1, %q1, %q2;
        add.u32 %r8, %r8, 1; cvt.u64.u32 %q3, %r8; st.global.u64 [%q1], %q3; ret; }";
    device.run(source, [2, 1, 4], [3, 2, 1], &[BASE]).unwrap();
    for i in 0..48 {
        assert_eq!(device.u64(i * 8), i + 1);
    }
}
