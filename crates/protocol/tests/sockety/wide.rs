//! Packets of an implementation that does not choose the smallest widths. Does not use the encoder.

use crate::seen::Draft;

/// Chooses among the widths that fit, by given numbers.
pub(crate) struct Wide<'a> {
    choices: std::iter::Cycle<std::slice::Iter<'a, u8>>,
}

impl<'a> Wide<'a> {
    /// There must be at least one choice. Choice 0 is the smallest width.
    pub(crate) fn new(choices: &'a [u8]) -> Self {
        assert!(!choices.is_empty());
        Self {
            choices: choices.iter().cycle(),
        }
    }

    /// Encodes a number and returns its width code and bytes. `widths` are the widths of the codes.
    fn number(&mut self, value: u64, widths: &[usize]) -> (u8, Vec<u8>) {
        let fitting: Vec<u8> = (0..)
            .zip(widths)
            .filter(|(_, width)| value.checked_shr(8 * u32::try_from(**width).unwrap()) == Some(0))
            .map(|(code, _)| code)
            .collect();
        let choice = usize::from(*self.choices.next().unwrap());
        let code = fitting[choice % fitting.len()];
        let width = widths[usize::from(code)];
        (code, value.to_le_bytes()[..width].to_vec())
    }

    /// A packet of contents or a piece of a head.
    pub(crate) fn packet(&mut self, first: u8, carried: &[u8], out: &mut Vec<u8>) {
        let size = u64::try_from(carried.len()).unwrap();
        let (code, size) = self.number(size, &[1, 2, 3, 4]);
        out.push(first | code << 2);
        out.extend(size);
        out.extend(carried);
    }

    pub(crate) fn file(&mut self, index: u32, bytes: &[u8], out: &mut Vec<u8>) {
        let (code, index) = self.number(index.into(), &[0, 1, 2, 3]);
        let (size_code, size) = self.number(u64::try_from(bytes.len()).unwrap(), &[1, 2, 3, 4]);
        out.push(0xc0 | size_code << 2 | code);
        out.extend(size);
        out.extend(index);
        out.extend(bytes);
    }

    pub(crate) fn file_end(&mut self, index: u32, out: &mut Vec<u8>) {
        let (code, index) = self.number(index.into(), &[0, 1, 2, 3]);
        out.push(0xd0 | code);
        out.extend(index);
    }

    pub(crate) fn switch(&mut self, channel: u16, out: &mut Vec<u8>) {
        self.twelve_bits(0x00, channel, out);
    }

    pub(crate) fn fast_reply(&mut self, code: u16, id: &[u8; 16], out: &mut Vec<u8>) {
        self.twelve_bits(0x30, code, out);
        out.extend(id);
    }

    fn twelve_bits(&mut self, kind: u8, number: u16, out: &mut Vec<u8>) {
        let [high, low] = number.to_be_bytes();
        if number < 16 && self.choices.next().unwrap().is_multiple_of(2) {
            out.push(kind | low);
        } else {
            out.extend([(kind + 0x10) | high, low]);
        }
    }

    /// The first byte of a message or response, and its body.
    pub(crate) fn message(&mut self, draft: &Draft) -> (u8, Vec<u8>) {
        let (mut flags, mut rest) = (0, Vec::new());
        if let Some(parent) = draft.parent {
            rest.extend(parent.as_bytes());
            rest.extend(draft.id.as_bytes());
        } else {
            rest.extend(draft.id.as_bytes());
            flags |= self.text(&draft.action, &mut rest) << 1;
        }
        let (code, data) = self.number(draft.data_size, &[0, 1, 2, 6]);
        flags |= code << 6;
        rest.extend(data);
        let files = u64::try_from(draft.files.len()).unwrap();
        let (code, count) = self.number(files, &[0, 1, 2, 3]);
        flags |= code << 4;
        if code > 0 {
            let total = draft.files.iter().map(|(_, size)| size).sum();
            let (code, total) = self.number(total, &[2, 3, 4, 6]);
            flags |= code << 2;
            rest.extend(count);
            rest.extend(total);
        }
        for (name, size) in &draft.files {
            let (size_code, size) = self.number(*size, &[1, 2, 3, 6]);
            let mut text = Vec::new();
            let name_code = self.text(name, &mut text);
            rest.push(size_code << 2 | name_code << 1);
            rest.extend(size);
            rest.extend(text);
        }
        let kind = if draft.parent.is_some() { 0x50 } else { 0x20 };
        let bits = u8::from(draft.has_stream) << 1 | u8::from(draft.expects_response);
        (kind | bits, [vec![flags], rest].concat())
    }

    fn text(&mut self, text: &str, out: &mut Vec<u8>) -> u8 {
        let length = u64::try_from(text.len()).unwrap();
        let (code, length) = self.number(length, &[1, 2]);
        out.extend(length);
        out.extend(text.as_bytes());
        code
    }
}
