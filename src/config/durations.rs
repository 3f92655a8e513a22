//! Lengths of time, as they are written in queries and shown to people.

use std::time::Duration;

/// `30s`, `5min`, `2h`, `500ms`; more than nothing.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let refused = || format!("`{text}` is not a length of time; write for example '30s' or '5min'");
    let digits_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits_end);
    let seconds = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(refused()),
    };
    let number: f64 = number.parse().map_err(|_| refused())?;
    Duration::try_from_secs_f64(number * seconds).ok().filter(|time| !time.is_zero()).ok_or_else(refused)
}

/// A length of time for people; `none` for no limit.
pub fn format_duration(time: Option<Duration>) -> String {
    let Some(time) = time else { return "none".to_string() };
    match (time.as_secs(), time.subsec_nanos()) {
        (seconds, 0) if seconds >= 3600 && seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        (seconds, 0) if seconds >= 60 && seconds % 60 == 0 => format!("{}min", seconds / 60),
        (seconds, 0) => format!("{seconds}s"),
        _ => format!("{}s", time.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_as_they_are_written() {
        for text in ["30s", "5min", "2h", "0.5s", "90s"] {
            assert_eq!(format_duration(parse_duration(text).ok()), text);
        }
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        for text in ["0s", "soon", "5 fortnights", "-3s", ""] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
