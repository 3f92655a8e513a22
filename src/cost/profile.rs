//! What a machine can do: its CPU, its GPU, and the link between them.
//!
//! A profile is a TOML file (`profiles/*.toml` are built in), or made of what a GPU says about itself. `EXPLAIN` plans
//! against any profile, with or without such a machine at hand.
//! Invariant: every figure of a profile is finite and above zero; what is not is refused with the file and the key.
//! Not here: what an operator costs on such a machine (`device.rs`).

use crate::{Error, Result};
use serde::Deserialize;
use std::fmt::Write;
use std::path::Path;

/// A machine, as far as estimates need to know it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// For people.
    pub name: String,
    /// The processor.
    pub cpu: Cpu,
    /// The way between the memories of the two. Missing without a device.
    pub link: Option<Link>,
    /// The GPU, if there is one.
    pub device: Option<Device>,
}

/// A processor.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// Cores that a query may use; of a machine with several GPUs, those for each GPU.
    pub cores: f64,
    /// How fast a core is, where 1.0 is the machine on which the operators' costs were measured.
    pub speed: f64,
}

/// The way between the memories of CPU and GPU.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What each copy costs, however small.
    pub latency_s: f64,
    /// From and to pinned memory.
    pub pinned_bytes_per_s: f64,
    /// From and to any other memory.
    pub pageable_bytes_per_s: f64,
}

/// A GPU.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// As the driver calls it.
    pub name: String,
    /// All of its memory.
    pub memory_bytes: u64,
    /// Between the device and its memory, as the data sheet says.
    pub memory_bytes_per_s: f64,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// The boost clock.
    pub clock_hz: f64,
    /// Whole-number instructions of single threads that a multiprocessor finishes in a clock.
    pub lanes_per_multiprocessor: u32,
    /// Warps that a multiprocessor can hold at once.
    pub warps_per_multiprocessor: u32,
    /// What each launch of a kernel costs, however small.
    pub launch_s: f64,
    /// The part of its peak that kernels over text reach: lanes wait for memory and for each other.
    pub efficiency: f64,
}

impl Cpu {
    /// Seconds of the whole processor for so many nanoseconds of one reference core.
    pub fn seconds(&self, ns: f64) -> f64 {
        ns * 1e-9 / (self.speed * self.cores)
    }
}

impl Link {
    /// Bytes a second.
    pub fn bytes_per_s(&self, pinned: bool) -> f64 {
        if pinned { self.pinned_bytes_per_s } else { self.pageable_bytes_per_s }
    }
}

impl Device {
    /// Instructions of single threads that kernels over text finish in a second.
    pub fn instructions_per_s(&self) -> f64 {
        f64::from(self.multiprocessors) * f64::from(self.lanes_per_multiprocessor) * self.clock_hz * self.efficiency
    }

    /// Rows that the device needs at a time for its full speed. Estimate: 8 warps for each multiprocessor, two for each
    /// of its schedulers.
    pub fn rows_for_full_speed(&self) -> f64 {
        8.0 * f64::from(self.multiprocessors)
    }

    /// Rows that the device works on at once: one warp a row.
    pub fn rows_at_once(&self) -> u64 {
        u64::from(self.multiprocessors) * u64::from(self.warps_per_multiprocessor)
    }
}

/// What a driver says about a device. Zero where it says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProbedDevice {
    /// Its name.
    pub name: String,
    /// All of its memory.
    pub memory_bytes: u64,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// The boost clock.
    pub clock_khz: u32,
    /// The clock of its memory.
    pub memory_clock_khz: u32,
    /// The width of the bus to its memory.
    pub memory_bus_bits: u32,
    /// The compute capability: `(8, 9)`.
    pub capability: (u32, u32),
}

/// Each copy: a copy was measured to cost 5 to 7 µs to submit, whatever its size (arXiv 2602.21548, 5.2).
const COPY_LATENCY_S: f64 = 7e-6;
/// Each launch: 4 to 6 µs were measured (susun-blog.com, "pegainfer (3)").
const LAUNCH_S: f64 = 5e-6;
/// Estimate: nobody has measured our kernels on a GPU yet.
const EFFICIENCY: f64 = 0.25;

impl Profile {
    /// A machine without a GPU.
    pub fn of_cpu(cpu: Cpu) -> Self {
        Self { name: "CPU only".to_string(), cpu, link: None, device: None }
    }

    /// A machine with the device that a driver described. What a driver does not say is estimated from the generation.
    pub fn of_device(cpu: Cpu, probed: &ProbedDevice) -> Self {
        let or = |value: f64, estimate: f64| if value > 0.0 { value } else { estimate };
        let (major, minor) = probed.capability;
        // Measured on PCIe 3, 4 and 5 with 16 lanes: see the shipped profiles.
        let pinned_bytes_per_s = match major {
            ..8 => 12e9,
            8 => 25e9,
            _ => 52e9,
        };
        // Two transfers a clock.
        let memory_bytes_per_s = 2e3 * f64::from(probed.memory_clock_khz) * f64::from(probed.memory_bus_bits) / 8.0;
        let device = Device {
            name: probed.name.clone(),
            memory_bytes: probed.memory_bytes.max(1),
            memory_bytes_per_s: or(memory_bytes_per_s, 300e9),
            multiprocessors: probed.multiprocessors.max(1),
            clock_hz: or(1e3 * f64::from(probed.clock_khz), 1.4e9),
            lanes_per_multiprocessor: 64,
            warps_per_multiprocessor: match (major, minor) {
                (7, 5) => 32,
                (8, 6..) | (12, _) => 48,
                _ => 64,
            },
            launch_s: LAUNCH_S,
            efficiency: EFFICIENCY,
        };
        let pageable_bytes_per_s = pinned_bytes_per_s / 2.0;
        let link = Link { latency_s: COPY_LATENCY_S, pinned_bytes_per_s, pageable_bytes_per_s };
        Self { name: probed.name.clone(), cpu, link: Some(link), device: Some(device) }
    }

    /// Reads a profile; `origin` names its file in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Self> {
        let profile: Profile = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = 1 + before.matches('\n').count();
            Error::Data(format!("{origin}:{line}: {}", error.message().replace('\n', " ")))
        })?;
        profile.check().map_err(|why| Error::Data(format!("{origin}: {why}")))?;
        Ok(profile)
    }

    /// Reads the profile in a file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| Error::io(path, error))?;
        Self::parse(&text, &path.display().to_string())
    }

    fn check(&self) -> Result<(), String> {
        let mut figures = vec![("cpu.cores", self.cpu.cores), ("cpu.speed", self.cpu.speed)];
        if let Some(link) = &self.link {
            figures.push(("link.latency_s", link.latency_s));
            figures.push(("link.pinned_bytes_per_s", link.pinned_bytes_per_s));
            figures.push(("link.pageable_bytes_per_s", link.pageable_bytes_per_s));
        }
        if let Some(device) = &self.device {
            figures.push(("device.memory_bytes", device.memory_bytes as f64));
            figures.push(("device.memory_bytes_per_s", device.memory_bytes_per_s));
            figures.push(("device.multiprocessors", f64::from(device.multiprocessors)));
            figures.push(("device.clock_hz", device.clock_hz));
            figures.push(("device.lanes_per_multiprocessor", f64::from(device.lanes_per_multiprocessor)));
            figures.push(("device.warps_per_multiprocessor", f64::from(device.warps_per_multiprocessor)));
            figures.push(("device.launch_s", device.launch_s));
            figures.push(("device.efficiency", device.efficiency));
            if device.efficiency > 1.0 {
                return Err(format!("`device.efficiency` is {}, but nothing is above its peak", device.efficiency));
            }
        }
        if let Some((key, value)) = figures.iter().find(|(_, value)| !value.is_finite() || *value <= 0.0) {
            return Err(format!("`{key}` is {value}, but it must be above zero"));
        }
        match (&self.device, &self.link) {
            (Some(_), None) => Err("it has a `[device]` but no `[link]` to it".to_string()),
            (None, Some(_)) => Err("it has a `[link]` but no `[device]` at its end".to_string()),
            _ => Ok(()),
        }
    }

    /// The profile as a file that [`Profile::parse`] reads; `remarks` becomes the comment at its head.
    pub fn to_toml(&self, remarks: &str) -> String {
        let mut text: String = remarks.lines().map(|line| format!("# {line}\n")).collect();
        // Names have no need of quotes, backslashes or control characters.
        let is_special = |c: char| c.is_control() || c == '"' || c == '\\';
        let quoted = |value: &str| format!("\"{}\"", value.replace(is_special, "'"));
        let Cpu { cores, speed } = self.cpu;
        let _ = writeln!(text, "name = {}\n\n[cpu]\ncores = {cores:?}\nspeed = {speed:?}", quoted(&self.name));
        if let (Some(link), Some(device)) = (&self.link, &self.device) {
            let _ = write!(
                text,
                "\n[link]\nlatency_s = {:?}\npinned_bytes_per_s = {:?}\npageable_bytes_per_s = {:?}\n",
                link.latency_s, link.pinned_bytes_per_s, link.pageable_bytes_per_s
            );
            let _ = write!(
                text,
                "\n[device]\nname = {}\nmemory_bytes = {}\nmemory_bytes_per_s = {:?}\nmultiprocessors = {}\n\
                 clock_hz = {:?}\nlanes_per_multiprocessor = {}\nwarps_per_multiprocessor = {}\nlaunch_s = {:?}\n\
                 efficiency = {:?}\n",
                quoted(&device.name),
                device.memory_bytes,
                device.memory_bytes_per_s,
                device.multiprocessors,
                device.clock_hz,
                device.lanes_per_multiprocessor,
                device.warps_per_multiprocessor,
                device.launch_s,
                device.efficiency
            );
        }
        text
    }
}
