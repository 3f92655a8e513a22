//! The fields of a protocol buffer, as they stand in its bytes.

/// A message that is read field by field. A field that goes beyond the end is the last one, and an error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a>(&'a [u8]);

/// The value of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Int(u64),
    Bytes(&'a [u8]),
    Float(f32),
    /// Eight bytes, which no field that is read has.
    Wide,
}

impl<'a> Message<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn empty() -> Self {
        Self(&[])
    }

    fn take(&mut self, n_bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n_bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn int(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let key = self.int()?;
        let value = match key & 7 {
            0 => Value::Int(self.int()?),
            1 => self.take(8).map(|_| Value::Wide)?,
            2 => {
                let n_bytes = usize::try_from(self.int()?).ok()?;
                Value::Bytes(self.take(n_bytes)?)
            }
            5 => Value::Float(f32::from_le_bytes(*self.take(4)?.first_chunk()?)),
            _ => return None,
        };
        Some((key >> 3, value))
    }
}

impl<'a> Iterator for Message<'a> {
    type Item = Result<(u64, Value<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or_else(|| "its bytes are no protocol buffer, or end too early".to_string()))
    }
}
