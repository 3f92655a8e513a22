//! The rules of a funnel under the presets that they were written as.
//!
//! A preset becomes rules that are ordered with all others by what they cost; people wrote, and want to read, the preset.
//! Each document is dropped by one rule, so rules can be put side by side afterwards, with the same number dropped by each.

use super::report::{Step, StepRole};

/// A preset as it is called, and the rules that it is made of, as the funnel names them.
pub type PresetRules = (String, Vec<String>);

/// The steps with the rules of each preset side by side, where its first one stands.
pub fn under_presets(steps: Vec<Step>, presets: &[PresetRules]) -> Vec<Step> {
    let mut done = Vec::with_capacity(steps.len());
    for neighbours in steps.chunk_by(|one, other| one.kind == StepRole::Rule && other.kind == StepRole::Rule) {
        let are_rules = neighbours[0].kind == StepRole::Rule;
        if are_rules { done.extend(gathered(neighbours, presets)) } else { done.extend_from_slice(neighbours) }
    }
    done
}

/// The same for rules that follow each other.
fn gathered(rules: &[Step], presets: &[PresetRules]) -> Vec<Step> {
    let preset_of = |step: &Step| {
        let rule = step.label.strip_prefix("WHERE ")?;
        presets.iter().find(|(_, rules)| rules.iter().any(|other| other == rule)).map(|(preset, _)| preset.clone())
    };
    let mut waiting: Vec<Option<Step>> =
        rules.iter().map(|step| Some(Step { preset: preset_of(step), ..step.clone() })).collect();
    let mut done: Vec<Step> = vec![];
    for at in 0..waiting.len() {
        let Some(first) = waiting[at].take() else { continue };
        let preset = first.preset.clone();
        done.push(first);
        if preset.is_some() {
            let others = waiting[at + 1..].iter_mut();
            done.extend(others.filter_map(|step| step.take_if(|step| step.preset == preset)));
        }
    }
    // What each dropped stays; what is left follows from the new order.
    let Some(first) = rules.first() else { return done };
    let bytes_dropped: Vec<Option<u64>> = rules
        .iter()
        .enumerate()
        .map(|(at, step)| Some(rules.get(at.checked_sub(1)?)?.bytes_out?.saturating_sub(step.bytes_out?)))
        .collect();
    let dropped_by = |step: &Step| rules.iter().position(|rule| rule.label == step.label);
    // What came into the first rule is known where it dropped nothing that was counted; without it, bytes stay as they were.
    let is_reordered = done.iter().zip(rules).any(|(one, other)| one.label != other.label);
    let mut rows = first.rows_in;
    let mut bytes = None;
    for (at, step) in done.iter_mut().enumerate() {
        let n_dropped = step.rows_in.saturating_sub(step.rows_out);
        (step.rows_in, step.rows_out) = (rows, rows.saturating_sub(n_dropped));
        rows = step.rows_out;
        if is_reordered && at > 0 {
            let of_rule = dropped_by(step).and_then(|rule| bytes_dropped[rule]);
            step.bytes_out = match (bytes, of_rule) {
                (Some(before), Some(dropped)) => Some(u64::saturating_sub(before, dropped)),
                _ => None,
            };
        }
        bytes = step.bytes_out;
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(kind: StepRole, label: &str, rows_in: u64, rows_out: u64) -> Step {
        let bytes_out = Some(10 * rows_out);
        Step { label: label.into(), kind, preset: None, rows_in, rows_out, bytes_out, n_changed: None }
    }

    #[test]
    fn rules_of_a_preset_come_together_and_drop_what_they_dropped() {
        let steps = vec![
            step(StepRole::Source, "'docs'", 0, 100),
            step(StepRole::Rule, "WHERE a", 100, 90),
            step(StepRole::Rule, "WHERE x", 90, 60),
            step(StepRole::Rule, "WHERE b", 60, 55),
            step(StepRole::Verb, "DEDUP", 55, 50),
            step(StepRole::Rule, "WHERE b", 50, 50),
        ];
        let presets = [("p(text)".to_string(), vec!["a".to_string(), "b".to_string()])];
        let done = under_presets(steps, &presets);
        let shown: Vec<_> = done
            .iter()
            .map(|step| (step.label.as_str(), step.preset.is_some(), step.rows_in, step.rows_out, step.bytes_out))
            .collect();
        let expected = [
            ("'docs'", false, 0, 100, Some(1000)),
            ("WHERE a", true, 100, 90, Some(900)),
            ("WHERE b", true, 90, 85, Some(850)),
            ("WHERE x", false, 85, 55, Some(550)),
            ("DEDUP", false, 55, 50, Some(500)),
            ("WHERE b", true, 50, 50, Some(500)),
        ];
        assert_eq!(shown, expected);
    }
}
