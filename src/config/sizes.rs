//! Numbers of bytes as people write and read them.

/// `8GB`, `512 MiB`, `1048576`: decimal and binary units, as the suffix says.
pub fn parse_bytes(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let digits_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits_end);
    let scale: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        other => return Err(format!("`{other}` is not a unit of size; write for example '512MB' or '8GiB'")),
    };
    let number: f64 =
        number.parse().map_err(|_| format!("`{text}` is not a size; write for example '512MB' or '8GiB'"))?;
    Ok((number * scale) as usize)
}

/// A limit of memory: a size under which something can run.
pub fn parse_memory(text: &str) -> Result<usize, String> {
    let bytes = parse_bytes(text)?;
    if bytes < LEAST_MEMORY_BYTES {
        let unit = if text.trim().ends_with(|c: char| c.is_ascii_digit()) {
            format!("; a unit is missing: '{}GB'?", text.trim())
        } else {
            String::new()
        };
        return Err(format!("{} is too little to run anything{unit}", format_bytes(bytes)));
    }
    Ok(bytes)
}

/// Less than a small batch of documents takes.
const LEAST_MEMORY_BYTES: usize = 100_000;

/// A number of bytes for people: `1.5 MB`.
pub fn format_bytes(bytes: usize) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}
