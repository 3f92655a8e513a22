//! One warp: its registers, the groups its lanes are in, and the loop that executes.
//!
//! Lanes that are at the same instruction form a group. The group with the lowest address runs until it meets another
//! one (they join), branches apart (it splits), or must wait for lanes of a barrier or `.sync` instruction.
//! Invariant: groups are disjoint and together are the live lanes; no two are at the same instruction.

use super::machine::Machine;
use crate::ptx::code::{Condition, Op};
use crate::ptx::lanes::{Lanes, each, put};
use crate::ptx::memory::{Access, Fault, FaultKind};
use crate::ptx::module::Module;

/// Why a warp stopped running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// Its turn is over.
    Turn,
    Barrier,
    Done,
}

/// Lanes at one instruction.
#[derive(Debug, Clone, Copy)]
struct Group {
    at: u32,
    lanes: u32,
    /// Cannot go on before other lanes arrive here.
    waits: bool,
}

/// What becomes of a group after an instruction.
pub(super) enum Next {
    /// To the next instruction, all of them.
    Step,
    /// The active lanes must wait for others at this instruction.
    Wait,
}

pub(super) struct Warp {
    pub(super) number: u32,
    all: u32,
    pub(super) live: u32,
    groups: Vec<Group>,
    pub(super) rows: Vec<Lanes>,
    pub(super) predicates: Vec<u32>,
    pub(super) carry: u32,
    pub(super) frames: Vec<u8>,
    pub(super) frame_bytes: usize,
    /// Return addresses by depth of calls.
    returns: Vec<[u32; 32]>,
    depth: [u16; 32],
    /// Points of order passed.
    pub(super) epoch: u32,
    at_barrier: Option<u32>,
}

impl Warp {
    pub(super) fn new(module: &Module, number: u32, n_lanes: u32) -> Warp {
        // After the named predicates: never, always, and one for selections.
        let mut predicates = vec![0; module.n_predicates as usize + 3];
        predicates[module.n_predicates as usize + 1] = u32::MAX;
        Warp {
            number,
            all: u32::MAX >> (32 - n_lanes.clamp(1, 32)),
            live: 0,
            groups: Vec::new(),
            rows: vec![[0; 32]; module.n_registers as usize + module.constants.len()],
            predicates,
            carry: 0,
            frames: vec![0xa5; 32 * module.frame_bytes],
            frame_bytes: module.frame_bytes,
            returns: vec![[0; 32]; module.call_depth],
            depth: [0; 32],
            epoch: 0,
            at_barrier: None,
        }
    }

    pub(super) fn start(&mut self, at: u32) {
        self.live = self.all;
        self.groups = vec![Group { at, lanes: self.all, waits: false }];
        (self.epoch, self.at_barrier, self.depth) = (0, None, [0; 32]);
    }

    pub(super) fn set_row(&mut self, row: u32, values: Lanes) {
        self.rows[row as usize] = values;
    }

    pub(super) fn set_live_lanes(&mut self, row: u32, value: u64) {
        put(&mut self.rows, row, self.live, &[value; 32]);
    }

    pub(super) fn set_predicate(&mut self, predicate: u32, value: bool) {
        let bits = if value { u32::MAX } else { 0 };
        self.assign(predicate, self.live, bits);
    }

    pub(super) fn assign(&mut self, predicate: u32, lanes: u32, bits: u32) {
        let old = &mut self.predicates[predicate as usize];
        *old = (*old & !lanes) | (bits & lanes);
    }

    pub(super) fn condition(&self, condition: Condition) -> u32 {
        self.predicates[condition.predicate as usize] ^ condition.flip
    }

    /// A row's value in the first live lane.
    pub(super) fn uniform(&self, row: u32) -> u32 {
        self.rows[row as usize][self.live.trailing_zeros() as usize % 32] as u32
    }

    pub(super) fn live(&self) -> u32 {
        self.live
    }

    pub(super) fn is_done(&self) -> bool {
        self.live == 0
    }

    pub(super) fn is_ready(&self) -> bool {
        self.live != 0 && self.at_barrier.is_none()
    }

    pub(super) fn barrier(&self) -> Option<u32> {
        self.at_barrier
    }

    pub(super) fn pass_barrier(&mut self) {
        if let Some(at) = self.at_barrier.take() {
            self.groups = vec![Group { at: at + 1, lanes: self.live, waits: false }];
            self.epoch = self.epoch.wrapping_add(1);
        }
    }

    /// Lane 0's access in this warp, now.
    pub(super) fn access(&self, machine: &Machine, atomic: bool) -> Access {
        let thread = self.number * 32;
        Access { block: machine.block, thread, epoch: machine.epoch, warp_epoch: self.epoch, atomic }
    }

    /// Runs until the warp must wait, ends, or has executed `n_steps` instructions.
    pub(super) fn advance(&mut self, machine: &mut Machine, n_steps: u64) -> Result<Pause, Fault> {
        let mut left = n_steps;
        loop {
            let Some(mut group) = self.next_group() else { return self.all_wait(machine) };
            // Walking on, the group can only meet the next one above it; a branch comes back here.
            let meets = self.groups.iter().map(|other| other.at).filter(|at| *at > group.at).min().unwrap_or(u32::MAX);
            let stay = self.run_group(&mut group, meets, machine, &mut left);
            match stay {
                Ok(true) => self.groups.push(group),
                Ok(false) => {}
                Err(fault) => return Err(machine.located(fault, group.at, self.number)),
            }
            if left == 0 {
                return Ok(if self.live == 0 { Pause::Done } else { Pause::Turn });
            }
        }
    }

    /// Joins groups at the same instruction and takes out the lowest that can run.
    fn next_group(&mut self) -> Option<Group> {
        if self.groups.len() == 1 && !self.groups[0].waits {
            return self.groups.pop();
        }
        self.groups.sort_unstable_by_key(|group| group.at);
        self.groups.dedup_by(|later, earlier| {
            let same = later.at == earlier.at;
            if same {
                earlier.lanes |= later.lanes;
                earlier.waits = false;
            }
            same
        });
        let lowest = self.groups.iter().position(|group| !group.waits)?;
        Some(self.groups.remove(lowest))
    }

    /// No group can run: the warp is at a barrier, or ended, or stuck.
    fn all_wait(&mut self, machine: &Machine) -> Result<Pause, Fault> {
        let Some(&first) = self.groups.first() else { return Ok(Pause::Done) };
        let is_barrier = matches!(machine.launch.module.code[first.at as usize].op, Op::Barrier(_));
        if self.groups.len() == 1 && first.lanes == self.live && is_barrier {
            self.at_barrier = Some(first.at);
            return Ok(Pause::Barrier);
        }
        let place = |group: &Group| {
            format!("lanes {:08x} at line {}", group.lanes, machine.launch.module.source_of(group.at).0)
        };
        let places: Vec<String> = self.groups.iter().map(place).collect();
        let ended = self.all & !self.live;
        let ended = if ended == 0 { String::new() } else { format!("; lanes {ended:08x} have ended") };
        let what = format!("lanes wait for lanes that do not come: {}{ended}", places.join(", "));
        Err(machine.located(Fault::new(FaultKind::Divergence, what), first.at, self.number))
    }

    /// Executes a group until it meets another, splits, waits or ends. True if the group is still one.
    fn run_group(
        &mut self,
        group: &mut Group,
        meets: u32,
        machine: &mut Machine,
        left: &mut u64,
    ) -> Result<bool, Fault> {
        let module = machine.launch.module;
        let n_lanes = u64::from(group.lanes.count_ones());
        let alone = self.groups.is_empty();
        loop {
            if group.at == meets || *left == 0 {
                return Ok(true);
            }
            *left -= 1;
            machine.executed += n_lanes;
            if machine.executed > machine.launch.max_instructions {
                let what = format!("not done after {} lane instructions", machine.launch.max_instructions);
                return Err(Fault::new(FaultKind::TooManyInstructions, what));
            }
            let instruction = &module.code[group.at as usize];
            let guard = instruction.guard;
            let active = group.lanes & (self.predicates[guard.predicate as usize] ^ guard.flip);
            let next = match &instruction.op {
                Op::Compute(compute, rows) => {
                    compute(&mut self.rows, rows, active);
                    Next::Step
                }
                Op::Test(test, predicate, a, b) => {
                    let bits = test(&self.rows, *a, *b);
                    self.assign(*predicate, active, bits);
                    Next::Step
                }
                Op::Load(transfer) => {
                    self.load(machine, transfer, active)?;
                    Next::Step
                }
                Op::Store(transfer) => {
                    self.store(machine, transfer, active)?;
                    Next::Step
                }
                Op::Branch(target) => {
                    if active == group.lanes {
                        group.at = *target;
                    } else {
                        group.at += 1;
                        if active != 0 {
                            group.lanes &= !active;
                            self.groups.push(Group { at: *target, lanes: active, waits: false });
                            return Ok(true);
                        }
                    }
                    if alone {
                        continue;
                    }
                    return Ok(true);
                }
                Op::BranchTable(..) | Op::Call(_) | Op::Return | Op::Exit => {
                    self.jump(group, &instruction.op, active)?;
                    return Ok(group.lanes != 0);
                }
                other => self.execute(machine, other, active)?,
            };
            match next {
                Next::Step => group.at += 1,
                Next::Wait => {
                    if alone && active == group.lanes && active != self.live {
                        // Nobody is left who could come.
                        self.groups.push(Group { waits: true, ..*group });
                        return Ok(false);
                    }
                    let passing = group.lanes & !active;
                    self.groups.push(Group { at: group.at, lanes: active, waits: true });
                    (group.at, group.lanes) = (group.at + 1, passing);
                    return Ok(passing != 0);
                }
            }
        }
    }

    /// Moves lanes elsewhere, each where it goes.
    fn jump(&mut self, group: &mut Group, op: &Op, active: u32) -> Result<(), Fault> {
        let mut targets = [0; 32];
        let mut fault = None;
        match op {
            Op::Exit => self.live &= !active,
            Op::BranchTable(index, table) => {
                each(active, |lane| match table.get(self.rows[*index as usize][lane] as u32 as usize) {
                    Some(target) => targets[lane] = *target,
                    None => fault = Some(format!("lane {lane} branches beyond its table")),
                })
            }
            Op::Call(target) => each(active, |lane| {
                targets[lane] = *target;
                match self.returns.get_mut(self.depth[lane] as usize) {
                    Some(level) => level[lane] = group.at + 1,
                    None => fault = Some("calls are too deep".to_string()),
                }
                self.depth[lane] += 1;
            }),
            _ => each(active, |lane| {
                self.depth[lane] = self.depth[lane].saturating_sub(1);
                targets[lane] = self.returns[self.depth[lane] as usize][lane];
            }),
        }
        if let Some(what) = fault {
            return Err(Fault::new(FaultKind::OutOfBounds, what));
        }
        group.lanes &= !active;
        group.at += 1;
        let mut rest = if matches!(op, Op::Exit) { 0 } else { active };
        while rest != 0 {
            let at = targets[rest.trailing_zeros() as usize];
            let mut lanes = 0;
            each(rest, |lane| lanes |= u32::from(targets[lane] == at) << lane);
            self.groups.push(Group { at, lanes, waits: false });
            rest &= !lanes;
        }
        Ok(())
    }
}
