//! Faults on request: "the n-th of its kind fails".
//!
//! Written `n` (once), `n+` (from the n-th on), `n@device` or `n+@device` (counting on that device alone).

/// Which of a series of events fails.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Injection {
    at: Option<u64>,
    from_then_on: bool,
    device: Option<usize>,
    n_seen: u64,
}

impl Injection {
    /// Reads `n`, `n+`, `n@device` or `n+@device`; events are counted from 1.
    pub fn parse(text: &str) -> Option<Injection> {
        let (count, device) = match text.split_once('@') {
            Some((count, device)) => (count, Some(device.parse().ok()?)),
            None => (text, None),
        };
        let at: u64 = count.strip_suffix('+').unwrap_or(count).parse().ok()?;
        (at > 0).then_some(Injection { at: Some(at), from_then_on: count.ends_with('+'), device, n_seen: 0 })
    }

    /// The same, but lasting.
    pub fn lasting(self) -> Injection {
        Injection { from_then_on: true, ..self }
    }

    /// Counts an event on a device; true if it is to fail.
    pub fn hits(&mut self, device: usize) -> bool {
        let Some(at) = self.at else { return false };
        if self.device.is_some_and(|wanted| wanted != device) {
            return false;
        }
        self.n_seen += 1;
        self.n_seen == at || (self.from_then_on && self.n_seen > at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(text: &str, devices: &[usize]) -> Vec<bool> {
        let mut injection = Injection::parse(text).unwrap();
        devices.iter().map(|device| injection.hits(*device)).collect()
    }

    #[test]
    fn the_nth_event_fails_once_or_from_then_on() {
        assert_eq!(failing("2", &[0, 0, 0, 0]), [false, true, false, false]);
        assert_eq!(failing("2+", &[0, 0, 0, 0]), [false, true, true, true]);
        assert_eq!(failing("2@1", &[0, 1, 0, 1]), [false, false, false, true]);
        assert_eq!(failing("1+@1", &[0, 1, 0, 1]), [false, true, false, true]);
        for wrong in ["0", "", "+", "1@", "@1", "one"] {
            assert_eq!(Injection::parse(wrong), None, "{wrong}");
        }
    }
}
