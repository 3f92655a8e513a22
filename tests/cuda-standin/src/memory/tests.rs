//! Tests of device memory: bounds to the byte, addresses, what was never written.

use super::*;

const BY: Access = Access { block: 0, thread: 0, epoch: 0, warp_epoch: 0, atomic: false };

fn memory(races: bool, uninitialized: bool) -> DeviceMemory {
    DeviceMemory::new(1 << 20, MemoryChecks { races, uninitialized }).unwrap()
}

fn kind(result: Result<(), Fault>) -> Option<FaultKind> {
    result.err().map(|fault| fault.kind)
}

#[test]
fn accesses_are_bounded_to_the_byte() {
    let mut memory = memory(false, false);
    let at = memory.allocate(10).unwrap();
    let mut out = [0; 2];
    for (address, fits) in [(at, true), (at + 8, true), (at + 9, false), (at + 10, false), (at - 1, false), (0, false)]
    {
        let expected = (!fits).then_some(FaultKind::OutOfBounds);
        assert_eq!(kind(memory.read(address, &mut out, BY)), expected, "read at {:#x}", address);
        assert_eq!(kind(memory.write(address, &[1, 2], BY)), expected, "write at {:#x}", address);
        assert_eq!(kind(memory.store(address, &[1, 2])), expected, "copy to {:#x}", address);
        assert_eq!(kind(memory.load(address, &mut out)), expected, "copy from {:#x}", address);
        assert_eq!(kind(memory.fill(address, &[1], 2)), expected, "memset at {:#x}", address);
    }
    assert_eq!(kind(memory.read(u64::MAX, &mut out, BY)), Some(FaultKind::OutOfBounds));
}

#[test]
fn freed_memory_is_out_of_bounds_and_named() {
    let mut memory = memory(false, false);
    let at = memory.allocate(100).unwrap();
    assert_eq!(memory.free(at), Some(100));
    assert_eq!(memory.free(at), None);
    let fault = memory.write(at + 7, &[1], BY).unwrap_err();
    assert!(fault.message.contains("byte 7 of allocation 1 of 100 bytes, which was freed"), "{}", fault.message);
    let next = memory.allocate(100).unwrap();
    assert_ne!(next, at, "addresses rest before they are used again");
}

#[test]
fn addresses_come_back_in_the_end() {
    let mut memory = memory(false, false);
    let mut seen = std::collections::HashSet::new();
    for round in 0..1000 {
        let at = memory.allocate(200_000).unwrap_or_else(|| panic!("no address left in round {round}"));
        memory.store(at, &[round as u8; 200_000]).unwrap();
        seen.insert(at);
        memory.free(at);
    }
    assert!(seen.len() > 100 && seen.len() < 1000);
}

#[test]
fn what_was_never_written_is_reported_or_reads_as_rubbish() {
    let mut strict = memory(false, true);
    let at = strict.allocate(16).unwrap();
    strict.store(at, &[7; 8]).unwrap();
    let mut out = [0; 4];
    assert_eq!(kind(strict.read(at + 4, &mut out, BY)), None);
    assert_eq!(kind(strict.read(at + 6, &mut out, BY)), Some(FaultKind::Uninitialized));

    let mut lax = memory(false, false);
    let at = lax.allocate(16).unwrap();
    lax.write(at + 1, &[9], BY).unwrap();
    lax.read(at, &mut out, BY).unwrap();
    assert_eq!(out, [UNWRITTEN, 9, UNWRITTEN, UNWRITTEN]);
    let copy = lax.allocate(16).unwrap();
    lax.copy(copy, at, 4).unwrap();
    lax.load(copy, &mut out).unwrap();
    assert_eq!(out, [UNWRITTEN, 9, UNWRITTEN, UNWRITTEN]);
}

#[test]
fn a_new_allocation_does_not_show_what_was_there_before() {
    let mut memory = memory(false, false);
    for _ in 0..100 {
        let at = memory.allocate(100_000).unwrap();
        let mut out = [0; 3];
        memory.load(at + 50_000, &mut out).unwrap();
        assert_eq!(out, [UNWRITTEN; 3]);
        memory.store(at, &[1; 100_000]).unwrap();
        memory.free(at);
    }
}

#[test]
fn races_are_reported_with_both_threads_and_end_with_the_launch() {
    let mut memory = memory(true, false);
    let at = memory.allocate(8).unwrap();
    let mut out = [0; 1];
    memory.write(at + 3, &[1], BY).unwrap();
    let fault = memory.read(at + 3, &mut out, Access { thread: 5, ..BY }).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Race);
    assert!(fault.message.contains("block 0 thread 5 after it was written by block 0 thread 0"), "{}", fault.message);
    memory.begin_launch();
    memory.read(at + 3, &mut out, Access { thread: 5, ..BY }).unwrap();
}
