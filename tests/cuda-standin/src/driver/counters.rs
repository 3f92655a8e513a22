//! What happened on each device, counted, and written as JSON for a test to read.
//!
//! Invariant: the file is whole at any time (it is replaced, not overwritten), and current after every launch, every
//! wait and at the end of the process; a process that is killed leaves the state of its last launch or wait.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The counters of one device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// Copies from the host, and their bytes.
    pub copies_in: u64,
    pub bytes_in: u64,
    /// Copies to the host, and their bytes.
    pub copies_out: u64,
    pub bytes_out: u64,
    /// Copies that stay on devices.
    pub copies_within: u64,
    pub memsets: u64,
    /// Launches that ran, all of them and by the name of the kernel.
    pub launches: u64,
    pub launches_by_kernel: BTreeMap<String, u64>,
    pub graph_launches: u64,
    /// Instructions, counted for each lane that took part.
    pub lane_instructions: u64,
    pub modules: u64,
    pub allocations: u64,
    pub failed_allocations: u64,
    pub frees: u64,
    /// What allocations take of the device now, and took at most.
    pub bytes_in_use: u64,
    pub peak_bytes: u64,
    /// What is allocated with no free under way: at the end of a process, what it never gave back.
    pub leaked_bytes: u64,
    /// Pinned memory of the host, made for this device.
    pub host_allocations: u64,
    pub host_bytes_in_use: u64,
    /// Launches queued but not over: now, and at most.
    pub launches_in_flight: u64,
    pub most_launches_in_flight: u64,
    /// Streams made, and times someone waited for one.
    pub streams: u64,
    pub waits: u64,
    /// Mistakes of the program, in words.
    pub faults: Vec<String>,
    /// What failed on request, and what the driver refused to load: a program can go on without.
    pub refusals: Vec<String>,
}

/// How many messages of a kind are kept; a program that goes on after a fault could make millions.
const MOST_MESSAGES: usize = 100;

impl Counters {
    /// Keeps a message about a mistake.
    pub fn fault(&mut self, message: String) {
        keep(&mut self.faults, message);
    }

    /// Keeps a message about something refused.
    pub fn refusal(&mut self, message: String) {
        keep(&mut self.refusals, message);
    }

    fn numbers(&self) -> [(&'static str, u64); 22] {
        [
            ("copies_in", self.copies_in),
            ("bytes_in", self.bytes_in),
            ("copies_out", self.copies_out),
            ("bytes_out", self.bytes_out),
            ("copies_within", self.copies_within),
            ("memsets", self.memsets),
            ("launches", self.launches),
            ("graph_launches", self.graph_launches),
            ("lane_instructions", self.lane_instructions),
            ("modules", self.modules),
            ("allocations", self.allocations),
            ("failed_allocations", self.failed_allocations),
            ("frees", self.frees),
            ("bytes_in_use", self.bytes_in_use),
            ("peak_bytes", self.peak_bytes),
            ("leaked_bytes", self.leaked_bytes),
            ("host_allocations", self.host_allocations),
            ("host_bytes_in_use", self.host_bytes_in_use),
            ("launches_in_flight", self.launches_in_flight),
            ("most_launches_in_flight", self.most_launches_in_flight),
            ("streams", self.streams),
            ("waits", self.waits),
        ]
    }

    fn write_json(&self, json: &mut String) {
        json.push_str("    {");
        for (name, value) in self.numbers() {
            let _ = write!(json, "\"{name}\": {value}, ");
        }
        json.push_str("\"launches_by_kernel\": {");
        for (i, (name, n)) in self.launches_by_kernel.iter().enumerate() {
            let _ = write!(json, "{}{}: {n}", if i > 0 { ", " } else { "" }, quoted(name));
        }
        json.push('}');
        for (name, messages) in [("faults", &self.faults), ("refusals", &self.refusals)] {
            let messages: Vec<String> = messages.iter().map(|message| quoted(message)).collect();
            let _ = write!(json, ", \"{name}\": [{}]", messages.join(", "));
        }
        json.push('}');
    }
}

fn keep(messages: &mut Vec<String>, message: String) {
    if messages.len() < MOST_MESSAGES {
        messages.push(message);
    }
}

/// The counters of all devices as JSON.
pub fn to_json<'a>(devices: impl Iterator<Item = &'a Counters>) -> String {
    let mut json = String::from("{\"devices\": [\n");
    for (i, counters) in devices.enumerate() {
        json.push_str(if i > 0 { ",\n" } else { "" });
        counters.write_json(&mut json);
    }
    json.push_str("\n]}\n");
    json
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if (c as u32) < 0x20 => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_quoted() {
        let mut counters = Counters { launches: 2, ..Counters::default() };
        counters.launches_by_kernel.insert("one\"".to_string(), 2);
        counters.fault("a\nb\\c".to_string());
        let json = to_json([&counters, &Counters::default()].into_iter());
        assert!(json.contains(r#""launches": 2, "#), "{json}");
        assert!(
            json.contains(r#""launches_by_kernel": {"one\"": 2}, "faults": ["a\u000ab\\c"], "refusals": []}"#),
            "{json}"
        );
        assert_eq!(json.matches("\"copies_in\"").count(), 2);
    }
}
