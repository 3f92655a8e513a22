//! Which documents a kernel reads, when, and in how much memory.
//!
//! All statistics of a stage share one reading of their text, done right before the first of them is needed.

use super::program::{Program, Value, ValueId, needs, own_scratch};
use crate::ops::{Args, Needs, OpSpec, PassStage, Scratch};

/// What each piece of scratch memory is rounded up by, at most.
pub(super) const ROUNDING_BYTES: usize = 16;

/// Memory of one document that several calls share.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ScratchPlan {
    /// For each column of the program: bytes for each byte of its texts.
    pub per_byte: Vec<usize>,
    /// Bytes for each row.
    pub per_row: usize,
}

/// One reading of a text column: the parts that all statistics of a stage need.
#[derive(Debug)]
pub(super) struct Reading {
    pub column: usize,
    /// The first rule that needs it; the number of rules if only outputs do.
    point: usize,
    pub needs: Needs,
    pub calls: Vec<ValueId>,
}

impl Program {
    /// Memory that the kernel of the whole program needs.
    pub(super) fn scratch(&self) -> ScratchPlan {
        let mut plan = ScratchPlan { per_byte: vec![0; self.columns().len()], per_row: 0 };
        let mut add = |column: usize, scratch: Scratch| {
            if scratch != Scratch::NONE {
                plan.per_byte[column] += scratch.bytes_per_byte;
                plan.per_row += scratch.bytes_per_row + ROUNDING_BYTES;
            }
        };
        readings(self).iter().for_each(|reading| add(reading.column, reading.needs.device_scratch()));
        (0..self.columns().len()).for_each(|column| add(column, most_own_scratch(self, column)));
        if plan.per_row > 0 {
            // The row's first piece is rounded up too.
            plan.per_row += ROUNDING_BYTES;
        }
        plan
    }

    /// Its calls: the place of the value, the operator, the options, the column of the documents.
    pub(super) fn calls(&self) -> impl Iterator<Item = (usize, &OpSpec, &Args, usize)> {
        self.values().iter().enumerate().filter_map(|(place, value)| match value {
            Value::Call { spec, args, document } => Some((place, spec.as_ref(), args.as_ref(), *document)),
            _ => None,
        })
    }

    /// `id` and all values that it is made of, in order.
    pub(super) fn made_of(&self, id: ValueId) -> Vec<ValueId> {
        let mut is_needed = vec![false; id.0 + 1];
        is_needed[id.0] = true;
        for place in (0..=id.0).rev() {
            if is_needed[place]
                && let Some(Value::Apply { of, .. }) = self.values().get(place)
            {
                of.iter().for_each(|part| is_needed[part.0] = true);
            }
        }
        (0..=id.0).filter(|place| is_needed[*place]).map(ValueId).collect()
    }
}

/// The readings of `program`, in the order in which they are needed.
pub(super) fn readings(program: &Program) -> Vec<Reading> {
    let points = program.rules().iter().enumerate().map(|(point, id)| (point, *id));
    let last = program.rules().len();
    let points = points.chain(program.outputs().iter().map(|id| (last, *id)));
    // For each column and stage: where it is first needed, and for what.
    let mut stages: Vec<(PassStage, Reading)> = vec![];
    for (point, id) in points {
        for part in program.made_of(id) {
            let Some(Value::Call { spec, args, document }) = program.values().get(part.0) else { continue };
            let needs = needs(spec, args);
            let known = stages.iter_mut().find(|(stage, known)| *stage == needs.stage() && known.column == *document);
            match known {
                Some((_, known)) if known.calls.contains(&part) => {}
                Some((_, known)) => {
                    known.needs = known.needs.and(needs);
                    known.calls.push(part);
                }
                None => {
                    let reading = Reading { column: *document, point, needs, calls: vec![part] };
                    stages.push((needs.stage(), reading));
                }
            }
        }
    }
    // Stages that begin together are one walk.
    let mut readings: Vec<Reading> = vec![];
    for (_, stage) in stages {
        match readings.iter_mut().find(|known| known.point == stage.point && known.column == stage.column) {
            Some(known) => {
                known.needs = known.needs.and(stage.needs);
                known.calls.extend(stage.calls);
            }
            None => readings.push(stage),
        }
    }
    readings
}

/// What the calls on a column need for themselves: they run one after the other in the same memory.
pub(super) fn most_own_scratch(program: &Program, column: usize) -> Scratch {
    let calls = program.calls().filter(|(_, _, _, document)| *document == column);
    calls.fold(Scratch::NONE, |most, (_, spec, args, _)| {
        let own = own_scratch(spec, args);
        Scratch {
            bytes_per_byte: most.bytes_per_byte.max(own.bytes_per_byte),
            bytes_per_row: most.bytes_per_row.max(own.bytes_per_row),
        }
    })
}
