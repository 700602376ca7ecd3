//! A slow inflater (RFC 1951) that accepts matches only within a window. zlib does not check that.

/// Inflates a message without its tail. Panics if it is invalid or reaches back further than `window`.
pub(super) fn inflate(compressed: &[u8], history: &[u8], window: usize) -> Vec<u8> {
    let mut bits = Bits {
        bytes: [compressed, &[0, 0, 0xff, 0xff]].concat(),
        at: 0,
    };
    let mut out = history.to_vec();
    while bits.at < bits.bytes.len() * 8 {
        assert_eq!(bits.take(1), 0, "no block is final");
        match bits.take(2) {
            0 => stored(&mut bits, &mut out),
            1 => {
                let mut lengths = [8; 288];
                lengths[144..256].fill(9);
                lengths[256..280].fill(7);
                let code = (Code::new(&lengths), Code::new(&[5; 30]));
                block(&mut bits, &code, window, &mut out);
            }
            2 => {
                let code = tables(&mut bits);
                block(&mut bits, &code, window, &mut out);
            }
            _ => panic!("reserved block type"),
        }
    }
    out.split_off(history.len())
}

struct Bits {
    bytes: Vec<u8>,
    at: usize,
}

impl Bits {
    fn take(&mut self, count: usize) -> usize {
        (0..count).fold(0, |value, place| {
            let bit = self.bytes[self.at / 8] >> (self.at % 8) & 1;
            self.at += 1;
            value | usize::from(bit) << place
        })
    }

    fn symbol(&mut self, code: &Code) -> usize {
        let (mut bits, mut first, mut index) = (0, 0, 0);
        for count in &code.counts[1..] {
            bits |= self.take(1);
            if bits < first + count {
                return code.symbols[index + bits - first];
            }
            index += count;
            first = (first + count) << 1;
            bits <<= 1;
        }
        panic!("no such code");
    }
}

/// A canonical code: how many symbols have each length, and the symbols in order of their codes.
struct Code {
    counts: [usize; 16],
    symbols: Vec<usize>,
}

impl Code {
    fn new(lengths: &[u8]) -> Self {
        let mut counts = [0; 16];
        for length in lengths {
            counts[usize::from(*length)] += 1;
        }
        let mut symbols: Vec<usize> = (0..lengths.len()).filter(|at| lengths[*at] > 0).collect();
        symbols.sort_by_key(|at| lengths[*at]);
        Self { counts, symbols }
    }
}

fn stored(bits: &mut Bits, out: &mut Vec<u8>) {
    bits.at = bits.at.next_multiple_of(8);
    let (length, check) = (bits.take(16), bits.take(16));
    assert_eq!(length ^ 0xffff, check);
    let start = bits.at / 8;
    out.extend_from_slice(&bits.bytes[start..start + length]);
    bits.at += length * 8;
}

fn tables(bits: &mut Bits) -> (Code, Code) {
    const ORDER: [usize; 19] = [
        16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
    ];
    let (literals, distances, codes) = (bits.take(5) + 257, bits.take(5) + 1, bits.take(4) + 4);
    let mut code_lengths = [0; 19];
    for place in &ORDER[..codes] {
        code_lengths[*place] = u8::try_from(bits.take(3)).unwrap();
    }
    let code = Code::new(&code_lengths);
    let mut lengths = Vec::new();
    while lengths.len() < literals + distances {
        let (value, count) = match bits.symbol(&code) {
            16 => (*lengths.last().unwrap(), 3 + bits.take(2)),
            17 => (0, 3 + bits.take(3)),
            18 => (0, 11 + bits.take(7)),
            length => (u8::try_from(length).unwrap(), 1),
        };
        lengths.extend(std::iter::repeat_n(value, count));
    }
    assert_eq!(lengths.len(), literals + distances);
    let distances = lengths.split_off(literals);
    (Code::new(&lengths), Code::new(&distances))
}

fn block(bits: &mut Bits, (literals, distances): &(Code, Code), window: usize, out: &mut Vec<u8>) {
    loop {
        let symbol = bits.symbol(literals);
        if let Ok(byte) = u8::try_from(symbol) {
            out.push(byte);
            continue;
        }
        let length = match symbol - 256 {
            0 => return,
            code @ 1..=8 => code + 2,
            29 => 258,
            code => {
                let extra = (code - 5) / 4;
                3 + ((4 + (code - 1) % 4) << extra) + bits.take(extra)
            }
        };
        let distance = match bits.symbol(distances) {
            code @ 0..=3 => code + 1,
            code => {
                let extra = (code - 2) / 2;
                1 + ((2 + code % 2) << extra) + bits.take(extra)
            }
        };
        assert!(distance <= window, "a match of distance {distance}");
        let start = out
            .len()
            .checked_sub(distance)
            .expect("text before the history");
        for at in start..start + length {
            out.push(out[at]);
        }
    }
}
